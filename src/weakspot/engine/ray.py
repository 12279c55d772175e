"""The same run on Ray: source, target and judge in processes of their own, on one machine or many.

A batch is drawn by one worker, answered by a second and judged by a third. Its inputs go from worker to
worker by reference and are freed when it is judged; the driver, the only writer of the ledger, is sent
trials and the few inputs that may be kept as evidence. Seeds follow from the cases, so which worker drew a
batch, how many there were and how often it had to be drawn again cannot be told from the ledger.
"""

from __future__ import annotations

import heapq
import math
import os
import socket
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from weakspot.core import WeakspotError
from weakspot.engine.identity import identify
from weakspot.engine.ray_pool import LIVES, Crew, Hand, Piece, WorkerTask
from weakspot.engine.ray_settings import POOLS, RaySettings


class RayExecutor:
    """Workers on a Ray cluster. Use as a context manager, or `close` it.

    Args:
        recipes: By pool, what makes its part; called in each worker. A `functools.partial` of a function that
            loads a name is small; an object given from Python is sent as it is.
        many: The source computes in Python, so that by default it gets every processor that is left.
        here: The parts as this machine has them, by pool; workers must have the same models. Without it
            they must agree with each other.

    Attributes:
        places: By pool, where its models run and in which number format, as far as they say.
    """

    def __init__(
        self,
        settings: RaySettings,
        recipes: Mapping[str, Callable[[], Any]],
        *,
        many: bool = False,
        here: Mapping[str, Any] | None = None,
    ) -> None:
        ray = library()
        self._own = not ray.is_initialized()
        self._crews: list[Crew] = []
        try:
            if self._own:
                connect(settings)
            there = ray.cluster_resources()
            self.settings = settings.sized(cpus=there.get("CPU", 1.0), many=many)
            if not settings.grow:
                _check(self.settings.asked, there)
            for name in POOLS:
                known = identify(here[name]) if here and name in here else None
                self._crews.append(Crew(name, self.settings.pools[name], recipes[name], here=known))
            while not all(any(hand.pid for hand in crew.hands) for crew in self._crews):
                self._wait(None)
        except BaseException:
            self.close()
            raise
        there = {crew.name: {model.place for model in crew.models} - {""} for crew in self._crews}
        self.places = {name: ", ".join(sorted(some)) for name, some in there.items() if some}
        # Enough that every worker has one piece to do and one that waits for it.
        busy = sum(len(crew.hands) for crew in self._crews)
        self.most = busy + max(len(crew.hands) for crew in self._crews) + self.settings.ahead

    def through(self, work: Iterable[Any], stages: Sequence[Callable[..., Any]]) -> Iterator[Any]:
        """Each piece of work through all stages, in the order of the work; no more than `most` at a time.

        A stage is called in a worker of its pool with its part, the piece of work and the results of the
        stages before. Only the last one's result comes here.
        """
        pieces, number = iter(work), 0
        line: deque[Piece] = deque()
        waiting: list[list[tuple[int, Piece]]] = [[] for _ in stages]
        try:
            while True:
                while len(line) < self.most:
                    one = next(pieces, self)  # itself: nothing that work could hold
                    if one is self:
                        break
                    line.append(Piece(number, one))
                    heapq.heappush(waiting[0], (number, line[-1]))
                    number += 1
                if not line:
                    return
                self._assign(waiting, stages)
                for piece in self._wait(0 if line[0].done else None):
                    if not piece.done and not piece.dropped:
                        heapq.heappush(waiting[piece.stage], (piece.number, piece))
                self._assign(waiting, stages)
                if line[0].done:
                    yield line.popleft().result
        finally:
            for piece in line:
                piece.dropped = True
                piece.results.clear()

    def _assign(self, waiting: list[list[tuple[int, Piece]]], stages: Sequence[Callable[..., Any]]) -> None:
        for stage, (crew, queue) in enumerate(zip(self._crews, waiting, strict=True)):
            while queue and (hand := crew.free()) is not None:
                crew.give(hand, heapq.heappop(queue)[1], stages[stage], last=crew is self._crews[-1])

    def _wait(self, timeout: float | None) -> list[Piece]:
        """Wait until a worker has done something; the pieces that can go on."""
        import ray

        busy = {task.sign: (crew, hand) for crew in self._crews for hand in crew.hands for task in hand.tasks}
        if not busy:
            return []
        signs, _ = ray.wait(list(busy), num_returns=1, timeout=timeout, fetch_local=False)
        return [piece for sign in signs for piece in self._ended(*busy[sign], sign)]

    def _ended(self, crew: Crew, hand: Hand, sign: Any) -> Iterator[Piece]:
        """Take what a worker has done, up to one task; it does them in their order."""
        import ray

        while hand.tasks:
            task = hand.tasks.popleft()
            try:
                said = ray.get(task.sign)
            except ray.exceptions.RayError as error:
                yield from self._failed(crew, hand, task, error)
                return
            if task.piece is None:
                crew.came(hand, said)
            else:
                if crew is self._crews[-1]:
                    task.piece.result, task.piece.done = said, True
                    task.piece.results.clear()  # with the last reference the inputs are freed
                else:
                    task.piece.results.append(task.result)
                yield task.piece
            if task.sign == sign:
                return

    def _failed(self, crew: Crew, hand: Hand, task: WorkerTask, error: Exception) -> Iterator[Piece]:
        """A worker died, or what it needed was lost with another machine; or the stage itself is broken."""
        import ray

        lost: Any = (
            ray.exceptions.ObjectLostError,
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
        )
        cause = getattr(error, "cause", None) or error
        died = isinstance(cause, ray.exceptions.RayActorError)
        if not died and not isinstance(cause, lost):
            what = f"{type(cause).__name__}: {cause}"
            raise WeakspotError(
                f"the {crew.name} cannot work on Ray: {what.strip()[:500]}", fix="try --executor local"
            ) from error
        why = str(cause).strip().splitlines()[-1][:300]
        left = crew.lost(hand, why) if died else ()
        if task.piece is not None:
            task.piece.deaths += 1
            if task.piece.deaths >= LIVES and not task.piece.dropped:
                raise WeakspotError(
                    f"{LIVES} workers died on the same batch, the last a {crew.name}'s: {why}",
                    fix="it may need more memory than there is; --executor local shows it here",
                ) from error
            task.piece.results.clear()  # drawn again, under the same seeds
            yield task.piece
        for other in left:  # these waited, and are not to blame
            if other.piece is not None:
                yield other.piece

    def close(self) -> None:
        """End the workers, and the connection if it was made here. Closing twice is closing once."""
        import ray

        with suppress(Exception):  # the cluster may be gone, which is as good
            for crew in self._crews:
                crew.end()
        self._crews = []
        if self._own and ray.is_initialized():
            ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def library() -> Any:
    """Ray itself, which sends no statistics."""
    # Read when Ray is imported; who set them otherwise knows why.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of pieces that nobody wants any more
    try:
        import ray
    except ImportError as error:
        raise WeakspotError(
            f"the executor 'ray' needs a library that is missing: {error}",
            fix="pip install 'weakspot[scale]'",
        ) from error
    return ray


def connect(settings: RaySettings) -> None:
    """Reach a cluster, or start a Ray of one's own."""
    import ray

    how: dict[str, Any] = {"address": settings.address or "local"}
    if not settings.address:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        how |= {
            "num_cpus": math.ceil(settings.cpus or max(cores, settings.asked["CPU"])),
            "object_store_memory": max(settings.store, 80) << 20,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",  # nobody else can reach it
        }
    try:
        if settings.address:
            _reach(settings.address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(log_to_driver=False, logging_level="error", **how)
    except WeakspotError:
        raise
    except Exception as error:  # Ray raises whatever its parts raise
        what = f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]
        where = f"no Ray cluster at {settings.address[:80]!r}" if settings.address else "Ray does not start"
        raise WeakspotError(
            f"{where}: {what}",
            fix="start one with: ray start --head" if settings.address else "see the logs of Ray",
        ) from error
    # A worker's death is our business; Ray would print it into the result on standard output.
    with suppress(AttributeError):
        ray._private.worker._worker_logs_enabled = False


def _reach(address: str) -> None:
    """Ray itself would wait for minutes at an address where nobody is."""
    host, _, port = address.rpartition(":")
    if address in ("auto", "local"):
        return
    if not host or not port.isdigit() or int(port) > 65535:
        raise WeakspotError(
            f"{address[:80]!r} is not an address", fix="write it as ray:auto or ray:HOST:PORT"
        )
    with socket.create_connection((host.strip("[]"), int(port)), timeout=10):
        pass


def _check(asked: Mapping[str, float], there: Mapping[str, float]) -> None:
    for what, amount in asked.items():
        if amount > there.get(what, 0.0) + 1e-6:
            unit, name = (1 << 30, "GB of memory") if what == "memory" else (1, f"{what}s")
            raise WeakspotError(
                f"the workers ask for {amount / unit:g} {name}, Ray has {there.get(what, 0.0) / unit:g}",
                fix="ask for fewer or smaller workers; grow=yes if the cluster will grow",
            )
