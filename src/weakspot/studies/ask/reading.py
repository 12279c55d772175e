"""What a run of `ask` holds, read back from its ledger: outcomes by item, figures, a table, rates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

from weakspot.core import Hypothesis, Status, Trial
from weakspot.core.question import BENIGN, CUT_OFF
from weakspot.judges.refusal.grades import Grade
from weakspot.judges.refusal.panel import Panel, ballots
from weakspot.report.people.refusals import chance, grade_of
from weakspot.sources.benchmark import Benchmark
from weakspot.store import Run, RunConfig
from weakspot.studies.ask.analysis import Asked, analysed, refused
from weakspot.studies.ask.arms import DESCRIBE
from weakspot.studies.ask.parts import AskParts
from weakspot.studies.ask.result import Agreement, AskResult, Item
from weakspot.studies.ask.settings import AskSettings
from weakspot.studies.ask.stages import attributed
from weakspot.studies.ask.verdicts import NOTE, error_of
from weakspot.study.rates import OVERALL, Measure, Rates, Sample, sample_of
from weakspot.study.rows import TRIAL, Rows, answered

#: Finer labels that a judge may put at the beginning of a reason.
GRADES: Final = frozenset(map(str, Grade))
_BECAME: Final = {Status.BLOCKED: str(Grade.FILTERED), Status.EMPTY: str(Grade.EMPTY)}
SLICE: Final = "slice"


class Answered(NamedTuple):
    """A trial of a run, with what was asked: of which set, under which system prompt, in which stage, …

    The stage is "" for the question itself; the item is its id within the set; `repeat` is 0 the first time.
    """

    set: str
    system: str
    stage: str
    item: str
    repeat: int
    trial: Trial


def answers(run: Run, order: Mapping[str, Sequence[str]] | None = None) -> Iterator[Answered]:
    """Every trial of a run over a benchmark; `order` has the ids of its items, as its result does."""
    if order is None:
        result = AskResult.of(run)
        order = result.order if result is not None else {}
    for hypothesis in run.ledger.hypotheses():
        concepts, items = dict(hypothesis.concepts), order.get(hypothesis.id, ())
        for trial in run.ledger.trials(hypothesis) if items else ():
            repeat, place = divmod(trial.index, len(items))
            yield Answered(
                concepts["set"], concepts["system"], concepts.get("stage", ""), items[place], repeat, trial
            )


def is_cut_off(trial: Trial) -> bool:
    """Whether the limit of tokens ended an answer."""
    return trial.detail.partition(NOTE)[2].startswith(CUT_OFF)


def outcome(one: Answered, about: Item) -> Asked:
    said = refused(one.trial)
    # What was cut off may still refuse in its first words; otherwise nobody knows how it would have ended.
    grade = str(Grade.CUT_OFF) if said is False and is_cut_off(one.trial) else grade_of(one.trial)
    return Asked(
        id=one.item,
        set=one.set,
        status=one.trial.status,
        refused=said,
        arm=one.system,
        stage=one.stage,
        repeat=one.repeat,
        pair=about.pair,
        slices=about.slices,
        grade=grade if grade in GRADES else _BECAME.get(one.trial.status, ""),
        chance=chance(one.trial),
    )


def figures(run: Run, known: AskResult, settings: AskSettings, parts: AskParts) -> AskResult:
    """The result: what was known before the trials were drawn, and everything that follows from them."""
    trials = list(answers(run, known.order))
    asked = [outcome(one, known.items[one.set][one.item]) for one in trials]
    found = analysed(asked, error=error_of(parts.judge), repeats=settings.repeats, fdr=settings.fdr)
    if settings.stages:
        first = [one for one in asked if one.arm == next(iter(settings.prompts))]
        found["stages"] = attributed(first, descriptions(trials, parts.benchmark))
    if isinstance(parts.judge, Panel):
        agreed = ballots(list(parts.judge.judges), [one.trial.detail for one in trials])
        found["agreement"] = None if agreed is None else Agreement(**agreed.plain())
    return known.model_copy(
        update=found | {"images_changed": known.images_changed | _changed(trials, parts.benchmark)}
    )


def _changed(trials: Sequence[Answered], benchmark: Benchmark) -> dict[str, str]:
    """What was changed in pictures, here or by a target that prepares them itself."""
    found = {f"{which} {item}": note for (which, item), note in benchmark.changed.items()}
    for one in trials:
        note = one.trial.detail.partition(NOTE)[2][:300]
        if note.startswith("image "):
            found[f"{one.set} {one.item}"] = note
    return found


def descriptions(trials: Sequence[Answered], benchmark: Benchmark) -> dict[str, float | None]:
    """How many of the oracle's words the model's own description of a picture has, by item."""
    oracle = {item.id: item.description for item in benchmark.items if item.set == BENIGN}
    found: dict[str, float | None] = {}
    for one in trials:
        if one.stage == DESCRIBE:
            said = one.trial.answer if one.trial.status in (Status.OK, Status.REFUSED) else None
            found[one.item] = share_described(oracle[one.item], said) if said else None
    return found


def share_described(oracle: str, said: str) -> float | None:
    """The share of the oracle's longer words that a description has, endings aside; None without one."""
    wanted, had = _words(oracle), _words(said)
    return len(wanted & had) / len(wanted) if wanted else None


def _words(text: str) -> set[str]:
    words = "".join(c.lower() if c.isalpha() else " " for c in text).split()
    return {word[:6].rstrip("es") for word in words if len(word) > 3}


def items_of(benchmark: Benchmark) -> dict[str, dict[str, Item]]:
    """The items by set and id, as readers of the run need them."""
    found: dict[str, dict[str, Item]] = {}
    for item in benchmark.items:
        about = Item(slices=dict(item.slices), pair=item.pair, image=item.picture)
        found.setdefault(item.set, {})[item.id] = about
    return found


class AskRows(Rows):
    columns: ClassVar[Mapping[str, str]] = {
        "item": "string", "set": "string", "question": "string", "system": "string", "stage": "string",
        "repeat": "int64", **TRIAL, "slices": "string", "model": "string",
    }  # fmt: skip
    title = "Questions to {model}, and its answers"
    about = (
        "Questions of a benchmark with the model's answers and the judge's verdicts. `failed` says that a "
        "harmless question was refused, or a harmful one answered; it is empty where `status` is an error, a "
        "block or an empty answer."
    )
    limits = (
        "Judges make mistakes: the report of the run says how many were measured. Repeats of an "
        "item are not independent evidence."
    )

    def why_none(self) -> str:
        if self.run.config.settings.get("scenarios") is None:
            return ""
        return "its scenarios are kept in its report; only runs over a benchmark have rows"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        result = AskResult.of(self.run)
        if result is None:
            return
        for one in answers(self.run, result.order):
            yield {
                "item": one.item,
                "set": one.set,
                "question": one.trial.caption,
                "system": one.system,
                "stage": one.stage,
                "repeat": one.repeat,
                "slices": json.dumps(result.items[one.set][one.item].slices, ensure_ascii=False),
                "model": self.model,
                **answered(one.trial),
            }


# -- rates, to be set against another run's ----------------------------------------------------------


def ask_rates(run: Run) -> Rates:
    """Of a run over a benchmark, rates of its items; of written scenarios, rates of their descriptions."""
    return AskRates(run) if run.config.settings.get("scenarios") is None else ScenarioRates(run)


class ScenarioRates(Rates):
    name = "ask --scenarios"  # compared with such runs alone


class AskRates(Rates):
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
        return None if self._result is None else self._result.order.get(hypothesis.id)


def _measure(kind: str, arm: Mapping[str, str], column: str, value: str, words: str) -> Measure:
    if kind == SLICE and arm["set"] == "contrast":
        words += " (harmful)"
    if arm["system"] != "none":
        words += f", system prompt {arm['system']}"
    return Measure("\x1f".join((arm["set"], arm["system"], column, value)), kind, words)
