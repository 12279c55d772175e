"""Rates from many verdicts and few labels: the truth is covered whatever the judge is worth."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.stats import Stratum, clopper_pearson, powered_rate, wilson


def test_without_labels_it_is_the_judges_word_and_both_ways_where_it_has_none() -> None:
    sure = powered_rate([Stratum(30, 0, 0, 1.0), Stratum(70, 0, 0, 0.0)])
    assert sure.rate == pytest.approx(0.3)
    assert (sure.low, sure.high) == pytest.approx(tuple(wilson(30, 100)))
    unsure = powered_rate(
        [Stratum(30, 0, 0, 1.0), Stratum(60, 0, 0, 0.0), Stratum(10, 0, 0, 0.4, sure=False)]
    )
    assert unsure.rate == pytest.approx(0.34)
    assert (unsure.low, unsure.high) == pytest.approx((wilson(30, 100).low, wilson(40, 100).high))


def test_labels_take_the_place_of_the_word() -> None:
    found = powered_rate([Stratum(50, 50, 40, 1.0), Stratum(50, 50, 5, 0.0)])
    assert found.rate == pytest.approx(0.45)
    assert (found.low, found.high) == pytest.approx(tuple(wilson(45, 100)))
    some = powered_rate([Stratum(100, 20, 5, 0.0)])
    assert some.rate == pytest.approx(0.25)
    assert some.low < clopper_pearson(5, 20).low + 0.05
    assert some.high - some.low > found.high - found.low


@pytest.mark.parametrize(
    ("truth", "labels"),
    [
        ((0.9, 0.1, 0.5), (10, 10, 10)),
        ((0.6, 0.3, 0.5), (20, 40, 20)),
        (
            (1.0, 0.0, 0.7),
            (0, 0, 15),
        ),  # only what the judge was unsure of was labelled, and it is right elsewhere
        ((0.98, 0.02, 0.2), (30, 60, 30)),
    ],
)
def test_the_interval_covers_the_truth(truth: tuple[float, ...], labels: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    shares = (0.25, 0.65, 0.1)
    rate = sum(share * one for share, one in zip(shares, truth, strict=True))
    times, covered = 400, 0
    for _ in range(times):
        sizes = rng.multinomial(300, shares)
        strata = []
        for n, one, most, word in zip(sizes, truth, labels, (1.0, 0.0, 0.5), strict=True):
            failed, labelled = int(rng.binomial(n, one)), min(most, int(n))
            seen = int(rng.hypergeometric(failed, n - failed, labelled)) if labelled else 0
            strata.append(Stratum(int(n), labelled, seen, word, word != 0.5))
        found = powered_rate(strata)
        covered += found.low <= rate <= found.high
    assert covered / times >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / times)


def test_counts_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="at least one case"):
        powered_rate([])
    with pytest.raises(ValueError, match="cannot be labelled"):
        powered_rate([Stratum(3, 4, 2, 1.0)])
