"""rare: how often a classifier fails where plain sampling would hardly see it fail.

Images are drawn from the words and then moved, a little at a time, through what the words leave open, always
on to images that are nearer to being misread (see `splitting`). Where the target gives no scores, or the
source has no space to move in, or failures are not rare, images are drawn plainly and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.rules import Sentences, rules, sentences_of
from weakspot.core import Hypothesis, Stage, Trial
from weakspot.engine import Engine, Lane, Want, stop
from weakspot.sources.spaces import CaseSpace
from weakspot.studies.rare.parts import Drawn, Margins, Moved, RareParts, digest
from weakspot.studies.rare.result import Common, Counted, Example, RareResult
from weakspot.studies.rare.settings import RareSettings
from weakspot.studies.rare.splitting import Rare, counted, rare_rate
from weakspot.study import Context

#: Plain draws with which a run begins: they show what the target gives, and whether failures are rare at all.
LOOK: Final = 64
#: So many failures among them, and there is nothing rare about it.
OFTEN: Final = 2
#: Images per request, after each of which the progress is told.
CHUNK: Final = 512
#: Inputs kept as evidence: (failing, passing).
KEPT: Final = {Stage.EXPLORE: (256, 8), Stage.CONFIRM: (0, 0)}
#: Failing cases that are listed, and rules that say what they have in common.
LISTED, COMMON = 48, 5


def rare(context: Context[RareSettings, RareParts]) -> RareResult:
    """A look, then splitting where it can be done, else counting."""
    settings, parts, plain = context.settings, context.parts, context.parts.plain
    # Cases that were moved towards failure are no draws from the words; they must not be counted as such.
    moved = Hypothesis(plain.text, (("draws", "moved"),), origin="moved", parent=plain.id)
    source, margins = Moved(parts.source, parts.space, moved), Margins(parts.judge, settings.label, moved)
    with context.engine(source=source, target=parts.target, judge=margins, keep=KEPT) as engine:
        tally = engine.test(plain, until=stop.drawn(LOOK), phase="look")
        scored = any(trial.top for trial in context.ledger.trials(plain, limit=LOOK))
        why = _why_plain(settings, scored=scored, space=parts.space, often=tally.failures >= OFTEN)
        if why or parts.space is None:
            engine.test(plain, until=stop.drawn(settings.images), phase="plain")
            return count(engine, plain, why)
        return split(engine, source, margins, parts.space, moved, seed=settings.seed)


def split(
    engine: Engine, source: Moved, margins: Margins, space: CaseSpace, moved: Hypothesis, *, seed: int
) -> RareResult:
    """Multilevel splitting through the ledger: the i-th evaluation is the i-th trial, recorded or new."""
    engine.run.ledger.add_hypotheses([moved])
    margins.take(engine.run)
    drawn = Drawn(space)
    asked: dict[bytes, int] = {}

    def margin(states: NDArray[Any]) -> NDArray[np.float64]:
        found = []
        for at in range(0, len(states), CHUNK):
            some, start = states[at : at + CHUNK], engine.tally(moved).drawn
            source.next(start, some)
            engine.draw([Want(moved, start + len(some))])
            indices = range(start, start + len(some))
            for state, index in zip(some, indices, strict=True):
                asked.setdefault(digest(state), index)
            found += [margins.known[index] for index in indices]
            engine.watch.update("split", [Lane(moved, engine.tally(moved))], engine.spending.amounts)
        return np.array(found)

    estimate = rare_rate(drawn, margin, budget=engine.spending.room(), seed=seed)
    found = {asked[digest(state)] for state in estimate.found}
    trials = engine.run.ledger.trials(moved)
    fresh = {asked[own] for own in drawn.fresh if own in asked}
    independent = [t for t in trials if t.index in fresh and t.failed is not None]
    if errors := engine.tally(moved).errors:
        beside = f"{errors:,} moved images ended in an error and count as not failing."
        estimate = replace(estimate, note=f"{estimate.note} {beside}".strip())
    failing = [t for t in trials if t.index in found]
    return describe(estimate, moved, failing, independent, base=moved.text)


def count(engine: Engine, plain: Hypothesis, why: str) -> RareResult:
    tally = engine.tally(plain)
    trials = [t for t in engine.run.ledger.trials(plain) if t.failed is not None]
    estimate = counted(tally.failures, tally.n, evaluations=tally.drawn, note=why)
    return describe(estimate, plain, [t for t in trials if t.failed], trials, base=plain.text)


def describe(
    estimate: Rare, hypothesis: Hypothesis, failing: Sequence[Trial], others: Sequence[Trial], *, base: str
) -> RareResult:
    """The result, with what the failures look like.

    `failing` are trials of the hypothesis that fail, as often as the words show them among failures, `others`
    independent draws, whether they fail or not; the sentences of `base` are said of all.
    """
    wrong, all_of = ([sentences_of(t.caption, base) for t in some] for some in (failing, others))
    passing = [words for words, trial in zip(all_of, others, strict=True) if not trial.failed]
    answers = Counter(t.answer or "" for t in failing)
    places = np.linspace(0, len(failing) - 1, LISTED, dtype=int).tolist() if failing else []
    listed = dict.fromkeys(failing[i] for i in places)
    same = "rate", "low", "high", "ceiling", "method", "agree", "note", "repeats", "ladder", "roots"
    return RareResult(
        **{name: getattr(estimate, name) for name in same},
        images=estimate.evaluations,
        independent=Counted(n=len(others), failures=sum(bool(t.failed) for t in others)),
        hypothesis=hypothesis.id,
        found=len(failing),
        answers=tuple((answer, times / len(failing)) for answer, times in answers.most_common(8)),
        common=in_common(wrong, passing, all_of),
        examples=tuple(
            Example(index=t.index, caption=t.caption, answer=t.answer, blob=t.blob) for t in listed
        ),
    )


def in_common(
    wrong: Sequence[Sentences], passing: Sequence[Sentences], others: Sequence[Sentences]
) -> tuple[Common, ...]:
    """What is said of failures and seldom of other cases; with how often it is said of either."""
    found = rules(wrong, passing, most=COMMON) if wrong and passing else []
    return tuple(
        Common(
            words=rule.text,
            failing=sum(set(rule.sentences) <= words for words in wrong) / len(wrong),
            usual=sum(set(rule.sentences) <= words for words in others) / len(others),
        )
        for rule in found
    )


def _why_plain(settings: RareSettings, *, scored: bool, space: CaseSpace | None, often: bool) -> str:
    """Why images are counted and nothing is split, in a sentence; "" if it can be split."""
    if space is None:
        why = f"{settings.source[:80]} has no space to move in"
    elif not scored:
        why = f"{settings.target[:80]} gives no scores"
    else:
        why = "Failures are not rare" if often else ""
    return f"{why}: images were drawn plainly and counted." if why else ""
