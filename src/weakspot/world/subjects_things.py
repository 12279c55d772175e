"""Boat, car, mushroom and fence, and the props that only keep others company."""

# A shape reads better as a row of points.
# fmt: off
from __future__ import annotations

import math
from random import Random

from weakspot.world.canvas import Color, Pen, main_color, mix, shade, vary

INK: Color = (44, 38, 46)


def boat(pen: Pen, rng: Random, tint: Color | None) -> None:
    hull = main_color(rng, tint, [(178, 62, 52), (58, 96, 142), (232, 226, 212), (142, 96, 60),
        (70, 132, 116)])
    sheer = rng.uniform(-0.03, 0.06)
    if rng.random() < 0.65:
        sail = vary(rng.choice([(246, 240, 224), (246, 240, 224), (232, 176, 92), (206, 92, 76)]), rng, 5)
        belly = rng.uniform(0.02, 0.1)
        top = rng.uniform(-0.98, -0.86)
        pen.line(-0.06, 0.34, -0.06, top, 0.05, (120, 84, 56))
        pen.blob([(0.0, top + 0.06), (0.2 + belly, -0.4), (0.66, 0.2), (0.34, 0.24), (0.0, 0.22),
            (0.0, -0.2)], sail)
        pen.blob([(-0.12, top + 0.2), (-0.34, -0.24), (-0.62, 0.2), (-0.36, 0.23), (-0.12, 0.2),
            (-0.12, -0.2)], shade(sail, -0.14))
        pen.line(0.02, -0.1, 0.4 + belly, -0.1, 0.045, shade(sail, -0.25))
        pen.poly([(-0.06, top), (-0.3, top + 0.07), (-0.06, top + 0.14)], (206, 66, 56))
    else:
        cabin = vary((244, 238, 226), rng, 5)
        pen.line(0.42, 0.3, 0.42, -0.5, 0.035, (120, 84, 56))
        pen.poly([(0.42, -0.5), (0.68, -0.42), (0.42, -0.34)], (226, 170, 62))
        pen.poly([(-0.32, 0.34), (-0.32, -0.5), (-0.1, -0.5), (-0.1, 0.34)], shade(hull, -0.12))
        pen.rect(-0.34, -0.5, -0.08, -0.36, INK)
        pen.rect(-0.48, -0.12, 0.28, 0.36, cabin)
        pen.rect(-0.52, -0.18, 0.32, -0.1, shade(cabin, -0.25))
        for x in (-0.34, -0.1, 0.14):
            pen.disc(x, 0.08, 0.085, (104, 150, 178))
            pen.disc(x + 0.02, 0.06, 0.04, (190, 220, 228))
    pen.blob([(-0.86, 0.28), (-0.4, 0.32), (0.3, 0.32), (0.98, 0.16 - sheer), (0.9, 0.34), (0.66, 0.64),
        (0.2, 0.7), (-0.4, 0.7), (-0.7, 0.6)], hull)
    pen.blob([(-0.8, 0.46), (0.0, 0.53), (0.8, 0.46), (0.62, 0.66), (0.2, 0.7), (-0.4, 0.7), (-0.7, 0.6)],
        shade(hull, -0.3))
    pen.stroke([(-0.84, 0.3), (-0.2, 0.345), (0.4, 0.335), (0.96, 0.19 - sheer)], 0.06, 0.06,
        shade(hull, 0.6))


def car(pen: Pen, rng: Random, tint: Color | None) -> None:
    paint = main_color(rng, tint, [(198, 58, 50), (62, 112, 168), (236, 190, 74), (228, 224, 214),
        (86, 140, 112), (92, 92, 100)])
    glass = (176, 210, 222)
    kind = rng.choice(("hatch", "beetle", "saloon", "van"))
    roof = rng.uniform(-0.5, -0.42)
    if kind == "beetle":
        cabin = [(-0.72, 0.05), (-0.5, roof * 0.75), (-0.1, roof - 0.06), (0.28, roof * 0.7), (0.5, 0.05),
            (-0.1, 0.1)]
        pen.blob(cabin, paint)
    elif kind == "van":
        pen.blob([(-0.9, 0.1), (-0.88, roof - 0.04), (-0.6, roof - 0.1), (0.3, roof - 0.1),
            (0.52, roof + 0.1), (0.7, 0.1), (-0.1, 0.12)], paint)
    else:
        tail = -0.78 if kind == "hatch" else -0.56
        pen.poly([(tail - 0.06, 0.06), (tail + 0.12, roof), (0.14, roof), (0.46, 0.06)], paint)
        pen.disc(tail + 0.12, roof + 0.035, 0.05, paint)
        pen.disc(0.14, roof + 0.035, 0.05, paint)
    w = 0.06
    pen.poly([(-0.06, -0.02), (-0.06, roof + w), (0.12, roof + w), (0.36, -0.02)], glass)
    pen.poly([(-0.14, -0.02), (-0.14, roof + w), (-0.44, roof + w + 0.02), (-0.56, -0.02)],
        shade(glass, -0.12))
    pen.poly([(0.0, -0.02), (0.12, roof + w), (0.16, roof + w + 0.06), (0.1, -0.02)], shade(glass, 0.6))
    front = 0.98 if kind != "van" else 0.86
    pen.blob([(-0.96, 0.08), (-0.8, -0.04), (0.0, -0.04), (0.5, -0.03), (front - 0.08, 0.06), (front, 0.26),
        (front - 0.06, 0.42), (0.0, 0.42), (-0.92, 0.42)], paint)
    pen.blob([(-0.96, 0.28), (0.0, 0.27), (front, 0.28), (front - 0.06, 0.43), (0.0, 0.43), (-0.92, 0.43)],
        shade(paint, -0.26))
    pen.stroke([(-0.84, 0.06), (0.0, 0.04), (front - 0.2, 0.09)], 0.05, 0.03, shade(paint, 0.35))
    pen.line(-0.1, 0.0, -0.12, 0.36, 0.025, shade(paint, -0.35))
    pen.line(-0.26, 0.12, -0.16, 0.12, 0.035, shade(paint, -0.45))
    pen.disc(front - 0.07, 0.16, 0.07, (252, 240, 196))
    pen.disc(-0.93, 0.16, 0.05, (210, 70, 60))
    for x in (-0.55, 0.56):
        pen.disc(x, 0.42, 0.23, shade(paint, -0.55))
        pen.disc(x, 0.44, 0.2, INK)
        pen.disc(x, 0.44, 0.1, (206, 206, 202))
        pen.disc(x, 0.44, 0.04, (120, 120, 124))


def _toadstool(pen: Pen, rng: Random, cap: Color, spotted: bool, shape: float) -> None:
    stem = vary((240, 228, 204), rng, 6)
    lean = rng.uniform(-0.1, 0.1)
    thick = rng.uniform(0.85, 1.15)
    pen.blob([(-0.13 * thick + lean, -0.2), (0.13 * thick + lean, -0.2), (0.15 * thick, 0.3),
        (0.24 * thick, 0.72), (0.0, 0.8), (-0.24 * thick, 0.72), (-0.15 * thick, 0.3)], stem)
    pen.blob([(0.03 + lean, -0.2), (0.13 * thick + lean, -0.2), (0.15 * thick, 0.3), (0.24 * thick, 0.72),
        (0.08, 0.78), (0.08, 0.3)], shade(stem, -0.16))
    hat = pen.at(lean, -0.14, 1.0, turn=lean * 0.9)
    hat.disc(0, 0.06, 0.7, shade(stem, -0.2), ry=0.17)
    hat.disc(0, 0.08, 0.5, shade(stem, -0.34), ry=0.1)
    top = -0.56 * shape
    hat.blob([(-0.82, 0.05), (-0.68, top * 0.55), (-0.34, top * 0.95), (0.0, top * 1.08), (0.34, top * 0.95),
        (0.68, top * 0.55), (0.82, 0.05), (0.4, 0.02), (0.0, -0.02), (-0.4, 0.02)], cap)
    hat.blob([(0.1, top * 1.02), (0.4, top * 0.9), (0.68, top * 0.5), (0.8, 0.04), (0.5, 0.0),
        (0.46, top * 0.5)], shade(cap, -0.18))
    hat.blob([(-0.62, top * 0.5), (-0.36, top * 0.88), (-0.1, top * 1.0), (-0.3, top * 0.72)],
        shade(cap, 0.4))
    if spotted:
        for x, y, r in ((-0.46, 0.3, 0.09), (-0.08, 0.62, 0.12), (0.3, 0.36, 0.1), (0.0, 0.2, 0.075),
            (0.58, 0.22, 0.07), (-0.66, 0.08, 0.055), (-0.3, 0.8, 0.05), (0.36, 0.76, 0.07)):
            hat.disc(x + rng.uniform(-0.04, 0.04), top * y, r, (248, 242, 228), ry=r * 0.8)
    pen.blob([(lean - 0.14 * thick, 0.08), (lean + 0.14 * thick, 0.08), (lean + 0.21 * thick, 0.2),
        (lean, 0.25), (lean - 0.21 * thick, 0.2)], shade(stem, 0.45))


def mushroom(pen: Pen, rng: Random, tint: Color | None) -> None:
    spotted = rng.random() < 0.55
    caps = [(204, 54, 44), (214, 72, 48)] if spotted else [(158, 104, 62), (196, 146, 92), (128, 84, 62),
        (220, 188, 140)]
    cap = main_color(rng, tint, caps)
    shape = rng.uniform(0.85, 1.3)
    if rng.random() < 0.4:
        _toadstool(pen.at(rng.choice((-0.56, 0.56)), 0.36, 0.46), rng, shade(cap, 0.08), spotted, shape * 1.1)
    _toadstool(pen.at(0, 0.0, 0.98), rng, cap, spotted, shape)


def chain_link(pen: Pen, rng: Random, wire: Color, step: float, width: float, posts: int) -> None:
    """Diamond mesh over a square of three units around the origin, with a rail and posts."""
    shift = rng.uniform(0, step)
    light = shade(wire, 0.35)
    n = int(3.2 / step) + 1
    for i in range(n):
        x = -1.6 + i * step + shift
        pen.line(x - 0.8, -1.4, x + 0.8, 1.4, width, wire)
    for i in range(n):
        x = -1.6 + i * step + shift
        pen.line(x + 0.8, -1.4, x - 0.8, 1.4, width, light)
    for i in range(posts):
        x = -1.0 + (2 * i + 1) / posts + (rng.uniform(-0.1, 0.1) if posts > 1 else rng.choice((-0.7, 0.7)))
        pen.rect(x - width * 2.2, -1.5, x + width * 2.2, 1.5, shade(wire, -0.2))
        pen.rect(x - width * 1.6, -1.5, x - width * 0.4, 1.5, light)


def pickets(pen: Pen, rng: Random, wood: Color, step: float, top: float) -> None:
    """Pointed boards and two rails over the width of the picture, from `top` downwards."""
    dark = shade(wood, -0.3)
    for y in (top + 0.34, top + 1.1):
        pen.rect(-1.6, y, 1.6, y + 0.13, dark)
    x = -1.6 + rng.uniform(0, step)
    while x < 1.6:
        w = step * rng.uniform(0.27, 0.31)
        tip = top + rng.uniform(-0.03, 0.03)
        color = vary(wood, rng, 6)
        pen.poly([(x - w, tip + 0.14), (x, tip), (x + w, tip + 0.14), (x + w, 1.6), (x - w, 1.6)], color)
        pen.poly([(x + w * 0.5, tip + 0.07), (x + w, tip + 0.14), (x + w, 1.6), (x + w * 0.5, 1.6)],
            shade(color, -0.14))
        x += step


def netting(pen: Pen, rng: Random, tint: Color | None) -> None:
    """Fine square mesh over a picture one unit wide, straight or on its corner, sagging a little."""
    cord = main_color(rng, tint, [(196, 202, 196), (112, 140, 122), (140, 146, 148), (84, 112, 96)])
    step, sag = rng.uniform(0.062, 0.078), rng.uniform(0.01, 0.03)
    frame = pen.at(0, 0, 1.0, turn=rng.uniform(-0.12, 0.12) + rng.choice((0.0, 0.785)))
    n = int(0.75 / step)
    for i in range(-n, n + 1):
        t = i * step
        bow = sag * math.sin(i * 0.7)
        frame.stroke([(t, -0.75), (t + bow, 0.0), (t, 0.75)], 0.0075, 0.0075, cord)
        frame.stroke([(-0.75, t), (0.0, t + bow), (0.75, t)], 0.0075, 0.0075, shade(cord, -0.15))


def fence(pen: Pen, rng: Random, tint: Color | None) -> None:
    """Unlike other subjects, drawn in a frame where the picture runs from -1 to 1."""
    kind = rng.random()
    if kind < 0.3:
        netting(pen.at(0, 0, 2.1), rng, tint)
        post = vary((126, 112, 96), rng)
        for x in rng.choice(((-0.85,), (0.85,), (-0.85, 0.85))):
            pen.rect(x - 0.035, -1.4, x + 0.035, 1.4, post)
            pen.rect(x - 0.02, -1.4, x - 0.005, 1.4, shade(post, 0.35))
    elif kind < 0.75:
        wire = main_color(rng, tint, [(150, 154, 158), (176, 178, 178), (118, 124, 124), (92, 124, 104)])
        chain_link(pen, rng, wire, rng.uniform(0.22, 0.34), rng.uniform(0.024, 0.042), rng.choice((1, 1, 2)))
        if rng.random() < 0.5:
            pen.rect(-1.6, -0.86, 1.6, -0.76, shade(wire, -0.15))
            pen.rect(-1.6, -0.845, 1.6, -0.82, shade(wire, 0.4))
    else:
        wood = main_color(rng, tint, [(176, 130, 86), (236, 230, 216), (140, 104, 76), (150, 148, 142)])
        pickets(pen, rng, wood, rng.uniform(0.34, 0.46), rng.uniform(-0.85, -0.6))


def ball(pen: Pen, rng: Random, tint: Color | None) -> None:
    color = main_color(rng, tint, [(208, 62, 54), (60, 112, 178), (240, 190, 66), (108, 160, 90)])
    pen.disc(0, 0, 0.74, shade(color, -0.2))
    pen.disc(-0.06, -0.07, 0.66, color)
    pen.stroke([(-0.6, 0.3), (0.0, 0.1), (0.62, 0.28)], 0.2, 0.2, (246, 240, 226))
    pen.disc(-0.26, -0.36, 0.14, shade(color, 0.6), ry=0.1, turn=-0.6)


def tree(pen: Pen, rng: Random, tint: Color | None) -> None:
    leaf = main_color(rng, tint, [(88, 134, 74), (66, 114, 74), (128, 150, 74), (198, 138, 62)])
    pen.blob([(-0.1, 0.0), (0.1, 0.0), (0.12, 0.6), (0.22, 0.95), (-0.22, 0.95), (-0.12, 0.6)], (116, 82, 58))
    for x, y, r, k in ((-0.36, 0.0, 0.42, -0.2), (0.38, 0.02, 0.4, -0.26), (0.0, -0.2, 0.56, -0.06),
        (-0.16, -0.46, 0.38, 0.08), (0.22, -0.4, 0.3, 0.16)):
        pen.disc(x + rng.uniform(-0.05, 0.05), y + rng.uniform(-0.05, 0.05), r, shade(leaf, k))


def cup(pen: Pen, rng: Random, tint: Color | None) -> None:
    color = main_color(rng, tint, [(232, 226, 212), (92, 140, 176), (206, 96, 80), (226, 186, 96)])
    handle = [(0.44, -0.24), (0.86, -0.26), (0.84, 0.24), (0.38, 0.28)]
    pen.stroke(handle, 0.13, 0.13, shade(color, -0.14))
    pen.blob([(-0.56, -0.46), (0.56, -0.46), (0.5, 0.2), (0.34, 0.62), (0.0, 0.68), (-0.34, 0.62),
        (-0.5, 0.2)], color)
    pen.blob([(0.2, -0.4), (0.56, -0.46), (0.5, 0.2), (0.34, 0.62), (0.1, 0.66), (0.3, 0.2)],
        shade(color, -0.16))
    pen.disc(0, -0.46, 0.57, shade(color, 0.3), ry=0.15)
    pen.disc(0, -0.44, 0.48, (112, 74, 52), ry=0.1)


def bottle(pen: Pen, rng: Random, tint: Color | None) -> None:
    color = main_color(rng, tint, [(72, 122, 84), (112, 82, 54), (96, 140, 160)])
    pen.blob([(-0.28, 0.9), (-0.3, 0.1), (-0.26, -0.12), (-0.12, -0.34), (-0.1, -0.86), (0.1, -0.86),
        (0.12, -0.34), (0.26, -0.12), (0.3, 0.1), (0.28, 0.9), (0.0, 0.94)], color)
    pen.rect(-0.13, -0.96, 0.13, -0.8, (214, 176, 116))
    pen.stroke([(-0.19, 0.8), (-0.21, 0.0), (-0.06, -0.3), (-0.05, -0.7)], 0.07, 0.03, shade(color, 0.5))
    pen.rect(-0.29, 0.2, 0.29, 0.62, (240, 232, 212))
    pen.rect(-0.2, 0.34, 0.2, 0.42, mix(color, (200, 70, 60), 0.6))
