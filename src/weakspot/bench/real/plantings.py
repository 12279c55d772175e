"""Failures planted at known rates on rows of real tables, by a design that no method's result has shaped.

A *setting* is a table and how many of its rows methods see. For each setting the design asks for tables with
one weak spot of one notion, with one weak spot of two notions together, and with two weak spots apart. How
many rows a weak spot has (1–3, 3–10 or 10–30 % of those seen) and how likely its rows fail (0.2, 0.35, 0.6
or 0.9) are crossed, and taken in an order that the seed shuffles; so are the notions. The first that is
*fair* is taken:

- each weak spot has 25 rows or more;
- planting is expected to add 12 failures to it or more, and with them it has at least 12 more than as many
  usual rows would have; so many failures there would be a chance of at most one in a million, beyond what
  any of the hundred thousands of pairs of concepts does by chance. So it can be found in principle;
- of two notions together each is in at least 25 rows without the other, and in as many without it as with
  it, so that the words of one alone are not as good a name.

Where there is no model, other rows fail at 4 %. Where there is one its real errors stay, and planted rows
fail as well. Those tables are split: methods see some of the rows, and what they say is judged by others,
with their planted probabilities and the model's real errors. Tables without a model are seen whole, since
all their probabilities are known. Rows that show the same picture stay on one side.

The designs "tune", "test" and "third" share no weak spot: a checksum of its notions says whether it may be
in "tune" or in "test"; "third" has only what neither of them has. "tune" is looked at while methods change.
"test" was run for two versions of our own; "third" was made for the next.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.bench.real.methods import Flags, Floats, Slices, having
from weakspot.bench.real.tables import BLINDTEST, IMAGENET, Marks, RealTable, slices_of
from weakspot.core import check_known

#: How likely a row fails that no planted notion is in, where there is no model.
USUAL: Final = 0.04
SHARES: Final = ((0.01, 0.03), (0.03, 0.10), (0.10, 0.30))
RATES: Final = (0.2, 0.35, 0.6, 0.9)
FEWEST: Final = 25
EXCESS: Final = 12.0
CHANCE: Final = 1e-6
#: Notions, or pairs of them, that are tried for one cell of the design.
TRIES: Final = 200

Notions = frozenset[str]
#: Which checksums of its notions a weak spot of each design may have.
DESIGNS: Final[Mapping[str, Callable[[int], bool]]] = {
    "tune": lambda checksum: checksum % 2 == 0,
    "test": lambda checksum: checksum % 2 == 1,
    "third": lambda checksum: checksum // 2 % 2 == 1,
}
#: It has none of the weak spots that are in these designs either.
EARLIER: Final[Mapping[str, tuple[str, ...]]] = {"third": ("tune", "test")}


class Setting(NamedTuple):
    """A table, how many rows methods see of it (0: all), and how many tables of each kind are made."""

    table: str
    rows: int
    one: int
    together: int
    apart: int


SETTINGS: Final = (
    *(Setting("flickr8k", rows, 3, 2, 1) for rows in (500, 1000, 2000)),
    *(Setting("coco", rows, 3, 2, 1) for rows in (2000, 5000)),
    *(Setting(f"imagenet-x {m}", rows, 2, 2, 1) for m in IMAGENET for rows in (5_000, 10_000, 24_434)),
    *(Setting(f"blindtest {m}", 3072, 2, 1, 1) for m in BLINDTEST),
)


@dataclass(frozen=True, eq=False)
class Planting:
    """A table with planted failures.

    Attributes:
        spots: The notions of each weak spot.
        share: Of the rows that methods see, those that are in each weak spot.
        rate: How likely its rows fail.
        seen: The rows that methods see.
        truth: The rows by which they are judged.
        chance: How likely each row of the table fails; 1 where the model is really wrong.
        failed: Which of the seen rows failed.
    """

    setting: Setting
    spots: tuple[Notions, ...]
    share: tuple[float, ...]
    rate: float
    seen: NDArray[np.int64]
    truth: NDArray[np.int64]
    chance: Floats
    failed: Flags

    @property
    def kind(self) -> str:
        if len(self.spots) > 1:
            return "two apart"
        return "one notion" if len(self.spots[0]) == 1 else "two together"

    @property
    def name(self) -> str:
        spots = "; ".join(" and ".join(sorted(spot)) for spot in self.spots)
        return f"{self.setting.table}, {len(self.seen)} rows: {spots}"

    def slices(self, table: RealTable) -> Slices:
        return slices_of(table, self.seen, self.failed)


def columns_of(marks: Marks, notions: Notions) -> list[int]:
    return [marks.names.index(name) for name in sorted(notions)]


def design(
    name: str, read: Callable[[str], RealTable], *, settings: Sequence[Setting] = SETTINGS
) -> Iterator[Planting]:
    """All plantings of a design, setting by setting.

    Args:
        name: "tune", for development, or "test" or "third", which nobody looks at while a method is changed.
        read: Gives a table by its name.
    """
    check_known(name, DESIGNS, f"no design is called {name[:80]!r}")
    earlier = [one for older in EARLIER.get(name, ()) for one in design(older, read, settings=settings)]
    used = {spot for planting in earlier for spot in planting.spots}
    for setting in settings:
        yield from _plantings(setting, read(setting.table), name, used)


def _plantings(setting: Setting, table: RealTable, name: str, used: Set[Notions]) -> Iterator[Planting]:
    taken = set(used)
    for kind, wanted in (("one", setting.one), ("together", setting.together), ("apart", setting.apart)):
        rng = Random(f"{name} {setting.table} {setting.rows} {kind}")  # noqa: S311
        cells = list(product(SHARES, RATES))
        rng.shuffle(cells)
        made = 0
        for share, rate in cells * 3:
            if made == wanted:
                break
            found = _planted(setting, table, kind, share, rate, rng, DESIGNS[name], taken)
            if found is not None:
                made += 1
                taken.update(found.spots)
                yield found


def _planted(
    setting: Setting,
    table: RealTable,
    kind: str,
    share: tuple[float, float],
    rate: float,
    rng: Random,
    able: Callable[[int], bool],
    taken: Set[Notions],
) -> Planting | None:
    """The first fair choice of notions for a cell of the design; None where there is none."""
    seen, truth = halves(table, setting.rows, rng)
    marks = Marks(table.notions.names, table.notions.rows[seen])
    spots: list[Notions] = []
    candidates = [
        spot
        for spot in _candidates(marks, share, rng, together=kind == "together")
        if able(zlib.crc32("|".join(sorted(spot)).encode())) and spot not in taken
    ]
    for spot in candidates[:TRIES]:
        tried = [*spots, spot]
        chance = _chance(table, tried, rate)
        if not all(_fair(table, seen, chance, one) for one in tried):
            continue
        spots = tried
        if len(spots) == (2 if kind == "apart" else 1):
            draw = np.random.default_rng(rng.getrandbits(64)).random(len(seen))
            inside = [float(having(marks.rows, columns_of(marks, one)).mean()) for one in spots]
            failed = draw < chance[seen]
            return Planting(setting, tuple(spots), tuple(inside), rate, seen, truth, chance, failed)
    return None


def halves(table: RealTable, rows: int, rng: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that methods see, and those that judge: the same ones where there is no model."""
    draw = np.random.default_rng(rng.getrandbits(64))
    if table.wrong is None:
        seen = np.sort(draw.permutation(len(table))[: rows or None])
        return seen, seen
    groups = table.groups if table.groups is not None else np.arange(len(table))
    order = draw.permutation(int(groups.max()) + 1)
    by_group = np.argsort(order[groups], kind="stable")
    cut = min(rows or len(table) // 2, len(table) - 1)
    while cut < len(table) - 1 and groups[by_group[cut]] == groups[by_group[cut - 1]]:
        cut += 1
    return np.sort(by_group[:cut]), np.sort(by_group[cut:])


def _candidates(marks: Marks, share: tuple[float, float], rng: Random, *, together: bool) -> list[Notions]:
    """Notions, or pairs of them, that so large a share of the rows has; in the order in which to try them.

    Where a table has both words and other columns, either come first at the toss of a coin: of ImageNet-X's
    thousands of words few would leave its factors a turn.
    """
    sizes = np.asarray(marks.rows.sum(axis=0, dtype=np.int64)).ravel()
    n = marks.rows.shape[0]
    low, high = max(share[0] * n, FEWEST), share[1] * n
    if not together:
        found = [frozenset({marks.names[i]}) for i in np.flatnonzero((sizes >= low) & (sizes <= high))]
    else:
        able = np.flatnonzero((sizes >= low + FEWEST) & (sizes <= 0.6 * n))
        part = marks.rows[:, able].astype(np.int64)
        both = np.asarray((part.T @ part).todense())
        own = sizes[able]
        outside = np.minimum(own[:, None], own[None, :]) - both
        good = (both >= low) & (both <= high) & (outside >= np.maximum(FEWEST, both))
        pairs = zip(*np.nonzero(np.triu(good, 1)), strict=True)
        found = [frozenset({marks.names[able[i]], marks.names[able[j]]}) for i, j in pairs]
    rng.shuffle(found)
    first = rng.random() < 0.5
    return sorted(found, key=lambda spot: all(name.startswith("text:") for name in spot) == first)


def _chance(table: RealTable, spots: Sequence[Notions], rate: float) -> Floats:
    passes = np.full(len(table), 1.0 - USUAL) if table.wrong is None else 1.0 - table.wrong.astype(float)
    inside = np.zeros(len(table), np.int64)
    for spot in spots:
        inside += having(table.notions.rows, columns_of(table.notions, spot))
    planted = (1.0 - rate) ** inside
    if table.wrong is None:
        return 1.0 - np.where(inside > 0, planted, passes)
    return np.asarray(1.0 - passes * planted)


def _fair(table: RealTable, seen: NDArray[np.int64], chance: Floats, spot: Notions) -> bool:
    """Whether a weak spot can be found in principle: see the rule above."""
    from scipy.stats import binom

    inside = seen[having(table.notions.rows, columns_of(table.notions, spot))[seen]]
    rows, usual, failures = len(inside), float(chance[seen].mean()), float(chance[inside].sum())
    before = USUAL * rows if table.wrong is None else float(table.wrong[inside].sum())
    if rows < FEWEST or failures - max(before, rows * usual) < EXCESS:
        return False
    return bool(binom.sf(np.floor(failures) - 1, rows, usual) <= CHANCE)
