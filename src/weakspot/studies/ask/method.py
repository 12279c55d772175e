"""ask: oversensitivity of chat models (after MOSSBench: Li et al., 2024).

Items of a benchmark, benign ones and where wanted their harmful counterparts, are put to a model as they are,
or under system prompts. A judge says which answers refuse. The share of benign questions refused is the
oversensitivity; the share of harmful ones refused says what it buys. Refused questions can be asked again
with more and more help, which says whether the model misjudged the picture, the intent, or the risk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from weakspot.core import Case, Judge, Status, Target, Verdict, WeakspotError
from weakspot.engine import Broken, Budget, BudgetSpent, Engine, Lane, Want, Watch
from weakspot.engine.budget import COUNTED
from weakspot.engine.engine import PATIENCE
from weakspot.sources.benchmark import Benchmark
from weakspot.sources.question import BENIGN
from weakspot.store import Run, RunConfig, check_url, count
from weakspot.studies.ask import scenarios
from weakspot.studies.ask.arms import DESCRIBE, PLAIN, STAGES, Arm, Questions, arm_of, plan
from weakspot.studies.ask.reading import analysis, described
from weakspot.studies.ask.settings import (
    BUDGET,
    AskSettings,
    Parts,
    before,
    check,
    digests_of,
    load,
    plain,
    priced,
    subject_of,
)
from weakspot.studies.ask.verdicts import Refusals, models_behind, together
from weakspot.study.loading import name_of, pinned, tell_models

#: Questions of a set before the other set's turn, so that a budget that ends early cuts both.
_TURN: Final = 64
#: Cases per call of the target, where it does not say.
_BATCH: Final = 64


def ask(
    target: str | Target,
    *,
    benchmark: str | Benchmark,
    judge: str | Judge = "embedded",
    contrast: bool = False,
    system: str | Sequence[str] = (PLAIN,),
    stages: bool = False,
    repeats: int = 1,
    limit: int | None = None,
    budget: str = BUDGET,
    seed: int = 0,
    fdr: float = 0.05,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: Watch | None = None,
) -> Run:
    """Ask a chat model the questions of a benchmark and see which it refuses.

    Names and objects are both welcome; a run made with objects can be resumed only from Python.

    Args:
        target: The model, or a recording of its answers.
        benchmark: Where the questions come from.
        judge: Says which answers refuse.
        contrast: Ask the harmful counterparts too.
        system: One or several system prompts: none, helpful, scrutiny, safety or a text file.
        stages: Ask refused questions again with help, and say why they were refused.
        repeats: How often each question is asked.
        limit: At most so many benign questions, spread over the benchmark.
        budget: Limits.
        seed: Of the run.
        fdr: Bound on the false-discovery rate among slices.
        out: The run's folder; a new one below runs/ by default.
        blobs: Where inputs are kept, as an address such as s3://bucket/folder; by default in that folder.
        watch: Who is told of the progress.

    Returns:
        The finished run, open for reading; its figures are `run.ledger.fact("analysis")`.
    """
    settings = AskSettings(
        target=name_of(target),
        benchmark=name_of(benchmark),
        judge=name_of(judge),
        contrast=contrast,
        system=(system,) if isinstance(system, str) else tuple(system),
        stages=stages,
        repeats=repeats,
        limit=limit,
        budget=budget,
        seed=seed,
        fdr=fdr,
    )
    systems = check(settings)
    check_url(blobs)
    parts = load(settings, target=target, benchmark=benchmark, judge=judge)
    before(settings, parts, systems)
    settings = pinned(settings, target=parts.target)
    config = RunConfig(
        study="ask",
        subject=subject_of(settings, parts),
        settings={k: plain(getattr(settings, k)) for k in settings.__slots__},
        digests=digests_of(parts),
    )
    with Run.create(config, folder=None if out is None else Path(out), blobs=blobs) as run:
        run.ledger.set_fact("systems", systems)
        conduct(run, settings, parts, systems, watch)
    return Run.read(run.folder)


def go_on(
    run: Run,
    *,
    target: Target | None = None,
    source: Any = None,
    judge: Judge | None = None,
    llm: Any = None,
    budget: str | None = None,
    watch: Watch | None = None,
) -> None:
    """Go on with an interrupted run: what was answered is not asked again; what ended in an error is.

    Args:
        run: Open for writing.
        target: In place of its name, as all that follows.
        source: The benchmark; of a run over scenarios, what draws the scenes.
        judge: Says which answers refuse.
        llm: Writes the scenarios of such a run.
        budget: A new one.
        watch: Who is told of the progress.
    """
    if "scenarios" in run.config.settings:
        scenarios.go_on(run, target=target, source=source, judge=judge, llm=llm, budget=budget, watch=watch)
        return
    settings = settings_of(run, budget=budget)
    # The texts as they were: a file of a system prompt may have changed since.
    systems = run.ledger.fact("systems") or check(settings)
    parts = load(settings, target=target, benchmark=source, judge=judge)
    for what, digest in digests_of(parts).items():
        if run.config.digests.get(what, digest) != digest:
            raise WeakspotError(
                f"the {what} is not the one this run began with (its digest differs)",
                fix="use the old one, or begin a new run",
            )
    priced(settings.budget, parts.target, *models_behind(parts.judge))
    run.ledger.forget_errors(gaps=True)
    conduct(run, settings, parts, systems, watch)


def settings_of(run: Run, *, budget: str | None = None) -> AskSettings:
    """The settings of a run as its run.yaml has them, with the budget it was last given."""
    if "scenarios" in run.config.settings:
        found = scenarios.settings_of(run, budget=budget)
        return AskSettings(
            target=found.target, benchmark="", judge=found.judge, budget=found.budget, seed=found.seed
        )
    known = {field.name for field in fields(AskSettings)}
    given = dict(run.config.settings)
    wrong = [*(set(given) - known), *({"target", "benchmark"} - set(given))]
    if wrong or not isinstance(given.get("system", []), list):
        raise WeakspotError(
            f"the settings in {run.folder / 'run.yaml'} do not fit ask: {(wrong or ['system'])[0][:80]!r}",
            fix="restore the file from a copy",
        )
    given["system"] = tuple(given.get("system", [PLAIN]))
    latest = budget if budget is not None else run.ledger.fact("budget")
    settings = AskSettings(**(given | ({} if latest is None else {"budget": latest})))
    Budget.parse(settings.budget)
    return settings


def conduct(
    run: Run,
    settings: AskSettings,
    parts: Parts,
    systems: Mapping[str, str],
    watch: Watch | None = None,
) -> None:
    """The method: items, answers, verdicts, analysis."""
    watch, ledger = watch or Watch(), run.ledger
    watch.began(str(run.folder))
    tell_models(watch, target=parts.target, judge=parts.judge)
    ledger.set_fact("state", "running")
    ledger.set_fact("budget", settings.budget)
    ledger.set_fact("items", described(parts.benchmark))
    questions = Questions(parts.benchmark, systems)
    arms = plan(parts.benchmark, contrast=settings.contrast, systems=list(systems), repeats=settings.repeats)
    judge, budget = Refusals(parts.judge), Budget.parse(settings.budget)
    # What tokens and dollars are spent is known afterwards only.
    target, executor = together(parts.target, judge, exact=any(k not in COUNTED for k, _ in budget.limits))
    with Engine(
        run,
        source=questions,
        target=target,
        judge=judge,
        seed=settings.seed,
        budget=budget,
        batch=1 if executor else getattr(parts.target, "batch", _BATCH),
        executor=executor,
        watch=watch,
        # A recording is what it is: no patience is needed with it, and none runs out.
        patience=getattr(parts.target, "patience", PATIENCE),
    ) as engine:
        for kind, amount in _forgotten(run).items():
            engine.spending.amounts[kind] += amount
        judge.told = _telling(engine, arms, watch)
        limit: BudgetSpent | None = None
        try:
            put(engine, questions, arms)
            if settings.stages:
                put(engine, questions, helped(run, parts.benchmark, arms[0]))
        except BudgetSpent as spent:
            limit = spent
        except Broken as broken:
            ledger.set_fact("analysis", analysis(run, settings, parts))
            ledger.set_fact("state", f"stopped: broken: {broken.what}")
            raise
    changed = ledger.fact("images", {}) | {
        f"{s} {i}": note for (s, i), note in parts.benchmark.changed.items()
    }
    ledger.set_fact("images", changed)
    ledger.set_fact("analysis", analysis(run, settings, parts))
    ledger.set_fact("state", f"stopped: the {limit}" if limit else "finished")


def _forgotten(run: Run) -> dict[str, float]:
    """What calls cost whose trials were removed so that they are made again: a budget holds for them too."""
    held: Counter[str] = Counter()
    for hypothesis in run.ledger.hypotheses():
        for outcome in run.ledger.outcomes(hypothesis, 0, 1 << 33):
            held.update(images=1, calls=1, **outcome.usage._asdict())
    return {kind: amount - held[kind] for kind, amount in run.ledger.spend().items() if amount > held[kind]}


def put(engine: Engine, questions: Questions, arms: Sequence[Arm]) -> None:
    """Ask what the arms want, in turns, so that a budget which ends early cuts all of them alike."""
    for arm in arms:
        questions.add(arm)
        engine.run.ledger.set_fact(f"items {arm.hypothesis.id}", [item.id for item in arm.items])
    engine.draw(list(_turns(arms, engine.batch)))


def _turns(arms: Sequence[Arm], batch: int) -> Iterator[Want]:
    longest = max((arm.n for arm in arms), default=0)
    turns = -(-longest // max(_TURN, batch))
    for turn in range(1, turns + 1):
        for arm in arms:
            yield Want(arm.hypothesis, arm.n * turn // turns)


def helped(run: Run, benchmark: Benchmark, plain: Arm) -> list[Arm]:
    """The arms of the stage analysis: the benign questions that the first arm refused, asked with help.

    Their order is kept in the ledger, so that a resumed run goes on with the same ones.
    """
    known: list[str] = run.ledger.fact("refused", [])
    trials = run.ledger.trials(plain.hypothesis)[: len(plain.items)]
    refused = [plain.items[t.index].id for t in trials if t.status is Status.REFUSED]
    order = [*known, *(key for key in refused if key not in known)]
    run.ledger.set_fact("refused", order)
    items = {item.id: item for item in plain.items}
    asked = [items[key] for key in order if key in items]
    with_image = [item for item in asked if item.image is not None or item.missing]
    return [
        arm_of(benchmark.name, chosen, which=BENIGN, system=plain.system, stage=stage)
        for stage in STAGES
        if (chosen := with_image if stage == DESCRIBE else asked)
    ]


def _telling(engine: Engine, arms: Sequence[Arm], watch: Watch) -> Any:
    def told(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> None:
        # The engine counts them right after this.
        hypotheses = {arm.hypothesis.id: arm.hypothesis for arm in arms}
        hypotheses |= {case.hypothesis.id: case.hypothesis for case in cases}
        tallies = {key: engine.tally(hypothesis) for key, hypothesis in hypotheses.items()}
        for case, verdict in zip(cases, verdicts, strict=True):
            key = case.hypothesis.id
            tallies[key] = tallies[key].plus(count(verdict.failed, verdict.status))
        spent = dict(engine.spending.amounts)
        spent["calls"] += len(cases)
        watch.update("asking", [Lane(hypotheses[key], tally) for key, tally in tallies.items()], spent)

    return told
