"""The rate of a very rare failure from independent repeats of an unbiased estimate.

Multilevel splitting (see the study `rare`) gives, each time it is run, an estimate whose mean is the rate
but whose spread is known from theory only for perfect moves (Guyader, Hengartner and Matzner-Løber 2011: its
logarithm has variance −log p / N). Moves are never perfect, so the interval comes from how far whole repeats
disagree. Estimates of this kind are skewed to the right, as a product of many factors is, and most repeats
lie below the mean. Student's interval is therefore corrected for the skewness γ (Johnson 1978), on the log
scale, with v the relative standard deviation of one repeat and t the quantile for R − 1 degrees of freedom:

    low  = m exp(−t v / √R),
    high = m exp((t + γ (1 + 2 t²) / (6 √R)) v / √R),     γ = max(sample skewness, v (3 + v²) / 2).

The sample skewness of a dozen numbers is too small on average; half the skewness of a lognormal variable with
the same v is its floor. That the level is held is shown by simulation, not proven.

What is proven needs no assumption on the moves, and is wide: as the mean of the repeats is unbiased and not
negative, it exceeds p / δ with probability at most δ (Markov), so δ m is a lower end; and the independent
draws that every repeat begins with give Clopper and Pearson's upper end. That interval is the answer where
the repeats disagree too much for Student's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .intervals import _check_counts, _check_level, clopper_pearson

_DISAGREEMENT = 0.5  # the relative standard error from which on the repeats say no more than what is proven
_BARREN = 0.25  # the share of repeats without any failure from which on it is so, too


class Repeated(NamedTuple):
    """A rate from repeats.

    Attributes:
        rate: The mean of the repeats.
        low: The low end of the interval.
        high: The high end of the interval.
        ceiling: The high end from independent draws alone, which holds whatever the repeats have missed.
        agree: Whether the repeats agree well enough for the narrow interval.
    """

    rate: float
    low: float
    high: float
    ceiling: float
    agree: bool


def rate_from_repeats(
    estimates: Sequence[float], *, failures: int = 0, n: int = 0, level: float = 0.95
) -> Repeated:
    """Rate and interval from independent, unbiased, nonnegative estimates of it.

    Args:
        estimates: One number a repeat, at least two of them; 0 for a repeat that found no failure.
        failures: Failures among independent draws, such as those the repeats began with.
        n: The number of these draws; with 0 the ceiling is 1.
        level: Confidence level, two-sided.
    """
    from scipy.special import stdtrit

    _check_counts(failures, n)
    _check_level(level)
    values = np.asarray(estimates, dtype=float)
    if values.ndim != 1 or values.size < 2 or not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError("An interval from repeats needs at least two estimates between 0 and 1.")
    ceiling = clopper_pearson(failures, n, level).high
    mean, size = float(values.mean()), values.size
    if mean == 0.0:
        return Repeated(0.0, 0.0, ceiling, ceiling, False)
    deviation = values - mean
    spread = float(values.std(ddof=1)) / mean
    error = spread / math.sqrt(size)
    t = float(stdtrit(size - 1, (1.0 + level) / 2.0))
    second = float(np.mean(deviation**2))
    skewness = float(np.mean(deviation**3)) / second**1.5 if second > 0.0 else 0.0
    skewness = max(skewness, spread * (3.0 + spread * spread) / 2.0)
    low = mean * math.exp(-t * error)
    high = mean * math.exp((t + skewness * (1.0 + 2.0 * t * t) / (6.0 * math.sqrt(size))) * error)
    agree = error <= _DISAGREEMENT and float(np.mean(values == 0.0)) <= _BARREN
    if not agree:
        low, high = min(low, (1.0 - level) / 2.0 * mean), max(ceiling, mean)
    return Repeated(mean, low, min(high, 1.0), ceiling, agree)
