"""Pictures are what their bytes say, are made to fit, and what was changed is said."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weakspot.sources.benchmark import DEFAULT, ImageLimits, load_image, mime_of, prepare_image
from weakspot.sources.folder import Unusable


def encoded(image: Image.Image, kind: str, **how: int) -> bytes:
    file = io.BytesIO()
    image.save(file, format=kind, **how)
    return file.getvalue()


def noise(width: int, height: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8))


@pytest.mark.parametrize(
    ("kind", "mime"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")],
)
def test_what_fits_is_sent_as_it_is(kind: str, mime: str, tmp_path: Path) -> None:
    content = encoded(noise(20, 10), kind)
    (tmp_path / "whatever.png").write_bytes(content)
    found = load_image(tmp_path / "whatever.png")
    assert found == (content, mime, 20, 10, "")


@pytest.mark.parametrize(("kind", "mime"), [("BMP", "image/bmp"), ("TIFF", "image/tiff")])
def test_other_kinds_become_jpeg(kind: str, mime: str) -> None:
    found = prepare_image(encoded(noise(20, 10), kind))
    assert mime_of(found.content) == found.mime == "image/jpeg"
    assert mime in found.note


def test_too_many_bytes() -> None:
    content = encoded(noise(300, 200), "PNG")
    found = prepare_image(content, DEFAULT._replace(bytes=20_000))
    assert len(found.content) <= 20_000
    assert f"{len(content):,} bytes made {len(found.content):,}" in found.note
    with pytest.raises(Unusable, match="cannot be made smaller"):
        prepare_image(content, DEFAULT._replace(bytes=100))


def test_sixty_megapixels_are_resized_and_it_is_said() -> None:
    content = encoded(Image.new("L", (9000, 6700), 90), "JPEG", quality=60)
    found = prepare_image(content, ImageLimits(longest=1000))
    assert (found.width, found.height) == (1000, 744)
    assert "resized from 9,000 × 6,700 to 1,000 × 744 pixels" in found.note
    assert Image.open(io.BytesIO(found.content)).size == (1000, 744)


def test_beyond_pillows_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encoded(noise(40, 30), "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(Unusable, match="more than Pillow's limit"):
        prepare_image(content)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a picture in a known format"),
        (b"<svg onload=alert(1)>", "not a picture in a known format"),
        (b"\x89PNG\r\n\x1a\n garbage", "cannot be decoded"),
        (encoded(noise(60, 60), "PNG")[:3000], "cannot be decoded"),
    ],
)
def test_what_cannot_be_read(content: bytes, complaint: str) -> None:
    with pytest.raises(Unusable, match=complaint):
        prepare_image(content)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="it is not there"):
        load_image(tmp_path / "none.png")
    with pytest.raises(Unusable, match="not a plain file"):
        load_image(tmp_path)
