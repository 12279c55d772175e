"""map: the failure landscape of a model over a space of concepts (after Sagar, Taparia and Senanayake, 2024).

Inputs are changed as the cells of a concept space say (rotated 10°, darkened 30 %), and a search looks for
cells in which the model fails. What it asked gives every cell a rate with an interval; regions that fail
become modes, in words; and the modes are confirmed on inputs that no search saw. Inputs are cut into parts
first: discovery and confirmation are drawn here; repair and verification stay untouched for what comes after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np

from weakspot.concepts.space import ConceptSpace, load_space
from weakspot.core import Hypothesis, Judge, Source, Stage, Tally, Target, WeakspotError
from weakspot.engine import (
    Broken,
    Budget,
    BudgetSpent,
    Cluster,
    ConfirmSettings,
    Engine,
    Executor,
    Lane,
    Watch,
    confirm,
    stop,
)
from weakspot.engine.budget import COUNTED
from weakspot.engine.findings import findings
from weakspot.store import Run, RunConfig, check_url, unjudged
from weakspot.studies.map.asking import Asking, Remembering, Remote
from weakspot.studies.map.landscape import Landscape
from weakspot.studies.map.parts import (
    LEARNED,
    NARROWED,
    SEARCHED,
    MapParts,
    MapSettings,
    check,
    load,
    recipes_of,
    settings_of,
)
from weakspot.studies.map.search.bandit import narrow
from weakspot.studies.map.search.problem import Log
from weakspot.studies.map.search.searches import DEFAULT, SEARCHES, search
from weakspot.study.executors import check_executor, executor_for
from weakspot.study.loading import name_of, pinned, tell_models

__all__ = ["MapSettings", "conduct", "go_on", "map", "settings_of"]

#: Inputs as they are, drawn first: at most so many, and at most this part of the budget.
BASELINE, BASELINE_SHARE = 400, 0.1
#: Inputs as they are without a single verdict before a run gives up.
SILENT: Final = 20
#: Modes and minimal sets that are confirmed.
CONFIRMED: Final = 5
#: Fresh draws of each of them, and of the baseline, at least.
FRESH: Final = 64
#: Inputs kept as evidence per cell and per finding: (failing, passing).
KEPT: Final = {Stage.EXPLORE: (1, 0), Stage.CONFIRM: (12, 4)}


def map(
    target: str | Target,
    *,
    images: str | Path = "",
    space: str | ConceptSpace = "image-125",
    search: str = "auto",
    judge: str | Judge = "discrepancy",
    source: Source | None = None,
    above: float | None = None,
    labels_file: str | Path | None = None,
    parts: Mapping[str, float] | None = None,
    budget: str = "images=10000",
    fdr: float = 0.05,
    seed: int = 0,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: Watch | None = None,
    executor: str | Executor | Cluster | None = None,
) -> Run:
    """Map where a model fails.

    Args:
        target: The model.
        images: The inputs: a folder of labelled pictures, an .npz, or world:N.
        space: The concept space: a name, a YAML file, or an object.
        search: How cells are chosen; "auto" takes what wins in the benchmark.
        judge: Says what a failure is: Δ > ε.
        source: Draws the cells in place of the task's own source.
        above: Cells with at least this rate belong to modes.
        labels_file: Names of labels by WordNet id.
        parts: Shares of the inputs for discovery, confirmation, repair, verification.
        budget: Limits; the number of images (queries) must be among them.
        fdr: Bound on the expected share of false findings.
        seed: The same seed gives the same run.
        out: The run's folder; a new one below runs/ by default.
        blobs: Where inputs are kept, as an address such as s3://bucket/folder; by default in that folder.
        watch: Who is told of the progress.
        executor: Where the queries are made: "local", or "ray:ADDRESS?OPTIONS" (docs/scale.md). It makes no
            difference to the run, so run.yaml does not name it.

    Returns:
        The finished run, open for reading; its ledger's fact "map" has the result.
    """
    concepts = load_space(space) if isinstance(space, str) else space
    settings = MapSettings(
        target=name_of(target),
        images=str(images),
        space=space if isinstance(space, str) else concepts.name,
        concepts=concepts.to_json(),
        search=search,
        judge=name_of(judge),
        above=above,
        labels_file=None if labels_file is None else str(labels_file),
        parts=dict(parts or {}),
        budget=budget,
        fdr=fdr,
        seed=seed,
    )
    check(settings)
    check_url(blobs)
    check_executor(executor)
    loaded = load(settings, target=target, source=source, judge=judge)
    drawn_by = loaded.source if hasattr(loaded.source, "generator") else loaded.target
    settings = pinned(settings, target=drawn_by)
    digests = dict(loaded.digests)
    with (
        _place(executor, settings, loaded) as place,
        Run.create(
            RunConfig(study="map", subject=concepts.name, settings=asdict(settings), digests=digests),
            folder=None if out is None else Path(out),
            blobs=blobs,
        ) as run,
    ):
        conduct(run, settings, loaded, watch, executor=place)
    return Run.read(run.folder)


def go_on(
    run: Run,
    *,
    budget: str | None = None,
    watch: Watch | None = None,
    executor: str | Executor | Cluster | None = None,
    **given: Any,
) -> None:
    """Go on with an interrupted run: the same steps over the recorded trials, then new ones.

    Args:
        run: Open for writing.
        budget: Other limits, with the same number of images.
        watch: Who is told of the progress.
        executor: Where the queries are made; it need not be where the run began.
        given: Objects in place of names: target, source, judge.
    """
    settings = settings_of(run, budget=budget)
    check_executor(executor)
    parts = load(settings, **given)
    for what, own in parts.digests.items():
        if run.config.digests.get(what, own) != own:
            raise WeakspotError(
                f"the {what} are not those this run began with (the digest differs)",
                fix="use the old ones, or begin a new run",
            )
    if run.state.startswith("stopped: broken"):
        run.ledger.forget_errors()
    with _place(executor, settings, parts) as place:
        conduct(run, settings, parts, watch, executor=place)


def _place(named: str | Executor | Cluster | None, settings: MapSettings, parts: MapParts) -> Any:
    many = bool(getattr(parts.source, "cpu_bound", False))
    here = {"source": parts.source, "target": parts.target, "judge": parts.judge}
    return executor_for(named, partial(recipes_of, settings, parts), many=many, here=here)


def conduct(
    run: Run,
    settings: MapSettings,
    parts: MapParts,
    watch: Watch | None = None,
    *,
    executor: Executor | Cluster | None = None,
) -> None:
    """The method: the baseline, the search, the landscape, its modes, their confirmation."""
    ledger, watch, space = run.ledger, watch or Watch(), settings.concept_space
    watch.began(str(run.folder))
    tell_models(watch, executor=executor, target=parts.target, source=parts.source, judge=parts.judge)
    ledger.set_fact("state", "running")
    ledger.set_fact("budget", settings.budget)
    ledger.set_fact("parts", dict(parts.counts))
    base, memory = space.outside(), Remembering(parts.judge)
    ledger.set_fact("base", base.id)
    memory.recall(run)
    limit: BudgetSpent | None = None
    with Engine(
        run,
        source=parts.source,
        target=parts.target,
        judge=memory,
        seed=settings.seed,
        budget=Budget.parse(settings.budget),
        watch=watch,
        executor=Remote(executor, memory) if isinstance(executor, Cluster) else executor,
        keep=KEPT,
    ) as engine:
        try:
            first = min(BASELINE, int(BASELINE_SHARE * settings.queries))
            usual = engine.test(base, until=stop.drawn(first), phase="baseline")
            if not usual.n:
                usual = engine.test(base, until=stop.drawn(max(first, SILENT)), phase="baseline")
            _judged(run, parts, usual.n, "the inputs as they are")
            problem = Asking(engine, space=space, memory=memory, inputs=parts.inputs)
            log = Log(problem, int(SEARCHED * settings.queries), told=lambda log: _tell(engine, problem, log))
            compared = look(log, settings, sees=str(getattr(parts.source, "sees", "")))
            if not log.n.any() and parts.after is not None and hasattr(parts.judge, "hold"):
                parts.after(run)  # stops where people's ratings are waited for
            _judged(run, parts, int(log.n.sum()), "the search's queries")
            landscape = Landscape(log, least=threshold(usual), above=settings.above)
            told = landscape.to_json(np.random.default_rng([settings.seed, 3]))
            note = _note(landscape, parts)
            ledger.set_fact(
                "map", told | {"search": _search_of(settings), "compared": compared, "note": note}
            )
            ledger.set_fact("landscape", landscape.whole())
            limit = _confirmed(engine, landscape, base, settings)
        except BudgetSpent as spent:
            limit = spent
        except Broken as broken:
            ledger.set_fact("state", f"stopped: broken: {broken.what}")
            raise
    if parts.after is not None:
        parts.after(run)
    ledger.set_fact("state", f"stopped: the {limit}" if limit else "finished")


def look(log: Log, settings: MapSettings, *, sees: str = "") -> dict[str, Any] | None:
    """Spend the search's queries: some for a learned agent, most for the worst, the last where doubt is.

    Args:
        log: With the budget of all of them.
        settings: Of the run.
        sees: What a policy sees of an input.

    Returns:
        How a learned agent did.
    """
    name, rng = _search_of(settings), np.random.default_rng([settings.seed, 1])
    whole, compared = log.budget, None
    if SEARCHES[name].learned:
        from weakspot.studies.map.search.rl import part

        log.budget = part(log, LEARNED, name)
        compared = search(name)(log, rng).to_json() | {"agent": name, "sees": sees}
        name, rng = DEFAULT, np.random.default_rng([settings.seed, 2])
    log.budget = whole if name == "exhaustive" else whole - int(NARROWED * whole)
    search(name)(log, rng)
    log.budget = whole
    narrow(log, np.random.default_rng([settings.seed, 4]))
    return compared


def _judged(run: Run, parts: MapParts, verdicts: int, what: str) -> None:
    """Stop a run that has nothing to tell: a rate needs a verdict.

    Raises:
        Broken: There is none.
    """
    if verdicts or hasattr(parts.judge, "hold"):  # people's ratings are waited for later
        return
    causes = unjudged(run)
    mended = f"weakspot resume {run.folder}" if all(c.status == "error" for c in causes) else "map again"
    raise Broken(
        f"not one answer to {what} could be judged; " + "; ".join(f"{c.times:,} × {c}" for c in causes[:3]),
        fix=f"look at what the model returns and mend the cause, then: {mended}",
    )


def threshold(usual: Tally) -> float:
    """What is not worth calling a mode: less than twice the usual rate, or not five points more."""
    rate = (usual.failures + 0.5) / (usual.n + 1)
    return min(max(2 * rate, rate + 0.05), 0.9)


def _confirmed(
    engine: Engine, landscape: Landscape, base: Hypothesis, settings: MapSettings
) -> BudgetSpent | None:
    """Test modes and minimal sets, as many as can be afforded, on inputs that the search never saw."""
    space = landscape.space
    modes = [mode.region for mode in landscape.modes[:CONFIRMED]]
    sets = [one.region for one in landscape.sets[:CONFIRMED] if one.region != space.whole]
    both = [region for pair in zip_longest(modes, sets) for region in pair if region is not None]
    named = {h.id: h for h in (space.hypothesis(region, origin="mode") for region in both)}
    named = dict(list(named.items())[: max(1, engine.spending.room() // FRESH - 1)])
    if not named:
        engine.run.ledger.set_findings([])
        return None
    usual = engine.tally(base).drawn + FRESH
    wanted = ConfirmSettings(fdr=settings.fdr, least=FRESH, most=4 * FRESH, baseline=usual)
    lanes, spent = confirm(engine, list(named.values()), against=base, settings=wanted)
    engine.run.ledger.set_findings(findings(engine, lanes))
    # The number of images is the run's design: what they did not settle is not confirmed, and that is that.
    return None if spent is not None and spent.what in COUNTED else spent


def _search_of(settings: MapSettings) -> str:
    return DEFAULT if settings.search == "auto" else settings.search


def _tell(engine: Engine, problem: Asking, log: Log) -> None:
    """Show the cells that fail most so far."""
    shrunk = (log.failures + 0.5) / (log.n + 2)
    worst = np.argsort(-np.where(log.n > 0, shrunk, -1.0), kind="stable")[:8]
    lanes = [Lane(h, engine.tally(h)) for h in (problem.hypothesis(int(c)) for c in worst if log.n[c])]
    engine.watch.update("search", lanes, engine.spending.amounts)


def _note(landscape: Landscape, parts: MapParts) -> str:
    """What is to be known of the result."""
    notes = []
    asked = int((landscape.log.n > 0).sum())
    if asked < landscape.space.size:
        notes.append(
            f"{asked:,} of {landscape.space.size:,} cells have answers; the rates of the others are inferred."
        )
    errors = int((landscape.log.asked - landscape.log.n).sum())
    if errors:
        notes.append(f"{errors:,} queries of the search gave no verdict and count nowhere.")
    if parts.counts:
        kept = ", ".join(f"{n:,} for {name}" for name, n in parts.counts.items())
        notes.append(f"Inputs, in parts that share none: {kept}.")
    return " ".join(notes)
