"""Paper, paint and a pen: smooth shapes in unit coordinates on a supersampled Pillow image.

`Pen.paint` draws the parts listed in `drawings.toml`, which says how a part is written.

A `Pen` carries an affine frame, so a subject is drawn once in its own unit box and lands anywhere,
turned or mirrored, at any size. Points become complex numbers in pixels, and every curve is one small
product with a precomputed matrix (by `dot`, which takes half as long as `@` where matrices are small).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from types import CodeType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Plane = NDArray[np.complex128]
Color = tuple[int, ...]
Point = tuple[float, float]
Points = Sequence[Point]

INK: Final[Color] = (44, 38, 46)
DRAWINGS: Final = tomllib.loads(Path(__file__).with_name("drawings.toml").read_text("utf-8"))
#: The named colours of scenes, as paint.
PAINT: Final[dict[str, Color]] = {n: tuple(bytes.fromhex(c)) for n, c in DRAWINGS["paint"].items()}
_DARK: Final = (40, 30, 66)
_LIGHT: Final = (255, 248, 230)


def mix(a: Color, b: Color, t: float) -> Color:
    """The colour `t` of the way from `a` to `b`, without alpha."""
    (r0, g0, b0), (r1, g1, b1) = a[:3], b[:3]
    return int(r0 + (r1 - r0) * t), int(g0 + (g1 - g0) * t), int(b0 + (b1 - b0) * t)


def shade(color: Color, k: float) -> Color:
    """Lighter and warmer for `k` > 0, darker and cooler for `k` < 0, as a painter mixes it."""
    return mix(color, _LIGHT, k) if k >= 0 else mix(color, _DARK, -k)


def vary(color: Color, rng: Random, amount: float = 9.0) -> Color:
    """The colour with a little drift in lightness and in each channel."""
    light = rng.uniform(-amount, amount)
    return tuple(min(255, max(0, int(v + light + rng.uniform(-amount, amount) * 0.6))) for v in color[:3])


@cache
def colors(what: str) -> list[Color]:
    return [tuple(bytes.fromhex(color)) for color in DRAWINGS["colors"][what].split()]


def natural(rng: Random, what: str, tint: Color | None = None, *, drift: float = 9.0) -> Color:
    """The tint if there is one, else a natural colour; the stream moves on alike, so the rest stays."""
    own = vary(rng.choice(colors(what)), rng, drift)
    return own if tint is None else tint


@cache
def rows(what: str) -> list[tuple[float, ...]]:
    """Where the spots of a thing are, and whatever else is said of each."""
    return [tuple(map(float, row.split(","))) for row in DRAWINGS["spots"][what].split()]


def named(draw: Callable[..., Any]) -> str:
    """The name of what a function draws."""
    return draw.__name__.replace("_", " ")


@cache
def _program(part: str) -> CodeType:
    """The lines of a part as Python: its numbers are expressions, its strokes are calls of a pen."""
    lines = _unrolled(DRAWINGS["parts"][part].strip().splitlines())
    return compile("\n".join(map(_statement, lines)), f"drawings.toml: {part}", "exec")


def _unrolled(lines: Sequence[str]) -> Iterator[str]:
    """The lines with those between "for" and "end" repeated, the loop's names replaced by their values."""
    rest = iter(lines)
    for line in rest:
        if not line.startswith("for "):
            yield line
            continue
        names, _, rows = line.removeprefix("for ").partition(":")
        body = "\n".join(iter(rest.__next__, "end"))
        for row in rows.split():
            repeated = body
            for name, value in zip(names.split(), row.split(","), strict=True):
                repeated = re.sub(rf"(?<![\w#]){name}\b(?!=)", value, repeated)
            yield from repeated.splitlines()


def _statement(line: str) -> str:
    """A line as a call: "disc coat:0.2 0 0 r" is pen.disc(0, 0, r, shade(coat, 0.2))."""
    method, *words = line.split()
    if method == "at":
        return f"pen = home.at({', '.join(words)})" if words else "pen = home"
    color = _tone(words.pop(0))
    points = [f"({word})" for word in words if "," in word]
    options = [word for word in words if "=" in word]
    numbers = [word for word in words if not set(",=") & set(word)]
    given = [f"[{', '.join(points)}]"] if points else []
    return f"pen.{method}({', '.join([*given, *numbers, color, *options])})"


def _tone(text: str) -> str:
    """A colour: coat, coat:0.2, coat@90, #rrggbb."""
    tone, _, opacity = text.partition("@")
    color, *shades = tone.split(":")
    if color.startswith("#"):
        color = str(tuple(bytes.fromhex(color[1:])))
    for k in shades:
        color = f"shade({color}, {k})"
    return f"(*{color}, {opacity})" if opacity else color


@lru_cache(maxsize=256)
def _closed(n: int, k: int) -> Plane:
    """Weights (n·k, n) of a closed Catmull-Rom curve through n points, k samples a piece."""
    return _weights(n, k, [[(j + o) % n for o in (-1, 0, 1, 2)] for j in range(n)])


@lru_cache(maxsize=256)
def _open(n: int, k: int) -> tuple[Plane, Plane]:
    """For an open curve through n points: weights of its path and then of its direction; 0 to i along it."""
    ids = [[min(max(j + o, 0), n - 1) for o in (-1, 0, 1, 2)] for j in range(n - 1)]
    end = np.zeros((1, n), dtype=complex)
    end[0, -1] = 1.0
    path = np.concatenate([_weights(n, k, ids), end])
    ramp = np.array([1j * i / (len(path) - 1) for i in range(len(path))])
    return np.concatenate([path, np.gradient(path, axis=0)]), ramp


def _weights(n: int, k: int, neighbours: list[list[int]]) -> Plane:
    out = np.zeros((len(neighbours) * k, n), dtype=complex)
    for j, ids in enumerate(neighbours):
        for i in range(k):
            u = i / k
            basis = (
                -0.5 * u + u * u - 0.5 * u**3,
                1 - 2.5 * u * u + 1.5 * u**3,
                0.5 * u + 2 * u * u - 1.5 * u**3,
                -0.5 * u * u + 0.5 * u**3,
            )
            for index, weight in zip(ids, basis, strict=True):
                out[j * k + i, index] += weight
    return out


@lru_cache(maxsize=64)
def _round(n: int, depth: float = 0.0) -> Plane:
    """Weights (n, 3) of centre, x and y axis for n points on a circle, every other one `depth` inside."""
    turn = np.arange(n) * (2 * math.pi / n)
    out = np.stack([np.ones(n), np.cos(turn), np.sin(turn)], axis=1).astype(complex)
    out[1::2, 1:] *= 1 - depth
    return out


class Pen:
    """Draws in its own frame: x to the right, y down, one unit wherever `at` has put it."""

    __slots__ = ("_detail", "_draw", "_glass", "_origin", "_scale", "_x", "_y", "image")

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self._draw = ImageDraw.Draw(image)
        self._glass = ImageDraw.Draw(image, "RGBA")
        side = image.size[0]
        self._detail = 4 if side <= 256 else 7 if side <= 800 else 12
        self._scale = float(side)
        self._x, self._y = complex(side), complex(0.0, side)  # one unit to the right, and one down, in pixels
        self._origin = complex(-0.5, -0.5)  # Pillow's pixel centres lie on whole numbers

    def at(self, x: float, y: float, sx: float = 1.0, sy: float | None = None, turn: float = 0.0) -> Pen:
        """A pen whose origin is (x, y), scaled by sx and sy (mirrored where negative), turned clockwise."""
        sy = sx if sy is None else sy
        cos, sin = (math.cos(turn), math.sin(turn)) if turn else (1.0, 0.0)
        pen = Pen.__new__(Pen)
        pen.image, pen._draw, pen._glass, pen._detail = self.image, self._draw, self._glass, self._detail
        pen._x = self._x * (cos * sx) + self._y * (sin * sx)
        pen._y = self._x * (-sin * sy) + self._y * (cos * sy)
        pen._origin = self._x * x + self._y * y + self._origin
        pen._scale = math.sqrt(abs((pen._x.conjugate() * pen._y).imag))
        return pen

    def paint(self, part: str, **values: Any) -> None:
        """Draw a part of `drawings.toml`, given the colours and numbers that it leaves open."""
        # The file is part of the package, as its modules are; a test keeps it to numbers and names.
        exec(_program(part), {"home": self, "pen": self, "shade": shade, **values})  # noqa: S102

    def _place(self, points: Points) -> Plane:
        right, down, origin = self._x, self._y, self._origin
        return np.array([right * x + down * y + origin for x, y in points])

    def _fill(self, outline: Plane, color: Color) -> None:
        pen = self._draw if len(color) == 3 else self._glass
        pen.polygon(outline.view(np.float64).tolist(), fill=color)

    def poly(self, points: Points, color: Color) -> None:
        """A polygon with straight sides. A fourth number in the colour is its opacity, here and below."""
        self._fill(self._place(points), color)

    def blob(self, points: Points, color: Color) -> None:
        """A smooth closed shape through the points."""
        self._fill(_closed(len(points), self._detail).dot(self._place(points)), color)

    def disc(
        self, x: float, y: float, rx: float, color: Color, ry: float | None = None, turn: float = 0.0
    ) -> None:
        """A disc or, with `ry`, an ellipse."""
        ry = rx if ry is None else ry
        reach = max(rx, ry) * self._scale
        n = 7 if reach < 2 else 10 if reach < 5 else 18 if reach < 20 else 32 if reach < 90 else 72
        self._ring(_round(n), x, y, rx, ry, turn, color)

    def tuft(self, x: float, y: float, r: float, color: Color, n: float, depth: float) -> None:
        """A furry disc with n points."""
        self._ring(_round(2 * int(n), depth), x, y, r, r, 0.0, color)

    def _ring(self, ring: Plane, x: float, y: float, rx: float, ry: float, turn: float, color: Color) -> None:
        right, down = self._x * rx, self._y * ry
        if turn:
            cos, sin = math.cos(turn), math.sin(turn)
            right = self._x * (cos * rx) + self._y * (sin * rx)
            down = self._x * (-sin * ry) + self._y * (cos * ry)
        centre = self._x * x + self._y * y + self._origin
        self._fill(ring.dot(np.array((centre, right, down))), color)

    def rect(self, x0: float, y0: float, x1: float, y1: float, color: Color) -> None:
        self.poly(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), color)

    def line(self, x0: float, y0: float, x1: float, y1: float, width: float, color: Color) -> None:
        dx, dy = x1 - x0, y1 - y0
        # A filled polygon is half a pixel fat on either side.
        half = max(width / 2 - 0.5 / self._scale, 0.0) / (math.hypot(dx, dy) or 1.0)
        nx, ny = -dy * half, dx * half
        self.poly(((x0 + nx, y0 + ny), (x1 + nx, y1 + ny), (x1 - nx, y1 - ny), (x0 - nx, y0 - ny)), color)

    def stroke(self, points: Points, w0: float, w1: float, color: Color, knob: float = 0.0) -> None:
        """A smooth stroke through the points, from width w0 to w1; `knob` puts a round end of that radius."""
        weights, ramp = _open(len(points), self._detail)
        curve, n = weights.dot(self._place(points)), len(ramp)
        path, along = curve[:n], curve[n:]
        h0 = max(w0 * self._scale / 2 - 0.5, 0.0)
        h1 = max(w1 * self._scale / 2 - 0.5, 0.0)
        side = along * ((h0 * 1j + (h1 - h0) * ramp) / (np.abs(along) + 1e-9))
        outline = np.empty_like(curve)
        np.add(path, side, out=outline[:n])
        np.subtract(path, side, out=outline[: n - 1 : -1])
        self._fill(outline, color)
        if knob:
            self.disc(points[-1][0], points[-1][1], knob, color)


def sheet(side: int, *stops: tuple[float, Color]) -> Pen:
    """A square sheet with a vertical wash through stops: (height from 0 at the top to 1, colour)."""
    heights = [s[0] for s in stops]
    y = (np.arange(side) + 0.5) / side
    column = np.empty((side, 1, 3), dtype=np.uint8)
    for i in range(3):
        column[:, 0, i] = np.interp(y, heights, [s[1][i] for s in stops]) + 0.5
    strip = Image.fromarray(column)
    return Pen(strip.resize((side, side), Image.Resampling.NEAREST))
