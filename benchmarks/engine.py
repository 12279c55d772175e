"""What the engine and the ledger cost: printed side by side, in one run.

    python benchmarks/engine.py [--trials 4096]

First the same stages called by hand in a loop (draw, answer, judge, nothing recorded), then the engine
with everything it does besides (recording, tallies, evidence), drawing in a thread and in processes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from weakspot.core import Hypothesis, Status, Trial
from weakspot.engine import Engine, LocalExecutor, Want, local
from weakspot.judges import LabelJudge
from weakspot.store import Ledger, Run, RunConfig
from weakspot.world.classifier import load
from weakspot.world.renderer import Renderer

BATCH = 64
FLY = Hypothesis("a realistic photograph of a fly (insect).")


def main(trials: int) -> None:
    source, target, judge = Renderer(), load(), LabelJudge()

    def by_hand(_: Path) -> None:
        for start in range(0, trials, BATCH):
            cases = source.draw(FLY, range(start, start + BATCH), seed=0)
            judge.judge(cases, target.answer(cases))

    def engine(make: Callable[[], LocalExecutor]) -> Callable[[Path], None]:
        def go(folder: Path) -> None:
            config = RunConfig(study="benchmark", subject="fly", settings={})
            with (
                Run.create(config, folder=folder) as run,
                Engine(run, source=source, target=target, judge=judge, seed=0, executor=make()) as drawing,
            ):
                drawing.draw([Want(FLY, trials)])

        return go

    print(f"{trials:,} trials: world:renderer → world:classifier → label, batches of {BATCH}")
    ways = {
        "by hand, nothing recorded": by_hand,
        "engine, drawing in a thread": engine(LocalExecutor),
        "engine, drawing in processes": engine(lambda: local(source)),
    }
    best = dict.fromkeys(ways, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(3):  # interleaved, best of three: the machine may be noisy
            for name, way in ways.items():
                began = time.perf_counter()
                way(Path(folder) / f"{turn}-{name}")
                best[name] = max(best[name], trials / (time.perf_counter() - began))
    for name, pace in best.items():
        print(f"  {name:<30} {pace:>8,.0f} trials/s   {pace / best['by hand, nothing recorded']:.2f}×")
    ledger(200_000)


def ledger(rows: int) -> None:
    """Rows per second and bytes per row of the ledger alone."""
    caption = f"{FLY.text} it is on a plate. it faces left. the background is a kitchen."
    top = (("fly", 0.98712), ("bee", 0.00871), ("cat", 0.00123))
    trials = [
        Trial(FLY.id, i, Status.OK, i % 50 == 0, 0.01288, "fly", "fly", top, caption) for i in range(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        book = Ledger.create(path)
        book.add_hypotheses([FLY])
        began = time.perf_counter()
        for start in range(0, rows, BATCH):
            part = trials[start : start + BATCH]
            book.record(part, {"images": len(part), "calls": len(part)})
        pace = rows / (time.perf_counter() - began)
        book.close()
        print(f"ledger: {pace:,.0f} rows/s in transactions of {BATCH} (wanted: 30,000)")
        print(f"ledger: {path.stat().st_size / rows:.0f} bytes per trial, caption and three labels included")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=4096)
    main(parser.parse_args().trials)
