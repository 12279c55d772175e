"""Rules: which sentences, alone or two together, go with failure; as few of them as explain it.

The rule with the strongest evidence is taken, the cases it speaks of are set aside, and the search goes on
with the rest: sequential covering. Two sentences are taken only where cases with both fail more often than
cases with one of them. Rules are guesses from the cases that suggested them: racing and fresh draws decide.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.stats.sequential import log_evidences
from weakspot.text.sentences import general_forms, sentences

#: Sentences that are weighed, those with the largest difference in how often they are said.
_WEIGHED: Final = 256
#: Of these, the most telling ones are also weighed two by two.
_PAIRED: Final = 48

#: A further sentence is worth saying if it makes failures this many times as frequent.
WORTH: Final = 2.0

Sentences = frozenset[str]


class SentenceRule(NamedTuple):
    """Sentences that together go with failure; the evidence is that cases with all fail more often."""

    sentences: tuple[str, ...]
    failing: int
    passing: int
    log_evidence: float

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


def sentences_of(caption: str, base: str = "") -> Sentences:
    """The sentences of a caption, and what is true where they are; those of the base are left out."""
    known = frozenset(sentences(base))
    own = [s for s in sentences(caption) if s not in known]
    return frozenset(own).union(*map(general_forms, own))


def rules(
    failing: Sequence[Sentences],
    passing: Sequence[Sentences],
    *,
    most: int = 8,
    least: float = 0.0,
    lift: float = 1.5,
    known: Iterable[Collection[str]] = (),
    fits: Callable[[tuple[str, ...]], bool] | None = None,
) -> list[SentenceRule]:
    """Rules that explain the failures, in the order in which they were found, from what is said of each case.

    A rule has at least this evidence (natural log), and its cases fail at least `lift` times as often as the
    rest. Cases of a known rule are set aside first; `fits` says whether sentences can be said together.
    """
    both = [*failing, *passing]
    failed = np.arange(len(both)) < len(failing)
    words = said_more_often(failing, passing)[:_WEIGHED]
    if not words:
        return []
    place = {word: i for i, word in enumerate(words)}
    table = np.zeros((len(both), len(words)), np.bool_)
    for row, some in enumerate(both):
        table[row, [place[word] for word in some if word in place]] = True
    left = np.array([not any(set(rule) <= some for rule in known) for some in both], np.bool_)
    found: list[SentenceRule] = []
    while len(found) < most and (left & failed).any():
        best = _best(table[left], failed[left], words, lift, fits or (lambda _: True))
        if best is None or best[0].log_evidence < least:
            break
        rule, columns = best
        found.append(rule)
        left &= ~table[:, columns].all(1)
    return found


def said_more_often(
    failing: Sequence[Sentences], passing: Sequence[Sentences], *, least: int = 1
) -> list[str]:
    """What is said of failures, of so many at least, more often than of passes, by how much more."""
    a, b = (Counter(s for some in many for s in some) for many in (failing, passing))
    gap = {s: n / len(failing) - b[s] / max(len(passing), 1) for s, n in a.items() if n >= least}
    return sorted((s for s in gap if gap[s] > 0), key=lambda s: (-gap[s], s))


def _best(
    table: NDArray[np.bool_],
    failed: NDArray[np.bool_],
    words: Sequence[str],
    lift: float,
    fits: Callable[[tuple[str, ...]], bool],
) -> tuple[SentenceRule, list[int]] | None:
    f, p = table[failed].astype(np.float64), table[~failed].astype(np.float64)
    total = float(len(f)), float(len(p))
    one = _evidence(f.sum(0), p.sum(0), *total, lift)
    order = sorted(range(len(words)), key=lambda i: (-round(float(one[i]), 9), len(words[i]), words[i]))
    choice = next(([i] for i in order if one[i] > -math.inf and fits((words[i],))), [])
    evidence = float(one[choice[0]]) if choice else -math.inf
    pair = _best_pair(f, p, total, [i for i in order[:_PAIRED] if f[:, i].sum() >= 2], words, lift, fits)
    if pair and pair[1] > evidence:
        choice, evidence = pair
    if not choice:
        return None
    inside = table[:, choice].all(1)
    counts = int((inside & failed).sum()), int((inside & ~failed).sum())
    return SentenceRule(tuple(words[i] for i in choice), *counts, evidence), choice


def _best_pair(
    f: NDArray[np.float64],
    p: NDArray[np.float64],
    total: tuple[float, float],
    tried: list[int],
    words: Sequence[str],
    lift: float,
    fits: Callable[[tuple[str, ...]], bool],
) -> tuple[list[int], float] | None:
    """Two sentences whose cases fail more often than those with only one of the two."""
    if len(tried) < 2:
        return None
    a, b = f[:, tried].T @ f[:, tried], p[:, tried].T @ p[:, tried]
    evidence = _evidence(a, b, *total, lift)
    for axis in (0, 1):  # cases with both, against those with only the first, then only the second
        fa, pa = (np.expand_dims(np.diag(m), 1 - axis) for m in (a, b))
        split = log_evidences(a, a + b, fa - a, fa - a + pa - b, factor=WORTH)
        evidence = np.where(split > 0.0, evidence, -math.inf)
    upper = np.triu(evidence, 1) + np.where(np.triu(np.ones_like(evidence), 1) > 0, 0.0, -math.inf)
    for flat in np.argsort(-upper, axis=None, kind="stable")[:64]:
        i, j = divmod(int(flat), len(tried))
        if upper[i, j] == -math.inf:
            return None
        columns = sorted((tried[i], tried[j]), key=lambda c: words[c])
        one, two = (words[c] for c in columns)
        if not _about_the_same(one, two) and fits((one, two)):
            return columns, float(upper[i, j])
    return None


def _about_the_same(one: str, two: str) -> bool:
    """Whether one of two sentences follows from the other, or both say the same of one thing."""
    return bool({one, *general_forms(one)} & {two, *general_forms(two)})


def _evidence(
    a: NDArray[np.float64], b: NDArray[np.float64], failing: float, passing: float, lift: float
) -> NDArray[np.float64]:
    """Log evidence that cases inside fail more often than those outside; -inf where they do not."""
    outside = failing - a, failing - a + passing - b
    inside_rate = (a + 0.5) / (a + b + 1)
    outside_rate = (outside[0] + 0.5) / (outside[1] + 1)
    evidence = log_evidences(a, a + b, *outside)
    return np.asarray(np.where((inside_rate >= lift * outside_rate) & (a > 0), evidence, -math.inf))
