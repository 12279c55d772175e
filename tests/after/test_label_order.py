"""Renamings of labels are found where there are some, and only there: simulated classifiers that err."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.after.label_order import label_order

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
    "any": ([3, 1, 0, 2, 7, 4, 9, 5, 8, 6], "not in the order"),
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


def balanced(true: list[int], each: int, accuracy: float, seed: int) -> tuple[list[str], list[str]]:
    """As `simulated`, with so many pictures of each label."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.repeat(np.arange(10), each))
    said = np.where(rng.random(len(classes)) < accuracy, classes, rng.integers(10, size=len(classes)))
    return [TEN[i] for i in said], [TEN[true[i]] for i in classes]


def test_two_labels_that_changed_places_are_found() -> None:
    """With 20 pictures a label, most of the answers right."""
    swapped = [0, 1, 2, 3, 5, 4, 6, 7, 8, 9]
    for accuracy, least in ((0.7, 0.8), (0.8, 0.9), (0.9, 0.99)):
        found = [label_order(*balanced(swapped, 20, accuracy, seed), TEN) for seed in range(100)]
        assert sum(bool(one.slip) for one in found) >= 100 * least, accuracy
    order = label_order(*balanced(swapped, 20, 0.9, 1), TEN)
    assert order.slip == "2 labels are swapped with each other"
    assert order.example in ("cat is answered as dog", "dog is answered as cat")
    assert order.renamed >= order.right + 30 > 150


def test_four_of_ten_are_found() -> None:
    cycle = [3, 1, 2, 6, 4, 5, 9, 7, 8, 0]
    found = [label_order(*balanced(cycle, 20, 0.8, seed), TEN).slip for seed in range(50)]
    assert found.count("4 labels are swapped with each other") >= 45


def test_models_that_err_in_order_raise_no_alarm() -> None:
    """Whatever they confuse: each label is mistaken for a few others of its own."""
    alarms = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        for accuracy in (0.6, 0.75, 0.95):
            odds = rng.dirichlet(np.full(10, 0.15), size=10) * (1 - accuracy) + accuracy * np.eye(10)
            classes = np.repeat(np.arange(10), 20)
            said = [TEN[rng.choice(10, p=odds[c])] for c in classes]
            alarms += bool(label_order(said, [TEN[c] for c in classes], TEN).slip)
    assert alarms <= 1


def test_one_answer_or_two_at_random_are_no_slip() -> None:
    mixed = [TEN[i % 10] for i in range(200)]
    for expected in (mixed, ["cat"] * 200, ["cat", "bird"] * 100, ["cat"] * 150 + ["dog"] * 50):
        assert label_order(["dog"] * 200, expected, TEN).slip == ""
    for seed in range(20):
        said = [TEN[i] for i in np.random.default_rng(seed).integers(2, size=200)]
        assert label_order(said, ["cat", "bird"] * 100, TEN).slip == ""
        assert label_order(said, mixed, TEN).slip == ""


def test_a_few_labels_of_many_are_enough() -> None:
    """Pictures of ten labels out of a hundred; the model's answers lie among all of them."""
    hundred = tuple(f"label {i:03}" for i in range(100))
    rng = np.random.default_rng(2)
    true = rng.permutation(100)
    classes = np.repeat(np.arange(10), 12)
    said = np.where(rng.random(120) < 0.8, classes, rng.integers(100, size=120))
    wanted = [hundred[true[c]] for c in classes]
    assert "not in the order" in label_order([hundred[s] for s in said], wanted, hundred).slip


def test_a_handful_of_pictures_says_nothing() -> None:
    assert label_order(["a"] * 4, ["b"] * 4, ("a", "b")).slip == ""
