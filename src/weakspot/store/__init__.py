"""The run folder: ledger, blobs, configuration."""

from weakspot.store.blobs import Blobs, encode, png, write_whole
from weakspot.store.config import RunConfig
from weakspot.store.ledger import Ledger, LedgerError, Outcome, count, inspect_file, tally_of
from weakspot.store.run import Run

__all__ = [
    "Blobs",
    "Ledger",
    "LedgerError",
    "Outcome",
    "Run",
    "RunConfig",
    "count",
    "encode",
    "inspect_file",
    "png",
    "tally_of",
    "write_whole",
]
