"""What can be said of a picture of the drawn world: its attributes, one scene, a set of scenes.

A `Scene` fixes every attribute. A `SceneSet` fixes some of them, each to one value or to several; it
is what a text means ("it is not on a flower" leaves all other places open). Nothing here draws or
speaks: see `grammar` for English, `nature` for how common things are, `render` for pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from weakspot.core.errors import WeakspotError, check_known

#: Every subject with its parent in the sense of WordNet; the order is the classifier's label order.
PARENTS: Final[Mapping[str, str]] = {
    "fly": "insect", "bee": "insect", "butterfly": "insect", "ladybird": "insect", "cat": "feline",
    "snow leopard": "feline", "dog": "canine", "wolf": "canine", "crayfish": "crustacean",
    "crab": "crustacean", "goldfish": "fish", "duck": "bird", "boat": "vehicle", "car": "vehicle",
    "mushroom": "fungus", "fence": "barrier",
}  # fmt: skip
SUBJECTS: Final = tuple(PARENTS)

COLORS: Final = (
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white",
)  # fmt: skip
PLACES: Final = (
    "meadow", "forest", "snow", "beach", "sea", "riverbed", "underwater", "rocks", "desert", "street",
    "living room", "kitchen",
)  # fmt: skip
PLAIN: Final = ("green", "blue", "grey", "white")
SUPPORTS: Final = ("flower", "leaf", "branch", "rock", "plate", "cushion")
#: Supports whose colour is said; the others look as they do in nature.
COLORED_SUPPORTS: Final = ("flower", "cushion")
SUPPORT_COLORS: Final = ("red", "orange", "yellow", "blue", "purple", "pink", "white")
SCREENS: Final = ("net", "fence", "grass", "bars")
PROPS: Final = ("ball", "tree", "cup", "bottle")
#: A fence fills the picture, so it cannot stand beside something.
COMPANIONS: Final = (*PROPS, *(s for s in SUBJECTS if s != "fence"))

#: Every attribute with its values. The first value is the plain one, which a description leaves unsaid
#: ("subject", "on_color" and "companion_at" have no plain value of their own).
ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "subject": SUBJECTS,
    "color": ("natural", *COLORS),
    "count": ("1", "2", "3", "4"),
    "size": ("medium", "small", "large"),
    "position": ("centre", "left", "right", "top", "bottom"),
    "facing": ("right", "left"),
    "pose": ("upright", "tilted left", "tilted right", "upside down"),
    "on": ("nothing", *SUPPORTS),
    "on_color": ("none", *SUPPORT_COLORS),
    "behind": ("nothing", *SCREENS),
    "hidden": ("no", "partly", "half"),
    "companion": ("nothing", *COMPANIONS),
    "companion_at": ("none", "left", "right", "behind"),
    "background": (*PLACES, *PLAIN),
    "light": ("day", "dusk", "night", "glare"),
    "weather": ("clear", "rain", "snowfall", "fog"),
}
#: The attributes that another one depends on, with that one.
CHILD_OF: Final[Mapping[str, str]] = {"on": "on_color", "companion": "companion_at"}
#: The values with which the other one is not "none".
BEARERS: Final[Mapping[str, tuple[str, ...]]] = {"on": COLORED_SUPPORTS, "companion": COMPANIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One fully specified picture, up to the renderer's seed (which varies pose, proportions, hue)."""

    subject: str
    color: str = "natural"
    count: str = "1"
    size: str = "medium"
    position: str = "centre"
    facing: str = "right"
    pose: str = "upright"
    on: str = "nothing"
    on_color: str = "none"
    behind: str = "nothing"
    hidden: str = "no"
    companion: str = "nothing"
    companion_at: str = "none"
    background: str = "meadow"
    light: str = "day"
    weather: str = "clear"

    def __post_init__(self) -> None:
        for name, values in ATTRIBUTES.items():
            if getattr(self, name) not in values:
                raise WeakspotError(
                    f"a scene's {name} cannot be {getattr(self, name)!r}",
                    fix=f"choose one of: {', '.join(values)}",
                )
        if (self.on in COLORED_SUPPORTS) != (self.on_color != "none"):
            raise WeakspotError(
                f"a scene on {self.on!r} cannot have on_color {self.on_color!r}",
                fix=f"give on_color with {' or '.join(COLORED_SUPPORTS)}, and 'none' otherwise",
            )
        if (self.companion != "nothing") != (self.companion_at != "none"):
            raise WeakspotError(
                f"companion {self.companion!r} and companion_at {self.companion_at!r} do not go together",
                fix="give both, or neither",
            )


#: The value each attribute has in a scene when nothing is said of it.
DEFAULTS: Final[Mapping[str, str]] = {f.name: str(f.default) for f in fields(Scene) if f.name != "subject"}


@dataclass(frozen=True, slots=True)
class SceneSet:
    """The scenes a text allows: per attribute the values that are left, in the order of `ATTRIBUTES`.

    An attribute that is not named is open. Always normalised (attributes in order, values in order,
    an attribute with all its values left out), so equal sets are equal and hash alike.
    """

    allowed: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, allowed: Mapping[str, Iterable[str]]) -> SceneSet:
        """From a mapping of attribute to the values left; raises if a name, a value or nothing fits."""
        rows: list[tuple[str, tuple[str, ...]]] = []
        for name in allowed:
            check_known(name, ATTRIBUTES, f"no attribute {name!r}")
        for name, values in ATTRIBUTES.items():
            if name not in allowed:
                continue
            wanted = set(allowed[name])
            if wanted - set(values):
                raise WeakspotError(
                    f"{name} cannot be {', '.join(sorted(wanted - set(values)))}",
                    fix=f"choose from: {', '.join(values)}",
                )
            left = tuple(v for v in values if v in wanted)
            if not left:
                what = f"nothing is left for {name}: it contradicts itself"
                raise WeakspotError(what, fix="drop a condition")
            if len(left) < len(values):
                rows.append((name, left))
        return cls(tuple(rows))

    def __getitem__(self, attribute: str) -> tuple[str, ...]:
        """The values left for an attribute (all of them where it is open)."""
        return dict(self.allowed).get(attribute, ATTRIBUTES[attribute])

    def matches(self, scene: Scene) -> bool:
        return all(getattr(scene, name) in values for name, values in self.allowed)

    def __and__(self, other: SceneSet) -> SceneSet:
        names = [n for n in ATTRIBUTES if n in dict(self.allowed) or n in dict(other.allowed)]
        return SceneSet.of({n: set(self[n]) & set(other[n]) for n in names})
