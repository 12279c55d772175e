"""Crayfish, crab, goldfish and duck, facing right. The two crustaceans share claws and colours."""

# A shape reads better as a row of points.
# fmt: off
from __future__ import annotations

from random import Random

from weakspot.world.canvas import Color, Pen, main_color, mix, shade, vary

INK: Color = (44, 38, 46)
_SHELLS: list[Color] = [(196, 74, 50), (178, 58, 48), (150, 92, 60), (206, 106, 60), (122, 92, 76)]


def _claw(pen: Pen, color: Color, gape: float) -> None:
    """A pincer from the origin to about (0.5, 0), its fingers opened by `gape`."""
    pen.blob([(0, -0.05), (0.12, -0.15), (0.3, -0.16), (0.34, 0.0), (0.3, 0.14), (0.12, 0.13), (0, 0.05)],
        color)
    pen.blob([(0.24, -0.02), (0.3, -0.16), (0.46, -0.15 - gape), (0.58, -0.03 - gape * 0.6), (0.42, -0.05)],
        color)
    pen.blob([(0.22, 0.04), (0.4, 0.03), (0.55, 0.02 + gape * 0.4), (0.42, 0.12 + gape), (0.26, 0.13)],
        shade(color, -0.14))
    pen.blob([(0.08, -0.08), (0.2, -0.12), (0.3, -0.11), (0.18, -0.05)], shade(color, 0.35))


def crayfish(pen: Pen, rng: Random, tint: Color | None) -> None:
    shell = main_color(rng, tint, _SHELLS)
    dark, light = shade(shell, -0.28), shade(shell, 0.3)
    bend = rng.uniform(-0.16, 0.16)
    gape = rng.uniform(0.0, 0.08)
    open_ = rng.uniform(0.0, 0.2)
    for side in (-1.0, 1.0):
        half = pen.at(0, 0, 1.0, side)
        for i, x in enumerate((-0.02, 0.08, 0.18)):
            lean = (-0.22, -0.08, 0.06)[i] + rng.uniform(-0.04, 0.04)
            half.stroke([(x, 0.12), (x + lean * 0.4, 0.32), (x + lean, 0.5)], 0.06, 0.025, dark)
        half.stroke([(0.4, 0.05), (0.7, 0.18), (0.74, 0.46), (0.46, 0.66)], 0.03, 0.012, dark)
        half.stroke([(0.28, 0.12), (0.38, 0.34), (0.54, 0.34 + open_ * 0.4)], 0.09, 0.09, shell)
        _claw(half.at(0.52, 0.33 + open_ * 0.4, 0.82, turn=open_ - 0.18), shell, gape)
    for a in (-0.7, -0.35, 0.0, 0.35, 0.7):
        pen.at(-0.72, bend, 1.0, turn=a - bend).blob([(0.02, -0.05), (-0.16, -0.1), (-0.28, 0.0),
            (-0.16, 0.1), (0.02, 0.05)], shade(shell, -0.1 - 0.12 * abs(a)))
    for i in range(5, -1, -1):
        t = i / 5
        c = shell if i % 2 else shade(shell, -0.12)
        pen.disc(-0.1 - 0.6 * t, bend * t * t, 0.1, c, ry=0.2 - 0.09 * t)
        pen.disc(-0.1 - 0.6 * t, bend * t * t - 0.07 + 0.03 * t, 0.07, shade(c, 0.18), ry=0.05)
    pen.blob([(-0.12, -0.16), (0.1, -0.21), (0.32, -0.16), (0.5, 0.0), (0.32, 0.16), (0.1, 0.21),
        (-0.12, 0.16)], shell)
    pen.blob([(-0.06, -0.13), (0.1, -0.17), (0.3, -0.12), (0.4, -0.03), (0.1, -0.07)], light)
    pen.stroke([(0.02, -0.19), (0.1, 0.0), (0.02, 0.19)], 0.025, 0.025, dark)
    for y in (-0.11, 0.11):
        pen.disc(0.38, y, 0.05, INK)
        pen.disc(0.39, y - 0.015, 0.017, (240, 236, 226))


def crab(pen: Pen, rng: Random, tint: Color | None) -> None:
    shell = main_color(rng, tint, _SHELLS)
    dark, light = shade(shell, -0.28), shade(shell, 0.32)
    wide = rng.uniform(0.92, 1.06)
    gape = rng.uniform(0.02, 0.1)
    for side in (-1.0, 1.0):
        half = pen.at(0, 0.06, side * wide, 1.0)
        for i in range(3):
            y = 0.08 + 0.1 * i
            lift = rng.uniform(-0.05, 0.05)
            half.stroke([(0.36, y), (0.68 - 0.08 * i, y - 0.05 + lift), (0.86 - 0.13 * i, y + 0.28)], 0.1,
                0.03, dark)
        raise_ = rng.uniform(-0.1, 0.12)
        half.stroke([(0.4, -0.02), (0.64, -0.12), (0.66, -0.3 + raise_)], 0.12, 0.12, shell)
        _claw(half.at(0.66, -0.24 + raise_, 0.92, turn=-1.75 + rng.uniform(-0.2, 0.25)), shell, gape)
        half.line(0.14, -0.24, 0.16, -0.42, 0.06, shell)
        half.disc(0.16, -0.44, 0.085, (244, 240, 230))
        half.disc(0.15, -0.44, 0.045, INK)
    body = pen.at(0, 0.06, wide, 1.0)
    body.blob([(-0.54, -0.08), (-0.34, -0.27), (0, -0.32), (0.34, -0.27), (0.54, -0.08), (0.4, 0.2),
        (0.16, 0.33), (-0.16, 0.33), (-0.4, 0.2)], shell)
    body.blob([(-0.4, 0.16), (0, 0.22), (0.4, 0.16), (0.16, 0.32), (-0.16, 0.32)], shade(shell, -0.2))
    body.blob([(-0.42, -0.1), (-0.26, -0.22), (0.05, -0.26), (-0.1, -0.16)], light)
    for x, y in ((-0.2, -0.02), (0.2, -0.02), (0.0, -0.08), (-0.08, 0.06), (0.1, 0.07)):
        body.disc(x, y, 0.035, light)
    body.stroke([(-0.12, 0.12), (0, 0.17), (0.12, 0.12)], 0.03, 0.03, shade(shell, -0.5))


def goldfish(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = main_color(rng, tint, [(238, 128, 40), (232, 104, 44), (244, 158, 56), (226, 84, 50)])
    fin = mix(coat, (255, 226, 170), 0.35)
    deep = rng.uniform(0.88, 1.16)
    flick = rng.uniform(-0.14, 0.14)
    tail = pen.at(-0.36, 0.0, 1.0, turn=flick)
    tail.blob([(0.08, -0.06), (-0.26, -0.42), (-0.56, -0.5), (-0.5, -0.2), (-0.28, 0.0)], fin)
    tail.blob([(0.08, 0.06), (-0.26, 0.4), (-0.6, 0.5), (-0.52, 0.2), (-0.28, 0.0), (0.0, -0.04)],
        shade(fin, -0.1))
    for y in (-0.3, -0.16, 0.16, 0.3):
        tail.line(-0.1, y * 0.3, -0.46, y * 1.2, 0.022, shade(coat, 0.1))
    pen.blob([(-0.14, -0.22 * deep), (-0.16, -0.52 * deep), (0.1, -0.58 * deep), (0.28, -0.4),
        (0.34, -0.2 * deep)], fin)
    pen.blob([(-0.1, 0.2 * deep), (-0.22, 0.48), (0.02, 0.44), (0.1, 0.24)], shade(fin, -0.08))
    pen.blob([(-0.42, 0.0), (-0.22, -0.2 * deep), (0.12, -0.36 * deep), (0.5, -0.3 * deep), (0.78, -0.02),
        (0.54, 0.26 * deep), (0.14, 0.36 * deep), (-0.22, 0.18 * deep)], coat)
    pen.blob([(-0.3, 0.08), (0.1, 0.14), (0.5, 0.12), (0.66, 0.1), (0.5, 0.26 * deep), (0.14, 0.34 * deep),
        (-0.18, 0.18 * deep)], shade(coat, 0.45))
    if rng.random() < 0.3:
        pen.disc(rng.uniform(-0.1, 0.2), -0.12, 0.17, (246, 240, 228), ry=0.12)
    for x, y in ((-0.16, -0.06), (0.02, -0.14), (0.02, 0.04), (0.2, -0.06), (0.2, -0.22)):
        pen.stroke([(x + 0.04, y - 0.07), (x - 0.03, y), (x + 0.04, y + 0.07)], 0.026, 0.026,
            shade(coat, -0.2))
    pen.stroke([(0.42, -0.24 * deep), (0.35, 0.0), (0.42, 0.22 * deep)], 0.03, 0.03, shade(coat, -0.25))
    pen.blob([(0.26, 0.06), (0.06, 0.14), (0.0, 0.3), (0.2, 0.24)], shade(fin, 0.12))
    pen.disc(0.58, -0.08, 0.085, (250, 244, 226))
    pen.disc(0.595, -0.08, 0.05, INK)
    pen.stroke([(0.77, 0.04), (0.7, 0.08), (0.68, 0.06)], 0.03, 0.02, shade(coat, -0.45))


def duck(pen: Pen, rng: Random, tint: Color | None) -> None:
    kind = rng.random()
    body: Color
    head: Color
    breast: Color
    if kind < 0.4:
        body, head, breast, ring = (168, 158, 146), (44, 104, 76), (122, 76, 56), True
    elif kind < 0.65:
        body, head, breast, ring = (240, 236, 226), (240, 236, 226), (246, 243, 234), False
    elif kind < 0.82:
        body, head, breast, ring = (168, 128, 88), (150, 112, 78), (180, 140, 98), False
    else:
        body, head, breast, ring = (244, 206, 86), (246, 212, 96), (248, 222, 130), False
    if tint is not None:
        body = tint
        if not ring:
            head, breast = tint, shade(tint, 0.15)
    coat: Color = vary(body, rng)
    bill = vary((236, 148, 46), rng)
    nod = rng.uniform(-0.06, 0.08)
    if rng.random() < 0.4:
        for x in (-0.1, 0.12):
            pen.stroke([(x, 0.38), (x + 0.02, 0.58)], 0.06, 0.05, bill)
            pen.blob([(x - 0.04, 0.6), (x + 0.04, 0.55), (x + 0.2, 0.62), (x, 0.65)], bill)
    else:
        pen = pen.at(0, 0.14, 1.0)
    pen.blob([(-0.86, -0.16 - nod), (-0.6, 0.0), (-0.3, -0.1), (0.1, -0.12), (0.4, -0.1), (0.56, 0.12),
        (0.42, 0.38), (0.0, 0.48), (-0.42, 0.4), (-0.68, 0.16)], coat)
    pen.blob([(-0.5, 0.26), (0.0, 0.34), (0.44, 0.3), (0.3, 0.42), (0.0, 0.48), (-0.4, 0.4)],
        shade(coat, -0.2))
    pen.blob([(0.26, -0.2), (0.5, -0.16), (0.6, 0.1), (0.44, 0.34), (0.24, 0.2)], breast)
    pen.stroke([(0.38, 0.0), (0.42, -0.22), (0.46, -0.42 + nod)], 0.36, 0.24, head if not ring else breast)
    top = pen.at(0.5, -0.48 + nod, 1.0, turn=rng.uniform(-0.1, 0.18))
    if ring:
        pen.line(0.29, -0.26, 0.57, -0.22, 0.06, (244, 240, 230))
        pen.stroke([(0.43, -0.3), (0.46, -0.46 + nod)], 0.25, 0.26, head)
    top.disc(0, 0, 0.225, head, ry=0.21)
    top.blob([(-0.14, -0.1), (0.0, -0.17), (0.1, -0.14), (0.0, -0.1)], shade(head, 0.3))
    top.blob([(0.16, -0.04), (0.3, 0.0), (0.46, 0.02), (0.44, 0.09), (0.3, 0.13), (0.15, 0.12)], bill)
    top.line(0.2, 0.07, 0.42, 0.065, 0.02, shade(bill, -0.4))
    top.disc(0.07, -0.05, 0.042, INK)
    top.disc(0.08, -0.065, 0.015, (250, 248, 240))
    flap = rng.uniform(-0.06, 0.06)
    pen.blob([(0.24, 0.0), (0.0, -0.08), (-0.4, -0.06), (-0.72, 0.04 + flap), (-0.4, 0.24), (-0.02, 0.28),
        (0.2, 0.18)], shade(coat, -0.16))
    pen.blob([(0.2, 0.02), (0.0, -0.04), (-0.34, -0.02), (-0.5, 0.06), (-0.1, 0.13), (0.16, 0.12)],
        shade(coat, 0.1))
    if ring:
        pen.blob([(-0.16, 0.14), (-0.44, 0.12), (-0.56, 0.12 + flap), (-0.4, 0.2), (-0.16, 0.22)],
            (70, 100, 160))
