"""A caller of ASGI apps that sends exactly what it is told to, and runs made by hand with hostile words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

import numpy as np

from weakspot.core import Finding, Hypothesis, Stage, Status, Trial
from weakspot.store import Run, RunConfig, png, rate
from weakspot.web.serve import Guard

HOSTILE = "<img src=x onerror=alert(1)> =1+1 \x1b[31m\u202e {{ 7*7 }}"
SCRIPT = "<script>document.title='owned'</script>"
BASE = Hypothesis("a realistic photograph of a fly (insect).", origin="baseline")
FLOWER = Hypothesis(
    f"{BASE.text} it is on a flower.", (("where", "flower"),), origin="caption", parent=BASE.id
)
BAD = Hypothesis(f"{BASE.text} {HOSTILE}", (("where", HOSTILE),), origin="person", parent=BASE.id)
TOKEN, PORT = "a-token-of-the-tests", 8642


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


class Caller:
    """Asks an app. Without a cookie unless it was given one."""

    def __init__(self, app: Any) -> None:
        self.app, self.cookie = app, ""

    def __call__(
        self,
        path: str,
        *,
        method: str = "GET",
        form: Mapping[str, str] | bytes | None = None,
        host: str = f"127.0.0.1:{PORT}",
        origin: str | None = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        body = form if isinstance(form, bytes) else urlencode(form or {}).encode()
        sent = {"host": host} | ({"cookie": self.cookie} if self.cookie else {}) | dict(headers or {})
        if origin != "" or method == "POST":
            origin = f"http://{host}" if origin == "" else origin
            sent |= {"origin": origin} if origin is not None else {}
        raw, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": unquote(raw), "raw_path": raw.encode(), "root_path": "",
            "query_string": query.encode(), "scheme": "http", "http_version": "1.1",
            "headers": [(k.encode(), v.encode()) for k, v in sent.items()],
            "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        got: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            got.append(message)

        asyncio.run(self.app(scope, receive, send))
        start = got[0]
        pairs = [(k.decode().lower(), v.decode()) for k, v in start["headers"]]
        return Answer(start["status"], pairs, b"".join(m.get("body", b"") for m in got[1:]))

    def open(self) -> Caller:
        """Exchange the token for a cookie."""
        given = self(f"/?token={TOKEN}").header("set-cookie")
        self.cookie = given.partition(";")[0]
        return self


def caller(app: Any) -> Caller:
    return Caller(Guard(app, token=TOKEN, port=PORT))


def picture(seed: int, size: int = 24) -> bytes:
    return png(np.random.default_rng(seed).integers(0, 255, (size, size, 3), dtype=np.uint8))


def trial(
    run: Run, hypothesis: Hypothesis, index: int, *, failed: bool, keep: bool = True, **more: Any
) -> Trial:
    said = more.pop("answer", "bee" if failed else "fly")
    values: dict[str, Any] = {"top": ((said, 0.9), ("crab", 0.1)), "caption": f"caption {index}."}
    return Trial(
        hypothesis.id,
        index,
        more.pop("status", Status.OK),
        failed,
        0.5,
        "fly",
        said,
        blob=run.blobs.put(picture(index)) if keep else None,
        **(values | more),
    )


def make_hunt(folder: Path, *, n: int = 40, flower: int = 30, state: str = "finished", seed: int = 7) -> Path:
    """A hunt: every tenth plain fly fails, two thirds on a flower; and a hypothesis of hostile words."""
    settings = {
        "target": "python:toy:Classifier", "source": "python:toy:Meadow", "label": "fly", "seed": seed,
        "judge": None, "budget": "images=1000", "target_label": None,
    }  # fmt: skip
    with Run.create(RunConfig(study="hunt", subject="fly", settings=settings), folder=folder) as run:
        run.ledger.add_hypotheses([BASE, FLOWER, BAD])
        rows = [trial(run, BASE, i, failed=i % 10 == 0, keep=i < 20) for i in range(n)]
        rows += [trial(run, FLOWER, i, failed=i % 3 != 0) for i in range(flower)]
        rows += [
            trial(run, FLOWER, Stage.CONFIRM.start + i, failed=i % 3 != 0, keep=False) for i in range(flower)
        ]
        rows += [trial(run, BAD, 0, failed=True, answer=SCRIPT, caption=HOSTILE, detail=SCRIPT)]
        rows += [Trial(BASE.id, n, Status.ERROR, None, None, "fly", None, detail="target: gone")]
        run.ledger.record(rows, {"images": len(rows), "seconds": 2.0})
        fresh = run.ledger.tally(FLOWER, Stage.CONFIRM)
        usual = run.ledger.tally(BASE, Stage.EXPLORE)
        found = Finding(FLOWER, "it is on a flower.", rate(fresh), rate(usual), 9.0, True, (("bee", 1.0),))
        run.ledger.set_findings([found])
        run.ledger.set_fact("state", state)
    return folder


def make_pairs(folder: Path, *, pairs: int = 6) -> Path:
    """A run of mine with pictures drawn for people, two of each pair; the matcher takes pair 0 wrongly."""
    from weakspot.studies.mine.downstream import write_items
    from weakspot.studies.mine.result import Choice, Drawn, PairDrawn

    config = RunConfig(study="mine", subject="texts", settings={"encoder": "world:encoder", "seed": 0})
    with Run.create(config, folder=folder) as run:
        run.ledger.set_fact("state", "finished")
    where = folder / "downstream"
    from weakspot.store import Blobs

    blobs, found = Blobs(where / "blobs"), []
    for number in range(pairs):
        drawn = []
        for prompt in (1, 2):
            digest = blobs.put(picture(100 * number + prompt))
            right = Choice.FIRST if prompt == 1 else Choice.SECOND
            said = Choice.NEITHER if number == 0 else right
            item = f"{number:08x}{prompt:08x}"
            one = Drawn(item=item, prompt=prompt, seed=0, digest=digest, choice=said, first=1.0, second=0.0)
            drawn.append(one)
        words = HOSTILE if number == 1 else f"a cat on mat {number}."
        other = f"a mat on cat {number}."
        found.append(PairDrawn(first=words, second=other, pictures=tuple(drawn), failed=False))
    write_items(found, where, seed=3)
    return folder


def make_ask(folder: Path, n: int = 20) -> Path:
    """Answers to harmless requests, every fourth a refusal to the judge."""
    words = Hypothesis("benign", (("set", "benign"), ("system", "none")), origin="arm")
    config = RunConfig(study="ask", subject="questions", settings={"target": "chat:openai/x", "seed": 0})
    with Run.create(config, folder=folder) as run:
        run.ledger.add_hypotheses([words])
        rows = []
        for i in range(n):
            refused = i % 4 == 0
            status = Status.REFUSED if refused else Status.OK
            text = f"answer {i} {SCRIPT if i == 1 else ''}"
            rows.append(
                Trial(
                    words.id,
                    i,
                    status,
                    refused,
                    0.5,
                    "",
                    text,
                    caption=f"may I {i}? {HOSTILE}",
                    detail="refuses",
                )
            )
        run.ledger.record(rows, {"calls": n})
        run.ledger.set_fact("state", "finished")
    return folder


def make_map(folder: Path) -> Path:
    """A map of four modes, one with hostile words."""
    from weakspot.studies.map.result import Coverage, Estimate, Landscape, MapResult, Mode

    rates = [Estimate(rate=1 - i / 10, low=0.5, high=1.0, n=10, failures=9) for i in range(4)]
    modes = tuple(
        Mode(
            **dict(rate), peak=i, cells=1, region=((i,), (0,), (0,)), peak_words=f"rotate {i}",
            words=f"rotate {i} {HOSTILE if i == 2 else ''}",
        )
        for i, rate in enumerate(rates)
    )  # fmt: skip
    landscape = Landscape(
        cells=4, axes=(), above=0.5, rate=0.8, whole=rates[2], entropy=1.0, missed=0.0, missed_draws=0,
        coverage=Coverage(asked=1.0, known=0.0, above=1.0), modes=modes, modes_in_all=4, sets=(), worst=(),
        top=(), uncertain=(), heat=(), trace=(), queries=40, failures=36, search="random",
    )  # fmt: skip
    with Run.create(
        RunConfig(study="map", subject="w", settings={"target": "t", "seed": 0}), folder=folder
    ) as run:
        MapResult(landscape=landscape).keep(run)
        run.ledger.set_fact("state", "finished")
    return folder
