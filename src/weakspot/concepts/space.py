"""Concept spaces: axes with named values, a metric, and words. A cell fixes every axis; a region some values.

A space is data (YAML, or these classes). A cell is also a number, counted with the last axis fastest. What is
drawn of a cell is a source's business; here it becomes a hypothesis, whose concepts name its values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.axis import OR, OUTSIDE, as_text
from weakspot.concepts.axis import Axis as Axis
from weakspot.core import Hypothesis, WeakspotError, check_known, nearest

TASKS: Final = ("image", "world", "text", "prompt", "table")
BUILT_IN: Final = Path(__file__).with_name("concept_spaces.yaml")
#: More cells than any study walks through.
MOST_CELLS: Final = 5**8
#: What is said of a cell of which there is nothing to say.
AS_IS: Final = "as it is"

#: Per axis the numbers of the values that are left; a cell has one each.
Region = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ConceptSpace:
    """Axes and all combinations of their values; cells and words follow the order of the axes."""

    name: str
    axes: tuple[Axis, ...]
    task: str = "image"
    about: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.axes:
            raise WeakspotError(f"the space {self.name[:60]!r} has no axes", fix="give it one at least")
        names = [axis.name for axis in self.axes]
        if len(set(names)) < len(names):
            raise WeakspotError(f"the space {self.name[:60]!r} has an axis twice", fix="name each axis once")
        check_known(self.task, TASKS, f"no task is called {self.task[:60]!r}")
        if self.size > MOST_CELLS:
            raise WeakspotError(
                f"the space {self.name[:60]!r} has {self.size:,} cells; the most is {MOST_CELLS:,}",
                fix="leave out an axis or some values",
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def cell(self, number: int) -> tuple[int, ...]:
        """The numbers of the values of a cell."""
        return tuple(int(i) for i in np.unravel_index(number, self.shape))

    def number(self, cell: Sequence[int]) -> int:
        """The inverse of `cell`."""
        return int(np.ravel_multi_index(tuple(cell), self.shape))

    @cached_property
    def grid(self) -> NDArray[np.int64]:
        """All cells, one row each, in the order of their numbers."""
        return np.stack(np.unravel_index(np.arange(self.size), self.shape), axis=1).astype(np.int64)

    @cached_property
    def whole(self) -> Region:
        return tuple(tuple(range(n)) for n in self.shape)

    def region(self, cell: int | Sequence[int]) -> Region:
        return tuple((i,) for i in (self.cell(cell) if isinstance(cell, int) else cell))

    def cells(self, region: Region) -> NDArray[np.int64]:
        """The numbers of a region's cells, rising."""
        strides = [math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]
        found = np.zeros(1, np.int64)
        for values, stride in zip(region, strides, strict=True):
            found = (found[:, None] + np.asarray(values, np.int64) * stride).ravel()
        return np.sort(found)

    def distances(self) -> list[NDArray[np.float64]]:
        return [axis.distances() for axis in self.axes]

    def beside(self, number: int) -> list[int]:
        """The cells one step away along one axis."""
        cell = self.cell(number)
        found = []
        for at, axis in enumerate(self.axes):
            found += [self.number((*cell[:at], other, *cell[at + 1 :])) for other in axis.beside(cell[at])]
        return found

    def words(self, where: int | Region) -> str:
        """A cell or a region in words: "rotated 10°, darkened 30 %"; of sentences, one after the other."""
        region = self.region(where) if isinstance(where, int) else where
        said = [axis.phrase(values) for axis, values in zip(self.axes, region, strict=True)]
        said = [phrase for phrase in said if phrase]
        if not said:
            return AS_IS if all(len(v) == 1 for v in region) else "anywhere"
        return (" " if all(phrase.endswith(".") for phrase in said) else ", ").join(said)

    def hypothesis(self, where: int | Region, *, origin: str = "cell", policy: str = "") -> Hypothesis:
        """A cell or a region as a hypothesis; axes of which all values are left are not named.

        A policy that chose the inputs, where they were not drawn at random, is part of the hypothesis's
        identity, since such draws say nothing of the cell's rate.
        """
        region = self.region(where) if isinstance(where, int) else where
        concepts = [
            (axis.name, OR.join(axis.values[i] for i in values))
            for axis, values in zip(self.axes, region, strict=True)
            if len(values) < len(axis.values)
        ]
        chosen = [("policy", policy)] if policy else []
        return Hypothesis(self.words(where), tuple(concepts + chosen), origin=origin)

    def outside(self) -> Hypothesis:
        """The inputs as they are, which may lie in no cell: the baseline. Of a table these are all rows."""
        words = "all rows" if self.task == "table" else "as they are"
        return Hypothesis(words, ((OUTSIDE, self.name),), origin="baseline")

    def read(self, hypothesis: Hypothesis) -> Region | None:
        """The region of a hypothesis of this space; None of the baseline."""
        given = dict(hypothesis.concepts)
        if OUTSIDE in given:
            return None
        given.pop("policy", None)
        unknown = set(given) - {axis.name for axis in self.axes}
        if unknown:
            raise WeakspotError(f"the space {self.name!r} has no axis {sorted(unknown)[0][:60]!r}")
        region = []
        for axis in self.axes:
            values = given[axis.name].split(OR) if axis.name in given else axis.values
            if not set(values) <= set(axis.values):
                raise WeakspotError(f"the axis {axis.name!r} has no value {given[axis.name][:60]!r}")
            region.append(tuple(i for i, v in enumerate(axis.values) if v in values))
        return tuple(region)

    def assignment(self, number: int) -> dict[str, str]:
        return {axis.name: axis.values[i] for axis, i in zip(self.axes, self.cell(number), strict=True)}

    def to_json(self) -> dict[str, Any]:
        """Plain values; `space_from` is its inverse."""
        return {
            "name": self.name,
            "task": self.task,
            "about": self.about,
            "axes": [
                {
                    "name": axis.name,
                    "values": list(axis.values),
                    "metric": axis.metric,
                    "words": axis.words if isinstance(axis.words, str) else dict(axis.words),
                    **({} if axis.plain is None else {"plain": axis.plain}),
                    **({"cuts": list(axis.cuts)} if axis.cuts else {}),
                }
                for axis in self.axes
            ],
        }


def space_from(data: Any, *, where: str = "the space") -> ConceptSpace:
    """A space from plain values, as YAML has them; the error says what is wrong with them."""
    if not isinstance(data, Mapping) or not isinstance(data.get("axes"), list):
        raise WeakspotError(f"{where} has no list of axes", fix="see: weakspot map --help, and docs/map.md")
    _check_keys(data, ("name", "task", "about", "axes"), where)
    return ConceptSpace(
        name=str(data.get("name", "own")),
        axes=tuple(_axis(axis, where) for axis in data["axes"]),
        task=str(data.get("task", "image")),
        about=str(data.get("about", "")),
    )


def load_space(name: str) -> ConceptSpace:
    """The space of a name: a built-in one, `image-5^4`, `image:rotate,fog`, or a YAML file's."""
    if Path(name).suffix.lower() in (".yaml", ".yml"):
        data = _read(Path(name))
        if isinstance(data, Mapping) and "spaces" in data:
            raise WeakspotError(f"{name[:200]} holds several spaces", fix="put the one you mean in a file")
        return space_from(data, where=f"the space in {name[:200]}")
    axes, spaces = _built_in()
    if name in spaces:
        return spaces[name]
    if match := re.fullmatch(r"image-5\^([1-8])", name):
        return ConceptSpace(name, tuple(list(axes.values())[: int(match[1])]), about="pictures, transformed")
    if name.startswith("image:"):
        wanted = [part.strip() for part in name.removeprefix("image:").split(",")]
        for one in wanted:
            check_known(one, axes, f"pictures have no axis {one[:60]!r}")
        return ConceptSpace(name, tuple(axes[one] for one in wanted), about="pictures, transformed")
    hint = nearest(name, [*spaces, "image-5^4"])
    raise WeakspotError(
        f"no concept space is called {name[:80]!r}",
        fix=f"{hint + ' ' if hint else ''}there are {', '.join(spaces)}, image-5^k, image:AXIS,…, FILE.yaml",
    )


def _built_in() -> tuple[dict[str, Axis], dict[str, ConceptSpace]]:
    data = _read(BUILT_IN)
    axes = {axis["name"]: _axis(axis, "built in") for axis in data["image_axes"]}
    paper = tuple(list(axes.values())[:3])
    spaces = [
        ConceptSpace("image-125", paper, about="pictures, rotated, darkened, with less colour"),
        *(space_from(space) for space in data["spaces"]),
    ]
    return axes, {space.name: space for space in spaces}


def _axis(data: Any, where: str) -> Axis:
    if not isinstance(data, Mapping) or not isinstance(data.get("values"), list) or "name" not in data:
        raise WeakspotError(f"an axis of {where} has no name or no list of values", fix="give it both")
    _check_keys(data, ("name", "values", "metric", "words", "plain", "cuts"), f"an axis of {where}")
    words = data.get("words", "{name} {value}")
    if not isinstance(words, str | Mapping):
        raise WeakspotError(f"the words of an axis of {where} are {type(words).__name__}", fix="write text")
    return Axis(
        name=str(data["name"]),
        values=tuple(as_text(value) for value in data["values"]),
        metric=str(data.get("metric", "ordered")),
        words=words if isinstance(words, str) else {as_text(k): str(v) for k, v in words.items()},
        plain=as_text(data["plain"]) if "plain" in data else None,
        cuts=_cuts(data.get("cuts", ()), where),
    )


def _cuts(given: Any, where: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, given))
    except (TypeError, ValueError):
        raise WeakspotError(f"the cuts of an axis of {where} are not numbers", fix="list numbers") from None


def _check_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    if strange := sorted(set(map(str, data)) - set(known)):
        fix = f"it has {', '.join(known[:-1])} and {known[-1]}"
        raise WeakspotError(f"{where} says {strange[0][:60]!r}", fix=fix)


def _read(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise WeakspotError(
            f"the space {str(path)[:200]!r} cannot be read: {error.strerror}", fix="check the name"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise WeakspotError(
            f"{str(path)[:200]} is not valid YAML: {str(error).splitlines()[0][:200]}", fix="correct the file"
        ) from error
