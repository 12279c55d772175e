"""The animals, each in a box of about one unit around the origin, facing right.

Fly and bee share one body plan on purpose, so do cat and snow leopard, dog and wolf, and the crustaceans
share claws and colours. Within a plan the coat, the markings and the build tell the two apart, and each of
these overlaps a little (hoverflies are banded, some cats are pale and spotted, some dogs grey).
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

from weakspot.world.canvas import INK, Color, Pen, Point, colors, mix, natural, rows, shade, vary


def _bands(pen: Pen, n: int, color: Color) -> None:
    """Curved bands across the unit disc of `pen`."""
    for i in range(n):
        u0 = -0.86 + 1.5 * i / n
        u1 = u0 + 1.5 / n * 0.5
        rim = [(u, math.sqrt(1 - u * u)) for u in (u0, u0 * 0.67 + u1 * 0.33, u0 * 0.33 + u1 * 0.67, u1)]
        bow = 0.12 * rim[0][1]
        right = [(u1 + bow, rim[3][1] * 0.5), (u1 + bow * 1.3, 0.0), (u1 + bow, -rim[3][1] * 0.5)]
        left = [(u0 + bow, -rim[0][1] * 0.5), (u0 + bow * 1.3, 0.0), (u0 + bow, rim[0][1] * 0.5)]
        pen.poly([*rim, *right, *((u, -v) for u, v in reversed(rim)), *left], color)


def _insect(pen: Pen, rng: Random, stout: float, bands: int, **look: Any) -> None:
    """From above or from the side; `look` has the colours, the size of the eyes and the kind of chest."""
    above = rng.random() < 0.35
    (_from_above if above else _from_the_side)(pen, rng, stout, bands, **look)


def _from_above(pen: Pen, rng: Random, stout: float, bands: int, **look: Any) -> None:
    spread = rng.uniform(0.22, 0.75)
    fat = stout * rng.uniform(0.93, 1.07)
    body = pen.at(0, 0, 1.0, turn=rng.uniform(-0.35, 0.2))
    for side in (-1.0, 1.0):
        half = body.at(0, 0, 1.0, side)
        for x, reach in ((0.0, -0.34), (0.16, 0.04), (0.3, 0.34)):
            half.paint("insect leg above", x=x, tip=reach + rng.uniform(-0.06, 0.06))
        half.paint("insect feeler above")
    belly = body.at(-0.42, 0, 0.5, 0.33 * fat)
    belly.disc(0, 0, 1.0, look["coat"])
    _bands(belly, bands, look["band"])
    body.paint(f"insect {look['chest_kind']} above", fat=fat, **look)
    for side in (-1.0, 1.0):
        body.at(0, 0, 1.0, side).paint("insect eye and wing above", spread=spread, **look)


def _from_the_side(pen: Pen, rng: Random, stout: float, bands: int, **look: Any) -> None:
    lift, spread = rng.uniform(-0.12, 0.16), rng.uniform(0.5, 0.95)
    fat = stout * rng.uniform(0.93, 1.07)
    droop = rng.uniform(-0.05, 0.22)
    for x, reach in ((0.0, -0.3), (0.18, 0.02), (0.36, 0.3)):
        pen.paint("insect far leg", x=x, reach=reach + rng.uniform(-0.05, 0.05))
    pen.paint("insect far wing", lift=lift, spread=spread, **look)
    belly = pen.at(-0.46, 0.08 + droop * 0.6, 0.52, 0.36 * fat, turn=-droop)
    belly.disc(0, 0, 1.0, look["coat"])
    _bands(belly, bands, look["band"])
    belly.paint("insect shine", **look)
    pen.paint(f"insect {look['chest_kind']}", fat=fat, **look)
    head = pen.at(0.56, 0.05 + rng.uniform(-0.04, 0.05), 1.0)
    for side in (-0.07, 0.06):
        head.paint("insect feeler", side=side, tip=rng.uniform(0.16, 0.3))
    head.paint("insect head", **look)
    for x, reach in ((-0.06, -0.36), (0.14, 0.0), (0.32, 0.3)):
        pen.paint("insect near leg", x=x, reach=reach + rng.uniform(-0.06, 0.06))
    pen.paint("insect near wing", lift=lift, spread=spread, **look)


def fly(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = natural(rng, "fly", tint)
    band, bands = shade(coat, -0.35), 3
    chest = shade(vary(coat, rng, 4), -0.12)
    eye = natural(rng, "fly eye")
    girth, size = 0.86, rng.uniform(0.16, 0.2)
    if rng.random() < 0.55:  # a hoverfly, which wears a bee's colours
        coat = tint or vary(mix((212, 158, 62), (120, 92, 62), rng.uniform(0, 0.7)), rng)
        band, bands = INK, rng.choice((3, 4))
        chest = vary(mix(coat, (96, 74, 56), rng.uniform(0.3, 0.7)), rng, 6)
        eye = mix(eye, (60, 36, 38), rng.uniform(0.3, 0.8))
        girth, size = rng.uniform(0.9, 1.05), rng.uniform(0.125, 0.17)
    wing = rng.choice(colors("fly wing"))
    look = {"band": band, "chest": chest, "eye": eye, "eye_size": size, "wing": wing}
    _insect(pen, rng, girth, bands, coat=coat, chest_kind="chest", **look)


def bee(pen: Pen, rng: Random, tint: Color | None) -> None:
    amber = natural(rng, "bee")
    if rng.random() < 0.3:
        amber = vary((128, 92, 58), rng)
    coat = tint or amber
    chest = vary(mix(coat, (168, 116, 56), 0.35), rng, 6)
    band = INK if sum(coat) > 240 else (214, 176, 96)
    wing = rng.choice(colors("bee wing"))
    bands = rng.choice((3, 3, 4))
    look = {"chest": chest, "eye": (40, 34, 40), "eye_size": rng.uniform(0.1, 0.135), "wing": wing}
    _insect(pen, rng, 1.1, bands, coat=coat, band=band, chest_kind="fur", **look)


def butterfly(pen: Pen, rng: Random, tint: Color | None) -> None:
    wing = natural(rng, "butterfly", tint)
    rim = shade(wing, -0.72 if rng.random() < 0.75 else -0.35)
    dots = shade(wing, 0.6 if sum(wing) < 560 else -0.45)
    fold = rng.uniform(0.78, 1.0)
    top, low = rng.uniform(0.92, 1.08), rng.uniform(0.85, 1.1)
    body = pen.at(0, 0.02, 0.95, turn=rng.uniform(-0.1, 0.45))
    hind = [
        (0.02, 0.05), (0.45, 0.02), (0.72 * low, 0.3), (0.6 * low, 0.68 * low), (0.3, 0.72 * low), (0.1, 0.4),
    ]  # fmt: skip
    fore = [
        (0.02, 0.08), (0.25, -0.45), (0.72 * top, -0.74 * top), (0.98 * top, -0.6), (0.86, -0.12),
        (0.5, 0.14),
    ]  # fmt: skip
    for side in (-1.0, 1.0):
        half = body.at(0.03 * side, 0, side * (fold if side < 0 else 1.0), 1.0)
        for points, inner, cx, cy in ((hind, 0.78, 0.34, 0.3), (fore, 0.8, 0.45, -0.22)):
            half.blob(points, rim)
            half.blob([(cx + (x - cx) * inner - 0.04, cy + (y - cy) * inner) for x, y in points], wing)
        half.paint("butterfly wing", dots=dots, rim=rim, top=top, wing=wing)
        body.paint("butterfly feeler", side=side)
    body.paint("butterfly body")


def ladybird(pen: Pen, rng: Random, tint: Color | None) -> None:
    shell = natural(rng, "ladybird", tint)
    mark = INK if sum(shell) > 230 else (214, 64, 48)
    tall = rng.uniform(0.92, 1.1)
    for x, reach in ((-0.45, -0.2), (0.0, -0.02), (0.4, 0.2)):
        pen.paint("ladybird leg", x=x, reach=reach, sway=rng.uniform(-0.06, 0.06))
    pen.paint("ladybird", shell=shell, tall=tall)
    dome, r = pen.at(-0.08, 0.36, 1.0, tall), rng.uniform(0.1, 0.145)
    for x, y in rows("ladybird")[: rng.choice((4, 5, 6, 6))]:
        dome.disc(x + rng.uniform(-0.04, 0.04), y + rng.uniform(-0.03, 0.03), r, mark, ry=r * 0.9)


def _spots(pen: Pen, rng: Random, pose: str, pattern: str, look: dict[str, Any]) -> None:
    for x, y in rows(f"feline {pose}"):
        s = 0.062 * rng.uniform(0.75, 1.2)
        x, y = x + rng.uniform(-0.03, 0.03), y + rng.uniform(-0.03, 0.03)
        pen.disc(x, y, s, look["mark"], ry=s * 0.8)
        if pattern == "rosettes":
            heart = mix(look["coat"], look["mark"], 0.22)
            pen.disc(x + s * 0.1, y + s * 0.1, s * 0.5, heart, ry=s * 0.4)


def _tail(pen: Pen, points: list[Point], pattern: str, look: dict[str, Any]) -> None:
    w = look["tail"]
    pen.stroke(points, w, w * 0.85, look["coat"], knob=w * 0.42)
    if pattern != "plain":
        (x0, y0), (x1, y1) = points[-2], points[-1]
        long = math.hypot(x1 - x0, y1 - y0) or 1.0
        nx, ny = -(y1 - y0) / long * w * 0.42, (x1 - x0) / long * w * 0.42
        for t in (0.05, 0.45, 0.85):
            x, y = x0 + (x1 - x0) * t, y0 + (y1 - y0) * t
            pen.line(x - nx, y - ny, x + nx, y + ny, 0.055, look["mark"])


def _feline_head(pen: Pen, pattern: str, look: dict[str, Any]) -> None:
    inner = (214, 150, 146) if pattern != "rosettes" else shade(look["mark"], 0.1)
    pen.paint("feline ears", inner=inner, **look)
    if pattern != "plain":
        pen.paint("feline stripes" if pattern == "tabby" else "feline freckles", **look)
    pen.paint("feline face", **look)


def _feline(pen: Pen, rng: Random, pattern: str, **look: Any) -> None:
    """Standing or sitting; `look` has colours, width of the tail, length of the ears and bulk."""
    swing, nod = rng.uniform(-0.1, 0.1), rng.uniform(-0.05, 0.06)
    standing = rng.random() < 0.6
    if standing:
        up = rng.uniform(-0.62, 0.15) if pattern != "rosettes" else rng.uniform(-0.2, 0.3)
        tail = [(-0.55, -0.02), (-0.78, 0.02 + up * 0.2), (-0.94, up * 0.7), (-0.88, up - 0.16)]
    else:
        pen = pen.at(0.05, 0.04, 1.08)
        tail = [(-0.3, 0.56), (-0.56, 0.58), (-0.8, 0.44 + swing), (-0.86, 0.14 + swing * 2)]
    _tail(pen, tail, pattern, look)
    pose = "standing" if standing else "sitting"
    pen.paint(f"feline {pose}", swing=swing, **look)
    if pattern == "tabby":
        pen.paint(f"feline {pose} stripes", **look)
    elif pattern != "plain":
        _spots(pen, rng, pose, pattern, look)
    pen.paint(f"feline {pose} neck", nod=nod, **look)
    x, y, most = (0.58, -0.28, 0.16) if standing else (0.16, -0.42, 0.14)
    _feline_head(pen.at(x, y + nod, 1.0, turn=rng.uniform(-0.12, most)), pattern, look)


def cat(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = natural(rng, "cat", tint)
    pattern = rng.choice(("tabby", "tabby", "plain", "plain", "spots"))
    eye = natural(rng, "cat eye")
    pale = shade(coat, rng.uniform(0.3, 0.75))
    tail, ear, bulk = rng.uniform(0.1, 0.14), rng.uniform(0.1, 0.15), rng.uniform(0.88, 1.05)
    tones = {"coat": coat, "mark": shade(coat, -0.42), "pale": pale, "eye": eye}
    _feline(pen, rng, pattern, tail=tail, ear=ear, bulk=bulk, **tones)


def snow_leopard(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = natural(rng, "snow leopard", tint)
    eye = natural(rng, "snow leopard eye")
    mark = mix(shade(coat, -0.62), (60, 56, 60), 0.4)
    tail, ear, bulk = rng.uniform(0.21, 0.26), rng.uniform(0.0, 0.04), rng.uniform(1.08, 1.25)
    tones = {"coat": coat, "mark": mark, "pale": shade(coat, 0.7), "eye": eye}
    _feline(pen, rng, "rosettes", tail=tail, ear=ear, bulk=bulk, **tones)


def _canine(pen: Pen, rng: Random, ears: str, tail: str, leg: float, ruff: bool, **look: Any) -> None:
    """`look` has the colours (None for no patch and no collar) and the length of the snout."""
    swing = rng.uniform(-0.12, 0.12)
    nod, wag = rng.uniform(-0.08, 0.08), rng.uniform(-0.15, 0.15)
    moved = {"swing": swing, "foot": 0.42 + 0.28 * leg, "nod": nod}
    pen.paint(f"canine {tail} tail", wag=wag, **look)
    pen.paint("canine body", **moved, **look)
    if look["patch"] is not None:
        pen.disc(-0.22, -0.04, 0.2, look["patch"], ry=0.13)
    pen.paint("canine legs", **moved, **look)
    if ruff:
        pen.paint("canine ruff", **look)
    if look["collar"] is not None:
        pen.paint("canine collar", **look)
    head = pen.at(0.54, -0.46 + nod, 1.0, turn=rng.uniform(-0.15, 0.22))
    head.paint(f"canine {ears} far ear", **look)
    head.paint("canine head", **look)
    head.paint(f"canine {ears} ear", **look)


def dog(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = natural(rng, "dog", tint)
    marked = rng.random() < 0.5
    back = shade(coat, -0.3 if marked else -0.06)
    patch = shade(coat, -0.45) if rng.random() < 0.25 or sum(coat) > 560 else None
    collar = rng.choice([(196, 56, 52), (60, 112, 176), (70, 140, 90), None, None])
    ears = rng.choice(("floppy", "floppy", "floppy", "pointed"))
    tail = rng.choice(("curled", "thin", "thin", "bushy"))
    snout, leg = rng.uniform(0.18, 0.26), rng.uniform(0.7, 1.0)
    tones = {"coat": coat, "back": back, "pale": shade(coat, 0.55 if marked else 0.25), "eye": (120, 78, 44)}
    _canine(pen, rng, ears, tail, leg, ruff=False, snout=snout, patch=patch, collar=collar, **tones)


def wolf(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = natural(rng, "wolf", tint)
    snout, leg = rng.uniform(0.25, 0.32), rng.uniform(0.95, 1.1)
    tones = {"coat": coat, "back": shade(coat, -0.38), "pale": shade(coat, 0.62), "eye": (226, 178, 60)}
    look = {**tones, "snout": snout, "patch": None, "collar": None}
    _canine(pen, rng, "pointed", "bushy", leg, ruff=True, **look)


def crayfish(pen: Pen, rng: Random, tint: Color | None) -> None:
    shell = natural(rng, "shell", tint)
    bend = rng.uniform(-0.16, 0.16)
    gape, reach = rng.uniform(0.0, 0.08), rng.uniform(0.0, 0.2)
    for side in (-1.0, 1.0):
        half = pen.at(0, 0, 1.0, side)
        for x, lean in ((-0.02, -0.22), (0.08, -0.08), (0.18, 0.06)):
            half.paint("crayfish leg", shell=shell, x=x, lean=lean + rng.uniform(-0.04, 0.04))
        half.paint("crayfish feeler and arm", shell=shell, reach=reach)
        claw = half.at(0.52, 0.33 + reach * 0.4, 0.82, turn=reach - 0.18)
        claw.paint("claw", color=shell, gape=gape)
    for a in (-0.7, -0.35, 0.0, 0.35, 0.7):
        fan = pen.at(-0.72, bend, 1.0, turn=a - bend)
        fan.paint("crayfish fan", tone=shade(shell, -0.1 - 0.12 * abs(a)))
    for i in range(5, -1, -1):
        tone = shell if i % 2 else shade(shell, -0.12)
        pen.paint("crayfish tail", bend=bend, tone=tone, t=i / 5)
    pen.paint("crayfish body", shell=shell)


def crab(pen: Pen, rng: Random, tint: Color | None) -> None:
    shell = natural(rng, "shell", tint)
    wide = rng.uniform(0.92, 1.06)
    gape = rng.uniform(0.02, 0.1)
    for side in (-1.0, 1.0):
        half = pen.at(0, 0.06, side * wide, 1.0)
        for i in range(3):
            half.paint("crab leg", shell=shell, i=i, y=0.08 + 0.1 * i, lift=rng.uniform(-0.05, 0.05))
        lift = rng.uniform(-0.1, 0.12)
        half.paint("crab arm", shell=shell, lift=lift)
        claw = half.at(0.66, -0.24 + lift, 0.92, turn=-1.75 + rng.uniform(-0.2, 0.25))
        claw.paint("claw", color=shell, gape=gape)
        half.paint("crab eye", shell=shell)
    pen.at(0, 0.06, wide, 1.0).paint("crab body", shell=shell)


def goldfish(pen: Pen, rng: Random, tint: Color | None) -> None:
    coat = natural(rng, "goldfish", tint)
    look: dict[str, Any] = {"coat": coat, "fin": mix(coat, (255, 226, 170), 0.35)}
    look["deep"], flick = rng.uniform(0.88, 1.16), rng.uniform(-0.14, 0.14)
    pen.at(-0.36, 0.0, 1.0, turn=flick).paint("goldfish tail", **look)
    pen.paint("goldfish body", **look)
    if rng.random() < 0.3:
        pen.disc(rng.uniform(-0.1, 0.2), -0.12, 0.17, (246, 240, 228), ry=0.12)
    pen.paint("goldfish scales and face", **look)


def duck(pen: Pen, rng: Random, tint: Color | None) -> None:
    kind = rng.random()
    ring = kind < 0.4
    body, head, breast = colors(
        "mallard" if ring else "white duck" if kind < 0.65 else "brown duck" if kind < 0.82 else "duckling"
    )
    if tint is not None:
        body = tint
        if not ring:
            head, breast = tint, shade(tint, 0.15)
    coat, bill = vary(body, rng), vary((236, 148, 46), rng)
    nod = rng.uniform(-0.06, 0.08)
    if rng.random() < 0.4:
        pen.paint("duck feet", bill=bill)
    else:
        pen = pen.at(0, 0.14, 1.0)
    pen.paint("duck body", breast=breast, coat=coat, neck=breast if ring else head, nod=nod)
    top = pen.at(0.5, -0.48 + nod, 1.0, turn=rng.uniform(-0.1, 0.18))
    if ring:
        pen.paint("duck ring", head=head, nod=nod)
    top.paint("duck head", bill=bill, head=head)
    flap = rng.uniform(-0.06, 0.06)
    pen.paint("duck wing", coat=coat, flap=flap)
    if ring:
        pen.paint("duck mirror", flap=flap)
