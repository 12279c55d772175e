"""How networks of torch are run fast: half precision where it is safe, compiled, as many pictures as fit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, Final

from weakspot.core import WeakspotError
from weakspot.models.batches import log
from weakspot.models.diffusers_pipeline import free_memory, out_of_memory

#: Numbers that a classifier holds per pixel of its input at its widest, the larger ones of the usual kinds.
_PER_PIXEL: Final = 256
#: The part of the free memory that is counted on.
_USED: Final = 0.7
#: Pixels that keep a GPU busy: 256 pictures of 224 × 224.
_BUSY: Final = 256 * 224 * 224


def autocast(device: str, dtype: str) -> AbstractContextManager[Any]:
    """Multiplications in half precision, with weights in float32; sums, norms and softmax stay in float32.

    Args:
        device: Where the network is.
        dtype: "float32" leaves everything as it is.
    """
    if dtype == "float32":
        return nullcontext()
    torch: Any = import_module("torch")
    kind = device.partition(":")[0]
    return torch.autocast(kind, dtype=getattr(torch, dtype))  # type: ignore[no-any-return]


class Compiled:
    """A network that torch.compile made faster; as it was where that fails, with a warning.

    Args:
        module: The network.
        name: For the warning.
    """

    def __init__(self, module: Callable[..., Any], *, name: str) -> None:
        self.module, self.name = module, name
        self._fast: Callable[..., Any] | None = None
        try:
            self._fast = import_module("torch").compile(module)
        except Exception as error:  # of the compiler or of what it needs
            self._without(error)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The network's output; compiled when it is first asked for."""
        if self._fast is None:
            return self.module(*args, **kwargs)
        try:
            return self._fast(*args, **kwargs)
        except WeakspotError:
            raise
        except Exception as error:
            if out_of_memory(error):
                raise
            failed = error
        given = self.module(*args, **kwargs)  # what fails here too is no matter of the compiler
        self._without(failed)
        return given

    def _without(self, error: Exception) -> None:
        self._fast = None
        said = (str(error).strip().splitlines() or [""])[0][:200]
        log.warning("%s: not compiled, goes on without: %s: %s", self.name, type(error).__name__, said)


def pictures_at_once(device: str, *, size: tuple[int, int], dtype: str, otherwise: int) -> int:
    """How many pictures to show a network at once: a first guess, to be halved where it was too bold.

    Args:
        device: Where the network already lies.
        size: Height and width of its input.
        dtype: The number format.
        otherwise: For devices that do not tell their free memory.

    Returns:
        A power of two up to 1024, and no more than keeps a GPU busy.
    """
    free = free_memory(device)
    if free is None:
        return otherwise
    pixels = max(size[0] * size[1], 1)
    each = pixels * _PER_PIXEL * (4 if dtype == "float32" else 2)
    most = min(int(_USED * free / each), max(16, min(1024, _BUSY // pixels)))
    return 1 << max(most, 1).bit_length() - 1
