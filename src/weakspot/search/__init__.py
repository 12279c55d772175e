"""Learns from the ledger what to try next."""

from weakspot.search.caption import CaptionSearch, sentences
from weakspot.search.cluster import cluster
from weakspot.search.describe import describe
from weakspot.search.edit import edits
from weakspot.search.propose import from_failures, from_groups, from_near_misses, from_within
from weakspot.search.refine import without_adjectives
from weakspot.search.rules import rules
from weakspot.search.select import select

__all__ = [
    "CaptionSearch",
    "cluster",
    "describe",
    "edits",
    "from_failures",
    "from_groups",
    "from_near_misses",
    "from_within",
    "rules",
    "select",
    "sentences",
    "without_adjectives",
]
