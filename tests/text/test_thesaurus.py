"""WordNet's adjectives and verbs: a small one made here, and the real one where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from weakspot.core import WeakspotError
from weakspot.text.thesaurus import Part, Thesaurus

LICENCE = "  1 This software and database is being provided to you\n"
FILES = {
    "index.adj": """\
messy a 1 1 & 1 0 00000100
untidy a 1 2 ! & 1 0 00000200
red a 1 1 & 1 0 00000300
blue a 1 1 & 1 0 00000400
chromatic a 1 1 & 1 0 00000500
happy a 1 1 ^ 1 0 00000600
glad a 1 0 1 0 00000700
""",
    "data.adj": """\
00000100 00 s 01 messy 0 001 & 00000200 a 0000 | dirty and disorderly
00000200 00 a 01 untidy 0 001 & 00000100 a 0000 | not neat
00000300 00 s 01 red 0 001 & 00000500 a 0000 | like blood
00000400 00 s 01 blue 0 001 & 00000500 a 0000 | like the sky
00000500 00 a 01 chromatic 0 002 & 00000300 a 0000 & 00000400 a 0000 | having colour
00000600 00 a 01 happy 0 001 ^ 00000700 a 0000 | enjoying
00000700 00 a 01 glad 0 000 | showing joy
broken
""",
    "index.verb": """\
jump v 1 0 1 0 00000100
leap v 1 0 1 0 00000100
fall v 1 0 1 0 00000200
""",
    "data.verb": """\
00000100 38 v 02 jump 0 leap 0 000 01 + 02 00 | move
00000200 38 v 01 fall 0 000 01 + 02 00 | drop
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(LICENCE + text)
    (tmp_path / "index.noun").write_text(LICENCE + "entity n 1 0 1 0 00000056\n")
    (tmp_path / "data.noun").write_text(f"{LICENCE}{len(LICENCE):08} 03 n 01 entity 0 000 | that which is\n")
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
