"""Pairs of pictures that one encoder confuses: planted, found by brute force too, and shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from weakspot.cli import run as cli
from weakspot.core import WeakspotError
from weakspot.studies.mine.images import ImagePair, contact_sheet, image_encoder, mine_images
from weakspot.studies.mine.pair_rule import PairRule


class Grey:
    """Sees how light each part of a picture is, and no colour."""

    digest = "grey"

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return np.array([i.mean(2).ravel() / 255 - 0.4 for i in images], np.float32)


class Colour:
    """Sees all of it."""

    digest = "colour"

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return np.array([i.ravel() / 255 - 0.4 for i in images], np.float32)


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty pictures; a and b of a number differ in colour alone."""
    place = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    (place / "sub").mkdir()
    for i in range(20):
        one = rng.integers(0, 255, (6, 6, 3), np.uint8)
        for name, picture in (("a", one), ("b", np.roll(one, 1, axis=2))):
            Image.fromarray(picture).save(place / "sub" / f"{i:02}{name}.png")
    (place / "broken.png").write_bytes(b"no picture")
    return place


def test_planted_pairs_are_found(folder: Path, tmp_path: Path) -> None:
    rule = PairRule(above=0.9, gap=0.2)
    found = mine_images(Grey(), reference=Colour(), images=folder, rule=rule, cache=tmp_path)
    assert {(p.first, p.second) for p in found.pairs} == {
        (f"sub/{i:02}a.png", f"sub/{i:02}b.png") for i in range(20)
    }
    assert found.images == 40
    assert [file.file for file in found.skipped] == ["broken.png"]
    assert [p.tested for p in found.pairs] == sorted((p.tested for p in found.pairs), reverse=True)
    assert found.complete
    json.dumps(found.plain())


def test_as_by_brute_force(folder: Path) -> None:
    rule = PairRule(above=0.3, gap=0.1)
    found = mine_images(Grey(), reference=Colour(), images=folder, rule=rule, pairs=1000)
    names = sorted(p.relative_to(folder).as_posix() for p in folder.glob("sub/*.png"))
    pixels = [np.asarray(Image.open(folder / name)) for name in names]
    one, two = unit(Grey().embed_images(pixels)), unit(Colour().embed_images(pixels))
    expected = sum(
        float(one[i] @ one[j]) > 0.3 and float(one[i] @ one[j] - two[i] @ two[j]) > 0.1
        for i, j in combinations(range(40), 2)
    )
    assert found.candidates == expected


def test_the_rule_fits_itself(folder: Path) -> None:
    found = mine_images(Grey(), reference=Colour(), images=folder)
    assert found.rule.below is not None
    assert all(p.tested > found.rule.above and p.reference < found.rule.below for p in found.pairs)


def test_refusals(folder: Path, tmp_path: Path) -> None:
    class Texts:
        def embed_texts(self, texts: Sequence[str]) -> Any: ...

    class Nan(Grey):
        digest = "nan"

        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            return np.full((len(images), 4), np.nan, np.float32)

    class Copy(Grey):
        digest = "copy"

    (tmp_path / "empty").mkdir()
    (tmp_path / "one").mkdir()
    Image.new("RGB", (4, 4), "red").save(tmp_path / "one" / "1.png")
    for encoder, reference, images, what in (
        (Grey(), Grey(), folder, "are the same"),
        (Grey(), Copy(), folder, "the same vectors"),
        (Texts(), Grey(), folder, "no image tower"),
        (Nan(), Grey(), folder, "picture"),
        (Grey(), Colour(), tmp_path / "empty", "no pictures"),
        (Grey(), Colour(), tmp_path / "nowhere", "no folder"),
        (Grey(), Colour(), tmp_path / "one", "fewer than two"),
    ):
        with pytest.raises(WeakspotError, match=what):
            mine_images(encoder, reference=reference, images=images)  # type: ignore[arg-type]
    with pytest.raises(WeakspotError, match="0 pairs"):
        mine_images(Grey(), reference=Colour(), images=folder, pairs=0)


def test_a_sheet_shows_the_pairs(folder: Path, tmp_path: Path) -> None:
    pairs = [
        ImagePair(first=f"sub/{i:02}a.png", second=f"sub/{i:02}b.png", tested=0.9, reference=0.1)
        for i in range(4)
    ]
    contact_sheet(pairs, folder, tmp_path / "sheet.png", side=32, across=3)
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    first = np.asarray(Image.open(folder / "sub/00a.png"))
    assert sheet.shape == (2 * 60 + 12, 3 * 80 + 12, 3)
    np.testing.assert_array_equal(sheet[12 + 13 : 12 + 19, 12 + 13 : 12 + 19], first)
    with pytest.raises(WeakspotError, match="no pairs"):
        contact_sheet([], folder, tmp_path / "x.png")
    with pytest.raises(WeakspotError, match="cannot be written"):
        contact_sheet(pairs, folder, tmp_path / "sheet.png" / "x.png")


TOWERS = """
import numpy as np

def see(images):
    return images.reshape(len(images), -1) / 255 - 0.4

class Grey:
    def embed_images(self, images):
        return np.array([i.mean(2).ravel() / 255 - 0.4 for i in images], np.float32)
"""


def test_the_command(folder: Path, toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reference for pictures alone will do: here a function."""
    (toy / "towers.py").write_text(TOWERS)
    args = [
        "mine",
        "images",
        "python:towers:Grey",
        "--reference",
        "python:towers:see",
        "--images",
        str(folder),
    ]
    assert cli([*args, "--above", "0.9", "--sheet", "sheet.png", "--cache", "no"]) == 0
    printed = capsys.readouterr().out
    assert "20 pairs of 40 pictures" in printed
    assert "sheet.png" in printed
    assert (toy / "sheet.png").is_file()
    assert cli([*args, "--above", "0.9", "--pairs", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["pairs"]) == 3
    assert document["rule"] == {"above": 0.9, "gap": 0.2, "below": None}
    assert (
        cli(["mine", "images", "world:renderer", "--reference", "python:towers:see", "--images", str(folder)])
        == 1
    )
    assert "fix:" in capsys.readouterr().err


def test_names(toy: Path) -> None:
    assert hasattr(image_encoder("world:encoder"), "embed_texts")
    with pytest.raises(WeakspotError, match="no image tower"):
        image_encoder("world:classifier")
