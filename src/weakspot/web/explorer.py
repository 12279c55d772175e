"""The explorer: runs, their progress, their trials, one trial's story, two runs compared, words tried."""

from __future__ import annotations

from functools import lru_cache
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
from weakspot.web.trials import ORDERS, VERDICTS, Row, Wanted, reading
from weakspot.web.tries import MOST, Job, Measure
from weakspot.web.tries import Tries as Trying

#: Runs of the list that are read; of further ones only the names are shown.
LISTED: Final = 60
#: Pictures shown of what was tried.
STRIP: Final = 16
#: Hypotheses that can be chosen in the grid's form.
CHOICES: Final = 400


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
                Route(f"{run}/live", self.live),
                Route(f"{run}/trials", self.trials),
                Route(f"{run}/trial/{{hypothesis}}/{{index:int}}", self.trial),
                Route(f"{run}/small/{{digest}}", self.small),
                Route(f"{run}/picture/{{digest}}", self.picture),
                Route(f"{run}/try", self.try_),
                Route(f"{run}/try", self.try_words, methods=["POST"]),
                Route(f"{run}/try/live", self.try_live),
            ],
            exception_handlers={404: pages.missing, WeakspotError: pages.problem},
        )

    # -- pages -------------------------------------------------------------------------------------

    def runs(self, request: Request) -> Response:
        """All runs."""
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

    def run(self, request: Request) -> Response:
        """One run."""
        return pages.page("run.html.j2", **self._run(request))

    def live(self, request: Request) -> Response:
        """What changes on the page of a run."""
        return pages.page("run_live.html.j2", **self._run(request))

    def trials(self, request: Request) -> Response:
        """A grid of trials."""
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
        """One trial."""
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
        """Two runs."""
        folders = self.shelf.folders()
        names = request.query_params.get("a", ""), request.query_params.get("b", "")
        chosen = [folders.get(name) for name in names]
        found = compared(chosen[0], chosen[1]) if chosen[0] and chosen[1] else None
        return pages.page("compare.html.j2", runs=list(folders), names=names, found=found)

    # -- pictures ----------------------------------------------------------------------------------

    def small(self, request: Request) -> Response:
        """An input, small."""
        return self._picture(request, SMALL)

    def picture(self, request: Request) -> Response:
        """An input."""
        return self._picture(request, LARGE)

    def _picture(self, request: Request, longest: int) -> Response:
        _, folder = self._folder(request)
        return self.pictures.response((_kept(folder),), request.path_params["digest"], longest)

    # -- tries -------------------------------------------------------------------------------------

    def try_(self, request: Request) -> Response:
        """Where a person writes words, and what became of them."""
        return self._try(request)

    async def try_words(self, request: Request) -> Response:
        """Begin to measure words."""
        given = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        return await run_in_threadpool(self._start, request, given)

    def try_live(self, request: Request) -> Response:
        """How the try stands."""
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
            return self._try(request, error=error, words=given.get("words", ""))
        return RedirectResponse(pages.address("run", name, "try"), 303)

    def _try(self, request: Request, *, error: WeakspotError | None = None, words: str = "") -> Response:
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

    def _run(self, request: Request) -> dict[str, Any]:
        name, folder = self._folder(request)
        return {
            "sight": sight(name, folder),
            "command": shell(["weakspot", "report", str(folder), "--open"]),
        }


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


def _examples(folder: Path, job: Job | None) -> list[Row]:
    """Some kept inputs of what was tried, failures first."""
    if job is None or job.result is None:
        return []
    wanted = Wanted(hypothesis=str(job.result["id"]), kept=True, order="verdict")
    with reading(folder) as ledger:
        return ledger.page(wanted, most=STRIP).rows
