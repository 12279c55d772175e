"""A search's queries as trials of a run: a cell is a hypothesis, and the ledger has every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Judge, Output, Trial, Verdict
from weakspot.engine import Cluster, Engine, Want
from weakspot.store import Run
from weakspot.studies.map.search.problem import Answers, Cells


class Remembering:
    """A judge that keeps what it said of each case, for the search to learn from.

    Args:
        judge: Decides.

    Attributes:
        chosen: Which input a draw shows, where a policy chose it.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.known: dict[tuple[str, int], tuple[float, float]] = {}
        self.chosen: dict[tuple[str, int], int] = {}

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`."""
        verdicts = self._judge.judge(cases, outputs)
        for case, verdict in zip(cases, verdicts, strict=True):
            self.known[case.hypothesis.id, case.index] = _pair(verdict.failed, verdict.score)
        return verdicts

    def recall(self, run: Run) -> None:
        """Take what the run has recorded."""
        for hypothesis in run.ledger.hypotheses():
            self.hear(run.ledger.trials(hypothesis))

    def hear(self, trials: Iterable[Trial]) -> None:
        """Take what a judge elsewhere has said."""
        for trial in trials:
            self.known[trial.hypothesis, trial.index] = _pair(trial.failed, trial.score)

    def answer(self, hypothesis: Hypothesis, index: int) -> tuple[float, float]:
        """Failed (1, 0, nan) and Δ of a trial."""
        return self.known.get((hypothesis.id, index), (np.nan, np.nan))


def _pair(failed: bool | None, score: float | None) -> tuple[float, float]:
    if failed is None:
        return np.nan, np.nan
    return float(failed), float(failed) if score is None else float(score)


class Remote:
    """A cluster whose sources are told what a policy chose, and whose judges are heard here.

    Args:
        cluster: Draws, answers and judges.
        memory: Knows the choices, and hears the verdicts.
    """

    def __init__(self, cluster: Cluster, memory: Remembering) -> None:
        self._cluster, self._memory = cluster, memory

    def through(self, work: Iterable[Any], stages: Sequence[Callable[..., Any]]) -> Iterator[Any]:
        """See `Cluster`. To each piece of work, a batch and more, is added what was chosen for the batch."""
        draw, *others = stages
        begun = ((*piece, self._chosen(piece[0])) for piece in work)
        for judged in self._cluster.through(begun, (partial(_draw_chosen, draw), *others)):
            self._memory.hear(judged.trials)
            yield judged

    def _chosen(self, batch: Any) -> dict[int, int]:
        known, own = self._memory.chosen, batch.hypothesis.id
        return {i: known[own, i] for i in range(batch.start, batch.stop) if (own, i) in known}

    def close(self) -> None:
        """See `Cluster`."""
        self._cluster.close()


def _draw_chosen(draw: Callable[..., Any], source: Any, begun: tuple[Any, ...]) -> Any:
    for index, which in begun[-1].items():
        source.place(begun[0].hypothesis, index, which)
    return draw(source, begun)


class Asking:
    """A problem whose queries go through the engine.

    Args:
        engine: Draws them.
        space: The cells.
        memory: The engine's judge.
        inputs: How many inputs a cell can show.
    """

    def __init__(self, engine: Engine, *, space: ConceptSpace, memory: Remembering, inputs: int) -> None:
        self.space, self.inputs = space, inputs
        self.distinct = min(inputs, int(getattr(engine.source, "distinct", inputs)))
        self.placed = hasattr(engine.source, "place")
        self._engine, self._memory = engine, memory
        self._hypotheses: dict[tuple[int, str], Hypothesis] = {}

    def hypothesis(self, cell: int, policy: str = "") -> Hypothesis:
        """The hypothesis of a cell."""
        key = (int(cell), policy)
        if key not in self._hypotheses:
            self._hypotheses[key] = self.space.hypothesis(int(cell), policy=policy)
        return self._hypotheses[key]

    def ask(self, cells: Cells) -> Answers:
        """See `Problem`."""
        return self._ask([self.hypothesis(cell) for cell in cells], None)

    def ask_on(self, policy: str, cells: Cells, inputs: Cells) -> Answers:
        """See `Problem`."""
        return self._ask([self.hypothesis(cell, policy) for cell in cells], inputs)

    def _ask(self, asked: Sequence[Hypothesis], inputs: Cells | None) -> Answers:
        upto: dict[str, int] = {}
        wanted: dict[str, Hypothesis] = {}
        places: list[tuple[Hypothesis, int]] = []
        place: Any = getattr(self._engine.source, "place", None)
        for i, hypothesis in enumerate(asked):
            index = upto.get(hypothesis.id, self._engine.tally(hypothesis).drawn)
            upto[hypothesis.id], wanted[hypothesis.id] = index + 1, hypothesis
            places.append((hypothesis, index))
            if inputs is not None and place is not None:
                self._memory.chosen[hypothesis.id, index] = int(inputs[i])
                place(hypothesis, index, int(inputs[i]))
        self._engine.draw([Want(hypothesis, upto[own]) for own, hypothesis in wanted.items()])
        found = [self._memory.answer(*where) for where in places]
        failed, delta = (np.array(column, dtype=float) for column in zip(*found, strict=True))
        return Answers(failed, delta, self._inputs(places) if inputs is None else inputs)

    def _inputs(self, places: Sequence[tuple[Hypothesis, int]]) -> Cells | None:
        """Which inputs were shown, where the source can say."""
        place_of: Any = getattr(self._engine.source, "place_of", None)
        if place_of is None:
            return None
        return np.array([place_of(h, index, seed=self._engine.seed) for h, index in places], np.int64)

    def contexts(self, inputs: Cells) -> NDArray[np.float32]:
        """See `Problem`. A source without such a method has nothing to show."""
        look: Any = getattr(self._engine.source, "contexts", None)
        if look is None:
            return np.zeros((len(inputs), 1), np.float32)
        return np.asarray(look([int(i) for i in inputs]), np.float32)
