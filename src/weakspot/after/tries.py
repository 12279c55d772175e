"""A person's own words, measured against the baseline of a hunt: `weakspot try`.

The words are drawn and judged as the hunt did, until they are shown to be worse than the baseline, or not
much worse, or the images end. The test is the sequential one of the race: it may be looked at and gone on
with at any time, so trying the same words again takes up where the last try stopped. What is recorded stands
beside the hunt: its findings, its race and its budget are not touched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Any, Final

from weakspot.core import Hypothesis, Rate, Stage, Tally, WeakspotError
from weakspot.core.ports import understands
from weakspot.engine import Broken, Budget, BudgetSpent, Engine, Lane, State, Want, Watch, stop
from weakspot.engine.stop import FAR, Spending
from weakspot.stats import log_evidence, log_evidence_below
from weakspot.store import Run, rate
from weakspot.studies.hunt import STUDY
from weakspot.studies.hunt.method import evidence_kept
from weakspot.studies.hunt.parts import HuntParts, load
from weakspot.studies.hunt.result import TriedWords, Tries
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study.labels import base_hypothesis
from weakspot.study.lifecycle import check_digests, settings_of

#: Images before the first decision, so that the rate is worth showing; and at most, if nothing is said.
LEAST, MOST = 64, 256
#: Words are shown not to be much worse when their rate is shown to be below so many times the baseline's.
MUCH: Final = 2.0
#: Error rate of each verdict by itself.
ALPHA: Final = 0.05
#: Characters of words that anybody means.
LONGEST: Final = 4_000
#: Words with which a sentence begins that is added to others.
_ADDS: Final = frozenset(
    ("it", "its", "it's", "there", "they", "their", "the", "this", "these", "he", "she", "his", "her")
)


class Answer(StrEnum):
    """What is shown of the words."""

    WORSE = "shown worse than the baseline"
    NOT_MUCH = "shown not to be much worse than the baseline"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A person's words and what became of them."""

    folder: Path  # of the run
    hypothesis: Hypothesis  # the whole text
    phrase: str  # what it adds to the baseline's words
    label: str  # whose baseline it is compared with
    rate: Rate  # over all its draws in this run; an anytime-valid interval
    unchecked: Rate | None  # the same if nobody had asked whether the cases are valid; None where all are
    baseline: Rate  # the baseline's, over all its draws
    verdict: Answer  # what is shown
    log_evidence: float  # natural log of the e-value against "not worse than the baseline"
    # what was said instead: share of the failures, most frequent first
    confusions: tuple[tuple[str, float], ...]
    drawn: int  # images drawn for it in all, with and without a verdict
    fresh: int  # of those, drawn just now
    errors: int  # of those drawn in all, ended in an error
    raced: bool  # the hunt had drawn these words itself, so that their draws are not all of your own asking
    limit: str  # the budget that ended it; "" if none did

    @property
    def lift(self) -> float:
        """How many times the baseline's rate; inf where only the baseline never failed, nan where neither."""
        if not self.rate.n or not (self.rate.failures or self.baseline.failures):
            return math.nan
        return self.rate.value / self.baseline.value if self.baseline.value > 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "id": self.hypothesis.id,
            "text": self.hypothesis.text,
            "phrase": self.phrase,
            "label": self.label,
            "verdict": self.verdict.value,
            "rate": self.rate._asdict(),
            "unchecked": None if self.unchecked is None else self.unchecked._asdict(),
            "baseline": self.baseline._asdict(),
            "lift": self.lift if math.isfinite(self.lift) else None,
            "log_evidence": self.log_evidence if math.isfinite(self.log_evidence) else None,
            "confusions": [list(pair) for pair in self.confusions],
            "drawn": self.drawn,
            "fresh": self.fresh,
            "errors": self.errors,
            "raced": self.raced,
            "limit": self.limit,
        }


class TryWatch(Watch):
    """Hands on how one try stands: failures, trials with a verdict, images drawn just now."""

    def __init__(self, update: Callable[[int, int, int], None]) -> None:
        self._update = update

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        tally = lanes[0].tally
        self._update(tally.failures, tally.n, int(spent["images"]))


def try_words(
    run: str | Path | Run,
    words: str,
    *,
    label: str | None = None,
    n: int | None = None,
    budget: str | None = None,
    watch: Watch | None = None,
    **given: Any,
) -> Tried:
    """Measure a person's own hypothesis against the baseline of a hunt; it is kept in the run and its report.

    The words are sentences to add to the baseline's ("it is on a red flower."), or a whole prompt; the label
    says whose baseline, where the hunt has several and the words do not begin with one. At most `n` images
    are new (256 if no budget is given either). Objects may be given in place of names: target, source,
    judge, verify, captioner, encoder.
    """
    if n is not None and n < 1:
        raise WeakspotError(f"{n} images cannot be drawn", fix="choose 1 or more; it stops when decided")
    limits = None if budget is None else Budget.parse(budget)
    folder = run.folder if isinstance(run, Run) else Path(run)
    with Run.open(folder) as opened:
        if opened.config.study != "hunt":
            raise WeakspotError(
                f"{folder} is a run of {opened.config.study[:80]}, not of hunt",
                fix="give the folder of a hunt",
            )
        settings = settings_of(opened)
        parts = load(settings, **given)
        check_digests(STUDY, opened, parts)
        bases = [base_hypothesis(settings.task, parts.words, each) for each in settings.hunted]
        hypothesis, base, meant = meaning(words, settings, bases, parts, label=label)
        usual = _usual(opened, base)
        with Engine(
            opened,
            source=parts.source,
            target=parts.target,
            judge=parts.verdicts,
            seed=settings.seed,
            watch=watch,
            keep=evidence_kept(parts),
        ) as engine:
            check(engine, hypothesis, base, opened)
            known = {h.id: h.origin for h in opened.ledger.hypotheses()}
            raced = known.get(hypothesis.id, "person") != "person"
            before = opened.ledger.count(hypothesis, Stage.EXPLORE)
            _draw(engine, hypothesis, base, before)  # what was recorded is read, and not paid for again
            engine.spending = Spending(limits or Budget())
            most = before + (n if n is not None else FAR if limits else MOST)
            limit = _measure(engine, hypothesis, base, usual, most=most)
            tally, wrong = engine.tally(hypothesis), engine.wrong_answers(hypothesis)
        answer, evidence = verdict(tally, usual)
        rows = {row.hypothesis: row for row in (Tries.of(opened) or Tries()).rows}
        rows[hypothesis.id] = TriedWords(hypothesis=hypothesis.id, baseline=base.id, verdict=answer.value)
        Tries(rows=tuple(rows.values())).keep(opened)
        return Tried(
            folder=folder,
            hypothesis=hypothesis,
            phrase=hypothesis.beyond(base),
            label=meant,
            rate=rate(tally),
            unchecked=rate(tally.unchecked) if tally.invalid else None,
            baseline=rate(usual),
            verdict=answer,
            log_evidence=evidence,
            confusions=tuple((said, times / tally.failures) for said, times in wrong.most_common()),
            drawn=tally.drawn,
            fresh=tally.drawn - before,
            errors=tally.errors,
            raced=raced,
            limit=limit,
        )


def verdict(tally: Tally, usual: Tally) -> tuple[Answer, float]:
    """What the counts show, and the log of the evidence that the rate is above the baseline's."""
    counts, enough = (tally.failures, tally.n, usual.failures, usual.n), math.log(1 / ALPHA)
    evidence = log_evidence(*counts)
    if evidence >= enough:
        return Answer.WORSE, evidence
    if log_evidence_below(*counts, factor=MUCH) >= enough:
        return Answer.NOT_MUCH, evidence
    return Answer.UNDECIDED, evidence


def check(engine: Engine, hypothesis: Hypothesis, base: Hypothesis, run: Run) -> None:
    """Draw and judge one case without recording it: what does not work at all is said before it is kept."""
    if not engine.reach(hypothesis):
        raise WeakspotError("the source has no picture for these words", fix="try other words")
    try:
        cases = engine.source.draw(hypothesis, [Stage.EXPLORE.start], seed=engine.seed)
        engine.judge.judge(cases, engine.target.answer(cases))
    except WeakspotError:
        raise
    except Exception as error:  # a port may raise anything
        raise WeakspotError(
            f"the words cannot be tried: {type(error).__name__}: {error}"[:500], fix="--debug shows where"
        ) from error
    judged = (t for failed in (False, True) for t in run.ledger.trials(base, failed=failed, limit=1))
    right = next(judged).expected
    if cases[0].expected != right:
        raise WeakspotError(
            f"these words show {cases[0].expected[:80]!r}, but the baseline shows {right[:80]!r}",
            fix="say what should be different about it, in words that still name it",
        )


def _measure(engine: Engine, hypothesis: Hypothesis, base: Hypothesis, usual: Tally, *, most: int) -> str:
    """Draw until decided or until there are `most`; the budget that ended it, or ""."""
    decided = stop.decided(usual, alpha=ALPHA, lift=MUCH)
    most = min(most, engine.reach(hypothesis))
    while (drawn := (tally := engine.tally(hypothesis)).drawn) < most:
        if drawn >= LEAST and decided.met(tally, engine.spending):
            break
        try:
            _draw(engine, hypothesis, base, min(max(LEAST, min(2 * drawn, drawn + 256)), most))
        except BudgetSpent as spent:
            return f"the {spent}"
        tally = engine.tally(hypothesis)
        state = State.AHEAD if verdict(tally, usual)[0] is Answer.WORSE else State.OPEN
        engine.watch.update("try", [Lane(hypothesis, tally, state)], engine.spending.amounts)
    return ""


def _draw(engine: Engine, hypothesis: Hypothesis, base: Hypothesis, n: int) -> None:
    """As `Engine.draw`; errors in a row that an earlier try recorded do not stop this one."""
    ledger, n = engine.run.ledger, min(n, engine.reach(hypothesis))
    while engine.tally(hypothesis).drawn < n:
        known, read = ledger.count(hypothesis, Stage.EXPLORE), engine.tally(base).drawn
        try:
            engine.draw([Want(hypothesis, n)])
        except Broken as broken:
            # Recorded answers of the baseline, read after the errors, end their row.
            more = min(read + LEAST, ledger.count(base, Stage.EXPLORE))
            if ledger.count(hypothesis, Stage.EXPLORE) > known or more == read:
                raise WeakspotError(broken.what, fix="remove the cause, then try again") from broken
            engine.draw([Want(base, more)])


def _usual(run: Run, base: Hypothesis) -> Tally:
    known = {h.id for h in run.ledger.hypotheses()}
    stages = (run.ledger.tally(base, stage) for stage in Stage) if base.id in known else ()
    total = reduce(Tally.plus, stages, Tally())
    if not total.n:
        raise WeakspotError(
            "the run has no baseline to compare with yet",
            fix=f"go on with it first: weakspot resume {run.folder}",
        )
    return total


# -- what the words mean -------------------------------------------------------------------------------


def meaning(
    words: str,
    settings: HuntSettings,
    bases: Sequence[Hypothesis],
    parts: HuntParts,
    *,
    label: str | None = None,
) -> tuple[Hypothesis, Hypothesis, str]:
    """What a person means: the whole text, its baseline and the label.

    Words that begin with a baseline's, or that speak of the label by name, are a whole prompt; others are
    added to the baseline's words. Where the source can draw only one of the two, that one is meant.
    """
    said = " ".join(words.split())
    if not said:
        raise WeakspotError("there are no words to try", fix='write e.g. "it is on a red flower."')
    if len(said) > LONGEST:
        raise WeakspotError(f"{len(said):,} characters are too many", fix=f"use at most {LONGEST:,}")
    by_label = dict(zip(settings.hunted, bases, strict=True))
    if label is not None and label not in by_label:
        raise WeakspotError(
            f"the run did not hunt for {label[:80]!r}", fix=f"its labels: {', '.join(by_label)[:300]}"
        )
    begins = [each for each in by_label if said.startswith(by_label[each].text) and label in (None, each)]
    meant = label or max(begins, key=lambda each: len(by_label[each].text), default=None)
    if meant is None and len(by_label) > 1:
        raise WeakspotError(
            "the run has several labels, and the words do not say which is meant",
            fix=f"name it with --label, e.g. --label {settings.hunted[0][:80]!r}",
        )
    meant = meant or settings.hunted[0]
    base = by_label[meant]
    if said == base.text:
        raise WeakspotError("these are the baseline's own words", fix="add something to them")
    ended = said if re.search(r"[.!?]$", said) else f"{said}."
    texts = [said] if begins else [f"{base.text} {ended}", said]
    if not begins and _whole(said, meant, parts):
        texts.reverse()
    drawn = next((text for text in texts if understands(parts.source, text)), None)
    if drawn is None:
        raise WeakspotError(
            f"the source cannot draw these words: {said[:200]!r}", fix=_why(parts.source, texts[0])
        )
    return Hypothesis(drawn, origin="person", parent=base.id), base, meant


def _whole(said: str, label: str, parts: HuntParts) -> bool:
    """Whether words are a prompt of their own: they name the label, and do not begin by speaking of it."""
    known = parts.words.get(label)
    names = {label.lower(), *([known.words.lower()] if known else [])}
    named = any(re.search(rf"\b{re.escape(name)}\b", said.lower()) for name in names)
    return named and said.split()[0].lower() not in _ADDS


def _why(source: Any, text: str) -> str:
    """What the source itself says of a text that it cannot draw."""
    try:
        source.draw(Hypothesis(text), [0], seed=0)
    except WeakspotError as error:
        return f"it says: {error.what}" + (f"; {error.fix}" if error.fix else "")
    except Exception as error:  # of a user's source; whatever it is, it is quoted
        return f"it says: {error}"
    return "use words that it knows"
