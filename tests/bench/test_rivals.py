"""Ways to find weak spots that a hunt is compared with."""

from __future__ import annotations

import pytest

from weakspot.bench.rivals import said_of_failures
from weakspot.core import Hypothesis

BASE = Hypothesis("a photograph of a fly (insect).", origin="baseline")


def phrases(failing: list[str], passing: list[str], **settings: float) -> list[str]:
    found = said_of_failures(BASE, failing, passing, **settings)  # type: ignore[arg-type]
    return [h.text.removeprefix(BASE.text).strip() for h in found]


def test_what_is_said_of_failures_and_not_of_passes_comes_first() -> None:
    failing = ["it is on a flower. it is small."] * 9 + ["it is on a rock. it is small."]
    passing = ["it is on a rock. it is small."] * 80 + ["it is on a rock. it is large."] * 10
    assert phrases(failing, passing) == ["it is on a flower."]


def test_proposals_know_where_they_come_from() -> None:
    [proposed] = said_of_failures(BASE, ["it is on a flower."] * 5, ["it is far."] * 50)
    assert proposed.text == f"{BASE.text} it is on a flower."
    assert (proposed.origin, proposed.parent) == ("caption", BASE.id)


def test_the_general_sentence_is_proposed_beside_the_special_one() -> None:
    failing = ["it is on an orange flower."] * 4 + ["it is on a yellow flower."] * 4
    found = phrases(failing, ["it is on a leaf."] * 90)
    assert found[0] == "it is on a flower."
    assert set(found) == {"it is on a flower.", "it is on an orange flower.", "it is on a yellow flower."}


def test_the_baselines_own_words_are_not_proposed() -> None:
    failing, passing = [f"{BASE.text} it is wet."] * 5, [f"{BASE.text} it is far."] * 50
    assert phrases(failing, passing) == ["it is wet."]


@pytest.mark.parametrize(
    ("failing", "passing"), [([], []), ([], ["it is far."] * 9), ([""] * 9, ["it is far."] * 9)]
)
def test_without_failures_or_captions_there_is_nothing_to_propose(
    failing: list[str], passing: list[str]
) -> None:
    assert phrases(failing, passing) == []


def test_at_most_so_many_and_none_that_tells_little() -> None:
    failing = [f"it is {i}." for i in range(60)]
    assert len(phrases(failing, ["it is far."] * 60)) == 24
    assert len(phrases(failing, ["it is far."] * 60, most=3)) == 3
    same = ["it is far."] * 60
    assert phrases(same, same) == []


def test_the_order_does_not_depend_on_the_order_of_the_trials() -> None:
    failing = ["it is wet. it is red.", "it is wet.", "there is glare. it is red.", "there is glare."]
    passing = ["it is far."] * 20
    assert phrases(failing, passing) == phrases(failing[::-1], passing[::-1])


def test_hostile_captions_do_not_stop_the_search() -> None:
    hostile = ["\x00" * 10, "x" * 1_000_000, "<script>.\x1b[2J.", "\ud800", "it is wet."]
    found = phrases(hostile * 3, ["it is far."] * 100)
    assert "it is wet." in found
    assert all(p.isprintable() for p in found)
