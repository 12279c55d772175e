"""Cat and snow leopard on one feline plan, dog and wolf on one canine plan, facing right.

Within a plan the coat, the markings and the tail tell the two apart; some cats are pale and spotted
and some dogs are grey, so that no single colour does.
"""

# A shape reads better as a row of points.
# fmt: off
from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

from weakspot.world.canvas import Color, Pen, Point, main_color, mix, shade, vary

INK: Color = (44, 38, 46)


class _Feline(NamedTuple):
    coat: Color
    mark: Color
    pale: Color
    eye: Color
    pattern: str
    tail: float
    ear: float
    bulk: float


def _spots(pen: Pen, rng: Random, spots: list[Point], r: float, look: _Feline) -> None:
    for x, y in spots:
        s = r * rng.uniform(0.75, 1.2)
        x, y = x + rng.uniform(-0.03, 0.03), y + rng.uniform(-0.03, 0.03)
        pen.disc(x, y, s, look.mark, ry=s * 0.8)
        if look.pattern == "rosettes":
            pen.disc(x + s * 0.1, y + s * 0.1, s * 0.5, mix(look.coat, look.mark, 0.22), ry=s * 0.4)


def _tail(pen: Pen, points: list[Point], look: _Feline) -> None:
    w = look.tail
    pen.stroke(points, w, w * 0.85, look.coat, knob=w * 0.42)
    if look.pattern != "plain":
        (x0, y0), (x1, y1) = points[-2], points[-1]
        long = math.hypot(x1 - x0, y1 - y0) or 1.0
        nx, ny = -(y1 - y0) / long * w * 0.42, (x1 - x0) / long * w * 0.42
        for t in (0.05, 0.45, 0.85):
            x, y = x0 + (x1 - x0) * t, y0 + (y1 - y0) * t
            pen.line(x - nx, y - ny, x + nx, y + ny, 0.055, look.mark)


def _feline_head(pen: Pen, look: _Feline) -> None:
    ear = look.ear
    for side in (-1.0, 1.0):
        half = pen.at(0, 0, side, 1.0)
        half.blob([(0.1, -0.18), (0.17, -0.34 - ear * 0.5), (0.23, -0.3 - ear), (0.29, -0.2 - ear * 0.3),
            (0.29, -0.04)], look.coat)
        half.blob([(0.16, -0.2), (0.215, -0.24 - ear * 0.75), (0.25, -0.12)],
            (214, 150, 146) if look.pattern != "rosettes" else shade(look.mark, 0.1))
    pen.disc(0, 0, 0.34, look.coat, ry=0.285)
    if look.pattern == "tabby":
        for x in (-0.09, 0.0, 0.09):
            pen.line(x, -0.26, x * 0.8, -0.13, 0.04, look.mark)
    elif look.pattern in ("rosettes", "spots"):
        for x, y in ((-0.1, -0.2), (0.0, -0.17), (0.1, -0.2), (-0.2, -0.12), (0.2, -0.12)):
            pen.disc(x, y, 0.032, look.mark)
    pen.disc(0, 0.13, 0.18, look.pale, ry=0.13)
    for side in (-1.0, 1.0):
        half = pen.at(0, 0, side, 1.0)
        half.disc(0.14, -0.03, 0.07, look.eye, ry=0.068)
        half.disc(0.135, -0.03, 0.032, INK, ry=0.058)
        half.disc(0.135 + 0.02 * side, -0.052, 0.015, (252, 250, 244))
        half.line(0.12, 0.12, 0.42, 0.07, 0.014, shade(look.pale, 0.6))
        half.line(0.12, 0.15, 0.42, 0.18, 0.014, shade(look.pale, 0.6))
    pen.blob([(-0.05, 0.07), (0.05, 0.07), (0.0, 0.125)], (196, 108, 108))
    mouth = [(-0.1, 0.15), (-0.06, 0.18), (-0.02, 0.17), (0, 0.145), (0.02, 0.17), (0.06, 0.18), (0.1, 0.15)]
    pen.stroke(mouth, 0.022, 0.022, shade(look.pale, -0.6))


def _feline(pen: Pen, rng: Random, look: _Feline) -> None:
    far = shade(look.coat, -0.22)
    b = look.bulk
    swing = rng.uniform(-0.1, 0.1)
    nod = rng.uniform(-0.05, 0.06)
    if rng.random() < 0.6:
        up = rng.uniform(-0.62, 0.15) if look.pattern != "rosettes" else rng.uniform(-0.2, 0.3)
        _tail(pen, [(-0.55, -0.02), (-0.78, 0.02 + up * 0.2), (-0.94, up * 0.7), (-0.88, up - 0.16)], look)
        for x, s in ((-0.42, -swing), (0.34, swing)):
            pen.stroke([(x, 0.1), (x + s - 0.03, 0.36), (x + s, 0.64)], 0.2 * b, 0.12 * b, far,
                knob=0.075 * b)
        pen.blob([(-0.66, 0.0), (-0.5, -0.22 * b), (-0.1, -0.2 * b), (0.3, -0.26), (0.56, -0.2), (0.56, 0.12),
            (0.3, 0.24 * b), (-0.2, 0.19 * b), (-0.54, 0.26 * b)], look.coat)
        pen.blob([(0.46, 0.12), (0.2, 0.23 * b), (-0.3, 0.18 * b), (-0.1, 0.13)], look.pale)
        near = shade(look.coat, 0.07)
        pen.disc(-0.46, 0.12, 0.2 * b, near, ry=0.22 * b, turn=0.3)
        for x, s in ((-0.54, swing), (0.44, -swing)):
            pen.stroke([(x, 0.08), (x + s - 0.02, 0.38), (x + s, 0.66)], 0.22 * b, 0.13 * b, near,
                knob=0.08 * b)
            pen.disc(x + s + 0.04, 0.69, 0.1, look.pale, ry=0.055)
        if look.pattern == "tabby":
            for x in (-0.46, -0.3, -0.14, 0.02, 0.18):
                pen.stroke([(x, -0.2 * b), (x + 0.04, -0.05), (x, 0.08)], 0.07, 0.02, look.mark)
        elif look.pattern != "plain":
            _spots(pen, rng, [(-0.5, -0.08), (-0.32, -0.12), (-0.14, -0.1), (0.04, -0.12), (0.2, -0.14),
                (-0.42, 0.08), (-0.22, 0.05), (-0.02, 0.05), (0.16, 0.04), (-0.55, 0.26),
                (0.42, 0.26)], 0.062, look)
        pen.disc(0.56, -0.14 + nod, 0.25, shade(look.coat, -0.16), ry=0.2)
        _feline_head(pen.at(0.58, -0.28 + nod, 1.0, turn=rng.uniform(-0.12, 0.16)), look)
    else:
        pen = pen.at(0.05, 0.04, 1.08)
        _tail(pen, [(-0.3, 0.56), (-0.56, 0.58), (-0.8, 0.44 + swing), (-0.86, 0.14 + swing * 2)], look)
        pen.blob([(0.02, -0.3), (0.24, -0.16), (0.3, 0.2), (0.26, 0.64), (-0.3, 0.66), (-0.48 * b, 0.42),
            (-0.38 * b, 0.08), (-0.2, -0.18)], look.coat)
        pen.blob([(0.1, -0.1), (0.26, 0.0), (0.26, 0.3), (0.12, 0.24)], look.pale)
        pen.disc(-0.22, 0.44, 0.24, shade(look.coat, 0.06), ry=0.23)
        for x, c in ((0.06, far), (0.2, look.coat)):
            pen.stroke([(x, 0.1), (x + 0.03, 0.4), (x + 0.02, 0.62)], 0.17, 0.13, c)
            pen.disc(x + 0.06, 0.64, 0.1, look.pale, ry=0.055)
        pen.disc(-0.08, 0.65, 0.14, look.pale, ry=0.055)
        if look.pattern == "tabby":
            for y in (-0.08, 0.06, 0.2, 0.36):
                pen.stroke([(-0.3 - y * 0.3, y), (-0.2, y + 0.04), (-0.08, y)], 0.07, 0.02, look.mark)
        elif look.pattern != "plain":
            _spots(pen, rng, [(-0.2, -0.04), (-0.05, -0.06), (-0.28, 0.12), (-0.1, 0.12), (0.06, 0.06),
                (-0.34, 0.3), (-0.16, 0.3), (-0.02, 0.28), (-0.3, 0.48), (-0.14, 0.48)], 0.062, look)
        pen.disc(0.13, -0.27 + nod, 0.22, shade(look.coat, -0.16), ry=0.18)
        _feline_head(pen.at(0.16, -0.42 + nod, 1.0, turn=rng.uniform(-0.12, 0.14)), look)


def cat(pen: Pen, rng: Random, tint: Color | None) -> None:
    coats = [(222, 142, 66), (206, 128, 70), (128, 124, 126), (84, 80, 86), (236, 228, 214), (182, 158, 128),
        (178, 176, 172)]
    coat = main_color(rng, tint, coats)
    pattern = rng.choice(("tabby", "tabby", "plain", "plain", "spots"))
    eye = vary(rng.choice([(146, 178, 74), (222, 176, 62), (112, 168, 176)]), rng)
    pale = shade(coat, rng.uniform(0.3, 0.75))
    _feline(pen, rng, _Feline(coat, shade(coat, -0.42), pale, eye, pattern, rng.uniform(0.1, 0.14),
        rng.uniform(0.1, 0.15), rng.uniform(0.88, 1.05)))


def snow_leopard(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = main_color(rng, tint, [(214, 208, 198), (200, 198, 196), (222, 212, 192)])
    eye = vary(rng.choice([(150, 186, 170), (178, 190, 130)]), rng)
    mark = mix(shade(coat, -0.62), (60, 56, 60), 0.4)
    _feline(pen, rng, _Feline(coat, mark, shade(coat, 0.7), eye, "rosettes", rng.uniform(0.21, 0.26),
        rng.uniform(0.0, 0.04), rng.uniform(1.08, 1.25)))


class _Canine(NamedTuple):
    coat: Color
    back: Color
    pale: Color
    eye: Color
    ears: str
    tail: str
    snout: float
    leg: float
    ruff: bool
    patch: Color | None
    collar: Color | None


def _canine(pen: Pen, rng: Random, look: _Canine) -> None:
    far = shade(look.coat, -0.25)
    swing = rng.uniform(-0.12, 0.12)
    foot = 0.42 + 0.28 * look.leg
    nod = rng.uniform(-0.08, 0.08)
    wag = rng.uniform(-0.15, 0.15)
    if look.tail == "bushy":
        pen.blob([(-0.52, -0.14), (-0.72, -0.06), (-0.86 + wag * 0.5, 0.2), (-0.92 + wag, 0.48),
            (-0.76 + wag, 0.4), (-0.6, 0.12)], look.back)
        pen.blob([(-0.84 + wag * 0.7, 0.3), (-0.92 + wag, 0.5), (-0.76 + wag, 0.38)], shade(look.back, -0.35))
    elif look.tail == "curled":
        pen.stroke([(-0.5, -0.1), (-0.74, -0.22), (-0.8, -0.48), (-0.62 + wag * 0.5, -0.54)], 0.15, 0.12,
            look.back, knob=0.06)
    else:
        pen.stroke([(-0.52, -0.08), (-0.74, -0.16), (-0.92, -0.34 + wag * 2)], 0.12, 0.06, look.back,
            knob=0.03)
    for x, s in ((-0.4, -swing), (0.3, swing)):
        pen.stroke([(x, 0.05), (x + s - 0.04, 0.34), (x + s, foot - 0.04)], 0.2, 0.09, far, knob=0.065)
    pen.blob([(-0.6, 0.0), (-0.5, -0.2), (-0.1, -0.19), (0.26, -0.26), (0.5, -0.36), (0.58, -0.02),
        (0.38, 0.24), (0.1, 0.2), (-0.24, 0.1), (-0.5, 0.18)], look.coat)
    pen.blob([(-0.58, -0.06), (-0.48, -0.2), (-0.1, -0.19), (0.26, -0.26), (0.46, -0.3), (0.2, -0.12),
        (-0.2, -0.08)], look.back)
    pen.blob([(0.56, -0.06), (0.5, 0.12), (0.36, 0.23), (0.12, 0.2), (0.36, 0.06)], look.pale)
    pen.blob([(-0.5, 0.1), (-0.2, 0.05), (0.1, 0.1), (0.36, 0.12), (0.38, 0.24), (0.1, 0.2), (-0.24, 0.1),
        (-0.5, 0.18)], shade(look.coat, -0.2))
    if look.patch is not None:
        pen.disc(-0.22, -0.04, 0.2, look.patch, ry=0.13)
    near = shade(look.coat, 0.07)
    pen.disc(-0.43, 0.06, 0.18, near, ry=0.2, turn=0.4)
    for x, s in ((-0.5, swing), (0.4, -swing)):
        pen.stroke([(x, 0.04), (x + s - 0.04, 0.36), (x + s, foot)], 0.23, 0.1, near, knob=0.07)
        pen.disc(x + s + 0.05, foot + 0.02, 0.1, look.pale, ry=0.05)
    pen.stroke([(0.3, -0.08), (0.46, -0.24), (0.54, -0.42 + nod)], 0.38, 0.28, look.coat)
    if look.ruff:
        pen.tuft(0.43, -0.18, 0.29, look.coat, n=12, depth=0.2)
        pen.tuft(0.5, -0.12, 0.19, look.pale, n=10, depth=0.24)
    if look.collar is not None:
        pen.line(0.36, -0.34, 0.6, -0.2, 0.08, look.collar)
        pen.disc(0.6, -0.15, 0.045, (238, 204, 96))
    head = pen.at(0.54, -0.46 + nod, 1.0, turn=rng.uniform(-0.15, 0.22))
    n = look.snout
    pointed = look.ears == "pointed"
    if pointed:
        head.blob([(-0.02, -0.1), (0.03, -0.3), (0.08, -0.42), (0.13, -0.28), (0.14, -0.12)], far)
    head.disc(0, 0, 0.225, look.coat, ry=0.205)
    head.blob([(0.06, -0.1), (0.2, -0.05), (0.12 + n, -0.02), (0.17 + n, 0.05), (0.1 + n, 0.13), (0.16, 0.17),
        (0.0, 0.16)], look.coat)
    head.blob([(0.1, 0.06), (0.1 + n, 0.04), (0.15 + n, 0.08), (0.1 + n, 0.13), (0.14, 0.17), (-0.06, 0.19),
        (-0.08, 0.1)], look.pale)
    head.stroke([(0.13, 0.1), (0.2, 0.115), (0.1 + n, 0.085)], 0.02, 0.015, shade(look.pale, -0.5))
    head.disc(0.15 + n, 0.0, 0.055, INK, ry=0.048)
    head.disc(0.09, -0.055, 0.045, look.eye)
    head.disc(0.1, -0.055, 0.027, INK)
    head.disc(0.11, -0.07, 0.012, (250, 248, 240))
    if pointed:
        head.blob([(-0.19, -0.08), (-0.16, -0.3), (-0.1, -0.44), (-0.02, -0.3), (0.02, -0.14)], look.back)
        head.blob([(-0.13, -0.14), (-0.1, -0.34), (-0.03, -0.16)], shade(look.pale, -0.25))
    else:
        head.blob([(-0.06, -0.2), (-0.2, -0.16), (-0.29, 0.06), (-0.24, 0.25), (-0.13, 0.2), (-0.05, 0.0)],
            shade(look.back, -0.25))


def dog(pen: Pen, rng: Random, tint: Color | None) -> None:
    coats = [(196, 140, 84), (150, 98, 58), (70, 62, 64), (232, 218, 194), (214, 170, 110), (150, 148, 150)]
    coat = main_color(rng, tint, coats)
    marked = rng.random() < 0.5
    back = shade(coat, -0.3) if marked else shade(coat, -0.06)
    patch = shade(coat, -0.45) if rng.random() < 0.25 or sum(coat) > 560 else None
    collar = rng.choice([(196, 56, 52), (60, 112, 176), (70, 140, 90), None, None])
    ears = rng.choice(("floppy", "floppy", "floppy", "pointed"))
    tail = rng.choice(("curled", "thin", "thin", "bushy"))
    snout, leg = rng.uniform(0.18, 0.26), rng.uniform(0.7, 1.0)
    pale = shade(coat, 0.55 if marked else 0.25)
    _canine(pen, rng, _Canine(coat, back, pale, (120, 78, 44), ears, tail, snout, leg, False, patch, collar))


def wolf(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = main_color(rng, tint, [(142, 138, 134), (126, 124, 128), (160, 146, 126), (108, 104, 106)])
    back, pale, eye = shade(coat, -0.38), shade(coat, 0.62), (226, 178, 60)
    snout, leg = rng.uniform(0.25, 0.32), rng.uniform(0.95, 1.1)
    _canine(pen, rng, _Canine(coat, back, pale, eye, "pointed", "bushy", snout, leg, True, None, None))
