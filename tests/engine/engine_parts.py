"""Small sources, targets and judges of known behaviour; also imported by the processes that are killed."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weakspot.core import Case, Hypothesis, Output, Scores, Status, Usage, Verdict, WeakspotError, case_seed
from weakspot.engine import Budget, Engine, LocalExecutor
from weakspot.judges import LabelJudge
from weakspot.store import Run, RunConfig

NAP = float(os.environ.get("WEAKSPOT_TEST_NAP", "0"))


def fails(rate: float, name: str = "") -> Hypothesis:
    """A hypothesis whose cases fail at this rate."""
    return Hypothesis(f"{rate} {name}".strip())


class Dice:
    """Draws cases that fail at the rate their words begin with; words without a number cannot be drawn."""

    def __init__(self, *, nap: float = 0.0, cpu_bound: bool = False) -> None:
        self.nap, self.cpu_bound = nap, cpu_bound

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        time.sleep(self.nap)
        try:
            rate = float(hypothesis.text.split()[0])
        except ValueError:
            raise WeakspotError(f"{hypothesis.text!r} has no rate") from None
        cases = []
        for index in indices:
            own = case_seed(seed, hypothesis, index)
            pixels = np.frombuffer(random.Random(own).randbytes(48), np.uint8).reshape(4, 4, 3).copy()
            pixels[0, 0, 0] = random.Random(own).random() < rate
            cases.append(Case(hypothesis, index, own, pixels, "yes", f"pixel {pixels[1, 1, 1]}."))
        return cases


class Clerk:
    """Says "no" where the first pixel says so. Counts its calls; answers cost what is asked."""

    def __init__(self, *, nap: float = 0.0, tokens: int = 0, dollars: float = 0.0) -> None:
        self.nap, self.usage = nap, Usage(tokens, dollars)
        self.calls, self.asked = 0, list[tuple[str, int]]()

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        time.sleep(self.nap)
        self.calls += 1
        self.asked += [(case.hypothesis.text, case.index) for case in cases]
        return [self.one(case) for case in cases]

    def one(self, case: Case) -> Output:
        bad = bool(case.input[0, 0, 0])
        scores = Scores(("yes", "no"), np.array([1 - bad, bad], np.float32))
        return Output("no" if bad else "yes", scores, usage=self.usage)


class Wrong:
    """A judge of "yes" and "no" that marks errors as what they are."""

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        return LabelJudge().judge(cases, outputs)


def engine(
    folder: Path, *, budget: str = "", processes: int = 0, seed: int = 3, again: bool = False, **parts: Any
) -> Engine:
    """An engine over a new run (or, `again`, over one that is there)."""
    config = RunConfig(study="test", subject="test", settings={})
    run = Run.open(folder) if again else Run.create(config, folder=folder)
    default: dict[str, Any] = {"source": Dice(), "target": Clerk(), "judge": Wrong()}
    executor = LocalExecutor(processes=processes)
    limits = Budget.parse(budget) if budget else None
    return Engine(run, seed=seed, budget=limits, executor=executor, **(default | parts))


def content(folder: Path) -> dict[str, Any]:
    """All that a ledger says, without times; and the files in blobs/."""
    db = sqlite3.connect(folder / "ledger.db")
    ids = dict(db.execute("SELECT key, id FROM hypotheses"))
    found: dict[str, Any] = {
        "hypotheses": db.execute("SELECT * FROM hypotheses ORDER BY key").fetchall(),
        "trials": {
            (ids[key], index): rest
            for key, index, *rest, _seconds in db.execute("SELECT * FROM trials ORDER BY hypothesis, idx")
        },
        "tallies": {
            (ids[key], stage): rest for key, stage, *rest in db.execute("SELECT * FROM tallies ORDER BY 1, 2")
        },
        "spend": dict(db.execute("SELECT * FROM spend WHERE what <> 'seconds'")),
        "findings": db.execute("SELECT * FROM findings ORDER BY rank").fetchall(),
        "facts": dict(db.execute("SELECT * FROM facts")),
    }
    db.close()
    files = (folder / "blobs").rglob("*") if (folder / "blobs").exists() else ()
    found["blobs"] = sorted(p.name for p in files if p.is_file() and not p.name.startswith(".part-"))
    return found


# -- parts of a hunt: python:tests.engine.engine_parts:Meadow and :Botanist ------------------------


class Meadow:
    """Flies, of which one in eight is on a flower and one in four is small, unless the words say it."""

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        time.sleep(NAP)
        cases = []
        for index in indices:
            own = case_seed(seed, hypothesis, index)
            chance = random.Random(own)
            flower, small, luck = (chance.random() for _ in range(3))
            on = "flower" in hypothesis.text or flower < 1 / 8
            little = "small" in hypothesis.text or small < 1 / 4
            pixels = np.frombuffer(chance.randbytes(48), np.uint8).reshape(4, 4, 3).copy()
            pixels[0, 0] = on, little, int(luck * 256)
            said = ["it is on a yellow flower."] * on + ["it is small."] * little
            cases.append(Case(hypothesis, index, own, pixels, "fly", " ".join([hypothesis.text, *said])))
        return cases


class Botanist:
    """Takes more than half of the flies on flowers for bees, and few others; now and then it breaks down."""

    labels = ("fly", "bee")
    parents = {"fly": "insect", "bee": "insect"}  # noqa: RUF012

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        time.sleep(NAP)
        outputs = []
        for case in cases:
            on, _, luck = case.input[0, 0]
            if case.input[1, 1, 1] == 7:
                outputs.append(Output(None, status=Status.ERROR, detail="target: out of coffee"))
                continue
            p = float(luck < (150 if on else 8))
            scores = Scores(self.labels, np.array([1 - p, p], np.float32))
            outputs.append(Output(self.labels[int(p)], scores, usage=Usage(11, 0.25)))
        return outputs
