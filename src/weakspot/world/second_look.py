"""A network that looks again where it is not sure: at the same picture, moved by a pixel to every side.

What it says of a tiny figure behind a fence depends on how the figure falls on the network's own raster. The
mean over nine places does not, and only few pictures need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.models.onnx.graph import Graph

#: Below this probability of its answer a network is not sure. Chosen on the 20,000 held-out pictures of its
#: training, checked on others (training/NOTES.md): 3 % of uniform scenes are below it.
SURE: Final = 0.9
#: Where to move the picture to, in pixels down and to the right; the first look is at none.
_MOVES: Final = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]


class SecondLook(Graph):
    """A graph from "image" to "logits", and to other outputs that say what is in the picture."""

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str] = ()) -> list[NDArray[Any]]:
        """As of `Graph`. "features" are those of the first look."""
        names = list(outputs) or [tensor.name for tensor in self.outputs]
        if names == ["features"]:
            return super().run(inputs, names)
        asked = list(dict.fromkeys([*names, "logits"]))
        values = dict(zip(asked, super().run(inputs, asked), strict=True))
        unsure = np.flatnonzero(_probability(values["logits"]) < SURE)
        if len(unsure):
            images = np.pad(inputs["image"][unsure], ((0, 0), (0, 0), (1, 1), (1, 1)), "edge")
            said = [name for name in names if name != "features"]
            total = [values[name][unsure] for name in said]
            high, wide = inputs["image"].shape[2:]
            for y, x in _MOVES:
                moved = images[:, :, 1 + y : 1 + y + high, 1 + x : 1 + x + wide]
                total = [a + b for a, b in zip(total, super().run({"image": moved}, said), strict=True)]
            for name, sums in zip(said, total, strict=True):
                values[name][unsure] = sums / (1 + len(_MOVES))
        return [values[name] for name in names]


def _probability(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of the most probable answer."""
    grown = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True, initial=-np.inf))
    return np.asarray(1 / grown.sum(1))
