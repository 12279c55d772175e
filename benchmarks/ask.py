"""What `ask` promises, measured: speed, memory, budgets, a placebo server, places of nine models.

    python benchmarks/ask.py [speed] [memory] [budgets] [placebo] [places]

Everything runs against a server on loopback or from recordings; nothing leaves the machine. Times depend on
what else the machine does, so they are printed as ratios, with the load.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.models.scripted_server import ScriptedServer, faults
from tests.studies.ask.ask_parts import Words, benchmark
from tests.studies.ask.test_stages import CAUSES, world

from weakspot import ask
from weakspot.after.standings import ModelRow, standings
from weakspot.core import Status
from weakspot.core.question import BENIGN
from weakspot.studies.ask.analysis import Asked, counted
from weakspot.studies.ask.result import PromptRates
from weakspot.studies.ask.stages import attributed

ANSWER = "Sure, here it is."
#: Tokens of that answer, as the server counts them.
TOKENS = len(ANSWER) // 4 + 1
WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))


def named(server: ScriptedServer, *, at_once: int, price: float = 0.0) -> str:
    return f"chat:openai-api/test/m?base_url={server.url}&concurrency={at_once}&price=0,{price:g}"


def speed() -> None:
    """300 questions through the whole study, against latency × questions ÷ calls at once."""
    items, latency, at_once = 300, 0.5, 20
    with ScriptedServer(reply=lambda _: ANSWER) as server, folder() as out:  # imports, tables of prices
        ask(named(server, at_once=1), benchmark=benchmark(3), judge=Words(), out=out / "run").close()
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    for budget in ("calls=20000", "calls=20000,dollars=5"):
        with ScriptedServer(latency=latency, reply=lambda _: ANSWER) as server, folder() as out:
            began, cpu = time.perf_counter(), time.process_time()
            questions = benchmark(items, contrast=False)
            name = named(server, at_once=at_once)
            ask(name, benchmark=questions, judge=Words(), budget=budget, out=out / "run").close()
            wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        ideal = latency * items / at_once
        print(
            f"speed    {items} questions, {budget}: {wall / ideal:.2f} × ideal, {1000 * cpu / items:.1f} ms "
            f"of processor each (load {load:.1f} per core)"
        )


def memory() -> None:
    """Recorded answers to many questions, by the command; the most memory it ever held."""
    for n in (1_000, 10_000):
        with folder() as out:
            rows = [
                {
                    "id": i,
                    "question": f"Question {i}?",
                    "topic": f"t{i % 20}",
                    "response": f"{ANSWER} {i} " * 20,
                }
                for i in range(n)
            ]
            (out / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
            began = time.perf_counter()
            command = [WEAKSPOT, "ask", "a.jsonl", "--out", "run"]
            subprocess.run(command, cwd=out, check=True, capture_output=True)
            took = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"memory   {n:,} rows: at most {peak:.0f} MB, {1000 * took / n:.2f} ms a row")


def budgets() -> None:
    """What was sent and what it cost, against the limit, with and without failing calls."""
    at_once, price = 6, 20_000.0
    each = TOKENS * price / 1e6
    for broken in (0.0, 0.4):
        for limit in ("calls=50", "dollars=0.05", "dollars=0.5", "dollars=3"):
            plan = faults(broken, kinds=("500", "429"), seed=3)
            with (
                ScriptedServer(latency=0.01, plan=plan, retry_after=0.01, reply=lambda _: ANSWER) as server,
                folder() as out,
            ):
                name = named(server, at_once=at_once, price=price)
                questions = benchmark(90, contrast=False)
                with ask(name, benchmark=questions, judge=Words(), budget=limit, out=out / "run") as run:
                    spent = run.ledger.spend()
                bill = each * sum(call.done == "ok" for call in server.calls)
            print(
                f"budgets  {limit:<13} {broken:.0%} of calls fail: sent {len(server.calls):>3}, booked "
                f"{spent['calls']:>3.0f}; bill ${bill:.2f}, booked ${spent['dollars']:.2f}; {at_once} under "
                f"way cost ${at_once * each:.2f}"
            )


def placebo(seeds: int = 400) -> None:
    """How often a cause is found where there is none, and how often the shares lie in their intervals."""
    print(f"placebo  {seeds} runs of 300 questions a row; found where all is chance: at most 5 % should be")
    for rate in (0.05, 0.1, 0.2, 0.5, 0.8):
        rng = np.random.default_rng(int(1000 * rate))
        times = Counter[str]()
        for _ in range(seeds):
            found = attributed(world(rng, 300, (0, 0, 0), rate)[0], {})
            names = [cause for cause in CAUSES if getattr(found, cause).found]
            times.update(names)
            times["any"] += bool(names)
        shown = ", ".join(f"{cause} {times[cause] / seeds:.1%}" for cause in (*CAUSES, "any"))
        print(f"placebo  refuses {rate:.0%} at random: {shown}")
    for rate in (0.0, 0.1, 0.3):
        rng = np.random.default_rng(9)
        held, seen = Counter[str](), Counter[str]()
        for _ in range(seeds // 2):
            asked, truth = world(rng, 300, (0.1, 0.08, 0.12), rate)
            found = attributed(asked, {})
            for cause in (*CAUSES, "chance"):
                low, high = getattr(found, cause).interval
                held[cause] += low - 1e-9 <= truth[cause] <= high + 1e-9
                seen[cause] += getattr(found, cause).found
        shown = ", ".join(
            f"{cause} in its interval {held[cause] / (seeds // 2):.0%}"
            + ("" if cause == "chance" else f", found {seen[cause] / (seeds // 2):.0%}")
            for cause in (*CAUSES, "chance")
        )
        print(f"placebo  causes planted (10 %, 8 %, 12 %), others refused {rate:.0%} at random: {shown}")


def places(seeds: int = 300) -> None:
    """Nine models on the same 300 questions: how often all their places hold, and how wide they are."""
    rates = (0.03, 0.04, 0.08, 0.1, 0.25, 0.28, 0.3, 0.5, 0.55)
    rng, held, first, width = random.Random(11), 0, 0, 0.0
    for _ in range(seeds):
        hard = sorted(rng.random() for _ in range(300))
        rows = []
        for number, rate in enumerate(rates):
            said = [rng.random() < min(1.0, 2 * rate * h) for h in hard]
            asked = tuple(
                Asked(str(i), BENIGN, Status.REFUSED if r else Status.OK, r) for i, r in enumerate(said)
            )
            figures = PromptRates(**counted(asked).model_dump())
            rows.append(ModelRow(model=f"m{number}", judge="", origin="", figures=figures, asked=asked))
        found = {line.model: line.places or (0, 0) for line in standings(rows)}
        held += all(low <= i + 1 <= high for i, (low, high) in ((i, found[f"m{i}"]) for i in range(9)))
        first += found["m0"][0] == 1
        width += sum(high - low + 1 for low, high in found.values()) / 9
    print(
        f"places   {seeds} boards of nine models: all nine places in their intervals {held / seeds:.1%}, the "
        f"best may be first {first / seeds:.1%}, {width / seeds:.1f} places wide on average"
    )


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


ALL: dict[str, Callable[[], None]] = {
    "speed": speed,
    "memory": memory,
    "budgets": budgets,
    "placebo": placebo,
    "places": places,
}


def main() -> None:
    warnings.simplefilter("ignore")  # of providers' libraries
    os.environ.setdefault("TEST_API_KEY", "sk-none")
    for name in sys.argv[1:] or ALL:
        ALL[name]()


if __name__ == "__main__":
    main()
