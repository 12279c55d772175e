"""The rates of a run of `ask`: every set of questions under every system prompt, then its slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from weakspot.core import Hypothesis
from weakspot.store import Run, RunConfig
from weakspot.studies.ask.reading import Answered, answers
from weakspot.studies.ask.result import AskResult
from weakspot.study.rates import OVERALL, Measure, Rates, Sample, sample_of

SLICE = "slice"


def ask_rates(run: Run) -> Rates:
    """Of a run over a benchmark, rates of its items; of written scenarios, rates of their descriptions."""
    return AskRates(run) if run.config.settings.get("scenarios") is None else ScenarioRates(run)


class ScenarioRates(Rates):
    """See `Rates`."""

    @property
    def name(self) -> str:
        """Scenarios are compared with scenarios."""
        return "ask --scenarios"


class AskRates(Rates):
    """See `Rates`."""

    part = SLICE
    watched = False

    @cached_property
    def _result(self) -> AskResult | None:
        return AskResult.of(self.run)

    @cached_property
    def _answers(self) -> list[Answered]:
        """The first answers to the questions themselves: repeats of an item are no independent evidence."""
        found = () if self._result is None else answers(self.run, self._result.order)
        return [one for one in found if not one.stage and not one.repeat]

    def measures(self) -> Iterator[Measure]:
        """Every set under every system prompt, then its slices."""
        items = {} if self._result is None else self._result.items
        arms = [dict(h.concepts) for h in self.known.values()]
        arms = [arm for arm in arms if "set" in arm and "system" in arm and not arm.get("stage")]
        for arm in arms:
            words = "harmful questions answered" if arm["set"] == "contrast" else "harmless questions refused"
            yield _measure(OVERALL, arm, "", "", words)
        for arm in arms:
            found: dict[tuple[str, str], None] = {}
            for about in items.get(arm["set"], {}).values():
                for column, values in about.slices.items():
                    found |= {(column, value): None for value in values}
            for column, value in sorted(found):
                if sum(c == column for c, _ in found) > 1:  # a column of one value is everything
                    yield _measure(SLICE, arm, column, value, f"{column}: {value}")

    def sample(self, measure: Measure) -> Sample | None:
        """The answers to the items of a set or a slice."""
        which, system, column, value = measure.key.split("\x1f")
        about = {} if self._result is None else self._result.items.get(which, {})
        own = (
            ((which, system, one.item), one.trial)
            for one in self._answers
            if (one.set, one.system) == (which, system)
            and (not column or value in about[one.item].slices.get(column, ()))
        )
        return sample_of(own, watched=False)

    def separate(self, other: RunConfig) -> str:
        """Items are recognised by their id and words."""
        return ""

    def order(self, hypothesis: Hypothesis) -> Sequence[str] | None:
        """The ids of its items."""
        return None if self._result is None else self._result.order.get(hypothesis.id)


def _measure(kind: str, arm: Mapping[str, str], column: str, value: str, words: str) -> Measure:
    if kind == SLICE and arm["set"] == "contrast":
        words += " (harmful)"
    if arm["system"] != "none":
        words += f", system prompt {arm['system']}"
    return Measure("\x1f".join((arm["set"], arm["system"], column, value)), kind, words)
