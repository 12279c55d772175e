"""Pictures as a provider takes them: of a format it reads, no larger than it allows, named by their bytes."""

from __future__ import annotations

import base64
import io
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from PIL import Image, ImageOps

from weakspot.core import WeakspotError
from weakspot.core.question import ImageFile, Noted, QuestionImage
from weakspot.models.pictures import png

_MIME: Final = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG with further pictures behind the first
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
#: What is opened at all; the others are sent as PNG or JPEG.
FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
#: A file larger than this is no picture that anybody wants to send.
LARGEST_FILE: Final = 256 << 20
MB: Final = 1 << 20

# `catch_warnings` is not safe between threads; and one decoder at a time bounds the memory of large pictures.
_one_at_a_time = threading.Lock()


class ImageRule(NamedTuple):
    """What a provider takes."""

    #: The longest one in pixels; larger pictures are refused, or scaled down at the other end.
    side: int
    #: Of the file in bytes, before base64.
    size: int
    formats: tuple[str, ...] = ("PNG", "JPEG")


#: By provider; `None` is any other. Anthropic counts its 5 MB after base64, which adds a third.
RULES: Final[Mapping[str | None, ImageRule]] = {
    "openai": ImageRule(2048, 20 * MB, ("PNG", "JPEG", "WEBP", "GIF")),
    "anthropic": ImageRule(1568, 5 * MB * 3 // 4, ("PNG", "JPEG", "WEBP", "GIF")),
    "google": ImageRule(3072, 7 * MB, ("PNG", "JPEG", "WEBP")),
    None: ImageRule(2048, 10 * MB),
}


def data_uri(picture: QuestionImage) -> str:
    return f"data:{picture.mime};base64,{base64.b64encode(picture.content).decode()}"


def prepare(image: Any, rule: ImageRule) -> QuestionImage:
    """A picture as a provider takes it; the very bytes that were given wherever it takes those.

    It is given as RGB of uint8, the bytes of a file, its path, or an object with such bytes as `content`.
    """
    note = str(image.note or "") if isinstance(image, Noted) else ""
    content = _content(image)
    try:
        with _one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of broken EXIF data, and of sizes, which are looked at below
            with Image.open(io.BytesIO(content), formats=FORMATS) as opened:
                width, height = opened.size
                if Image.MAX_IMAGE_PIXELS and width * height > Image.MAX_IMAGE_PIXELS:
                    raise WeakspotError(
                        f"a picture of {width} × {height} pixels is more than Pillow considers safe",
                        fix="make it smaller",
                    )
                kind = "JPEG" if opened.format == "MPO" else str(opened.format)
                fits = max(width, height) <= rule.side and len(content) <= rule.size
                if fits and kind in rule.formats and not getattr(opened, "is_animated", False):
                    opened.load()  # a damaged file is an error here, not at the provider's
                    return QuestionImage(content, _MIME[kind], width, height, note)
                sent = _fit(opened, rule, lossless=kind != "JPEG")
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, Image.DecompressionBombError) as error:
        raise WeakspotError(
            f"the picture cannot be read: {str(error)[:200] or type(error).__name__}",
            fix="give a PNG, JPEG, WebP or GIF",
        ) from None
    changed = f"image {width}×{height} {kind} sent as {sent.width}×{sent.height} {sent.mime[6:].upper()}"
    return sent._replace(note="; ".join(filter(None, (note, changed))))


def _content(image: Any) -> bytes:
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
            raise WeakspotError(
                f"an array {image.shape} of {image.dtype} is not a picture",
                fix="give uint8, (height, width, 3)",
            )
        return png(image)
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, str | Path):
        try:
            path = Path(image)
            if path.stat().st_size > LARGEST_FILE:
                raise WeakspotError(f"{path.name!r} is larger than {LARGEST_FILE // MB} MB")
            return path.read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "not a path"
            raise WeakspotError(f"{str(image)[:200]!r} cannot be read: {why}") from None
    if isinstance(image, ImageFile) and isinstance(image.content, bytes):
        return image.content
    raise WeakspotError(
        f"a {type(image).__name__} is not a picture", fix="give RGB of uint8, a file's bytes, or its path"
    )


def _fit(opened: Image.Image, rule: ImageRule, *, lossless: bool) -> QuestionImage:
    """Upright, flat, and as small as the rule asks: PNG where that fits and the original is no JPEG."""
    opened.draft("RGB", (rule.side, rule.side))  # JPEG only: large ones are decoded small
    picture = ImageOps.exif_transpose(opened)
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    picture = picture.convert("RGB")
    picture.thumbnail((rule.side, rule.side), Image.Resampling.LANCZOS)
    tries: list[tuple[str, dict[str, int]]] = [("PNG", {})] if lossless else []
    tries += [("JPEG", {"quality": quality}) for quality in (92, 80)]
    while True:
        for kind, how in tries:
            file = io.BytesIO()
            picture.save(file, kind, **how)
            if file.tell() <= rule.size or max(picture.size) <= 64:
                return QuestionImage(file.getvalue(), _MIME[kind], *picture.size)
        wide, high = (max(side * 7 // 10, 1) for side in picture.size)
        picture = picture.resize((wide, high), Image.Resampling.LANCZOS)
