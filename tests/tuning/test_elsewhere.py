"""What a repair does elsewhere: seen where it is there, and hardly ever where it is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weakspot.concepts.space import Axis, ConceptSpace
from weakspot.studies.repair.proof import Drawn, adjusted, become, change, confirmed, looks, rest, verdict
from weakspot.studies.repair.result import Change, Verdict

SPACE = ConceptSpace(
    "grid", tuple(Axis(name, tuple(f"{i}" for i in range(5)), metric="ordered") for name in ("a", "b"))
)
#: The mode that is repaired: the corner of both axes.
CORNER = [SPACE.number((a, b)) for a in (3, 4) for b in (3, 4)]
PICTURES, DRAWS = 150, 20


class World:
    """Pictures that fail or not in each cell, before and after a repair."""

    def __init__(
        self, seed: int, after: Callable[[np.ndarray], np.ndarray], *, harmless: bool = False
    ) -> None:
        self.rng = np.random.default_rng(seed)
        rate = np.full(25, 0.1)
        rate[CORNER] = 0.5
        hard = self.rng.normal(0, 1.0, (PICTURES, 1))

        def failing(of: np.ndarray) -> np.ndarray:
            odds = np.log(of / (1 - of)) + hard + self.rng.normal(0, 1.0, (PICTURES, 25))
            return np.asarray(self.rng.random((PICTURES, 25)) < 1 / (1 + np.exp(-odds)))

        self.before, self.after = failing(rate), failing(after(rate))
        if harmless:  # elsewhere before and after are one and the same, but for chance
            swap = np.repeat(self.rng.random((PICTURES, 1)) < 0.5, 25, axis=1)
            swap[:, CORNER] = False
            self.before, self.after = (
                np.where(swap, self.after, self.before),
                np.where(swap, self.before, self.after),
            )

    def drawn(self) -> Drawn:
        rows = [(c, p) for c in range(25) for p in self.rng.permutation(PICTURES)[:DRAWS]]
        cells, pictures = (np.array(column) for column in zip(*rows, strict=True))
        names = tuple(f"picture {p}" for p in pictures)
        return Drawn(cells, self.before[pictures, cells], self.after[pictures, cells], names)

    def once(self, cells: list[int]) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """Each picture once, in one of some cells."""
        where, which = self.rng.choice(cells, PICTURES), np.arange(PICTURES)
        names = tuple(f"picture {p}" for p in which)
        return self.before[which, where], self.after[which, where], names

    def proved(self) -> tuple[Verdict, list[Change]]:
        drawn = self.drawn()
        found = become(SPACE, drawn, CORNER)
        more = [confirmed(mode, *self.once(SPACE.cells(mode.region).tolist())) for mode in found]
        chosen = change("corner", *self.once(CORNER)[:2])
        elsewhere = rest(drawn, CORNER)
        assert elsewhere is not None
        others = adjusted([elsewhere, *more])
        return verdict(adjusted([chosen]), others), others


def repaired(rate: np.ndarray) -> np.ndarray:
    found = rate.copy()
    found[CORNER] = 0.1
    return found


def test_a_harmless_repair_is_rarely_called_a_trade() -> None:
    said = [World(seed, repaired, harmless=True).proved()[0] for seed in range(120)]
    assert np.mean([v == "traded" for v in said]) <= 0.05
    assert np.mean([v == "repaired" for v in said]) > 0.8


def test_failures_that_rise_everywhere_else_are_a_trade() -> None:
    said = [World(seed, lambda rate: np.full_like(rate, 0.25)).proved()[0] for seed in range(10)]
    assert said.count("traded") >= 9


def test_a_new_mode_is_a_trade_though_failures_fall_on_the_whole() -> None:
    """The opposite corner fails now, and everything else less often."""
    corner = [SPACE.number((a, b)) for a in (0, 1) for b in (0, 1)]

    def moved(rate: np.ndarray) -> np.ndarray:
        found = np.full_like(rate, 0.02)
        found[corner] = 0.5
        return found

    for seed in range(5):
        said, others = World(seed, moved).proved()
        assert said == "traded"
        assert not others[0].increased
        assert any(row.increased for row in others[1:])


def test_half_of_the_pictures_find_and_the_others_confirm() -> None:
    halves = [looks(f"picture {i}") for i in range(1000)]
    assert 420 < sum(halves) < 580
    before, after = np.zeros(4, bool), np.array([True, False, True, False])
    names = tuple(f"picture {i}" for i in range(4))
    mode = become(SPACE, World(0, lambda r: r[::-1]).drawn(), [])[0]
    row = confirmed(mode, before, after, names)
    assert row.n == 4 - sum(halves[:4])
    assert confirmed(mode, before, after, None).n == 4


def test_nothing_is_said_of_cells_that_were_not_drawn() -> None:
    nothing = Drawn(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, bool), ())
    assert rest(nothing, CORNER) is None
    assert become(SPACE, nothing, CORNER) == []
    everything = World(0, repaired).drawn()
    assert rest(everything, range(25)) is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [(95, 50, "repaired"), (95, 80, "reduced"), (95, 10, "reduced"), (90, 2, "worse")],
)
def test_of_a_share_that_is_wanted_too_little_is_as_wrong_as_too_much(
    before: int, after: int, said: str
) -> None:
    old, new = np.arange(100) < before, np.arange(100) < after
    assert verdict(adjusted([change("shows day", old, new, wanted=0.5)]), []) == said
