"""When a pair is a candidate: by fixed thresholds, or by thresholds that fit the two encoders at hand.

The published ones were made for CLIP, to which any two captions are alike by 0.35 or more.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError

#: One row of length 1 for each text or picture.
Vectors = NDArray[np.float32]

DRAWN: Final = 1_000_000  # pairs that are drawn to read off an encoder's scale
#: Share of random pairs within which the reference tells a pair apart: it is not the nearest in 2,000.
APART: Final = 0.9995
_CHUNK: Final = 8192


class PairRule(NamedTuple):
    """When a pair is a candidate. The published rule is clip > 0.9 and |clip − reference| > 0.2.

    Since no cosine is above 1, the published difference can only be meant in this direction.
    """

    above: float = 0.9  # the tested similarity is above this
    gap: float | None = 0.2  # it exceeds the reference's by more than this; None asks for no gap
    below: float | None = None  # the reference's similarity is below this; None asks for nothing

    def keeps(self, tested: Any, reference: Any) -> Any:
        """Which pairs with these similarities (arrays of numpy or of torch) are candidates."""
        kept = tested > self.above
        if self.gap is not None:
            kept &= tested - reference > self.gap
        if self.below is not None:
            kept &= reference < self.below
        return kept


PUBLISHED: Final = PairRule()


def random_similarities(vectors: Vectors, *, pairs: int = DRAWN, seed: int = 0) -> NDArray[np.float64]:
    """Cosines of pairs of different rows, drawn at random; all, each once, if there are no more. Sorted."""
    n = len(vectors)
    if n < 2:
        raise WeakspotError(f"{n} rows have no pairs", fix="use a corpus with more texts")
    if n * (n - 1) // 2 <= pairs:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(seed)
        first = np.sort(rng.integers(0, n, pairs))
        second = (first + rng.integers(1, n, pairs)) % n  # never the same row
    parts = []
    for at in range(0, len(first), _CHUNK):
        a, b = (vectors[which[at : at + _CHUNK]] for which in (first, second))
        parts.append(np.einsum("ij,ij->i", a, b).astype(np.float64))
    return np.sort(np.concatenate(parts))


def calibrated(
    tested: Vectors, reference: Vectors, *, alike: float, apart: float = APART, seed: int = 0
) -> PairRule:
    """The rule that asks of both encoders the same rarity among random pairs, whatever their scales."""
    for what, share in (("alike", alike), ("apart", apart)):
        if not 0 < share < 1:
            raise WeakspotError(f"{what} cannot be {share:g}", fix="choose a share between 0 and 1")
    above = float(np.quantile(random_similarities(tested, seed=seed), alike))
    below = float(np.quantile(random_similarities(reference, seed=seed), apart))
    return PairRule(above=above, gap=None, below=below)
