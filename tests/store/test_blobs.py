from __future__ import annotations

import hashlib
import io
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weakspot.core import WeakspotError
from weakspot.store import Blobs, blobs, encode, write_whole


def test_blobs_are_named_by_their_content(tmp_path: Path) -> None:
    box = Blobs(tmp_path / "blobs")
    digest = box.put(b"some bytes")
    assert digest == hashlib.sha256(b"some bytes").hexdigest()
    assert box.get(digest) == b"some bytes"
    assert box.path(digest) == tmp_path / "blobs" / digest[:2] / digest
    assert box.put(b"some bytes") == digest
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 1


def test_a_blob_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    box = Blobs(tmp_path)
    path = box.path(box.put(b"x"))
    before = path.stat()
    box.put(b"x")
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino


def test_missing_damaged_and_senseless_blobs_are_explained(tmp_path: Path) -> None:
    box = Blobs(tmp_path)
    digest = box.put(b"x")
    with pytest.raises(WeakspotError, match="no blob"):
        box.get("0" * 64)
    box.path(digest).write_bytes(b"y")
    with pytest.raises(WeakspotError, match="damaged"):
        box.get(digest)
    for odd in ("", "../../etc/passwd", "A" * 64, "0" * 63, "/" * 64):
        with pytest.raises(WeakspotError, match="not a digest"):
            box.get(odd)


def test_a_left_over_part_does_no_harm(tmp_path: Path) -> None:
    box = Blobs(tmp_path)
    path = box.path(hashlib.sha256(b"x" * 1000).hexdigest())
    path.parent.mkdir(parents=True)
    (path.parent / ".part-abcdef").write_bytes(b"x" * 10)
    digest = box.put(b"x" * 1000)
    assert box.get(digest) == b"x" * 1000
    with pytest.raises(WeakspotError, match="not a digest"):
        box.get(".part-abcdef")


def test_a_reader_sees_the_old_bytes_or_the_new_ones(tmp_path: Path) -> None:
    path, whole = tmp_path / "file", {bytes([i]) * 200_000 for i in (1, 2)}
    write_whole(path, min(whole))
    done = threading.Event()

    def write() -> None:
        for _ in range(100):
            for content in whole:
                write_whole(path, content)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not done.is_set():
        assert path.read_bytes() in whole
        looks += 1
    writer.join()
    assert looks > 10
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    box = Blobs(tmp_path)
    kept = box.put(b"before")
    monkeypatch.setattr(blobs.os, "replace", full)  # type: ignore[attr-defined]
    with pytest.raises(WeakspotError, match="No space left on device") as caught:
        box.put(b"x")
    assert "free some space" in caught.value.fix
    monkeypatch.undo()
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [kept]
    assert box.get(box.put(b"x")) == b"x"


@pytest.mark.parametrize(
    ("mode", "file", "below"), [(0o700, 0o600, 0o700), (0o755, 0o644, 0o755), (0o750, 0o640, 0o755)]
)
def test_a_file_is_as_private_as_its_folder(tmp_path: Path, mode: int, file: int, below: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    write_whole(home / "file", b"x")
    assert (home / "file").stat().st_mode & 0o777 == file
    write_whole(home / "a" / "b" / "file", b"x")
    assert (home / "a" / "b").stat().st_mode & 0o777 == below
    assert (home / "a" / "b" / "file").stat().st_mode & 0o077 == below & 0o044


def test_nothing_is_kept_through_a_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "blobs").symlink_to(elsewhere)
    with pytest.raises(WeakspotError, match="is a link"):
        Blobs(tmp_path / "blobs").put(b"x")
    (elsewhere / "victim").write_text("mine")
    (tmp_path / "report.html").symlink_to(elsewhere / "victim")
    write_whole(tmp_path / "report.html", b"ours")  # takes the link's place
    assert (elsewhere / "victim").read_text() == "mine"
    assert [path.name for path in elsewhere.iterdir()] == ["victim"]


def test_images_are_kept_without_loss_and_texts_as_utf8() -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    content = encode(image)
    assert content is not None
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), image)
    assert content == encode(image.copy())
    assert encode("ä\ud800") == "ä\\ud800".encode()
    assert encode(3) is None
    assert encode(image.astype(np.float32)) is None
