"""The explorer with a ledger of a million trials: first page, paging at any depth, memory of the server.

Each figure is of the whole way: a request over loopback to `weakspot view`, a page back. A page is asked for
several times and the median counts; a plain scan of the same ledger tells how fast the machine is.

    python benchmarks/view.py --trials 1000000
"""

from __future__ import annotations

import argparse
import http.client
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from weakspot.core import Hypothesis, Stage, Status, Trial
from weakspot.store import Run, RunConfig, png

HYPOTHESES = 200
ANSWERS = ("bee", "cat", "fence", "dog", "crab")


def make(folder: Path, trials: int) -> None:
    """A run with so many trials: half of them the baseline's, the others of 200 hypotheses."""
    base = Hypothesis("a realistic photograph of a fly (insect).", origin="baseline")
    others = [
        Hypothesis(f"{base.text} it is in place {i}.", (("place", str(i)),), origin="caption", parent=base.id)
        for i in range(HYPOTHESES)
    ]
    rng = np.random.default_rng(0)
    settings = {"target": "world:classifier", "source": "world:renderer", "label": "fly", "seed": 0}
    with Run.create(RunConfig(study="hunt", subject="fly", settings=settings), folder=folder) as run:
        run.ledger.add_hypotheses([base, *others])
        pictures = [run.blobs.put(png(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8))) for _ in range(200)]
        for h in [base, *others]:
            n = trials // 2 if h is base else trials // 2 // HYPOTHESES
            draws = rng.random(n)
            rows = []
            for i in range(n):
                failed = bool(draws[i] < (0.01 if h is base else 0.2))
                said = ANSWERS[i % 5] if failed else "fly"
                rows.append(
                    Trial(
                        h.id,
                        Stage.EXPLORE.start + i,
                        Status.OK,
                        failed,
                        0.5,
                        "fly",
                        said,
                        top=((said, 0.9), ("crab", 0.05), ("dog", 0.05)),
                        caption=f"{h.text} it faces left. the background is a street. it is picture {i}.",
                        blob=pictures[i % 200] if i < 50 else None,
                    )
                )
                if len(rows) == 20_000 or i == n - 1:
                    run.ledger.record(rows, {"images": len(rows)})
                    rows = []
        run.ledger.set_fact("base", base.id)
        run.ledger.set_fact("state", "finished")


class Visitor:
    """A browser's part: a connection, a cookie."""

    def __init__(self, link: str) -> None:
        self.at = urlsplit(link)
        self.cookie = ""
        _, headers, _ = self.get(f"/?{self.at.query}")
        self.cookie = headers["set-cookie"].partition(";")[0]

    def get(self, path: str) -> tuple[int, dict[str, str], str]:
        """Ask for a page."""
        connection = http.client.HTTPConnection(self.at.hostname or "", self.at.port, timeout=120)
        connection.request("GET", path, headers={"Cookie": self.cookie} if self.cookie else {})
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, body

    def timed(self, path: str, times: int = 5) -> tuple[float, float, str]:
        """The first and the median time (ms) of asking, and the page."""
        took = []
        for _ in range(times):
            began = time.perf_counter()
            status, _, body = self.get(path)
            took.append(1000 * (time.perf_counter() - began))
            assert status == 200, (status, path)
        return took[0], statistics.median(took), body


def memory(pid: int) -> float:
    """The most memory (MB) that a process has had."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", text)
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    """Make the ledger, serve it, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="use the run there, or make it there and keep it")
    parser.add_argument("--report", action="store_true", help="time the report of the run too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary, "run")
        if not (folder / "ledger.db").exists():
            began = time.perf_counter()
            make(folder, args.trials)
            print(f"made {args.trials:,} trials in {time.perf_counter() - began:.0f} s")
        measure(folder)
        if args.report:
            began = time.perf_counter()
            subprocess.run([_weakspot(), "report", str(folder)], check=True, capture_output=True)
            print(f"report   {time.perf_counter() - began:.1f} s")


def measure(folder: Path) -> None:
    """Ask a server for pages."""
    size = (folder / "ledger.db").stat().st_size / 1e6
    began = time.perf_counter()
    with sqlite3.connect(folder / "ledger.db") as db:
        total, last = db.execute(
            "SELECT COUNT(*), MAX(hypothesis) FROM trials WHERE length(caption) > 0"
        ).fetchone()
    scan = 1000 * (time.perf_counter() - began)
    print(f"ledger   {total:,} trials · {size:.0f} MB · a plain scan of it takes {scan:.0f} ms")
    server = subprocess.Popen(
        [_weakspot(), "view", str(folder), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        visitor = Visitor(server.stdout.readline().split()[-1])
        run = f"/run/{folder.name}"
        print(f"{'page':<42}{'first ms':>10}{'median ms':>11}")
        for name, path in (
            ("the run", run),
            ("trials, first page", f"{run}/trials"),
            ("trials at half the depth", f"{run}/trials?after=0.1.{total // 2 - 100}"),
            ("trials at the end", f"{run}/trials?after=0.{last}.{max(0, total // 2 // HYPOTHESES - 60)}"),
            ("failures first", f"{run}/trials?order=verdict"),
            ("worst hypothesis first", f"{run}/trials?order=rate"),
            ("by answer", f"{run}/trials?order=answer"),
            ("only dogs, all trials", f"{run}/trials?answer=dog"),
            ("an answer nobody gave", f"{run}/trials?answer=zebra"),
            ("one slice", f"{run}/trials?slice=place%3D77"),
        ):
            first, median, _ = visitor.timed(path)
            print(f"{name:<42}{first:>10.0f}{median:>11.0f}")
        deep = _walk(visitor, f"{run}/trials?verdict=failed", 200)
        print(
            f"{'200 pages of failures on end: 1st to 20th':<42}{'':>10}{statistics.median(deep[:20]):>11.0f}"
        )
        print(f"{'… 180th to 200th':<42}{'':>10}{statistics.median(deep[-20:]):>11.0f}")
        print(f"server   at most {memory(server.pid):.0f} MB")
    finally:
        server.terminate()
        server.wait()


def _walk(visitor: Visitor, path: str, pages: int) -> list[float]:
    """Turn pages as a person does, by the link to the next; times in ms."""
    took = []
    for _ in range(pages):
        began = time.perf_counter()
        _, _, body = visitor.get(path)
        took.append(1000 * (time.perf_counter() - began))
        found = re.search(r'<a rel="next"[^>]*href="([^"]+)"', body)
        if not found:
            break
        path = unescape(found[1])
    return took


def _weakspot() -> str:
    return str(Path(sys.executable).with_name("weakspot"))


if __name__ == "__main__":
    main()
