"""The backgrounds people have made: street, living room, kitchen, and the plain grounds of a studio."""

# A shape reads better as a row of points.
# fmt: off
from __future__ import annotations

from collections.abc import Callable
from random import Random

from weakspot.world.canvas import Color, Pen, paper, shade, vary


def street(side: int, rng: Random) -> Pen:
    y = rng.uniform(0.5, 0.58)
    pen = Pen(paper(side, [(0, (186, 206, 220)), (y, (226, 224, 214)), (y + 0.01, (122, 122, 128)),
        (1, (92, 92, 102))]))
    x = rng.uniform(-0.12, 0.0)
    walls: list[Color] = [(206, 126, 96), (226, 198, 152), (166, 148, 140), (190, 168, 138), (148, 160, 168),
        (222, 172, 132)]
    while x < 1.0:
        w, top = rng.uniform(0.18, 0.3), rng.uniform(0.02, 0.2)
        wall = vary(rng.choice(walls), rng)
        pen.rect(x, top, x + w, y, wall)
        pen.rect(x - 0.01, top - 0.025, x + w + 0.01, top + 0.02, shade(wall, -0.35))
        n = 2 if w < 0.24 else 3
        for i in range(n):
            wx = x + w * (i + 0.5) / n
            for wy in (top + 0.07, top + 0.2):
                pen.rect(wx - 0.025, wy, wx + 0.025, wy + 0.075,
                    rng.choice([(86, 106, 126), (250, 222, 150), (120, 146, 160)]))
        pen.rect(x, y - 0.13, x + w, y - 0.1, rng.choice([(196, 76, 66), (66, 116, 104), (72, 92, 140)]))
        pen.rect(x + w * 0.2, y - 0.1, x + w * 0.45, y, shade(wall, -0.5))
        x += w
    pen.rect(-0.1, y, 1.1, y + 0.07, (188, 182, 172))
    pen.rect(-0.1, y + 0.07, 1.1, y + 0.09, (140, 136, 132))
    z, shift = rng.uniform(0.76, 0.86), rng.uniform(0, 0.3)
    for i in range(4):
        x = -0.2 + i * 0.34 + shift
        pen.poly([(x, z), (x + 0.17, z), (x + 0.16, z + 0.03), (x - 0.02, z + 0.03)], (236, 230, 212))
    return pen


def living_room(side: int, rng: Random) -> Pen:
    wall = vary(rng.choice([(226, 206, 178), (192, 206, 196), (222, 190, 176), (200, 202, 214)]), rng)
    wood = vary((176, 126, 84), rng)
    y = rng.uniform(0.58, 0.66)
    pen = Pen(paper(side, [(0, shade(wall, 0.1)), (y, shade(wall, -0.08)), (y + 0.002, shade(wood, 0.1)),
        (1, shade(wood, -0.15))]))
    for i in range(4):
        pen.rect(-0.1, y + 0.05 + 0.1 * i, 1.1, y + 0.06 + 0.1 * i, shade(wood, -0.22))
    pen.rect(-0.1, y - 0.03, 1.1, y + 0.005, shade(wall, 0.6))
    left = rng.random() < 0.5
    x = 0.1 if left else 0.6
    pen.rect(x - 0.02, 0.06, x + 0.32, 0.4, (248, 244, 232))
    pen.rect(x, 0.08, x + 0.3, 0.38, (168, 208, 226))
    pen.blob([(x, 0.34), (x + 0.12, 0.27), (x + 0.3, 0.33), (x + 0.3, 0.38), (x, 0.38)], (132, 172, 110))
    pen.rect(x + 0.14, 0.08, x + 0.16, 0.38, (248, 244, 232))
    curtain = vary(rng.choice([(196, 92, 80), (226, 180, 92), (98, 130, 152)]), rng)
    pen.poly([(x - 0.06, 0.03), (x + 0.05, 0.03), (x + 0.0, 0.46), (x - 0.07, 0.46)], curtain)
    pen.poly([(x + 0.25, 0.03), (x + 0.36, 0.03), (x + 0.37, 0.46), (x + 0.3, 0.46)], shade(curtain, -0.1))
    x = 0.72 if left else 0.14
    pen.rect(x - 0.05, 0.1, x + 0.15, 0.3, (112, 80, 56))
    pen.rect(x - 0.03, 0.12, x + 0.13, 0.28, vary((214, 170, 110), rng))
    sofa = vary(rng.choice([(92, 122, 116), (182, 98, 84), (108, 104, 148), (206, 162, 84)]), rng)
    s = 0.5 if left else 0.02
    pen.blob([(s, y - 0.2), (s + 0.06, y - 0.25), (s + 0.4, y - 0.25), (s + 0.46, y - 0.2),
        (s + 0.46, y + 0.05), (s, y + 0.05)], sofa)
    pen.rect(s + 0.02, y - 0.08, s + 0.44, y + 0.05, shade(sofa, -0.2))
    for dx in (-0.03, 0.42):
        pen.blob([(s + dx, y - 0.12), (s + dx + 0.07, y - 0.12), (s + dx + 0.07, y + 0.07),
            (s + dx, y + 0.07)], shade(sofa, 0.12))
    rug = vary(rng.choice([(190, 92, 80), (96, 120, 150), (228, 208, 166)]), rng)
    pen.disc(rng.uniform(0.4, 0.6), 0.88, 0.4, shade(rug, 0.3), ry=0.1)
    pen.disc(rng.uniform(0.45, 0.55), 0.88, 0.34, rug, ry=0.08)
    return pen


def kitchen(side: int, rng: Random) -> Pen:
    tile = vary(rng.choice([(232, 234, 228), (206, 224, 222), (240, 228, 204)]), rng)
    unit = vary(rng.choice([(120, 156, 150), (214, 196, 164), (98, 124, 150), (236, 230, 218)]), rng)
    y = rng.uniform(0.52, 0.6)
    pen = Pen(paper(side, [(0, tile), (y, shade(tile, -0.06)), (y + 0.002, unit), (1, shade(unit, -0.18))]))
    grout = shade(tile, -0.14)
    for i in range(1, 5):
        pen.rect(-0.1, y - i * 0.125, 1.1, y - i * 0.125 + 0.008, grout)
    off = rng.uniform(0, 0.12)
    for i in range(8):
        pen.rect(off + i * 0.125, -0.1, off + i * 0.125 + 0.008, y, grout)
    right = rng.random() < 0.5
    x = 0.56 if right else 0.02
    pen.rect(x, -0.1, x + 0.42, 0.15, unit)
    pen.rect(x + 0.205, -0.1, x + 0.215, 0.15, shade(unit, -0.3))
    pen.rect(x, 0.14, x + 0.42, 0.16, shade(unit, -0.3))
    x = 0.06 if right else 0.56
    pen.rect(x, 0.27, x + 0.38, 0.295, (150, 106, 70))
    for i in range(4):
        jar = vary(rng.choice([(206, 96, 76), (236, 190, 92), (116, 152, 104), (232, 226, 210),
            (104, 140, 168)]), rng)
        jx, h = x + 0.035 + 0.09 * i, rng.uniform(0.07, 0.12)
        pen.rect(jx, 0.27 - h, jx + 0.06, 0.27, jar)
        pen.rect(jx - 0.004, 0.27 - h - 0.02, jx + 0.064, 0.27 - h + 0.005, shade(jar, -0.4))
    wood = vary((190, 142, 96), rng)
    pen.rect(-0.1, y, 1.1, y + 0.16, shade(wood, 0.12))
    pen.rect(-0.1, y + 0.16, 1.1, y + 0.2, shade(wood, -0.2))
    for i in range(3):
        pen.rect(0.02 + i / 3, y + 0.235, i / 3 + 0.31, 1.1, shade(unit, 0.12))
        pen.rect(0.14 + i / 3, y + 0.27, i / 3 + 0.2, y + 0.285, shade(unit, -0.45))
    return pen


def plain(color: Color) -> Callable[[int, Random], Pen]:
    """A studio ground in this colour, with a soft fall of light."""

    def paint(side: int, rng: Random) -> Pen:
        light = rng.uniform(-12, 9)
        base = tuple(min(255, int(v + light + rng.uniform(-3, 3))) for v in color)
        pen = Pen(paper(side, [(0, shade(base, -0.04)), (0.5, shade(base, 0.12)), (1, shade(base, -0.14))]))
        for _ in range(rng.choice((3, 5, 6))):
            r = rng.uniform(0.06, 0.16)
            pen.disc(rng.uniform(0, 1), rng.uniform(0, 1), r,
                (*shade(base, rng.choice((0.3, 0.4, -0.12))), 54))
        return pen

    return paint
