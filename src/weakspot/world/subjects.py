"""Every subject and prop by name, with what a picture must know to place it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, NamedTuple

from weakspot.world import subjects_beasts as beasts
from weakspot.world import subjects_insects as insects
from weakspot.world import subjects_things as things
from weakspot.world import subjects_water as water
from weakspot.world.canvas import Color, Pen

Draw = Callable[[Pen, Random, Color | None], None]


class Figure(NamedTuple):
    """How to draw a thing, and how far below its origin it touches the ground (in its own units)."""

    draw: Draw
    foot: float


FIGURES: Final[Mapping[str, Figure]] = {
    "fly": Figure(insects.fly, 0.64),
    "bee": Figure(insects.bee, 0.64),
    "butterfly": Figure(insects.butterfly, 0.8),
    "ladybird": Figure(insects.ladybird, 0.62),
    "cat": Figure(beasts.cat, 0.72),
    "snow leopard": Figure(beasts.snow_leopard, 0.72),
    "dog": Figure(beasts.dog, 0.7),
    "wolf": Figure(beasts.wolf, 0.74),
    "crayfish": Figure(water.crayfish, 0.42),
    "crab": Figure(water.crab, 0.48),
    "goldfish": Figure(water.goldfish, 0.7),
    "duck": Figure(water.duck, 0.62),
    "boat": Figure(things.boat, 0.68),
    "car": Figure(things.car, 0.64),
    "mushroom": Figure(things.mushroom, 0.78),
    "fence": Figure(things.fence, 1.0),
    "ball": Figure(things.ball, 0.72),
    "tree": Figure(things.tree, 0.95),
    "cup": Figure(things.cup, 0.66),
    "bottle": Figure(things.bottle, 0.92),
}
