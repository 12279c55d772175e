"""Sentences of one kind are recognised and said as one."""

from __future__ import annotations

import pytest

from weakspot.text.frames import framed, joined


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        (["it is on a leaf.", "it is on rocks.", "it is on a plate."], "it is on a leaf, rocks or a plate."),
        (["the background is a street.", "the background is white."], "the background is a street or white."),
        (["it is grey.", "it is blue."], "it is grey or blue."),
        (["there are two of them.", "there are three of them."], "there are two or three of them."),
        (["a cat is behind it.", "a red cup is behind it."], "a cat or a red cup is behind it."),
        (["it is at the top.", "it is at the bottom."], "it is at the top or the bottom."),
        (["it is behind a fence."], "it is behind a fence."),
    ],
)  # fmt: skip
def test_sentences_of_one_kind_are_said_as_one(sentences: list[str], said: str) -> None:
    frames = {cut.frame for sentence in sentences if (cut := framed(sentence)) is not None}
    assert len(frames) == 1
    assert joined(sentences) == said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("it is small.", "it is white."),  # a size is no colour
        ("it is behind a net.", "it is on a net."),
        ("the background is snow.", "it is on snow."),
        ("it is raining.", "it is snowing."),
    ],
)
def test_other_sentences_are_not_of_one_kind(one: str, other: str) -> None:
    cut = framed(one), framed(other)
    assert None in cut or cut[0].frame != cut[1].frame  # type: ignore[union-attr]
    assert joined([one, other]) == one


@pytest.mark.parametrize(
    "text", ["", ".", "snow.", "it is small.", "the text says “net”.", "\x00", "of them."]
)
def test_what_names_nothing_has_no_frame(text: str) -> None:
    assert framed(text) is None
