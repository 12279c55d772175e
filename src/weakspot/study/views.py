"""What a run's headline speaks of, as trials that can be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Places(NamedTuple):
    """Trials of a hypothesis, by index: every `of` trials the same `at`, since repeats ask the same again."""

    of: int
    at: tuple[int, ...]

    @property
    def condition(self) -> str:
        """In SQL, on the column idx."""
        return f"idx % {int(self.of)} IN ({', '.join(str(int(place)) for place in self.at)})"


class View(NamedTuple):
    """Some trials under a name that people use, such as "refused, harmless"; the verdict may be any ("")."""

    words: str
    slice: str
    verdict: str = ""


class Views(NamedTuple):
    """The views of a run, and the slices of its own that trials can be filtered by.

    `slices` are by name, and then by the id of the hypothesis whose trials they are.
    """

    views: tuple[View, ...] = ()
    slices: Mapping[str, Mapping[str, Places]] = {}
