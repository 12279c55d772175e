"""What a run has to say, read once from its folder; every form of the report is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Tally
from weakspot.stats import confidence_sequence
from weakspot.store import Run, RunConfig, rate


class RaceLane(NamedTuple):
    """One hypothesis of the race, with the counts the race saw (fresh draws are not among them)."""

    id: str
    text: str
    phrase: str
    n: int
    failures: int
    errors: int
    low: float
    high: float
    state: str

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
        base: The baseline's hypothesis, once there is one.
        baseline: Its rate over all draws, and None before the first.
        findings: Confirmed ones first, best first.
        lanes: The race, in the order in which the hypotheses were proposed.
        trials: Counts of the whole run.
        errors: What went wrong and how often.
        spend: Amounts by kind.
    """

    folder: Path
    config: RunConfig
    state: str
    base: Hypothesis | None
    baseline: Rate | None
    findings: tuple[Finding, ...]
    lanes: tuple[RaceLane, ...]
    trials: Tally
    errors: tuple[tuple[str, int], ...]
    spend: Mapping[str, float]

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
    base = known.get(str(ledger.fact("base")))
    total = Tally()
    for tally in ledger.tallies().values():
        total = total.plus(tally)
    baseline = None
    if base is not None:
        seen = ledger.tally(base, Stage.EXPLORE).plus(ledger.tally(base, Stage.CONFIRM))
        baseline = rate(seen) if seen.drawn else None
    return Facts(
        folder=run.folder,
        config=run.config,
        state=run.state,
        base=base,
        baseline=baseline,
        findings=tuple(run.findings),
        lanes=tuple(_lanes(run, known, base)),
        trials=total,
        errors=tuple(ledger.errors()) if total.errors else (),
        spend=ledger.spend(),
    )


def _lanes(run: Run, known: Mapping[str, Hypothesis], base: Hypothesis | None) -> list[RaceLane]:
    """The lanes the study decided on; until it has, every hypothesis but the baseline counts as open."""
    states: dict[str, str] = {str(key): str(state) for key, state in run.ledger.fact("race", [])}
    for key in known:
        if base is None or key != base.id:
            states.setdefault(key, "open")
    lanes = []
    for key, state in states.items():
        hypothesis = known.get(key)
        if hypothesis is None:
            lanes.append(RaceLane(key, "", "(never drawn)", 0, 0, 0, 0.0, 1.0, state))
            continue
        tally = run.ledger.tally(hypothesis, Stage.EXPLORE)
        low, high = confidence_sequence(tally.failures, tally.n)
        words = hypothesis.beyond(base)
        lanes.append(
            RaceLane(key, hypothesis.text, words, tally.n, tally.failures, tally.errors, low, high, state)
        )
    return lanes
