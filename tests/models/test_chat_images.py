"""Pictures on their way to a provider: the same bytes where it takes them, smaller where it does not."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weakspot.core import WeakspotError
from weakspot.models.chat.images import RULES, ImageRule, data_uri, prepare


def picture(kind: str, size: tuple[int, int] = (40, 30), **how: Any) -> bytes:
    """A file of this kind with a gradient in it, red at the right, green at the bottom."""
    width, height = size
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.linspace(0, 255, width)[None, :]
    pixels[..., 1] = np.linspace(0, 255, height)[:, None]
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **how)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "mime"), [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp"), ("GIF", "gif")]
)
def test_what_a_provider_takes_is_sent_as_it_is_and_named_by_its_bytes(
    kind: str, mime: str, tmp_path: Path
) -> None:
    content = picture(kind)
    (tmp_path / "photo.bmp").write_bytes(content)  # names lie
    for given in (content, bytearray(content), tmp_path / "photo.bmp", str(tmp_path / "photo.bmp")):
        sent = prepare(given, RULES["openai"])
        assert (sent.content, sent.mime, sent.note) == (content, f"image/{mime}", "")
        assert data_uri(sent) == f"data:image/{mime};base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize("kind", ["WEBP", "GIF", "BMP", "TIFF"])
def test_what_it_does_not_read_is_sent_in_a_format_that_it_does(kind: str) -> None:
    sent = prepare(picture(kind), RULES[None])
    assert sent.mime in ("image/png", "image/jpeg")
    assert (sent.width, sent.height) == (40, 30)
    assert sent.note.startswith(f"image 40×30 {kind} sent as 40×30")
    assert Image.open(io.BytesIO(sent.content)).size == (40, 30)


def test_an_array_is_sent_to_the_last_bit() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    sent = prepare(pixels, RULES["anthropic"])
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(sent.content))), pixels)
    assert sent.note == ""


@pytest.fixture(scope="module")
def huge() -> bytes:
    """Sixty megapixels, small as a file: a gradient that was enlarged."""
    file = io.BytesIO()
    small = Image.open(io.BytesIO(picture("PNG", (1000, 600))))
    small.resize((10_000, 6_000), Image.Resampling.NEAREST).save(file, "JPEG", quality=50)
    return file.getvalue()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_sixty_megapixels_are_made_to_fit(provider: str | None, huge: bytes) -> None:
    rule = RULES[provider]
    sent = prepare(huge, rule)
    assert max(sent.width, sent.height) == rule.side
    assert abs(sent.width / sent.height - 10 / 6) < 0.01
    assert len(sent.content) <= rule.size
    assert sent.note.startswith("image 10000×6000 JPEG sent as")
    pixels = np.asarray(Image.open(io.BytesIO(sent.content)).convert("RGB")).astype(int)
    assert pixels[5, -5, 0] > 240 > 10 > pixels[5, 5, 0]  # still the same picture


def test_noise_is_made_smaller_until_the_file_fits() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 900, 3), np.uint8)
    sent = prepare(noise, ImageRule(2048, 100_000))
    assert len(sent.content) <= 100_000
    assert sent.width == sent.height < 900


def test_turned_and_transparent_pictures_are_shown_as_people_see_them() -> None:
    turned = Image.Exif()
    turned[0x0112] = 6  # turn right by a quarter
    sent = prepare(picture("JPEG", (3000, 2000), exif=turned), RULES["openai"])
    assert sent.width < sent.height
    file = io.BytesIO()
    Image.new("RGBA", (3000, 10), (255, 0, 0, 0)).save(file, "PNG")
    clear = prepare(file.getvalue(), RULES["openai"])
    assert np.asarray(Image.open(io.BytesIO(clear.content)).convert("RGB")).min() == 255


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"", "cannot be read"),
        (b"GIF89a and so on", "cannot be read"),
        (picture("PNG", (300, 300))[:-400], "cannot be read"),
        (picture("JPEG", (3000, 2000))[:2000], "cannot be read"),
        ("absent.png", "cannot be read: No such file"),
        ("nul\0byte", "cannot be read"),
        (np.zeros((4, 4), np.uint8), r"an array \(4, 4\) of uint8 is not a picture"),
        (np.zeros((4, 4, 3)), "float64 is not a picture"),
        (3, "a int is not a picture"),
    ],
)
def test_what_is_no_picture_is_an_error_before_it_is_sent(given: Any, said: str) -> None:
    with pytest.raises(WeakspotError, match=said):
        prepare(given, RULES["openai"])


def test_a_bomb_is_not_unpacked() -> None:
    for side in (10_000, 60_000):  # Pillow warns of the first and refuses the second
        head = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        content = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
        with pytest.raises(WeakspotError, match=r"considers safe|exceeds limit"):
            prepare(content + b"\0\0\0\x04IDAT", RULES["openai"])
