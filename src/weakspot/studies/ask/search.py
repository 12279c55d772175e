"""ask, with new questions: which descriptions of harmless questions does a chat model refuse most?

A language model proposes descriptions for a type of stimulus and writes scenarios to each: a scene, a benign
question, a harmful contrast. Another call judges whether they are what they should be; only such are asked.
Scenarios of any kind are the baseline; the descriptions are raced against it, and those that the model
refuses more often are measured again on scenarios that were written for that purpose alone. The list of
findings controls the false-discovery rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from weakspot.core import Hypothesis, Stage, Trial, WeakspotError
from weakspot.core.question import BENIGN, CONTRAST, Budgeted
from weakspot.engine import (
    Budget,
    BudgetSpent,
    ConfirmSettings,
    Lane,
    RaceSettings,
    State,
    Want,
    confirm,
    findings,
    race,
)
from weakspot.report.people.refusals import chance
from weakspot.studies.ask.analysis import Asked, counted, refused
from weakspot.studies.ask.parts import ScenarioParts, asking, model_name
from weakspot.studies.ask.purse import Paying
from weakspot.studies.ask.result import AskResult, Counted, Description, Example, Scenarios, Writer
from weakspot.studies.ask.scenarios import Scenario, ScenarioSource, propose, write
from weakspot.studies.ask.settings import AskSettings
from weakspot.studies.ask.verdicts import Refusals, error_of
from weakspot.study import Context

#: Scenarios for each description that is proposed, over the whole run.
PER_KIND: Final = 30
FEWEST_KINDS, MOST_KINDS = 3, 24
#: Winners of the race that are measured again, and examples kept of each.
PLACES: Final = 6
EXAMPLES: Final = 6
#: Cases per call of a target that does not wait for a server.
_BATCH: Final = 16


def search(context: Context[AskSettings, Any], parts: ScenarioParts) -> AskResult:
    settings, n = context.settings, context.settings.scenarios or 0
    refusals = Refusals(parts.judge, settings.refused)
    how = asking(context, parts.target, refusals, batch=_BATCH, helper=parts.llm)
    source = ScenarioSource(parts.source)
    writing = partial(Writing, context=context, llm=parts.llm)
    lanes: list[Lane] = []
    confirmed: list[Lane] = []
    with context.engine(source=source, kind=writing, **how) as engine:
        assert isinstance(engine, Writing)  # noqa: S101 - for the type
        with context.as_far_as_it_goes():
            kinds = engine.descriptions(min(MOST_KINDS, max(FEWEST_KINDS, n // PER_KIND)))
            engine.draw([Want(engine.base, max(12, n // 8))])
            racing = RaceSettings(first=6, most=max(12, n // 8), lift=2.0, places=PLACES)
            lanes = race(engine, kinds, against=engine.base, settings=racing)
            ahead = [lane for lane in lanes if lane.state is State.AHEAD]
            winners = sorted(ahead, key=lambda lane: -lane.tally.rate)[:PLACES]
            fresh = ConfirmSettings(
                fdr=settings.fdr, least=12, most=max(24, n // 6), baseline=max(24, n // 4)
            )
            confirmed, spent = confirm(
                engine, [lane.hypothesis for lane in winners], against=engine.base, settings=fresh
            )
            if spent is not None:
                context.end(f"the {spent}")
        counterparts = engine.counterparts(confirmed) if settings.contrast else {}
        context.ledger.set_findings(findings(engine, confirmed))
        return described(engine, parts, lanes, confirmed, counterparts)


class Writing(Paying):
    """An engine that has `llm` write the scenarios before it draws them; they are noted in the run."""

    def __init__(
        self, run: Any, *, source: ScenarioSource, context: Context[AskSettings, Any], llm: Any, **parts: Any
    ) -> None:
        super().__init__(run, source=source, **parts)
        self.settings, self.context, self.llm, self.scenarios = context.settings, context, llm, source
        # No more benign questions than scenarios are wanted; their contrasts come on top.
        limits = dict(self.spending.budget.limits) | {"images": float(self.settings.scenarios or 0)}
        self.spending.budget = Budget(tuple(limits.items()))
        self.base = hypothesis_of(self.stimulus)
        self._kinds = {self.base.id: ""}
        self.rejected = Counter[str](context.noted("rejected", {}))
        before = context.noted("llm spent", {"tokens": 0, "dollars": 0.0})
        self.spent = (before["tokens"], before["dollars"])
        self._own = _spent_by(llm)

    @property
    def stimulus(self) -> str:
        return self.settings.stimulus or ""

    def descriptions(self, n: int) -> list[Hypothesis]:
        """The descriptions to race; proposed once and kept."""
        known: list[str] | None = self.context.noted("descriptions")
        if known is None:
            known, answers = propose(self.llm, stimulus=self.stimulus, n=n)
            self._count_writing()
            self.settle()
            if not known:
                raise WeakspotError(
                    f"{str(self.settings.llm)[:80]} proposed nothing that can be read ({answers})",
                    fix="try another --llm, or other words for --stimulus",
                )
            self.context.note("descriptions", known)
        found = [hypothesis_of(self.stimulus, kind) for kind in known]
        self._kinds |= {h.id: kind for h, kind in zip(found, known, strict=True)}
        return found

    def draw(self, wants: Sequence[Want], *, phase: str = "asking") -> None:
        self._write([want for want in wants if want.hypothesis.id in self._kinds])
        super().draw(wants, phase=phase)

    def _write(self, wants: Sequence[Want]) -> None:
        """Have the scenarios written that the wanted trials need; what is written is kept first."""
        missing, room = [], self.spending.room()
        for want in wants:
            kept = self.context.noted(_key(want.hypothesis, want.stage))
            if kept and not self.scenarios.of(want.hypothesis, want.stage):  # an earlier process wrote
                rows = [Scenario(*row) for row in kept["scenarios"]]
                self.scenarios.add(want.hypothesis, want.stage, rows, ended=kept["ended"])
            there = len(self.scenarios.of(want.hypothesis, want.stage))
            reach = self.reach(want.hypothesis, want.stage)
            short = min(want.n - there, room, reach - there)
            if short > 0:
                missing.append((want, short))
                room -= short
        if not missing:
            return
        # The other stage's questions are no fresh ones.
        known = [
            [s for stage in Stage for s in self.scenarios.of(want.hypothesis, stage)] for want, _ in missing
        ]
        written = write(
            self.llm,
            [(self._kinds[w.hypothesis.id], n, k) for (w, n), k in zip(missing, known, strict=True)],
            stimulus=self.stimulus,
            pictures=self.scenarios.pictures is not None,
        )
        self._count_writing()
        for (want, n), given in zip(missing, written, strict=True):
            drawable = [s for s in given.scenarios if self.scenarios.drawable(s)]
            self.rejected.update(given.rejected)
            self.rejected.update(["the scene cannot be drawn"] * (len(given.scenarios) - len(drawable)))
            # A writer that was cut short by the budget may have more to say when the run goes on.
            ended = len(drawable) < n and not self.purse.over
            self.scenarios.add(want.hypothesis, want.stage, drawable, ended=ended)
            whole = [list(s) for s in self.scenarios.of(want.hypothesis, want.stage)]
            self.context.note(_key(want.hypothesis, want.stage), {"scenarios": whole, "ended": ended})
        self.context.note("rejected", dict(self.rejected))
        self.settle()

    def counterparts(self, lanes: Sequence[Lane]) -> dict[str, Hypothesis]:
        """Ask the harmful counterparts of the confirmed descriptions' fresh scenarios; by description."""
        found = {}
        for lane in lanes:
            fresh = self.scenarios.of(lane.hypothesis, Stage.CONFIRM)
            harmful = [s for s in fresh[: lane.tally.drawn] if s.contrast]
            if lane.state is not State.CONFIRMED or not harmful:
                continue
            kind = self._kinds[lane.hypothesis.id]
            other = hypothesis_of(self.stimulus, kind, which=CONTRAST)
            self.scenarios.add(other, Stage.EXPLORE, harmful, ended=True)
            try:
                # The number of scenarios limits the benign ones alone.
                self.spending.budget = Budget.parse(self.settings.budget)
                super().draw([Want(other, len(harmful))])
            except BudgetSpent:
                break
            found[kind] = other
        return found

    def _count_writing(self) -> None:
        """Note what writing has cost since it was last counted."""
        now = _spent_by(self.llm)
        tokens, dollars = (a - b for a, b in zip(now, self._own, strict=True))
        self._own, self.spent = now, (self.spent[0] + int(tokens), self.spent[1] + dollars)
        self.context.note("llm spent", {"tokens": self.spent[0], "dollars": self.spent[1]})


def _spent_by(llm: object) -> tuple[float, float]:
    """Tokens and dollars, of a writer that counts them."""
    return (llm.spent.tokens, llm.spent.dollars) if isinstance(llm, Budgeted) else (0, 0.0)


def hypothesis_of(stimulus: str, kind: str = "", *, which: str = BENIGN) -> Hypothesis:
    """A description of questions as a hypothesis; without one, all of the type."""
    concepts = (("set", which), ("system", "none"), ("kind", kind))
    words = f"{'harmless' if which == BENIGN else 'harmful'} questions of the type {stimulus}."
    return Hypothesis(f"{words} {kind}".strip(), concepts, origin="llm" if kind else "baseline")


def _key(hypothesis: Hypothesis, stage: Stage) -> str:
    return f"scenarios {hypothesis.id} {stage.name.lower()}"


def described(
    engine: Writing,
    parts: ScenarioParts,
    lanes: Sequence[Lane],
    confirmed: Sequence[Lane],
    counterparts: Mapping[str, Hypothesis],
) -> AskResult:
    """The figures: of all scenarios of any kind at the top, then every description, worst first."""
    error, ledger, settings = error_of(parts.judge), engine.run.ledger, engine.settings

    def figures(hypothesis: Hypothesis, *stages: Stage) -> Counted:
        trials = [t for stage in stages for t in ledger.trials(hypothesis, stage=stage)]
        return counted([_asked(hypothesis, trial) for trial in trials], error)

    ledger.add_hypotheses([engine.base, *(lane.hypothesis for lane in lanes)])  # some may be undrawn
    again = {lane.hypothesis.id: lane for lane in confirmed}
    found = []
    for first in lanes:
        kind, fresh = dict(first.hypothesis.concepts)["kind"], first.hypothesis.id in again
        lane, stage = again.get(first.hypothesis.id, first), Stage.CONFIRM if fresh else Stage.EXPLORE
        other = counterparts.get(kind)
        found.append(
            Description(
                **figures(lane.hypothesis, stage).model_dump(),
                description=kind,
                state=lane.state.value,
                confirmed=fresh and lane.state is State.CONFIRMED,
                log_evidence=lane.log_evidence,
                fresh=fresh,
                contrast=None if other is None else figures(other, Stage.EXPLORE),
                examples=_examples(engine, lane.hypothesis, stage),
            )
        )
    found.sort(key=lambda row: (not row.confirmed, not row.fresh, -(row.rate or 0.0)))
    tokens, dollars = engine.spent
    return AskResult(
        **figures(engine.base, Stage.EXPLORE, Stage.CONFIRM).model_dump(),
        model=model_name(settings.target, parts.target),
        scenarios=Scenarios(
            stimulus=engine.stimulus,
            descriptions=tuple(found),
            rejected=dict(engine.rejected),
            llm=Writer(name=str(settings.llm), tokens=tokens, dollars=dollars),
        ),
    )


def _asked(hypothesis: Hypothesis, trial: Trial) -> Asked:
    which = dict(hypothesis.concepts)["set"]
    return Asked(f"{hypothesis.id}-{trial.index}", which, trial.status, refused(trial), chance=chance(trial))


def _examples(engine: Writing, hypothesis: Hypothesis, stage: Stage) -> tuple[Example, ...]:
    written = engine.scenarios.of(hypothesis, stage)
    return tuple(
        Example(
            **written[trial.index - stage.start]._asdict(),
            answer=(trial.answer or "")[:500],
            reason=trial.detail,
        )
        for trial in engine.run.ledger.trials(hypothesis, stage=stage, failed=True, limit=EXAMPLES)
    )
