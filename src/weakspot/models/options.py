"""Options of a name, which are all text: `?steps=8&guidance=2&size=64x96&compile=yes`. "" is not given."""

from __future__ import annotations

import math

from weakspot.core import WeakspotError


def whole(what: str, text: str, *, most: int) -> int | None:
    """A whole number from 1 to `most`."""
    if not text:
        return None
    if not (_digits(text) and 1 <= int(text) <= most):
        raise WeakspotError(f"{what} cannot be {text[:80]!r}", fix=f"choose a whole number from 1 to {most}")
    return int(text)


def number(what: str, text: str, *, most: float) -> float | None:
    """A number from 0 to `most`."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise WeakspotError(f"{what} cannot be {text[:80]!r}", fix=f"choose a number from 0 to {most:g}")
    return value


def size(text: str) -> tuple[int, int] | None:
    """Height and width of a picture in pixels, `512x768`, or one number for both."""
    if not text:
        return None
    sides = text.lower().split("x")
    if len(sides) > 2 or not all(_digits(side) and 8 <= int(side) <= 8192 for side in sides):
        raise WeakspotError(
            f"pictures cannot be {text[:80]!r} pixels large", fix="write 512, or 512x768 for height x width"
        )
    return int(sides[0]), int(sides[-1])


def yes(what: str, text: str) -> bool:
    """`yes` or `no`."""
    if text not in ("yes", "no"):
        raise WeakspotError(f"{what} cannot be {text[:80]!r}", fix="choose yes or no")
    return text == "yes"


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
