"""Real failures of real classifiers on ImageNet-X: what people's words find, and what its factors say.

By words: a method sees one half of the photographs with the free sentences that people wrote of them, and
says ten things. The other half judges: how many of the ten fail at least ten points more often than usual,
and which share of all failures lies in them beyond what as many usual rows would have.

By factors: Idrissi et al. (2022) order the sixteen factors by their error ratio, the error rate of
photographs with the factor over that of all. The whole table gives that order; samples of it must give it
back, with intervals that cover.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.bench.real.methods import READ, Flags, Rival, Said, counts, having
from weakspot.bench.real.tables import FACTORS, RealTable, imagenet, slices_of

#: So much more often than usual must rows fail on the other half.
POINTS: Final = 0.10
#: Photographs of a sample, and samples, for the order of the factors.
SAMPLE: Final = 5_000
SAMPLES: Final = 20
#: The normal quantile of a two-sided interval at 95 %.
Z: Final = 1.96


class WordsScore(NamedTuple):
    """What a method's ten statements are worth on the half that it has not seen."""

    method: str
    table: str
    split: int
    reported: int
    right: int  # of these, fail at least ten points more often than usual
    usual: float  # the failure rate of the half that judges
    explained: float  # failures in them beyond the usual rate, as a share of all failures
    rows: float  # the share of the rows that they speak of
    seconds: float  # of processor time
    texts: tuple[tuple[str, int, float | None], ...]  # what was said; rows and rate on the other half

    @property
    def precision(self) -> float | None:
        return self.right / self.reported if self.reported else None


def failures_in_words(
    table: RealTable, methods: Mapping[str, Rival], *, splits: int, seed: int = 0
) -> list[WordsScore]:
    """Every method on one half of the table, judged by the other; halves are drawn anew for each split."""
    found = []
    for split in range(splits):
        order = np.random.default_rng([seed, split]).permutation(len(table))
        seen, other = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        slices = slices_of(table, seen, table.errors[seen])
        for name, method in methods.items():
            began = time.process_time()
            statements = method(slices, seed=seed)[:READ]
            took = time.process_time() - began
            found.append(_judged(name, table, split, other, statements, took))
    return found


def _judged(
    method: str,
    table: RealTable,
    split: int,
    other: NDArray[np.int64],
    statements: Sequence[Said],
    seconds: float,
) -> WordsScore:
    failed, marks = table.errors[other], table.marks.rows[other]
    usual, union = float(failed.mean()), np.zeros(len(other), np.bool_)
    texts, right = [], 0
    for one in statements:
        inside: Flags = having(marks, [table.marks.names.index(name) for name in one.names])
        union |= inside
        rate = float(failed[inside].mean()) if inside.any() else None
        right += rate is not None and rate >= usual + POINTS
        texts.append((" and ".join(sorted(one.names)), int(inside.sum()), rate))
    beyond = float(failed[union].sum() - usual * union.sum())
    return WordsScore(
        method=method,
        table=table.name,
        split=split,
        reported=len(statements),
        right=right,
        usual=usual,
        explained=beyond / max(float(failed.sum()), 1.0),
        rows=float(union.mean()),
        seconds=seconds,
        texts=tuple(texts),
    )


class FactorOrder(NamedTuple):
    """How well samples of a table give back the order of the factors in the whole of it."""

    table: str
    published: tuple[tuple[str, float], ...]  # factor and error ratio on the whole table, worst first
    samples: int
    rows: int  # of a sample
    covered: float  # the share of intervals of a ratio, at 95 %, that hold that of the whole table
    agreement: float  # Kendall's tau of the two orders, mean over samples
    reversed: float  # of pairs of factors whose intervals are apart, the share that is the other way round


def factor_order(
    table: RealTable, *, samples: int = SAMPLES, rows: int = SAMPLE, seed: int = 0
) -> FactorOrder:
    """The error ratios of the factors on the whole table, and from samples without replacement."""
    from scipy.stats import kendalltau

    columns = [
        table.marks.names.index(f"{factor}=1") for factor in FACTORS if f"{factor}=1" in table.marks.names
    ]
    marks, n = table.marks.rows[:, columns], len(table)
    names = [table.marks.names[column].removesuffix("=1") for column in columns]
    truth, _, _ = error_ratios(marks, table.errors, of=n)
    covered = apart = wrong = 0
    agreement = []
    for sample in range(samples):
        chosen = np.random.default_rng([seed, sample]).permutation(n)[:rows]
        ratio, low, high = error_ratios(marks[chosen], table.errors[chosen], of=n)
        covered += int(((low <= truth) & (truth <= high)).sum())
        above = low[:, None] > high[None, :]
        apart += int(above.sum())
        wrong += int((above & (truth[:, None] < truth[None, :])).sum())
        agreement.append(float(kendalltau(ratio, truth).statistic))
    return FactorOrder(
        table=table.name,
        published=tuple((names[i], float(truth[i])) for i in np.argsort(-truth, kind="stable")),
        samples=samples,
        rows=rows,
        covered=covered / (samples * len(columns)),
        agreement=float(np.mean(agreement)),
        reversed=wrong / max(apart, 1),
    )


def error_ratios(
    marks: object, failed: Flags, *, of: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Error rate of the rows with each concept over that of all; low and high ends at 95 %.

    The interval is by the delta method on the log, for a part of the whole (rows with the concept are among
    all rows), and narrower for a sample without replacement from `of` rows.
    """
    every = np.ones(len(failed), np.bool_)
    size, wrong = np.maximum(counts(marks, every), 1.0), counts(marks, failed)
    n, errors = float(len(failed)), max(float(failed.sum()), 1.0)
    ratio = wrong / size / (errors / n)
    rate = (wrong + 0.5) / (size + 1)
    variance = 1 / (wrong + 0.5) - 1 / (size + 1) + 1 / errors - 1 / n - 2 * (1 - rate) / errors
    half = Z * np.sqrt(np.maximum(variance, 0.0) * (1 - n / of))
    middle = rate / (errors / n)
    return ratio, np.minimum(ratio, middle * np.exp(-half)), np.maximum(ratio, middle * np.exp(half))


def by_words(folder: Path, model: str) -> RealTable:
    """ImageNet-X as a table of what people wrote, without the factors."""
    return imagenet(folder, model, factors=False)
