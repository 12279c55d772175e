"""Kept inputs, by digest: a picture made anew from its pixels, or plain text. Nothing else leaves a run."""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import hashlib
import io
import logging
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from weakspot.core import WeakspotError
from weakspot.store import Blobs, Unreachable

log: Final = logging.getLogger("weakspot.web")
#: The longest side of a small picture and of a large one, in pixels.
SMALL, LARGE = 192, 1600
#: Pictures above this many pixels are not decoded.
PIXELS: Final = 50_000_000
#: Pictures that are made at once; of those with more than so many pixels, one.
AT_ONCE, LARGE_PIXELS = 4, 2_000_000
#: Bytes of a file that is looked at, and of its beginning that says how large a picture is; bytes of a text.
BYTES, HEAD, LETTERS = 256 * 1024 * 1024, 64 * 1024, 200_000
#: Bytes from which on a block of memory is the system's, and what the C library calls this (malloc.h).
BLOCK, _M_MMAP_THRESHOLD = 1024 * 1024, -3
#: Colours that a picture is made smaller in.
_REDUCED: Final = ("RGB", "RGBA", "L", "LA", "CMYK", "YCbCr")
#: Bytes of made pictures that are kept in memory.
ROOM: Final = 32 * 1024 * 1024
NO_FILES: Final[Mapping[str, Path]] = MappingProxyType({})


class Made(NamedTuple):
    """What is sent: bytes and their type."""

    content: bytes
    kind: str


class Pictures:
    """Pictures that were made lately, so that paging to and fro decodes nothing twice. Safe among threads.

    However many are asked for together, `AT_ONCE` are read and made at a time, of large ones a single one,
    and the memory that a large one took is given back.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room, self._used, self._lock = room, 0, threading.Lock()
        self._made: OrderedDict[tuple[str, int], Made] = OrderedDict()
        _memory()
        self._turn, self._alone = threading.BoundedSemaphore(AT_ONCE), threading.Lock()

    def get(
        self, places: tuple[Blobs, ...], digest: str, longest: int, *, files: Mapping[str, Path] = NO_FILES
    ) -> Made | None:
        """The input of this digest, at most so large; None if neither a place nor a file has it."""
        known = self._known(digest, longest)
        if known is not None and (digest in files or any(place.has(digest) for place in places)):
            return known
        pixels = _pixels(_head(places, digest, files))
        if pixels is not None and pixels > PIXELS:
            return None
        large = pixels is None or pixels > LARGE_PIXELS  # or what says nothing of itself at once
        with self._alone if large else self._turn:
            if (known := self._known(digest, longest)) is not None:  # somebody else asked for it too
                return known
            content = _file(files[digest], digest) if digest in files else _read(places, digest)
            made = None if content is None else _picture(content, longest) or _text(content)
            del content
            if large:
                _give_back()
        if made is not None:
            with self._lock:
                self._made[digest, longest] = made
                self._used = sum(len(one.content) for one in self._made.values())
                while self._used > self._room:
                    self._used -= len(self._made.popitem(last=False)[1].content)
        return made

    def _known(self, digest: str, longest: int) -> Made | None:
        with self._lock:
            if (digest, longest) in self._made:
                self._made.move_to_end((digest, longest))
            return self._made.get((digest, longest))

    def response(
        self, places: tuple[Blobs, ...], digest: str, longest: int, *, files: Mapping[str, Path] = NO_FILES
    ) -> Response:
        """As `get`, for a browser; 404 for anything else."""
        made = None
        try:
            made = self.get(places, digest, longest, files=files)
        except Unreachable as error:
            log.warning("%s; %s", error.what, error.fix)
        except WeakspotError:  # not a digest
            pass
        if made is None:
            raise HTTPException(404)
        kept = {"cache-control": "private, max-age=31536000, immutable"}
        return Response(made.content, media_type=made.kind, headers=kept)


def _head(places: tuple[Blobs, ...], digest: str, files: Mapping[str, Path]) -> bytes:
    """How a file begins; b"" where there is none, or none that anybody would want to see."""
    try:
        if digest in files:
            with files[digest].open("rb") as file:
                return file.read(HEAD) if os.fstat(file.fileno()).st_size <= BYTES else b""
        return next((place.head(digest, HEAD) for place in places if place.has(digest)), b"")
    except Unreachable:
        raise
    except OSError:
        return b""


def _pixels(head: bytes) -> int | None:
    """How many pixels a picture says that it has; None if its beginning does not say."""
    opened = _opened(head)
    return None if opened is None else opened.width * opened.height


def _opened(content: bytes) -> Any:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Image.open(io.BytesIO(content), formats=("PNG", "JPEG", "WEBP"))
    except Exception:  # a decoder fed with damaged bytes may raise anything
        return None


@cache
def _memory() -> ctypes.CDLL | None:
    """The C library, which takes large blocks from the system one by one: only those are given back."""
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, BLOCK)
        return library
    return None


def _give_back() -> None:
    """Hand freed memory back to the system; the C library would keep some of what a large picture took."""
    if (library := _memory()) is not None:
        library.malloc_trim(0)


def _file(path: Path, digest: str) -> bytes | None:
    """A file, as long as its content is what it was."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == digest else None


def _read(places: tuple[Blobs, ...], digest: str) -> bytes | None:
    for place in places:
        try:
            return place.get(digest)
        except Unreachable:
            raise
        except (WeakspotError, OSError):
            continue
    return None


def _picture(content: bytes, longest: int) -> Made | None:
    from PIL import Image

    opened = _opened(content)
    if opened is None or opened.width * opened.height > PIXELS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened.draft("RGB", (longest, longest))
            # Made smaller before its colours are converted: of a large picture there is never a second copy.
            least = max(opened.size) // (2 * longest)
            small = opened.reduce(least) if least > 1 and opened.mode in _REDUCED else opened
            picture = small.convert("RGB")
    except Exception:  # as above
        return None
    opened.close()
    if max(picture.size) > longest:
        picture.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    if picture.width * picture.height <= 128 * 128:
        picture.save(file, format="PNG", compress_level=6)
        return Made(file.getvalue(), "image/png")
    picture.save(file, format="JPEG", quality=88)
    return Made(file.getvalue(), "image/jpeg")


def _text(content: bytes) -> Made | None:
    try:
        # What is cut in the middle of a letter ends before it.
        text = codecs.getincrementaldecoder("utf-8")().decode(content[:LETTERS], len(content) <= LETTERS)
    except UnicodeDecodeError:
        return None
    return Made(text.encode(), "text/plain; charset=utf-8")
