"""The run folder: ledger, blobs, configuration."""

from weakspot.store.blobs import Blobs, Unreachable, check_url, encode, open_own, png, write_whole
from weakspot.store.database import LedgerError, count, inspect_file
from weakspot.store.ledger import Ledger, Outcome, rate
from weakspot.store.run import Run, RunConfig, Unjudged, kept_by, unjudged

__all__ = [
    "Blobs",
    "Ledger",
    "LedgerError",
    "Outcome",
    "Run",
    "RunConfig",
    "Unjudged",
    "Unreachable",
    "check_url",
    "count",
    "encode",
    "inspect_file",
    "kept_by",
    "open_own",
    "png",
    "rate",
    "unjudged",
    "write_whole",
]
