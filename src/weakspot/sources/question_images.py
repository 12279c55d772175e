"""Pictures as chat models are given them: what they are by their bytes, made to fit, and what was changed.

A benchmark's files lie about themselves (WebP named .png) and providers refuse what is too large, which a
careless harness then counts as a refusal of the model. So a picture is read, its kind is taken from its first
bytes, and if it is larger than any provider takes it is made smaller and the change noted. What cannot be
read is an error of that item, in words.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Final, NamedTuple

from PIL import Image

from weakspot.core.question import QuestionImage
from weakspot.sources.folder import FORMATS, Unusable, decode, read

#: Qualities of JPEG that are tried, and by what the sides shrink when none is small enough.
_QUALITIES: Final = (92, 85, 75)
_SHRINK: Final = 0.8


_STARTS: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
    b"BM": "image/bmp",
}


class ImageLimits(NamedTuple):
    """What is handed to a model at most. A provider's own limits are tighter: its adapter knows them.

    Attributes:
        mimes: Kinds it reads; others are handed over as JPEG.
    """

    longest: int = 4096
    bytes: int = 20_000_000
    mimes: tuple[str, ...] = ("image/png", "image/jpeg", "image/webp", "image/gif")


DEFAULT: Final = ImageLimits()


def mime_of(content: bytes) -> str:
    """What a file is, by its first bytes; "" for what is no picture we know."""
    head = content[:16]
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return next((mime for start, mime in _STARTS.items() if head.startswith(start)), "")


def load(image: Path | bytes, limits: ImageLimits = DEFAULT) -> QuestionImage:
    """A picture from its file or its bytes, ready to be sent.

    Raises:
        Unusable: It is not there, damaged, no picture, or beyond Pillow's limit on pixels.
    """
    return prepare(read(image) if isinstance(image, Path) else image, limits)


def prepare(content: bytes, limits: ImageLimits = DEFAULT) -> QuestionImage:
    """A picture that fits the limits: as it is where it can be, else smaller, else as JPEG.

    Raises:
        Unusable: It is damaged, no picture, or beyond Pillow's limit on pixels.
    """
    mime = mime_of(content)
    width, height = _size(content)
    fits = max(width, height) <= limits.longest and len(content) <= limits.bytes
    if mime in limits.mimes and fits:
        _size(content, whole=True)
        return QuestionImage(content, mime, width, height)
    smaller, (wide, high) = _as_jpeg(content, limits)
    notes = []
    if (wide, high) != (width, height):
        notes.append(f"resized from {width:,} × {height:,} to {wide:,} × {high:,} pixels")
    if mime != "image/jpeg":
        notes.append(f"sent as image/jpeg instead of {mime or 'an unknown kind'}")
    if len(content) > limits.bytes:
        notes.append(f"{len(content):,} bytes made {len(smaller):,}")
    return QuestionImage(smaller, "image/jpeg", wide, high, "; ".join(notes) or "saved again")


def _size(content: bytes, *, whole: bool = False) -> tuple[int, int]:
    """Width and height; `whole` decodes it, so that a damaged file is found here and not by the provider."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                size = image.size
                if whole:
                    image.load()
    except Exception as error:  # decoders of damaged files raise anything
        raise Unusable(_why(error)) from error
    if Image.MAX_IMAGE_PIXELS and size[0] * size[1] > Image.MAX_IMAGE_PIXELS:
        raise Unusable(f"{size[0]:,} × {size[1]:,} pixels are more than Pillow's limit")
    return size


def _why(error: Exception) -> str:
    what = str(error).replace("<_io.BytesIO object at ", "<bytes at ")[:200]
    if "cannot identify" in what:
        return "it is no picture in a known format"
    return f"it cannot be decoded: {what or type(error).__name__}"


def _as_jpeg(content: bytes, limits: ImageLimits) -> tuple[bytes, tuple[int, int]]:
    image = Image.fromarray(decode(content, longest=limits.longest))
    while True:
        for quality in _QUALITIES:
            file = io.BytesIO()
            image.save(file, format="JPEG", quality=quality)
            if file.tell() <= limits.bytes:
                return file.getvalue(), image.size
        if max(image.size) < 64:
            raise Unusable(f"it cannot be made smaller than {limits.bytes:,} bytes")
        wide, high = (max(1, round(side * _SHRINK)) for side in image.size)
        image = image.resize((wide, high), Image.Resampling.BICUBIC)
