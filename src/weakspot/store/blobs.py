"""Content-addressed files: inputs kept as evidence, each named by the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError


class Blobs:
    """The folder `blobs/` of a run. A file is there whole or not at all: it is written by rename.

    `weakspot.store.remote` has the same for other places.

    Attributes:
        afterwards: What to do when it can be written again, for messages.
    """

    afterwards = "then: weakspot resume; nothing is lost"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def place(self) -> str:
        """For messages."""
        return str(self.folder)

    def put(self, content: bytes) -> str:
        """Keep some bytes; their digest."""
        digest = hashlib.sha256(content).hexdigest()
        path = self.path(digest)
        try:
            if not path.exists():
                write_whole(path, content)
        except OSError as error:
            raise WeakspotError(
                f"{self.folder} cannot be written: {error.strerror}",
                fix=f"free some space or check the permissions, {self.afterwards}",
            ) from error
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of a digest; they are checked against it."""
        try:
            content = self.path(digest).read_bytes()
        except FileNotFoundError:
            raise self._missing(digest) from None
        self._check(content, digest)
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

    def _check(self, content: bytes, digest: str) -> None:
        if hashlib.sha256(content).hexdigest() != digest:
            raise WeakspotError(
                f"blob {digest[:12]}… in {self.place} is damaged", fix="restore it from a copy"
            )

    def _missing(self, digest: str) -> WeakspotError:
        return WeakspotError(f"no blob {digest[:12]}… in {self.place}", fix="was the folder copied whole?")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old bytes or the new ones, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def encode(value: Any) -> bytes | None:
    """The bytes under which an input is kept: images as PNG, text as UTF-8; None for anything else."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3 and value.size:
        return png(value)
    return None


def png(image: NDArray[np.uint8]) -> bytes:
    """An RGB image as PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, format="PNG", compress_level=6)
    return file.getvalue()
