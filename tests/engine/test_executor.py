from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.engine.engine_parts import Clerk, Dice, content, engine, fails

from weakspot.core import Case, Hypothesis
from weakspot.engine import LocalExecutor, Want, local, stop


def test_results_come_in_the_order_of_the_work() -> None:
    chance = random.Random(0)

    def draw(work: int) -> int:
        time.sleep(chance.uniform(0, 0.004))
        return work * 10

    def answer(drawn: int) -> int:
        time.sleep(chance.uniform(0, 0.004))
        return drawn + 1

    with LocalExecutor() as executor:
        assert list(executor.stream(range(50), draw, answer)) == [10 * i + 1 for i in range(50)]
        assert list(executor.stream([], draw, answer)) == []


def test_drawing_and_answering_overlap() -> None:
    nap, pieces = 0.06, 16

    def stage(x: int) -> int:
        time.sleep(nap)
        return x

    with LocalExecutor() as executor:
        began = time.monotonic()
        assert list(executor.stream(range(pieces), stage, stage)) == list(range(pieces))
        wall = time.monotonic() - began
    assert wall < 1.45 * pieces * nap  # one after the other would be 2


def test_the_engine_overlaps_a_slow_source_and_a_slow_target(tmp_path: Path) -> None:
    nap = 0.06
    with engine(tmp_path, batch=8, source=Dice(nap=nap), target=Clerk(nap=nap)) as one, one.run:
        began = time.monotonic()
        one.draw([Want(fails(0.1), 128)])
        wall = time.monotonic() - began
    assert wall < 1.5 * 16 * nap


def test_what_is_under_way_is_bounded() -> None:
    begun: list[int] = []

    def draw(work: int) -> int:
        begun.append(work)
        return work

    with LocalExecutor(ahead=3) as executor:
        for _ in executor.stream(range(1000), draw, lambda x: x):
            time.sleep(0.05)
            assert len(begun) <= 5
            break  # leaving early cancels what has not begun
        time.sleep(0.05)
        assert len(begun) <= 5


def test_an_error_reaches_the_caller_and_the_executor_lives_on() -> None:
    def draw(work: int) -> float:
        return 1 / work

    with LocalExecutor() as executor:
        with pytest.raises(ZeroDivisionError):
            list(executor.stream([2, 1, 0, 1], draw, lambda x: x))
        assert list(executor.stream([1, 2], draw, lambda x: x)) == [1, 0.5]


def test_closing_ends_the_threads() -> None:
    before = threading.active_count()
    with LocalExecutor() as executor:
        list(executor.stream(range(4), lambda x: x, lambda x: x))
    assert threading.active_count() == before


def test_the_ledger_is_the_same_however_it_was_drawn(tmp_path: Path) -> None:
    """Batch sizes, threads, processes: only the clock may differ."""
    wants = [Want(fails(0.3), 200), Want(Hypothesis("impossible"), 40), Want(fails(0.05), 100)]
    found = []
    for number, how in enumerate(
        [{}, {"batch": 7}, {"batch": 1000}, {"processes": 2}, {"processes": 2, "batch": 16}]
    ):
        folder = tmp_path / str(number)
        with engine(folder, **how) as one, one.run:  # type: ignore[arg-type]
            for want in wants:
                one.draw([want])
            one.test(fails(0.01), until=stop.failures(3))
        found.append(content(folder))
    assert len(found[0]["trials"]) > 340
    assert len(found[0]["blobs"]) > 24
    assert all(other == found[0] for other in found[1:])


class Mortal(Dice):
    """Its first drawing process is killed, as the kernel does when memory is short."""

    def __init__(self, flag: Path) -> None:
        super().__init__(cpu_bound=True)
        self.flag, self.home = flag, os.getpid()

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        if os.getpid() != self.home and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().draw(hypothesis, indices, seed=seed)


def test_a_killed_drawing_process_costs_nothing_but_time(tmp_path: Path) -> None:
    with engine(tmp_path / "a", batch=16, processes=2, source=Mortal(tmp_path / "flag")) as one, one.run:
        one.draw([Want(fails(0.3), 200)])
    assert (tmp_path / "flag").exists()
    with engine(tmp_path / "b", batch=16) as two, two.run:
        two.draw([Want(fails(0.3), 200)])
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_processes_are_for_sources_that_compute() -> None:
    executors = [local(Dice()), local(Dice(cpu_bound=True))]
    assert executors[0]._processes == 0
    cores = len(os.sched_getaffinity(0))
    assert executors[1]._processes == (min(cores, 8) if cores > 1 else 0)
    for executor in executors:
        executor.close()


def test_a_source_that_cannot_be_sent_away_is_drawn_here() -> None:
    lock = threading.Lock()  # cannot be pickled

    def draw(piece: int) -> int:
        with lock:
            return piece + 1

    with LocalExecutor(processes=2) as executor:
        assert list(executor.stream(range(5), draw, lambda drawn: 10 * drawn)) == [10, 20, 30, 40, 50]
