from __future__ import annotations

import pytest

from weakspot.text.refine import without_adjectives


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
