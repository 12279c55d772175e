"""Agreement: against values worked out by hand or published, and by simulation of what it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weakspot.stats import Confusion, cohen_kappa, confusion, krippendorff_alpha


def test_confusion_counts_by_hand() -> None:
    truth = [True, True, True, False, False, False, False]
    said = [True, True, False, False, False, True, False]
    found = confusion(truth, said)
    assert found == Confusion(2, 3, 3, 4)
    assert found.n == 7
    assert found.accuracy == pytest.approx(5 / 7)
    assert found.sensitivity == pytest.approx(2 / 3)
    assert found.specificity == pytest.approx(3 / 4)
    assert found.kappa == pytest.approx(cohen_kappa(truth, said))
    assert found.plus(found) == Confusion(4, 6, 6, 8)


def test_a_confusion_of_nothing_is_not_a_number() -> None:
    empty = confusion([], [])
    assert all(map(math.isnan, (empty.accuracy, empty.sensitivity, empty.specificity, empty.kappa)))


def test_kappa_of_a_table_worked_out_by_hand() -> None:
    # 20 both yes, 5 and 10 apart, 15 both no: agreed 0.7, by chance 0.5, so 0.4.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_kappa_against_scikit_learn() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(3)
    for _ in range(20):
        first = rng.integers(0, 4, 60)
        second = np.where(rng.random(60) < 0.6, first, rng.integers(0, 4, 60))
        assert cohen_kappa(first.tolist(), second.tolist()) == pytest.approx(cohen_kappa_score(first, second))


def test_kappa_of_one_label_is_not_a_number() -> None:
    assert math.isnan(cohen_kappa([True] * 5, [True] * 5))
    assert math.isnan(cohen_kappa([], []))


def test_raters_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 1"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(ValueError, match="2 truths"):
        confusion([True, False], [True])


#: Krippendorff's own example ("Computing Krippendorff's alpha-reliability", 2011): 4 observers, 12 units.
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def test_alpha_of_the_published_example() -> None:
    units = list(zip(*OBSERVERS, strict=True))
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units, level="ordinal", order=(1, 2, 3, 4, 5)) == pytest.approx(0.815, abs=5e-4)


def test_alpha_of_full_agreement_and_of_chance() -> None:
    assert krippendorff_alpha([(a, a) for a in "aabbc"]) == 1
    rng = np.random.default_rng(5)
    noise = krippendorff_alpha([tuple(row) for row in rng.integers(0, 3, (4000, 3)).tolist()])
    assert abs(noise) < 0.03


def test_far_labels_count_more_when_they_have_an_order() -> None:
    order = ("complies", "caveat", "partial", "refuses")
    base = [
        ("complies", "complies"),
        ("refuses", "refuses"),
        ("caveat", "caveat"),
        ("partial", "partial"),
    ] * 5
    near = krippendorff_alpha([*base, ("complies", "caveat")], level="ordinal", order=order)
    far = krippendorff_alpha([*base, ("complies", "refuses")], level="ordinal", order=order)
    assert far < near < 1


def test_alpha_needs_two_ratings_and_two_labels() -> None:
    assert math.isnan(krippendorff_alpha([("a", None), (None, "b")]))
    assert math.isnan(krippendorff_alpha([("a", "a")] * 3))
    with pytest.raises(ValueError, match="'d' is not in the order"):
        krippendorff_alpha([("a", "d")], level="ordinal", order=("a", "b"))
