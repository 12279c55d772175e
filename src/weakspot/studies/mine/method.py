"""mine: blind spots of an encoder of texts (after MultiMon: Tong, Jones and Steinhardt, 2023).

Pairs of a corpus that the encoder confuses and the reference tells apart are put into categories, by
rules and by a language model. New pairs of each are raced against captions with any word replaced, and
confirmed on fresh pairs against these and against captions at random. A finding is a systematic failure: a
category whose pairs are confused more often than edits of the same length are in general.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from weakspot.core import Encoder, Finding, Hypothesis, Rate, Stage, Tally, WeakspotError
from weakspot.engine import (
    BudgetSpent,
    ConfirmSettings,
    Engine,
    Lane,
    RaceSettings,
    State,
    confirm,
    race,
    stop,
)
from weakspot.judges.differs.judge import SimilarityJudge
from weakspot.stats import closed_e_bh
from weakspot.store import rate
from weakspot.studies.mine.language_model import Bill, name_failures, write_pairs
from weakspot.studies.mine.mining import captions_about, mine_pairs, relevant, share_that_matters
from weakspot.studies.mine.pair_source import (
    RANDOM,
    REPLACED,
    PairSimilarity,
    PairSource,
    edited_hypothesis,
    pair_of,
    written_hypothesis,
)
from weakspot.studies.mine.parts import MineContext
from weakspot.studies.mine.result import Downstream, Grounded, MinedPair, MineResult, Named, Scores, Written
from weakspot.text.differences import Category
from weakspot.text.llm_answers import Pair

#: Draws of the two baselines, and the part of the budget at which each ends.
BASELINES: Final = ((REPLACED, 384, 0.2), (RANDOM, 256, 0.3))
#: Categories are few and pairs cost little: none is given up for looking only somewhat worse than usual.
RACE: Final = RaceSettings(lift=1.5, first=48, most=128, share=0.6, places=64)
CONFIRM: Final = ConfirmSettings(least=96, most=256, baseline=512)
FEWEST: Final = 8  # a category with fewer new pairs in a stage is not measured
FAILURES: Final = 12  # failures in a language model's words that are followed up
#: Pairs that a finding shows: failing, passing.
SHOWN: Final = (24, 12)
#: New pairs of a finding whose relevance is judged, and pairs of a finding that are drawn.
JUDGED, DRAWN = 41, 12
NOTHING: Final = {Stage.EXPLORE: (0, 0), Stage.CONFIRM: (0, 0)}


def mine(context: MineContext) -> MineResult:
    """Mine, name, write, measure, and look further. What a stopped run has is not computed or asked again."""
    settings, parts, bill = context.settings, context.parts, Bill(context)
    known = MineResult.of(context.run) or MineResult(note=parts.deaf)

    def keep(**found: Any) -> None:
        nonlocal known
        known = known.model_copy(update=found)
        context.publish(known)
        bill.enter()

    if known.mined is None:
        keep(mined=mine_pairs(context))
    assert known.mined is not None  # noqa: S101 (just made)
    if known.named is None:
        keep(named=named(context, known.mined.pairs))
    for key, pairs in written(context, known):
        keep(written=known.written | {key: pairs})
    if not parts.deaf:
        measure(context, known, keep)
        if context.ended:
            return known
        keep(scores=scores(context))
        if settings.images is not None and known.grounded is None:
            keep(grounded=held_against_pictures(context))
        if settings.downstream is not None and known.downstream is None:
            keep(downstream=drawn(context))
    return known


# -- with a language model ---------------------------------------------------------------------------


def named(context: MineContext, pairs: Sequence[MinedPair]) -> Named:
    """The failures that a language model names, and what could not be had of it."""
    settings, llm = context.settings, context.parts.llm
    if llm is None or not pairs:
        note = "" if llm is None else "the language model was not asked: there are no pairs to show it"
        return Named(note=note)
    shown = [Pair(pair.first, pair.second) for pair in pairs]
    try:
        found = name_failures(
            shown, llm=llm, passes=settings.passes, steer=settings.steer, seed=settings.seed
        )
    except WeakspotError as error:
        return Named(note=f"the language model named no failures: {error.what}")
    return found.model_copy(update={"failures": found.failures[:FAILURES]})


def written(context: MineContext, known: MineResult) -> Iterator[tuple[str, Written]]:
    """New pairs by the language model for each failure that has none yet, by the id of the hypothesis."""
    llm, pairs = context.parts.llm, known.mined.pairs if known.mined else ()
    failures = known.named.failures if known.named else ()
    for number, failure in enumerate(failures):
        context.watch.progress("pairs by the language model", number, len(failures))
        key = written_hypothesis(failure.name, failure.description).id
        if key not in known.written and llm is not None:
            new = write_pairs(
                failure.name,
                failure.description,
                llm=llm,
                n=2 * context.settings.written,
                examples=[Pair(pairs[i].first, pairs[i].second) for i in failure.cited[:8]],
                corpus=context.parts.corpus.texts,
                steer=context.settings.steer,
                rounds=4,
            )
            yield key, new


# -- new pairs ---------------------------------------------------------------------------------------


def measure(context: MineContext, known: MineResult, keep: Any) -> None:
    """How often the encoder takes new pairs of each category for alike."""
    settings, parts = context.settings, context.parts
    assert known.mined is not None  # noqa: S101 (what is alike follows from it)
    alike = known.mined.threshold.value
    source = PairSource(
        parts.corpus,
        written={key: row.pairs for key, row in known.written.items()},
        fits=parts.fits,
        only=captions_about(context) if settings.steer and not parts.llm else None,
        progress=context.watch.progress,
    )
    judge = SimilarityJudge(alike, parts.validity)
    with context.engine(
        source=source, target=PairSimilarity(parts.encoder), judge=judge, keep=NOTHING
    ) as engine:
        hypotheses, missing = candidates(engine, known)
        lanes: list[Lane] = []
        confirmed: list[Lane] = []
        with context.within_budget():
            for base, draws, share in BASELINES:
                engine.test(base, until=stop.drawn(draws) | stop.spent(share), phase="baseline")
            lanes = race(engine, hypotheses, against=REPLACED, settings=RACE)
            ahead = [lane.hypothesis for lane in lanes if lane.state is State.AHEAD]
            confirmed, limit = confirm_both(engine, ahead, fdr=settings.fdr)
            if limit is not None:
                raise limit
        found = findings(engine, confirmed, alike=alike, checked=parts.validity is not None)
        context.ledger.set_findings(found)
        keep(unmeasured=missing, states={lane.hypothesis.id: lane.state.value for lane in lanes})
        if reason := cut_short(engine, lanes):
            context.end(reason)


def cut_short(engine: Engine, lanes: Sequence[Lane]) -> str:
    """How the budget is why a category was left open; "" where it is not."""
    if engine.spending.share() < RACE.share:
        return ""
    still = [lane for lane in lanes if lane.state is State.OPEN]
    left = sum(lane.tally.drawn < min(RACE.most, engine.reach(lane.hypothesis)) for lane in still)
    return f"the budget left {left} of {len(lanes)} categories open" if left else ""


def candidates(engine: Engine, known: MineResult) -> tuple[list[Hypothesis], dict[str, str]]:
    """Every category that has new pairs, those first that the corpus showed; and why others are left out.

    A category that no mined pair shows is measured too: a reference that is blind to it would hide it.
    """
    counts = Counter(pair.category for pair in known.mined.pairs) if known.mined else Counter[str]()
    hypotheses = [
        edited_hypothesis(category, mined=counts[category.value])
        for category in sorted(Category, key=lambda c: -counts[c.value])
        if category is not Category.OTHER
    ]
    hypotheses += [written_hypothesis(row.name, row.description) for row in known.written.values()]
    found, missing = [], {}
    for hypothesis in hypotheses:
        # Captions are dealt to the stages by chance: where one has edited pairs, so has the other.
        stages = Stage if hypothesis.origin == "llm" else (Stage.EXPLORE,)
        fewest = min(engine.reach(hypothesis, stage) for stage in stages)
        if fewest >= FEWEST:
            found.append(hypothesis)
        else:
            missing[hypothesis.text] = f"{fewest} new pairs could be made; {FEWEST} are needed"
    return found, missing


def confirm_both(
    engine: Engine, hypotheses: Sequence[Hypothesis], *, fdr: float
) -> tuple[list[Lane], BudgetSpent | None]:
    """Fresh pairs must be confused more often than those of either baseline.

    The lesser of two e-values is one for the hypothesis that either baseline is as bad, so closed e-BH
    holds as is.
    """
    settings = replace(CONFIRM, fdr=fdr, alone=True)  # what counts is the list of the lesser evidence
    edits, limit = confirm(engine, hypotheses, against=REPLACED, settings=settings)
    plain, other = confirm(engine, hypotheses, against=RANDOM, settings=settings)
    least = [min(a.log_evidence, b.log_evidence) for a, b in zip(edits, plain, strict=True)]
    lanes = [
        replace(lane, log_evidence=log, state=State.CONFIRMED if held else State.AHEAD)
        for lane, log, held in zip(plain, least, closed_e_bh(least, fdr), strict=True)
    ]
    return [replace(lane, against=REPLACED) for lane in lanes], limit or other


def findings(engine: Engine, lanes: Sequence[Lane], *, alike: float, checked: bool) -> list[Finding]:
    """Findings, the confirmed ones first, then by rate; all numbers of a category from fresh pairs."""
    base = engine.tally(REPLACED).plus(engine.tally(REPLACED, Stage.CONFIRM))
    found = []
    for lane in lanes:
        trials = engine.run.ledger.trials(lane.hypothesis, stage=Stage.CONFIRM)
        trials = sorted((t for t in trials if t.score is not None), key=lambda t: -(t.score or 0.0))
        near = sum((t.score or 0.0) > alike for t in trials)
        raw = rate(Tally(len(trials), near)) if checked and (len(trials), near) != lane.tally[:2] else None
        name = dict(lane.hypothesis.concepts).get("name", lane.hypothesis.text)
        found.append(
            Finding(
                hypothesis=lane.hypothesis,
                phrase=name,
                rate=rate(lane.tally),
                baseline=rate(base),
                log_evidence=lane.log_evidence,
                confirmed=lane.state is State.CONFIRMED,
                failing=tuple(t.index for t in trials if t.failed)[: SHOWN[0]],
                passing=tuple(t.index for t in trials[::-1] if t.failed is False)[: SHOWN[1]],
                unchecked=raw,
            )
        )
    return sorted(found, key=lambda f: (not f.confirmed, -f.rate.value))


# -- what follows when the failures are known --------------------------------------------------------


def scores(context: MineContext) -> Scores:
    """The published method's measures: quantity, success and relevance."""
    confirmed = [finding for finding in context.run.findings if finding.confirmed]
    rates = [finding.rate.value for finding in confirmed]
    success = sum(rates) / len(rates) if rates else None
    if not (context.settings.steer and confirmed):
        return Scores(quantity=len(confirmed), success=success)
    matter: list[bool | None] = []
    each: dict[str, Rate] = {}
    for finding in confirmed:
        trials = context.ledger.trials(finding.hypothesis, stage=Stage.CONFIRM)
        own = relevant([pair_of(trial)[:2] for trial in trials[:JUDGED]], context)
        each[finding.hypothesis.id] = share_that_matters(own)
        matter += own
    return Scores(
        quantity=len(confirmed),
        success=success,
        relevance=share_that_matters(matter),
        by=context.settings.llm or "likeness to the topic, by the reference",
        each=each,
    )


def held_against_pictures(context: MineContext) -> Grounded:
    from weakspot.sources.captioned import read_captioned
    from weakspot.studies.mine.grounded import grounded

    settings, parts = context.settings, context.parts
    return grounded(
        cast("Encoder", parts.encoder),
        read_captioned(str(settings.images)),
        seed=settings.seed,
        judge=parts.validity,
        fdr=settings.fdr,
        cache=parts.cache,
        progress=context.watch.progress,
    )


def drawn(context: MineContext) -> Downstream:
    """What a text-to-image source makes of failing pairs."""
    from weakspot.studies.mine.downstream import downstream, matcher

    pairs = []
    for finding in context.run.findings:
        if finding.confirmed:
            trials = (context.ledger.trial(finding.hypothesis, i) for i in finding.failing[:DRAWN])
            pairs += [pair_of(trial)[:2] for trial in trials if trial is not None]
    if not pairs:
        return Downstream()
    return downstream(
        pairs,
        context.parts.downstream,
        matcher(context.parts.matcher, others=context.parts.corpus.texts[:500]),
        seed=context.settings.seed,
        folder=context.run.folder / "downstream",
        progress=context.watch.progress,
    )
