"""What a run of `ask` spends: every request counts when it is sent, whoever sends it and however it ends.

A question is more than one request: it may be tried again, another model may judge the answer, and a third
writes scenarios. Each of these models asks the purse before it sends, and is told no once the budget is gone.
So a limit on calls is kept to the call, and one on tokens or dollars to the requests that are under way.

How many were sent is also written to a file in the run's folder, at once. After a kill it tells of how many
requests the ledger never heard: they count as calls, and what they cost stays unknown.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from weakspot.core import Status, Trial
from weakspot.core.question import NOT_SENT, Budgeted
from weakspot.engine import Budget, BudgetSpent, Engine
from weakspot.engine.executor import Judged
from weakspot.store import LedgerError, Run

#: The ledger's names for requests that were sent, and for those of unknown cost.
REQUESTS, LOST = "requests", "lost"
_LIMITED: Final = ("calls", "tokens", "dollars")


class Purse:
    """The budget of a run, and what its models have sent: the target, and `others` that judge or write.

    A model that does not ask before it sends is none of its business.
    """

    def __init__(self, run: Run, budget: Budget, target: object, others: Iterable[object] = ()) -> None:
        self.budget = budget
        every = {id(model): model for model in (target, *others)}
        self.models = [model for model in every.values() if isinstance(model, Budgeted)]
        #: Whether the target asks, and whether anybody else does.
        self.of_target = isinstance(target, Budgeted)
        self.of_others = len(self.models) > self.of_target
        #: The limit that was reached, once it was.
        self.over: BudgetSpent | None = None
        path, before = run.folder / REQUESTS, run.ledger.spend()
        known = int(before.get(REQUESTS, 0))
        earlier = max(_read(path), known)
        #: Requests that were under way when an earlier process was killed.
        self.killed = earlier - known
        if self.killed:
            run.ledger.record([], dict.fromkeys(("calls", REQUESTS, LOST), self.killed))
        self._earlier, self._sent, self._lock = earlier, 0, threading.Lock()
        self._before = {kind: before.get(kind, 0.0) for kind in _LIMITED}
        self._before["calls"] += self.killed
        self._began = self._counts()
        self._booked = dict.fromkeys(("calls", REQUESTS, LOST, "tokens", "dollars"), 0.0)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600) if self.models else -1
        for model in self.models:
            model.may_send = self.may_send

    def may_send(self) -> str:
        """See `Budgeted`; from any thread."""
        with self._lock:
            now = self._now()
            for kind in _LIMITED:
                limit = self.budget[kind]
                if self._before[kind] + now[kind] >= limit:
                    self.over = self.over or BudgetSpent(kind, limit)
                    return f"{NOT_SENT}the {self.over}"
            self._sent += 1
            os.pwrite(self._file, f"{self._earlier + self._sent}\n".encode(), 0)
        return ""

    def add(self, usage: Mapping[str, float]) -> None:
        """Count what somebody spent who does not ask."""
        with self._lock:
            for kind in _LIMITED:
                self._before[kind] += usage.get(kind, 0.0)

    def settle(self) -> dict[str, float]:
        """What was spent and is not in the ledger yet, by kind; from now on it is taken to be there."""
        with self._lock:
            now = self._now()
            owed = {kind: amount - self._booked[kind] for kind, amount in now.items()}
            self._booked = now
        return {kind: amount for kind, amount in owed.items() if amount}

    def close(self) -> None:
        for model in self.models:
            model.may_send = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _now(self) -> dict[str, float]:
        since = {kind: now - self._began[kind] for kind, now in self._counts().items()}
        unknown = self._sent - since.pop("known")  # what is under way is not known yet
        return {"calls": self._sent, REQUESTS: self._sent, LOST: unknown, **since}

    def _counts(self) -> dict[str, float]:
        spent = [model.spent for model in self.models]
        return {
            "known": sum(one.known for one in spent),
            "tokens": sum(one.tokens for one in spent),
            "dollars": sum(one.dollars for one in spent),
        }


def _read(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


class Paying(Engine):
    """An engine that books what its models sent, and whose trials were asked or are not there.

    A question that was cut short by the budget is no error. It is asked when the run is resumed; so is one
    whose answer no judge could be asked about any more.
    """

    def __init__(self, run: Run, *, purse: Purse, **parts: Any) -> None:
        super().__init__(run, **parts)
        self.purse = purse
        self.spending.amounts["calls"] += purse.killed

    def settle(self) -> None:
        """Book what was spent beside the trials, and end here if nothing is left."""
        self._book(self.purse.settle())
        if self.purse.over:
            raise self.purse.over
        self.spending.check()

    def close(self) -> None:
        super().close()
        with suppress(LedgerError):  # a full disk, say, which was told already
            self._book(self.purse.settle())
        self.purse.close()

    def _book(self, owed: Mapping[str, float]) -> None:
        if owed:
            self.run.ledger.record([], owed)
            self._count(owed)

    def _count(self, owed: Mapping[str, float]) -> None:
        for kind in _LIMITED:
            self.spending.amounts[kind] += owed.get(kind, 0.0)

    def _record(self, judged: Judged) -> None:
        asked = [i for i, trial in enumerate(judged.trials) if not self._unsent(trial)]
        if asked:
            inputs = {new: judged.inputs[old] for new, old in enumerate(asked) if old in judged.inputs}
            super()._record(judged._replace(trials=[judged.trials[i] for i in asked], inputs=inputs))
        if len(asked) < len(judged.trials) and self.purse.over:
            raise self.purse.over

    def _unsent(self, trial: Trial) -> bool:
        if not self.purse.over:
            return False
        unjudged = trial.status is Status.OK and trial.failed is None and self.purse.of_others
        return unjudged or (trial.status is Status.ERROR and NOT_SENT in trial.detail)

    def _costs(self, trials: Sequence[Trial]) -> dict[str, float]:
        counted, owed = super()._costs(trials), self.purse.settle()
        if not self.purse.of_target:  # a trial is a call, and costs what the target says
            self.purse.add(counted)
            self._count(owed)
            return {kind: counted.get(kind, 0.0) + owed.get(kind, 0.0) for kind in {**counted, **owed}}
        trial = {kind: counted[kind] for kind in _LIMITED}
        self._count({kind: owed.get(kind, 0.0) - trial[kind] for kind in _LIMITED})  # the trials' come next
        return {kind: amount for kind, amount in counted.items() if kind not in _LIMITED} | owed
