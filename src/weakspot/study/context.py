"""What a study's method is given: its settings and parts, an engine, the ledger, and who is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from weakspot.core import Judge, Source, Target
from weakspot.engine import Broken, Budget, BudgetSpent, Cluster, Engine, Executor, Watch
from weakspot.store import Ledger, Run
from weakspot.study.study import Result

S = TypeVar("S")
P = TypeVar("P")


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
        for what, amount in self.forgotten.items():
            engine.spending.amounts[what] += amount
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
