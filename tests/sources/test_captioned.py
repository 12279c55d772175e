"""Captions of pictures, in the forms people keep them in; and what is no such thing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import WeakspotError
from weakspot.sources.captioned import Captioned, read_captioned


class Mean:
    """An encoder: the mean colour."""

    digest = "mean"

    def __init__(self) -> None:
        self.seen = 0

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 3), np.float32)

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        self.seen += len(images)
        return np.array([image.mean((0, 1)) + 1 for image in images], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    for i, colour in enumerate(("red", "green", "blue")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / "images" / f"{i}.png")
    return tmp_path


ROWS: list[dict[str, Any]] = [
    {"file": "images/0.png", "captions": ["a red one", "red"]},
    {"file": "images/1.png", "captions": ["a green one"]},
]


def write(folder: Path, name: str) -> None:
    text = {
        "captions.jsonl": "\n".join(map(json.dumps, ROWS)),
        "captions.json": json.dumps({row["file"]: row["captions"] for row in ROWS}),
        "metadata.jsonl": "\n".join(
            json.dumps({"file_name": row["file"], "text": c}) for row in ROWS for c in row["captions"]
        ),
        "captions.csv": "image,caption\n"
        + "\n".join(f"{r['file']},{c}" for r in ROWS for c in r["captions"]),
        "coco.json": json.dumps(
            {
                "images": [{"id": i, "file_name": f"{i}.png"} for i in range(2)],
                "annotations": [
                    {"image_id": i, "caption": c} for i, row in enumerate(ROWS) for c in row["captions"]
                ],
            }
        ),
    }[name]
    (folder / name).write_text(text)


@pytest.mark.parametrize(
    "name", ["captions.jsonl", "captions.json", "metadata.jsonl", "captions.csv", "coco.json"]
)
@pytest.mark.parametrize("where", [".", "images"])
def test_forms(folder: Path, name: str, where: str) -> None:
    write(folder, name)
    found = read_captioned(folder / where, captions=folder / name if name == "coco.json" else None)
    assert [Path(n).name for n in found.names] == ["0.png", "1.png"]
    assert found.captions == (("a red one", "red"), ("a green one",))
    assert [Path(s.name).name for s in found.skipped] == ["2.png"]
    rows = found.rows(Mean())
    assert rows.places == (0, 1)
    np.testing.assert_allclose(np.linalg.norm(rows.vectors, axis=1), 1, atol=1e-6)
    assert rows.vectors[0].argmax() == 0


def test_pictures_are_embedded_once(folder: Path, tmp_path: Path) -> None:
    write(folder, "captions.jsonl")
    for _ in range(2):
        encoder = Mean()
        read_captioned(folder).rows(encoder, cache=tmp_path / "cache")
    assert encoder.seen == 0


def test_some_of_them(folder: Path) -> None:
    write(folder, "captions.jsonl")
    found = read_captioned(folder)
    assert found.only(["1.png"]).names == ("images/1.png",)
    assert found.only(["images/1.png", "x"]).captions == (("a green one",),)
    with pytest.raises(WeakspotError, match="none of the pictures"):
        found.only(["7.png"])


def test_in_memory() -> None:
    pictures = [np.full((4, 4, 3), i, np.uint8) for i in range(70)]
    found = Captioned.of([(p, [f"number {i}", "", 3, f"number  {i}"]) for i, p in enumerate(pictures)])  # type: ignore[list-item]
    assert found.captions[5] == ("number 5",)
    assert found.rows(Mean()).vectors.shape == (70, 3)
    with pytest.raises(WeakspotError, match="no picture has a caption"):
        Captioned.of([(pictures[0], ["…"])])


def test_a_damaged_picture_is_left_out(folder: Path) -> None:
    write(folder, "captions.jsonl")
    (folder / "images/0.png").write_bytes(b"no picture")
    rows = read_captioned(folder).rows(Mean())
    assert rows.places == (1,)
    assert [s.name for s in rows.skipped] == ["images/0.png"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "no captions with the pictures"),
        (b"", "no caption of a picture"),
        (b"\xff\xfe\0", "cannot be read"),
        (b'{"file": "images/0.png"}', "no captions; its columns are file"),
        (b'{"file": "other.png", "caption": "x"}', "no caption of a picture"),
        (b'{"file": "images/0.png", "caption": ["", 7, "\\u0000"]}', "no caption of a picture"),
        (b"[1, 2", "cannot be read"),
        (b"7", "is not a JSON object"),
    ],
)
def test_bad_files(folder: Path, content: bytes | None, what: str) -> None:
    if content is not None:
        (folder / "captions.jsonl").write_bytes(content)
    with pytest.raises(WeakspotError, match=what):
        read_captioned(folder)


def test_no_image_tower(folder: Path) -> None:
    write(folder, "captions.jsonl")

    class Texts:
        def embed_texts(self, texts: Sequence[str]) -> Any: ...

    with pytest.raises(WeakspotError, match="no image tower"):
        read_captioned(folder).rows(Texts())  # type: ignore[arg-type]
    with pytest.raises(WeakspotError, match="there is no folder"):
        read_captioned(folder / "nowhere")
