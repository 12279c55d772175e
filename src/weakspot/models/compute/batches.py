"""Batches that fit into memory: one that does not is halved, and the smaller size is kept from then on."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeVar

from weakspot.core import WeakspotError
from weakspot.models.compute.device import log, out_of_memory

_T = TypeVar("_T")


class Batches:
    """How many items a model is given at once.

    Args:
        filled: Every batch is filled up to this size, so that the last one is as large as any.

        note: More for the line that says what runs where.
        fix: The way out where not even one item fits into memory.
    """

    def __init__(
        self,
        name: str,
        size: int,
        *,
        device: str = "cpu",
        dtype: str = "",
        filled: bool = False,
        note: str = "",
        fix: str = "",
    ) -> None:
        self.name, self.size, self.device, self.dtype = name, size, device, dtype
        self.filled, self.note, self.fix = filled, note, fix
        if name:
            log.info("%s", self.about)

    @property
    def about(self) -> str:
        """One line: what runs where."""
        return " · ".join(filter(None, (self.name, self.device, self.dtype, self.note, f"batch {self.size}")))

    def run(self, items: Sequence[Any], work: Callable[[Sequence[Any]], _T]) -> list[_T]:
        """What `work` gives for some items after the other, in order.

        Raises:
            WeakspotError: Not even one item fits into memory.
        """
        parts: list[_T] = []
        at = 0
        while at < len(items):
            some = items[at : at + self.size]
            done = self._unless_full(some, work)
            parts += done
            at += len(some) if done else 0
        return parts

    def _unless_full(self, some: Sequence[Any], work: Callable[[Sequence[Any]], _T]) -> list[_T]:
        """The result of one batch; [] and a smaller batch from now on if memory ran out."""
        try:
            return [work(some)]
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
        # Only here, where the error no longer holds what it could not finish.
        free(self.device)
        size = self.size if self.filled else len(some)
        if size == 1:
            raise WeakspotError(
                f"{self.name[:200]} does not fit into the memory of {self.device}, even with a batch of 1",
                fix=self.fix
                or ("free some" if self.device == "cpu" else "try dtype=float16 or bfloat16, or device=cpu"),
            )
        self.size = size // 2
        log.warning("%s: out of memory; batches of %d from now on", self.name, self.size)
        return []


class Batched:
    """What models that lie on a device and run in batches have in common.

    A subclass sets `device`, `_model` and `_batches` when it is made.
    """

    device: str
    _batches: Batches
    _held: Any = None

    @property
    def _model(self) -> Any:
        if self._held is None:
            raise WeakspotError(f"{self._batches.name[:200]} was released", fix="load it again")
        return self._held

    @_model.setter
    def _model(self, model: Any) -> None:
        self._held = model

    @property
    def batch(self) -> int:
        """Items at once, now."""
        return self._batches.size

    @property
    def about(self) -> str:
        """One line: what runs where."""
        return self._batches.about

    def release(self) -> None:
        """Free the memory; the model can no longer be used."""
        self._held = None
        free(self.device)


def free(device: str) -> None:
    """Give back what nobody holds any more."""
    gc.collect()
    if device.startswith(("cuda", "mps")):
        getattr(import_module("torch"), device.partition(":")[0]).empty_cache()
