"""What surrounds a subject: supports under it, covers and screens in front of it, weather in the air."""

# A shape reads better as a row of points.
# fmt: off
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from weakspot.world.canvas import PAINT, Color, Pen, shade, vary
from weakspot.world.subjects_things import chain_link, netting, pickets

#: A support is drawn in a frame whose origin is where the subject's weight rests and whose unit is
#: half the width that the subjects take.
Support = Callable[[Pen, Random, Color], None]


def flower(pen: Pen, rng: Random, color: Color) -> None:
    petal = vary(color, rng, 7)
    n = rng.choice((11, 13, 15))
    spin = rng.uniform(0, 1)
    slim = 4.2 / n
    stem = vary((94, 138, 70), rng)
    pen.stroke([(0.0, 0.2), (0.08, 1.2), (rng.uniform(-0.3, 0.3), 3.0)], 0.2, 0.22, stem)
    for side in (-1.0, 1.0):
        pen.at(0.06, 1.15, side, 1.0).blob([(0, 0.2), (0.4, -0.12), (0.95, -0.12), (0.6, 0.14)],
            shade(stem, 0.1 * side))
    head = pen.at(0, 0, 1.5, 1.14)
    for layer in (0, 1):
        for i in range(n):
            a = (i + 0.5 * layer + spin) * 2 * math.pi / n
            r = (1.0 if layer == 0 else 0.86) * rng.uniform(0.94, 1.04)
            tone = shade(petal, -0.2 if layer == 0 else 0.04 + 0.1 * (i % 2))
            head.at(0, 0, r, turn=a).blob([(0.1, 0), (0.55, -slim * 0.46), (0.86, -slim * 0.42), (1.0, 0),
                (0.86, slim * 0.42), (0.55, slim * 0.46)], tone)
    heart = (206, 148, 44) if sum(abs(a - b) for a,
        b in zip(color, PAINT["yellow"], strict=True)) > 60 else (120, 78, 44)
    head.disc(0, 0.03, 0.34, shade(heart, -0.3))
    head.disc(0, 0, 0.32, heart)
    for i in range(9):
        a = i * 2.4
        head.disc(0.24 * math.sqrt(i / 9) * math.cos(a), 0.24 * math.sqrt(i / 9) * math.sin(a), 0.04,
            shade(heart, 0.35))


def leaf(pen: Pen, rng: Random, color: Color) -> None:
    green = vary(color, rng, 10)
    pen.disc(0.05, 0.24, 1.5, (34, 26, 58, 48), ry=0.72)
    blade = pen.at(0, 0.05, 1.6, turn=rng.uniform(-0.3, 0.15))
    blade.stroke([(-0.8, 0.05), (-1.3, 0.16)], 0.07, 0.05, shade(green, -0.25))
    blade.blob([(-0.95, 0.06), (-0.55, -0.36), (0.05, -0.48), (0.6, -0.3), (1.02, 0.0), (0.6, 0.34),
        (0.0, 0.46), (-0.6, 0.36)], green)
    blade.blob([(-0.95, 0.06), (-0.4, 0.06), (0.3, 0.04), (1.02, 0.0), (0.6, 0.34), (0.0, 0.46),
        (-0.6, 0.36)], shade(green, -0.16))
    vein = shade(green, 0.35)
    blade.stroke([(-0.95, 0.06), (0.0, 0.04), (0.98, 0.0)], 0.05, 0.015, vein)
    for x in (-0.6, -0.25, 0.12, 0.46):
        blade.line(x, 0.05, x + 0.26, -0.3 + 0.14 * abs(x), 0.022, vein)
        blade.line(x, 0.05, x + 0.26, 0.34 - 0.14 * abs(x), 0.022, vein)


def branch(pen: Pen, rng: Random, color: Color) -> None:
    bark = vary(color, rng)
    sag = rng.uniform(-0.12, 0.12)
    line = [(-5.0, 0.5 + sag), (-1.4, 0.36), (0.0, 0.34 + sag), (1.4, 0.3), (5.0, 0.1 - sag)]
    pen.stroke(line, 0.4, 0.28, bark)
    pen.stroke([(x, y - 0.09) for x, y in line], 0.12, 0.06, shade(bark, 0.28))
    pen.stroke([(0.9, 0.3), (1.3, -0.1), (1.5, -0.55)], 0.16, 0.06, bark)
    green = vary((112, 148, 76), rng)
    for x, y, turn in ((1.5, -0.55, -1.1), (1.36, -0.2, -0.1), (-1.5, 0.36, -2.2), (-1.6, 0.5, 2.4)):
        pen.at(x, y, 0.5, turn=turn + rng.uniform(-0.3, 0.3)).blob([(0, 0), (0.35, -0.28), (0.8, -0.2),
            (1.05, 0.0), (0.7, 0.2), (0.3, 0.2)], shade(green, rng.uniform(-0.15, 0.2)))


def rock(pen: Pen, rng: Random, color: Color) -> None:
    stone = vary(color, rng, 12)
    a, b = rng.uniform(-0.1, 0.1), rng.uniform(-0.1, 0.1)
    pen.poly([(-1.5, 1.0), (-1.34, 0.4), (-0.8, -0.04 + a), (0.2, -0.14), (0.98, 0.0 + b), (1.42, 0.5),
        (1.5, 1.0), (0.7, 1.2), (-0.9, 1.2)], stone)
    pen.poly([(-1.34, 0.4), (-0.8, -0.04 + a), (0.2, -0.14), (0.98, 0.0 + b), (0.5, 0.3), (-0.6, 0.36)],
        shade(stone, 0.34))
    pen.poly([(0.98, 0.0 + b), (1.42, 0.5), (1.5, 1.0), (0.7, 1.2), (0.5, 0.3)], shade(stone, -0.24))
    for x, y in ((-0.9, 0.7), (-0.1, 0.8), (0.9, 0.7)):
        pen.disc(x, y, 0.1, (138, 148, 92), ry=0.05)


def plate(pen: Pen, rng: Random, color: Color) -> None:
    china = vary(color, rng, 5)
    rim = rng.choice([(70, 110, 166), (196, 92, 78), (108, 148, 116), (206, 168, 92)])
    pen.disc(0, 0.32, 1.52, (40, 30, 66, 70), ry=0.68)
    pen.disc(0, 0.2, 1.5, shade(china, -0.14), ry=0.68)
    pen.disc(0, 0.15, 1.48, china, ry=0.64)
    pen.disc(0, 0.15, 1.32, rim, ry=0.56)
    pen.disc(0, 0.15, 1.24, china, ry=0.52)
    pen.disc(0, 0.18, 0.98, shade(china, -0.1), ry=0.38)
    pen.disc(0, 0.2, 0.94, shade(china, 0.5), ry=0.35)


def cushion(pen: Pen, rng: Random, color: Color) -> None:
    cloth = vary(color, rng, 7)
    puff = rng.uniform(-0.06, 0.06)
    pen.disc(0, 0.85, 1.4, (40, 30, 66, 70), ry=0.2)
    pen.blob([(-1.5, -0.2), (-0.8, -0.08), (0.0, -0.16 + puff), (0.8, -0.08), (1.5, -0.2), (1.36, 0.35),
        (1.48, 0.92), (0.7, 0.86), (0.0, 0.92), (-0.7, 0.86), (-1.48, 0.92), (-1.36, 0.35)], cloth)
    pen.blob([(-1.36, 0.4), (-0.5, 0.52), (0.5, 0.52), (1.36, 0.4), (1.46, 0.9), (0.7, 0.86), (0.0, 0.92),
        (-0.7, 0.86), (-1.46, 0.9)], shade(cloth, -0.2))
    pen.blob([(-1.1, 0.02), (-0.4, 0.0), (0.4, 0.04), (-0.2, 0.14)], shade(cloth, 0.35))
    for x, y in ((-1.5, -0.22), (1.5, -0.22), (-1.5, 0.94), (1.5, 0.94)):
        pen.disc(x, y, 0.1, shade(cloth, -0.4))
    for i in range(5):
        pen.disc(-0.9 + 0.45 * i, 0.34 + 0.06 * (i % 2), 0.06, shade(cloth, 0.55))


#: Each support with its natural colour, used where the scene names none.
SUPPORTS: Final[Mapping[str, tuple[Support, Color]]] = {"flower": (flower, PAINT["yellow"]),
    "leaf": (leaf, (136, 180, 82)), "branch": (branch, (122, 88, 62)), "rock": (rock, (140, 138, 138)),
    "plate": (plate, (238, 236, 228)), "cushion": (cushion, PAINT["red"])}


def _net(pen: Pen, rng: Random) -> None:
    netting(pen.at(0.5, 0.5, 1.0), rng, None)


def _fence(pen: Pen, rng: Random) -> None:
    frame = pen.at(0.5, 0.5, 0.5, turn=rng.uniform(-0.05, 0.05))
    if rng.random() < 0.7:
        wire = vary(rng.choice([(150, 154, 158), (176, 178, 178), (118, 124, 124)]), rng)
        chain_link(frame, rng, wire, rng.uniform(0.26, 0.36), rng.uniform(0.026, 0.036), rng.choice((0, 1)))
    else:
        wood = vary(rng.choice([(176, 130, 86), (236, 230, 216), (140, 104, 76)]), rng)
        pickets(frame.at(0, 0.0, 1.0), rng, wood, rng.uniform(0.4, 0.5), rng.uniform(-0.3, -0.05))


def _grass(pen: Pen, rng: Random) -> None:
    green = vary(rng.choice([(104, 150, 66), (84, 132, 64), (146, 160, 78)]), rng)
    for i in range(30):
        x = (i + rng.random()) / 30
        h, lean = rng.uniform(0.35, 0.78), rng.uniform(-0.14, 0.14)
        tone = shade(green, rng.uniform(-0.3, 0.28))
        pen.blob([(x - 0.014, 1.06), (x - 0.008 + lean * 0.3, 1.0 - h * 0.6), (x + lean, 1.02 - h),
            (x + 0.014 + lean * 0.3, 1.0 - h * 0.6), (x + 0.016, 1.06)], tone)


def _bars(pen: Pen, rng: Random) -> None:
    iron = vary(rng.choice([(58, 56, 62), (70, 66, 66), (48, 54, 66)]), rng)
    step = rng.uniform(0.12, 0.16)
    w = rng.uniform(0.026, 0.036)
    x = rng.uniform(0.0, step)
    for y in (rng.uniform(0.04, 0.1), rng.uniform(0.9, 0.96)):
        pen.rect(-0.1, y - 0.016, 1.1, y + 0.016, iron)
    while x < 1.0 + w:
        pen.rect(x - w / 2, -0.1, x + w / 2, 1.1, iron)
        pen.rect(x - w * 0.3, -0.1, x - w * 0.05, 1.1, shade(iron, 0.35))
        x += step


SCREENS: Final[Mapping[str, Callable[[Pen, Random], None]]] = {"net": _net, "fence": _fence,
    "grass": _grass, "bars": _bars}


def cover(pen: Pen, rng: Random, left: float, right: float, share: float) -> None:
    """A leaf, a board or a stone from the nearer side, over `share` of the stretch from left to right."""
    from_left = (left + right) / 2 < rng.uniform(0.4, 0.6)
    kind = rng.choice(("leaf", "board", "stone"))
    edge = left + (right - left) * share if from_left else right - (right - left) * share
    frame = pen.at(edge, 0.5, -1.0 if from_left else 1.0, 1.0)
    if kind == "board":
        wood = vary((164, 118, 78), rng)
        frame.poly([(0.02, -0.6), (1.2, -0.6), (1.2, 0.6), (-0.02, 0.6)], wood)
        for x in (0.0, 0.16, 0.32, 0.48, 0.64):
            frame.poly([(x + 0.02, -0.6), (x + 0.035, -0.6), (x - 0.005, 0.6), (x - 0.02, 0.6)],
                shade(wood, -0.35))
            frame.line(x + 0.08, rng.uniform(-0.5, 0.0), x + 0.07, rng.uniform(0.1, 0.5), 0.012,
                shade(wood, -0.18))
    elif kind == "stone":
        stone = vary((132, 130, 130), rng, 12)
        frame.poly([(-0.02, 0.16), (0.01, -0.2), (0.12, -0.4), (0.34, -0.52), (1.4, -0.6), (1.4, 0.7),
            (0.0, 0.7), (0.04, 0.4)], stone)
        frame.poly([(0.01, -0.2), (0.12, -0.4), (0.34, -0.52), (1.4, -0.6), (0.9, -0.2), (0.3, -0.1)],
            shade(stone, 0.26))
        frame.poly([(-0.02, 0.16), (0.01, -0.2), (0.3, -0.1), (0.2, 0.34), (0.04, 0.4)], shade(stone, 0.1))
        frame.poly([(0.04, 0.4), (0.2, 0.34), (1.4, 0.3), (1.4, 0.7), (0.0, 0.7)], shade(stone, -0.2))
        for x, y in ((0.16, -0.28), (0.34, 0.1), (0.12, 0.5)):
            frame.disc(x, y, 0.035, (142, 152, 98), ry=0.02)
    else:
        green = vary(rng.choice([(72, 122, 70), (96, 142, 74), (58, 104, 78)]), rng)
        frame.blob([(-0.03, 0.12), (0.02, -0.2), (0.14, -0.46), (0.5, -0.66), (1.3, -0.5), (1.3, 0.6),
            (0.5, 0.66), (0.08, 0.46)], green)
        frame.blob([(-0.03, 0.12), (0.4, 0.08), (1.2, 0.0), (1.3, 0.6), (0.5, 0.66), (0.08, 0.46)],
            shade(green, -0.2))
        frame.stroke([(-0.02, 0.12), (0.4, 0.08), (1.2, 0.0)], 0.014, 0.03, shade(green, 0.4))
        for x in (0.08, 0.26, 0.46):
            frame.line(x + 0.1, 0.1, x - 0.02, -0.26 - x * 0.5, 0.01, shade(green, 0.25))
            frame.line(x + 0.1, 0.1, x, 0.36 + x * 0.3, 0.01, shade(green, 0.1))


def rain(pen: Pen, rng: Random) -> None:
    slant = rng.uniform(-0.12, 0.2)
    for _ in range(46):
        x, y, h = rng.uniform(-0.1, 1.1), rng.uniform(-0.1, 1.0), rng.uniform(0.07, 0.16)
        pen.line(x, y, x - slant * h, y + h, 0.008, (222, 232, 240, 165))


def snowfall(pen: Pen, rng: Random) -> None:
    for _ in range(60):
        r = rng.choice((0.008, 0.011, 0.011, 0.016, 0.022))
        pen.disc(rng.uniform(0, 1), rng.uniform(0, 1), r, (250, 251, 254))


def sun_or_moon(pen: Pen, rng: Random, light: str, x: float, y: float) -> None:
    """What stands in an open sky at dusk or at night, bright enough to outlast the wash that follows."""
    if light == "night":
        pen.disc(x, y, 0.085, (226, 236, 250, 60))
        pen.disc(x, y, 0.05, (255, 255, 242))
        pen.disc(x + 0.014, y - 0.01, 0.012, (226, 228, 220))
        for _ in range(7):
            pen.disc(rng.uniform(0, 1), rng.uniform(0.01, 0.2), 0.007, (255, 255, 246))
    else:
        pen.disc(x, y + 0.08, 0.1, (255, 232, 180, 90))
        pen.disc(x, y + 0.08, 0.06, (255, 240, 200))


def flare(pen: Pen, x: float, y: float) -> None:
    """The ghosts a lens makes of a sun at (x, y), along the line through the middle."""
    for t, r, opacity in ((0.62, 0.035, 44), (0.95, 0.075, 30), (1.3, 0.05, 40)):
        pen.disc(x + (0.5 - x) * t * 1.2, y + (0.5 - y) * t * 1.2, r, (255, 250, 214, opacity))
