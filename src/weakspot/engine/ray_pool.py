"""Workers of one kind on a Ray cluster: each is a process that makes its part itself and then serves it.

A worker is given a recipe, not the part: for what has a name that is the name, so nothing heavy travels.
What passes from worker to worker is packed by the one and unpacked by the next, and the driver holds
references only.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError
from weakspot.engine.identity import Identity, identify, must_agree
from weakspot.engine.ray_settings import Pool

#: Tasks handed to a worker at a time: one that it does, and one that it finds when it is done.
DEPTH: Final = 2
#: So often a worker may die of the same batch, or before it is ready, until the run ends.
LIVES: Final = 3
#: Variables that a worker on another machine takes over.
_CARRIED: Final = ("WEAKSPOT_", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "NLTK_DATA")


class Surroundings(NamedTuple):
    """Where names are looked up: a relative path or a module of the user's own means the same everywhere."""

    folder: str
    path: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]

    @classmethod
    def here(cls) -> Surroundings:
        carried = {k: v for k, v in os.environ.items() if k.startswith(_CARRIED)}
        folder = str(Path.cwd())
        return cls(folder, tuple(p or folder for p in sys.path), tuple(carried.items()))

    def enter(self) -> None:
        """Make another process like it, as far as that machine has the same folders."""
        for name, value in self.variables:
            os.environ.setdefault(name, value)
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        sys.path += [p for p in self.path if p not in sys.path and Path(p).exists()]


class Loaded(NamedTuple):
    """What a worker says when it has made its part, or could not.

    Attributes:
        what: What went wrong; "" where nothing did.
        models: What its part is made of.
    """

    pid: int
    what: str = ""
    fix: str = ""
    models: tuple[Identity, ...] = ()


class Worker:
    """What runs in a worker's process. Its methods are called one after the other."""

    def __init__(self, place: tuple[Any, ...]) -> None:
        Surroundings(*place).enter()
        self._part: Any = None

    def load(self, recipe: bytes) -> Loaded:
        """Make the part, and say which models it is made of."""
        try:
            self._part = pickle.loads(recipe)()  # noqa: S301 (of our own driver)
            return Loaded(os.getpid(), models=tuple(identify(self._part)))
        except WeakspotError as error:
            return Loaded(os.getpid(), error.what, error.fix or "")
        except Exception as error:  # of any model's library; the driver says it
            return Loaded(os.getpid(), f"{type(error).__name__}: {error}"[:500])

    def step(self, function: Callable[..., Any], work: Any, *earlier: bytes) -> tuple[None, bytes]:
        """A sign that it is done, and the packed result, which stays where it is until it is needed."""
        from ray import cloudpickle

        return None, cloudpickle.dumps(self.finish(function, work, *earlier))

    def finish(self, function: Callable[..., Any], work: Any, *earlier: bytes) -> Any:
        # Unpacked anew, an input may be written to, as it may be where everything is one process.
        return function(self._part, work, *(pickle.loads(one) for one in earlier))  # noqa: S301


@dataclass(slots=True, eq=False)
class Piece:
    """One piece of work on its way.

    Attributes:
        results: References to what the stages so far have made.
        done: The last stage's result is there.
    """

    number: int
    work: Any
    results: list[Any] = field(default_factory=list)
    deaths: int = 0
    done: bool = False
    dropped: bool = False
    result: Any = None

    @property
    def stage(self) -> int:
        return len(self.results)


class WorkerTask(NamedTuple):
    """What a worker was told to do; `piece` is None for making its part.

    Attributes:
        sign: Ready when it is done; for the last stage the result itself.
        result: A reference to what it makes.
    """

    piece: Piece | None
    sign: Any
    result: Any = None


@dataclass(slots=True, eq=False)
class Hand:
    """The driver's side of a worker: its handle and what it has been told, oldest first."""

    handle: Any
    step: Any
    tasks: deque[WorkerTask]
    pid: int = 0

    @property
    def ready(self) -> bool:
        """It has made its part and can take more."""
        return bool(self.pid) and len(self.tasks) < DEPTH


class Crew:
    """All workers of one kind.

    Args:
        pool: How many, and what each may use.
        recipe: Makes the part; called in the worker.
        here: What the part is made of on this machine; None: as the first worker's, which all must be like.

    Attributes:
        models: What their part is made of, once the first is ready.
    """

    def __init__(
        self, name: str, pool: Pool, recipe: Callable[[], Any], *, here: Sequence[Identity] | None = None
    ) -> None:
        import ray
        from ray import cloudpickle

        self.name, self._deaths, self._here = name, 0, here
        self.models: tuple[Identity, ...] = ()
        try:
            self._recipe = ray.put(cloudpickle.dumps(recipe))
        except Exception as error:  # pickling calls the user's own code, which may raise anything
            raise WeakspotError(
                f"the {name} cannot be sent to another process: {type(error).__name__}: {error}"[:500],
                fix="give it by a name, such as python:package.module:attr, or use --executor local",
            ) from error
        self._make = ray.remote(Worker).options(
            num_cpus=pool.cpus,
            num_gpus=pool.gpus,
            memory=int(pool.memory * (1 << 30)) or None,
            max_restarts=0,
            max_task_retries=0,
        )
        self._place = tuple(Surroundings.here())
        self.hands = [self._new() for _ in range(pool.workers or 1)]

    def _new(self) -> Hand:
        handle = self._make.remote(self._place)
        return Hand(
            handle,
            handle.step.options(num_returns=2),
            deque([WorkerTask(None, handle.load.remote(self._recipe))]),
        )

    def free(self) -> Hand | None:
        """The worker with the least to do, if one can take more."""
        return min((h for h in self.hands if h.ready), key=lambda hand: len(hand.tasks), default=None)

    def give(self, hand: Hand, piece: Piece, function: Callable[..., Any], *, last: bool) -> None:
        """Tell a worker to do the next stage of a piece."""
        if last:
            made = hand.handle.finish.remote(function, piece.work, *piece.results)
            hand.tasks.append(WorkerTask(piece, made, made))
        else:
            hand.tasks.append(WorkerTask(piece, *hand.step.remote(function, piece.work, *piece.results)))

    def came(self, hand: Hand, said: Loaded) -> None:
        """A worker has made its part, or says why it cannot; its models must be those of this machine."""
        hand.pid = said.pid
        if said.what:
            raise WeakspotError(
                f"a {self.name} worker cannot start: {said.what}",
                fix=said.fix or "look at its logs, on its machine",
            )
        if self._here is None:
            self._here = said.models
        must_agree(self.name, said.models, self._here)
        self.models = self.models or said.models
        self._deaths = 0

    def lost(self, hand: Hand, why: str) -> deque[WorkerTask]:
        """Put a new worker in the place of one that died; what that one had been told."""
        import ray

        if not hand.pid:
            self._deaths += 1
            if self._deaths >= LIVES:
                raise WeakspotError(
                    f"{LIVES} {self.name} workers died before they were ready: {why}",
                    fix="is there enough memory? see the logs of Ray on that machine",
                )
        ray.kill(hand.handle)  # it may only have seemed dead
        self.hands[self.hands.index(hand)] = self._new()
        return hand.tasks

    def end(self) -> None:
        import ray

        for hand in self.hands:
            ray.kill(hand.handle)
        self.hands = []
