"""Renamings of labels are found where there are some, and only there: simulated classifiers that err."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.studies.label_order import label_order

TEN = ("airplane", "automobile", "truck", "bird", "dog", "cat", "deer", "frog", "horse", "ship")


def simulated(
    labels: tuple[str, ...], true: list[int], n: int, accuracy: float, seed: int
) -> tuple[list[str], list[str]]:
    """Answers of a classifier whose class i is called labels[true[i]] in truth and labels[i] by mistake."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(len(labels), size=n)
    said = np.where(rng.random(n) < accuracy, classes, rng.integers(len(labels), size=n))
    return [labels[i] for i in said], [labels[true[i]] for i in classes]


SLIPS = {
    "one too many": ([*range(1, 10), 0], "shifted by one"),
    "one missing": ([9, *range(9)], "shifted by one"),
    "sorted": (sorted(range(10), key=lambda i: TEN[i]), "alphabetical"),
    "reverse": ([*range(9, -1, -1)], "in reverse"),
    "any": ([3, 1, 0, 2, 7, 4, 9, 5, 8, 6], "another order"),
}


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("seed", range(3))
def test_slips_are_found(slip: str, seed: int) -> None:
    true, words = SLIPS[slip]
    order = label_order(*simulated(TEN, true, 60, 0.8, seed), TEN)
    assert words in order.slip
    assert "is answered as" in order.example
    assert order.renamed > 30 > order.right


def test_a_fallible_classifier_in_order_is_left_alone() -> None:
    for accuracy in (0.2, 0.5, 0.95):
        for seed in range(60):
            assert label_order(*simulated(TEN, [*range(10)], 40, accuracy, seed), TEN).slip == ""


def test_guessing_is_no_slip() -> None:
    """Of a classifier that guesses, hardly ever; of ImageNet's size with one picture a label too."""
    thousand = tuple(f"label {i:04}" for i in range(1000))
    found = [label_order(*simulated(TEN, [*range(10)], 40, 0.0, seed), TEN).slip for seed in range(100)]
    assert sum(map(bool, found)) <= 2
    assert label_order(*simulated(thousand, [*range(1000)], 200, 0.0, 1), thousand).slip == ""
    shifted = label_order(*simulated(thousand, [*range(1, 1000), 0], 60, 0.7, 1), thousand)
    assert "shifted" in shifted.slip


def test_a_handful_of_pictures_says_nothing() -> None:
    assert label_order(["a"] * 4, ["b"] * 4, ("a", "b")).slip == ""
