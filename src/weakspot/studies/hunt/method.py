"""hunt: bugs of an image classifier, in words (after Wiles, Albuquerque and Gowal, 2022).

For a label, sample images from a plain prompt and see how often the classifier fails (the baseline).
Sentences that are said of failing images more often than of the others, alone or two together, and
descriptions of failures that look alike, become captions; images drawn from each caption are raced against
the baseline. What goes with failure within a caption refines it, what it does not need is left out, and so on
while the budget lasts. The fewest captions that explain the failures are measured again on fresh images, and
what is left are findings: captions z with P(failure | z, label) > P(failure | label). At the end each is
edited (denied, in another colour, at another place) to see what it hangs on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from weakspot.core import Generator, Judge, Source, Stage, Target, WeakspotError
from weakspot.engine import (
    Broken,
    Budget,
    BudgetSpent,
    Cluster,
    ConfirmSettings,
    Engine,
    Executor,
    Lane,
    RaceSettings,
    State,
    Watch,
    confirm,
    findings,
    race,
)
from weakspot.engine.engine import KEPT
from weakspot.store import Run, RunConfig, check_url
from weakspot.studies.hunt.parts import (
    HuntSettings,
    Parts,
    base_hypothesis,
    check,
    load,
    recipes_of,
    settings_of,
)
from weakspot.studies.hunt.propose import distinct
from weakspot.studies.hunt.select import select
from weakspot.studies.hunt.steps import (
    LAST_RESORT,
    PLACES,
    Hunt,
    begin_with,
    counterfactuals,
    cut_short,
    explained,
    explore,
    fitting,
    proposals,
    relatives,
    rewriter,
    sharpen,
)
from weakspot.studies.hunt.told import Teller
from weakspot.study.executors import check_executor, executor_for
from weakspot.study.loading import name_of, pinned, tell_models

__all__ = [
    "HuntSettings",
    "Parts",
    "base_hypothesis",
    "check",
    "conduct",
    "fitting",
    "go_on",
    "hunt",
    "load",
    "settings_of",
]

#: In each round the baseline is drawn until it failed so often or this part of the budget is gone; then
#: the race goes on until that part is.
ROUNDS: Final = ((25, 0.15, 0.4), (60, 0.25, 0.55), (150, 0.35, 0.65))
#: Images that must be left per winner; with fewer, only the worst winners are confirmed.
FEWEST: Final = 128
#: Pictures kept per hypothesis where a model must look at them: (failing, passing).
LOOKED_AT: Final = {Stage.EXPLORE: (64, 32), Stage.CONFIRM: (24, 12)}


def hunt(
    target: str | Target,
    *,
    label: str = "",
    labels: Sequence[str] = (),
    target_label: str | None = None,
    source: str | Source | Generator = "world:renderer",
    judge: str | Judge | None = None,
    verify: Sequence[Any] | str = (),
    captioner: Any = None,
    encoder: Any = None,
    llm: Any = None,
    from_images: str | Path | None = None,
    labels_file: str | Path | None = None,
    sense: str | None = None,
    budget: str = "images=20000",
    seed: int = 0,
    fdr: float = 0.05,
    prompt: str | None = None,
    sentences: int = 3,
    edits: int = 4,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: Watch | None = None,
    executor: str | Executor | Cluster | None = None,
) -> Run:
    """Hunt the failures of a classifier on one label, or on several with one budget.

    Names and objects are both welcome; a run made with objects can be resumed only from Python.

    Args:
        target: The classifier.
        label: Which label. One that the head does not have may be a noun of WordNet that covers some it has.
        labels: Several labels instead.
        target_label: Count only this wrong answer.
        source: What draws images from words; a generator wants a captioner beside it.
        judge: What counts as a failure.
        verify: Models that must see the label in a picture before it counts either way.
        captioner: Says what is in pictures, where the source does not know; for world:generator the
            world's own.
        encoder: Groups failures by what they look like.
        llm: A language model that rewords captions which are ahead, and adds counterfactual edits.
        from_images: A folder of pictures to begin with, such as failures from elsewhere.
        labels_file: Names and parents of labels.
        sense: Which meaning of the label, where WordNet knows several.
        budget: Limits.
        seed: The same seed gives the same run.
        fdr: Bound on the false-discovery rate.
        prompt: The baseline's words, with {label} and {parent}.
        sentences: At most so many sentences in a caption.
        edits: Counterfactual edits measured of each finding.
        out: The run's folder; a new one below runs/ by default.
        blobs: Where inputs are kept, as an address such as s3://bucket/folder; by default in that folder.
        watch: Who is told of the progress.
        executor: Where the trials are drawn: "local", or "ray:ADDRESS?OPTIONS" (docs/scale.md). It makes no
            difference to the run, so run.yaml does not name it.

    Returns:
        The finished run, open for reading; see `run.findings` and `run.state`.
    """
    verified = (verify,) if isinstance(verify, str) else tuple(verify)
    if captioner is None and name_of(source).startswith("world:generator"):
        captioner = "world:captioner"
    settings = HuntSettings(
        target=name_of(target),
        label=label,
        labels=tuple(labels),
        target_label=target_label,
        source=name_of(source),
        judge=None if judge is None else name_of(judge),
        verify=tuple(map(name_of, verified)),
        captioner=None if captioner is None else name_of(captioner),
        encoder=None if encoder is None else name_of(encoder),
        llm=None if llm is None else name_of(llm),
        from_images=None if from_images is None else str(from_images),
        labels_file=None if labels_file is None else str(labels_file),
        sense=sense,
        budget=budget,
        seed=seed,
        fdr=fdr,
        **({} if prompt is None else {"prompt": prompt}),
        sentences=sentences,
        edits=edits,
    )
    check(settings)
    check_url(blobs)
    check_executor(executor)
    given = {"target": target, "source": source, "judge": judge, "verify": verified}
    parts = load(settings, **given, captioner=captioner, encoder=encoder, llm=llm)
    settings = pinned(
        settings,
        target=parts.target,
        source=parts.source,
        verify=parts.opinions,
        captioner=parts.captioner,
        encoder=parts.encoder,
    )
    subject = label or f"{len(settings.labels)} labels"
    recipes, many = partial(recipes_of, settings, parts, **given), getattr(parts.source, "cpu_bound", False)
    with (
        executor_for(executor, recipes, many=many, here=parts.pools) as place,
        Run.create(
            RunConfig(study="hunt", subject=subject, settings=settings.to_yaml(), digests=parts.digests),
            folder=None if out is None else Path(out),
            blobs=blobs,
        ) as run,
    ):
        conduct(run, settings, parts, watch, executor=place)
    return Run.read(run.folder)


def go_on(
    run: Run,
    *,
    budget: str | None = None,
    watch: Watch | None = None,
    executor: str | Executor | Cluster | None = None,
    **given: Any,
) -> None:
    """Go on with an interrupted hunt: the same decisions over the recorded trials, then new ones.

    Args:
        run: Open for writing.
        budget: A new one.
        watch: Who is told of the progress.
        executor: Where the trials are drawn; it need not be where the run began.
        given: Objects in place of names: target, source, judge, verify, captioner, encoder, llm.
    """
    settings = settings_of(run, budget=budget)
    check_executor(executor)
    parts = load(settings, **given)
    for what, digest in parts.digests.items():
        if run.config.digests.get(what, digest) != digest:
            raise WeakspotError(
                f"the {what} is not the one this run began with (its digest differs)",
                fix="use the old one, or begin a new run",
            )
    if run.state.startswith("stopped: broken"):
        run.ledger.forget_errors()
    recipes, many = partial(recipes_of, settings, parts, **given), getattr(parts.source, "cpu_bound", False)
    with executor_for(executor, recipes, many=many, here=parts.pools) as place:
        conduct(run, settings, parts, watch, executor=place)


def conduct(
    run: Run,
    settings: HuntSettings,
    parts: Parts,
    watch: Watch | None = None,
    *,
    executor: Executor | Cluster | None = None,
) -> None:
    """The method, from the baseline to the findings."""
    ledger, watch = run.ledger, watch or Watch()
    bases = [base_hypothesis(settings, parts.words, label) for label in settings.hunted]
    watch.began(str(run.folder))
    tell_models(
        watch,
        executor=executor,
        target=parts.target,
        source=parts.source,
        judge=parts.judge,
        verify=parts.opinions,
        captioner=parts.captioner,
        encoder=parts.encoder,
        llm=parts.llm,
    )
    ledger.add_hypotheses(bases)  # with many labels and few images, some are never drawn
    ledger.set_fact("state", "running")
    ledger.set_fact("base", bases[0].id)
    ledger.set_fact("bases", [base.id for base in bases])
    ledger.set_fact("budget", settings.budget)
    ledger.set_fact("skipped", [(s.name, s.reason) for s in getattr(parts.source, "skipped", ())])
    looks = parts.captioner is not None or parts.encoder is not None
    with Engine(
        run,
        source=parts.source,
        target=parts.target,
        judge=parts.verdicts,
        seed=settings.seed,
        budget=Budget.parse(settings.budget),
        watch=watch,
        executor=executor,
        keep=LOOKED_AT if looks else KEPT,
    ) as engine:
        steps = Hunt(engine, settings, parts, bases, Teller(engine, parts.captioner), rewriter(run, parts))
        lanes: list[Lane] = []
        confirmed: list[Lane] = []
        untested = 0
        limit: BudgetSpent | None = None
        try:
            claims = begin_with(steps)
            for goal, share, until in (*ROUNDS, LAST_RESORT):
                if (goal, share, until) == LAST_RESORT and any(lane.state is State.AHEAD for lane in lanes):
                    break
                explore(steps, goal=goal, share=share)
                before, racing = len(claims), RaceSettings(places=PLACES, share=until)
                claims = distinct([*claims, *proposals(steps, lanes)])
                lanes = race(engine, claims, settings=racing)
                claims = distinct([*claims, *relatives(steps, lanes)])
                lanes = race(engine, claims, settings=racing)
                if claims and len(claims) == before and explained(steps, lanes):
                    break
            lanes = sharpen(steps, lanes)
            winners = select(lanes, steps.teller.trials, most=PLACES)
            # A few candidates measured well say more than all of them measured badly.
            affordable = max(1, engine.spending.room() // FEWEST)
            untested, winners = len(winners[affordable:]), winners[:affordable]
            confirmed, limit = confirm(engine, winners, settings=ConfirmSettings(fdr=settings.fdr))
            if not limit:
                counterfactuals(steps, confirmed)
        except BudgetSpent as spent:
            limit = spent
        except Broken as broken:
            ledger.set_fact("state", f"stopped: broken: {broken.what}")
            raise
        ledger.set_findings(findings(engine, confirmed))
        ledger.set_fact("race", [[lane.hypothesis.id, lane.state.value] for lane in lanes if not lane.answer])
        reason = f"the {limit}" if limit else cut_short(steps, lanes, untested)
        ledger.set_fact("state", f"stopped: {reason}" if reason else "finished")
