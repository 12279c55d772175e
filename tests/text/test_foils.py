"""Foils: one thing exchanged, nothing where the change would still be true."""

from __future__ import annotations

import pytest

from weakspot.core import WeakspotError
from weakspot.text.changes import key
from weakspot.text.contrast import EDITS, EXCHANGES, KINDS, chosen_foils, foils
from weakspot.text.differences import Category, categorise

KIND = {kind.name: kind for kind in KINDS}


@pytest.mark.parametrize(
    ("name", "caption", "expected"),
    [
        ("left ↔ right", "A man points to the left .", ["A man points to the right ."]),
        ("left ↔ right", "A boy left the house on the right track .", []),
        ("in front of ↔ behind", "Behind a car a dog runs .", ["In front of a car a dog runs ."]),
        ("in front of ↔ behind", "A dog looks behind .", []),
        ("up ↔ down", "A dog runs up a hill", ["A dog runs down a hill"]),
        ("up ↔ down", "A boy hangs upside down from a tree up there", []),
        ("over ↔ under", "a horse jumps over a fence", ["a horse jumps under a fence"]),
        ("with ↔ without", "a man with a hat", ["a man without a hat"]),
        ("count (two ↔ three, four ↔ five)", "Two dogs", ["Three dogs"]),
        ("colour (black ↔ white, red ↔ blue)", "a black and white dog", []),
        ("colour (black ↔ white, red ↔ blue)", "a Red cap and a red car", ["a Blue cap and a blue car"]),
        ("dog ↔ cat", "A dog and two dogs", ["A cat and two dogs", "A dog and two cats"]),
        ("dog ↔ cat", "A dog chases a cat", []),
        ("man ↔ woman", "A man and a mannequin", ["A woman and a mannequin"]),
        ("gender", "A snarling dog approaches a hissing cat .", []),
        ("gender", "A little girls waist high in sand", []),
        ("beings exchanged", "A man walks a dog.", ["A dog walks a man."]),
        ("beings exchanged", "A man and a dog.", []),
        ("beings exchanged", "A man walks in the rain.", []),
    ],
)
def test_exchanges(name: str, caption: str, expected: list[str]) -> None:
    assert foils(caption, KIND[name]) == expected


def test_kinds_differ_in_what_they_say() -> None:
    captions = [
        "Two men in front of a red house watch a dog with a black ball jump over a fence.",
        "A girl on the left side of a street is walking up a hill.",
        "A boy feeds a horse.",
    ]
    told = {kind.name: [(c, f) for c in captions for f in foils(c, kind)] for kind in KINDS}
    assert not [kind.name for kind in EXCHANGES if not told[kind.name]]
    assert sum(map(len, (told[kind.name] for kind in EDITS))) > 10
    for kind in KINDS:
        for caption, foil in told[kind.name]:
            assert key(caption) != key(foil)
            assert categorise(caption, foil).category is kind.category, (kind.name, caption, foil)


def test_bad_captions_have_none() -> None:
    for caption in ("", "\0 a dog", "a dog " * 1000, "a dog\nruns"):
        assert all(foils(caption, kind) == [] for kind in KINDS)


def test_choice() -> None:
    assert chosen_foils(None) == list(KINDS)
    assert {kind.category for kind in chosen_foils(["spatial relation"])} == {Category.SPATIAL}
    assert len(chosen_foils(["spatial relation"])) == 5
    assert [kind.name for kind in chosen_foils(["dog ↔ cat", "dog ↔ cat", "colour"])] == [
        "dog ↔ cat", "colour (black ↔ white, red ↔ blue)",
    ]  # fmt: skip
    with pytest.raises(WeakspotError) as caught:
        chosen_foils(["spatial relations"])
    assert "spatial relation" in str(caught.value.fix)
    with pytest.raises(WeakspotError, match="no change"):
        chosen_foils([])
