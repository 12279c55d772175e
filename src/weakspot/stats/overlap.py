"""How much two texts share: ROUGE-1, ROUGE-2, ROUGE-L (Lin, 2004) and BLEU (Papineni et al., 2002).

All compare a candidate with one reference and lie between 0 (nothing shared) and 1 (the same words). Words
are runs of letters and digits without regard to case; nothing is stemmed and nothing is left out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

#: Of a longer text only so many words are compared.
LONGEST: Final = 2000


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f: float


def tokens(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())[:LONGEST]


def rouge(candidate: str, reference: str, *, n: int = 1) -> Overlap:
    """ROUGE-N: the n-grams both have, each counted at most as often as the other has it."""
    if n < 1:
        raise ValueError(f"N-grams have one word at least, not {n}.")
    own, other = _grams(tokens(candidate), n), _grams(tokens(reference), n)
    return _overlap((own & other).total(), own.total(), other.total())


def rouge_l(candidate: str, reference: str) -> Overlap:
    """ROUGE-L: the longest row of words that both have in this order, with gaps."""
    own, other = tokens(candidate), tokens(reference)
    return _overlap(longest_common(own, other), len(own), len(other))


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    before = [0] * (len(second) + 1)
    for word in first:
        now = [0]
        for j, other in enumerate(second):
            now.append(before[j] + 1 if word == other else max(before[j + 1], now[j]))
        before = now
    return before[-1]


def bleu(candidate: str, reference: str, *, n: int = 4) -> float:
    """BLEU of one sentence or summary: the geometric mean of n-gram precisions times the brevity penalty.

    For n above 1 a match and a gram are added to every count (Lin and Och, 2004), without which a short text
    that shares no four words in a row would score 0 whatever else it shares. No shared word at all is 0.
    """
    own, other = tokens(candidate), tokens(reference)
    if not own or not other:
        return 0.0
    logs = []
    for k in range(1, n + 1):
        grams = _grams(own, k)
        shared, total = (grams & _grams(other, k)).total(), grams.total()
        if k == 1 and not shared:
            return 0.0
        logs.append(math.log((shared + (k > 1)) / (total + (k > 1))))
    brevity = min(0.0, 1 - len(other) / len(own))
    return math.exp(brevity + sum(logs) / n)


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _overlap(shared: int, own: int, other: int) -> Overlap:
    precision, recall = shared / own if own else 0.0, shared / other if other else 0.0
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall) if shared else 0.0)
