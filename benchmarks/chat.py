"""How near asking comes to the ideal of latency × items / concurrency, against a server on loopback.

    python benchmarks/chat.py [LATENCY CONCURRENCY]

Three ways to ask 300 questions: the model alone, an engine that records each answer as it comes, and an
engine with batches of 64, each of which waits for its slowest call.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.models import chat_runs
from tests.models.scripted_server import ScriptedServer

from weakspot.engine import Engine, LocalExecutor, Want
from weakspot.models.chat.model import ChatModel

ITEMS = chat_runs.ITEMS


def measure(how: str, *, latency: float, at_once: int) -> None:
    """Ask all questions in one way, and print what it took."""
    with ScriptedServer(latency=latency) as server, tempfile.TemporaryDirectory() as folder:
        model = ChatModel("openai-api/local/scripted", base_url=server.url, concurrency=at_once)
        model.ask(["warm up"])
        began, cpu = time.perf_counter(), time.process_time()
        if how == "the model alone":
            model.ask([f"question {i}" for i in range(ITEMS)])
        else:
            with chat_runs.engine(Path(folder) / "run", model) as engine:
                if how == "batches of 64":
                    engine = Engine(
                        engine.run,
                        source=engine.source,
                        target=model,
                        judge=engine.judge,
                        seed=1,
                        executor=LocalExecutor(),
                    )
                engine.draw([Want(chat_runs.ALL, ITEMS)])
                engine.run.close()
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        model.close()
    ideal = latency * ITEMS / at_once
    print(
        f"{how:20} {wall:6.2f} s   ideal {ideal:.2f} s   ratio {wall / ideal:.2f}   "
        f"at most {server.most_in_flight} at once   {1000 * cpu / ITEMS:.1f} ms of processor per question"
    )


def main() -> None:
    latency, at_once = (float(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (0.5, 20)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"{ITEMS} questions, latency {latency} s, {at_once} at once; load {load:.1f} per core")
    for how in ("the model alone", "as they are answered", "batches of 64"):
        measure(how, latency=latency, at_once=at_once)


if __name__ == "__main__":
    main()
