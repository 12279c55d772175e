"""The explorer: runs, their progress, their trials, one trial's story, two runs compared, words tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final
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
from weakspot.web.reports import Reports
from weakspot.web.runs import Shelf, Sight, phrases, sight, slices, story, views_of
from weakspot.web.trials import Trials, reading
from weakspot.web.trying import MOST, Job, Measure, Trying
from weakspot.web.wanted import ORDERS, VERDICTS, Page, PageMark, TrialRow, Wanted

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
        self.reports = Reports()

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
                Route(f"{run}/report", self.report),
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

    def report(self, request: Request) -> Response:
        """The run's report as it is now, with a way back."""
        name, folder = self._folder(request)
        back = ((pages.address("run", name), "Explorer"), (pages.address("run", name, "trials"), "Trials"))
        return self.reports.response(folder, back)

    def trials(self, request: Request) -> Response:
        name, folder = self._folder(request)
        given = dict(request.query_params)
        wanted, own = Wanted.of(given), views_of(folder)
        with reading(folder, slices=own.slices, texts=_searched(folder, wanted)) as ledger:
            found, start = _page(ledger, wanted, given)
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
            place=wanted.query() | {"order": wanted.order},
            views=own.views,
            pictures=_pictures(folder, found.rows),
            at=start,
            here=pages.address("run", name, "trials"),
            words=words,
            plain={h.id for h in known.values() if h.origin == "baseline"},
            hypotheses=[(known[key], words[known[key].id], tally.drawn) for key, tally in drawn],
            facets=facets,
            slices=[*slices(known), *own.slices][:CHOICES],
            verdicts=list(VERDICTS),
            orders=ORDERS,
            total=sum(tally.drawn for tally in counted),
            first=not any(given.get(key) for key in ("after", "before", "at")),
        )

    def trial(self, request: Request) -> Response:
        name, folder = self._folder(request)
        found = story(folder, request.path_params["hypothesis"], request.path_params["index"])
        if found is None:
            raise HTTPException(404)
        trial, given = found["trial"], dict(request.query_params)
        picture = trial.blob if trial.blob and not found["text"] else None
        wanted = Wanted.of(given) if given else Wanted(hypothesis=trial.hypothesis, order="drawn")
        own = views_of(folder)
        with reading(folder, slices=own.slices, texts=_searched(folder, wanted)) as ledger:
            mark = ledger.place(wanted, trial.hypothesis, trial.index)
            near = [ledger.page(wanted, **way, most=1) for way in _ways(mark)]
        query = wanted.query() | {"order": wanted.order}
        before, after = ([_next(name, one, query) for one in near] or [None, None])[:2]
        return pages.page(
            "trial.html.j2",
            run=name,
            study=found["study"],
            story=found,
            trial=trial,
            picture=picture,
            before=before,
            after=after,
            up=pages.with_query(
                pages.address("run", name, "trials"), query, {"at": str(mark)} if mark is not None else {}
            ),
            all_of=pages.address("run", name, "trials", hypothesis=trial.hypothesis),
            chosen=bool(given),
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


#: Trials of a page that are shown before the one that a reader comes back from.
ABOVE: Final = 12


def _page(ledger: Trials, wanted: Wanted, given: Mapping[str, str]) -> tuple[Page, str]:
    """The page that an address asks for; where it asks for a trial, those around it, and which it is."""
    mark = PageMark.of(given.get("at", ""))
    if mark is None:
        return ledger.page(wanted, after=given.get("after", ""), before=given.get("before", "")), ""
    earlier = ledger.page(wanted, before=str(mark), most=ABOVE).rows
    first = PageMark.of(earlier[0].place) if earlier else mark
    begin = (first or mark)._replace(idx=(first or mark).idx - 1)
    return ledger.page(wanted, after=str(begin)), str(mark)


def _ways(mark: PageMark | None) -> list[dict[str, str]]:
    return [] if mark is None else [{"before": str(mark)}, {"after": str(mark)}]


def _next(run: str, page: Page, query: Mapping[str, str]) -> str | None:
    """The address of the one trial of a page; where none was found yet, of the page that looks on."""
    if page.rows:
        row = page.rows[0]
        return pages.with_query(pages.address("run", run, "trial", row.hypothesis, row.index), query)
    if page.whole or not page.after:
        return None
    return pages.with_query(pages.address("run", run, "trials"), query, {"after": page.after})


def _searched(folder: Path, wanted: Wanted) -> Blobs | None:
    """The kept inputs, where their texts are to be searched and lie on this machine."""
    kept = _kept(folder) if wanted.search else None
    return kept if kept is not None and type(kept) is Blobs else None


def _pictures(folder: Path, rows: Sequence[TrialRow]) -> set[str]:
    """Of kept inputs those that are pictures; far away nobody looks, and all are taken for pictures."""
    kept = _kept(folder)
    digests = {row.blob for row in rows if row.blob}
    return digests if type(kept) is not Blobs else {one for one in digests if _is_picture(kept.folder, one)}


@lru_cache(maxsize=10_000)
def _is_picture(folder: Path, digest: str) -> bool:
    try:
        head = Blobs(folder).head(digest, 12)
    except (WeakspotError, OSError):
        return True  # the page says that it is gone
    return head.startswith((b"\x89PNG", b"\xff\xd8")) or head[8:12] == b"WEBP"


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
