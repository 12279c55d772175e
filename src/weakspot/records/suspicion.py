"""Is it the model or the label? How likely each failing row has an answer that is right or acceptable too.

A row fails because the model is wrong, or because the label is wrong or only one of several good answers.
What is fitted is how the share of passing rows grows with the model's score s:

    P(pass | s) = A (1 − n),   logit A = α + β logit s,   n = λ + c √(1 − A)

A is the probability that the answer is acceptable. It may be badly calibrated in any way that is a straight
line in logits, as most overconfident models are. n is the probability that the label says something else all
the same: λ for slips that happen anywhere, and c for inputs with several good answers, which are hard ones.
λ and c show as a bend: sure answers fail more often than the line says. Without a bend nothing is suspected.
They belong to the labels, so several models share them.

The straight line and √(1 − A) are assumptions; a table without a second labelling can prove neither.
`weakspot bench real` measures how well they hold on ImageNet, where people have labelled again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.records.judged import Judged
from weakspot.stats import Estimate

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Fewer failures, or fewer passes, say nothing of a bend.
FEWEST: Final = 30
#: What λ and c must each add to twice the log-likelihood: the 99 % point of χ².
GAIN: Final = 6.6
#: How much more often two labels are confused, to this power, is how much more likely both are acceptable.
PAIR_POWER: Final = 0.5
#: No score says more than this, whatever is written.
SUREST: Final = 1e-7
BINS: Final = 500
#: Where the height and the slope of a line are looked for.
LINE_LIMITS: Final = [(-15.0, 15.0), (0.02, 5.0)]


@dataclass(frozen=True, slots=True)
class _Bend:
    """What belongs to the labels: λ and c."""

    slips: float
    ambiguous: float


@dataclass(frozen=True, slots=True)
class _Line:
    """How acceptable an answer is at a score: logit A = at + slope · logit s."""

    at: float
    slope: float

    def wrong(self, doubt: Numbers) -> Numbers:
        """1 − A, where `doubt` is −logit s."""
        from scipy.special import expit

        found: Numbers = expit(-self.at + self.slope * doubt)
        return found


def suspicion(
    judged: Judged, others: Sequence[tuple[Sequence[str | None], Numbers]] = ()
) -> NDArray[np.float64]:
    """The probability, per row, that the failure is the label's: the answer is right or acceptable too.

    0 for rows that pass, and everywhere if `why_nothing` gives a reason. A failing row without a score
    gets the mean.

    Args:
        others: Answers and scores of other models on the same rows. Where they agree with the model against
            the label, the label is likelier to be wrong.
    """
    nothing = np.zeros(len(judged))
    if why_nothing(judged):
        return nothing
    failed = judged.failed
    known = np.isfinite(judged.score)
    fits = [_Counts.of(judged.score[known], failed[known])]
    joint = np.where(known, judged.score, 0.0)
    for answers, scores in others:
        said = np.array([a is not None for a in answers], bool)
        use = said & np.isfinite(scores)
        missed = np.array([a != e for a, e in zip(answers, judged.expected, strict=True)], bool)
        if min(int(missed[use].sum()), int((~missed[use]).sum())) >= FEWEST:
            fits.append(_Counts.of(np.asarray(scores, float)[use], missed[use]))
        same = np.array([a == b for a, b in zip(answers, judged.answer, strict=True)], bool)
        # A model that gives no score counts with how often it is right.
        sure = np.where(np.isfinite(scores), scores, (~missed[said]).mean() if said.any() else 0.0)
        joint = joint + np.where(same & said, sure, 0.0)
    bend, lines = _fit(fits)
    if bend == _Bend(0.0, 0.0):
        return nothing
    joint /= 1 + len(others)
    line = _line(_Counts.of(joint[known], failed[known]), bend) if others else lines[0]
    rows, wrong = np.flatnonzero(failed & known), line.wrong(_doubt(joint[known]))[failed[known]]
    nothing[rows] = _causes(wrong, bend, _confused(judged, rows))
    nothing[failed & ~known] = nothing[rows].mean()
    return nothing


def why_nothing(judged: Judged) -> str:
    """Why no label of this table can be suspected; "" if they can."""
    if judged.roles.relabelled:
        return f"{judged.roles.relabelled} already says which other answers are acceptable"
    pairs = zip(judged.failed, judged.expected, judged.answer, strict=True)
    if not (judged.roles.label and judged.roles.prediction) or any(f and a == b for f, a, b in pairs):
        return "a failure is not a prediction that differs from a label here"
    known = np.isfinite(judged.score)
    if not known.any():
        return "the table has no scores"
    if judged.score[known].min() < 0 or judged.score[known].max() > 1:
        return "the scores are not probabilities: some are below 0 or above 1"
    failures = int(judged.failed[known].sum())
    if min(failures, int(known.sum()) - failures) < FEWEST:
        return f"fewer than {FEWEST} rows with a score fail, or pass"
    return ""


def label_share(failed: Flags, suspicion: Numbers, members: Flags, *, level: float = 0.95) -> Estimate:
    """The part of the failures among `members` that is probably the label's, with its interval.

    The interval is that of a sum of independent events of these probabilities. It takes them as calibrated.
    """
    chosen = suspicion[failed & members]
    if not len(chosen):
        return Estimate(0.0, 0.0, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate = float(chosen.mean())
    half = z * math.sqrt(float((chosen * (1 - chosen)).sum())) / len(chosen)
    return Estimate(rate, max(rate - half, 0.0), min(rate + half, 1.0))


def remaining_failures(failed: Flags, suspicion: Numbers, members: Flags) -> float:
    """The failures among `members` that are expected to be the model's."""
    return float((1 - suspicion[failed & members]).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """Passes and failures by doubt, −logit s, in bins of about equal size."""

    doubt: Numbers
    passes: Numbers
    failures: Numbers

    @classmethod
    def of(cls, scores: Numbers, failed: Flags) -> _Counts:
        doubt = _doubt(scores)
        # Equal doubts stay in one bin, so the order of rows does not matter.
        edges = np.unique(np.quantile(doubt, np.linspace(0, 1, BINS + 1)[1:-1]))
        place = np.searchsorted(edges, doubt)
        n = np.bincount(place, minlength=len(edges) + 1).astype(float)
        full = n > 0
        total = np.bincount(place, doubt, len(n))[full] / n[full]
        failures = np.bincount(place, failed, len(n))[full].astype(float)
        return cls(total, n[full] - failures, failures)

    def loss(self, line: _Line, bend: _Bend) -> float:
        wrong = line.wrong(self.doubt)
        label = (1 - wrong) * np.minimum(bend.slips + bend.ambiguous * np.sqrt(wrong), 0.99)
        tiny = 1e-300
        return -float(
            (self.passes * np.log(np.maximum(1 - wrong - label, tiny))).sum()
            + (self.failures * np.log(np.maximum(wrong + label, tiny))).sum()
        )


def _doubt(scores: Numbers) -> Numbers:
    """−logit of each score. One that is rounded to 1 stands half a step below it, and as for 0 above it."""
    sure = np.clip(scores, 0.0, 1.0)
    gaps = np.minimum(sure, 1 - sure)
    step = max(float(gaps[gaps > 0].min(initial=0.5)) / 2, SUREST)
    sure = np.clip(sure, step, 1 - step)
    doubt: Numbers = np.log1p(-sure) - np.log(sure)
    return doubt


def _fit(tables: Sequence[_Counts]) -> tuple[_Bend, list[_Line]]:
    """The likeliest bend of all models and a line for each; λ or c is 0 if it gains too little."""
    from scipy.optimize import minimize

    bend = _Bend(0.0, 0.0)
    lines = [_line(counts, bend) for counts in tables]
    first = [value for line in lines for value in (line.at, line.slope)]

    def apart(values: Numbers) -> tuple[_Bend, list[_Line]]:
        return _Bend(*values[:2]), [_Line(a, b) for a, b in values[2:].reshape(-1, 2)]

    def loss(values: Numbers) -> float:
        bend, lines = apart(values)
        return sum(counts.loss(line, bend) for counts, line in zip(tables, lines, strict=True))

    least = 2 * loss(np.array([0.0, 0.0, *first]))
    for slips, ambiguous in ((0.02, 0.0), (0.0, 0.3), (0.02, 0.02), (0.002, 0.3)):
        limits = [(0.0, 0.5 * (slips > 0)), (0.0, 0.95 * (ambiguous > 0)), *LINE_LIMITS * len(tables)]
        found = minimize(loss, [slips, ambiguous, *first], bounds=limits, method="L-BFGS-B")
        paid = 2 * float(found.fun) + GAIN * ((slips > 0) + (ambiguous > 0))
        if paid < least:
            least, (bend, lines) = paid, apart(found.x)
    return bend, lines


def _line(counts: _Counts, bend: _Bend) -> _Line:
    """The likeliest line under this bend."""
    from scipy.optimize import minimize

    found = minimize(
        lambda v: counts.loss(_Line(*v), bend),
        [0.0, 0.7],
        bounds=LINE_LIMITS,
        method="L-BFGS-B",
    )
    return _Line(*found.x)


def _causes(wrong: Numbers, bend: _Bend, confused: Numbers) -> Numbers:
    """The share of the label in the causes of these failures.

    Slips happen between any two labels; inputs with several good answers make two labels be taken for each
    other again and again. So the second cause follows `confused`, and its expected number stays as it was.
    """
    right = 1 - wrong
    slips, several = right * bend.slips, right * bend.ambiguous * np.sqrt(wrong)
    total = float(((slips + several) / (wrong + slips + several)).sum())
    weight = confused**PAIR_POWER
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        label = slips + several * weight * math.exp(middle)
        if float((label / (wrong + label)).sum()) < total:
            low = middle
        else:
            high = middle
    found: Numbers = label / (wrong + label)
    return found


def _confused(judged: Judged, rows: NDArray[np.int64]) -> Numbers:
    """How often the label and the answer of each of these rows are taken for each other, by all rows."""
    codes: dict[str | None, int] = {}
    labels = np.array([codes.setdefault(value, len(codes)) for value in judged.expected], np.int64)
    answers = np.array([codes.setdefault(judged.answer[row], len(codes)) for row in rows], np.int64)
    often = np.bincount(labels, minlength=len(codes))
    a, b = labels[rows], answers
    pairs = np.minimum(a, b) * len(codes) + np.maximum(a, b)
    _, place, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    # The row itself is no evidence.
    share: Numbers = (counts[place] - 0.5) / (often[a] + often[b])
    return share
