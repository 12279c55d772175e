"""Learns from the ledger what to try next."""

from weakspot.search.caption import CaptionSearch, sentences
from weakspot.search.refine import without_adjectives

__all__ = ["CaptionSearch", "sentences", "without_adjectives"]
