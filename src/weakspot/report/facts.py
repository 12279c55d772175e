"""What a run has to say, read once from its folder; every form of the report is made from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Tally
from weakspot.report import format as show
from weakspot.stats import confidence_sequence
from weakspot.store import Run, RunConfig


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
        baseline = _rate(seen) if seen.drawn else None
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
        words = _phrase(hypothesis, base)
        lanes.append(
            RaceLane(key, hypothesis.text, words, tally.n, tally.failures, tally.errors, low, high, state)
        )
    return lanes


def summary(facts: Facts) -> dict[str, Any]:
    """Plain values under stable keys: what report.json holds and `--json` prints."""
    config, trials = facts.config, facts.trials
    return {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(facts.folder),
        "state": facts.state,
        "created": config.created,
        "conclusion": conclusion(facts),
        "settings": _plain(config.settings),
        "baseline": None
        if facts.base is None or facts.baseline is None
        else {"id": facts.base.id, "text": facts.base.text, **facts.baseline._asdict()},
        "findings": _plain([f.to_json() for f in facts.findings]),
        "race": [lane._asdict() for lane in facts.lanes],
        "trials": {"drawn": trials.drawn, **trials._asdict()},
        "errors": [{"what": what, "times": times} for what, times in facts.errors],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in facts.spend.items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }


def conclusion(facts: Facts) -> str:
    """The run in one or two plain sentences."""
    noun, verb = cases(facts), misread(facts)
    if not facts.trials.drawn:
        return "Nothing has been drawn yet."
    if facts.confirmed:
        best = facts.confirmed[0]
        if best.baseline.value > 0:
            lift = f"{show.times(best.lift).rstrip('×')} times the usual rate"
        else:
            lift = f"while the baseline never failed in {show.count(best.baseline.n)} trials"
        return (
            f"{show.plural(len(facts.confirmed), 'weak spot')} confirmed: {when(best.phrase)}, "
            f"{show.percent(best.rate.value)} of {noun} {verb}, {lift}."
        )
    if facts.state == "running":
        return f"Still at work: {show.count(facts.trials.drawn)} trials so far, no finding confirmed yet."
    if not facts.trials.n:
        return "No trial could be judged, so nothing can be said about the model."
    if facts.candidates:
        held = "it did not hold" if len(facts.candidates) == 1 else "none of them held"
        return (
            f"No weak spot confirmed: the race put {show.plural(len(facts.candidates), 'candidate')} ahead, "
            f"and {held} on fresh draws."
        )
    if facts.baseline is not None and facts.baseline.n and not facts.baseline.failures:
        return (
            f"No weak spot found: 0 of {show.count(facts.baseline.n)} plain {noun} {verb}, "
            f"so the usual rate is below {show.percent(facts.baseline.high)}."
        )
    if facts.baseline is not None and facts.baseline.n:
        return (
            f"No weak spot found: {show.percent(facts.baseline.value)} of plain {noun} {verb}, "
            "and no caption was shown to do worse."
        )
    return "No weak spot found."


def cases(facts: Facts) -> str:
    """What the trials of a study are, in the plural."""
    return f"{show.shorten(facts.setting('label', 'such'), 60)} pictures" if facts.config.study == "hunt" else "cases"


def misread(facts: Facts) -> str:
    """What failing means in a study."""
    if facts.config.study != "hunt":
        return "fail"
    wrong = facts.setting("target_label")
    return f"are taken for ‘{show.shorten(wrong, 60)}’" if wrong else "are misread"


def when(phrase: str) -> str:
    """A phrase as a clause: "it is on a flower." becomes "when it is on a flower"."""
    words = show.shorten(phrase, 160).strip()
    sentence = words.rstrip(".").replace(". ", " and ")
    if sentence.split(" ")[0].lower() in ("it", "its", "there", "the", "they", "their"):
        return f"when {sentence[0].lower()}{sentence[1:]}"
    return f"given “{words}”"


def _phrase(hypothesis: Hypothesis, base: Hypothesis | None) -> str:
    return (hypothesis.text.removeprefix(base.text).strip() if base else "") or hypothesis.text


def _rate(tally: Tally) -> Rate:
    low, high = confidence_sequence(tally.failures, tally.n)
    return Rate(tally.failures / tally.n if tally.n else 0.0, low, high, tally.n, tally.failures)


def _plain(value: Any) -> Any:
    """Only what JSON knows: numbers that are not finite become null, strangers their text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    return str(value)
