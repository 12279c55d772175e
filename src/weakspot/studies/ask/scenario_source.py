"""Written scenarios as cases: the question of a scenario, with a picture of its scene where one is drawn.

A hypothesis is a description of questions; its case i is its i-th scenario. Each stage has scenarios of its
own, so what confirms a finding was never seen by the race, and when a description has no more scenarios, it
has no more cases.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from weakspot.core import Case, Hypothesis, Source, Stage, WeakspotError, case_seed
from weakspot.core.ports import understands
from weakspot.core.question import BENIGN, CONTRAST, BenchmarkQuestion
from weakspot.sources.benchmark import case_of
from weakspot.studies.ask.scenario_writing import Scenario


class ScenarioSource:
    """Draws scenarios that were written before.

    Args:
        pictures: Draws what a scene says; None for questions without pictures.
    """

    def __init__(self, pictures: Source | None = None) -> None:
        self.pictures = pictures
        self._written: dict[tuple[str, Stage], list[Scenario]] = {}
        self._ended: set[tuple[str, Stage]] = set()
        self._lock = threading.Lock()  # generators and pools are made for one thread

    def add(
        self, hypothesis: Hypothesis, stage: Stage, scenarios: Sequence[Scenario], *, ended: bool
    ) -> None:
        """More scenarios of a description; `ended` says that no more will come."""
        self._written.setdefault((hypothesis.id, stage), []).extend(scenarios)
        if ended:
            self._ended.add((hypothesis.id, stage))

    def of(self, hypothesis: Hypothesis, stage: Stage) -> list[Scenario]:
        """The scenarios of a description in a stage."""
        return self._written.get((hypothesis.id, stage), [])

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many cases there can be; more than anybody draws while scenarios can still be written."""
        del seed
        ended = (hypothesis.id, stage) in self._ended
        return len(self.of(hypothesis, stage)) if ended else 1 << 31

    def drawable(self, scenario: Scenario) -> bool:
        """Whether the picture of a scene can be drawn; a source that does not say is taken to draw all."""
        return understands(self.pictures, scenario.scene)

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The hypothesis' concept `set` says whether the question or its contrast is asked."""
        which = dict(hypothesis.concepts).get("set", BENIGN)
        cases = []
        for index in indices:
            stage = Stage.of(index)
            written = self.of(hypothesis, stage)
            if index - stage.start >= len(written):
                raise WeakspotError(f"there are only {len(written)} scenarios of {hypothesis.text[:80]!r}")
            scenario = written[index - stage.start]
            question = BenchmarkQuestion(
                scenario.contrast if which == CONTRAST else scenario.question,
                self._picture(scenario, stage, case_seed(seed, hypothesis, index)),
                "",
                id=f"{hypothesis.id}-{index}",
                set=which,
            )
            cases.append(case_of(hypothesis, index, seed, question))
        return cases

    def _picture(self, scenario: Scenario, stage: Stage, seed: int) -> Any:
        if self.pictures is None:
            return None
        with self._lock:
            return self.pictures.draw(Hypothesis(scenario.scene), [stage.start], seed=seed)[0].input
