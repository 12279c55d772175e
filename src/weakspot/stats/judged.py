"""The true failure rate behind the verdicts of a judge that errs.

A judge with sensitivity Se (share of true failures it calls failed) and specificity Sp (share of true
passes it calls passed) sees the rate q = π Se + (1 − π)(1 − Sp) where the true rate is π; Rogan and Gladen
(1978) solve for π. Se and Sp themselves were measured on finitely many labelled cases, and at low π that
uncertainty is most of it: one false alarm in a hundred is worth a whole per cent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .intervals import Estimate, _check_counts, _check_level

T = TypeVar("T", bound=Hashable)
Level = Literal["nominal", "ordinal"]


class Confusion(NamedTuple):
    """A judge against the truth, as counts; what `corrected_rate` needs. A positive is a failure.

    Of the positives the true ones are those that the judge found, of the negatives those it let pass.
    """

    true_positives: int
    positives: int
    true_negatives: int
    negatives: int

    @property
    def n(self) -> int:
        return self.positives + self.negatives

    @property
    def accuracy(self) -> float:
        """Share judged right; nan of none."""
        return _ratio(self.true_positives + self.true_negatives, self.n)

    @property
    def sensitivity(self) -> float:
        """Share of the positives that are found; nan of none."""
        return _ratio(self.true_positives, self.positives)

    @property
    def specificity(self) -> float:
        """Share of the negatives that pass; nan of none."""
        return _ratio(self.true_negatives, self.negatives)

    @property
    def kappa(self) -> float:
        """Cohen's kappa of judge and truth; nan where it is not defined."""
        missed, alarms = self.positives - self.true_positives, self.negatives - self.true_negatives
        return _kappa(
            {
                (True, True): self.true_positives,
                (True, False): missed,
                (False, True): alarms,
                (False, False): self.true_negatives,
            }
        )

    def plus(self, other: Confusion) -> Confusion:
        return Confusion(*(a + b for a, b in zip(self, other, strict=True)))


def confusion(truth: Sequence[bool], said: Sequence[bool]) -> Confusion:
    """Count a judge's verdicts against the truth, case by case."""
    if len(truth) != len(said):
        raise ValueError(f"There are {len(truth)} truths and {len(said)} verdicts.")
    pairs = list(zip(truth, said, strict=True))
    return Confusion(
        sum(t and s for t, s in pairs),
        sum(bool(t) for t, _ in pairs),
        sum(not t and not s for t, s in pairs),
        sum(not t for t, _ in pairs),
    )


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Cohen's kappa of two raters of the same cases: agreement beyond what their habits alone would give.

    1 is full agreement, 0 is chance; nan where both always say the same one thing, or there are no cases.
    """
    if len(first) != len(second):
        raise ValueError(f"The raters rated {len(first)} and {len(second)} cases.")
    return _kappa(Counter(zip(first, second, strict=True)))


def krippendorff_alpha(
    ratings: Iterable[Sequence[T | None]], *, level: Level = "nominal", order: Sequence[T] = ()
) -> float:
    """Krippendorff's alpha of any number of raters, some of whom may have left cases out.

    Args:
        ratings: Per case, what each rater said; None where one said nothing. Cases with fewer than two
            ratings tell nothing and are left out.
        level: "nominal": labels agree or not. "ordinal": the further apart in `order`, the worse, counted in
            how often the labels between are used (Krippendorff 2011, δ² = (Σ n_g − (n_c + n_k) / 2)²).
        order: The labels from least to most; needed for the ordinal level, where all must be in it.

    Returns:
        1 for full agreement, 0 for chance; nan where no two ratings can be compared or only one label occurs.
    """
    cases = [[r for r in case if r is not None] for case in ratings]
    cases = [case for case in cases if len(case) > 1]
    counts = Counter(label for case in cases for label in case)
    if level == "ordinal":
        missing = [label for label in counts if label not in order]
        if missing:
            raise ValueError(f"{missing[0]!r} is not in the order of the labels.")
    total = sum(counts.values())
    distance = _distance(level, counts, order)
    observed = 0.0
    for case in cases:
        apart = sum(distance(a, b) for i, a in enumerate(case) for j, b in enumerate(case) if i != j)
        observed += apart / (len(case) - 1)
    expected = sum(counts[a] * counts[b] * distance(a, b) for a in counts for b in counts if a != b)
    if not expected:
        return float("nan")
    return 1 - (total - 1) * observed / expected


def _distance(level: Level, counts: Mapping[T, int], order: Sequence[T]) -> Callable[[T, T], float]:
    if level == "nominal":
        return lambda a, b: float(a != b)
    used = [counts.get(label, 0) for label in order]
    middle = [0.0]
    for left, right in pairwise(used):
        middle.append(middle[-1] + (left + right) / 2)
    place = dict(zip(order, middle, strict=True))
    return lambda a, b: (place[a] - place[b]) ** 2


def _kappa(table: Mapping[tuple[Hashable, Hashable], int]) -> float:
    n = sum(table.values())
    if n == 0:
        return float("nan")
    rows, columns = Counter[Hashable](), Counter[Hashable]()
    for (a, b), count in table.items():
        rows[a] += count
        columns[b] += count
    agreed = sum(count for (a, b), count in table.items() if a == b) / n
    chance = sum(rows[a] * columns[a] for a in rows) / n**2
    return float("nan") if chance == 1 else (agreed - chance) / (1 - chance)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


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
    u = _even_points()
    lows, highs = (
        _rates(
            _ends(failures, n, u[0], high=high),
            _ends(true_positives, positives, u[1], high=not high),
            _ends(alarms, negatives, u[2], high=not high),
            unknown=float(high),
        )
        for high in (False, True)
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


def _even_points() -> NDArray[np.float64]:
    """Points of the unit cube by an additive recurrence (Roberts 2018), evenly spread in every margin."""
    root = 1.2207440846057596  # the real solution of x⁴ = x + 1
    k = np.arange(1, _POINTS + 1)
    return np.stack([(0.5 + k * root**-axis) % 1.0 for axis in (1, 2, 3)])
