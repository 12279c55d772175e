"""What is shipped is listed, whole and small; what was changed is refused."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from training.manifest import rewrite

from weakspot.core import MODELS, WeakspotError
from weakspot.world import shipped

MB = 1_000_000

ROOT = Path(__file__).resolve().parents[2]


def test_every_shipped_file_is_listed_with_its_digest() -> None:
    there = {
        path.relative_to(shipped.FOLDER).as_posix()
        for path in shipped.FOLDER.rglob("*")
        if path.is_file() and path.suffix != ".md" and path.name != shipped.MANIFEST
    }
    assert there == set(shipped.manifest())
    for name, entry in shipped.manifest().items():
        content = (shipped.FOLDER / name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"]), name
        assert shipped.file(name) == shipped.FOLDER / name


def test_what_is_shipped_is_small() -> None:
    sizes = {name: entry["bytes"] for name, entry in shipped.manifest().items()}
    assert sum(sizes.values()) <= 42 * MB
    assert max(sizes.values()) <= 15 * MB, max(sizes, key=lambda name: sizes[name])


def test_nothing_shipped_is_a_pickle() -> None:
    assert {Path(name).suffix for name in shipped.manifest()} <= {
        ".onnx", ".safetensors", ".json", ".csv", ".txt",
    }  # fmt: skip


def test_every_model_of_the_world_has_a_card() -> None:
    for entry in MODELS:
        if entry.name.startswith("world:"):
            card = shipped.FOLDER / f"{entry.name.removeprefix('world:')}.md"
            assert len(card.read_text("utf-8")) > 200, entry.name


def _ship(weights: Path) -> None:
    (weights / "net").mkdir()
    (weights / "net" / "part").mkdir()
    for name in (
        "a.onnx",
        "net/config.json",
        "net/part/b.safetensors",
        "card.md",
        "net/README.md",
        ".hidden",
    ):
        (weights / name).write_text(f"content of {name}")
    rewrite()


def test_the_manifest_is_written_from_the_folder(weights: Path) -> None:
    _ship(weights)
    listed = json.loads((weights / "manifest.json").read_text())["files"]
    assert list(listed) == ["a.onnx", "net/config.json", "net/part/b.safetensors"]
    assert listed["a.onnx"] == {
        "sha256": hashlib.sha256(b"content of a.onnx").hexdigest(),
        "bytes": len(b"content of a.onnx"),
    }
    assert rewrite() == listed == shipped.manifest()
    (weights / "a.onnx").write_text("other")
    assert rewrite()["a.onnx"]["bytes"] == 5


def test_files_and_folders(weights: Path) -> None:
    _ship(weights)
    assert shipped.file("net/config.json").read_text() == "content of net/config.json"
    path, digests = shipped.folder("net")
    assert path == weights / "net"
    assert digests == {
        "config.json": hashlib.sha256(b"content of net/config.json").hexdigest(),
        "part/b.safetensors": hashlib.sha256(b"content of net/part/b.safetensors").hexdigest(),
    }
    one, two = shipped.joint_digest("a.onnx"), shipped.joint_digest("a.onnx", "net/config.json")
    assert len(one) == len(two) == 64
    assert one != two


def test_what_is_wrong_with_a_file_is_told(weights: Path) -> None:
    _ship(weights)
    part = weights / "net" / "part" / "b.safetensors"

    def refused(what: str, attempt: object) -> None:
        assert callable(attempt)
        with pytest.raises(WeakspotError, match=what) as error:
            attempt()
        assert error.value.fix == "reinstall weakspot"

    part.write_text("Content of net/part/b.safetensors")  # as long as before
    refused("SHA-256 differs", lambda: shipped.file("net/part/b.safetensors"))
    refused("SHA-256 differs", lambda: shipped.folder("net"))
    part.write_text("shorter")
    refused("SHA-256 differs", lambda: shipped.folder("net"))
    part.unlink()
    refused("cannot be read", lambda: shipped.folder("net"))
    refused("no file 'b.onnx'", lambda: shipped.file("b.onnx"))
    refused(r"no file '\.\./secret'", lambda: shipped.file("../secret"))
    refused("no weights called 'ne'", lambda: shipped.folder("ne"))
    for content in ("", "[]", '{"files": 3}', '{"a.onnx": "0"}'):
        (weights / "manifest.json").write_text(content)
        refused("cannot be read", lambda: shipped.file("a.onnx"))
    (weights / "manifest.json").unlink()
    refused("cannot be read", lambda: shipped.file("a.onnx"))


def test_a_digest_is_computed_once_until_the_file_changes(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ship(weights)
    computed: list[str] = []
    compute = hashlib.file_digest

    def spy(file: object, kind: str) -> object:
        computed.append(kind)
        return compute(file, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", spy)
    shipped._digest.cache_clear()
    for _ in range(3):
        shipped.file("a.onnx")
    assert len(computed) == 1
    os.utime(weights / "a.onnx", ns=(1, 1))
    shipped.file("a.onnx")
    assert len(computed) == 2


def test_the_script_lists_what_it_wrote(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from weakspot.world import shipped; from training import manifest;"
        f"shipped.FOLDER = Path({str(tmp_path)!r}); (shipped.FOLDER / 'x.onnx').write_bytes(bytes(1000000));"
        "manifest.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[0].split() == ["1.00", "MB", "d29751f2649b", "x.onnx"]
    assert done.stdout.splitlines()[-1].split() == ["1.00", "MB", "in", "1", "files"]
