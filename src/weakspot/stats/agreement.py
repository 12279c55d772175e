"""Agreement between judges: with a truth (confusion), between two (kappa), among many with gaps (alpha)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)
Level = Literal["nominal", "ordinal"]


class Confusion(NamedTuple):
    """A judge against the truth, as counts; what `corrected_rate` needs. A positive is a failure.

    Attributes:
        true_positives: Of the positives, those the judge found.
        positives: How many there truly are.
        true_negatives: Of the negatives, those the judge let pass.
        negatives: How many there truly are.
    """

    true_positives: int
    positives: int
    true_negatives: int
    negatives: int

    @property
    def n(self) -> int:
        """All cases."""
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
        """Both together."""
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
    table: dict[tuple[Hashable, Hashable], int] = {}
    for pair in zip(first, second, strict=True):
        table[pair] = table.get(pair, 0) + 1
    return _kappa(table)


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
    counts: dict[T, int] = {}
    for case in cases:
        for label in case:
            counts[label] = counts.get(label, 0) + 1
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
    rows: dict[Hashable, int] = {}
    columns: dict[Hashable, int] = {}
    for (a, b), count in table.items():
        rows[a] = rows.get(a, 0) + count
        columns[b] = columns.get(b, 0) + count
    agreed = sum(count for (a, b), count in table.items() if a == b) / n
    chance = sum(rows[a] * columns.get(a, 0) for a in rows) / n**2
    return float("nan") if chance == 1 else (agreed - chance) / (1 - chance)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
