"""Where and how networks run: device, half precision, one model at a time on a GPU, batches that fit."""

from __future__ import annotations

import gc
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, Final, TypeVar

from weakspot.core import WeakspotError, nearest
from weakspot.core.errors import in_one_line

log: Final = logging.getLogger("weakspot.models")
DTYPES: Final = ("float32", "float16", "bfloat16")
_OUT_OF_MEMORY: Final = ("out of memory", "defaultcpuallocator", "not enough memory", "alloc_failed")
#: Numbers that a classifier holds per pixel of its input at its widest, the larger ones of the usual kinds.
_PER_PIXEL: Final = 256
#: The part of the free memory that is counted on.
USED: Final = 0.7
#: Pixels that keep a GPU busy: 256 pictures of 224 × 224.
_BUSY: Final = 256 * 224 * 224


def choose_device(name: str) -> str:
    """The device that is meant and there: `auto` is cuda, else mps, else cpu."""
    torch = import_module("torch")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return next(device for device, is_there in there.items() if is_there)
    kind, _, number = name.partition(":")
    if kind not in there or (number and not (kind == "cuda" and number.isdecimal())):
        raise WeakspotError(f"{name[:80]!r} is not a device", fix="choose auto, cpu, cuda, cuda:0 or mps")
    if not there[kind] or (number and int(number) >= torch.cuda.device_count()):
        raise WeakspotError(f"there is no {name[:80]} here", fix="choose device=cpu, or leave it out")
    return name


def choose_dtype(name: str, device: str) -> str:
    """The number format: `auto` is half precision on CUDA, bfloat16 if the GPU has it, else float32."""
    if name == "auto":
        if not device.startswith("cuda"):
            return "float32"
        return "bfloat16" if import_module("torch").cuda.get_device_capability(device)[0] >= 8 else "float16"
    if name not in DTYPES:
        raise WeakspotError(
            f"{name[:80]!r} is not a number format",
            fix=nearest(name, DTYPES) or f"choose auto, {', '.join(DTYPES)}",
        )
    return name


def free_memory(device: str) -> int | None:
    """Bytes of a GPU's memory that nobody uses; None for other devices, which do not tell."""
    if not device.startswith("cuda"):
        return None
    cuda = import_module("torch").cuda
    free, _ = cuda.mem_get_info(device)
    kept = cuda.memory_reserved(device) - cuda.memory_allocated(device)  # by this process, for itself
    return int(free + kept)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out: a GPU's or the machine's."""
    said = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and any(words in said for words in _OUT_OF_MEMORY))
    )


def autocast(device: str, dtype: str) -> AbstractContextManager[Any]:
    """Multiplications in half precision, if wanted; weights, sums, norms and softmax stay in float32."""
    if dtype == "float32":
        return nullcontext()
    torch: Any = import_module("torch")
    kind = device.partition(":")[0]
    return torch.autocast(kind, dtype=getattr(torch, dtype))  # type: ignore[no-any-return]


def channels_last(module: Any, device: str) -> Any:
    """A network laid out as convolutions on CUDA are fastest; elsewhere as it is."""
    if not device.startswith("cuda"):
        return module
    return module.to(memory_format=import_module("torch").channels_last)


class Compiled:
    """A network that torch.compile made faster; as it was where that fails, with a warning."""

    def __init__(self, module: Callable[..., Any], *, name: str) -> None:
        self.module, self.name = module, name
        self._fast: Callable[..., Any] | None = None
        try:
            self._fast = import_module("torch").compile(module)
        except Exception as error:  # of the compiler or of what it needs
            self._without(error)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._fast is None:
            return self.module(*args, **kwargs)
        try:
            return self._fast(*args, **kwargs)
        except WeakspotError:
            raise
        except Exception as error:  # of the compiler, or of the network itself: tried without, below
            if out_of_memory(error):
                raise
            failed = error
        given = self.module(*args, **kwargs)  # what fails here too is no matter of the compiler
        self._without(failed)
        return given

    def _without(self, error: Exception) -> None:
        self._fast = None
        log.warning("%s: not compiled, going on without: %s", self.name, in_one_line(error, most=200))


def pictures_at_once(device: str, *, size: tuple[int, int], dtype: str, otherwise: int) -> int:
    """How many pictures to show a network at once: a first guess, to be halved where it was too bold.

    It is a power of two up to 1024, and no more than keeps a GPU busy; `otherwise` where a device does not
    tell its free memory. The network lies there already.
    """
    free = free_memory(device)
    if free is None:
        return otherwise
    pixels = max(size[0] * size[1], 1)
    each = pixels * _PER_PIXEL * (4 if dtype == "float32" else 2)
    return power_of_two(free / each, most=max(16, min(1024, _BUSY // pixels)))


def power_of_two(fitting: float, *, most: int) -> int:
    """The largest one that fits into a part of the free memory, at least 1 and not above `most`."""
    return 1 << max(min(int(USED * fitting), most), 1).bit_length() - 1


#: By device. They can be entered again by who has them: a model may be part of another.
_GATES: Final[defaultdict[str, threading.RLock]] = defaultdict(threading.RLock)
_MAKING: Final = threading.Lock()


def computing(device: str) -> AbstractContextManager[object]:
    """Held while a model computes: `with computing("cuda:1"): …`.

    What is inside should end with the result on the host, since a GPU goes on after the call returned.
    """
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return nullcontext()
    with _MAKING:
        return _GATES[f"{kind}:{number or 0}"]


_T = TypeVar("_T")


class Batches:
    """How many items a model is given at once.

    If `filled`, every batch is filled up to the size. `note` is more for the line that says what runs where,
    `fix` the way out where not even one item fits into memory.
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
        return " · ".join(filter(None, (self.name, self.device, self.dtype, self.note, f"batch {self.size}")))

    def run(self, items: Sequence[Any], work: Callable[[Sequence[Any]], _T]) -> list[_T]:
        """What `work` gives for some items after the other, in order."""
        parts: list[_T] = []
        at = 0
        while at < len(items):
            some = items[at : at + self.size]
            try:
                parts.append(work(some))
                at += len(some)
                continue
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
            self._halve(len(some))  # only here, where the error no longer holds what it could not finish
        return parts

    def _halve(self, some: int) -> None:
        free(self.device)
        size = self.size if self.filled else some
        if size == 1:
            raise WeakspotError(
                f"{self.name[:200]} does not fit into the memory of {self.device}, even with a batch of 1",
                fix=self.fix
                or ("free some" if self.device == "cpu" else "try dtype=float16 or bfloat16, or device=cpu"),
            )
        self.size = size // 2
        log.warning("%s: out of memory; batches of %d from now on", self.name, self.size)


class Batched:
    """What models that lie on a device and run in batches have in common.

    A subclass sets `device`, `_batches` and `network`, the library's own object, when it is made.
    """

    device: str
    _batches: Batches
    _held: Any = None

    @property
    def network(self) -> Any:
        if self._held is None:
            raise WeakspotError(f"{self._batches.name[:200]} was released", fix="load it again")
        return self._held

    @network.setter
    def network(self, model: Any) -> None:
        self._held = model

    @property
    def batch(self) -> int:
        return self._batches.size

    @property
    def about(self) -> str:
        return self._batches.about

    def release(self) -> None:
        self._held = None
        free(self.device)


def free(device: str) -> None:
    gc.collect()
    if device.startswith(("cuda", "mps")):
        getattr(import_module("torch"), device.partition(":")[0]).empty_cache()
