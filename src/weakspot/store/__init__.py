"""The run folder: ledger, blobs, configuration."""

from weakspot.store.blobs import Blobs, encode, png, write_whole
from weakspot.store.config import RunConfig
from weakspot.store.database import LedgerError, inspect_file
from weakspot.store.ledger import Ledger, Outcome
from weakspot.store.rates import rate
from weakspot.store.remote import Unreachable, check_url
from weakspot.store.rows import count, tally_of
from weakspot.store.run import Run, kept_by
from weakspot.store.unjudged import Unjudged, unjudged

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
    "png",
    "rate",
    "tally_of",
    "unjudged",
    "write_whole",
]
