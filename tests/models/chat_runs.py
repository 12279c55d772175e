"""An engine that asks a chat model 300 questions; killed again and again, it goes on each time.

    python chat_runs.py FOLDER MODEL KILLS

Everything is imported once and each attempt is a fork. After each kill it prints when that was and which
questions the ledger held then, as a line of JSON.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weakspot.core import (
    MODELS,
    Case,
    Hypothesis,
    Output,
    Question,
    Status,
    Verdict,
    WeakspotError,
    case_seed,
)
from weakspot.engine import Budget, Engine, Want
from weakspot.models.chat.calls import AsAnswered
from weakspot.models.chat.model import ChatModel
from weakspot.store import Run, RunConfig

ITEMS = 300
ALL = Hypothesis("all questions")


class Questions:
    """Question number i."""

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        return [
            Case(hypothesis, i, case_seed(seed, hypothesis, i), Question(f"question {i}"), "answer")
            for i in indices
        ]


class Refused:
    """Failed if the answer says "cannot"."""

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        return [
            Verdict("cannot" in o.answer) if o.answer is not None else Verdict(None, status=o.status)
            for o in outputs
        ]


def engine(folder: Path, model: ChatModel, *, budget: str = "") -> Engine:
    new = not (folder / "run.yaml").exists()
    config = RunConfig(study="test", subject="test", settings={"target": f"chat:{model.name}"})
    return Engine(
        Run.create(config, folder=folder) if new else Run.open(folder),
        source=Questions(),
        target=model,
        judge=Refused(),
        seed=1,
        budget=Budget.parse(budget) if budget else None,
        batch=1,
        executor=AsAnswered(width=lambda: model.width, most=model.most, stop=model.stop),
    )


def ask_all(folder: Path, name: str, *, items: int = ITEMS) -> None:
    model: ChatModel = MODELS.load(name)
    with engine(folder, model) as running:
        running.draw([Want(ALL, items)])
        running.run.close()


def held(folder: Path) -> list[int]:
    """The questions in the ledger; also while it is written."""
    try:
        with Run.read(folder) as run:
            return [t.index for t in run.ledger.trials(ALL)]
    except WeakspotError:  # no ledger yet, or nothing in it
        return []


def statuses(folder: Path) -> dict[int, Status]:
    with Run.read(folder) as run:
        return {t.index: t.status for t in run.ledger.trials(ALL)}


def main(folder: Path, name: str, kills: int) -> None:
    logging.basicConfig(filename=folder.parent / "everything.log", level=logging.DEBUG)
    MODELS.load(name).close()  # imports all that is needed, and reads tables
    for kill in range(kills):
        child = os.fork()
        if child == 0:
            _attempt(folder, name)
        goal = ITEMS * (kill + 1) // (kills + 1)
        while len(held(folder)) < goal:
            time.sleep(0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(json.dumps({"at": time.monotonic(), "held": held(folder)}), flush=True)
    child = os.fork()
    if child == 0:
        _attempt(folder, name)
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


def _attempt(folder: Path, name: str) -> Any:
    status = 1
    try:
        ask_all(folder, name)
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
