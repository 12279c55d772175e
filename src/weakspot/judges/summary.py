"""A summary failed when its discrepancy from the *reference* summary exceeds ε.

Δ is 1 − ROUGE-1, 1 − ROUGE-2, 1 − ROUGE-L (their F), 1 − BLEU, half of one minus the cosine of embeddings, or
the mean of these five: from 0 for the reference itself to 1. A summariser that returns nothing is `empty`,
which counts neither way; a Δ that is no finite number is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weakspot.core import (
    MODELS,
    Case,
    Output,
    Status,
    TextEncoder,
    Verdict,
    WeakspotError,
    check_known,
)
from weakspot.judges.discrepancy import judge_by, limit
from weakspot.stats.overlap import bleu, rouge, rouge_l

#: From candidate and reference to Δ.
TEXTS: Final[Mapping[str, Callable[[str, str], float]]] = {
    "rouge1": lambda own, reference: 1 - rouge(own, reference, n=1).f,
    "rouge2": lambda own, reference: 1 - rouge(own, reference, n=2).f,
    "rougeL": lambda own, reference: 1 - rouge_l(own, reference).f,
    "bleu": lambda own, reference: 1 - bleu(own, reference),
}
#: By measure, the ε beyond which a summary shares too little with the reference to stand for it.
USUAL: Final = {"rouge1": 0.7, "rouge2": 0.9, "rougeL": 0.75, "bleu": 0.95, "embedding": 0.35, "blend": 0.7}


class SummaryJudge:
    """See `weakspot.core.Judge`; a case expects the reference summary.

    Args:
        measure: One of `USUAL`.
        epsilon: Failed where Δ is larger.
        encoder: Of texts, for `embedding` and `blend`.
    """

    def __init__(self, *, measure: str = "blend", epsilon: float | None = None, encoder: TextEncoder) -> None:
        self.measure, self.encoder, self.models = measure, encoder, (encoder,)
        self.epsilon = USUAL[measure] if epsilon is None else epsilon

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. The score is Δ."""
        outputs = [_empty(output) for output in outputs]

        def deltas(which: Sequence[int]) -> list[float]:
            return self.deltas([str(outputs[i].answer) for i in which], [cases[i].expected for i in which])

        return judge_by(deltas, cases, outputs, epsilon=self.epsilon, what=self.measure)

    def deltas(self, texts: Sequence[str], references: Sequence[str]) -> list[float]:
        """Δ of each text and its reference."""
        columns = [
            [delta(own, reference) for own, reference in zip(texts, references, strict=True)]
            for name, delta in TEXTS.items()
            if self.measure in (name, "blend")
        ]
        if self.measure in ("embedding", "blend"):
            columns.append(self._apart(texts, references))
        return [float(np.mean(row)) for row in zip(*columns, strict=True)]

    def _apart(self, texts: Sequence[str], references: Sequence[str]) -> list[float]:
        rows = np.asarray(self.encoder.embed_texts([*texts, *references]), dtype=float)
        own, other = rows[: len(texts)], rows[len(texts) :]
        return [
            (1 - float(a @ b)) / 2 if np.isfinite([a, b]).all() else math.nan
            for a, b in zip(own, other, strict=True)
        ]


def _empty(output: Output) -> Output:
    """As it is, or `empty` if there is nothing in it."""
    if output.status is Status.OK and not (output.answer or "").strip():
        return Output(None, status=Status.EMPTY, detail="the summariser returned nothing", usage=output.usage)
    return output


def load(*, measure: str = "blend", epsilon: str = "", encoder: str = "ngrams") -> SummaryJudge:
    """`summary`, `summary?measure=rougeL&epsilon=0.8`, `summary?encoder=st:all-mpnet-base-v2`."""
    check_known(measure, USUAL, f"no measure of summaries is called {measure[:60]!r}")
    model: Any = MODELS.load(encoder)
    if not isinstance(model, TextEncoder):
        raise WeakspotError(f"{encoder[:80]} is no encoder of texts", fix="use ngrams, or st:NAME")
    return SummaryJudge(measure=measure, epsilon=limit(epsilon), encoder=model)
