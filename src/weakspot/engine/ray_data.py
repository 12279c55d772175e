"""Pieces of a table counted by Ray Data: on one machine or many, with the result that one process has."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Self, TypeVar

from weakspot.core import WeakspotError
from weakspot.engine.ray import connect, library
from weakspot.engine.ray_pool import Surroundings
from weakspot.engine.ray_settings import RaySettings

W = TypeVar("W")
C = TypeVar("C")
O = TypeVar("O")  # noqa: E741


class RayDataExecutor:
    """Workers of Ray Data; they must see the files of the table under the same names.

    Ray is reached when there is work, since a table that fits into memory leaves none.

    Args:
        settings: Of its pools the one of sources does the work.
    """

    def __init__(self, settings: RaySettings) -> None:
        self.settings = settings
        self._own = False

    def stream(self, work: Iterable[W], draw: Callable[[W], C], answer: Callable[[C], O]) -> Iterator[O]:
        """`answer(draw(w))` for each piece, in the order of the work; only `answer` is called here."""
        ray = library()
        if not ray.is_initialized():
            connect(self.settings)
            self._own = True
        pieces = [{"number": i, "work": ray.cloudpickle.dumps((draw, w))} for i, w in enumerate(work)]
        if not pieces:
            return
        found = self._mapped(pieces)
        done: dict[int, C] = {}
        place = 0
        try:
            for row in found.iter_rows():
                done[int(row["number"])] = _result(row["result"])
                while place in done:
                    yield answer(done.pop(place))
                    place += 1
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error
            raise WeakspotError(
                f"Ray Data cannot go on: {str(cause).strip().splitlines()[-1][:300]}",
                fix="try --executor local",
            ) from error

    def _mapped(self, pieces: list[dict[str, Any]]) -> Any:
        """The data set of what is done with the pieces; nothing has begun."""
        pool = self.settings.pools["source"]
        uses: dict[str, Any] = {"num_cpus": pool.cpus, "num_gpus": pool.gpus or None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray warns of settings of its own
            try:
                from ray import data
            except ImportError as error:
                raise WeakspotError(
                    f"Ray Data needs a library that is missing: {error}", fix="pip install 'ray[data]'"
                ) from error
            data.DataContext.get_current().enable_progress_bars = False
            logging.getLogger("ray.data").setLevel(logging.ERROR)
            return data.from_items(pieces, override_num_blocks=len(pieces)).map(
                _Doing(Surroundings.here()),
                memory=pool.memory * (1 << 30) or None,
                compute=data.TaskPoolStrategy(pool.workers),
                **uses,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection if it was made here."""
        if self._own:
            with suppress(Exception):  # the cluster may be gone, which is as good
                library().shutdown()
        self._own = False


class _Doing:
    """One piece, done by a worker; what a user can mend goes back as it is."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        self.surroundings.enter()
        draw, work = pickle.loads(row["work"])  # noqa: S301 (of our own driver)
        try:
            result = draw(work)
        except WeakspotError as error:
            result = error
        return {"number": row["number"], "result": pickle.dumps(result)}


def _result(content: bytes) -> Any:
    found = pickle.loads(content)  # noqa: S301 (of our own workers)
    if isinstance(found, WeakspotError):
        raise found
    return found
