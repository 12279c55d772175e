"""Content-addressed files: inputs kept as evidence, each named by the SHA-256 of its bytes."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, check_known, disk_errors
from weakspot.core.ports import Keepable


class Blobs:
    """The folder `blobs/` of a run. A file is there whole or not at all: it is written by rename.

    Attributes:
        afterwards: What to do when it can be written again, for messages.
    """

    afterwards = "then: weakspot resume; nothing is lost"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def place(self) -> str:
        return str(self.folder)

    def put(self, content: bytes) -> str:
        """Keep some bytes; their digest."""
        digest = hashlib.sha256(content).hexdigest()
        path, fix = self.path(digest), f"free some space or check the permissions, {self.afterwards}"
        with disk_errors(f"{self.folder} cannot be written", fix):
            if not path.exists():
                for folder in (self.folder, path.parent):
                    check_own(folder)
                write_whole(path, content)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of a digest; they are checked against it."""
        content = self._read(digest)
        if hashlib.sha256(content).hexdigest() != digest:
            raise WeakspotError(
                f"blob {digest[:12]}… in {self.place} is damaged", fix="restore it from a copy"
            )
        return content

    def has(self, digest: str) -> bool:
        """Whether the bytes of a digest are here."""
        return self.path(digest).is_file()

    def head(self, digest: str, n: int) -> bytes:
        """The first bytes, unchecked."""
        with self.path(digest).open("rb") as file:
            return file.read(n)

    def path(self, digest: str) -> Path:
        """Where the bytes of a digest lie."""
        self._known(digest)
        return self.folder / digest[:2] / digest

    def _known(self, digest: str) -> None:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise WeakspotError(f"{digest[:80]!r} is not a digest", fix="it has 64 hexadecimal digits")

    def _read(self, digest: str) -> bytes:
        try:
            return self.path(digest).read_bytes()
        except FileNotFoundError:
            raise self._missing(digest) from None

    def _missing(self, digest: str) -> WeakspotError:
        return WeakspotError(f"no blob {digest[:12]}… in {self.place}", fix="was the folder copied whole?")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, never a part.

    Whoever may look into the folder may read the file: in a run's folder that is its owner. A link in the
    file's place is replaced, never followed.
    """
    folder = _made(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o600 | (folder & 0o044))
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _made(folder: Path) -> int:
    """The mode of a folder; one that is not there is made like the folder that it lies in."""
    try:
        return folder.stat().st_mode
    except FileNotFoundError:
        mode = _made(folder.parent)
        folder.mkdir(exist_ok=True)
        if not mode & 0o077:
            folder.chmod(0o700)
        return folder.stat().st_mode


def open_own(path: Path, flags: int) -> int:
    """Open a file of a run, made for its owner alone; an error where a link, or no file, is in its place."""
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise _linked(path) from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return handle


def check_own(path: Path) -> None:
    """Refuse to write to what a link leads away from the run."""
    if path.is_symlink():
        raise _linked(path)


def _linked(path: Path) -> WeakspotError:
    return WeakspotError(
        f"{path} is a link; nothing is written through it",
        fix="put the file itself there, or remove the link",
    )


def encode(value: Any) -> bytes | None:
    """The bytes under which an input is kept: images as PNG, text as UTF-8, others as they say, or None."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3 and value.size:
        return png(value)
    return value.evidence() if isinstance(value, Keepable) else None


def png(image: NDArray[np.uint8]) -> bytes:
    """An RGB image as PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, format="PNG", compress_level=6)
    return file.getvalue()


_T = TypeVar("_T")
#: Stores whose files are there whole or not at all.
_OBJECTS: Final = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "memory")
#: File systems, where a file is written under another name first.
_FILES: Final = ("sftp", "ssh", "hdfs", "webhdfs", "smb", "webdav")
PROTOCOLS: Final = ("file", *_OBJECTS, *_FILES)
#: What is written to see whether anything can be.
_SIGN: Final = b"weakspot keeps inputs of trials here, each under the SHA-256 of its bytes.\n"


class Unreachable(WeakspotError):
    """The place of kept inputs cannot be asked: none of them can be had, rather than one."""


def check_url(url: str | None) -> None:
    """Refuse an address that cannot be meant, without asking anybody; None is a run's own folder."""
    if url is None:
        return
    protocol, colon, rest = url.partition("://")
    if not colon or not rest.strip("/") or not all(c.isprintable() for c in url) or "::" in url:
        raise WeakspotError(
            f"{url[:200]!r} is not an address for kept inputs",
            fix="write e.g. s3://bucket/folder or file:///mnt/shared/folder",
        )
    check_known(protocol, PROTOCOLS, f"inputs cannot be kept at {protocol[:40]!r} addresses")
    try:
        parts = urlsplit(url)
        key = parts.password or parts.query or parts.fragment
    except ValueError as error:
        raise WeakspotError(f"{url[:200]!r} cannot be read: {error}", fix="check the address") from error
    if key:
        raise WeakspotError(
            f"the address {protocol}://… has a key or options in it, which run.yaml would keep",
            fix="leave them out; keys belong in the environment or the store's own files",
        )
    if protocol == "file" and parts.netloc:
        raise WeakspotError(f"{url[:200]!r} names a machine", fix="write file:///folder, with three slashes")


def blobs_at(url: str) -> Blobs:
    """Kept inputs at an address; nobody is asked before the first is read or written."""
    check_url(url)
    if url.startswith("file://"):
        return Blobs(Path(unquote(urlsplit(url).path)).resolve())
    return RemoteBlobs(url)


def begin_at(url: str) -> None:
    """See that inputs can be kept there, before anything is drawn for them."""
    blobs = blobs_at(url)
    blobs.afterwards = "then start again; nothing was begun"
    blobs.put(_SIGN)


class RemoteBlobs(Blobs):
    """Inputs in a store that fsspec knows. A file is there whole or not at all, as far as the store can.

    Args:
        url: Of the folder; several runs may share it, since equal names are equal bytes.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._protocol = self.url.partition("://")[0]

    @property
    def place(self) -> str:
        return self.url

    def put(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        if not self._asked(lambda: self._store.exists(self._path(digest)), "written"):
            self._asked(lambda: self._write(self._path(digest), content), "written")
        return digest

    def has(self, digest: str) -> bool:
        self._known(digest)
        return bool(self._asked(lambda: self._store.exists(self._path(digest)), "read"))

    def head(self, digest: str, n: int) -> bytes:
        return self._read(digest, end=n)

    def path(self, digest: str) -> Path:
        """There is no path on this machine."""
        raise WeakspotError(
            f"{digest[:12]}… lies at {self.url}, not on this machine", fix="copy the folder to this machine"
        )

    # -- inside ------------------------------------------------------------------------------------

    @property
    def _store(self) -> Any:
        return self._reached[0]

    @cached_property
    def _reached(self) -> tuple[Any, str]:
        """The store, and the folder as it calls it."""
        try:
            library: Any = import_module("fsspec")
        except ImportError as error:
            raise Unreachable(
                f"inputs at {self.url} need a library that is missing: fsspec",
                fix="pip install 'weakspot[scale]'",
            ) from error
        try:
            # Listings would go stale while others write.
            store, folder = library.core.url_to_fs(self.url, use_listings_cache=False)
        except ImportError as error:
            raise Unreachable(
                f"inputs at {self.url} need a library that is missing: {_line(error)}",
                fix="install what it names, e.g. pip install s3fs",
            ) from error
        except Exception as error:  # of the store's own library: keys, network, address
            self._failed(error, "reached")
        return store, str(folder).rstrip("/")

    def _path(self, digest: str) -> str:
        return f"{self._reached[1]}/{digest[:2]}/{digest}"

    def _write(self, path: str, content: bytes) -> None:
        store = self._store
        if self._protocol in _OBJECTS:
            store.pipe_file(path, content)
            return
        folder = path.rpartition("/")[0]
        store.makedirs(folder, exist_ok=True)
        part = f"{folder}/.part-{secrets.token_hex(8)}"
        store.pipe_file(part, content)
        store.mv(part, path)

    def _read(self, digest: str, end: int | None = None) -> bytes:
        self._known(digest)
        try:
            return bytes(self._asked(lambda: self._store.cat_file(self._path(digest), end=end), "read"))
        except FileNotFoundError:
            raise self._missing(digest) from None

    def _asked(self, ask: Callable[[], _T], what: str) -> _T:
        try:
            return ask()
        except Exception as error:  # of the store's own library
            if isinstance(error, WeakspotError) or (isinstance(error, FileNotFoundError) and what == "read"):
                raise
            self._failed(error, what)

    def _failed(self, error: Exception, what: str) -> NoReturn:
        keys = isinstance(error, PermissionError)
        said = "permission denied" if keys and not _line(error) else _line(error)
        fix = f"check {'your keys and what they allow' if keys else 'the address, your keys and the network'}"
        raise Unreachable(
            f"{self.url} cannot be {what}: {type(error).__name__}: {said}",
            fix=fix if what != "written" else f"{fix}, {self.afterwards}",
        ) from error


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]
