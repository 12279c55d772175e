"""What all encoders have in common: batches of texts of about one length, and rows of length 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.compute.batches import Batches


def unit(rows: NDArray[Any], *, of: str) -> NDArray[np.float32]:
    """Rows divided by their lengths.

    Args:
        rows: What a model gave, one row each.
        of: The model, for the message.

    Raises:
        WeakspotError: A row is not finite, or zero; it says which.
    """
    if rows.ndim != 2:
        raise WeakspotError(
            f"{of} gave the shape {rows.shape}, not one row each", fix="check that it is an encoder"
        )
    if not len(rows):
        return np.zeros(rows.shape, np.float32)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 1e-12)))
    if len(wrong):
        what = "nothing but zeros" if lengths[wrong[0]] == 0 else "numbers that are not finite"
        raise WeakspotError(f"row {wrong[0]} of {of} has {what}", fix="check the model and its inputs")
    return np.asarray(rows / lengths[:, None], np.float32)


def in_batches(
    items: Sequence[Any],
    embed: Callable[[list[Any]], NDArray[Any]],
    *,
    batch: int | Batches,
    width: int | None = None,
) -> NDArray[Any]:
    """Rows of all items, some at a time; those of similar length together, since padding is work too.

    Args:
        items: Texts, or lists of tokens.
        embed: Gives one row for each of some items.
        batch: How many at a time; `Batches` halve themselves when memory is short.
        width: Of the rows, for the case that there are no items.
    """
    if not len(items):
        return np.zeros((0, width or 0), np.float32)
    order = sorted(range(len(items)), key=lambda i: len(items[i]))
    together = batch if isinstance(batch, Batches) else Batches("", batch)
    rows = np.concatenate(together.run(order, lambda places: embed([items[i] for i in places])))
    out = np.empty_like(rows)
    out[order] = rows
    return out


def of_one_length(tokens: Sequence[Sequence[int]], *, batch: int) -> Iterator[list[int]]:
    """Places of items of one length, at most `batch` at a time: nothing is padded, nothing depends on it."""
    groups: dict[int, list[int]] = {}
    for i, row in enumerate(tokens):
        groups.setdefault(len(row), []).append(i)
    for _, group in sorted(groups.items()):
        yield from (group[at : at + batch] for at in range(0, len(group), batch))
