"""mine: blind spots of an encoder of texts (after MultiMon: Tong, Jones and Steinhardt, 2023).

Embed a corpus with the encoder and with a reference. Of all pairs of captions keep those that the encoder
takes for alike and the reference tells apart, a diverse list of them, without pairs that say the same. Name
what the two texts of each pair differ in: by rules, and in the words of a language model where there is one.
For every such category make new pairs, which are not of the corpus, and measure how often the encoder takes
them for alike: raced against captions with any word replaced, confirmed on fresh pairs against these and
against captions at random, with control of false discoveries. A finding is a systematic failure: a category
whose pairs are taken for alike more often than edits of the same length are in general.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from weakspot.core import Finding, Generator, Hypothesis, Source, Stage, Tally, TextEncoder, WeakspotError
from weakspot.engine import (
    Broken,
    Budget,
    BudgetSpent,
    ConfirmSettings,
    Engine,
    Lane,
    RaceSettings,
    State,
    Watch,
    confirm,
    race,
    stop,
)
from weakspot.judges.similarity import SimilarityJudge, Validity
from weakspot.sources.corpus import Corpus
from weakspot.stats import e_bh
from weakspot.store import Run, RunConfig, rate
from weakspot.studies.mine import steps
from weakspot.studies.mine.following import after
from weakspot.studies.mine.pair_similarity import PairSimilarity
from weakspot.studies.mine.pairs_made import (
    RANDOM,
    REPLACED,
    PairSource,
    edited_hypothesis,
    written_hypothesis,
)
from weakspot.studies.mine.parts import (
    Bill,
    MineSettings,
    MineWatch,
    Parts,
    Progress,
    check,
    in_calls,
    load,
    settings_of,
    texts_name,
)
from weakspot.studies.mine.steer import about
from weakspot.study.loading import name_of, pinned, tell_models
from weakspot.text.differences import Category
from weakspot.text.llm_answers import Asked

__all__ = ["MineSettings", "MineWatch", "conduct", "go_on", "mine", "settings_of"]

#: Draws of the two baselines, and the part of the budget at which each ends.
BASELINES: Final = ((REPLACED, 384, 0.2), (RANDOM, 256, 0.3))
#: Categories are few and pairs cost little: none is given up for looking only somewhat worse than usual.
RACE: Final = RaceSettings(lift=1.5, first=48, most=128, share=0.6, places=64)
CONFIRM: Final = ConfirmSettings(least=96, most=256, baseline=512)
#: A category with fewer new pairs in a stage is not measured.
FEWEST: Final = 8
#: Pairs that a finding shows: failing, passing.
SHOWN: Final = (24, 12)
NOTHING: Final = {Stage.EXPLORE: (0, 0), Stage.CONFIRM: (0, 0)}


def mine(
    encoder: str | TextEncoder,
    *,
    reference: str | TextEncoder,
    corpus: str | Path | Sequence[str] | Corpus,
    pairs: int = 150,
    texts: int | None = None,
    noise: str | Path | None = None,
    threshold: float | None = None,
    gap: float = 0.2,
    calibrate: float | None = None,
    validity: str | Validity | None = None,
    steer: str = "",
    llm: str | Asked | None = None,
    passes: int = 3,
    written: int = 41,
    images: str | Path | None = None,
    downstream: str | Source | Generator | None = None,
    matcher: Any = None,
    budget: str = "calls=20000",
    seed: int = 0,
    fdr: float = 0.05,
    out: str | Path | None = None,
    cache: Path | None = None,
    watch: Watch | None = None,
) -> Run:
    """Mine the systematic failures of an encoder of texts.

    Names and objects are both welcome; a run made with objects can be resumed only from Python.

    Args:
        encoder: The encoder under test.
        reference: Another, which tells apart what the first should.
        corpus: A name (see `weakspot.sources.corpus`), or texts.
        pairs: Pairs of the corpus in the mined list.
        texts: Distinct texts of the corpus at most.
        noise: A file of phrases whose texts are left out.
        threshold: Alike is above this; calibrated by default.
        gap: With a threshold: by how much the reference must find a mined pair less alike.
        calibrate: Without a threshold: share of random pairs that are less alike than a mined one.
        validity: Says whether two texts differ; see `weakspot.judges.differs`. "none" takes all to differ.
        steer: A topic that failures should matter for.
        llm: A language model, which names failures and writes pairs.
        passes: How often it reads the pairs.
        written: Pairs it is asked for, per failure and stage.
        images: A folder of captioned images: the check with pictures.
        downstream: A text-to-image source: does it draw failing pairs alike?
        matcher: An encoder that says which text a drawn picture shows; for the world its captioner.
        budget: Limits; a measured pair is a call.
        seed: The same seed gives the same run.
        fdr: Bound on the false-discovery rate.
        out: The run's folder; a new one below runs/ by default.
        cache: Where embeddings are kept; the user's cache by default.
        watch: Who is told of the progress; a `MineWatch` is told more.

    Returns:
        The finished run, open for reading; see `run.findings`, `run.state` and the ledger's fact "mined".
    """
    settings = MineSettings(
        encoder=name_of(encoder),
        reference=name_of(reference),
        corpus=texts_name(corpus),
        texts=texts,
        noise=None if noise is None else str(noise),
        pairs=pairs,
        threshold=threshold,
        gap=gap,
        calibrate=calibrate,
        validity=None if validity is None else name_of(validity),
        steer=steer.strip(),
        llm=None if llm is None else name_of(llm),
        passes=passes,
        written=written,
        images=None if images is None else str(images),
        downstream=None if downstream is None else name_of(downstream),
        matcher=None if matcher is None else name_of(matcher),
        budget=in_calls(budget),
        seed=seed,
        fdr=fdr,
    )
    check(settings)
    parts = load(
        settings,
        encoder=encoder,
        reference=reference,
        corpus=corpus,
        validity=validity,
        llm=llm,
        downstream=downstream,
        matcher=matcher,
        cache=cache,
    )
    settings = pinned(
        settings,
        encoder=parts.encoder,
        reference=parts.reference,
        downstream=parts.draws,
        matcher=parts.matches,
    )
    config = RunConfig(
        study="mine", subject=subject(settings), settings=settings.to_yaml(), digests=parts.digests
    )
    with Run.create(config, folder=None if out is None else Path(out)) as run:
        conduct(run, settings, parts, watch)
    return Run.read(run.folder)


def go_on(
    run: Run,
    *,
    budget: str | None = None,
    watch: Watch | None = None,
    cache: Path | None = None,
    **given: Any,
) -> None:
    """Go on with an interrupted run: what was mined, named and written is kept, what was measured too.

    Args:
        run: Open for writing.
        budget: A new one.
        watch: Who is told of the progress.
        cache: Where embeddings are kept.
        given: Objects in place of names: encoder, reference, corpus, validity, llm, downstream, matcher.
    """
    settings = settings_of(run, budget=budget)
    parts = load(settings, **given, cache=cache)
    for what, digest in parts.digests.items():
        if run.config.digests.get(what, digest) != digest:
            raise WeakspotError(
                f"the {what} is not the one this run began with (its digest differs)",
                fix="use the old one, or begin a new run",
            )
    if run.state.startswith("stopped: broken"):
        run.ledger.forget_errors()
    conduct(run, settings, parts, watch)


def conduct(run: Run, settings: MineSettings, parts: Parts, watch: Watch | None = None) -> None:
    """The method, from the corpus to the findings."""
    ledger, watch = run.ledger, watch or MineWatch()
    progress: Progress = getattr(watch, "progress", MineWatch().progress)
    watch.began(str(run.folder))
    models = {"encoder": parts.encoder, "reference": parts.reference, "draws": parts.draws}
    tell_models(watch, **models, matcher=parts.matches)
    ledger.set_fact("state", "running")
    ledger.set_fact("bases", [REPLACED.id, RANDOM.id])
    ledger.set_fact("budget", settings.budget)
    bill = Bill(run, parts.llm, Budget.parse(settings.budget))

    def keep(what: str, value: Any) -> None:
        ledger.set_fact(what, value)
        bill.enter()

    try:
        found = ledger.fact("mined")
        if found is None:
            found = steps.mined(settings, parts, progress)
            keep("mined", found)
        failures = ledger.fact("named")
        if failures is None:
            failures = steps.named(settings, parts, found["pairs"])
            keep("named", failures)
        written = steps.written(
            settings,
            parts,
            failures["failures"],
            found["pairs"],
            keep=lambda rows: keep("written", rows),
            have=ledger.fact("written", {}),
            progress=progress,
        )
        reason = "" if parts.unheard else measure(run, settings, parts, found, written, watch, progress)
        if not reason:
            after(run, settings, parts, progress)
            bill.enter()
    except WeakspotError as error:
        ledger.set_fact("state", f"stopped: broken: {error.what}")
        raise
    ledger.set_fact("unheard", parts.unheard)
    ledger.set_fact("state", f"stopped: {reason}" if reason else "finished")


def measure(
    run: Run,
    settings: MineSettings,
    parts: Parts,
    found: dict[str, Any],
    written: dict[str, Any],
    watch: Watch,
    progress: Progress,
) -> str:
    """How often the encoder takes new pairs of each category for alike; why it was cut short, if it was."""
    ledger, alike = run.ledger, float(found["threshold"]["value"])
    source = PairSource(
        parts.corpus,
        written={key: [(a, b) for a, b in row["pairs"]] for key, row in written.items()},
        fits=parts.fits,
        only=about(settings.steer, parts, progress) if settings.steer and not parts.llm else None,
        progress=progress,
    )
    lanes: list[Lane] = []
    confirmed: list[Lane] = []
    limit: BudgetSpent | None = None
    with Engine(
        run,
        source=source,
        target=PairSimilarity(parts.encoder),
        judge=SimilarityJudge(alike, parts.validity),
        seed=settings.seed,
        budget=Budget.parse(settings.budget),
        watch=watch,
        keep=NOTHING,
    ) as engine:
        hypotheses, missing = candidates(engine, steps.counted(found["pairs"]), written)
        ledger.set_fact("unmeasured", missing)
        try:
            for base, draws, share in BASELINES:
                engine.test(base, until=stop.drawn(draws) | stop.spent(share), phase="baseline")
            lanes = race(engine, hypotheses, against=REPLACED, settings=RACE)
            ahead = [lane.hypothesis for lane in lanes if lane.state is State.AHEAD]
            confirmed, limit = confirm_both(engine, ahead, fdr=settings.fdr)
        except BudgetSpent as spent:
            limit = spent
        except Broken as broken:
            raise WeakspotError(broken.what, fix=broken.fix) from broken
        ledger.set_findings(findings(engine, confirmed, alike=alike, checked=parts.validity is not None))
        ledger.set_fact("race", [[lane.hypothesis.id, lane.state.value] for lane in lanes])
        return f"the {limit}" if limit else cut_short(engine, lanes)


def cut_short(engine: Engine, lanes: Sequence[Lane]) -> str:
    """How the budget is why a category was left open; "" where it is not."""
    if engine.spending.share() < RACE.share:
        return ""
    left = [
        x
        for x in lanes
        if x.state is State.OPEN and x.tally.drawn < min(RACE.most, engine.reach(x.hypothesis))
    ]
    return f"the budget left {len(left)} of {len(lanes)} categories open" if left else ""


def candidates(
    engine: Engine, counts: dict[Category, int], written: dict[str, Any]
) -> tuple[list[Hypothesis], dict[str, str]]:
    """Every category that has new pairs, those first that the corpus showed; and why others are left out.

    A category that no mined pair shows is measured too: a reference that is blind to it would hide it.
    """
    hypotheses = [
        edited_hypothesis(category, mined=counts[category])
        for category in sorted(Category, key=lambda c: -counts[c])
        if category is not Category.OTHER
    ]
    hypotheses += [written_hypothesis(row["name"], row["description"]) for row in written.values()]
    found, missing = [], {}
    for hypothesis in hypotheses:
        # Captions are dealt to the stages by chance: where one has edited pairs, so has the other.
        stages = Stage if hypothesis.origin == "llm" else (Stage.EXPLORE,)
        fewest = min(engine.reach(hypothesis, stage) for stage in stages)
        if fewest >= FEWEST:
            found.append(hypothesis)
        else:
            missing[hypothesis.text] = f"of {FEWEST} new pairs that are needed at least there are {fewest}"
    return found, missing


def confirm_both(
    engine: Engine, hypotheses: Sequence[Hypothesis], *, fdr: float
) -> tuple[list[Lane], BudgetSpent | None]:
    """Fresh pairs must be taken for alike more often than those of either baseline.

    The lesser of two e-values is one for the hypothesis that either baseline is as bad, so e-BH holds as is.
    """
    settings = replace(CONFIRM, fdr=fdr)
    edits, limit = confirm(engine, hypotheses, against=REPLACED, settings=settings)
    plain, other = confirm(engine, hypotheses, against=RANDOM, settings=settings)
    least = [min(a.log_evidence, b.log_evidence) for a, b in zip(edits, plain, strict=True)]
    lanes = [
        replace(lane, log_evidence=log, state=State.CONFIRMED if held else State.AHEAD)
        for lane, log, held in zip(plain, least, e_bh(least, fdr), strict=True)
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


def subject(settings: MineSettings) -> str:
    """A word for people: the encoder's name without its folder and options."""
    name = settings.encoder.removeprefix("object:").partition("?")[0]
    return name.rstrip("/").rpartition("/")[2] or name
