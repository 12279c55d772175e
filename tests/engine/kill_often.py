"""Kills a hunt again and again, at moments that follow from a seed, and goes on with it each time.

    python kill_often.py FOLDER SEED KILLS

Everything is imported once; each attempt is a fork, so that a kill costs milliseconds and can land anywhere
between the first system call and the last. Prints how many kills hit a running hunt, and in which states
they left the folder.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from tests.engine import engine_parts

from weakspot import hunt, resume
from weakspot.core import WeakspotError
from weakspot.store import Run

BUDGET = "images=4000"


def attempt(folder: Path) -> None:
    if (folder / "run.yaml").exists():
        resume(folder).close()
    else:
        begin(folder)


def begin(folder: Path) -> None:
    hunt(
        "python:tests.engine.engine_parts:Botanist",
        label="fly",
        source="python:tests.engine.engine_parts:Meadow",
        budget=BUDGET,
        seed=5,
        out=folder,
    ).close()


def left(folder: Path) -> str:
    if not folder.exists():
        return "nothing"
    if not (folder / "run.yaml").exists():
        return "folder"
    if not (folder / "ledger.db").exists():
        return "run.yaml"
    with Run.read(folder) as run:
        drawn = run.ledger.spend().get("images", 0)
        if run.state == "running":
            return "trials" if drawn else "ledger"
        return "done"


def begun(folder: Path) -> bool:
    """Whether there are trials, as far as can be told while somebody writes."""
    try:
        return left(folder) in ("trials", "done")
    except WeakspotError:
        return False


def main() -> None:
    folder, chance, wanted = Path(sys.argv[1]), random.Random(int(sys.argv[2])), int(sys.argv[3])
    states: Counter[str] = Counter()
    while sum(states.values()) < wanted and left(folder) != "done":
        child = os.fork()
        if child == 0:
            status = 1
            try:
                attempt(folder)
                status = 0
            finally:
                os._exit(status)
        early = chance.random() < 0.4
        if not early:  # on a busy machine the first trial may take a while
            until = time.monotonic() + 5
            while not begun(folder) and time.monotonic() < until:
                time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.02) if early else chance.uniform(0, 0.12))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            states[left(folder)] += 1
        elif os.WEXITSTATUS(status):
            sys.exit("an attempt failed by itself")
    attempt(folder)
    del states["done"]
    print(sum(states.values()), *sorted(states))


if __name__ == "__main__":
    assert engine_parts.NAP
    main()
