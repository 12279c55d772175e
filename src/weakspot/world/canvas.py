"""Paper, paint and a pen: smooth shapes in unit coordinates on a supersampled Pillow image.

`Pen.paint` draws the parts listed in `drawings.toml`, which says how a part is written.

A `Pen` carries an affine frame, so a subject is drawn once in its own unit box and lands anywhere,
turned or mirrored, at any size. Points become complex numbers in pixels, and every curve is one small
product with a precomputed matrix: that is what makes 400 pictures a second possible in Python.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Plane = NDArray[np.complex128]
Color = tuple[int, ...]
Point = tuple[float, float]
Points = Sequence[Point]

#: The named colours of scenes, as paint.
PAINT: Final[dict[str, Color]] = {
    "red": (204, 58, 50),
    "orange": (233, 130, 44),
    "yellow": (244, 198, 58),
    "green": (92, 152, 74),
    "blue": (62, 114, 186),
    "purple": (128, 82, 164),
    "pink": (235, 138, 166),
    "brown": (130, 86, 54),
    "black": (48, 45, 52),
    "grey": (142, 145, 150),
    "white": (243, 240, 232),
}
INK: Final[Color] = (44, 38, 46)
DRAWINGS: Final = tomllib.loads(Path(__file__).with_name("drawings.toml").read_text("utf-8"))
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


#: A sum of products, each a sign and its factors; a factor is a number or the name of one.
Number = float | list[tuple[float, list[float | str]]]


class _Stroke(NamedTuple):
    """A line of a drawing: a method of `Pen`, its colour and what else it is given."""

    method: str
    base: Color | str  # a colour, or the name of one
    shades: list[Number]  # of the colour, one after the other
    opacity: tuple[int, ...]
    numbers: list[Any]  # x and y of each point, then single numbers, then the options
    changing: list[int]  # which of these depend on what the drawing is given
    points: int
    options: list[str]


@cache
def _strokes(part: str) -> list[_Stroke]:
    return [_stroke(line) for line in _unrolled(DRAWINGS["parts"][part].strip().splitlines())]


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


def _stroke(line: str) -> _Stroke:
    method, *words = line.split()
    tone, _, opacity = (words.pop(0) if method != "at" else "").partition("@")
    name, *shades = tone.split(":")
    base = tuple(bytes.fromhex(name[1:])) if name.startswith("#") else name
    points = [word.split(",") for word in words if "," in word]
    options = [word.split("=") for word in words if "=" in word]
    single = [word for word in words if not set(",=") & set(word)]
    numbers = [_number(n) for n in [*chain(*points), *single, *(value for _, value in options)]]
    return _Stroke(
        method,
        base,
        [_number(k) for k in shades],
        (int(opacity),) if opacity else (),
        numbers,
        [i for i, number in enumerate(numbers) if not isinstance(number, float)],
        2 * len(points),
        [option for option, _ in options],
    )


@cache
def _number(text: str) -> Number:
    terms: list[tuple[float, list[float | str]]] = []
    for signs, product in re.findall(r"([+-]*)((?:\*-|[^+-])+)", text):
        factors = [factor.strip("-") for factor in product.split("*")]
        sign = -1.0 if (signs + product).count("-") % 2 else 1.0
        terms.append((sign, [f if f[0].isalpha() else float(f) for f in factors]))
    constant = not any(isinstance(f, str) for _, factors in terms for f in factors)
    return _value(terms, {}) if constant else terms


def _value(number: Number, values: Mapping[str, Any]) -> float:
    if isinstance(number, float):
        return number
    total = 0.0
    for sign, factors in number:
        for factor in factors:
            sign *= factor if isinstance(factor, float) else values[factor]
        total += sign
    return total


@lru_cache(maxsize=256)
def _closed(n: int, k: int) -> Plane:
    """Weights (n·k, n) of a closed Catmull-Rom curve through n points, k samples a piece."""
    return _weights(n, k, [[(j + o) % n for o in (-1, 0, 1, 2)] for j in range(n)])


@lru_cache(maxsize=256)
def _open(n: int, k: int) -> tuple[Plane, Plane, NDArray[np.float64]]:
    """For an open curve through n points: weights of the path, weights of its direction, 0 to 1 along it."""
    ids = [[min(max(j + o, 0), n - 1) for o in (-1, 0, 1, 2)] for j in range(n - 1)]
    end = np.zeros((1, n), dtype=complex)
    end[0, -1] = 1.0
    path = np.concatenate([_weights(n, k, ids), end])
    return path, np.gradient(path, axis=0), np.linspace(0.0, 1.0, len(path))


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

    __slots__ = ("_a", "_b", "_c", "_d", "_detail", "_draw", "_e", "_f", "_glass", "_scale", "image")

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self._draw = ImageDraw.Draw(image)
        self._glass = ImageDraw.Draw(image, "RGBA")
        side = image.size[0]
        self._detail = 4 if side <= 256 else 7 if side <= 800 else 12
        self._a = self._d = self._scale = float(side)
        self._b = self._c = 0.0
        # Pillow's pixel centres lie on whole numbers, hence the half pixel.
        self._e = self._f = -0.5

    def at(self, x: float, y: float, sx: float = 1.0, sy: float | None = None, turn: float = 0.0) -> Pen:
        """A pen whose origin is (x, y), scaled by sx and sy (mirrored where negative), turned clockwise."""
        sy = sx if sy is None else sy
        a, b, c, d = self._a, self._b, self._c, self._d
        cos, sin = (math.cos(turn), math.sin(turn)) if turn else (1.0, 0.0)
        ux, uy, vx, vy = cos * sx, sin * sx, -sin * sy, cos * sy
        pen = Pen.__new__(Pen)
        pen.image, pen._draw, pen._glass, pen._detail = self.image, self._draw, self._glass, self._detail
        pen._a, pen._b = ux * a + uy * c, ux * b + uy * d
        pen._c, pen._d = vx * a + vy * c, vx * b + vy * d
        pen._e, pen._f = x * a + y * c + self._e, x * b + y * d + self._f
        pen._scale = math.sqrt(abs(pen._a * pen._d - pen._b * pen._c))
        return pen

    def paint(self, part: str, **values: Any) -> None:
        """Draw a part of `drawings.toml`, given the colours and numbers that it leaves open."""
        pen = self
        for method, base, shades, opacity, numbers, changing, points, options in _strokes(part):
            if changing:
                numbers = numbers.copy()
                for i in changing:
                    numbers[i] = _value(numbers[i], values)
            end = len(numbers) - len(options)
            named = dict(zip(options, numbers[end:], strict=True)) if options else {}
            if method == "at":
                pen = self.at(*numbers[:end], **named) if numbers else self
                continue
            color: Color = values[base] if isinstance(base, str) else base
            for k in shades:
                color = shade(color, _value(k, values))
            given = [[*zip(numbers[:points:2], numbers[1:points:2], strict=True)]] if points else []
            getattr(pen, method)(*given, *numbers[points:end], color + opacity, **named)

    def _place(self, points: Points) -> Plane:
        a, b, c, d, e, f = self._a, self._b, self._c, self._d, self._e, self._f
        return np.array([complex(a * x + c * y + e, b * x + d * y + f) for x, y in points])

    def _fill(self, flat: list[float], color: Color) -> None:
        (self._draw if len(color) == 3 else self._glass).polygon(flat, fill=color)

    def poly(self, points: Points, color: Color) -> None:
        """A polygon with straight sides. A fourth number in the colour is its opacity, here and below."""
        a, b, c, d, e, f = self._a, self._b, self._c, self._d, self._e, self._f
        self._fill([v for x, y in points for v in (a * x + c * y + e, b * x + d * y + f)], color)

    def blob(self, points: Points, color: Color) -> None:
        """A smooth closed shape through the points."""
        curve = _closed(len(points), self._detail) @ self._place(points)
        self._fill(curve.view(np.float64).tolist(), color)

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
        a, b, c, d = self._a, self._b, self._c, self._d
        ux, uy, vx, vy = rx, 0.0, 0.0, ry
        if turn:
            cos, sin = math.cos(turn), math.sin(turn)
            ux, uy, vx, vy = cos * rx, sin * rx, -sin * ry, cos * ry
        axes = np.array(
            (
                complex(a * x + c * y + self._e, b * x + d * y + self._f),
                complex(a * ux + c * uy, b * ux + d * uy),
                complex(a * vx + c * vy, b * vx + d * vy),
            )
        )
        self._fill((ring @ axes).view(np.float64).tolist(), color)

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
        weights, slopes, ramp = _open(len(points), self._detail)
        place = self._place(points)
        path, along = weights @ place, slopes @ place
        h0 = max(w0 * self._scale / 2 - 0.5, 0.0)
        h1 = max(w1 * self._scale / 2 - 0.5, 0.0)
        side = along * ((h0 + (h1 - h0) * ramp) * 1j / (np.abs(along) + 1e-9))
        self._fill(np.concatenate((path + side, (path - side)[::-1])).view(np.float64).tolist(), color)
        if knob:
            self.disc(points[-1][0], points[-1][1], knob, color)


def sheet(side: int, *stops: tuple[float, Color]) -> Pen:
    """A square sheet with a vertical wash through stops: (height from 0 at the top to 1, colour)."""
    heights = [s[0] for s in stops]
    y = (np.arange(side) + 0.5) / side
    column = np.stack([np.interp(y, heights, [s[1][i] for s in stops]) for i in range(3)], axis=1)
    strip = Image.fromarray((column + 0.5).astype(np.uint8)[:, None, :])
    return Pen(strip.resize((side, side), Image.Resampling.NEAREST))
