"""rare: how often a classifier fails where plain sampling would hardly see it fail.

Images are drawn from the words and then moved, a little at a time, through what the words leave open (the
free choices of a scene, the noise of a generator), always on to images that are nearer to being misread.
The shares that get from one level to the next multiply to the rate: see `splitting`. Where the
target gives no scores, or the source has no space to move in, or failures are not rare, images are drawn
plainly and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.rules import Said, rules, said
from weakspot.core import Hypothesis, Source, Stage, Target, Trial, WeakspotError
from weakspot.engine import Broken, Budget, BudgetSpent, Engine, Lane, Want, Watch, stop
from weakspot.sources.spaces import CaseSpace, Spaced
from weakspot.stats import clopper_pearson
from weakspot.store import Run, RunConfig, check_url
from weakspot.studies.hunt.parts import Parts, base_hypothesis, load
from weakspot.studies.rare.parts import (
    LOOK,
    OFTEN,
    Drawn,
    Margins,
    Moved,
    RareSettings,
    check,
    digest,
    settings_of,
)
from weakspot.studies.rare.splitting import Rare, rare_rate
from weakspot.study.loading import name_of, pinned, tell_models

__all__ = ["RareSettings", "conduct", "go_on", "rare", "settings_of"]

#: Images per request, after each of which the progress is told.
CHUNK: Final = 512
#: Inputs kept as evidence: (failing, passing).
KEPT: Final = {Stage.EXPLORE: (256, 8), Stage.CONFIRM: (0, 0)}
#: Failing cases that are listed, and rules that say what they have in common.
LISTED, COMMON = 48, 5


def rare(
    target: str | Target,
    *,
    label: str,
    target_label: str | None = None,
    words: str = "",
    source: str | Source = "world:renderer",
    labels_file: str | Path | None = None,
    sense: str | None = None,
    prompt: str | None = None,
    budget: str = "images=20000",
    seed: int = 0,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: Watch | None = None,
) -> Run:
    """Estimate the rate of a rare failure.

    Args:
        target: The classifier.
        label: The label whose failures are counted.
        target_label: Count only this wrong answer.
        words: Sentences added to the plain prompt, e.g. "it is on a flower."
        source: What draws images from words.
        labels_file: Names and parents of labels.
        sense: Which meaning of the label, where WordNet knows several.
        prompt: The plain prompt, with {label} and {parent}.
        budget: Limits; the number of images must be among them.
        seed: The same seed gives the same run.
        out: The run's folder; a new one below runs/ by default.
        blobs: Where inputs are kept, as an address such as s3://bucket/folder; by default in that folder.
        watch: Who is told of the progress.

    Returns:
        The finished run, open for reading; its ledger's fact "rare" has the result.
    """
    settings = RareSettings(
        target=name_of(target),
        label=label,
        target_label=target_label,
        words=words,
        source=name_of(source),
        labels_file=None if labels_file is None else str(labels_file),
        sense=sense,
        **({} if prompt is None else {"prompt": prompt}),
        budget=budget,
        seed=seed,
    )
    check(settings)
    check_url(blobs)
    parts = load(settings.as_hunt, target=target, source=source)
    space_of(parts.source, plain_hypothesis(settings, parts))  # words that cannot be drawn are told here
    settings = pinned(settings, target=parts.target, source=parts.source)
    config = RunConfig(study="rare", subject=label, settings=asdict(settings), digests=parts.digests)
    with Run.create(config, folder=None if out is None else Path(out), blobs=blobs) as run:
        conduct(run, settings, parts, watch)
    return Run.read(run.folder)


def go_on(run: Run, *, budget: str | None = None, watch: Watch | None = None, **given: Any) -> None:
    """Go on with an interrupted run: the same steps over the recorded trials, then new ones.

    Args:
        run: Open for writing.
        budget: Other limits, with the same number of images.
        watch: Who is told of the progress.
        given: Objects in place of names: target, source.
    """
    settings = settings_of(run, budget=budget)
    parts = load(settings.as_hunt, **given)
    for what, own in parts.digests.items():
        if run.config.digests.get(what, own) != own:
            raise WeakspotError(
                f"the {what} is not the one this run began with (its digest differs)",
                fix="use the old one, or begin a new run",
            )
    if run.state.startswith("stopped: broken"):
        run.ledger.forget_errors()
    conduct(run, settings, parts, watch)


def plain_hypothesis(settings: RareSettings, parts: Parts) -> Hypothesis:
    """What is drawn: the plain prompt of the label, and the words."""
    base = base_hypothesis(settings.as_hunt, parts.words, settings.label)
    return Hypothesis(f"{base.text} {settings.words.strip()}".strip(), origin="baseline")


def space_of(source: Source, hypothesis: Hypothesis) -> CaseSpace | None:
    """What the source leaves open of a hypothesis, if it can say so."""
    return source.space(hypothesis) if isinstance(source, Spaced) else None


def conduct(run: Run, settings: RareSettings, parts: Parts, watch: Watch | None = None) -> None:
    """The method: a look, then splitting where it can be done, else counting."""
    ledger, watch = run.ledger, watch or Watch()
    plain = plain_hypothesis(settings, parts)
    # Cases that were moved towards failure are no draws from the words; they must not be counted as such.
    moved = Hypothesis(plain.text, (("draws", "moved"),), origin="moved", parent=plain.id)
    watch.began(str(run.folder))
    tell_models(watch, target=parts.target, source=parts.source, judge=parts.judge)
    ledger.set_fact("state", "running")
    ledger.set_fact("base", plain.id)
    ledger.set_fact("budget", settings.budget)
    space = space_of(parts.source, plain)
    source, margins = Moved(parts.source, space, moved), Margins(parts.judge, settings.label, moved)
    limit: BudgetSpent | None = None
    with Engine(
        run,
        source=source,
        target=parts.target,
        judge=margins,
        seed=settings.seed,
        budget=Budget.parse(settings.budget),
        watch=watch,
        keep=KEPT,
    ) as engine:
        try:
            tally = engine.test(plain, until=stop.drawn(LOOK), phase="look")
            scored = any(trial.top for trial in ledger.trials(plain, limit=LOOK))
            why = _why_plain(settings, scored=scored, space=space, often=tally.failures >= OFTEN)
            if why or space is None:
                engine.test(plain, until=stop.drawn(settings.images), phase="plain")
                result = counted(engine, plain, why)
            else:
                result = split(engine, source, margins, space, moved, settings)
            ledger.set_fact("rare", result)
        except BudgetSpent as spent:
            limit = spent
        except Broken as broken:
            ledger.set_fact("state", f"stopped: broken: {broken.what}")
            raise
    ledger.set_fact("state", f"stopped: the {limit}" if limit else "finished")


def split(
    engine: Engine,
    source: Moved,
    margins: Margins,
    space: CaseSpace,
    moved: Hypothesis,
    settings: RareSettings,
) -> dict[str, Any]:
    """Multilevel splitting through the ledger: the i-th evaluation is the i-th trial, recorded or new."""
    engine.run.ledger.add_hypotheses([moved])
    margins.recall(engine.run)
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

    estimate = rare_rate(drawn, margin, budget=engine.spending.room(), seed=settings.seed)
    found = sorted({asked[digest(state)] for state in estimate.found})
    trials = engine.run.ledger.trials(moved)
    fresh = {asked[own] for own in drawn.fresh if own in asked}
    independent = [t for t in trials if t.index in fresh and t.failed is not None]
    errors = engine.tally(moved).errors
    beside = f"{errors:,} moved images ended in an error and count as not failing." if errors else ""
    return told(
        estimate,
        hypothesis=moved,
        failing=[t for t in trials if t.index in set(found)],
        others=independent,
        base=moved.text,
        note=" ".join(filter(None, (estimate.note, beside))),
    )


def counted(engine: Engine, plain: Hypothesis, why: str) -> dict[str, Any]:
    """Independent draws, counted, with Clopper and Pearson's interval."""
    tally = engine.tally(plain)
    low, high = clopper_pearson(tally.failures, tally.n)
    trials = [t for t in engine.run.ledger.trials(plain) if t.failed is not None]
    estimate = Rare(
        rate=tally.failures / tally.n if tally.n else 0.0,
        low=low,
        high=high,
        ceiling=high,
        method="plain",
        agree=True,
        evaluations=tally.drawn,
    )
    return told(
        estimate,
        hypothesis=plain,
        failing=[t for t in trials if t.failed],
        others=trials,
        base=plain.text,
        note=why,
    )


def told(
    estimate: Rare,
    *,
    hypothesis: Hypothesis,
    failing: Sequence[Trial],
    others: Sequence[Trial],
    base: str,
    note: str,
) -> dict[str, Any]:
    """The result as plain values.

    Args:
        estimate: The rate.
        hypothesis: Whose trials follow.
        failing: Cases that fail, as often as the words show them among failures.
        others: Independent draws, whether they fail or not.
        base: Sentences that are said of all cases.
        note: What is to be known of the method.
    """
    wrong, all_of = [said(t.caption, base) for t in failing], [said(t.caption, base) for t in others]
    passing = [words for words, trial in zip(all_of, others, strict=True) if not trial.failed]
    answers = Counter(t.answer or "" for t in failing)
    spread = [failing[i] for i in np.linspace(0, len(failing) - 1, LISTED, dtype=int)] if failing else []
    return {
        "rate": estimate.rate,
        "low": estimate.low,
        "high": estimate.high,
        "ceiling": estimate.ceiling,
        "method": estimate.method,
        "agree": estimate.agree,
        "note": note,
        "images": estimate.evaluations,
        "independent": {"n": len(others), "failures": sum(bool(t.failed) for t in others)},
        "repeats": list(estimate.repeats),
        "ladder": list(estimate.ladder),
        "roots": estimate.roots,
        "hypothesis": hypothesis.id,
        "found": len(failing),
        "answers": [[answer, times / len(failing)] for answer, times in answers.most_common(8)],
        "common": in_common(wrong, passing, all_of),
        "examples": [
            {"index": t.index, "caption": t.caption, "answer": t.answer, "blob": t.blob}
            for t in dict.fromkeys(spread)
        ],
    }


def in_common(wrong: Sequence[Said], passing: Sequence[Said], others: Sequence[Said]) -> list[dict[str, Any]]:
    """What is said of failures and seldom of other cases; with how often it is said of either."""
    found = rules(wrong, passing, most=COMMON) if wrong and passing else []
    return [
        {
            "words": rule.text,
            "failing": sum(set(rule.sentences) <= words for words in wrong) / len(wrong),
            "usual": sum(set(rule.sentences) <= words for words in others) / len(others),
        }
        for rule in found
    ]


def _why_plain(settings: RareSettings, *, scored: bool, space: CaseSpace | None, often: bool) -> str:
    """Why images are counted and nothing is split, in a sentence; "" if it can be split."""
    if space is None:
        return f"{settings.source[:80]} has no space to move in: images were drawn plainly and counted."
    if not scored:
        return f"{settings.target[:80]} gives no scores: images were drawn plainly and counted."
    if often:
        return "Failures are not rare: images were drawn plainly and counted."
    return ""
