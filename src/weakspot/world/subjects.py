"""Every subject and prop by name, with what a picture must know to place it; those that are no animals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from weakspot.world import animals
from weakspot.world.canvas import DRAWINGS, Color, Pen, mix, named, natural, rows, shade, vary

Draw = Callable[[Pen, Random, Color | None], None]


def boat(pen: Pen, rng: Random, tint: Color | None) -> None:
    hull = natural(rng, "boat", tint)
    sheer = rng.uniform(-0.03, 0.06)
    if rng.random() < 0.65:
        sail = natural(rng, "sail", drift=5)
        belly = rng.uniform(0.02, 0.1)
        pen.paint("boat sails", belly=belly, sail=sail, top=rng.uniform(-0.98, -0.86))
    else:
        pen.paint("boat cabin", cabin=vary((244, 238, 226), rng, 5), hull=hull)
    pen.paint("boat hull", hull=hull, sheer=sheer)


def car(pen: Pen, rng: Random, tint: Color | None) -> None:
    paint = natural(rng, "car", tint)
    kind = rng.choice(("hatch", "beetle", "saloon", "van"))
    roof = rng.uniform(-0.5, -0.42)
    pen.paint(f"car {kind}", paint=paint, roof=roof)
    pen.paint("car", front=0.98 if kind != "van" else 0.86, paint=paint, roof=roof)


def _toadstool(pen: Pen, rng: Random, cap: Color, spotted: bool, shape: float) -> None:
    stem = vary((240, 228, 204), rng, 6)
    lean, thick = rng.uniform(-0.1, 0.1), rng.uniform(0.85, 1.15)
    top = -0.56 * shape
    pen.paint("toadstool", cap=cap, lean=lean, stem=stem, thick=thick, top=top)
    if spotted:
        hat = pen.at(lean, -0.14, 1.0, turn=lean * 0.9)
        for x, y, r in rows("toadstool"):
            hat.disc(x + rng.uniform(-0.04, 0.04), top * y, r, (248, 242, 228), ry=r * 0.8)
    pen.paint("toadstool ring", lean=lean, stem=stem, thick=thick)


def mushroom(pen: Pen, rng: Random, tint: Color | None) -> None:
    spotted = rng.random() < 0.55
    cap = natural(rng, "fly agaric" if spotted else "mushroom", tint)
    shape = rng.uniform(0.85, 1.3)
    if rng.random() < 0.4:
        _toadstool(pen.at(rng.choice((-0.56, 0.56)), 0.36, 0.46), rng, shade(cap, 0.08), spotted, shape * 1.1)
    _toadstool(pen.at(0, 0.0, 0.98), rng, cap, spotted, shape)


def chain_link(pen: Pen, rng: Random, wire: Color, step: float, width: float, posts: int) -> None:
    """Diamond mesh over a square of three units around the origin, with a rail and posts."""
    shift = rng.uniform(0, step)
    for lean, color in ((0.8, wire), (-0.8, shade(wire, 0.35))):
        for i in range(int(3.2 / step) + 1):
            x = -1.6 + i * step + shift
            pen.line(x - lean, -1.4, x + lean, 1.4, width, color)
    for i in range(posts):
        x = -1.0 + (2 * i + 1) / posts + (rng.uniform(-0.1, 0.1) if posts > 1 else rng.choice((-0.7, 0.7)))
        pen.paint("fence post", width=width, wire=wire, x=x)


def pickets(pen: Pen, rng: Random, wood: Color, step: float, top: float) -> None:
    """Pointed boards and two rails over the width of the picture, from `top` downwards."""
    pen.paint("fence rails", top=top, wood=wood)
    x = -1.6 + rng.uniform(0, step)
    while x < 1.6:
        w = step * rng.uniform(0.27, 0.31)
        tip = top + rng.uniform(-0.03, 0.03)
        pen.paint("picket", color=vary(wood, rng, 6), tip=tip, w=w, x=x)
        x += step


def netting(pen: Pen, rng: Random, tint: Color | None) -> None:
    """Fine square mesh over a picture one unit wide, straight or on its corner, sagging a little."""
    cord = natural(rng, "net", tint)
    step, sag = rng.uniform(0.062, 0.078), rng.uniform(0.01, 0.03)
    frame = pen.at(0, 0, 1.0, turn=rng.uniform(-0.12, 0.12) + rng.choice((0.0, 0.785)))
    n = int(0.75 / step)
    for i in range(-n, n + 1):
        frame.paint("cords", bow=sag * math.sin(i * 0.7), cord=cord, t=i * step)


def fence(pen: Pen, rng: Random, tint: Color | None) -> None:
    """Unlike other subjects, drawn in a frame where the picture runs from -1 to 1."""
    kind = rng.random()
    if kind < 0.3:
        netting(pen.at(0, 0, 2.1), rng, tint)
        post = vary((126, 112, 96), rng)
        for x in rng.choice(((-0.85,), (0.85,), (-0.85, 0.85))):
            pen.paint("net post", post=post, x=x)
    elif kind < 0.75:
        wire = natural(rng, "wire", tint)
        chain_link(pen, rng, wire, rng.uniform(0.22, 0.34), rng.uniform(0.024, 0.042), rng.choice((1, 1, 2)))
        if rng.random() < 0.5:
            pen.paint("wire rail", wire=wire)
    else:
        wood = natural(rng, "wood", tint)
        pickets(pen, rng, wood, rng.uniform(0.34, 0.46), rng.uniform(-0.85, -0.6))


def tree(pen: Pen, rng: Random, tint: Color | None) -> None:
    leaf = natural(rng, "tree", tint)
    pen.paint("trunk")
    for x, y, r, k in rows("tree"):
        pen.disc(x + rng.uniform(-0.05, 0.05), y + rng.uniform(-0.05, 0.05), r, shade(leaf, k))


def ball(pen: Pen, rng: Random, tint: Color | None) -> None:
    pen.paint("ball", color=natural(rng, "ball", tint))


def cup(pen: Pen, rng: Random, tint: Color | None) -> None:
    pen.paint("cup", color=natural(rng, "cup", tint))


def bottle(pen: Pen, rng: Random, tint: Color | None) -> None:
    color = natural(rng, "bottle", tint)
    pen.paint("bottle", color=color, label=mix(color, (200, 70, 60), 0.6))


class Figure(NamedTuple):
    """How to draw a thing, and how far below its origin it touches the ground (in its own units)."""

    draw: Draw
    foot: float


_DRAWN: Final[Sequence[Draw]] = (
    animals.fly, animals.bee, animals.butterfly, animals.ladybird, animals.cat, animals.snow_leopard,
    animals.dog, animals.wolf, animals.crayfish, animals.crab, animals.goldfish, animals.duck,
    boat, car, mushroom, fence, ball, tree, cup, bottle,
)  # fmt: skip
#: By the names of the functions.
FIGURES: Final[Mapping[str, Figure]] = {
    name: Figure(draw, DRAWINGS["feet"][name]) for draw in _DRAWN if (name := named(draw))
}
