"""Two rates compared once, at an end that was fixed beforehand: on the same cases, or on separate ones."""

from __future__ import annotations

from typing import Literal

import numpy as np

Alternative = Literal["greater", "less", "two-sided"]


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that two runs fail equally often on the same cases.

    Only cases on which they differ count: given their number b + c, b is binomial with rate ½ if the runs
    are equally good. The p-value is twice the smaller tail, at most 1.

    Args:
        only_first: Cases that failed in the first run only.
        only_second: Cases that failed in the second run only.
    """
    from scipy.special import betainc

    if only_first < 0 or only_second < 0:
        raise ValueError(f"Counts of cases cannot be negative, got {only_first} and {only_second}.")
    smaller, larger = sorted((only_first, only_second))
    if smaller == larger:
        return 1.0
    return min(1.0, 2.0 * float(betainc(larger, smaller + 1, 0.5)))


def fisher(
    failures1: int, n1: int, failures0: int, n0: int, *, alternative: Alternative = "greater"
) -> float:
    """Fisher's exact p-value that two separate samples have the same rate.

    Given the total of failures, those of the first sample are hypergeometric if the rates are equal. The
    two-sided p-value adds all outcomes that are no likelier than the one observed.

    Args:
        failures1: Failures in the first sample.
        n1: Size of the first sample.
        failures0: Failures in the second sample.
        n0: Size of the second sample.
        alternative: `greater` asks whether the first rate is the higher one.
    """
    from scipy.special import gammaln

    for failures, n in ((failures1, n1), (failures0, n0)):
        if not 0 <= failures <= n:
            raise ValueError(f"Failures must lie between 0 and the number of trials, got {failures} of {n}.")
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(f"The alternative is 'greater', 'less' or 'two-sided', got {alternative!r}.")
    total = failures1 + failures0
    first = max(0, total - n0)
    outcomes = np.arange(first, min(n1, total) + 1, dtype=float)
    log_weight = -(
        gammaln(outcomes + 1)
        + gammaln(n1 - outcomes + 1)
        + gammaln(total - outcomes + 1)
        + gammaln(n0 - total + outcomes + 1)
    )
    weight = np.exp(log_weight - log_weight.max())
    observed = failures1 - first
    if alternative == "greater":
        tail = weight[observed:]
    elif alternative == "less":
        tail = weight[: observed + 1]
    else:
        tail = weight[weight <= weight[observed] * (1 + 1e-7)]  # equal outcomes differ by rounding
    return min(1.0, float(tail.sum() / weight.sum()))
