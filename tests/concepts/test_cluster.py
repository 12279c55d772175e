"""Groups of failures, and the ranking of words."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from weakspot.concepts.cluster import Group, cluster, keywords, rank_keywords
from weakspot.core import WeakspotError
from weakspot.text.sentences import sentences


def blobs(*sizes: int, width: int = 16, spread: float = 0.05, seed: int = 0) -> NDArray[np.float64]:
    """Clouds around directions that stand square to each other, one after the other; any lengths."""
    random = np.random.default_rng(seed)
    centres = np.eye(width)[: len(sizes)]
    rows = np.repeat(centres, sizes, axis=0) + random.normal(0, spread, (sum(sizes), width))
    return np.asarray(rows * random.uniform(0.1, 50, (len(rows), 1)))


def members(groups: list[Group]) -> list[set[int]]:
    return [set(g.members) for g in groups]


def test_clouds_are_found_largest_first_whatever_the_lengths_of_the_rows() -> None:
    found = cluster(["bee"] * 60, blobs(12, 30, 18))
    assert members(found) == [set(range(12, 42)), set(range(42, 60)), set(range(12))]
    assert all(g.label == "bee" and not g.leftover for g in found)


def test_the_label_comes_first() -> None:
    labels = ["bee", "cat"] * 20
    found = cluster(labels, blobs(40))
    assert members(found) == [set(range(0, 40, 2)), set(range(1, 40, 2))]
    assert [g.label for g in found] == ["bee", "cat"]


def test_strangers_are_left_over_and_come_last() -> None:
    strangers = -np.eye(16)[4:8]
    found = cluster(["bee"] * 44, np.concatenate([strangers, blobs(20, 20)]))
    assert [g.leftover for g in found] == [False, False, True]
    assert {0, 1, 2, 3} <= set(found[-1].members)


def test_without_structure_a_label_is_one_group() -> None:
    assert cluster(["bee"] * 9, blobs(5, 4)) == cluster(["bee"] * 9, blobs(5, 4))
    assert members(cluster(["bee"] * 9, blobs(5, 4))) == [set(range(9))]  # too few to be told apart
    same = cluster(["bee"] * 40, np.ones((40, 3)))
    assert same == [Group("bee", tuple(range(40)))]
    [one] = cluster(["bee"], np.ones((1, 3)))
    assert one == Group("bee", (0,))
    assert cluster([], np.zeros((0, 8))) == []


def test_the_most_typical_member_comes_first() -> None:
    rows = np.array([[1.0, 0.9], [1.0, 0.0], [1.0, 0.4], [1.0, 0.5]])
    assert cluster(["bee"] * 4, rows) == [Group("bee", (2, 3, 0, 1))]


def test_a_row_without_direction_is_left_over() -> None:
    rows = blobs(20, 20).astype(np.float32)
    rows[3], rows[7, 2], rows[30, 0] = 0, np.nan, np.inf
    found = cluster([None] * 40, rows)
    assert found[-1].leftover
    assert {3, 7, 30} <= set(found[-1].members)
    assert {g.label for g in found} == {""}
    assert members(cluster(["x"] * 20, np.full((20, 4), np.nan))) == [set(range(20))]
    tiny, huge = cluster(["x"] * 60, 1e-200 * blobs(30, 30)), cluster(["x"] * 60, 1e200 * blobs(30, 30))
    assert tiny == huge


def test_a_group_that_is_too_large_is_halved() -> None:
    found = cluster(["bee"] * 300, blobs(300, spread=0.3), largest=64)
    sizes = [len(g.members) for g in found]
    assert max(sizes) <= 64
    assert min(sizes) >= 5
    assert sorted(i for g in found for i in g.members) == list(range(300))


def test_of_very_many_some_are_clustered_and_the_rest_follow() -> None:
    found = cluster(["bee"] * 900, blobs(500, 400), most=100, largest=1000)
    assert [len(g.members) for g in found if not g.leftover] == [500, 400]
    assert members(found)[0] == set(range(500))


def test_more_numbers_than_rows() -> None:
    found = cluster(["bee"] * 40, blobs(22, 18, width=700, spread=0.004))
    assert members(found) == [set(range(22)), set(range(22, 40))]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["bee", "cat", None]), max_size=60), st.integers(1, 12), st.integers(0, 99))
def test_every_failure_is_in_one_group_and_sizes_are_bounded(
    labels: list[str | None], width: int, seed: int
) -> None:
    rows = np.random.default_rng(seed).normal(size=(len(labels), width)).round(1)
    found = cluster(labels, rows, least=3, largest=10)
    assert sorted(i for g in found for i in g.members) == list(range(len(labels)))
    assert all((labels[i] or "") == g.label for g in found for i in g.members)
    assert all(len(g.members) <= 10 for g in found)
    assert all((a.leftover, -len(a.members)) <= (b.leftover, -len(b.members)) for a, b in pairwise(found))
    assert found == cluster(labels, rows, least=3, largest=10)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (np.zeros(3), {}),
        (np.zeros((2, 4)), {}),
        (np.zeros((3, 4)), {"least": 1}),
        (np.zeros((3, 4)), {"largest": 9}),
        (np.zeros((3, 4)), {"dimensions": 0}),
        (np.zeros((3, 4)), {"most": 3}),
    ],
)
def test_what_cannot_be_clustered(rows: NDArray[Any], options: dict[str, int]) -> None:
    with pytest.raises(WeakspotError) as caught:
        cluster(["a", "b", "c"], rows, **options)
    assert caught.value.fix


def test_importing_it_loads_no_scikit_learn() -> None:
    code = "import sys, weakspot.concepts.cluster; print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


# -- words -----------------------------------------------------------------------------------------


def test_keywords() -> None:
    assert keywords("A fly, on a yellow flower! It is NOT small. 2 dogs") == {
        *("fly", "yellow", "flower", "yellow flower", "not", "small", "not small", "2", "dogs", "2 dogs")
    }
    assert keywords("") == keywords("...") == keywords("\x00\x1b") == frozenset()


def test_words_that_go_with_failure_are_ranked_with_their_counts() -> None:
    wrong = ["a fly on a yellow flower."] * 8 + ["a fly on a leaf."] * 2
    right = ["a fly on a leaf."] * 70 + ["a fly on a yellow plate."] * 20
    best, *rest = rank_keywords(wrong, right)
    assert (best.text, best.failing, best.passing) == ("flower", 8, 0)
    assert {s.text for s in rest} == {"yellow flower", "yellow"}  # "fly" and "leaf" tell nothing
    [sentence] = rank_keywords(wrong, right, words=sentences)
    assert (sentence.text, sentence.failing, sentence.passing) == ("a fly on a yellow flower.", 8, 0)
    assert rank_keywords(wrong, right, most=1) == [best]
    assert rank_keywords(wrong, right, least=9) == []


def test_with_nothing_on_one_side() -> None:
    assert rank_keywords([], ["a fly."]) == []
    assert [s.text for s in rank_keywords(["a fly."] * 3, [])] == ["fly"]
    assert rank_keywords([], []) == []


def test_hostile_captions_take_no_long_time() -> None:
    random = np.random.default_rng(0)
    long = [" ".join(f"word{i}" for i in random.integers(0, 5000, 10_000)) for _ in range(4)]
    dotted = [text.replace(" ", ". ") for text in long]
    wrong = [*long, *dotted, "\ud800", "\x00" * 99] + ["it is wet."] * 9
    assert "wet" in {s.text for s in rank_keywords(wrong, ["it is dry."] * 50, most=10_000)}
