"""Failed when the discrepancy Δ between an output and what was expected exceeds ε.

The measure is a function from case and output to Δ, larger is worse. Those of classifiers are here; a task of
another kind brings its own (ROUGE against the reference, one minus the match of picture and text, a person's
rating). A Δ that is not a finite number is an error of the trial, never a failure of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from weakspot.core import (
    MODELS,
    Case,
    Output,
    Scores,
    Status,
    TextEncoder,
    Verdict,
    WeakspotError,
    check_known,
    nearest,
)
from weakspot.stats.overlap import bleu, rouge, rouge_l

Measure = Callable[[Case, Output], float]
#: The smallest probability that is told from zero.
_TINY: Final = 1e-6


def margin(case: Case, output: Output) -> float:
    """The log of how many times as probable the best wrong label is as the right one; above 0 if misread."""
    scores = _scores(case, output)
    logs = np.log(np.maximum(np.asarray(scores.values, dtype=float), _TINY))
    logs = np.where(np.isfinite(scores.values), logs, np.nan)
    own = scores.labels.index(case.expected)
    wrong = np.delete(logs, own)
    delta = float(wrong.max() - logs[own]) if len(wrong) else -math.inf
    # Of two labels that are equally probable the first one is the answer.
    return delta if delta != 0.0 or output.answer == case.expected else 1e-9


def doubt(case: Case, output: Output) -> float:
    return 1.0 - _scores(case, output).of(case.expected)


def wrong(case: Case, output: Output) -> float:
    """1 if the answer is not the expected one, else 0; needs no scores."""
    return float(output.answer != case.expected)


#: By name, with the ε beyond which a classifier has failed.
MEASURES: Final[Mapping[str, tuple[Measure, float]]] = {
    "margin": (margin, 0.0),
    "doubt": (doubt, 0.5),
    "wrong": (wrong, 0.5),
}


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Failed where the measure of a case and its output is above ε; `what` is its name, for the reason."""

    measure: Measure
    epsilon: float = 0.0
    what: str = "Δ"

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. The score is Δ."""
        return [self._one(case, output) for case, output in zip(cases, outputs, strict=True)]

    def _one(self, case: Case, output: Output) -> Verdict:
        if output.status is not Status.OK:
            return Verdict(None, status=output.status, reason=output.detail)
        if output.answer is None:
            return Verdict(None, status=Status.EMPTY)
        delta = float(self.measure(case, output))
        if not math.isfinite(delta):
            return Verdict(
                None,
                status=Status.ERROR,
                reason=f"the discrepancy {self.what} is {delta}, which is not a finite number",
            )
        failed = delta > self.epsilon
        return Verdict(failed, delta, reason=f"{self.what} {delta:.3g} > {self.epsilon:g}" if failed else "")


def _scores(case: Case, output: Output) -> Scores:
    if output.scores is None:
        raise WeakspotError("the target gives only labels", fix="use discrepancy?measure=wrong")
    if case.expected not in output.scores.labels:
        raise WeakspotError(
            f"the target has no label {case.expected[:80]!r}",
            fix=nearest(case.expected, output.scores.labels) or "name the labels as the target does",
        )
    return output.scores


def load(*, measure: str = "margin", epsilon: str = "") -> Discrepancy:
    """`discrepancy`, `discrepancy?measure=doubt&epsilon=0.9`."""
    check_known(measure, MEASURES, f"no measure is called {measure[:60]!r}")
    function, usual = MEASURES[measure]
    given = limit(epsilon)
    return Discrepancy(function, usual if given is None else given, measure)


def limit(epsilon: str) -> float | None:
    """ε as a number; None if it is not given."""
    if not epsilon:
        return None
    try:
        found = float(epsilon)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise WeakspotError(f"epsilon cannot be {epsilon[:60]!r}", fix="write a number, e.g. epsilon=0.5")
    return found


def judge_by(
    deltas: Callable[[Sequence[int]], Sequence[float]],
    cases: Sequence[Case],
    outputs: Sequence[Output],
    *,
    epsilon: float,
    what: str,
) -> list[Verdict]:
    """Verdicts by the Δ of all answers together; `deltas` is given the places of those that there are."""
    answered = [i for i, o in enumerate(outputs) if o.status is Status.OK and o.answer is not None]
    found = deltas(answered) if answered else []
    by_case = {id(cases[i]): delta for i, delta in zip(answered, found, strict=True)}
    return Discrepancy(lambda case, _: by_case[id(case)], epsilon, what).judge(cases, outputs)


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
    """Judges summaries by a measure of `USUAL`; a case expects the reference summary.

    `embedding` and `blend` need the encoder of texts.
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
    if output.status is Status.OK and not (output.answer or "").strip():
        return Output(None, status=Status.EMPTY, detail="the summariser returned nothing", usage=output.usage)
    return output


def load_summary(*, measure: str = "blend", epsilon: str = "", encoder: str = "ngrams") -> SummaryJudge:
    """`summary`, `summary?measure=rougeL&epsilon=0.8`, `summary?encoder=st:all-mpnet-base-v2`."""
    check_known(measure, USUAL, f"no measure of summaries is called {measure[:60]!r}")
    model: Any = MODELS.load(encoder)
    if not isinstance(model, TextEncoder):
        raise WeakspotError(f"{encoder[:80]} is not an encoder of texts", fix="use ngrams, or st:NAME")
    return SummaryJudge(measure=measure, epsilon=limit(epsilon), encoder=model)
