"""An axis of a concept space: its values, how far they are from each other, and how they are said."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, check_known

METRICS: Final = ("ordered", "circular", "categorical")
#: The concept of draws that lie outside the space: the inputs as they are.
OUTSIDE: Final = "baseline"
#: Between values, where several are left.
OR: Final = "|"


@dataclass(frozen=True)
class Axis:
    """One concept: its values as text, how they are said, and how far they are from each other.

    `words` is a template with {value} and {percent}, or a phrase for each value; nothing is said of `plain`.
    Values lie on a line (ordered), around a circle, or all alike (categorical). `cuts` are the bounds between
    values that are ranges of numbers (see `ranges`): a bound belongs to the range above it.
    """

    name: str
    values: tuple[str, ...]
    metric: str = "ordered"
    words: str | Mapping[str, str] = "{name} {value}"
    plain: str | None = None
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(as_text(value) for value in self.values))
        object.__setattr__(self, "plain", None if self.plain is None else as_text(self.plain))
        own = f"the axis {self.name[:60]!r}"
        if not re.fullmatch(r"[\w-]{1,40}", self.name) or self.name == OUTSIDE:
            raise WeakspotError(
                f"an axis cannot be called {self.name[:60]!r}", fix="use a word of letters and digits"
            )
        if len(self.values) < 2:
            raise WeakspotError(
                f"{own} has {len(self.values)} value{'' if len(self.values) == 1 else 's'}: nothing can vary",
                fix="give it two values at least, or leave the axis out",
            )
        if len(set(self.values)) < len(self.values):
            raise WeakspotError(f"{own} has a value twice", fix="give each value once")
        if any(not v.strip() or OR in v or len(v) > 200 or not v.isprintable() for v in self.values):
            raise WeakspotError(
                f"{own} has a value that is not a short text, or contains {OR!r}", fix="rename it"
            )
        check_known(self.metric, METRICS, f"{own} has the metric {self.metric[:60]!r}")
        if self.cuts and (self.values != ranges(self.cuts) or sorted({*self.cuts}) != [*self.cuts]):
            raise WeakspotError(
                f"the cuts of {own} are not the bounds of its values",
                fix="give rising numbers, one fewer than the values",
            )
        if self.plain is not None and self.plain not in self.values:
            raise WeakspotError(
                f"{own} has no value {self.plain[:60]!r}, which is named as its plain value",
                fix="name one of its values",
            )
        said = [self.phrase([i]) for i in range(len(self.values))]
        if len(set(said)) < len(said):
            raise WeakspotError(
                f"two values of {own} are worded alike: {said[0][:80]!r}", fix="use {value} in words"
            )

    def distances(self) -> NDArray[np.float64]:
        """How far the values are from each other; the farthest two of an axis are 1 apart."""
        n = len(self.values)
        amounts = np.arange(n, dtype=float)
        if self.metric == "ordered" and all(map(_is_number, self.values)):  # else their places count
            numbers = np.array([float(value) for value in self.values])
            amounts = numbers if np.isfinite(numbers).all() else amounts
        apart = np.abs(np.subtract.outer(amounts, amounts))
        if self.metric == "categorical":
            return np.asarray(apart > 0, float)
        if self.metric == "circular":
            apart = np.minimum(apart, n - apart)
        return np.asarray(apart / apart.max())

    def beside(self, value: int) -> list[int]:
        """The values one step away: all others where there is no order."""
        n = len(self.values)
        if self.metric == "categorical":
            return [i for i in range(n) if i != value]
        around = [value - 1, value + 1]
        if self.metric == "circular":
            return sorted({i % n for i in around} - {value})
        return [i for i in around if 0 <= i < n]

    def phrase(self, values: Sequence[int]) -> str:
        """Some values in words; "" of the plain one alone, or of all of them."""
        named = [self.values[i] for i in values]
        if len(named) == len(self.values) or named == [self.plain]:
            return ""
        if not isinstance(self.words, str):
            return _either([self.words.get(v, f"{self.name} {v}") for v in named])
        said = self.words.replace("{name}", self.name)
        in_a_row = list(values) == list(range(values[0], values[-1] + 1))
        if self.cuts and in_a_row:
            named, in_a_row = [_between(self.cuts, values[0], values[-1])], False
        run = self.metric == "ordered" and len(values) > 2 and in_a_row
        for slot, show in (("percent", _percent), ("value", _signed)):

            def listed(match: re.Match[str], show: Callable[[str], str] = show) -> str:
                texts = [show(value) + match[1] for value in named]  # with what follows at once: a unit
                return f"{texts[0]} to {texts[-1]}" if run else " or ".join(texts)

            said = re.sub(rf"\{{{slot}\}}(\S*)", listed, said)
        return said


def _either(phrases: Sequence[str]) -> str:
    """Phrases with "or" between them; of sentences that begin alike, the beginning once.

    "it is on a flower." and "it is on a leaf." are "it is on a flower or a leaf."
    """
    if len(phrases) < 2 or not all(phrase.endswith(".") for phrase in phrases):
        return " or ".join(phrases)
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    for words in (phrase[:-1].split() for phrase in phrases):
        groups.setdefault(tuple(words[:2]), []).append(words)
    said = []
    for group in groups.values():
        shortest = min(map(len, group)) - 1  # something is left of each
        alike = next((i for i in range(shortest) if len({words[i] for words in group}) > 1), shortest)
        ends = [" ".join(words[alike:]) for words in group]
        listed = f"{', '.join(ends[:-1])} or {ends[-1]}" if len(ends) > 1 else ends[0]
        said.append(" ".join([*group[0][:alike], listed]))
    return f"{', or '.join(said)}."


def ranges(cuts: Sequence[float]) -> tuple[str, ...]:
    """The ranges between bounds, as text: "under 0.2", "0.2 to 0.35", "0.35 or more"."""
    return tuple(_between(cuts, i, i) for i in range(len(cuts) + 1))


def _between(cuts: Sequence[float], first: int, last: int) -> str:
    """From one range to another, which may be the same."""
    low = _signed(as_text(cuts[first - 1])) if first > 0 else ""
    high = _signed(as_text(cuts[last])) if last < len(cuts) else ""
    if low and high:
        return f"{low} to {high}"
    return f"{low} or more" if low else f"under {high}"


def as_text(value: object) -> str:
    """A value as text; 1.0 and 1 are the same number."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:.12g}"
    return str(value)


def _percent(value: str) -> str:
    return f"{100 * float(value):g} %" if _is_number(value) else value


def _signed(value: str) -> str:
    """A number with a true minus sign; anything else as it is."""
    return value.replace("-", "−") if _is_number(value) else value


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
