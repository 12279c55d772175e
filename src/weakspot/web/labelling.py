"""The labelling page: one item at a time, by keys, saved at once. Who comes back goes on where they were."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from weakspot.core import WeakspotError
from weakspot.report.people.labels import Labels, annotator_name, folded, same_person
from weakspot.report.people.ratings import fill_in
from weakspot.report.people.tasks import Item, Task, order, shared_out
from weakspot.web import pages
from weakspot.web.pictures import LARGE, Pictures
from weakspot.web.serve import PERSON


class Labelling:
    """The pages of one task of a run, for `annotators`, or for anybody who gives a name.

    All of them get a share of the items, the `overlap`; the others are shared out among them.
    """

    def __init__(
        self, folder: Path, task: Task, *, annotators: Sequence[str] = (), overlap: float = 1.0
    ) -> None:
        if not 0 <= overlap <= 1:
            raise WeakspotError(f"an overlap cannot be {overlap}", fix="choose a share between 0 and 1")
        names = [annotator_name(name) for name in annotators]
        self.annotators = tuple({folded(name): name for name in reversed(names)}.values())[::-1]
        if overlap < 1 and len(self.annotators) < 2:
            raise WeakspotError(
                "items can only be shared out among annotators that are known",
                fix="name them, e.g. --annotator Ann --annotator Bob, or leave out --overlap",
            )
        self.folder, self.task, self.overlap = folder, task, overlap
        self.labels, self.pictures = Labels(folder), Pictures()
        self._lock = threading.Lock()
        self._pictures = {item.picture for item in task.items if item.picture}
        self._pictures |= {one for item in task.items for choice in item.choices for one in choice.pictures}

    def app(self) -> Starlette:
        """The pages, without their guard (see `serve`)."""
        return Starlette(
            routes=[
                Route("/", self.start),
                Route("/begin", self.begin, methods=["POST"]),
                Route("/static/{name}", pages.static),
                Route("/picture/{digest}", self.picture),
                Route("/as/{annotator}", self.next),
                Route("/as/{annotator}", self.say, methods=["POST"]),
                Route("/as/{annotator}/undo", self.undo, methods=["POST"]),
            ],
            exception_handlers={404: pages.missing, WeakspotError: pages.problem},
        )

    def start(self, request: Request) -> Response:
        """Who labels, and how far everybody is; with a link of one's own, one's own questions."""
        if person := request.scope.get(PERSON):
            return RedirectResponse(pages.address("as", person), 303)
        return self._start()

    async def begin(self, request: Request) -> Response:
        if person := request.scope.get(PERSON):
            return RedirectResponse(pages.address("as", person), 303)
        given = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        try:
            name = annotator_name(given.get("name", ""))
        except WeakspotError as error:
            return await run_in_threadpool(self._start, error=error)
        return RedirectResponse(pages.address("as", await run_in_threadpool(self._known, name)), 303)

    def next(self, request: Request) -> Response:
        """The item that is to be labelled next, or one that was labelled before."""
        name = self._name(request)
        items, said = self._items(name), self._said(name)
        wanted = request.query_params.get("item", "")
        left = [item for item in items if item.id not in said]
        item = next((one for one in items if one.id == wanted), left[0] if left else None)
        done = len(items) - len(left)
        if item is None:
            return pages.page(
                "label_done.html.j2", name=name, task=self.task, items=items, folder=str(self.folder)
            )
        return pages.page(
            "label.html.j2",
            name=name,
            task=self.task,
            item=item,
            number=items.index(item) + 1,
            total=len(items),
            done=done,
            said=said.get(item.id),
            can_undo=bool(said),
        )

    async def say(self, request: Request) -> Response:
        given = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        return await run_in_threadpool(self._say, request, given)

    def _say(self, request: Request, given: dict[str, str]) -> Response:
        name = self._name(request)
        item = next((one for one in self._items(name) if one.id == given.get("item")), None)
        if item is None or given.get("label") not in [choice.value for choice in item.choices]:
            raise HTTPException(400, "This is not an answer to a question on this page.")
        with self._lock:
            self.labels.add(self.task.name, item.id, name, given["label"])
            self._hand_on(name)
        return RedirectResponse(pages.address("as", name), 303)

    def undo(self, request: Request) -> Response:
        name = self._name(request)
        with self._lock:
            item = self.labels.undo(self.task.name, name)
            self._hand_on(name)
        return RedirectResponse(pages.address("as", name, item=item or ""), 303)

    def picture(self, request: Request) -> Response:
        """A picture of an item; of no other."""
        digest = request.path_params["digest"]
        if digest not in self._pictures:
            raise HTTPException(404)
        return self.pictures.response(self.task.blobs, digest, LARGE, files=self.task.files)

    # -- inside ------------------------------------------------------------------------------------

    def _hand_on(self, name: str) -> None:
        """Ratings also go where the judge of the run reads them."""
        if self.task.table is not None:
            fill_in(self.task.table, self.labels.current(self.task.name), annotators=(name,))

    def _start(self, *, error: WeakspotError | None = None) -> Response:
        said: dict[str, int] = dict.fromkeys(self.annotators, 0)
        known = {item.id for item in self.task.items}
        for label in self.labels.current(self.task.name):
            if label.item in known:
                name = self._known(label.annotator)
                said[name] = said.get(name, 0) + 1
        rows = [(name, times, len(self._items(name))) for name, times in said.items()]
        status = 200 if error is None else 422
        return pages.page(
            "label_start.html.j2",
            status=status,
            task=self.task,
            rows=rows,
            free=not self.annotators,
            error=error,
            subject=self.folder.name,
        )

    def _name(self, request: Request) -> str:
        try:
            name = annotator_name(request.path_params["annotator"])
        except WeakspotError:
            raise HTTPException(404) from None
        known, person = self._known(name), request.scope.get(PERSON)
        if person and not same_person(person, known):
            raise HTTPException(404)  # the link is another person's
        if name != request.path_params["annotator"] or (self.annotators and known not in self.annotators):
            raise HTTPException(404)
        return known

    def _known(self, name: str) -> str:
        """A name as this page knows it, however it was written: "Ann" and "ann" are one person."""
        own = next((one for one in self.annotators if same_person(one, name)), None)
        return own or self.labels.known_as(name)

    def _items(self, name: str) -> list[Item]:
        own = shared_out(self.task.items, name, self.annotators, self.overlap)
        return order(own, name, salt=self.folder.name + self.task.name)

    def _said(self, name: str) -> dict[str, str]:
        current = self.labels.current(self.task.name)
        return {one.item: one.label for one in current if same_person(one.annotator, name)}
