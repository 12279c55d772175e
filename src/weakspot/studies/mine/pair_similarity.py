"""An encoder as a target: shown two texts, it answers how alike they are to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weakspot.core import Case, Output, TextEncoder, WeakspotError


class PairSimilarity:
    """Answers a case whose input is two texts with the cosine of their vectors, six decimals."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder, self.models = encoder, (encoder,)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`. Each text is embedded once, however many cases it is in."""
        pairs = [two_texts(case.input) for case in cases]
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        if not texts:
            return []
        rows = np.asarray(self.encoder.embed_texts(texts), np.float64)
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise WeakspotError(f"the encoder gave no finite row for each of {len(texts)} texts")
        lengths = np.linalg.norm(rows, axis=1)
        if not lengths.all():
            raise WeakspotError(f"the encoder gave zeros alone for {texts[int(lengths.argmin())][:80]!r}")
        rows /= lengths[:, None]
        at = {text: row for row, text in enumerate(texts)}
        return [Output(f"{float(rows[at[a]] @ rows[at[b]]):.6f}") for a, b in pairs]


def two_texts(value: object) -> tuple[str, str]:
    """The two texts of a case."""
    if isinstance(value, tuple | list) and len(value) >= 2 and all(isinstance(v, str) for v in value[:2]):
        return value[0], value[1]
    raise WeakspotError(f"a {type(value).__name__} is no pair of texts", fix="give two texts")
