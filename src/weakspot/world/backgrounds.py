"""Every background by name, and the landscapes among them, each painted in a few dozen strokes.

A place is a function of the sheet's side and a random stream; it returns a pen whose frame is the
picture (0 to 1 in both directions).
"""

# A shape reads better as a row of points.
# fmt: off
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from weakspot.world.backgrounds_built import kitchen, living_room, plain, street
from weakspot.world.canvas import Color, Pen, Point, mix, paper, shade, vary

Stops = list[tuple[float, Color]]


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
        for dx, dy, r in ((-0.9, 0.12, 0.6), (0.0, 0.0, 0.8), (0.9, 0.15, 0.55)):
            pen.disc(x + dx * s, y + dy * s, r * s * 1.5, color, ry=r * s * 0.7)


def _blades(pen: Pen, rng: Random, n: int, top: float, color: Color, tall: float) -> None:
    for _ in range(n):
        x, y = rng.uniform(0, 1), rng.uniform(top, 1.0)
        h = tall * (0.35 + y) * rng.uniform(0.6, 1.2)
        lean = rng.uniform(-0.4, 0.4) * h
        pen.poly([(x - 0.012, y), (x + lean, y - h), (x + 0.012, y)], color)


def _dots(pen: Pen, rng: Random, n: int, top: float, colors: Sequence[Color], r: float,
    flat: float = 0.7) -> None:
    for _ in range(n):
        y = rng.uniform(top, 1.0)
        s = r * (0.35 + y)
        pen.disc(rng.uniform(0, 1), y, s, rng.choice(colors), ry=s * flat)


def meadow(side: int, rng: Random) -> Pen:
    sky = vary((150, 196, 226), rng)
    grass = vary(rng.choice([(132, 172, 82), (116, 162, 80), (152, 176, 86)]), rng)
    y = rng.uniform(0.36, 0.5)
    pen = Pen(paper(side, [(0, sky), (y, shade(sky, 0.55)), (y + 0.04, shade(grass, 0.2)),
        (1, shade(grass, -0.2))]))
    _clouds(pen, rng, rng.choice((1, 2, 2)), shade(sky, 0.75), y - 0.1)
    _ridge(pen, rng, y - 0.06, 0.03, mix(grass, sky, 0.55), y + 0.1)
    _ridge(pen, rng, y, 0.02, mix(grass, sky, 0.25), y + 0.1)
    _ridge(pen, rng, y + 0.05, 0.01, shade(grass, 0.12), y + 0.12)
    _blades(pen, rng, 16, y + 0.12, shade(grass, -0.26), 0.08)
    _blades(pen, rng, 8, y + 0.12, shade(grass, 0.3), 0.08)
    petals = rng.choice([[(250, 244, 226), (246, 212, 92)], [(228, 96, 84), (250, 244, 226)],
        [(164, 128, 200), (246, 212, 92)]])
    _dots(pen, rng, 14, y + 0.1, petals, 0.014)
    return pen


def forest(side: int, rng: Random) -> Pen:
    green = vary((64, 104, 72), rng)
    y = rng.uniform(0.6, 0.7)
    pen = Pen(paper(side, [(0, shade(green, -0.1)), (y - 0.1, mix(green, (206, 214, 150), 0.5)),
        (y, shade(green, -0.15)), (1, mix(green, (70, 52, 40), 0.6))]))
    x = rng.uniform(-0.05, 0.05)
    while x < 1.0:
        w = rng.uniform(0.02, 0.035)
        pen.rect(x - w / 2, -0.1, x + w / 2, y - 0.02, mix(green, (150, 140, 100), 0.45))
        x += rng.uniform(0.09, 0.15)
    _ridge(pen, rng, y - 0.03, 0.015, shade(green, -0.22), y + 0.12)
    for x in (rng.uniform(0.0, 0.2), rng.uniform(0.28, 0.45) if rng.random() < 0.4 else -0.5,
        rng.uniform(0.8, 1.0)):
        w = rng.uniform(0.05, 0.085)
        bark = vary((88, 66, 54), rng)
        pen.poly([(x - w * 0.7, -0.1), (x + w * 0.7, -0.1), (x + w, y + 0.06), (x + w * 1.7, y + 0.14),
            (x - w * 1.7, y + 0.14), (x - w, y + 0.06)], bark)
        pen.poly([(x - w * 0.6, -0.1), (x - w * 0.2, -0.1), (x - w * 0.4, y + 0.1), (x - w * 1.0, y + 0.1)],
            shade(bark, 0.22))
    for i in range(9):
        r = rng.uniform(0.09, 0.17)
        pen.disc(i / 8 + rng.uniform(-0.05, 0.05), rng.uniform(-0.06, 0.05), r,
            shade(green, rng.uniform(-0.35, 0.12)), ry=r * 0.8)
    _blades(pen, rng, 14, y + 0.14, shade(green, 0.05), 0.09)
    _dots(pen, rng, 10, y + 0.06, [(148, 92, 56), (178, 124, 66), (96, 70, 52)], 0.014, 0.5)
    return pen


def snow(side: int, rng: Random) -> Pen:
    sky = vary(rng.choice([(176, 198, 222), (196, 204, 222), (160, 190, 222)]), rng)
    y = rng.uniform(0.36, 0.5)
    white = (246, 247, 250)
    pen = Pen(paper(side, [(0, sky), (y, shade(sky, 0.6)), (y + 0.04, white), (0.8, (232, 238, 247)),
        (1, (210, 222, 240))]))
    _ridge(pen, rng, y - 0.1, 0.05, mix(sky, (236, 240, 248), 0.5), y + 0.1)
    for _ in range(rng.choice((3, 5, 6))):
        x, s = rng.uniform(0, 1), rng.uniform(0.05, 0.1)
        pine = mix((58, 92, 92), sky, 0.25)
        base = y + 0.03
        pen.poly([(x - s * 0.55, base), (x, base - s * 2.3), (x + s * 0.55, base)], pine)
        pen.poly([(x - s * 0.3, base - s * 1.3), (x, base - s * 2.3), (x + s * 0.25, base - s * 1.4),
            (x, base - s * 1.2)], white)
    _ridge(pen, rng, y + 0.03, 0.02, white, y + 0.2)
    for _ in range(3):
        x, yy, w = rng.uniform(0, 1), rng.uniform(y + 0.18, 0.95), rng.uniform(0.15, 0.35)
        pen.blob([(x - w, yy), (x, yy - 0.035), (x + w, yy), (x + w * 0.3, yy + 0.02)], (206, 219, 239))
        pen.blob([(x - w, yy - 0.02), (x, yy - 0.05), (x + w * 0.9, yy - 0.02), (x, yy - 0.03)],
            (252, 253, 255))
    _dots(pen, rng, 8, y + 0.1, [(255, 255, 255), (222, 232, 246)], 0.008)
    return pen


def beach(side: int, rng: Random) -> Pen:
    sky = vary((158, 208, 232), rng)
    water = vary((78, 168, 182), rng)
    sand = vary((236, 210, 160), rng)
    y = rng.uniform(0.26, 0.36)
    shore = y + rng.uniform(0.14, 0.2)
    pen = Pen(paper(side, [(0, sky), (y, shade(sky, 0.5)), (y + 0.002, shade(water, -0.2)),
        (shore, shade(water, 0.2)), (shore + 0.01, sand), (1, shade(sand, -0.1))]))
    _clouds(pen, rng, 2, shade(sky, 0.7), y - 0.08)
    for _ in range(6):
        x, yy = rng.uniform(0, 1), rng.uniform(y + 0.02, shore)
        pen.line(x, yy, x + rng.uniform(0.06, 0.16), yy, 0.01, shade(water, 0.5))
    _ridge(pen, rng, shore - 0.01, 0.012, (250, 250, 244), shore + 0.06)
    _ridge(pen, rng, shore + 0.03, 0.014, shade(sand, -0.12), shore + 0.1)
    _ridge(pen, rng, shore + 0.055, 0.014, sand, shore + 0.2)
    _dots(pen, rng, 16, shore + 0.12, [shade(sand, -0.16), shade(sand, 0.35), (216, 150, 120)], 0.011, 0.6)
    if rng.random() < 0.5:
        x, s = rng.choice((0.12, 0.88)), rng.uniform(0.11, 0.15)
        pen.line(x, shore - 0.12, x + 0.02, shore + 0.12, 0.012, (250, 246, 236))
        pen.blob([(x - s, shore - 0.08), (x - s * 0.6, shore - 0.19), (x, shore - 0.23),
            (x + s * 0.6, shore - 0.19), (x + s, shore - 0.08), (x, shore - 0.11)], (214, 84, 68))
        pen.blob([(x - s * 0.3, shore - 0.1), (x - s * 0.15, shore - 0.2), (x, shore - 0.23),
            (x + s * 0.15, shore - 0.2), (x + s * 0.3, shore - 0.1)], (250, 240, 222))
    return pen


def sea(side: int, rng: Random) -> Pen:
    sky = vary((176, 206, 226), rng)
    water = vary(rng.choice([(48, 108, 152), (44, 122, 150), (62, 104, 142)]), rng)
    y = rng.uniform(0.22, 0.36)
    pen = Pen(paper(side, [(0, sky), (y, shade(sky, 0.6)), (y + 0.002, shade(water, 0.25)), (0.6, water),
        (1, shade(water, -0.3))]))
    _clouds(pen, rng, 2, shade(sky, 0.7), y - 0.08)
    for i in range(22):
        yy = y + 0.03 + (1.0 - y) * ((i + rng.random()) / 22) ** 1.4
        s = 0.03 + 0.11 * (yy - y)
        x = rng.uniform(0, 1)
        c = shade(water, rng.choice((0.4, 0.25, 0.6, -0.25)))
        pen.blob([(x - 1.6 * s, yy), (x - 0.6 * s, yy - 0.22 * s), (x + 0.5 * s, yy - 0.1 * s),
            (x + 1.7 * s, yy - 0.02 * s), (x, yy + 0.08 * s)], c)
    return pen


def riverbed(side: int, rng: Random) -> Pen:
    water = vary(rng.choice([(116, 142, 128), (130, 138, 108), (108, 138, 142)]), rng)
    pen = Pen(paper(side, [(0, shade(water, 0.1)), (0.3, shade(water, -0.2)), (1, shade(water, -0.3))]))
    stones: list[Color] = [(164, 154, 132), (182, 150, 120), (118, 122, 122), (202, 194, 172),
        (146, 126, 108)]
    for i in range(36):
        y = 0.04 + (i + rng.random()) / 36 * 1.04
        s = rng.uniform(0.055, 0.1) * (0.45 + 0.75 * y)
        x = rng.uniform(-0.05, 1.05)
        c, turn = mix(vary(rng.choice(stones), rng, 6), water, 0.3), rng.uniform(-0.4, 0.4)
        pen.disc(x, y + s * 0.14, s * 1.04, shade(c, -0.5), ry=s * 0.72, turn=turn)
        pen.disc(x, y, s, c, ry=s * 0.68, turn=turn)
        pen.disc(x - s * 0.2, y - s * 0.22, s * 0.5, shade(c, 0.26), ry=s * 0.26, turn=turn)
    for i in range(5):
        x, y = rng.uniform(-0.15, 0.75), 0.06 + 0.2 * i + rng.uniform(-0.05, 0.05)
        pen.stroke([(x, y), (x + 0.13, y - 0.025), (x + 0.26, y + 0.02), (x + 0.42, y - 0.02)], 0.006, 0.02,
            (*shade(water, 0.75), 90))
    return pen


def underwater(side: int, rng: Random) -> Pen:
    blue = vary(rng.choice([(36, 122, 152), (30, 108, 156), (44, 136, 148)]), rng)
    pen = Pen(paper(side, [(0, shade(blue, 0.45)), (0.4, blue), (0.8, shade(blue, -0.35)),
        (1, shade(blue, -0.45))]))
    for _ in range(3):
        x, w = rng.uniform(0, 1), rng.uniform(0.05, 0.1)
        pen.poly([(x, -0.1), (x + w, -0.1), (x + w * 0.4 - 0.22, 0.85), (x - w * 1.6 - 0.22, 0.85)],
            (214, 244, 240, 34))
    _ridge(pen, rng, 0.88, 0.02, mix((206, 190, 140), blue, 0.5))
    for x in (rng.uniform(0.0, 0.2), rng.uniform(0.8, 1.0), rng.uniform(0.0, 1.0)):
        weed = vary(rng.choice([(52, 120, 84), (88, 136, 76), (40, 98, 90)]), rng)
        for dx in (-0.04, 0.0, 0.045):
            sway, h = rng.uniform(-0.07, 0.07), rng.uniform(0.22, 0.42)
            pen.stroke([(x + dx, 0.95), (x + dx + sway, 0.95 - h * 0.35), (x + dx - sway, 0.95 - h * 0.7),
                (x + dx + sway, 0.95 - h)], 0.04, 0.012, weed)
    x = rng.uniform(0.2, 0.8)
    for dx, h in ((-0.05, 0.08), (0.0, 0.12), (0.05, 0.07)):
        pen.stroke([(x, 0.96), (x + dx, 0.95 - h)], 0.035, 0.03, (222, 112, 98), knob=0.02)
    for _ in range(9):
        r, x, y = rng.uniform(0.007, 0.018), rng.uniform(0, 1), rng.uniform(0.05, 0.8)
        pen.disc(x, y, r, shade(blue, 0.55))
        pen.disc(x + r * 0.2, y + r * 0.2, r * 0.6, shade(blue, 0.25))
    return pen


def _boulder(pen: Pen, rng: Random, x: float, y: float, s: float, color: Color) -> None:
    a, b = rng.uniform(0.5, 0.8), rng.uniform(-0.2, 0.2)
    pen.poly([(x - s, y), (x - s * 0.8, y - s * a * 0.8), (x - s * 0.2 + b * s, y - s * a * 1.2),
        (x + s * 0.6, y - s * a), (x + s, y - s * 0.2), (x + s * 0.9, y + s * 0.15),
        (x - s * 0.7, y + s * 0.2)], color)
    pen.poly([(x - s * 0.8, y - s * a * 0.8), (x - s * 0.2 + b * s, y - s * a * 1.2),
        (x + s * 0.6, y - s * a), (x + s * 0.1, y - s * a * 0.62)], shade(color, 0.3))
    pen.poly([(x + s * 0.6, y - s * a), (x + s, y - s * 0.2), (x + s * 0.9, y + s * 0.15),
        (x + s * 0.2, y + s * 0.16), (x + s * 0.1, y - s * a * 0.62)], shade(color, -0.22))


def rocks(side: int, rng: Random) -> Pen:
    stone = vary(rng.choice([(138, 134, 132), (148, 136, 122), (124, 130, 138)]), rng)
    sky = vary((188, 204, 214), rng)
    y = rng.uniform(0.2, 0.32)
    pen = Pen(paper(side, [(0, sky), (y, shade(sky, 0.4)), (y + 0.1, shade(stone, 0.1)),
        (1, shade(stone, -0.3))]))
    for dy, k in ((-0.04, 0.35), (0.08, 0.14)):
        edge = [(i / 7 * 1.1 - 0.05, y + dy + rng.uniform(-0.09, 0.07)) for i in range(8)]
        cliff = mix(shade(stone, k), sky, 0.3 if k > 0.2 else 0.0)
        pen.poly([*edge, (1.1, 0.5), (-0.1, 0.5)], cliff)
        for (x0, y0), (x1, y1) in zip(edge[::2], edge[1::2], strict=True):
            pen.poly([(x0, y0), (x1, y1), (x1 - 0.02, y1 + 0.18), (x0 + 0.05, y0 + 0.12)],
                shade(cliff, -0.16))
    for i in range(6):
        _boulder(pen, rng, i / 5 + rng.uniform(-0.08, 0.08), 0.52 + rng.uniform(-0.03, 0.03),
            rng.uniform(0.11, 0.16), vary(stone, rng, 12))
    for i in range(5):
        yy = 0.68 + 0.085 * i
        _boulder(pen, rng, (i * 0.42 + rng.uniform(0, 0.3)) % 1.1 - 0.05, yy, rng.uniform(0.13, 0.2),
            vary(stone, rng, 14))
    _dots(pen, rng, 7, 0.6, [(132, 142, 84), (170, 160, 110)], 0.018, 0.4)
    return pen


def desert(side: int, rng: Random) -> Pen:
    sky = vary((242, 202, 150), rng)
    sand = vary((224, 168, 102), rng)
    y = rng.uniform(0.36, 0.46)
    pen = Pen(paper(side, [(0, mix(sky, (132, 182, 208), 0.75)), (y, shade(sky, 0.3)), (y + 0.1, sand),
        (1, shade(sand, -0.18))]))
    pen.disc(rng.uniform(0.15, 0.85), rng.uniform(0.08, 0.2), 0.06, (255, 244, 206))
    for dy, k in ((-0.05, 0.3), (0.06, 0.12)):
        _ridge(pen, rng, y + dy, 0.035, shade(sand, k))
    x = rng.uniform(0.1, 0.9)
    for cx, s in ((x, rng.uniform(0.08, 0.12)), ((x + 0.45) % 1.0, rng.uniform(0.05, 0.08))):
        cactus, base = (96, 132, 84), y + 0.12
        pen.stroke([(cx, base), (cx, base - s * 1.9)], s * 0.42, s * 0.38, cactus, knob=s * 0.19)
        pen.stroke([(cx, base - s * 0.7), (cx - s * 0.6, base - s * 0.75), (cx - s * 0.6, base - s * 1.4)],
            s * 0.26, s * 0.24, cactus, knob=s * 0.12)
        pen.stroke([(cx, base - s * 0.5), (cx + s * 0.55, base - s * 0.55), (cx + s * 0.55, base - s * 1.1)],
            s * 0.26, s * 0.24, shade(cactus, -0.15), knob=s * 0.12)
    for i in range(3):
        yy = y + 0.2 + 0.17 * i
        x = rng.uniform(0.1, 0.9)
        pen.blob([(x - 0.6, yy + 0.05), (x - 0.1, yy - 0.05), (x + 0.05, yy - 0.04), (x + 0.6, yy + 0.06),
            (x, yy + 0.03)], shade(sand, 0.25))
        pen.blob([(x, yy - 0.045), (x + 0.3, yy), (x + 0.7, yy + 0.08), (x + 0.1, yy + 0.1)],
            shade(sand, -0.14))
    return pen


BACKGROUNDS: Final[Mapping[str, Callable[[int, Random], Pen]]] = {
        "meadow": meadow,
        "forest": forest,
        "snow": snow,
        "beach": beach,
        "sea": sea,
        "riverbed": riverbed,
        "underwater": underwater,
        "rocks": rocks,
        "desert": desert,
        "street": street,
        "living room": living_room,
        "kitchen": kitchen,
        "green": plain((112, 152, 88)),
        "blue": plain((104, 148, 194)),
        "grey": plain((158, 160, 162)),
        "white": plain((238, 236, 230)),
    }
