"""Every background by name: landscapes, places people have made, and the plain grounds of a studio.

A place is a function of the sheet's side and a random stream; it returns a pen whose frame is the
picture (0 to 1 in both directions).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from weakspot.world.canvas import Color, Pen, Point, colors, mix, named, natural, shade, sheet, vary

Place = Callable[[int, Random], Pen]


def _ridge(pen: Pen, rng: Random, y: float, swell: float, color: Color, bottom: float = 1.1) -> None:
    """A rolling skyline at height y, filled down to `bottom`."""
    phase, pace = rng.uniform(0, 6.28), rng.uniform(3.0, 6.0)
    top: list[Point] = []
    for i in range(9):
        x = -0.05 + i * 1.1 / 8
        top.append((x, y + swell * (math.sin(pace * x + phase) + 0.4 * math.sin(2.3 * pace * x + 2 * phase))))
    pen.poly([*top, (1.1, bottom), (-0.1, bottom)], color)


def _clouds(pen: Pen, rng: Random, n: int, color: Color, low: float = 0.3) -> None:
    for _ in range(n):
        x, y, s = rng.uniform(0, 1), rng.uniform(0.04, low), rng.uniform(0.06, 0.13)
        pen.paint("cloud", color=color, s=s, x=x, y=y)


def _blades(pen: Pen, rng: Random, n: int, top: float, color: Color, tall: float) -> None:
    for _ in range(n):
        x, y = rng.uniform(0, 1), rng.uniform(top, 1.0)
        h = tall * (0.35 + y) * rng.uniform(0.6, 1.2)
        pen.paint("blade", x=x, y=y, h=h, lean=rng.uniform(-0.4, 0.4) * h, color=color)


def _dots(
    pen: Pen, rng: Random, n: int, top: float, tones: Sequence[Color], r: float, flat: float = 0.7
) -> None:
    for _ in range(n):
        y = rng.uniform(top, 1.0)
        s = r * (0.35 + y)
        pen.disc(rng.uniform(0, 1), y, s, rng.choice(tones), ry=s * flat)


def meadow(side: int, rng: Random) -> Pen:
    sky = vary((150, 196, 226), rng)
    grass = natural(rng, "meadow")
    y = rng.uniform(0.36, 0.5)
    pen = sheet(side, (0, sky), (y, shade(sky, 0.55)), (y + 0.04, shade(grass, 0.2)), (1, shade(grass, -0.2)))
    _clouds(pen, rng, rng.choice((1, 2, 2)), shade(sky, 0.75), y - 0.1)
    _ridge(pen, rng, y - 0.06, 0.03, mix(grass, sky, 0.55), y + 0.1)
    _ridge(pen, rng, y, 0.02, mix(grass, sky, 0.25), y + 0.1)
    _ridge(pen, rng, y + 0.05, 0.01, shade(grass, 0.12), y + 0.12)
    _blades(pen, rng, 16, y + 0.12, shade(grass, -0.26), 0.08)
    _blades(pen, rng, 8, y + 0.12, shade(grass, 0.3), 0.08)
    _dots(pen, rng, 14, y + 0.1, colors(rng.choice(("daisies", "poppies", "crocuses"))), 0.014)
    return pen


def forest(side: int, rng: Random) -> Pen:
    green = vary((64, 104, 72), rng)
    y = rng.uniform(0.6, 0.7)
    haze, ground = mix(green, (206, 214, 150), 0.5), mix(green, (70, 52, 40), 0.6)
    pen = sheet(side, (0, shade(green, -0.1)), (y - 0.1, haze), (y, shade(green, -0.15)), (1, ground))
    x = rng.uniform(-0.05, 0.05)
    while x < 1.0:
        w = rng.uniform(0.02, 0.035)
        pen.rect(x - w / 2, -0.1, x + w / 2, y - 0.02, mix(green, (150, 140, 100), 0.45))
        x += rng.uniform(0.09, 0.15)
    _ridge(pen, rng, y - 0.03, 0.015, shade(green, -0.22), y + 0.12)
    middle = rng.uniform(0.0, 0.2), rng.uniform(0.28, 0.45) if rng.random() < 0.4 else -0.5
    for x in (*middle, rng.uniform(0.8, 1.0)):
        pen.paint("near trunk", w=rng.uniform(0.05, 0.085), bark=vary((88, 66, 54), rng), x=x, y=y)
    for i in range(9):
        r = rng.uniform(0.09, 0.17)
        x, top = i / 8 + rng.uniform(-0.05, 0.05), rng.uniform(-0.06, 0.05)
        pen.disc(x, top, r, shade(green, rng.uniform(-0.35, 0.12)), ry=r * 0.8)
    _blades(pen, rng, 14, y + 0.14, shade(green, 0.05), 0.09)
    _dots(pen, rng, 10, y + 0.06, colors("fallen leaves"), 0.014, 0.5)
    return pen


def snow(side: int, rng: Random) -> Pen:
    sky = natural(rng, "winter sky")
    y = rng.uniform(0.36, 0.5)
    white, far = (246, 247, 250), shade(sky, 0.6)
    pen = sheet(side, (0, sky), (y, far), (y + 0.04, white), (0.8, (232, 238, 247)), (1, (210, 222, 240)))
    _ridge(pen, rng, y - 0.1, 0.05, mix(sky, (236, 240, 248), 0.5), y + 0.1)
    for _ in range(rng.choice((3, 5, 6))):
        x, s = rng.uniform(0, 1), rng.uniform(0.05, 0.1)
        pen.paint("snowy pine", base=y + 0.03, pine=mix((58, 92, 92), sky, 0.25), s=s, x=x)
    _ridge(pen, rng, y + 0.03, 0.02, white, y + 0.2)
    for _ in range(3):
        x, low, w = rng.uniform(0, 1), rng.uniform(y + 0.18, 0.95), rng.uniform(0.15, 0.35)
        pen.paint("drift", w=w, x=x, y=low)
    _dots(pen, rng, 8, y + 0.1, [(255, 255, 255), (222, 232, 246)], 0.008)
    return pen


def beach(side: int, rng: Random) -> Pen:
    sky, water, sand = (vary(c, rng) for c in ((158, 208, 232), (78, 168, 182), (236, 210, 160)))
    y = rng.uniform(0.26, 0.36)
    shore = y + rng.uniform(0.14, 0.2)
    land = (shore + 0.01, sand), (1, shade(sand, -0.1))
    wet = (y + 0.002, shade(water, -0.2)), (shore, shade(water, 0.2))
    pen = sheet(side, (0, sky), (y, shade(sky, 0.5)), *wet, *land)
    _clouds(pen, rng, 2, shade(sky, 0.7), y - 0.08)
    for _ in range(6):
        x, wave = rng.uniform(0, 1), rng.uniform(y + 0.02, shore)
        pen.line(x, wave, x + rng.uniform(0.06, 0.16), wave, 0.01, shade(water, 0.5))
    _ridge(pen, rng, shore - 0.01, 0.012, (250, 250, 244), shore + 0.06)
    _ridge(pen, rng, shore + 0.03, 0.014, shade(sand, -0.12), shore + 0.1)
    _ridge(pen, rng, shore + 0.055, 0.014, sand, shore + 0.2)
    _dots(pen, rng, 16, shore + 0.12, [shade(sand, -0.16), shade(sand, 0.35), (216, 150, 120)], 0.011, 0.6)
    if rng.random() < 0.5:
        pen.paint("parasol", x=rng.choice((0.12, 0.88)), s=rng.uniform(0.11, 0.15), shore=shore)
    return pen


def sea(side: int, rng: Random) -> Pen:
    sky, water = vary((176, 206, 226), rng), natural(rng, "sea")
    y = rng.uniform(0.22, 0.36)
    deep = (y + 0.002, shade(water, 0.25)), (0.6, water), (1, shade(water, -0.3))
    pen = sheet(side, (0, sky), (y, shade(sky, 0.6)), *deep)
    _clouds(pen, rng, 2, shade(sky, 0.7), y - 0.08)
    for i in range(22):
        low = y + 0.03 + (1.0 - y) * ((i + rng.random()) / 22) ** 1.4
        s, x = 0.03 + 0.11 * (low - y), rng.uniform(0, 1)
        pen.paint("wave", tone=shade(water, rng.choice((0.4, 0.25, 0.6, -0.25))), s=s, x=x, y=low)
    return pen


def riverbed(side: int, rng: Random) -> Pen:
    water = natural(rng, "river")
    pen = sheet(side, (0, shade(water, 0.1)), (0.3, shade(water, -0.2)), (1, shade(water, -0.3)))
    for i in range(36):
        y = 0.04 + (i + rng.random()) / 36 * 1.04
        s = rng.uniform(0.055, 0.1) * (0.45 + 0.75 * y)
        x = rng.uniform(-0.05, 1.05)
        tone = mix(natural(rng, "pebbles", drift=6), water, 0.3)
        pen.paint("pebble", tone=tone, s=s, turn=rng.uniform(-0.4, 0.4), x=x, y=y)
    for i in range(5):
        x, y = rng.uniform(-0.15, 0.75), 0.06 + 0.2 * i + rng.uniform(-0.05, 0.05)
        pen.paint("ripple", water=water, x=x, y=y)
    return pen


def underwater(side: int, rng: Random) -> Pen:
    blue = natural(rng, "underwater")
    deep = (0.8, shade(blue, -0.35)), (1, shade(blue, -0.45))
    pen = sheet(side, (0, shade(blue, 0.45)), (0.4, blue), *deep)
    for _ in range(3):
        pen.paint("ray", x=rng.uniform(0, 1), w=rng.uniform(0.05, 0.1))
    _ridge(pen, rng, 0.88, 0.02, mix((206, 190, 140), blue, 0.5))
    for x in (rng.uniform(0.0, 0.2), rng.uniform(0.8, 1.0), rng.uniform(0.0, 1.0)):
        weed = natural(rng, "weed")
        for dx in (-0.04, 0.0, 0.045):
            sway, h = rng.uniform(-0.07, 0.07), rng.uniform(0.22, 0.42)
            pen.paint("weed", dx=dx, h=h, sway=sway, weed=weed, x=x)
    pen.paint("coral", x=rng.uniform(0.2, 0.8))
    for _ in range(9):
        r, x, y = rng.uniform(0.007, 0.018), rng.uniform(0, 1), rng.uniform(0.05, 0.8)
        pen.paint("bubble", blue=blue, r=r, x=x, y=y)
    return pen


def _boulder(pen: Pen, rng: Random, x: float, y: float, s: float, color: Color) -> None:
    pen.paint("boulder", a=rng.uniform(0.5, 0.8), b=rng.uniform(-0.2, 0.2), color=color, s=s, x=x, y=y)


def rocks(side: int, rng: Random) -> Pen:
    stone = natural(rng, "rocks")
    sky = vary((188, 204, 214), rng)
    y = rng.uniform(0.2, 0.32)
    ground = (y + 0.1, shade(stone, 0.1)), (1, shade(stone, -0.3))
    pen = sheet(side, (0, sky), (y, shade(sky, 0.4)), *ground)
    for dy, k in ((-0.04, 0.35), (0.08, 0.14)):
        edge = [(i / 7 * 1.1 - 0.05, y + dy + rng.uniform(-0.09, 0.07)) for i in range(8)]
        cliff = mix(shade(stone, k), sky, 0.3 if k > 0.2 else 0.0)
        pen.poly([*edge, (1.1, 0.5), (-0.1, 0.5)], cliff)
        for (x0, y0), (x1, y1) in zip(edge[::2], edge[1::2], strict=True):
            pen.paint("cliff", cliff=cliff, x0=x0, x1=x1, y0=y0, y1=y1)
    for i in range(6):
        x, low = i / 5 + rng.uniform(-0.08, 0.08), 0.52 + rng.uniform(-0.03, 0.03)
        _boulder(pen, rng, x, low, rng.uniform(0.11, 0.16), vary(stone, rng, 12))
    for i in range(5):
        x = (i * 0.42 + rng.uniform(0, 0.3)) % 1.1 - 0.05
        _boulder(pen, rng, x, 0.68 + 0.085 * i, rng.uniform(0.13, 0.2), vary(stone, rng, 14))
    _dots(pen, rng, 7, 0.6, colors("lichen"), 0.018, 0.4)
    return pen


def desert(side: int, rng: Random) -> Pen:
    sky, sand = vary((242, 202, 150), rng), vary((224, 168, 102), rng)
    y = rng.uniform(0.36, 0.46)
    air = (0, mix(sky, (132, 182, 208), 0.75)), (y, shade(sky, 0.3))
    pen = sheet(side, *air, (y + 0.1, sand), (1, shade(sand, -0.18)))
    pen.disc(rng.uniform(0.15, 0.85), rng.uniform(0.08, 0.2), 0.06, (255, 244, 206))
    for dy, k in ((-0.05, 0.3), (0.06, 0.12)):
        _ridge(pen, rng, y + dy, 0.035, shade(sand, k))
    x = rng.uniform(0.1, 0.9)
    for at, s in ((x, rng.uniform(0.08, 0.12)), ((x + 0.45) % 1.0, rng.uniform(0.05, 0.08))):
        pen.paint("cactus", base=y + 0.12, x=at, s=s)
    for i in range(3):
        pen.paint("dune", sand=sand, x=rng.uniform(0.1, 0.9), y=y + 0.2 + 0.17 * i)
    return pen


def street(side: int, rng: Random) -> Pen:
    y = rng.uniform(0.5, 0.58)
    road = (y + 0.01, (122, 122, 128)), (1, (92, 92, 102))
    pen = sheet(side, (0, (186, 206, 220)), (y, (226, 224, 214)), *road)
    x = rng.uniform(-0.12, 0.0)
    while x < 1.0:
        w, top = rng.uniform(0.18, 0.3), rng.uniform(0.02, 0.2)
        wall = natural(rng, "house")
        pen.paint("house", top=top, w=w, wall=wall, x=x, y=y)
        n = 2 if w < 0.24 else 3
        for i in range(n):
            for low in (top + 0.07, top + 0.2):
                pen.paint("window", x=x + w * (i + 0.5) / n, y=low, glass=rng.choice(colors("window")))
        pen.paint("awning and door", x=x, y=y, w=w, wall=wall, awning=rng.choice(colors("awning")))
        x += w
    pen.paint("pavement", y=y)
    z, shift = rng.uniform(0.76, 0.86), rng.uniform(0, 0.3)
    for i in range(4):
        pen.paint("road marking", x=-0.2 + i * 0.34 + shift, z=z)
    return pen


def living_room(side: int, rng: Random) -> Pen:
    wall = natural(rng, "wall")
    wood = vary((176, 126, 84), rng)
    y = rng.uniform(0.58, 0.66)
    floor = (y + 0.002, shade(wood, 0.1)), (1, shade(wood, -0.15))
    pen = sheet(side, (0, shade(wall, 0.1)), (y, shade(wall, -0.08)), *floor)
    pen.paint("floorboards", wall=wall, wood=wood, y=y)
    left = rng.random() < 0.5
    pen.paint("curtained window", curtain=natural(rng, "curtain"), x=0.1 if left else 0.6)
    pen.paint("framed picture", canvas=vary((214, 170, 110), rng), x=0.72 if left else 0.14)
    pen.paint("sofa", s=0.5 if left else 0.02, sofa=natural(rng, "sofa"), y=y)
    rug = natural(rng, "rug")
    pen.disc(rng.uniform(0.4, 0.6), 0.88, 0.4, shade(rug, 0.3), ry=0.1)
    pen.disc(rng.uniform(0.45, 0.55), 0.88, 0.34, rug, ry=0.08)
    return pen


def kitchen(side: int, rng: Random) -> Pen:
    tile = natural(rng, "tile")
    unit = natural(rng, "kitchen unit")
    y = rng.uniform(0.52, 0.6)
    pen = sheet(side, (0, tile), (y, shade(tile, -0.06)), (y + 0.002, unit), (1, shade(unit, -0.18)))
    pen.paint("grout", y=y, tile=tile, off=rng.uniform(0, 0.12))
    right = rng.random() < 0.5
    pen.paint("cupboard", unit=unit, x=0.56 if right else 0.02)
    x = 0.06 if right else 0.56
    pen.rect(x, 0.27, x + 0.38, 0.295, (150, 106, 70))
    for i in range(4):
        jar = natural(rng, "jar")
        pen.paint("jar", h=rng.uniform(0.07, 0.12), jar=jar, x=x + 0.035 + 0.09 * i)
    pen.paint("worktop", wood=vary((190, 142, 96), rng), y=y)
    for i in range(3):
        pen.paint("drawer", third=i / 3, unit=unit, y=y)
    return pen


def _plain(color: Color) -> Place:
    """A studio ground in this colour, with a soft fall of light."""

    def paint(side: int, rng: Random) -> Pen:
        light = rng.uniform(-12, 9)
        base = tuple(min(255, int(v + light + rng.uniform(-3, 3))) for v in color)
        pen = sheet(side, (0, shade(base, -0.04)), (0.5, shade(base, 0.12)), (1, shade(base, -0.14)))
        for _ in range(rng.choice((3, 5, 6))):
            r = rng.uniform(0.06, 0.16)
            x, y = rng.uniform(0, 1), rng.uniform(0, 1)
            pen.disc(x, y, r, (*shade(base, rng.choice((0.3, 0.4, -0.12))), 54))
        return pen

    return paint


_PLACES: Final[Sequence[Place]] = (
    meadow, forest, snow, beach, sea, riverbed, underwater, rocks, desert, street, living_room, kitchen,
)  # fmt: skip
_PLAIN: Final = {
    "green": (112, 152, 88), "blue": (104, 148, 194), "grey": (158, 160, 162), "white": (238, 236, 230),
}  # fmt: skip
#: Places by the names of their functions, and the plain grounds.
BACKGROUNDS: Final[Mapping[str, Place]] = {
    **{named(place): place for place in _PLACES},
    **{name: _plain(color) for name, color in _PLAIN.items()},
}
