"""The engine draws trials: in batches, stages overlapped, each recorded once.

A study asks for trials (`draw`, `test`) and decides by what it sees. Every decision follows from the
trials alone, and a trial that the ledger already holds is read instead of drawn, so running a study
again over its own ledger repeats the same decisions at no cost. That is all there is to resuming.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, Self

from weakspot.core import (
    Case,
    Hypothesis,
    Judge,
    Source,
    Stage,
    Status,
    Tally,
    Target,
    Trial,
    Usage,
    WeakspotError,
)
from weakspot.core.ports import available
from weakspot.engine.executor import (
    Batch,
    Cluster,
    Executor,
    Judged,
    answer_batch,
    answer_there,
    call_each,
    draw_batch,
    draw_there,
    judge_batch,
    judge_there,
    local,
)
from weakspot.engine.stop import Budget, BudgetSpent, Spending, StopRule
from weakspot.engine.watch import Lane, Watch
from weakspot.store import Outcome, Run, count

#: So many errors in a row, and the run stops: something is broken that more calls will not mend.
PATIENCE: Final = 50
#: A stop rule is asked at least after so many draws. No multiple of the batch size: what is drawn must not
#: depend on how it is cut into batches.
STRIDE: Final = 1024
#: Inputs kept as evidence per hypothesis: (failing, passing).
KEPT: Final = {Stage.EXPLORE: (12, 4), Stage.CONFIRM: (24, 12)}


class Broken(WeakspotError):
    """Every recent trial ended in an error."""


class Want(NamedTuple):
    """A request: the first `n` trials of a hypothesis' stage shall exist.

    Attributes:
        placed: (index, input): which input a draw shows, where its source is `Placing` and somebody chose it.
    """

    hypothesis: Hypothesis
    n: int
    stage: Stage = Stage.EXPLORE
    placed: tuple[tuple[int, int], ...] = ()


class Engine:
    """Draws trials for one run.

    Args:
        budget: Limits; when one is reached, `BudgetSpent` is raised and nothing is lost.
        batch: Cases per call of the ports.
        keep: Inputs kept as evidence per hypothesis and stage: (failing, passing).
        patience: So many errors in a row end the run; None for a target that cannot be mended anyway.
    """

    def __init__(
        self,
        run: Run,
        *,
        source: Source,
        target: Target,
        judge: Judge,
        seed: int,
        budget: Budget | None = None,
        batch: int = 64,
        executor: Executor | Cluster | None = None,
        watch: Watch | None = None,
        keep: Mapping[Stage, tuple[int, int]] = KEPT,
        patience: int | None = PATIENCE,
    ) -> None:
        self.run, self.keep, self.patience = run, keep, patience
        self.source, self.target, self.judge = source, target, judge
        self.seed, self.batch = seed, batch
        self.spending = Spending(budget or Budget())
        self.watch = watch or Watch()
        self._executor: Executor | Cluster = executor or local(source)
        self._asked: dict[str, Hypothesis] = {}
        self._tallies: dict[tuple[str, Stage], Tally] = {}
        self._wrong: dict[tuple[str, Stage], Counter[str]] = {}  # what was said instead, among the failures
        self._doubted: dict[tuple[str, Stage], Counter[str]] = {}  # the same of invalid cases
        # Words that a source cannot draw are that hypothesis' trouble, not a broken target.
        self._errors_in_a_row, self._ever_answered = 0, False
        self._clock = time.monotonic()

    def close(self) -> None:
        """End the executor's threads; the run stays open."""
        self._executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def asked(self) -> tuple[Hypothesis, ...]:
        """The hypotheses of which trials were asked for, in the order in which they first were."""
        return tuple(self._asked.values())

    def tally(self, hypothesis: Hypothesis, stage: Stage = Stage.EXPLORE, *, answer: str = "") -> Tally:
        """What this engine has seen of a hypothesis: drawn or read, in the order it was asked for.

        If an `answer` is given, only failures with this answer count as failures.
        """
        seen = self._tallies.get((hypothesis.id, stage), Tally())
        if not answer:
            return seen
        doubted = self._doubted.get((hypothesis.id, stage), Counter())[answer]
        return seen._replace(failures=self.wrong_answers(hypothesis, stage)[answer], doubted=doubted)

    def wrong_answers(self, hypothesis: Hypothesis, stage: Stage = Stage.EXPLORE) -> Counter[str]:
        """What was said instead, with how often, among the failures that this engine has seen."""
        return self._wrong.get((hypothesis.id, stage), Counter())

    def reach(self, hypothesis: Hypothesis, stage: Stage = Stage.EXPLORE) -> int:
        """How many trials a hypothesis can have in a stage: a folder of pictures ends, a renderer never."""
        return available(self.source, hypothesis, seed=self.seed, stage=stage)

    def test(
        self, hypothesis: Hypothesis, *, until: StopRule, stage: Stage = Stage.EXPLORE, phase: str = "test"
    ) -> Tally:
        """Draw one hypothesis until a rule is met, or its source has no more."""
        most = self.reach(hypothesis, stage)
        while not until.met(tally := self.tally(hypothesis, stage), self.spending) and tally.drawn < most:
            step = min(STRIDE, until.room(tally, self.spending))
            self.draw([Want(hypothesis, tally.drawn + max(step, 1), stage)])
            self.watch.update(phase, [Lane(hypothesis, self.tally(hypothesis, stage))], self.spending.amounts)
        return tally

    def draw(self, wants: Sequence[Want], *, phase: str = "") -> None:
        """Make the wanted trials exist, reading those the ledger holds and drawing the rest.

        If a `phase` is given, the watch is told after every batch.

        Raises:
            BudgetSpent: A limit was reached; what could be drawn was.
            Broken: As many errors in a row as its patience.
        """
        self.run.ledger.add_hypotheses(w.hypothesis for w in wants)
        for want in wants:
            self._asked.setdefault(want.hypothesis.id, want.hypothesis)
        batches, cut = self._plan(wants)
        spent: BudgetSpent | None = None
        fresh: list[Batch] = []
        for batch in batches:
            known = self.run.ledger.outcomes(batch.hypothesis, batch.start, batch.stop)
            try:
                self._account(batch, known)
            except BudgetSpent as limit:  # as below: what was under way then is in the ledger, and counts
                spent = limit
            if len(known) < batch.stop - batch.start:
                held = self.run.ledger.indices(batch.hypothesis, batch.start, batch.stop)
                missing = tuple(i for i in batch.indices if i not in held)
                fresh.append(batch._replace(only=missing) if held else batch)
        work, wanted = iter(() if spent else fresh), dict.fromkeys((w.hypothesis, w.stage) for w in wants)
        for judged in self._judged(work):
            try:
                self._record(judged)
            except BudgetSpent as limit:
                spent = limit
                for _ in work:  # nothing new is begun; what is under way is paid for and recorded
                    pass
            if phase:
                lanes = [Lane(hypothesis, self.tally(hypothesis, stage)) for hypothesis, stage in wanted]
                self.watch.update(phase, lanes, self.spending.amounts)
        if cut and not spent:
            spent = BudgetSpent(*cut)
        if spent:
            raise spent

    def redraw(
        self, hypothesis: Hypothesis, indices: Sequence[int], *, held: Container[int] = ()
    ) -> dict[int, Case]:
        """Cases that were drawn before, once more: for somebody who must look at what was not kept.

        Those `held` need not be drawn, because this was done before the run was resumed. They count as spent
        all the same, so that a replay decides alike. All or none are spent, as the budget allows.

        Returns:
            By index; without those that could not be drawn.
        """
        if len(indices) > self.spending.room():
            return {}
        self.spending.again(len(indices))
        needed = [i for i in indices if i not in held]
        drawn = call_each(partial(self.source.draw, hypothesis, seed=self.seed), needed, "source", Case)
        self.run.ledger.record([], {"images": len(needed)})
        return {i: case for i, (case, _) in zip(needed, drawn, strict=True) if case is not None}

    def draw_at(self, hypothesis: Hypothesis, indices: Sequence[int]) -> list[Trial]:
        """The trials at any indices, recorded or new; the limits of the budget are the caller's to check."""
        ledger = self.run.ledger
        ledger.add_hypotheses([hypothesis])
        held = {trial.index: trial for trial in ledger.trials(hypothesis)}
        whole = Batch(hypothesis, Stage.CONFIRM, 0, 0)
        with suppress(BudgetSpent):
            self._account(whole, [held[i] for i in indices if i in held])
        new = [i for i in indices if i not in held]
        some = [tuple(new[at : at + self.batch]) for at in range(0, len(new), self.batch)]
        for judged in self._judged(whole._replace(only=only) for only in some):
            with suppress(BudgetSpent):
                self._record(judged)
        held = {trial.index: trial for trial in ledger.trials(hypothesis)}
        return [held[i] for i in indices]

    def missing(self, wants: Sequence[Want]) -> int:
        """How many trials `draw` would add to what was seen."""
        return sum(
            max(min(w.n, self.reach(w.hypothesis, w.stage)) - self.tally(w.hypothesis, w.stage).drawn, 0)
            for w in wants
        )

    def _plan(self, wants: Sequence[Want]) -> tuple[list[Batch], tuple[str, float] | None]:
        """The batches, cut to what the budget has room for; and the limit that cut them, if one did."""
        room = self.spending.room()
        batches: list[Batch] = []
        planned: dict[tuple[str, Stage], int] = {}  # the same words may be wanted twice
        for want in wants:
            key = (want.hypothesis.id, want.stage)
            at = planned.get(key, self.tally(want.hypothesis, want.stage).drawn)
            end = min(want.n, self.reach(want.hypothesis, want.stage)) if at < want.n else at
            planned[key] = max(at, end)
            while at < end:
                size = min(self.batch, end - at, room)
                if size <= 0:
                    return batches, self.spending.tightest()
                start = want.stage.start + at
                placed = tuple(pair for pair in want.placed if start <= pair[0] < start + size)
                batches.append(Batch(want.hypothesis, want.stage, start, start + size, placed))
                at, room = at + size, room - size
        return batches, None

    def _judged(self, work: Iterator[Batch]) -> Iterator[Judged]:
        """The batches, drawn, answered and judged, in their order."""
        if isinstance(self._executor, Cluster):
            # How many inputs to keep is known when a batch is recorded; when it is begun, at most how many.
            begun = ((batch, self._kept(batch)) for batch in work)
            stages = (partial(draw_there, self.seed), answer_there, judge_there)
            yield from self._executor.through(begun, stages)
            return
        draw, answer = partial(draw_batch, self.source, self.seed), partial(answer_batch, self.target)
        for answered in self._executor.stream(work, draw, answer):
            yield judge_batch(self.judge, self._kept(answered.batch), answered)

    def _record(self, judged: Judged) -> None:
        batch, inputs = judged.batch, judged.inputs
        now = time.monotonic()
        seconds, self._clock = (now - self._clock) / len(judged.trials), now
        trials, kept = [], self._kept(batch)
        for position, trial in enumerate(judged.trials):
            blob = None
            if trial.failed is not None and position in inputs and kept[trial.failed] > 0:
                kept[trial.failed] -= 1
                blob = self.run.blobs.put(inputs[position])
            trials.append(replace(trial, blob=blob, usage=trial.usage._replace(seconds=seconds)))
        self.run.ledger.record(trials, self._costs(trials))
        self._account(batch, trials)

    def _costs(self, trials: Sequence[Trial]) -> dict[str, float]:
        """What the ledger books for new trials, by kind; the budget is `_account`'s."""
        n, usage = float(len(trials)), zip(*(trial.usage for trial in trials), strict=True)
        return {"images": n, "calls": n} | dict(zip(Usage._fields, map(sum, usage), strict=True))

    def _kept(self, batch: Batch) -> dict[bool, int]:
        """How many more failing and passing inputs of a hypothesis to keep."""
        tally = self.tally(batch.hypothesis, batch.stage)
        failing, passing = self.keep[batch.stage]
        return {True: failing - tally.failures, False: passing - (tally.n - tally.failures)}

    def _account(self, batch: Batch, outcomes: Sequence[Outcome | Trial]) -> None:
        tally = self.tally(batch.hypothesis, batch.stage)
        wrong, doubted = (
            some.setdefault((batch.hypothesis.id, batch.stage), Counter())
            for some in (self._wrong, self._doubted)
        )
        for outcome in outcomes:
            counted = count(outcome.failed, outcome.status)
            tally = tally.plus(counted)
            if counted.failures and outcome.answer is not None:
                wrong[outcome.answer] += 1
            if counted.doubted and outcome.answer is not None:
                doubted[outcome.answer] += 1
            self.spending.add(outcome.usage)
            if outcome.status is not Status.ERROR:
                self._errors_in_a_row, self._ever_answered = 0, True
            elif not (self._ever_answered and outcome.detail.startswith("source:")):
                self._errors_in_a_row += 1
        self._tallies[(batch.hypothesis.id, batch.stage)] = tally
        if self.patience is not None and self._errors_in_a_row >= self.patience and outcomes:
            raise Broken(
                f"the last {self._errors_in_a_row} trials all ended in an error: {outcomes[-1].detail[:300]}",
                fix=f"remove the cause, then: weakspot resume {self.run.folder}",
            )
        self.spending.check()
