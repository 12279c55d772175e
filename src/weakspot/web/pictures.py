"""Kept inputs, by digest: a picture made anew from its pixels, or plain text. Nothing else leaves a run."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from weakspot.core import WeakspotError
from weakspot.store import Blobs, Unreachable

log: Final = logging.getLogger("weakspot.web")
#: The longest side of a small picture and of a large one, in pixels.
SMALL, LARGE = 192, 1600
#: Pictures above this many pixels are not decoded.
PIXELS: Final = 50_000_000
#: Bytes of made pictures that are kept in memory.
ROOM: Final = 32 * 1024 * 1024
NO_FILES: Final[Mapping[str, Path]] = MappingProxyType({})


class Made(NamedTuple):
    """What is sent: bytes and their type."""

    content: bytes
    kind: str


class Pictures:
    """Pictures that were made lately, so that paging to and fro decodes nothing twice. Safe among threads."""

    def __init__(self, room: int = ROOM) -> None:
        self._room, self._used, self._lock = room, 0, threading.Lock()
        self._made: OrderedDict[tuple[str, int], Made] = OrderedDict()

    def get(
        self, places: tuple[Blobs, ...], digest: str, longest: int, *, files: Mapping[str, Path] = NO_FILES
    ) -> Made | None:
        """The input of this digest, at most so large; None if neither a place nor a file has it."""
        with self._lock:
            known = self._made.get((digest, longest))
        if known is not None and (digest in files or any(place.has(digest) for place in places)):
            with self._lock:
                if (digest, longest) in self._made:
                    self._made.move_to_end((digest, longest))
            return known
        content = _file(files[digest], digest) if digest in files else _read(places, digest)
        if content is None:
            return None
        made = _picture(content, longest) or _text(content)
        if made is not None:
            with self._lock:
                self._made[digest, longest] = made
                self._used = sum(len(one.content) for one in self._made.values())
                while self._used > self._room:
                    self._used -= len(self._made.popitem(last=False)[1].content)
        return made

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

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = Image.open(io.BytesIO(content), formats=("PNG", "JPEG", "WEBP"))
            if opened.width * opened.height > PIXELS:
                return None
            opened.draft("RGB", (longest, longest))
            picture = opened.convert("RGB")
    except Exception:  # a decoder fed with damaged bytes may raise anything
        return None
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
        return Made(content[:200_000].decode().encode(), "text/plain; charset=utf-8")
    except UnicodeDecodeError:
        return None
