"""Which claims are worth confirming: broad statements, and under each the narrower ones that are worse still.

Where cats fail at night in snow, so do cats in snow, and cats at night, only less often. Of all claims that
are ahead, the one is taken that speaks of most failures beyond the usual. It is made as broad as it can be:
"in snow at night, on the left" becomes "in snow at night" if the left side does not matter, and "in snow" if
snow by day fails more than usual as well. The cases it speaks of are set aside, and a further claim is taken
only if what is left of its cases still fails more often than what is left of the baseline's. Narrower claims
are kept under the broad one where they fail more often than the rest of it, beyond doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.rules import WORTH, Sentences, sentences_of
from weakspot.engine import Claim, Lane, State
from weakspot.engine.race import worth
from weakspot.stats import exceeds, log_evidence
from weakspot.studies.hunt.captions import CaptionedTrial, InWords
from weakspot.studies.hunt.claims import said_by
from weakspot.studies.hunt.families import Member, families

#: A claim fails at least so many times as often as usual; less where that is often, as in a race. Those
#: that fail clearly more often get the first places.
LIFT, CLEAR = 2.5, 4.0
#: The rest of a broad claim fails by itself if it fails so many times as often as usual, and shows such a
#: part of what the narrow one adds to the usual rate. A captioner forgets a little of what it sees, so that
#: pictures of the narrow claim stand among the rest.
HOLDS, PART = 1.5, 0.1
#: A narrower claim is worth saying if it fails so many times as often as the rest of the broad one.
WORSE: Final = 1.5
#: Two claims that are said of so much the same pictures (Jaccard) say the same.
SAME: Final = 0.9
#: So many narrower claims are kept under a broad one.
NARROWER: Final = 2
#: A narrower claim takes a broad one's place, for a start, where it has so much of its failures.
MOST: Final = 0.5


#: Failures and trials.
Counts = tuple[int, int]


class Branch(NamedTuple):
    """A claim with the narrower ones under it, the most telling first, and others of its kind beside it."""

    claim: Claim
    narrower: tuple[Claim, ...] = ()
    beside: tuple[Branch, ...] = ()


class Spoken:
    """Trials, and of which of them sentences are true."""

    def __init__(self, trials: Sequence[CaptionedTrial]) -> None:
        self.trials = trials
        self.weight = np.array([t.weight for t in trials])
        self._of: dict[Sentences, NDArray[np.bool_]] = {}

    def of(self, words: Sentences) -> NDArray[np.bool_]:
        """Of which trials all these sentences are true."""
        if words not in self._of:
            self._of[words] = np.array([words <= t.said for t in self.trials], np.bool_)
        return self._of[words]

    def share(self, words: Sentences, left: NDArray[np.bool_] | None = None) -> float:
        """The share of all trials of which these sentences are true, counting only those that are left.

        Never 0: to what was seen one trial is added that says each sentence as often as all trials do, as if
        sentences had nothing to do with each other.
        """
        total, prior = float(self.weight.sum()), 1.0
        for sentence in words:
            prior *= (float(self.weight[self.of(frozenset([sentence]))].sum()) + 0.5) / (total + 1.0)
        inside = self.of(words) if left is None else self.of(words) & left
        return (float(self.weight[inside].sum()) + prior) / (total + 1.0)


class Shares:
    """The share of a baseline's trials of which some sentences are true; 1 where nothing is said of any."""

    def __init__(self, trials: Sequence[CaptionedTrial]) -> None:
        self._all = Spoken(trials) if any(trial.said for trial in trials) else None
        self._known: dict[Sentences, float] = {}

    def __call__(self, words: Sentences) -> float:
        if self._all is None:
            return 1.0
        if words not in self._known:
            self._known[words] = self._all.share(words)
        return self._known[words]


class Candidate:
    """A claim with the sentences it adds to its baseline, and what its trials say."""

    def __init__(self, claim: Claim, words: Sentences, trials: Sequence[CaptionedTrial]) -> None:
        self.claim, self.words, self._spoken = claim, words, Spoken(trials)
        self.says = sentences_of(" ".join(sorted(words)))
        self._failed = np.array([t.failed and claim.answer in ("", t.answer) for t in trials], np.bool_)

    def narrows(self, other: Candidate) -> bool:
        """Whether it speaks of some of the other's cases, and of no others."""
        same = self.claim.answer == other.claim.answer and self.claim.against == other.claim.against
        return same and self.words != other.words and other.words <= self.says

    def counts(self, aside: Sequence[Candidate] = ()) -> tuple[int, int]:
        """Failures and trials among those that no other candidate speaks of."""
        left = self._besides(aside)
        failures = int((self._failed & left).sum())
        rest = float(self._spoken.weight[left & ~self._failed].sum())
        return failures, failures + round(rest)

    def share(self, of: Candidate, aside: Sequence[Candidate] = ()) -> float:
        """The share of its trials that another candidate speaks of, leaving out those of the ones aside."""
        return self._spoken.share(of.words, self._besides(aside))

    def alike(self, one: Sentences, other: Sentences) -> float:
        """Of the trials that say either, the share that say both; 0 where there are none."""
        a, b = self._spoken.of(one), self._spoken.of(other)
        return float((a & b).sum() / max((a | b).sum(), 1))

    def _besides(self, others: Sequence[Candidate]) -> NDArray[np.bool_]:
        left = np.ones(len(self._spoken.trials), np.bool_)
        for other in others:
            left &= ~self._spoken.of(other.words)
        return left


def lattice(
    lanes: Sequence[Lane], captioned: InWords, *, most: int, family: int = 1, alpha: float = 0.05
) -> list[Branch]:
    """The claims worth confirming, those first that speak of most failures beyond the usual.

    Args:
        most: So many broad claims at most, those of one family counted once.
        family: So many claims of one kind at most (see `families`).
        alpha: The error of each comparison.
    """
    every = _candidates(lanes, captioned)
    bases: dict[tuple[str, str], Candidate] = {}
    for one in every:
        against = one.claim.against
        bases.setdefault(
            (against.id, one.claim.answer),
            Candidate(one.claim._replace(hypothesis=against), frozenset(), captioned(against, against)),
        )

    def base_of(one: Candidate) -> Candidate:
        return bases[one.claim.against.id, one.claim.answer]

    left, kept = every, list[Candidate]()

    def fits(one: Candidate) -> bool:
        """Whether there is a place for it, beside those of its kind or by itself."""
        groups = families([*map(_member, kept), _member(one)], size=family)
        return len(groups) <= most and any(len(kept) in group for group in groups)

    while left := [one for one in left if fits(one)]:
        open_still: list[tuple[float, Candidate]] = []
        clear: list[Candidate] = []
        for one in left:
            aside = [k for k in kept if k.claim.against == one.claim.against]
            inside, outside = one.counts(aside), base_of(one).counts([*aside, one])
            if exceeds(*inside, *outside, alpha=alpha) and _notable(inside, outside, LIFT):
                clear += [one] if _notable(inside, outside, CLEAR) else []
                open_still.append((_weight(base_of(one).share(one, aside), inside, outside), one))
        if not open_still:
            break
        strong = [(weight, one) for weight, one in open_still if one in clear]
        others = [one for _, one in open_still]
        start = _start(strong or open_still)
        best = _broadest(start, others, kept, base_of, alpha)
        best = _plainest(best, others, base_of(best))
        if best is not start and not fits(best):
            left = [one for one in left if one not in (best, start)]
            continue
        # It may be broader than an earlier one, which then stands under it.
        kept = [*(one for one in kept if not one.narrows(best)), best]
        left = [one for _, one in open_still if one is not best]
    weights = {id(o): _weight(base_of(o).share(o), o.counts(), base_of(o).counts([o])) for o in kept}
    kept.sort(key=lambda one: -weights[id(one)])
    branches = [Branch(one.claim, tuple(_narrower(one, every, kept, alpha))) for one in kept]
    groups = families(list(map(_member, kept)), size=family)
    groups.sort(key=lambda group: -sum(weights[id(kept[i])] for i in group))
    return [branches[i]._replace(beside=tuple(branches[j] for j in others)) for i, *others in groups[:most]]


def _member(one: Candidate) -> Member:
    return Member(one.words, (one.claim.against.id, one.claim.answer))


def _start(open_still: Sequence[tuple[float, Candidate]]) -> Candidate:
    """What speaks of most failures; or what narrows it and fails more often, if it has most of them."""
    most, broad = max(open_still, key=lambda pair: (pair[0], -len(pair[1].words)))
    near = [one for weight, one in open_still if weight >= MOST * most and one.narrows(broad)]
    return max([broad, *near], key=lambda one: (_smoothed(*one.counts()), -len(one.words)))


def _broadest(
    one: Candidate,
    others: Sequence[Candidate],
    kept: Sequence[Candidate],
    base_of: Callable[[Candidate], Candidate],
    alpha: float,
) -> Candidate:
    """The broadest candidate whose further cases fail more than usual, or are not shown to fail less."""
    best = one
    for other in sorted(others, key=lambda other: -len(other.words)):
        if not best.narrows(other):
            continue
        aside = [k for k in kept if k.claim.against == one.claim.against]
        inside, beyond = best.counts(aside), other.counts([*aside, best])
        outside = base_of(one).counts([*aside, other])
        more, usual = _smoothed(*beyond), _smoothed(*outside)
        shown = more - usual >= PART * (_smoothed(*inside) - usual)
        if shown and exceeds(*beyond, *outside, factor=HOLDS, alpha=alpha):
            best = other
            continue
        # What the narrow one adds must be worth saying, or else the broad one is the better finding.
        ratio = _smoothed(*inside) / _smoothed(*beyond)
        if beyond[0] and (ratio < WORTH or log_evidence(*inside, *beyond) < 1.0):
            best = other
    return best


def _plainest(best: Candidate, others: Sequence[Candidate], base: Candidate) -> Candidate:
    """The shortest of the candidates that are said of the same pictures."""
    claim = best.claim
    same = [
        one
        for one in others
        if (one.claim.answer, one.claim.against) == (claim.answer, claim.against)
        and base.alike(one.words, best.words) >= SAME
    ]
    return min([best, *same], key=lambda one: (len(one.words), sum(map(len, one.words))))


def _narrower(
    broad: Candidate, every: Sequence[Candidate], kept: Sequence[Candidate], alpha: float
) -> list[Claim]:
    """Narrower claims that fail more often than the rest of a broad one, the weightiest first."""
    found: list[Candidate] = []
    left = [one for one in every if one.narrows(broad) and one not in kept]
    while len(found) < NARROWER:
        worse: list[tuple[float, Candidate]] = []
        for one in left:
            inside, rest = one.counts(found), broad.counts([*found, one])
            more = _smoothed(*inside) - _smoothed(*rest)
            if _smoothed(*inside) >= WORSE * _smoothed(*rest) and exceeds(*inside, *rest, alpha=alpha):
                worse.append((broad.share(one, found) * more, one))
        if not worse:
            break
        found.append(max(worse, key=lambda pair: pair[0])[1])
        left = [one for _, one in worse if one is not found[-1]]
    return [one.claim._replace(within=broad.claim.hypothesis) for one in found]


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


def _weight(share: float, inside: Counts, outside: Counts) -> float:
    """Impact times excess: the share of all failures that a claim speaks of, and how far above usual it is.

    The share of all failures is that of all cases times the rate, but for a factor that all claims share.
    """
    rate = _smoothed(*inside)
    return share * rate * max(rate - _smoothed(*outside), 0.0)


def _notable(inside: Counts, outside: Counts, lift: float) -> bool:
    """Whether a rate is so many times the usual, or less where that is high."""
    usual = _smoothed(*outside)
    return _smoothed(*inside) >= worth(usual, lift) * usual


def _smoothed(failures: int, n: int) -> float:
    """A rate that few trials do not make 0 or 1."""
    return (failures + 0.5) / (n + 1)
