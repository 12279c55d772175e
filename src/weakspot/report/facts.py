"""What a run has to say, read once from its folder; every form of the report is made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Tally
from weakspot.report.measured import (
    Base,
    Rung,
    Tried,
    as_unchecked,
    base_of,
    bases_of,
    own_errors,
    rungs_of,
    tries_of,
)
from weakspot.stats import confidence_sequence
from weakspot.store import Run, RunConfig
from weakspot.studies.hunt.result import HuntResult

#: Hypotheses that came about like this do not race.
ASIDE: Final = ("baseline", "edit", "person")


class RaceLane(NamedTuple):
    """One hypothesis of the race, with the counts the race saw (fresh draws are not among them).

    Attributes:
        label: Of the baseline it raced against.
    """

    id: str
    text: str
    phrase: str
    n: int
    failures: int
    errors: int
    low: float
    high: float
    state: str
    label: str = ""

    @property
    def rate(self) -> Rate:
        """Failures per trial, with the anytime-valid interval."""
        return Rate(self.failures / self.n if self.n else 0.0, self.low, self.high, self.n, self.failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A run as the report tells it.

    Attributes:
        folder: Of the run.
        config: From run.yaml.
        state: "running", "finished" or "stopped: …".
        bases: The baselines that have been entered, one per label.
        findings: Confirmed ones first, best first.
        lanes: The race, in the order in which the hypotheses were proposed.
        trials: Counts of the whole run.
        errors: What went wrong and how often.
        spend: Amounts by kind.
        budget: The limits it was last given.
        edits: Measured edits by a finding's hypothesis id and answer.
        tries: What persons tried.
        skipped: Files of a folder that could not be used, and why.
    """

    folder: Path
    config: RunConfig
    state: str
    bases: tuple[Base, ...]
    findings: tuple[Finding, ...]
    lanes: tuple[RaceLane, ...]
    trials: Tally
    errors: tuple[tuple[str, int], ...]
    spend: Mapping[str, float]
    budget: str | None = None
    edits: Mapping[tuple[str, str], tuple[Rung, ...]] = field(default_factory=dict)
    tries: tuple[Tried, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of a hunt for several; () where there is one."""
        return tuple(str(label) for label in self.config.settings.get("labels") or ())

    @property
    def base(self) -> Hypothesis | None:
        """The baseline's words, once there are any; None where every label has its own."""
        return self.bases[0].hypothesis if self.bases and not self.labels else None

    @property
    def baseline(self) -> Rate | None:
        """Its rate over all draws; None before the first, and where every label has its own."""
        return self.bases[0].rate if self.base is not None and self.bases[0].tally.drawn else None

    @property
    def verifiers(self) -> tuple[str, ...]:
        """The models that were asked whether the cases are valid."""
        return tuple(str(name) for name in self.config.settings.get("verify") or ())

    @property
    def invalid(self) -> Rate | None:
        """How often the source errs by itself, on plain cases of all labels; None if nobody was asked."""
        total = Tally()
        for base in self.bases:
            total = total.plus(base.tally)
        return own_errors(total) if self.verifiers and total.n + total.invalid else None

    def base_of(self, finding: Finding) -> Base | None:
        """The baseline of a finding."""
        return base_of(finding.hypothesis, self.bases)

    def label_of(self, finding: Finding) -> str:
        """The label of a finding; "" where all findings are of one."""
        base = self.base_of(finding)
        return base.label if self.labels and base is not None else ""

    def rungs(self, finding: Finding) -> tuple[Rung, ...]:
        """The measured edits of a finding, those that fail most first."""
        return self.edits.get((finding.hypothesis.id, finding.answer), ())

    @property
    def confirmed(self) -> list[Finding]:
        """The findings that fresh draws confirmed."""
        return [f for f in self.findings if f.confirmed]

    @property
    def candidates(self) -> list[Finding]:
        """Those they did not."""
        return [f for f in self.findings if not f.confirmed]

    def setting(self, name: str, default: str = "") -> str:
        """A setting of the run as text."""
        value = self.config.settings.get(name)
        return default if value is None else str(value)


def gather(run: Run) -> Facts:
    """Read a run: finished, stopped, still running or just created."""
    ledger = run.ledger
    known = {h.id: h for h in ledger.hypotheses()}
    bases, result = bases_of(run), HuntResult.of(run) or HuntResult()
    total = Tally()
    for tally in ledger.tallies().values():
        total = total.plus(tally)
    findings = tuple(replace(f, unchecked=as_unchecked(run, f)) for f in run.findings)
    budget = ledger.fact("budget")
    return Facts(
        folder=run.folder,
        config=run.config,
        state=run.state,
        bases=tuple(bases),
        findings=findings,
        lanes=tuple(_lanes(run, result, known, bases)),
        trials=total,
        errors=tuple(ledger.errors()) if total.errors else (),
        spend=ledger.spend(),
        budget=None if budget is None else str(budget),
        edits={
            (f.hypothesis.id, f.answer): rungs_of(run, result, f, known, base_of(f.hypothesis, bases))
            for f in findings
        },
        tries=tries_of(run, known, bases),
        skipped=tuple((one.name, one.reason) for one in result.skipped),
    )


def _lanes(
    run: Run, result: HuntResult, known: Mapping[str, Hypothesis], bases: Sequence[Base]
) -> list[RaceLane]:
    """The lanes the study decided on; until it has, every other hypothesis that may race is open."""
    states = {lane.hypothesis: lane.state for lane in result.race}
    if run.state == "running" or not states:
        aside = {base.hypothesis.id for base in bases}
        for key, hypothesis in known.items():
            if key not in aside and hypothesis.origin not in ASIDE:
                states.setdefault(key, "open")
    lanes = []
    for key, state in states.items():
        racing = known.get(key)
        if racing is None:
            lanes.append(RaceLane(key, "", "(never drawn)", 0, 0, 0, 0.0, 1.0, state))
            continue
        base, tally = base_of(racing, bases), run.ledger.tally(racing, Stage.EXPLORE)
        low, high = confidence_sequence(tally.failures, tally.n)
        words = racing.beyond(base.hypothesis if base else None)
        counts = (tally.n, tally.failures, tally.errors)
        label = base.label if base is not None else ""
        lanes.append(RaceLane(key, racing.text, words, *counts, low, high, state, label))
    return lanes
