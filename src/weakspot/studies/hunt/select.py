"""Of all hypotheses that fail too often: the fewest that explain it, each as general as it can be.

Where cats fail at night in snow, so do cats in snow, and cats at night, only less often. A finding is worth
more if it says no less and no more than what matters. So the worst hypothesis is taken first, made general
as long as what it loses does not matter ("in snow at night, on the left" becomes "in snow at night"), the
cases it speaks of are set aside, and a further hypothesis is taken only if what is left of its cases still
fails more often than what is left of the baseline's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.rules import WORTH, Sentences, sentences_of
from weakspot.core import Hypothesis
from weakspot.engine import Claim, Lane, State
from weakspot.stats import exceeds, log_evidence
from weakspot.studies.hunt.captions import CaptionedTrial, InWords
from weakspot.text.sentences import sentences


class Candidate:
    """A claim with the sentences it adds to its baseline, and what its trials say."""

    def __init__(self, claim: Claim, words: Sentences, trials: Sequence[CaptionedTrial]) -> None:
        self.claim, self.words, self.trials = claim, words, trials
        self._weight = np.array([t.weight for t in trials])
        self._failed = np.array([t.failed and claim.answer in ("", t.answer) for t in trials], np.bool_)
        self._spoken_of: dict[Sentences, NDArray[np.bool_]] = {}

    def counts(self, aside: Sequence[Candidate]) -> tuple[int, int]:
        """Failures and trials among those that no other candidate speaks of."""
        left = np.ones(len(self.trials), np.bool_)
        for other in aside:
            left &= ~self._of(other.words)
        failures = int((self._failed & left).sum())
        rest = float(self._weight[left & ~self._failed].sum())
        return failures, failures + round(rest)

    def _of(self, words: Sentences) -> NDArray[np.bool_]:
        """Of which trials all these sentences are true."""
        if words not in self._spoken_of:
            self._spoken_of[words] = np.array([words <= t.said for t in self.trials], np.bool_)
        return self._spoken_of[words]


def select(lanes: Sequence[Lane], captioned: InWords, *, most: int, alpha: float = 0.05) -> list[Claim]:
    """The claims worth confirming, worst for the model first; `alpha` is the error of each comparison."""
    left = _candidates(lanes, captioned)
    bases: dict[tuple[str, str], Candidate] = {}
    for one in left:
        against = one.claim.against
        bases.setdefault(
            (against.id, one.claim.answer),
            Candidate(one.claim._replace(hypothesis=against), frozenset(), captioned(against, against)),
        )
    kept: list[Candidate] = []
    while left and len(kept) < most:
        open_still: list[tuple[float, Candidate]] = []
        for one in left:
            base = bases[one.claim.against.id, one.claim.answer]
            aside = [k for k in kept if k.claim.against == one.claim.against]
            inside, outside = one.counts(aside), base.counts([*aside, one])
            if exceeds(*inside, *outside, alpha=alpha):
                open_still.append((_smoothed(*inside), one))
        if not open_still:
            break
        worst = max(open_still, key=lambda pair: (pair[0], -len(pair[1].words)))[1]
        best = _general(worst, [one for _, one in open_still], kept)
        kept.append(best)
        left = [one for _, one in open_still if one is not best]
    return [one.claim for one in sorted(kept, key=lambda one: -_smoothed(*one.counts(())))]


def _candidates(lanes: Sequence[Lane], captioned: InWords) -> list[Candidate]:
    """Those ahead; a single wrong answer is not followed where all failures together are ahead."""
    ahead = [lane for lane in lanes if lane.state is State.AHEAD and lane.against is not None]
    whole = {lane.hypothesis.id for lane in ahead if not lane.answer}
    found = []
    for lane in ahead:
        if lane.against is None or (lane.answer and lane.hypothesis.id in whole):
            continue
        claim = Claim(lane.hypothesis, lane.against, lane.answer)
        words = said_by(lane.hypothesis, lane.against)
        found.append(Candidate(claim, words, captioned(lane.hypothesis, lane.against)))
    return found


def said_by(hypothesis: Hypothesis, base: Hypothesis) -> Sentences:
    """The sentences that a hypothesis adds, as they are said (not their general forms)."""
    known = frozenset(sentences(base.text))
    return frozenset(s for s in sentences(hypothesis.text) if s not in known)


def _general(one: Candidate, others: Sequence[Candidate], kept: Sequence[Candidate]) -> Candidate:
    """The most general candidate that speaks of more cases and is not shown to fail less often there."""
    best = one
    for other in sorted(others, key=lambda other: -len(other.words)):
        if other.claim.answer != one.claim.answer or other.claim.against != one.claim.against:
            continue
        if (
            other is best
            or other.words == best.words
            or not other.words <= sentences_of(" ".join(best.words))
        ):
            continue  # it does not speak of more cases
        aside = [k for k in kept if k.claim.against == one.claim.against]
        inside, beyond = best.counts(aside), other.counts([*aside, best])
        # What the special one adds must be worth saying, or else the general one is the better finding.
        ratio = _smoothed(*inside) / _smoothed(*beyond)
        if beyond[0] and (ratio < WORTH or log_evidence(*inside, *beyond) < 1.0):
            best = other
    return best


def _smoothed(failures: int, n: int) -> float:
    """A rate that few trials do not make 0 or 1."""
    return (failures + 0.5) / (n + 1)
