"""Fly, bee, butterfly and ladybird, each in a box of about one unit around the origin, facing right.

Fly and bee share one body plan on purpose: what tells them apart is coat, bands, eyes and build,
and each of these overlaps a little (hoverflies are banded, some bees are dark).
"""

# A shape reads better as a row of points.
# fmt: off
from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

from weakspot.world.canvas import Color, Pen, main_color, mix, shade, vary

INK: Color = (44, 38, 46)


class _Insect(NamedTuple):
    coat: Color
    band: Color
    bands: int
    chest: Color
    eye: Color
    eye_size: float
    stout: float
    fur: bool
    wing: Color
    leg: Color


def _bands(pen: Pen, n: int, color: Color, thick: float) -> None:
    """Curved bands across the unit disc of `pen`."""
    for i in range(n):
        u0 = -0.86 + 1.5 * i / n
        u1 = u0 + 1.5 / n * thick
        rim = [(u, math.sqrt(1 - u * u)) for u in (u0, u0 * 0.67 + u1 * 0.33, u0 * 0.33 + u1 * 0.67, u1)]
        bow = 0.12 * rim[0][1]
        right = [(u1 + bow, rim[3][1] * 0.5), (u1 + bow * 1.3, 0.0), (u1 + bow, -rim[3][1] * 0.5)]
        left = [(u0 + bow, -rim[0][1] * 0.5), (u0 + bow * 1.3, 0.0), (u0 + bow, rim[0][1] * 0.5)]
        pen.poly([*rim, *right, *((u, -v) for u, v in reversed(rim)), *left], color)


def _insect(pen: Pen, rng: Random, look: _Insect) -> None:
    if rng.random() < 0.35:
        _from_above(pen, rng, look)
    else:
        _from_the_side(pen, rng, look)


def _from_above(pen: Pen, rng: Random, look: _Insect) -> None:
    spread = rng.uniform(0.22, 0.75)
    fat = look.stout * rng.uniform(0.93, 1.07)
    body = pen.at(0, 0, 1.0, turn=rng.uniform(-0.35, 0.2))
    for side in (-1.0, 1.0):
        half = body.at(0, 0, 1.0, side)
        for x, reach in ((0.0, -0.34), (0.16, 0.04), (0.3, 0.34)):
            tip = reach + rng.uniform(-0.06, 0.06)
            half.stroke([(x, 0.15), (x + tip * 0.4, 0.42), (x + tip, 0.62)], 0.065, 0.035, look.leg)
        half.stroke([(0.66, 0.07), (0.82, 0.12), (0.98, 0.24)], 0.045, 0.03, look.leg)
    belly = body.at(-0.42, 0, 0.5, 0.33 * fat)
    belly.disc(0, 0, 1.0, look.coat)
    _bands(belly, look.bands, look.band, 0.5)
    if look.fur:
        body.tuft(0.16, 0, 0.33 * fat, look.chest, n=15, depth=0.14)
        body.tuft(0.12, -0.05, 0.2 * fat, shade(look.chest, 0.22), n=12, depth=0.16)
    else:
        body.disc(0.14, 0, 0.33, look.chest, ry=0.29 * fat)
        body.disc(0.14, -0.1, 0.2, shade(look.chest, 0.28), ry=0.07)
        body.disc(0.14, 0.1, 0.2, shade(look.chest, 0.2), ry=0.05)
    body.disc(0.57, 0, 0.2, shade(look.chest, -0.28), ry=0.24)
    e = look.eye_size
    for side in (-1.0, 1.0):
        half = body.at(0, 0, 1.0, side)
        half.disc(0.6, 0.15, e * 0.9, look.eye)
        half.disc(0.64, 0.15, e * 0.3, shade(look.eye, 0.7))
        wing = half.at(0.12, 0.14, 1.0, turn=-spread)
        wing.blob([(0, 0), (-0.3, -0.14), (-0.8, -0.14), (-1.0, 0.06), (-0.7, 0.22), (-0.25, 0.14)],
            (*look.wing, 190))
        wing.stroke([(0, 0), (-0.4, 0.03), (-0.86, 0.05)], 0.03, 0.015, (*shade(look.wing, -0.3), 120))


def _from_the_side(pen: Pen, rng: Random, look: _Insect) -> None:
    lift = rng.uniform(-0.12, 0.16)
    spread = rng.uniform(0.5, 0.95)
    fat = look.stout * rng.uniform(0.93, 1.07)
    droop = rng.uniform(-0.05, 0.22)
    far = shade(look.leg, -0.15)
    for i, x in enumerate((0.0, 0.18, 0.36)):
        reach = (-0.3, 0.02, 0.3)[i] + rng.uniform(-0.05, 0.05)
        pen.stroke([(x, 0.1), (x + reach * 0.7 + 0.06, 0.34), (x + reach + 0.1, 0.6)], 0.06, 0.035, far)
    back = pen.at(0.06, -0.2, 1.0, turn=-spread - 0.35 + lift)
    back.blob([(0, 0), (-0.35, -0.2), (-0.78, -0.2), (-0.92, -0.02), (-0.6, 0.13), (-0.2, 0.1)],
        (*shade(look.wing, -0.1), 150))
    belly = pen.at(-0.46, 0.08 + droop * 0.6, 0.52, 0.36 * fat, turn=-droop)
    belly.disc(0, 0, 1.0, look.coat)
    _bands(belly, look.bands, look.band, 0.5)
    belly.blob([(-0.75, -0.35), (-0.2, -0.78), (0.5, -0.62), (0.0, -0.5)], (*shade(look.coat, 0.7), 90))
    if look.fur:
        pen.tuft(0.12, 0.0, 0.36 * fat, look.chest, n=15, depth=0.14)
        pen.tuft(0.1, -0.06, 0.24 * fat, shade(look.chest, 0.22), n=12, depth=0.16)
    else:
        pen.disc(0.1, -0.02, 0.34, look.chest, ry=0.31 * fat)
        pen.disc(0.08, -0.12, 0.2, shade(look.chest, 0.28), ry=0.13)
    head = pen.at(0.56, 0.05 + rng.uniform(-0.04, 0.05), 1.0)
    for side in (-0.07, 0.06):
        tip = rng.uniform(0.16, 0.3)
        head.stroke([(0.06, -0.15), (0.14 + side, -0.32), (0.2 + tip + side, -0.42)], 0.045, 0.03, look.leg)
    head.disc(0, 0, 0.24, shade(look.chest, -0.28), ry=0.25)
    e = look.eye_size
    head.disc(0.07, -0.05, e, look.eye, ry=e * 1.18)
    head.disc(0.09, -0.1, e * 0.32, shade(look.eye, 0.75))
    for i, x in enumerate((-0.06, 0.14, 0.32)):
        reach = (-0.36, 0.0, 0.3)[i] + rng.uniform(-0.06, 0.06)
        pen.stroke([(x, 0.2), (x + reach * 0.6 + 0.05, 0.36), (x + reach, 0.66)], 0.075, 0.04, look.leg)
    wing = pen.at(0.1, -0.22, 1.0, turn=lift - spread + 0.55)
    wing.blob([(0, 0), (-0.3, -0.24), (-0.8, -0.3), (-1.0, -0.1), (-0.7, 0.1), (-0.25, 0.09)],
        (*look.wing, 205))
    vein = (*shade(look.wing, -0.3), 120)
    wing.stroke([(0, 0), (-0.4, -0.1), (-0.86, -0.12)], 0.03, 0.015, vein)


def fly(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = main_color(rng, tint, [(58, 60, 70), (70, 70, 76), (44, 52, 62), (40, 88, 84), (46, 74, 110)])
    band, bands = shade(coat, -0.35), 3
    chest = shade(vary(coat, rng, 4), -0.12)
    eye = vary(rng.choice([(176, 44, 40), (150, 40, 46), (196, 74, 44)]), rng)
    girth, look = 0.86, rng.uniform(0.16, 0.2)
    if rng.random() < 0.55:  # a hoverfly, which wears a bee's colours
        coat = tint or vary(mix((212, 158, 62), (120, 92, 62), rng.uniform(0, 0.7)), rng)
        band, bands = INK, rng.choice((3, 4))
        chest = vary(mix(coat, (96, 74, 56), rng.uniform(0.3, 0.7)), rng, 6)
        eye = mix(eye, (60, 36, 38), rng.uniform(0.3, 0.8))
        girth, look = rng.uniform(0.9, 1.05), rng.uniform(0.125, 0.17)
    wing = rng.choice([(222, 230, 236), (205, 214, 220), (226, 222, 212)])
    _insect(pen, rng, _Insect(coat, band, bands, chest, eye, look, girth, False, wing, INK))


def bee(pen: Pen, rng: Random, tint: Color | None) -> None:
    amber = vary(rng.choice([(236, 172, 52), (226, 152, 44), (240, 190, 80)]), rng)
    if rng.random() < 0.3:
        amber = vary((128, 92, 58), rng)
    coat = tint or amber
    chest = vary(mix(coat, (168, 116, 56), 0.35), rng, 6)
    band = INK if sum(coat) > 240 else (214, 176, 96)
    wing = rng.choice([(236, 240, 244), (226, 232, 240), (240, 234, 220)])
    bands = rng.choice((3, 3, 4))
    _insect(pen, rng, _Insect(coat, band, bands, chest, (40, 34, 40), rng.uniform(0.1, 0.135), 1.1, True,
        wing, INK))


def butterfly(pen: Pen, rng: Random, tint: Color | None) -> None:
    colours = [(232, 128, 44), (240, 196, 70), (92, 142, 208), (236, 232, 220), (196, 74, 60),
        (150, 104, 180)]
    wing = main_color(rng, tint, colours)
    rim = shade(wing, -0.72) if rng.random() < 0.75 else shade(wing, -0.35)
    dots = shade(wing, 0.6) if sum(wing) < 560 else shade(wing, -0.45)
    fold = rng.uniform(0.78, 1.0)
    top, low = rng.uniform(0.92, 1.08), rng.uniform(0.85, 1.1)
    body = pen.at(0, 0.02, 0.95, turn=rng.uniform(-0.1, 0.45))
    for side in (-1.0, 1.0):
        half = body.at(0.03 * side, 0, side * (fold if side < 0 else 1.0), 1.0)
        hind = [(0.02, 0.05), (0.45, 0.02), (0.72 * low, 0.3), (0.6 * low, 0.68 * low), (0.3, 0.72 * low),
            (0.1, 0.4)]
        fore = [(0.02, 0.08), (0.25, -0.45), (0.72 * top, -0.74 * top), (0.98 * top, -0.6), (0.86, -0.12),
            (0.5, 0.14)]
        for points, inner, cx, cy in ((hind, 0.78, 0.34, 0.3), (fore, 0.8, 0.45, -0.22)):
            half.blob(points, rim)
            half.blob([(cx + (x - cx) * inner - 0.04, cy + (y - cy) * inner) for x, y in points], wing)
        half.blob([(0.05, 0.0), (0.28, -0.4), (0.6, -0.5), (0.4, -0.12)], shade(wing, 0.25))
        half.disc(0.62, -0.3, 0.11, rim)
        half.disc(0.62, -0.3, 0.055, dots)
        half.disc(0.45, 0.42, 0.09, rim)
        half.disc(0.45, 0.42, 0.045, dots)
        half.disc(0.84 * top, -0.56, 0.045, dots)
        half.disc(0.8, -0.36, 0.035, dots)
        body.stroke([(0, -0.38), (0.1 * side, -0.62), (0.24 * side, -0.8)], 0.035, 0.03, INK, knob=0.035)
    body.blob([(0, -0.46), (0.08, -0.32), (0.07, 0.1), (0.03, 0.58), (-0.03, 0.58), (-0.07, 0.1),
        (-0.08, -0.32)], INK)
    body.stroke([(-0.02, -0.3), (-0.03, 0.1)], 0.04, 0.03, shade(INK, 0.35))


def ladybird(pen: Pen, rng: Random, tint: Color | None) -> None:
    shell = main_color(rng, tint, [(208, 48, 40), (208, 48, 40), (226, 104, 40), (232, 172, 52)])
    mark = INK if sum(shell) > 230 else (214, 64, 48)
    tall = rng.uniform(0.92, 1.1)
    for x, reach in ((-0.45, -0.2), (0.0, -0.02), (0.4, 0.2)):
        sway = rng.uniform(-0.06, 0.06)
        pen.stroke([(x, 0.25), (x + reach * 0.7, 0.45), (x + reach + sway, 0.62)], 0.09, 0.06, INK)
    for tip in (0.1, 0.24):
        pen.stroke([(0.7, 0.0), (0.78, -0.2), (0.8 + tip, -0.28 - tip * 0.3)], 0.045, 0.035, INK, knob=0.04)
    pen.disc(0.66, 0.16, 0.26, INK, ry=0.27)
    pen.disc(0.72, 0.08, 0.085, (238, 234, 224))
    pen.disc(0.745, 0.09, 0.04, INK)
    dome = pen.at(-0.08, 0.36, 1.0, tall)
    dome.blob([(-0.78, 0), (-0.72, -0.4), (-0.4, -0.74), (0.05, -0.82), (0.45, -0.62), (0.66, -0.2),
        (0.66, 0), (0.3, 0.07), (-0.4, 0.07)], shade(shell, -0.22))
    dome.blob([(-0.74, -0.06), (-0.68, -0.42), (-0.38, -0.74), (0.05, -0.82), (0.44, -0.6), (0.6, -0.2),
        (0.2, -0.05), (-0.4, -0.02)], shell)
    dome.blob([(-0.6, -0.42), (-0.36, -0.7), (0.06, -0.76), (-0.2, -0.62)], shade(shell, 0.4))
    dome.stroke([(0.3, -0.72), (0.0, -0.45), (-0.4, -0.34), (-0.74, -0.26)], 0.045, 0.03, shade(shell, -0.55))
    r = rng.uniform(0.1, 0.145)
    for x, y in ((-0.42, -0.16), (0.0, -0.22), (0.4, -0.3), (-0.5, -0.52), (-0.12, -0.62),
        (0.14, -0.56))[: rng.choice((4, 5, 6, 6))]:
        dome.disc(x + rng.uniform(-0.04, 0.04), y + rng.uniform(-0.03, 0.03), r, mark, ry=r * 0.9)
