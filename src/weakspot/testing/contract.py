"""What all checks are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weakspot.core import WeakspotError


class ContractError(WeakspotError):
    """A part does not do what its port promises."""


def promise(kept: bool, what: str, fix: str) -> None:
    """Raise a `ContractError` for a promise that was not kept."""
    if not kept:
        raise ContractError(what, fix=fix)


def size(value: Any) -> str:
    """How many there are of something that should be a list, for messages."""
    return str(len(value)) if isinstance(value, Sequence) else f"a {type(value).__name__}, not a list of"


def kind(value: Any) -> str:
    """What something is that should be an array, for messages."""
    return str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__


def same(one: Any, other: Any) -> bool:
    """Whether two inputs are equal."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)
