from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakspot.core import Hypothesis, Search, Stage, Status, Tally, Trial
from weakspot.text.caption import LONGEST, CaptionSearch, rank, sentences
from weakspot.text.refine import without_adjectives

BASE = Hypothesis("a photograph of a fly (insect).", origin="baseline")


class Ledger:
    """The baseline's trials, in memory."""

    def __init__(self, failing: list[str], passing: list[str]) -> None:
        said = [(c, True) for c in failing] + [(c, False) for c in passing]
        self._trials = [
            Trial(BASE.id, i, Status.OK, failed, None, "fly", "bee" if failed else "fly", caption=caption)
            for i, (caption, failed) in enumerate(said)
        ]

    def hypotheses(self) -> list[Hypothesis]:
        return [BASE]

    def tallies(self) -> Mapping[str, Tally]:
        return {}

    def trials(
        self, hypothesis: Hypothesis, *, stage: Stage | None = None, failed: bool | None = None
    ) -> list[Trial]:
        assert (hypothesis, stage) == (BASE, Stage.EXPLORE)
        return [t for t in self._trials if t.failed is failed]


def phrases(failing: list[str], passing: list[str], **settings: float) -> list[str]:
    search = CaptionSearch(BASE, **settings)  # type: ignore[arg-type]
    assert isinstance(search, Search)
    return [h.text.removeprefix(BASE.text).strip() for h in search.propose(Ledger(failing, passing))]


def test_what_is_said_of_failures_and_not_of_passes_comes_first() -> None:
    failing = ["it is on a flower. it is small."] * 9 + ["it is on a rock. it is small."]
    passing = ["it is on a rock. it is small."] * 80 + ["it is on a rock. it is large."] * 10
    assert phrases(failing, passing) == ["it is on a flower."]


def test_proposals_know_where_they_come_from() -> None:
    [proposed] = CaptionSearch(BASE).propose(Ledger(["it is on a flower."] * 5, ["it is far."] * 50))
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


def test_rank_counts() -> None:
    [best, rest] = rank([frozenset({"a.", "b."}), frozenset({"a."})], [frozenset({"b."})] * 8)
    assert (best.text, best.failing, best.passing) == ("a.", 2, 0)
    assert (rest.text, rest.failing, rest.passing) == ("b.", 1, 8)
    assert best.lift == pytest.approx((2.5 / 3) / (0.5 / 9))
    assert best.log_evidence > rest.log_evidence


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("It is on a Flower.  It is\n\tsmall", ["it is on a flower.", "it is small."]),
        ("", []),
        ("...", []),
        ("\x1b[31mred\x07.", ["[31mred."]),
        ("right\u202eleft.", ["right left."]),
        ("x" * 1_000_000, []),
        ("<script>alert(1)</script>", ["<script>alert(1)</script>."]),
        ("un\ud800paired.", ["un paired."]),
    ],
)
def test_sentences_of_any_caption_are_clean(caption: str, expected: list[str]) -> None:
    assert sentences(caption) == expected


@given(st.text())
def test_a_sentence_is_one_printable_line(caption: str) -> None:
    for sentence in sentences(caption):
        assert sentence.isprintable()
        assert sentence.endswith(".")
        assert len(sentence) <= LONGEST
        assert without_adjectives(sentence)
        assert without_adjectives(without_adjectives(sentence)) == without_adjectives(sentence)


def test_hostile_captions_do_not_stop_the_search() -> None:
    hostile = ["\x00" * 10, "x" * 1_000_000, "<script>.\x1b[2J.", "\ud800", "it is wet."]
    found = phrases(hostile * 3, ["it is far."] * 100)
    assert "it is wet." in found
    assert all(p.isprintable() for p in found)
