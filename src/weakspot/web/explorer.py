"""The explorer: runs, their progress, their trials, one trial's story, two runs compared, words tried."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from weakspot.core import WeakspotError
from weakspot.report.format import shell
from weakspot.store import Blobs, Run, RunConfig, kept_by
from weakspot.studies.hunt.listing import baselines_of
from weakspot.studies.hunt.result import Tries
from weakspot.web import pages
from weakspot.web.compare import compared
from weakspot.web.pictures import LARGE, SMALL, Pictures
from weakspot.web.runs import Shelf, Sight, phrases, sight, slices, story
from weakspot.web.trials import ORDERS, VERDICTS, TrialRow, Wanted, reading

#: Runs of the list that are read; of further ones only the names are shown.
LISTED: Final = 60
#: Pictures shown of what was tried.
STRIP: Final = 16
#: Hypotheses that can be chosen in the grid's form.
CHOICES: Final = 400
#: Characters of a person's words, and images drawn for them.
LONGEST, MOST = 2_000, 4_096

#: Told failures, trials with a verdict, images drawn just now.
Update = Callable[[int, int, int], None]
#: (run folder, words, label or None, images at most, update) → what was measured, as plain values.
Measure = Callable[[Path, str, str | None, int, Update], Mapping[str, Any]]


class Explorer:
    """The pages of a folder of runs, or of a run, and what they remember: made pictures and tries."""

    def __init__(self, root: Path, *, measure: Measure | None = None) -> None:
        """Without something that measures a person's words nothing can be tried."""
        self.shelf, self.pictures, self.tries = Shelf(root), Pictures(), Trying(measure)

    def app(self) -> Starlette:
        """The pages, without their guard (see `serve`)."""
        run = "/run/{run}"
        return Starlette(
            routes=[
                Route("/", self.runs),
                Route("/compare", self.compare),
                Route("/static/{name}", pages.static),
                Route(run, self.run),
                Route(f"{run}/live", partial(self.run, template="run_live.html.j2")),
                Route(f"{run}/trials", self.trials),
                Route(f"{run}/trial/{{hypothesis}}/{{index:int}}", self.trial),
                Route(f"{run}/small/{{digest}}", partial(self.picture, longest=SMALL)),
                Route(f"{run}/picture/{{digest}}", self.picture),
                Route(f"{run}/try", self.try_),
                Route(f"{run}/try", self.try_words, methods=["POST"]),
                Route(f"{run}/try/live", self.try_live),
            ],
            exception_handlers={404: pages.missing, WeakspotError: pages.problem},
        )

    # -- pages -------------------------------------------------------------------------------------

    def runs(self, request: Request) -> Response:
        folders = self.shelf.folders()
        if len(folders) == 1 and not request.query_params:
            return RedirectResponse(pages.address("run", next(iter(folders))), 303)
        rows: list[tuple[str, Sight | None, str]] = []
        for number, (name, folder) in enumerate(folders.items()):
            try:
                rows.append((name, sight(name, folder, lines=0) if number < LISTED else None, ""))
            except WeakspotError as error:
                rows.append((name, None, error.what))
        return pages.page("runs.html.j2", rows=rows, root=str(self.shelf.given))

    def run(self, request: Request, template: str = "run.html.j2") -> Response:
        name, folder = self._folder(request)
        command = shell(["weakspot", "report", str(folder), "--open"])
        return pages.page(template, sight=sight(name, folder), command=command)

    def trials(self, request: Request) -> Response:
        name, folder = self._folder(request)
        given = dict(request.query_params)
        wanted = Wanted.of(given)
        with reading(folder) as ledger:
            found = ledger.page(wanted, after=given.get("after", ""), before=given.get("before", ""))
            known, tallies = ledger.hypotheses(), ledger.tallies(wanted.stage)
            facets = ledger.facets(wanted)
        words = phrases(known.values())
        drawn = sorted(tallies.items(), key=lambda one: (-one[1].failures, one[0]))[:CHOICES]
        counted = [tally for key, tally in tallies.items() if wanted.hypothesis in ("", known[key].id)]
        return pages.page(
            "trials.html.j2",
            run=name,
            study=RunConfig.read(folder / "run.yaml").study,
            page=found,
            wanted=wanted,
            query=wanted.query(),
            here=pages.address("run", name, "trials"),
            words=words,
            hypotheses=[(known[key], words[known[key].id], tally.drawn) for key, tally in drawn],
            facets=facets,
            slices=slices(known),
            verdicts=list(VERDICTS),
            orders=ORDERS,
            total=sum(tally.drawn for tally in counted),
            first="after" not in given and "before" not in given,
        )

    def trial(self, request: Request) -> Response:
        name, folder = self._folder(request)
        found = story(folder, request.path_params["hypothesis"], request.path_params["index"])
        if found is None:
            raise HTTPException(404)
        trial = found["trial"]
        picture = trial.blob if trial.blob and not found["text"] else None
        return pages.page(
            "trial.html.j2", run=name, study=found["study"], story=found, trial=trial, picture=picture
        )

    def compare(self, request: Request) -> Response:
        folders = self.shelf.folders()
        names = request.query_params.get("a", ""), request.query_params.get("b", "")
        chosen = [folders.get(name) for name in names]
        found = compared(chosen[0], chosen[1]) if chosen[0] and chosen[1] else None
        return pages.page("compare.html.j2", runs=list(folders), names=names, found=found)

    # -- pictures ----------------------------------------------------------------------------------

    def picture(self, request: Request, longest: int = LARGE) -> Response:
        _, folder = self._folder(request)
        return self.pictures.response((_kept(folder),), request.path_params["digest"], longest)

    # -- tries -------------------------------------------------------------------------------------

    async def try_words(self, request: Request) -> Response:
        given = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        return await run_in_threadpool(self._start, request, given)

    def try_live(self, request: Request) -> Response:
        name, folder = self._folder(request)
        job = self.tries.job(name)
        return pages.page("try_live.html.j2", run=name, job=job, examples=_examples(folder, job))

    def _start(self, request: Request, given: dict[str, str]) -> Response:
        name, folder = self._folder(request)
        most = given.get("n", "256")
        try:
            self.tries.start(
                name,
                folder,
                given.get("words", ""),
                label=given.get("label") or None,
                most=int(most) if most.isascii() and most.isdecimal() and len(most) < 9 else 0,
            )
        except WeakspotError as error:
            return self.try_(request, error=error, words=given.get("words", ""))
        return RedirectResponse(pages.address("run", name, "try"), 303)

    def try_(self, request: Request, *, error: WeakspotError | None = None, words: str = "") -> Response:
        """Where a person writes words, and what became of them."""
        name, folder = self._folder(request)
        with Run.read(folder) as run:
            known = {h.id: h for h in run.ledger.hypotheses()}
            bases = baselines_of(run) if run.config.study == "hunt" else ()
            earlier = [
                (
                    known[row.hypothesis],
                    known[row.hypothesis].beyond(known.get(row.baseline)),
                    run.ledger.tallies().get(row.hypothesis),
                    row.verdict,
                )
                for row in (Tries.of(run) or Tries()).rows
                if row.hypothesis in known
            ][:50]
            return pages.page(
                "try.html.j2",
                status=200 if error is None else 422,
                run=name,
                can=self.tries.measure is not None and run.config.study == "hunt" and bool(bases),
                study=run.config.study,
                bases=[(base.label, base.hypothesis.text, base.rate) for base in bases],
                labels=list(run.config.settings.get("labels") or ()),
                earlier=earlier[::-1],
                job=self.tries.job(name),
                examples=_examples(folder, self.tries.job(name)),
                error=error,
                words=words[:2_000],
                most=MOST,
            )

    # -- inside ------------------------------------------------------------------------------------

    def _folder(self, request: Request) -> tuple[str, Path]:
        name = request.path_params["run"]
        folder = self.shelf.folder(name)
        if folder is None:
            raise HTTPException(404)
        return name, folder


def _kept(folder: Path) -> Blobs:
    """The inputs that a run kept; where its folder has them, nothing else is read."""
    file = folder / "run.yaml"
    if (folder / "blobs").is_dir() or not file.is_file():
        return Blobs(folder / "blobs")
    return _kept_elsewhere(folder, file.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _kept_elsewhere(folder: Path, changed: int) -> Blobs:
    del changed
    return kept_by(folder, RunConfig.read(folder / "run.yaml"))


def _examples(folder: Path, job: Job | None) -> list[TrialRow]:
    """Some kept inputs of what was tried, failures first."""
    if job is None or job.result is None:
        return []
    wanted = Wanted(hypothesis=str(job.result["id"]), kept=True, order="verdict")
    with reading(folder) as ledger:
        return ledger.page(wanted, most=STRIP).rows


# -- tries ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Job:
    """A try, under way or done."""

    run: str
    words: str
    most: int
    failures: int = 0
    n: int = 0
    drawn: int = 0
    result: Mapping[str, Any] | None = None
    error: str = ""
    fix: str = ""
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        return self.result is not None or bool(self.error)


class Trying:
    """The last try of each run; no more than one is under way."""

    def __init__(self, measure: Measure | None) -> None:
        self.measure, self._lock = measure, threading.Lock()
        self._jobs: dict[str, Job] = {}

    def job(self, run: str) -> Job | None:
        return self._jobs.get(run)

    def start(self, run: str, folder: Path, words: str, *, label: str | None, most: int) -> Job:
        words = words.strip()
        if self.measure is None:
            raise WeakspotError("nothing can be tried here", fix="start the page with: weakspot view")
        if not words or len(words) > LONGEST:
            raise WeakspotError(
                "there are no words to try" if not words else f"{len(words):,} characters are too many",
                fix="write a sentence, e.g. it is on a red flower.",
            )
        if not 1 <= most <= MOST:
            raise WeakspotError(f"{most} images cannot be drawn", fix=f"choose between 1 and {MOST:,}")
        with self._lock:
            busy = next((job for job in self._jobs.values() if not job.done), None)
            if busy is not None:
                raise WeakspotError("another try is under way", fix="wait until it is done")
            job = self._jobs[run] = Job(run, words, most)
        threading.Thread(target=self._work, args=(job, folder, label), daemon=True).start()
        return job

    def _work(self, job: Job, folder: Path, label: str | None) -> None:
        def update(failures: int, n: int, drawn: int) -> None:
            job.failures, job.n, job.drawn = failures, n, drawn
            job.seconds = time.monotonic() - job.began

        assert self.measure is not None  # noqa: S101 - `start` has looked
        try:
            result = self.measure(folder, job.words, label, job.most, update)
            job.seconds = time.monotonic() - job.began
            job.result = result
        except WeakspotError as error:
            job.fix, job.error = error.fix, error.what
        except Exception as error:  # whatever a model raises is told on the page, and ends only this try
            job.error = f"{type(error).__name__}: {error}"[:1000]
