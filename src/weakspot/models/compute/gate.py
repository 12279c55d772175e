"""One model at a time computes on a GPU: a generator, a classifier and a verifier do not fight for it.

Two models that compute at once on one device are no faster than one after the other, and need the memory of
both. What is done on the host meanwhile (drawing, preparing pictures, copying the next batch to the device,
the ledger) goes on. On a CPU nobody waits.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext
from typing import Final

#: By device. They can be entered again by who has them: a model may be part of another.
_GATES: Final[defaultdict[str, threading.RLock]] = defaultdict(threading.RLock)
_MAKING: Final = threading.Lock()


def computing(device: str) -> AbstractContextManager[object]:
    """Held while a model computes: `with computing("cuda:1"): …`.

    What is inside should end with the result on the host, since a GPU goes on after the call returned.

    Args:
        device: "cuda" is "cuda:0"; for a CPU it is nobody's.
    """
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return nullcontext()
    with _MAKING:
        return _GATES[f"{kind}:{number or 0}"]
