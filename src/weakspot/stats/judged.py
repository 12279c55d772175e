"""The true failure rate behind the verdicts of a judge that errs.

A judge with sensitivity Se (share of true failures it calls failed) and specificity Sp (share of true
passes it calls passed) sees the rate q = π Se + (1 − π)(1 − Sp) where the true rate is π; Rogan and Gladen
(1978) solve for π. Se and Sp themselves were measured on finitely many labelled cases, and at low π that
uncertainty is most of it: one false alarm in a hundred is worth a whole per cent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .intervals import Estimate, _check_counts, _check_level

_POINTS = 2048


def rogan_gladen(failures: int, n: int, *, sensitivity: float, specificity: float) -> float:
    """The rate π = (q + Sp − 1) / (Se + Sp − 1) for q = failures / n, clipped to [0, 1]."""
    _check_counts(failures, n)
    if n == 0:
        raise ValueError("A rate needs at least one trial.")
    if not (0.0 <= sensitivity <= 1.0 and 0.0 <= specificity <= 1.0):
        raise ValueError(f"Sensitivity and specificity lie in [0, 1], got {sensitivity} and {specificity}.")
    if sensitivity + specificity <= 1.0:
        raise ValueError("A judge with sensitivity + specificity ≤ 1 is no better than chance.")
    return min(1.0, max(0.0, (failures / n + specificity - 1.0) / (sensitivity + specificity - 1.0)))


def corrected_rate(
    failures: int,
    n: int,
    *,
    true_positives: int,
    positives: int,
    true_negatives: int,
    negatives: int,
    level: float = 0.95,
) -> Estimate:
    """The true rate with an interval that knows how well the judge is known.

    The interval melds three exact ones (Fay, Proschan and Brittain 2015; Bayer, Fay and Graubard 2023 for
    this use). A Clopper–Pearson end at every level at once is a Beta distribution: Beta(x, n − x + 1) for
    low ends, Beta(x + 1, n − x) for high ends. π rises with q and falls with Se and with the rate of false
    alarms, so the low end is the (1 − level) / 2 quantile of π for q drawn from its low ends and the other
    two from their high ends, and the high end is the mirror image. With a judge known perfectly it is
    Clopper–Pearson's interval; like that it errs on the wide side. The quantile is taken over a fixed set
    of 2,048 well-spread points, so equal counts always give equal ends, to about 1 % of the width.

    Args:
        failures: Cases the judge called failed.
        n: Cases judged.
        true_positives: Among `positives`, those the judge called failed.
        positives: Labelled cases that truly failed.
        true_negatives: Among `negatives`, those the judge called passed.
        negatives: Labelled cases that truly passed.
        level: Confidence level.
    """
    _check_level(level)
    for right, cases in ((true_positives, positives), (true_negatives, negatives)):
        _check_counts(right, cases)
        if cases == 0:
            raise ValueError("A judge's error needs labelled cases of both kinds, failed and passed.")
    rate = rogan_gladen(
        failures, n, sensitivity=true_positives / positives, specificity=true_negatives / negatives
    )
    alarms = negatives - true_negatives
    u = _spread_points()
    lows = _rates(
        _ends(failures, n, u[0], high=False),
        _ends(true_positives, positives, u[1], high=True),
        _ends(alarms, negatives, u[2], high=True),
        unknown=0.0,
    )
    highs = _rates(
        _ends(failures, n, u[0], high=True),
        _ends(true_positives, positives, u[1], high=False),
        _ends(alarms, negatives, u[2], high=False),
        unknown=1.0,
    )
    tail = (1.0 - level) / 2.0
    return Estimate(
        rate, min(rate, float(np.quantile(lows, tail))), max(rate, float(np.quantile(highs, 1 - tail)))
    )


def _rates(
    seen: NDArray[np.float64],
    sensitivity: NDArray[np.float64],
    alarms: NDArray[np.float64],
    *,
    unknown: float,
) -> NDArray[np.float64]:
    """π elementwise; where the judge would be no better than chance, π is `unknown`."""
    better = sensitivity - alarms
    rates = np.full_like(seen, unknown)
    np.divide(seen - alarms, better, out=rates, where=better > 1e-12)
    return np.clip(rates, 0.0, 1.0)


def _ends(x: int, n: int, u: NDArray[np.float64], *, high: bool) -> NDArray[np.float64]:
    """Clopper–Pearson ends of one side at the levels `u`: quantiles of their Beta distribution."""
    from scipy.special import betaincinv

    a, b = (x + 1, n - x) if high else (x, n - x + 1)
    if a == 0 or b == 0:
        return np.full_like(u, 0.0 if a == 0 else 1.0)
    return np.asarray(betaincinv(a, b, u), dtype=float)


def _spread_points() -> NDArray[np.float64]:
    """Points of the unit cube by an additive recurrence (Roberts 2018), evenly spread in every margin."""
    root = 1.2207440846057596  # the real solution of x⁴ = x + 1
    k = np.arange(1, _POINTS + 1)
    return np.stack([(0.5 + k * root**-axis) % 1.0 for axis in (1, 2, 3)])
