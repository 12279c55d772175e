"""What surrounds a subject: supports under it, covers and screens in front of it, weather in the air."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from weakspot.world.canvas import PAINT, Color, Pen, colors, natural, shade, vary
from weakspot.world.subjects import chain_link, netting, pickets

#: A support is drawn in a frame whose origin is where the subject's weight rests and whose unit is
#: half the width that the subjects take.
Support = Callable[[Pen, Random, Color], None]


def flower(pen: Pen, rng: Random, color: Color) -> None:
    petal = vary(color, rng, 7)
    n = rng.choice((11, 13, 15))
    spin = rng.uniform(0, 1)
    stem = vary((94, 138, 70), rng)
    pen.paint("flower stem", bend=rng.uniform(-0.3, 0.3), stem=stem)
    head = pen.at(0, 0, 1.5, 1.14)
    for layer in (0, 1):
        for i in range(n):
            a = (i + 0.5 * layer + spin) * 2 * math.pi / n
            r = (1.0 if layer == 0 else 0.86) * rng.uniform(0.94, 1.04)
            tone = shade(petal, -0.2 if layer == 0 else 0.04 + 0.1 * (i % 2))
            head.at(0, 0, r, turn=a).paint("petal", slim=4.2 / n, tone=tone)
    far = sum(abs(a - b) for a, b in zip(color, PAINT["yellow"], strict=True))
    heart = (206, 148, 44) if far > 60 else (120, 78, 44)
    head.paint("flower heart", heart=heart)
    for i in range(9):
        x, y = (0.24 * math.sqrt(i / 9) * side(i * 2.4) for side in (math.cos, math.sin))
        head.disc(x, y, 0.04, shade(heart, 0.35))


def leaf(pen: Pen, rng: Random, color: Color) -> None:
    green = vary(color, rng, 10)
    pen.disc(0.05, 0.24, 1.5, (34, 26, 58, 48), ry=0.72)
    blade = pen.at(0, 0.05, 1.6, turn=rng.uniform(-0.3, 0.15))
    blade.paint("leaf", green=green)
    for x in (-0.6, -0.25, 0.12, 0.46):
        blade.paint("veins", x=x, far=abs(x), vein=shade(green, 0.35))


def branch(pen: Pen, rng: Random, color: Color) -> None:
    bark = vary(color, rng)
    pen.paint("branch", bark=bark, sag=rng.uniform(-0.12, 0.12))
    green = vary((112, 148, 76), rng)
    for x, y, turn in ((1.5, -0.55, -1.1), (1.36, -0.2, -0.1), (-1.5, 0.36, -2.2), (-1.6, 0.5, 2.4)):
        frame = pen.at(x, y, 0.5, turn=turn + rng.uniform(-0.3, 0.3))
        frame.paint("small leaf", green=shade(green, rng.uniform(-0.15, 0.2)))


def rock(pen: Pen, rng: Random, color: Color) -> None:
    stone = vary(color, rng, 12)
    pen.paint("rock", a=rng.uniform(-0.1, 0.1), b=rng.uniform(-0.1, 0.1), stone=stone)


def plate(pen: Pen, rng: Random, color: Color) -> None:
    pen.paint("plate", china=vary(color, rng, 5), rim=rng.choice(colors("rim")))


def cushion(pen: Pen, rng: Random, color: Color) -> None:
    pen.paint("cushion", cloth=vary(color, rng, 7), puff=rng.uniform(-0.06, 0.06))


#: Each support with its natural colour, used where the scene names none.
SUPPORTS: Final[Mapping[str, tuple[Support, Color]]] = {
    "flower": (flower, PAINT["yellow"]),
    "leaf": (leaf, (136, 180, 82)),
    "branch": (branch, (122, 88, 62)),
    "rock": (rock, (140, 138, 138)),
    "plate": (plate, (238, 236, 228)),
    "cushion": (cushion, PAINT["red"]),
}


def _net(pen: Pen, rng: Random) -> None:
    netting(pen.at(0.5, 0.5, 1.0), rng, None)


def _fence(pen: Pen, rng: Random) -> None:
    frame = pen.at(0.5, 0.5, 0.5, turn=rng.uniform(-0.05, 0.05))
    if rng.random() < 0.7:
        wire = natural(rng, "screen wire")
        chain_link(frame, rng, wire, rng.uniform(0.26, 0.36), rng.uniform(0.026, 0.036), rng.choice((0, 1)))
    else:
        wood = natural(rng, "screen wood")
        pickets(frame, rng, wood, rng.uniform(0.4, 0.5), rng.uniform(-0.3, -0.05))


def _grass(pen: Pen, rng: Random) -> None:
    green = natural(rng, "grass")
    for i in range(30):
        x = (i + rng.random()) / 30
        h, lean = rng.uniform(0.35, 0.78), rng.uniform(-0.14, 0.14)
        pen.paint("blade of grass", h=h, lean=lean, tone=shade(green, rng.uniform(-0.3, 0.28)), x=x)


def _bars(pen: Pen, rng: Random) -> None:
    iron = natural(rng, "iron")
    step, w = rng.uniform(0.12, 0.16), rng.uniform(0.026, 0.036)
    x = rng.uniform(0.0, step)
    for y in (rng.uniform(0.04, 0.1), rng.uniform(0.9, 0.96)):
        pen.rect(-0.1, y - 0.016, 1.1, y + 0.016, iron)
    while x < 1.0 + w:
        pen.paint("bar", iron=iron, w=w, x=x)
        x += step


SCREENS: Final[Mapping[str, Callable[[Pen, Random], None]]] = {
    "net": _net,
    "fence": _fence,
    "grass": _grass,
    "bars": _bars,
}


def cover(pen: Pen, rng: Random, left: float, right: float, share: float) -> None:
    """A leaf, a board or a stone from the nearer side, over `share` of the stretch from left to right."""
    from_left = (left + right) / 2 < rng.uniform(0.4, 0.6)
    kind = rng.choice(("leaf", "board", "stone"))
    edge = left + (right - left) * share if from_left else right - (right - left) * share
    frame = pen.at(edge, 0.5, -1.0 if from_left else 1.0, 1.0)
    if kind == "board":
        wood = vary((164, 118, 78), rng)
        frame.paint("cover board", wood=wood)
        for x in (0.0, 0.16, 0.32, 0.48, 0.64):
            frame.paint("cover plank", wood=wood, x=x, low=rng.uniform(-0.5, 0.0), high=rng.uniform(0.1, 0.5))
    elif kind == "stone":
        frame.paint("cover stone", stone=vary((132, 130, 130), rng, 12))
    else:
        frame.paint("cover leaf", green=natural(rng, "cover leaf"))


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
    if light != "night":
        pen.paint("low sun", x=x, y=y)
        return
    pen.paint("moon", x=x, y=y)
    for _ in range(7):
        pen.disc(rng.uniform(0, 1), rng.uniform(0.01, 0.2), 0.007, (255, 255, 246))


def flare(pen: Pen, x: float, y: float) -> None:
    """The ghosts a lens makes of a sun at (x, y), along the line through the middle."""
    for t, r, opacity in ((0.62, 0.035, 44), (0.95, 0.075, 30), (1.3, 0.05, 40)):
        pen.disc(x + (0.5 - x) * t * 1.2, y + (0.5 - y) * t * 1.2, r, (255, 250, 214, opacity))
