"""The vocabulary, the four ports, the registry of names, the one base error. Imports nothing of ours."""

from weakspot.core.errors import WeakspotError, nearest
from weakspot.core.ports import Classifier, Judge, LedgerView, Search, Source, Target
from weakspot.core.registry import JUDGES, MODELS, SOURCES, Entry, Kind, Name, Registry, parse_name
from weakspot.core.vocabulary import (
    Case,
    Finding,
    Hypothesis,
    Output,
    Rate,
    Scores,
    Stage,
    Status,
    Tally,
    Trial,
    Usage,
    Verdict,
    case_seed,
)

__all__ = [
    "JUDGES",
    "MODELS",
    "SOURCES",
    "Case",
    "Classifier",
    "Entry",
    "Finding",
    "Hypothesis",
    "Judge",
    "Kind",
    "LedgerView",
    "Name",
    "Output",
    "Rate",
    "Registry",
    "Scores",
    "Search",
    "Source",
    "Stage",
    "Status",
    "Tally",
    "Target",
    "Trial",
    "Usage",
    "Verdict",
    "WeakspotError",
    "case_seed",
    "nearest",
    "parse_name",
]
