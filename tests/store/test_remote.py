"""Kept inputs elsewhere: in fsspec's store in memory, in another folder, and in stores that fail."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from weakspot.core import WeakspotError
from weakspot.store import Blobs, Run, RunConfig, Unreachable
from weakspot.store.blobs import PROTOCOLS, RemoteBlobs, blobs_at, check_url

fsspec = pytest.importorskip("fsspec")
CONFIG = RunConfig(study="hunt", subject="fly", settings={"label": "fly"})


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Any:
    """A place in memory of this test's own."""
    name = hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    yield f"memory://weakspot-{name}/inputs"
    fsspec.filesystem("memory").rm(f"/weakspot-{name}", recursive=True)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_what_is_put_there_is_had_from_there(kind: str, url: str, tmp_path: Path) -> None:
    address = url if kind == "memory" else (tmp_path / "a folder").as_uri()
    assert "%20" in address or kind == "memory"
    if kind == "file":
        fsspec.filesystem("memory").makedirs(url)  # for the fixture to remove
    box = blobs_at(address)
    digest = box.put(b"a picture")
    assert digest == box.put(b"a picture") == hashlib.sha256(b"a picture").hexdigest()
    again = blobs_at(f"{address}/")
    assert again.get(digest) == b"a picture"
    assert again.head(digest, 3) == b"a p"
    assert again.has(digest)
    assert not again.has("0" * 64)
    with pytest.raises(WeakspotError, match=r"no blob 000000000000…") as error:
        again.get("0" * 64)
    assert error.value.fix
    for ask in (again.get, again.has, lambda d: again.head(d, 1)):
        with pytest.raises(WeakspotError, match="is not a digest"):
            ask("../../etc/passwd")


def test_names_are_those_of_a_folder(url: str, tmp_path: Path) -> None:
    """So that a folder and a store can be copied into each other."""
    digest = blobs_at(url).put(b"one")
    local = Blobs(tmp_path)
    local.put(b"one")
    inside = fsspec.filesystem("memory").find(url)
    assert [name.partition("inputs/")[2] for name in inside] == [
        str(local.path(digest).relative_to(tmp_path))
    ]


def test_what_was_damaged_there_is_found_out(url: str) -> None:
    box = blobs_at(url)
    digest = box.put(b"whole")
    [path] = fsspec.filesystem("memory").find(url)
    fsspec.filesystem("memory").pipe_file(path, b"who")
    with pytest.raises(WeakspotError, match=r"is damaged") as error:
        box.get(digest)
    assert url in error.value.what


def test_equal_bytes_are_written_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    box = blobs_at(url)
    box.put(b"one")
    monkeypatch.setattr(type(box._store), "pipe_file", lambda *_, **__: pytest.fail("written again"))  # type: ignore[attr-defined]
    box.put(b"one")


def test_where_a_file_can_be_half_there_it_is_written_under_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on sftp: a file system of fsspec's, cut off in the middle of a file."""
    local = fsspec.filesystem("file")
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda url, **_: (local, str(tmp_path)))
    box = RemoteBlobs("sftp://machine/inputs")
    digest = box.put(b"whole")
    assert box.get(digest) == b"whole"
    real = type(local).pipe_file

    def cut(self: Any, path: str, value: bytes, **more: Any) -> None:
        real(self, path, value[:3], **more)
        raise OSError("connection lost")

    monkeypatch.setattr(type(local), "pipe_file", cut)
    with pytest.raises(Unreachable, match="connection lost"):
        box.put(b"another")
    assert not box.has(hashlib.sha256(b"another").hexdigest())


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "what", "fix"),
    [
        ("bucket/folder", "is not an address", "s3://bucket"),
        ("", "is not an address", "s3://bucket"),
        ("s3://", "is not an address", "s3://bucket"),
        ("s3://bucket\n/x", "is not an address", "s3://bucket"),
        ("simplecache::s3://bucket/x", "is not an address", "s3://bucket"),
        ("s4://bucket/x", "cannot be kept at 's4'", "s3"),
        ("github://owner/name", "cannot be kept at 'github'", "choose from"),
        ("http://host/x", "cannot be kept at 'http'", ""),
        ("S3://bucket/x", "cannot be kept at 'S3'", "s3"),
        ("s3://key:secret@bucket/x", "has a key", "environment"),
        ("az://container/x?sig=secret", "has a key or options", "environment"),
        ("sftp://[broken/x", "cannot be read", "check"),
        ("file://machine/x", "names a machine", "three slashes"),
    ],
)
def test_addresses_that_cannot_be_meant(url: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        check_url(url)
    assert fix in error.value.fix
    assert "\n" not in error.value.what
    assert "secret" not in error.value.what + error.value.fix


def test_known_protocols_are_those_of_the_library() -> None:
    assert set(PROTOCOLS) - {"abfss"} <= set(fsspec.available_protocols())
    for protocol in PROTOCOLS:
        check_url(f"{protocol}:///folder" if protocol == "file" else f"{protocol}://place/folder")


def test_without_the_library_it_is_said_which_extra_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(Unreachable, match="missing: fsspec") as error:
        Run.create(CONFIG, folder=tmp_path / "run", blobs="memory://x/y")
    assert "weakspot[scale]" in error.value.fix
    assert not (tmp_path / "run").exists()
    with Run.create(CONFIG, folder=tmp_path / "run", blobs=(tmp_path / "there").as_uri()):
        pass  # a folder needs nothing


def test_a_stores_own_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str, **_: Any) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(Unreachable, match="missing: Install s3fs") as error:
        blobs_at("s3://bucket/x").get("0" * 64)
    assert "pip install s3fs" in error.value.fix


class Refusing:
    """A store whose every answer is an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise self.error

        return refuse


@pytest.mark.parametrize(
    ("error", "what", "fix"),
    [
        (PermissionError("Access Denied"), "PermissionError: Access Denied", "what they allow"),
        (PermissionError(), "permission denied", "what they allow"),
        (FileNotFoundError("The specified bucket does not exist"), "bucket does not exist", "the address"),
        (RuntimeError("Unable to locate credentials\nand more"), "Unable to locate credentials", "your keys"),
        (TimeoutError("no answer"), "no answer", "network"),
    ],
)
def test_a_store_that_refuses_is_quoted_in_one_line_before_there_is_a_run(
    error: Exception, what: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda url, **_: (Refusing(error), "bucket/x"))
    with pytest.raises(Unreachable) as caught:
        Run.create(CONFIG, folder=tmp_path / "run", blobs="s3://bucket/x")
    assert what in caught.value.what
    assert "s3://bucket/x cannot be written" in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.fix.endswith(", then start again; nothing was begun")
    assert "\n" not in caught.value.what
    assert not (tmp_path / "run").exists()
    if not isinstance(error, FileNotFoundError):
        with pytest.raises(Unreachable, match="cannot be read"):
            blobs_at("s3://bucket/x").get("0" * 64)
    with pytest.raises(Unreachable) as caught:  # in the middle of a run
        blobs_at("s3://bucket/x").put(b"later")
    assert caught.value.fix.endswith(", then: weakspot resume; nothing is lost")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WeakspotError, match="cannot be written") as caught:
        Run.create(CONFIG, folder=tmp_path / "run", blobs=(tmp_path / "file").as_uri())
    assert "resume" not in caught.value.fix
    assert not (tmp_path / "run").exists()


# -- runs ------------------------------------------------------------------------------------------


def test_a_run_says_for_itself_where_its_inputs_are(url: str, tmp_path: Path) -> None:
    with Run.create(CONFIG, folder=tmp_path / "run", blobs=url) as run:
        digest = run.blobs.put(b"kept")
    assert f"blobs: {url}\n" in (tmp_path / "run" / "run.yaml").read_text()
    assert not (tmp_path / "run" / "blobs").exists()
    (tmp_path / "run").rename(tmp_path / "moved")
    for opened in (Run.read, Run.open):
        with opened(tmp_path / "moved") as again:
            assert again.blobs.get(digest) == b"kept"


def test_a_run_with_its_own_folder_says_nothing_of_it(tmp_path: Path) -> None:
    with Run.create(CONFIG, folder=tmp_path / "run") as run:
        run.blobs.put(b"kept")
    assert "blobs" not in (tmp_path / "run" / "run.yaml").read_text()
    assert (tmp_path / "run" / "blobs").is_dir()


def test_reading_a_run_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Rates and findings can be read where the store cannot be reached."""
    with Run.create(CONFIG, folder=tmp_path / "run", blobs=url):
        pass
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda *_, **__: pytest.fail("asked"))
    with Run.read(tmp_path / "run") as run:
        assert run.findings == []


def test_a_strangers_address_is_checked_too(tmp_path: Path) -> None:
    with Run.create(CONFIG, folder=tmp_path / "run"):
        pass
    with (tmp_path / "run" / "run.yaml").open("a") as file:
        file.write("blobs: reference://x\n")
    with pytest.raises(WeakspotError, match="cannot be kept at 'reference'"):
        Run.read(tmp_path / "run")


def test_importing_the_store_does_not_import_the_library() -> None:
    code = "import sys, weakspot.store; sys.exit('fsspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
