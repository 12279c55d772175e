"""A rate from many verdicts and a few labels: prediction-powered inference, stratum by stratum.

A judge sorts all cases into strata: those that it calls failed, those that it calls passed, those that it
is unsure of. People label some of each. Within a stratum the labelled ones, drawn at random, stand for the
rest, so the judge need not be right anywhere: the better it sorts, the narrower the interval (Angelopoulos
et al. 2023; with strata Fisch et al. 2024, where the judge's verdicts are the strata). What nobody labelled
is taken at the judge's word where it gave one, and either way where it gave none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from .intervals import Estimate, _check_counts, _check_level, clopper_pearson, wilson


class Stratum(NamedTuple):
    """Cases that a judge treats alike, and what people said of some of them.

    Attributes:
        n: All of them.
        labelled: Of how many the truth is known; they were drawn from these `n` at random.
        failed: How many of the labelled ones truly failed.
        word: The share that fails as the judge has it, which counts where nobody labelled any.
        sure: Whether the judge stands by that; if not, unlabelled cases may all fail, or none.
    """

    n: int
    labelled: int
    failed: int
    word: float
    sure: bool = True


def powered_rate(strata: Sequence[Stratum], *, level: float = 0.95) -> Estimate:
    """The true rate over all cases, and an interval of the rate of what they were drawn from.

    The parts of the interval are joined by square-and-add (Newcombe; MOVER): the spread of the cases
    themselves, by Wilson's interval at the estimate, and of each stratum's labels, by Clopper and
    Pearson's. A stratum that is labelled whole adds nothing.
    """
    _check_level(level)
    n = sum(stratum.n for stratum in strata)
    if n == 0:
        raise ValueError("A rate needs at least one case.")
    rate, least, most = 0.0, 0.0, 0.0
    below = above = 0.0
    for stratum in strata:
        _check_counts(stratum.failed, stratum.labelled)
        if stratum.labelled > stratum.n:
            raise ValueError(f"{stratum.labelled} of {stratum.n} cases cannot be labelled.")
        share = stratum.n / n
        if stratum.labelled:
            found = stratum.failed / stratum.labelled
            low, high = clopper_pearson(stratum.failed, stratum.labelled, level=level)
            unknown = 1 - stratum.labelled / stratum.n
            below += unknown * (share * (found - low)) ** 2
            above += unknown * (share * (high - found)) ** 2
            bounds = found, found
        else:
            found = stratum.word
            bounds = (found, found) if stratum.sure else (0.0, 1.0)
        rate += share * found
        least, most = least + share * bounds[0], most + share * bounds[1]
    low = least - sqrt((least - wilson(round(least * n), n, level=level).low) ** 2 + below)
    high = most + sqrt((wilson(round(most * n), n, level=level).high - most) ** 2 + above)
    return Estimate(rate, max(0.0, min(low, rate)), min(1.0, max(high, rate)))
