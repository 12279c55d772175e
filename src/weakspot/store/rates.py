"""A tally as the rate that people are shown."""

from __future__ import annotations

from weakspot.core import Rate, Tally
from weakspot.stats import confidence_sequence


def rate(tally: Tally) -> Rate:
    """Failures per trial with the 95 % anytime-valid interval (the number of draws was not fixed ahead)."""
    low, high = confidence_sequence(tally.failures, tally.n)
    return Rate(tally.failures / tally.n if tally.n else 0.0, low, high, tally.n, tally.failures)
