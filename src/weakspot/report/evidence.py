"""Kept inputs as examples in the page: small pictures as data URIs, or a few words.

Pictures are decoded and encoded anew, so nothing of a stranger's file but its pixels reaches the page.
What is missing, damaged or too large is left out: a report is never lost for a picture.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from weakspot.core import Hypothesis, Trial, WeakspotError
from weakspot.report import format as show
from weakspot.store import Run, Unreachable

if TYPE_CHECKING:
    from PIL import Image

#: The longest side of a picture in the page, in pixels.
LARGEST: Final = 160
#: A PNG above this many bytes becomes a JPEG.
PNG_BYTES: Final = 16_000
#: Pictures above this many pixels are not decoded.
PIXELS: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Example:
    """One kept trial.

    Attributes:
        index: Of its case.
        said: What the target answered.
        probability: Of that answer, where the target gives one.
        alt: The example in words.
        caption: What the source knows of it.
        uri: The picture as a data URI; "" for an input that is text.
        text: The input, if it is text.
        pixelated: The picture is small enough that its pixels should stay sharp when enlarged.
    """

    index: int
    said: str
    probability: float | None
    alt: str
    caption: str
    uri: str = ""
    text: str = ""
    pixelated: bool = False


@dataclass(slots=True)
class Room:
    """How many characters of pictures the page still has room for."""

    left: int


def examples(
    run: Run, hypothesis: Hypothesis, indices: Sequence[int], *, most: int, room: Room
) -> list[Example]:
    """The first `most` of these trials whose inputs can be shown."""
    shown: list[Example] = []
    for index in indices:
        if len(shown) >= most or room.left <= 0:
            break
        try:
            trial = run.ledger.trial(hypothesis, index)
            content = run.blobs.get(trial.blob) if trial is not None and trial.blob else b""
        except Unreachable:  # it is not this input: there would be none at all, and nobody would know why
            raise
        except (WeakspotError, OSError):
            continue
        example = _example(trial, content) if trial is not None and content else None
        if example is None:
            continue
        room.left -= len(example.uri) + len(example.text)
        if room.left >= 0:
            shown.append(example)
    return shown


def picture(run: Run, blob: str, room: Room) -> str:
    """A kept picture as a data URI; "" if it cannot be shown, or the page has no room for it."""
    try:
        uri, _ = data_uri(run.blobs.get(blob))
    except Unreachable:
        raise
    except (WeakspotError, OSError):
        return ""
    room.left -= len(uri)
    return uri if room.left >= 0 else ""


def _example(trial: Trial, content: bytes) -> Example | None:
    said, probability = _said(trial)
    caption = show.shorten(trial.caption, 300)
    verdict = "failed" if trial.failed else "passed"
    alt = f"{verdict}: {show.shorten(trial.expected, 60) or 'a case'} answered with {said}"
    alt += f". {show.shorten(trial.caption, 200)}" if trial.caption else ""
    uri, pixelated = data_uri(content)
    if uri:
        return Example(trial.index, said, probability, alt, caption, uri=uri, pixelated=pixelated)
    try:
        text = show.shorten(content.decode(), 400)
    except UnicodeDecodeError:
        return None
    return Example(trial.index, said, probability, alt, caption, text=text)


def _said(trial: Trial) -> tuple[str, float | None]:
    probabilities = dict(trial.top)
    answer = trial.answer if trial.answer is not None else next(iter(probabilities), None)
    if answer is None:
        return trial.status.value, None
    return show.shorten(answer, 80) or "(nothing)", probabilities.get(answer)


def data_uri(content: bytes) -> tuple[str, bool]:
    """A picture as a data URI, at most `LARGEST` pixels wide and high; and whether it is a small one.

    ("", False) if these bytes are no picture that can be shown.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = Image.open(io.BytesIO(content), formats=("PNG", "JPEG", "WEBP"))
            if opened.width * opened.height > PIXELS:
                return "", False
            picture = opened.convert("RGB")
    except Exception:  # a decoder fed with damaged bytes may raise anything
        return "", False
    small = max(picture.size) <= LARGEST // 2
    picture.thumbnail((LARGEST, LARGEST), Image.Resampling.LANCZOS)
    encoded, kind = _encoded(picture, "PNG", compress_level=9), "png"
    if len(encoded) > PNG_BYTES:
        encoded, kind = _encoded(picture, "JPEG", quality=82, optimize=True), "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(encoded).decode()}", small


def _encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, format=kind, **options)
    return file.getvalue()
