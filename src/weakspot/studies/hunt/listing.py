"""What a hunt left, read once for its document: baselines, findings, the race, edits, what people tried.

And how it is said in plain words, the same on the page, in Markdown and on the terminal.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Tally
from weakspot.report import format as show
from weakspot.report.people.corrected import as_labelled
from weakspot.stats import confidence_sequence, finite_population, wilson
from weakspot.store import Run, rate
from weakspot.studies.hunt.result import HuntResult, Tries
from weakspot.text import clauses
from weakspot.text.sentences import sentences

#: Hypotheses that came about like this do not race.
ASIDE: Final = ("baseline", "edit", "person", "sentence")


class Baseline(NamedTuple):
    """The plain prompt of one label, with the counts of all its draws."""

    label: str
    hypothesis: Hypothesis
    tally: Tally
    population: int = 0  # photographs of the label in a collection; 0 where pictures are drawn

    @property
    def rate(self) -> Rate:
        """Failures per valid case; in a collection the interval is that of its photographs."""
        if not self.population:
            return rate(self.tally)
        n, failures, valid = (
            self.tally.n,
            self.tally.failures,
            self.population - self.tally.drawn + self.tally.n,
        )
        return Rate(failures / n if n else 0.0, *finite_population(failures, n, valid), n, failures)

    @property
    def unchecked(self) -> Rate:
        """Failures per case, had nobody asked whether the cases are valid."""
        return rate(self.tally.unchecked)


class Racer(NamedTuple):
    """One hypothesis of the race, with the counts that the race saw; fresh draws are not among them.

    The label is that of the baseline it raced against.
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


class Edit(NamedTuple):
    """A finding with some words changed, as `Edited` has it, and the rate with the changed words."""

    hypothesis: Hypothesis
    phrase: str
    kind: str
    before: str
    after: str
    rate: Rate


class Tried(NamedTuple):
    """Words that a person brought, measured against a baseline, with the verdict when they were last tried.

    `answers` are what was said instead, with its share of the failures; `failing` and `passing` are indices
    of trials kept as evidence.
    """

    label: str
    hypothesis: Hypothesis
    phrase: str
    rate: Rate
    baseline: Rate
    verdict: str
    answers: tuple[tuple[str, float], ...]
    failing: tuple[int, ...]
    passing: tuple[int, ...]

    @property
    def lift(self) -> float:
        """How many times the baseline's rate; nan where neither failed, or nothing was judged."""
        if not self.rate.n or not (self.rate.failures or self.baseline.failures):
            return float("nan")
        return self.rate.value / self.baseline.value if self.baseline.value > 0 else float("inf")


class Listing:
    """A hunt's run: finished, stopped, still running or just created."""

    def __init__(self, run: Run) -> None:
        self.run, self.settings = run, run.config.settings
        self.result = HuntResult.of(run) or HuntResult()
        self.known = {h.id: h for h in run.ledger.hypotheses()}
        self.bases = baselines_of(run)
        if (read := self.result.collection) is not None:
            self.bases = [b._replace(population=n) for b, n in zip(self.bases, read.sizes, strict=False)]
        found = [replace(f, unchecked=_unchecked(run, f)) for f in run.findings]
        self.people, self.findings = as_labelled(run, found)  # what people say, and the rates that follow

    def setting(self, name: str) -> str:
        """A setting as text; "" where it is not given."""
        value = self.settings.get(name)
        return "" if value is None else str(value)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of a hunt for several; () where there is one."""
        return tuple(str(label) for label in self.settings.get("labels") or ())

    @property
    def verifiers(self) -> tuple[str, ...]:
        """The models that were asked whether the cases are valid."""
        return tuple(str(name) for name in self.settings.get("verify") or ())

    @property
    def base(self) -> Baseline | None:
        """The only baseline, once it has been drawn; None where every label has its own."""
        one = self.bases[0] if self.bases and not self.labels else None
        return one if one is not None and one.tally.drawn else None

    @property
    def confirmed(self) -> list[Finding]:
        """The findings that fresh draws confirmed."""
        return [f for f in self.findings if f.confirmed]

    @property
    def candidates(self) -> list[Finding]:
        """Those they did not."""
        return [f for f in self.findings if not f.confirmed]

    @cached_property
    def places(self) -> dict[tuple[str, str], str]:
        """How the confirmed findings are numbered: 1, 1a, 1b, 2, …; by id and by the answer it is about."""
        found: dict[tuple[str, str], str] = {}
        tops, under = 0, 0
        for finding in self.confirmed:
            tops, under = (tops, under + 1) if finding.under or finding.beside else (tops + 1, 0)
            letter = "abcdefghijklmnopqrstuvwxyz"[(under - 1) % 26] if under else ""
            found[finding.hypothesis.id, finding.answer] = f"{tops}{letter}"
        return found

    def place(self, finding: Finding) -> str:
        """Its number, e.g. 1a; "" of what was not confirmed."""
        return self.places.get((finding.hypothesis.id, finding.answer), "")

    @property
    def tops(self) -> list[Finding]:
        """The confirmed findings that have a place of their own."""
        return [finding for finding in self.confirmed if not finding.under and not finding.beside]

    def narrower(self, finding: Finding) -> list[Finding]:
        """The confirmed findings under another."""
        return [f for f in self.confirmed if f.under and f.under == finding.hypothesis.id]

    def adds(self, finding: Finding) -> str:
        """What a finding says beyond the broader one above it; all its words where there is none."""
        broad = self.known.get(finding.under)
        base = self.base_of(finding.hypothesis)
        if broad is None or base is None:
            return finding.phrase
        own, known = sentences(finding.phrase), sentences(broad.beyond(base.hypothesis))
        more = [sentence for sentence in own if sentence not in known]
        return " ".join(more) if set(known) <= set(own) and more else finding.phrase

    @cached_property
    def trials(self) -> Tally:
        """Counts of the whole run; of a collection each photograph once, whatever it speaks for."""
        of = [base.tally for base in self.bases]
        return _sum(of if self.result.collection else self.run.ledger.tallies().values())

    @cached_property
    def invalid(self) -> Rate | None:
        """How often the source draws plain cases wrongly, by the second opinions; None if nobody was asked.

        Cases without a verdict were not shown to them, and do not count. The interval is Wilson's.
        """
        total = _sum(base.tally for base in self.bases)
        wrong, n = total.invalid, total.n + total.invalid
        return Rate(wrong / n, *wilson(wrong, n), n, wrong) if self.verifiers and n else None

    def base_of(self, hypothesis: Hypothesis) -> Baseline | None:
        """The baseline that a text begins with, the longest one; the only one where there is one."""
        fitting = [base for base in self.bases if hypothesis.text.startswith(base.hypothesis.text)]
        only = self.bases[0] if len(self.bases) == 1 else None
        return max(fitting, key=lambda base: len(base.hypothesis.text), default=only)

    def label_of(self, finding: Finding) -> str:
        """The label of a finding; "" where all findings are of one."""
        base = self.base_of(finding.hypothesis)
        return base.label if self.labels and base is not None else ""

    @cached_property
    def race(self) -> list[Racer]:
        """In the order of the proposals; until the study has decided, whatever may race is open."""
        states = {row.hypothesis: row.state for row in self.result.race}
        if (self.run.state == "running" or not states) and self.result.collection is None:
            aside = {base.hypothesis.id for base in self.bases}
            for key, hypothesis in self.known.items():
                if key not in aside and hypothesis.origin not in ASIDE:
                    states.setdefault(key, "open")
        return [self._racer(key, state) for key, state in states.items()]

    def _racer(self, key: str, state: str) -> Racer:
        if (racing := self.known.get(key)) is None:
            return Racer(key, "", "(never drawn)", 0, 0, 0, 0.0, 1.0, state)
        base, tally = self.base_of(racing), self.run.ledger.tally(racing, Stage.EXPLORE)
        low, high = confidence_sequence(tally.failures, tally.n)
        words = racing.beyond(base.hypothesis if base else None)
        counts = (tally.n, tally.failures, tally.errors)
        return Racer(key, racing.text, words, *counts, low, high, state, base.label if base else "")

    def edits(self, finding: Finding) -> list[Edit]:
        """The measured edits of a finding, those that fail most first."""
        base, found = self.base_of(finding.hypothesis), {}
        for row in self.result.edits:
            hypothesis = self.known.get(row.hypothesis)
            if row.finding != finding.hypothesis.id or hypothesis is None:
                continue
            tally = self.run.ledger.tally(hypothesis, Stage.EXPLORE)
            if finding.answer:
                said = self.run.ledger.answers(hypothesis, Stage.EXPLORE, failed=True)
                tally = tally._replace(failures=said.get(finding.answer, 0))
            phrase = hypothesis.beyond(base.hypothesis if base else None)
            found[row.hypothesis] = Edit(hypothesis, phrase, row.kind, row.before, row.after, rate(tally))
        return sorted(found.values(), key=lambda edit: (-edit.rate.value, edit.phrase))

    @cached_property
    def tries(self) -> list[Tried]:
        """What people tried, in the order in which they began."""
        usual, ledger, found = {base.hypothesis.id: base for base in self.bases}, self.run.ledger, []
        for row in (Tries.of(self.run) or Tries()).rows:
            hypothesis, base = self.known.get(row.hypothesis), usual.get(row.baseline)
            if hypothesis is None or base is None:
                continue
            tally = ledger.tally(hypothesis, Stage.EXPLORE)
            answers = ledger.answers(hypothesis, Stage.EXPLORE, failed=True)
            failing, passing = (
                ledger.trials(hypothesis, stage=Stage.EXPLORE, failed=failed, kept=True, limit=24)
                for failed in (True, False)
            )
            found.append(
                Tried(
                    label=base.label,
                    hypothesis=hypothesis,
                    phrase=hypothesis.beyond(base.hypothesis),
                    rate=rate(tally),
                    baseline=base.rate,
                    verdict=row.verdict,
                    answers=tuple((answer, times / tally.failures) for answer, times in answers.items()),
                    failing=tuple(trial.index for trial in failing),
                    passing=tuple(trial.index for trial in passing),
                )
            )
        return found


def baselines_of(run: Run) -> list[Baseline]:
    """The baselines that have been entered, in the order of the labels."""
    settings, ledger, found = run.config.settings, run.ledger, []
    labels = [str(label) for label in settings.get("labels") or [settings.get("label") or ""]]
    for label, hypothesis in zip(labels, run.baselines, strict=False):
        found.append(Baseline(label, hypothesis, _sum(ledger.tally(hypothesis, stage) for stage in Stage)))
    return found


def _unchecked(run: Run, finding: Finding) -> Rate | None:
    """A finding's rate if nobody had asked whether its cases are valid; None where nobody did."""
    if finding.unchecked is None or not finding.answer:
        return finding.unchecked
    doubted = sum(
        trial.status is Status.INVALID and bool(trial.failed) and trial.answer == finding.answer
        for trial in run.ledger.trials(finding.hypothesis, stage=Stage.CONFIRM)
    )
    return rate(Tally(finding.unchecked.n, finding.rate.failures + doubted))


def _sum(tallies: Any) -> Tally:
    return reduce(Tally.plus, tallies, Tally())


# -- in plain words ----------------------------------------------------------------------------------


def conclusion(hunt: Listing) -> str:
    """The run in one or two plain sentences."""
    noun, verb, state = cases(hunt), misread(hunt), hunt.run.state
    if not hunt.trials.drawn:
        return "Nothing has been drawn yet."
    if hunt.confirmed:
        best = hunt.confirmed[0]
        if best.baseline.value > 0:
            lift = f"{show.times(best.lift).rstrip('×')} times the usual rate"
        else:
            lift = f"while the baseline never failed in {show.count(best.baseline.n)} trials"
        hurt = len({hunt.label_of(f) for f in hunt.confirmed})
        worst = next(iter(hunt.narrower(best)), None)
        also = ""
        if worst is not None:
            also = f"; {when(hunt.adds(worst), also=True)}, {show.percent(worst.rate.value)}"
        where = f", in {show.count(hurt)} of {show.count(len(hunt.labels))} labels" if hunt.labels else ""
        return (
            f"{show.plural(len(hunt.tops), 'weak spot')} confirmed{where}: {when(best.phrase)}, "
            f"{show.percent(best.rate.value)} of {cases(hunt, best)} {misread(hunt, best)}, {lift}{also}."
        )
    if state == "running":
        return f"Still at work: {show.count(hunt.trials.drawn)} trials so far, no finding confirmed yet."
    if not hunt.trials.n:
        return "No trial could be judged, so nothing can be said about the model."
    if hunt.candidates:
        held = "it did not hold" if len(hunt.candidates) == 1 else "none of them held"
        return (
            f"No weak spot confirmed: the race put {show.plural(len(hunt.candidates), 'candidate')} ahead, "
            f"and {held} on fresh draws."
        )
    usual = usual_rates(hunt)
    if state != "finished":
        so_far = f": so far {usual} of plain {noun} {verb}" if usual else ""
        return f"Stopped before any weak spot could be confirmed{so_far}."
    if hunt.base is not None and hunt.base.rate.n and not hunt.base.rate.failures:
        return (
            f"No weak spot found: 0 of {show.count(hunt.base.rate.n)} plain {noun} {verb}, "
            f"so the usual rate is below {show.percent(hunt.base.rate.high)}."
        )
    if usual:
        return f"No weak spot found: {usual} of plain {noun} {verb}, and no caption was shown to do worse."
    return "No weak spot found."


def cases(hunt: Listing, finding: Finding | None = None) -> str:
    """What the trials of a hunt, or those of a finding, are, in the plural."""
    label = hunt.label_of(finding) if finding is not None and hunt.labels else hunt.setting("label")
    if label:
        return f"{show.shorten(label, 60)} pictures"
    return f"pictures of {show.plural(len(hunt.labels), 'label')}" if hunt.labels else "such pictures"


def misread(hunt: Listing, finding: Finding | None = None) -> str:
    """What failing means, also in a finding that is about one wrong answer."""
    wrong = (finding.answer if finding is not None else "") or hunt.setting("target_label")
    return f"are taken for ‘{show.shorten(wrong, 60)}’" if wrong else "are misread"


def titled(hunt: Listing, finding: Finding) -> str:
    """The words of a finding as a clause, after its label where there are several."""
    label, words = hunt.label_of(finding), clauses.title(finding.phrase)
    return f"{show.shorten(label, 60)}: {words}" if label else words


def usual_rates(hunt: Listing) -> str:
    """The baseline's rate, or the lowest and the highest of several; "" before anything was judged."""
    values = [base.rate.value for base in hunt.bases if base.tally.n]
    if not values:
        return ""
    low, high = show.percent(min(values)), show.percent(max(values))
    return low if low == high else f"{low} to {high}"


def when(phrase: str, *, also: bool = False) -> str:
    """A phrase as part of a sentence: "it is on a flower." becomes "when it is on a flower"."""
    return clauses.when(show.shorten(phrase, 160), also=also)


def impact_of(finding: Finding) -> str:
    """How much a finding matters, in a sentence; "" where that is not known."""
    if finding.impact is None:
        return ""
    part = finding.impact
    text = f"{show.percent(part.value)} {show.interval(part.low, part.high)} of all failures look like this"
    if finding.own is not None and finding.own < 0.95 * part.value:
        return f"{text}; {show.percent(finding.own)} belong to no finding above."
    return f"{text}."
