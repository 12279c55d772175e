"""Pictures in a folder, whatever somebody put there: each is read, or it is said why not.

Photographs are turned as their EXIF data say, transparency becomes white, an animation its first frame, 16
bits become 8, and what is wider or higher than wanted is made smaller. Damaged files, formats that run
programs, and pictures beyond Pillow's limit against decompression bombs are refused.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from weakspot.core import WeakspotError

#: Files with other endings are not looked at.
SUFFIXES: Final = (
    *(".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp", ".bmp", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pbm", ".pnm", ".avif"),
)
#: Formats that are decoded, whatever the ending says. None of them starts another program, as EPS does.
FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "AVIF")
#: Bytes of the largest file that is read.
LARGEST: Final = 1 << 28
#: Pixels of the longer side, beyond which a picture is made smaller.
LONGEST: Final = 1024
_SIXTEEN: Final = ("I;16", "I;16L", "I;16B", "I;16N", "I")


class Unusable(WeakspotError):
    """A file that is no picture for us; the message says why."""


class Picture(NamedTuple):
    """A file in a folder, named by its path there with "/" between the parts.

    Its pixels are RGB of uint8, (height, width, 3); None if it cannot be used, and the reason says why.
    """

    name: str
    path: Path
    pixels: NDArray[np.uint8] | None = None
    reason: str = ""


def images_in(folder: str | Path, *, longest: int = LONGEST) -> Iterator[Picture]:
    """Every picture in a folder and the folders below it, in the order of the names, one at a time.

    Hidden files and folders are passed over. Pictures with a longer side than `longest` are made smaller.
    """
    for name, path in files_in(folder):
        try:
            yield Picture(name, path, decode(read(path), longest=longest))
        except Unusable as error:
            yield Picture(name, path, reason=error.what)


def files_in(folder: str | Path) -> list[tuple[str, Path]]:
    """Names and paths of all files that look like pictures, sorted by name."""
    root = Path(folder)
    if not root.is_dir():
        raise WeakspotError(f"there is no folder {str(folder)[:200]!r}", fix="name a folder with pictures")
    found = []
    for where, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "__MACOSX"))]
        for file in files:
            path = Path(where, file)
            if path.suffix.lower() in SUFFIXES and not file.startswith("."):
                name = path.relative_to(root).as_posix().encode("utf-8", "backslashreplace").decode()
                found.append((name, path))
    if not found:
        raise WeakspotError(
            f"there are no pictures in {str(folder)[:200]!r}",
            fix=f"they end in {', '.join(sorted(SUFFIXES))}",
        )
    return sorted(found)


def read(path: Path) -> bytes:
    """The bytes of a file; `Unusable` where it cannot be read, is not a plain file, or is too large."""
    try:
        if not path.is_file():
            raise Unusable("it is not a plain file" if path.exists() else "it is not there")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror or error}") from error
    if len(content) > LARGEST:
        raise Unusable(f"it has more than {LARGEST >> 20} MiB")
    return content


def read_text(path: Path, *, most: int) -> str:
    """The text of a file of so many bytes at most; an OSError or a ValueError where there is none."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most >> 20} MiB")
    return content.decode("utf-8-sig")


def decode(content: bytes, *, longest: int = LONGEST) -> NDArray[np.uint8]:
    """The pixels of a picture: RGB, uint8, (height, width, 3).

    It is `Unusable` if it is damaged, too large, or nothing that can be shown in RGB.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of broken EXIF data, and of sizes, which are looked at below
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                width, height = image.size
                if Image.MAX_IMAGE_PIXELS and width * height > Image.MAX_IMAGE_PIXELS:
                    raise Unusable(f"{width} × {height} pixels are more than Pillow's limit")
                image.draft("RGB", (longest, longest))  # JPEG only: large ones are decoded small
                image.load()
                picture: Image.Image = image
                with suppress(Exception):  # EXIF data can be broken in any way: then it is taken as it lies
                    picture = ImageOps.exif_transpose(image)
                picture = _rgb(picture)
                picture.thumbnail((longest, longest), Image.Resampling.BICUBIC)
                return np.array(picture)
    except Unusable:
        raise
    except Exception as error:  # decoders of damaged files raise anything
        what = str(error).replace("<_io.BytesIO object at ", "<bytes at ")[:200]
        if "cannot identify" in what:
            what = "it is not a picture in a known format"
        raise Unusable(f"it cannot be decoded: {what or type(error).__name__}") from error


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in _SIXTEEN:
        values = np.asarray(image).astype(np.int64)
        if values.min() < 0 or values.max() > 65535:
            raise Unusable("its numbers are beyond 16 bits")
        return Image.fromarray((values / 257).round().astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise Unusable("it holds floating-point numbers, whose range is not known")
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    return image.convert("RGB")
