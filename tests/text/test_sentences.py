from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakspot.text.sentences import LONGEST, rank, sentences, without_adjectives


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


@pytest.mark.parametrize(
    ("sentence", "general"),
    [
        ("it is on a yellow flower.", "it is on a flower."),
        ("it is on an orange flower.", "it is on a flower."),
        ("it is on a red apple.", "it is on an apple."),
        ("it is behind a small old wooden fence.", "it is behind a fence."),
        ("the green background is far.", "the background is far."),
        ("two white cats are there.", "two cats are there."),
        ("it is on a red flower beside an old oak.", "it is on a flower beside an oak."),
        # An adjective that is all the sentence says stays.
        ("it is small.", "it is small."),
        ("the background is green.", "the background is green."),
        # An article is fitted only to a word that moved next to it.
        ("it waits an hour.", "it waits an hour."),
        ("it is a unicorn.", "it is a unicorn."),
        # What the rule does not understand is left alone.
        ("it is on a.", "it is on a."),
        ("a red", "a"),
        ("", ""),
    ],
)
def test_without_adjectives(sentence: str, general: str) -> None:
    assert without_adjectives(sentence) == general
