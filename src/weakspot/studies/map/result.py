"""What a map found: the landscape, its modes, how much of it is known."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from weakspot.concepts.space import Region
from weakspot.core import Rate
from weakspot.store import Run
from weakspot.study.lifecycle import settings_of
from weakspot.study.study import ByName, Result, Value

#: Cells of a mode that are looked at for samples.
LOOKED: Final = 50


class Estimate(Value):
    """A believed rate with its interval for 95 %, and the queries at random inputs it rests on."""

    rate: float
    low: float
    high: float
    n: int
    failures: int


class Cell(Estimate):
    cell: int
    words: str


class Mode(Estimate):
    """A connected region of cells that fail; the estimate is that of its worst cell.

    The region, of which the words speak, is a box around the worst cell, all of which fails.
    """

    peak: int
    cells: int
    region: Region
    words: str
    peak_words: str


class FailingSet(Estimate):
    """Values that are enough for failures, whatever the other axes are; the estimate is their mean."""

    words: str
    region: Region


class AxisRates(Value):
    """Mean rates by the values of an axis; None where no cell has inputs."""

    name: str
    values: tuple[str, ...]
    metric: str
    rates: tuple[float | None, ...]


class HeatMap(Value):
    """Mean rates over two axes, which are given by their places; None where no cell has inputs."""

    axes: tuple[int, int]
    rates: tuple[tuple[float | None, ...], ...]


class Coverage(Value):
    """Shares of the cells: asked at all, known to ± 5 points, believed to be above."""

    asked: float
    known: float
    above: float


class Compared(Value):
    """A learned agent against its untrained copy and random cells, on inputs that no training saw.

    Rates are failures per query, `inputs` the distinct inputs that all were shown. Unless `paired`, inputs
    were drawn anew for each. The p-values are one-sided, of "no better": McNemar's exact test where an input
    is one query, otherwise a sign-flip test over inputs. `sees` says what the agent sees of an input before
    it chooses; "" for nothing.
    """

    inputs: int
    paired: bool
    trained: float
    untrained: float
    random: float
    rates: dict[str, Annotated[Rate, ByName]]
    p_untrained: float
    p_random: float
    won: bool
    agent: str = ""
    sees: str = ""


class Landscape(Value):
    """The failure landscape, as it is believed after the search.

    Cells with at least the rate `above` belong to modes, of which the worst are listed. `missed` is the
    chance (over `missed_draws` posterior draws; 0 where all cells are in a listed mode) that a cell outside
    them is clearly worse than all of theirs. `entropy` is 0 if all failures lie in one cell, 1 if they are
    everywhere. `top` has number and rate of the worst cells of a landscape too large to be kept whole,
    `trace` (queries, failures) as the search went on.
    """

    cells: int
    axes: tuple[AxisRates, ...]
    above: float
    rate: float
    whole: Estimate
    entropy: float
    coverage: Coverage
    missed: float
    missed_draws: int
    modes: tuple[Mode, ...]
    modes_in_all: int
    sets: tuple[FailingSet, ...]
    worst: tuple[Cell, ...]
    top: tuple[tuple[int, float], ...]
    uncertain: tuple[Cell, ...]
    heat: tuple[HeatMap, ...]
    trace: tuple[tuple[int, int], ...]
    queries: int
    failures: int
    search: str
    compared: Compared | None = None
    note: str = ""


class CellRates(Value):
    """Believed rates, intervals and counts of every cell, in the order of their numbers.

    Rates are None of cells without inputs, such as those of which a table has no row.
    """

    rate: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    n: tuple[int, ...]
    failures: tuple[int, ...]


class BiasRow(Value):
    """How often each value was seen somewhere, and the total variation from the wanted shares.

    All of the `cells` that were asked, `of` those that there are, count alike.
    """

    where: str
    counts: tuple[int, ...]
    n: int
    cells: int
    of: int
    apart: float
    low: float
    high: float


class BiasFound(Value):
    """The values of an attribute in a generator's pictures, against the shares that are wanted."""

    attribute: tuple[str, ...]
    wanted: tuple[float, ...]
    rows: tuple[BiasRow, ...]


class Original(Value):
    """The kept input that a failing case was made of."""

    hypothesis: str
    index: int
    blob: str


class MapResult(Result):
    """What is known so far: every cell only of a landscape that is not too large."""

    parts: dict[str, int] = Field(default_factory=dict)
    landscape: Landscape | None = None
    every_cell: CellRates | None = None
    bias: BiasFound | None = None
    originals: tuple[Original, ...] = ()

    @property
    def modes(self) -> tuple[Mode, ...]:
        return () if self.landscape is None else self.landscape.modes

    def samples(self, run: Run, number: int, *, most: int = 2) -> list[str]:
        """Where failing inputs of a mode lie: of its confirmation, or else of its cells."""
        space = settings_of(run).concept_space
        region = self.modes[number - 1].region
        asked = [
            space.hypothesis(region, origin="mode"),
            *map(space.hypothesis, space.cells(region)[:LOOKED].tolist()),
        ]
        known = {h.id for h in run.ledger.hypotheses()}
        found: list[str] = []
        for hypothesis in (h for h in asked if h.id in known):
            kept = (t.blob for t in run.ledger.trials(hypothesis, failed=True) if t.blob)
            found += [f"{run.blobs.place}/{blob[:2]}/{blob}" for blob in kept]
            if len(found) >= most:
                break
        return list(dict.fromkeys(found))[:most]
