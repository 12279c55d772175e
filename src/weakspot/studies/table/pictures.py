"""The pictures of rows, kept as evidence where the table names files that are there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

from weakspot.records import Judged
from weakspot.store.blobs import Blobs

#: Larger files and pictures are left where they are.
BYTES: Final = 30_000_000
PIXELS: Final = 50_000_000
SIDE: Final = 512


def kept(blobs: Blobs, judged: Judged, row: int) -> str:
    """The digest of the picture of a row, made smaller; "" where there is none that can be read."""
    name = judged.roles.image
    said = judged.records.column(name).values[row] if name else None
    if not isinstance(said, str) or not said:
        return ""
    path = Path(judged.records.folder, said)
    try:
        if not path.is_file() or path.stat().st_size > BYTES:
            return ""
        content = _smaller(path)
    except (OSError, ValueError, SyntaxError):  # a damaged picture may raise any of these
        return ""
    return blobs.put(content) if content else ""


def _smaller(path: Path) -> bytes:
    from PIL import Image

    with Image.open(path, formats=("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")) as opened:
        if opened.width * opened.height > PIXELS:
            return b""
        picture = opened.convert("RGB")
    picture.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=4)
    return file.getvalue()
