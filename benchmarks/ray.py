"""What Ray costs and brings: the same trials here and on Ray with one and two workers, in one run.

    python benchmarks/ray.py [--trials 4096] [--turns 3]

Three kinds of parts. Free ones, which do nothing but make numbers, show what the executors themselves cost.
The world's renderer and classifier are what `weakspot hunt` draws with; both need a processor, so two workers
help only as far as there are two. A source that waits stands for one on another machine or a GPU: there two
workers should take half the time wherever this is run. Ledgers are compared trial by trial, with evidence.
"""
# ruff: noqa: E402

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# This file's own name is that of the library.
sys.path = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

import numpy as np

from weakspot.core import Case, Hypothesis, Output, case_seed
from weakspot.engine import Cluster, Engine, Executor, LocalExecutor, Want, local
from weakspot.engine.ray import RayExecutor
from weakspot.engine.ray_settings import RaySettings
from weakspot.judges import LabelJudge
from weakspot.store import Run, RunConfig
from weakspot.world import classifier, renderer

BATCH = 64
FLY = Hypothesis("a realistic photograph of a fly (insect).")
Parts = dict[str, Callable[[], Any]]


class Noise:
    """Pictures of nothing, as large as the world's; `nap` seconds per batch pass while others may work."""

    nap = 0.0

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        time.sleep(self.nap)
        seeds = [case_seed(seed, hypothesis, i) for i in indices]
        return [
            Case(hypothesis, i, own, np.full((96, 96, 3), own % 251, np.uint8), "fly", "it is grey.")
            for i, own in zip(indices, seeds, strict=True)
        ]


class Waiting(Noise):
    """As a generator on another machine: 64 pictures in 0.2 s."""

    nap = 0.2


class Glance:
    """Sees a bee in one grey of ten."""

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output("bee" if case.input[0, 0, 0] < 25 else "fly") for case in cases]


def main(trials: int, turns: int) -> None:
    kinds: dict[str, tuple[Parts, Callable[[], Executor]]] = {
        "free parts": ({"source": Noise, "target": Glance, "judge": LabelJudge}, LocalExecutor),
        "world:renderer → world:classifier": (
            {"source": renderer.load, "target": classifier.load, "judge": LabelJudge},
            lambda: local(renderer.load()),
        ),
        "a source that waits": ({"source": Waiting, "target": Glance, "judge": LabelJudge}, LocalExecutor),
    }
    import ray

    print(f"{trials:,} trials in batches of {BATCH}; best of {turns}; {os.cpu_count()} processors")
    began = time.perf_counter()
    keep_ray()
    print(f"Ray {ray.__version__} on this machine: {time.perf_counter() - began:.1f} s to start")
    for kind, (parts, here) in kinds.items():
        n = trials if kind != "a source that waits" else min(trials, 24 * BATCH)
        measure(kind, parts, here, n, turns)
    ray.shutdown()


def keep_ray() -> None:
    """A Ray that stays between the measurements: starting it is no part of them."""
    from weakspot.engine.ray import connect

    connect(RaySettings.parse("ray?cpus=2&store=200"))


def measure(kind: str, parts: Parts, here: Callable[[], Executor], trials: int, turns: int) -> None:
    def on_ray(workers: int) -> Callable[[], Cluster]:
        how = f"ray?source={workers}&target={workers}&source_cpus=0&target_cpus=0"
        return lambda: RayExecutor(RaySettings.parse(how), parts)

    ways: dict[str, Callable[[], Executor | Cluster]] = {
        "local": here,
        "ray, 1 worker of a kind": on_ray(1),
        "ray, 2 workers of a kind": on_ray(2),
    }
    took: dict[str, float] = {}
    driver: dict[str, float] = {}
    starts: dict[str, float] = {}
    ledgers: dict[str, list[tuple[Any, ...]]] = {}
    loaded = {port: make() for port, make in parts.items()}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(turns):  # interleaved: the machine may be noisy
            for name, make in ways.items():
                began = time.perf_counter()
                executor = make()
                ready = time.perf_counter() - began
                config = RunConfig(study="benchmark", subject="fly", settings={})
                with (
                    Run.create(config, folder=Path(folder) / f"{turn}-{name}") as run,
                    Engine(run, **loaded, seed=0, executor=executor) as engine,
                ):
                    engine.draw([Want(FLY, 2 * BATCH)])  # first calls are slow everywhere
                    began, busy = time.perf_counter(), time.process_time()
                    engine.draw([Want(FLY, 2 * BATCH + trials)])
                    seconds, busy = time.perf_counter() - began, time.process_time() - busy
                    rows = [(*t_without_time(t),) for t in run.ledger.trials(FLY)]
                took[name] = min(took.get(name, seconds), seconds)
                driver[name] = min(driver.get(name, busy), busy)
                starts[name] = min(starts.get(name, ready), ready)
                if ledgers.setdefault(name, rows) != rows:
                    raise SystemExit(f"{name}: two turns differ")
    print(f"\n{kind}, {trials:,} trials")
    for name, seconds in took.items():
        more = 1000 * (seconds - took["local"]) / trials
        same = "the same ledger" if ledgers[name] == ledgers["local"] else "ANOTHER LEDGER"
        print(
            f"  {name:<25} {trials / seconds:>8,.0f} trials/s  {took['local'] / seconds:>5.2f}×"
            f"  {more:>+7.3f} ms per trial, the driver's own {1e6 * driver[name] / trials:>5.0f} µs"
            f"  ready in {starts[name]:>4.1f} s  {same}"
        )
    if any(rows != ledgers["local"] for rows in ledgers.values()):
        raise SystemExit(1)


def t_without_time(trial: Any) -> tuple[Any, ...]:
    """All that the ledger has of a trial but the seconds it took."""
    names = ("index", "status", "failed", "score", "expected", "answer", "top", "caption", "detail", "blob")
    return tuple(getattr(trial, name) for name in names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    main(given.trials, given.turns)
