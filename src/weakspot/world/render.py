"""From a scene to a picture: where things stand, in which order they are painted, light and air.

Every element (background, subject, support, screen, …) draws from a random stream of its own, seeded
by the seed and the element's name alone. Two scenes that differ in one attribute and share the seed
therefore share everything else: pose, hue and layout stay, which is what a counterfactual pair needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.core.errors import WeakspotError
from weakspot.world.backgrounds import BACKGROUNDS
from weakspot.world.canvas import PAINT, Color, Pen, vary
from weakspot.world.context import SCREENS, SUPPORTS, cover, flare, rain, snowfall, sun_or_moon
from weakspot.world.scene import Scene
from weakspot.world.subjects import FIGURES

Picture = NDArray[np.uint8]
_F32 = NDArray[np.float32]
#: One number for the whole picture, or a function that gives the random stream of each element.
Seed = int | Callable[[str], Random]

_WIDTH: Final = {"small": 0.28, "medium": 0.45, "large": 0.68}
_PLACE: Final = {
    "centre": (0.5, 0.52),
    "left": (0.28, 0.54),
    "right": (0.72, 0.54),
    "top": (0.5, 0.29),
    "bottom": (0.5, 0.74),
}
_TURN: Final = {"upright": 0.0, "tilted left": -0.52, "tilted right": 0.52, "upside down": math.pi}
#: How much smaller each one is in a group of one to four.
_SHRINK: Final = {
    "small": (1.0, 0.92, 0.84, 0.78),
    "medium": (1.0, 0.78, 0.66, 0.6),
    "large": (1.0, 0.64, 0.54, 0.5),
}
#: Where they stand then, in half widths of one; front ones last.
_GROUP: Final[tuple[tuple[tuple[float, float], ...], ...]] = (
    ((0.0, 0.0),),
    ((-0.96, -0.14), (0.96, 0.16)),
    ((0.06, -0.8), (-1.04, 0.44), (1.04, 0.52)),
    ((-0.9, -0.74), (1.0, -0.66), (-1.04, 0.66), (0.94, 0.76)),
)
_FLOATING: Final = frozenset({"sea", "underwater", "riverbed"})
_OPEN_SKY: Final = frozenset({"meadow", "snow", "beach", "sea", "rocks"})
_MIN_SIZE, _MAX_SIZE = 16, 2048


class Spot(NamedTuple):
    """Where one figure stands: centre, half width and turn (clockwise), all in picture units."""

    x: float
    y: float
    half: float
    turn: float


def stream(seed: Seed, element: str) -> Random:
    """The random stream of one element of the picture with this seed."""
    return seed(element) if callable(seed) else Random(f"{element}/{seed}")  # noqa: S311


def layout(scene: Scene, seed: Seed) -> list[Spot]:
    """Where the subjects stand, front ones last."""
    rng = stream(seed, "layout")
    x, y = _PLACE[scene.position]
    x += rng.uniform(-0.04, 0.04)
    y += rng.uniform(-0.03, 0.03)
    half = _WIDTH[scene.size] / 2 * rng.uniform(0.94, 1.06)
    lean, strength = rng.uniform(-0.09, 0.09), rng.uniform(0.86, 1.14)
    turn = lean + _TURN[scene.pose] * (strength if scene.pose.startswith("tilted") else 1.0)
    if scene.companion_at in ("left", "right"):
        room = 0.16 if scene.size == "large" else 0.1
        x += room if scene.companion_at == "left" else -room
    offsets = _GROUP[int(scene.count) - 1]
    half *= _SHRINK[scene.size][int(scene.count) - 1]
    reach_x = half * (max(abs(dx) for dx, _ in offsets) + 0.9)
    reach_y = half * (max(abs(dy) for _, dy in offsets) + 0.8)
    x, y = _within(x, reach_x), _within(y, reach_y)
    if len(offsets) == 1:
        return [Spot(x, y, half, turn)]
    return [
        Spot(
            x + half * (dx + rng.uniform(-0.1, 0.1)),
            y + half * (dy + rng.uniform(-0.08, 0.08)),
            half * rng.uniform(0.92, 1.08),
            turn + rng.uniform(-0.1, 0.1),
        )
        for dx, dy in offsets
    ]


def _within(centre: float, reach: float) -> float:
    """The centre moved so far that `reach` on either side stays in the picture."""
    return min(max(centre, reach), 1 - reach) if reach < 0.5 else 0.5


def _tint(name: str, seed: Seed, element: str) -> Color | None:
    return None if name == "natural" else vary(PAINT[name], stream(seed, f"color of {element}"), 8)


def _shadow(pen: Pen, spot: Spot, foot: float) -> None:
    pen.disc(spot.x, spot.y + spot.half * foot, spot.half * 0.88, (34, 26, 58, 62), ry=spot.half * 0.13)


def _outline(scene: Scene, spots: list[Spot]) -> tuple[float, float, float]:
    """The left and the right end of all subjects, and how far down they reach."""
    foot = FIGURES[scene.subject].foot
    left, right = min(s.x - s.half for s in spots), max(s.x + s.half for s in spots)
    return left, right, max(s.y + s.half * foot for s in spots)


def _subjects(pen: Pen, scene: Scene, seed: Seed, spots: list[Spot]) -> None:
    draw, foot = FIGURES[scene.subject]
    mirror = -1.0 if scene.facing == "left" else 1.0
    if scene.on == "nothing" and scene.background not in _FLOATING:
        for spot in spots:
            _shadow(pen, spot, foot)
    for i, spot in enumerate(spots):
        rng, tint = stream(seed, f"subject {i}"), _tint(scene.color, seed, f"subject {i}")
        frame = pen.at(spot.x, spot.y, spot.half, turn=spot.turn)
        draw(frame.at(0, 0, mirror, 1.0), rng, tint)
        if scene.background == "sea" and scene.on == "nothing":
            pen.at(spot.x, spot.y + spot.half * (foot - 0.04), spot.half).paint("ripples")


def _fences(pen: Pen, scene: Scene, seed: Seed) -> None:
    """A fence fills the picture: size sets its mesh, count its bands, position and pose shift and tilt it."""
    rng, tint = stream(seed, "subject 0"), _tint(scene.color, seed, "subject 0")
    x, y = _PLACE[scene.position]
    zoom = {"small": 0.4, "medium": 0.52, "large": 0.66}[scene.size]
    tilt = {"upright": 0.0, "tilted left": -0.2, "tilted right": 0.2, "upside down": math.pi}[scene.pose]
    frame = pen.at(0.5 + (x - 0.5) * 0.3, 0.5 + (y - 0.5) * 0.3, zoom, turn=tilt + rng.uniform(-0.04, 0.04))
    mirror = -1.0 if scene.facing == "left" else 1.0
    FIGURES["fence"].draw(frame.at(0, 0, mirror, 1.0), rng, tint)
    for i in range(1, int(scene.count)):
        h = -0.75 + 0.5 * i
        rail = tint or (128, 122, 116)
        frame.rect(-2.0, h - 0.05, 2.0, h + 0.05, rail)


def _support(pen: Pen, scene: Scene, seed: Seed, spots: list[Spot]) -> None:
    draw, color = SUPPORTS[scene.on]
    if scene.on_color != "none":
        color = PAINT[scene.on_color]
    left, right, low = _outline(scene, spots)
    half = max((right - left) / 2, 0.16)
    mid = sum(s.y for s in spots) / len(spots)
    y = mid + (low - mid) * (0.4 if scene.on in ("flower", "leaf") else 0.78)
    draw(pen.at((left + right) / 2, y, min(half, 0.36)), stream(seed, "support"), color)


def _companion(pen: Pen, scene: Scene, seed: Seed, spots: list[Spot]) -> None:
    """Something else, about half as large as the subject; behind a fence, what the fence encloses."""
    rng = stream(seed, "companion")
    draw, foot = FIGURES[scene.companion]
    half = max(_WIDTH[scene.size] * 0.27, 0.1) * rng.uniform(0.94, 1.06)
    left, right, low = _outline(scene, spots)
    if scene.companion_at == "behind" and scene.subject == "fence":
        half *= rng.uniform(1.4, 1.9)
        x, y = 0.5 + rng.uniform(-0.2, 0.2), 0.5 + rng.uniform(-0.1, 0.1)
    elif scene.companion_at == "behind":
        x = (left + right) / 2 + rng.choice((-1, 1)) * (right - left) * rng.uniform(0.18, 0.3)
        half *= 1.1
        y = min(s.y - s.half * 0.3 for s in spots) - half * foot
    else:
        x = left - half * 0.8 if scene.companion_at == "left" else right + half * 0.8
        y = low - half * foot + 0.01
    x = min(max(x, half * 0.85), 1 - half * 0.85)
    y = min(max(y, half * 0.85), 1 - half * 0.8)
    if scene.background not in _FLOATING and scene.companion_at != "behind":
        _shadow(pen, Spot(x, y, half, 0.0), foot)
    draw(pen.at(x, y, rng.choice((-1, 1)) * half, half), rng, None)


@lru_cache(maxsize=6)
def _grain(size: int) -> _F32:
    """Gouache on paper, with a camera's noise: factors around 1, half as wide again as the picture."""
    side = size + size // 2
    rng = np.random.default_rng(5)
    out = np.ones((side, side, 3), dtype=np.float32)
    out += 0.012 * rng.standard_normal((side, side, 3), dtype=np.float32)
    for cells, weight in ((7, 0.012), (96, 0.011)):
        coarse = Image.fromarray(rng.standard_normal((cells, cells), dtype=np.float32))
        soft = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC), dtype=np.float32)
        out += weight * soft[:, :, None]
    return out


@lru_cache(maxsize=6)
def _axis(size: int) -> _F32:
    return (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)


def _glow(size: int, x: float, y: float, reach: float) -> _F32:
    """A soft round light (size, size, 1), 1 at (x, y)."""
    across, down = ((_axis(size) - x) / reach) ** 2, ((_axis(size) - y) / reach) ** 2
    return (1.0 / (1.0 + across[None, :, None] + down[:, None, None])).astype(np.float32, copy=False)


def _rgb(*values: float) -> _F32:
    return np.array(values, dtype=np.float32)


def _air(picture: _F32, weather: str) -> _F32:
    if weather == "rain":
        grey = picture.mean(axis=2, keepdims=True)
        picture = (picture * 0.68 + grey * 0.32) * _rgb(0.84, 0.88, 0.94) + 6
    elif weather == "snowfall":
        picture = picture * 0.93 + _rgb(14, 15, 18)
    elif weather == "fog":
        veil = 0.34 - 0.2 * _axis(picture.shape[0])[:, None, None]
        picture = picture * (1 - veil) + veil * _rgb(226, 230, 232)
    return picture


def _light(picture: _F32, kind: str, x: float, y: float) -> _F32:
    """The wash of dusk, night or glare, with its source (sun or moon) at (x, y)."""
    size = picture.shape[0]
    if kind == "dusk":
        down = _axis(size)[:, None, None]
        wash = _rgb(0.68, 0.55, 0.8) + _rgb(0.3, 0.19, -0.14) * (0.2 + 0.8 * down)
        picture = picture * wash + _glow(size, x, y + 0.16, 0.36) * _rgb(72, 38, 8)
    elif kind == "night":
        grey = picture.mean(axis=2, keepdims=True)
        cold = (picture * 0.62 + grey * 0.38) * _rgb(0.42, 0.5, 0.66) + _rgb(4, 8, 22)
        picture = cold * (0.9 + 0.5 * _glow(size, x, y, 0.4))
    elif kind == "glare":
        veil = 0.2 + 0.78 * _glow(size, x, y, 0.34)
        picture = picture * (1 - veil) + veil * _rgb(255, 250, 230) + 8
    return picture


def render(scene: Scene, seed: Seed, size: int = 64) -> Picture:
    """Paint a scene: an RGB picture (size, size, 3), of 16 to 2048 pixels a side.

    The seed says everything that the scene leaves open: pose, proportions, hue, layout, the place's details.
    A function gives the random stream of each element, so that one can change and the others stay. The same
    scene and seed show the same picture at any size.
    """
    if not _MIN_SIZE <= size <= _MAX_SIZE:
        raise WeakspotError(
            f"a picture cannot be {size} pixels wide", fix=f"choose {_MIN_SIZE} to {_MAX_SIZE}"
        )
    zoom = 4 if size < 48 else 3 if size <= 96 else 2
    pen = BACKGROUNDS[scene.background](size * zoom, stream(seed, "background"))
    if scene.weather == "fog":
        haze = Image.new("RGB", pen.image.size, (222, 227, 230))
        pen.image.paste(haze, (0, 0), Image.new("L", pen.image.size, 110))
    sky = stream(seed, "sky")
    sun_x, sun_y = sky.choice((0.1, 0.9)) + sky.uniform(-0.04, 0.04), sky.uniform(0.04, 0.13)
    if scene.light in ("dusk", "night") and scene.background in _OPEN_SKY:
        sun_or_moon(pen, sky, scene.light, sun_x, sun_y)
    spots = layout(scene, seed)
    if scene.companion_at == "behind":
        _companion(pen, scene, seed, spots)
    if scene.on != "nothing":
        _support(pen, scene, seed, spots)
    if scene.subject == "fence":
        _fences(pen, scene, seed)
    else:
        _subjects(pen, scene, seed, spots)
    if scene.companion_at in ("left", "right"):
        _companion(pen, scene, seed, spots)
    if scene.hidden != "no":
        left, right, _ = _outline(scene, spots)
        cover(pen, stream(seed, "cover"), left, right, 0.27 if scene.hidden == "partly" else 0.48)
    if scene.behind != "nothing":
        SCREENS[scene.behind](pen, stream(seed, "screen"))
    if scene.weather in ("rain", "snowfall"):
        (rain if scene.weather == "rain" else snowfall)(pen, stream(seed, "weather"))
    if scene.light == "glare":
        flare(pen, sun_x, sun_y)
    rng = stream(seed, "camera")
    picture = np.asarray(pen.image.reduce(zoom), dtype=np.float32)
    picture = _air(picture, scene.weather)
    picture = _light(picture, scene.light, sun_x, sun_y)
    dx, dy = int(rng.random() * (size // 2)), int(rng.random() * (size // 2))
    exposure = rng.uniform(0.94, 1.05)
    grain = _grain(size)[dy : dy + size, dx : dx + size]
    out = picture * grain * exposure
    return np.clip(out, 0, 255, out=out).astype(np.uint8)
