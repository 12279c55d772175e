"""WordNet's adjectives and verbs: a small one made here, and the real one where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from weakspot.core import WeakspotError
from weakspot.text.wordnet import Thesaurus
from weakspot.text.wordnet_files import Part

LICENCE = "  1 This software and database is being provided to you\n"
#: By part of speech, each synset's word with its links to others.
SYNSETS: dict[str, dict[str, str]] = {
    "adj": {
        "messy": "& untidy",
        "untidy": "& messy",
        "red": "& chromatic",
        "blue": "& chromatic",
        "chromatic": "& red",
        "happy": "^ glad",
        "glad": "",
    },
    "verb": {"jump leap": "", "fall": ""},
    "noun": {"entity": ""},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part, synsets in SYNSETS.items():
        letter, at = part[0], dict.fromkeys(" ".join(synsets).split(), 0)
        for _ in range(2):  # offsets have eight digits whatever they are, so the first round finds the places
            data = LICENCE
            for said, link in synsets.items():
                words = said.split()
                at |= dict.fromkeys(words, len(data))
                spelt = f"{len(words):02x} {' '.join(f'{word} 0' for word in words)}"
                links = f"001 {link[0]} {at[link[2:]]:08d} {letter} 0000" if link else "000"
                data += f"{at[words[0]]:08d} 00 {letter} {spelt} {links} | what it is\n"
        (tmp_path / f"data.{part}").write_text(data)
        index = "".join(f"{word} {letter} 1 0 1 0 {at[word]:08d}\n" for word in sorted(at))
        (tmp_path / f"index.{part}").write_text(LICENCE + index)
    return tmp_path


def test_same_and_near(folder: Path) -> None:
    known = Thesaurus(folder)
    adjectives = [
        ("messy", "untidy", True),
        ("red", "chromatic", True),
        ("red", "blue", False),
        ("x", "y", False),
    ]
    for a, b, same in adjectives:
        assert known.same(a, b, Part.ADJECTIVE) is known.same(b, a, Part.ADJECTIVE) is same
    assert known.same("jump", "leap", Part.VERB)
    assert not known.same("jump", "fall", Part.VERB)
    assert not known.same("messy", "untidy", Part.VERB)
    assert known.near("glad", "happy", Part.ADJECTIVE)
    assert not known.same("glad", "happy", Part.ADJECTIVE)
    assert known.knows("leap")
    assert not known.knows("floo")


def test_where_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAKSPOT_WORDNET", str(folder))
    assert Thesaurus.find().folder == folder
    (folder / "data.verb").unlink()
    with pytest.raises(WeakspotError, match=r"no data\.verb"):
        Thesaurus.find()


def test_the_real_one() -> None:
    try:
        known = Thesaurus.find()
    except WeakspotError:
        pytest.skip("WordNet is not installed")
    assert known.same("messy", "untidy", Part.ADJECTIVE)
    assert known.same("gather", "assemble", Part.VERB)
    for a, b in (("red", "blue"), ("big", "small"), ("black", "white"), ("hot", "cold")):
        assert not known.same(a, b, Part.ADJECTIVE)
    for a, b in (("walk", "run"), ("sit", "stand"), ("throw", "catch"), ("open", "close"), ("push", "pull")):
        assert not known.same(a, b, Part.VERB)
