"""A run from its beginning to its end, and again after an interruption: the same for every study.

There is no checkpoint. A method is written as if nothing could interrupt it; run again over its own ledger it
makes the same decisions, and the engine reads what was drawn instead of drawing it. So resuming is: the same
settings, the same parts (by their digests), the same method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from weakspot.core import Judge, Source, Target, WeakspotError, nearest
from weakspot.core.ports import Waiting, cpu_bound
from weakspot.engine import Broken, Budget, BudgetSpent, Cluster, Engine, Executor, Watch
from weakspot.store import Ledger, LedgerError, Run, RunConfig, check_url
from weakspot.study.loading import pinned, tell_models
from weakspot.study.options import StudySettings
from weakspot.study.study import Result, Study, find_study

S = TypeVar("S")
P = TypeVar("P")

#: How the state of a run begins that went wrong, and of one whose judge waits for people.
BROKEN: Final = "stopped: broken"
WAITING: Final = "stopped: people are needed"
#: States in which trials without a verdict are no result: they are drawn again.
UNDONE: Final = (BROKEN, WAITING)


@dataclass
class Context(Generic[S, P]):
    """One run, as its method sees it.

    Attributes:
        executor: Where the trials are drawn; None is this machine.
        ended: Why the run ended before it was done; "" if it did not.
        broken: What broke the target while the method was going as far as it could.
        forgotten: What trials cost that were forgotten so that they are drawn again: a budget holds for them.
    """

    run: Run
    settings: S
    parts: P
    watch: Watch = field(default_factory=Watch)
    executor: Executor | Cluster | None = None
    ended: str = ""
    broken: Broken | None = None
    forgotten: Mapping[str, float] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        return self.run.ledger

    def engine(
        self,
        *,
        source: Source,
        target: Target,
        judge: Judge,
        executor: Executor | Cluster | None = None,
        kind: Callable[..., Engine] = Engine,
        **options: Any,
    ) -> Engine:
        """Draws the run's trials, within its budget.

        Args:
            executor: In place of the run's own.
            kind: What makes it: a class of the study's own.
            options: As `Engine` has them: `keep`, `batch`, `patience`.
        """
        settings: Any = self.settings
        engine = kind(
            self.run,
            source=source,
            target=target,
            judge=judge,
            seed=settings.seed,
            budget=Budget.parse(settings.budget),
            executor=executor or self.executor,
            watch=self.watch,
            **options,
        )
        for what in engine.spending.amounts:
            engine.spending.amounts[what] += self.forgotten.get(what, 0.0)
        return engine

    @contextmanager
    def within_budget(self) -> Iterator[None]:
        """What stands inside ends when the budget is spent; what follows is done all the same."""
        try:
            yield
        except BudgetSpent as spent:
            self.end(f"the {spent}")

    @contextmanager
    def as_far_as_it_goes(self) -> Iterator[None]:
        """As `within_budget`, also where the target breaks, which the frame tells when the method is done."""
        try:
            with self.within_budget():
                yield
        except Broken as broken:
            self.broken = broken

    def end(self, reason: str) -> None:
        """Say why the run ends before it is done; the first reason counts."""
        self.ended = self.ended or reason

    def random(self, *purpose: int) -> np.random.Generator:
        """Random numbers for one purpose; they follow from the seed alone."""
        settings: Any = self.settings
        return np.random.default_rng([settings.seed, *purpose])

    def publish(self, result: Result) -> None:
        """Let readers of the run see what is known so far."""
        result.keep(self.run)

    def note(self, key: str, value: Any) -> None:
        """Keep a plain value that the method needs again if the run is resumed; nobody else reads it."""
        self.ledger.set_fact(f"note {key}", value)

    def noted(self, key: str, default: Any = None) -> Any:
        return self.ledger.fact(f"note {key}", default)


@runtime_checkable
class Closable(Protocol):
    """Parts that hold something open."""

    def close(self) -> None:
        """Let go of it."""


@runtime_checkable
class Choosing(Protocol):
    """Parts that chose what nobody named, such as the captioner that belongs to a generator."""

    @property
    def chosen(self) -> Mapping[str, str]:
        """By setting, the name that run.yaml keeps."""


def begin(
    study: Study,
    values: Mapping[str, Any],
    *,
    out: str | Path | None = None,
    blobs: str | None = None,
    watch: Watch | None = None,
    executor: str | Executor | Cluster | None = None,
) -> Run:
    """Run a study from its beginning.

    Args:
        values: Its options by name; objects are welcome where something can be named.
        out: The run's folder; a new one below runs/ by default.
        blobs: Where inputs are kept, as an address such as s3://bucket/folder; by default in that folder.
        executor: Where the trials are drawn: "local", or "ray:ADDRESS?OPTIONS". It makes no difference to the
            run, so run.yaml does not name it.

    Returns:
        The run, open for reading.
    """
    settings, objects = study.separate(values)
    check_url(blobs)
    study.check_executor(executor)
    check_executor(executor)
    settings = study.resolved(settings, objects)
    with _loaded(study, settings, objects) as parts:
        if isinstance(parts, Choosing):
            settings = settings.changed(**parts.chosen)
        settings, subject = pinned(settings, **study.named_parts(parts)), study.find("subject")
        config = RunConfig(
            study=study.name,
            subject=study.name if subject is None else str(subject(settings, parts)),
            settings=settings.plain(),
            digests=study.digests(parts),
        )
        folder = None if out is None else Path(out)
        with (
            _place(study, executor, settings, parts, objects) as place,
            Run.create(config, folder=folder, blobs=blobs) as run,
        ):
            _carry_out(study, Context(run, settings, parts, watch or Watch(), place))
    return Run.read(run.folder)


def preview(study: Study, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a run would do and cost: its parts are loaded, nothing is sent, nothing is written."""
    settings, objects = study.separate(values)
    settings = study.resolved(settings, objects)
    with _loaded(study, settings, objects) as parts:
        found: dict[str, Any] = study.find("preview")(settings, parts)
        return found


def resume(
    folder: str | Path,
    *,
    budget: str | None = None,
    watch: Watch | None = None,
    executor: str | Executor | Cluster | None = None,
    **objects: Any,
) -> Run:
    """Go on with an interrupted run of any study: the same decisions over its recorded trials, then new ones.

    Args:
        folder: The run's.
        budget: A larger one, where the old one is spent.
        watch: Who is told of the progress.
        executor: Where the trials are drawn; it need not be where the run began.
        objects: Objects for parts that have no name (target, source, judge, …).

    Returns:
        The run, open for reading.
    """
    with Run.open(Path(folder)) as run:
        study = find_study(run.config.study)
        study.check_executor(executor)
        check_executor(executor)
        if run.state != "finished":
            settings: StudySettings = settings_of(run, budget=budget)
            if budget is not None:
                check_budget(run, settings)
            if unknown := set(objects) - set(study.fields):
                name = min(unknown)
                fix = nearest(name, study.fields) or "give objects by the names of options: target=…, judge=…"
                raise WeakspotError(f"{study.name} has no option {name[:80]!r}", fix=fix)
            with _loaded(study, settings, objects) as parts:
                check_digests(study, run, parts)
                forgotten: dict[str, float] = {}
                if study.retries == "all":
                    run.ledger.forget_errors(gaps=True)
                    forgotten = _forgotten(run)
                elif run.state.startswith(UNDONE):
                    run.ledger.forget_errors()
                with _place(study, executor, settings, parts, objects) as place:
                    context = Context(run, settings, parts, watch or Watch(), place, forgotten=forgotten)
                    _carry_out(study, context)
    return Run.read(Path(folder))


def settings_of(run: Run, *, budget: str | None = None) -> Any:
    """What a run was asked to do, checked; with another budget, if one is given."""
    study = find_study(run.config.study)
    begun = study.options.read(run.config.settings, where=str(run.folder / "run.yaml"))
    if "budget" not in study.fields:
        if budget is not None:
            raise WeakspotError(f"{study.name} has no budget", fix="leave the budget out")
        return begun
    latest = budget if budget is not None else run.ledger.fact("budget")
    return begun if latest is None else begun.resumed(str(latest))


def check_budget(run: Run, settings: Any) -> None:
    """Refuse a budget below what the run has spent already: nothing could be added to it."""
    spent = run.ledger.spend()
    for kind, limit in Budget.parse(settings.budget).limits:
        if kind != "seconds" and limit < (there := spent.get(kind, 0.0)):
            raise WeakspotError(
                f"a budget of {limit:,.10g} {kind} is less than the {there:,.10g} that this run has spent",
                fix=f"give more, e.g. --budget {kind}={2 * there:.10g}",
            )


def check_digests(study: Study, run: Run, parts: Any) -> None:
    """Refuse parts that are not those the run was made with."""
    for what, digest in study.digests(parts).items():
        if run.config.digests.get(what, digest) != digest:
            raise WeakspotError(
                f"the {what} is not the one this run began with (its digest differs)",
                fix="use the old one, or begin a new run",
            )


def _forgotten(run: Run) -> dict[str, float]:
    """What was spent on trials that the ledger does not hold any more."""
    held = Counter[str]()
    for hypothesis in run.ledger.hypotheses():
        for outcome in run.ledger.outcomes(hypothesis, 0, 1 << 33):
            held.update(images=1, calls=1, **outcome.usage._asdict())
    return {kind: amount - held[kind] for kind, amount in run.ledger.spend().items() if amount > held[kind]}


@contextmanager
def _loaded(study: Study, settings: StudySettings, objects: Mapping[str, Any]) -> Iterator[Any]:
    """What the settings name; parts that can be closed are closed in the end."""
    parts = study.find("parts")(settings, **objects)
    try:
        yield parts
    finally:
        if isinstance(parts, Closable):
            parts.close()


def _carry_out(study: Study, context: Context[Any, Any]) -> None:
    """The method, and what became of it."""
    ledger, watch = context.ledger, context.watch
    watch.began(str(context.run.folder))
    tell_models(watch, executor=context.executor, **study.named_parts(context.parts))
    ledger.set_fact("state", "running")
    if "budget" in study.fields:
        ledger.set_fact("budget", context.settings.budget)
    try:
        result = study.find("method")(context)
        if result is not None:
            context.publish(result)
        if context.broken is not None:
            raise context.broken
    except BudgetSpent as spent:
        context.end(f"the {spent}")
    except LedgerError:  # nothing more can be written: the run is as it was
        raise
    except WeakspotError as broken:
        waits = _waits_for_people(study, context.parts)
        if waits is not None and (isinstance(broken, Broken) or broken.what == waits.what):
            ledger.set_fact("state", f"{WAITING}: {waits.what}")
            raise waits from None
        ledger.set_fact("state", f"{BROKEN}: {broken.what}")
        raise
    ledger.set_fact("state", f"stopped: {context.ended}" if context.ended else "finished")


def _waits_for_people(study: Study, parts: Any) -> WeakspotError | None:
    """What people still have to do for a run's judge; None where there is nothing."""
    for part in study.named_parts(parts).values():
        if isinstance(part, Waiting):
            try:
                part.hold()
            except WeakspotError as waits:
                return waits
    return None


@contextmanager
def _place(
    study: Study,
    named: str | Executor | Cluster | None,
    settings: StudySettings,
    parts: Any,
    objects: Mapping[str, Any],
) -> Iterator[Executor | Cluster | None]:
    """Where the trials are drawn, closed in the end; None is this machine, as suits the source.

    What has a name is loaded by each worker itself, an object is sent to it; workers with other models than
    those of this machine are refused.
    """
    workers = study.find("workers")
    if not study.spreads or not isinstance(named, str) or named == "local":
        yield None if not study.spreads or isinstance(named, str) else named
        return
    from weakspot.engine.ray import RayExecutor
    from weakspot.engine.ray_data import RayDataExecutor
    from weakspot.engine.ray_settings import RaySettings

    if study.pieces:
        with RayDataExecutor(RaySettings.parse(named)) as spread:
            yield spread
        return

    recipes = workers(settings, parts, objects)
    here = {"source": parts.source, "target": parts.target, "judge": parts.verdicts}
    with RayExecutor(RaySettings.parse(named), recipes, many=cpu_bound(parts.source), here=here) as executor:
        yield executor


def check_executor(named: str | Executor | Cluster | None) -> None:
    """Refuse a name of an executor that cannot be read, before anything is loaded."""
    if not isinstance(named, str) or named == "local":
        return
    from weakspot.engine.ray_settings import RaySettings

    if not named.strip():
        raise WeakspotError("the executor has no name", fix="choose local or ray")
    RaySettings.parse(named)


def unnamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The objects among what was given, by what they are; None for what has a name."""
    return {what: None if isinstance(thing, str) else thing for what, thing in given.items()}
