"""Do two texts differ in what one would see? Only then is it a failure to embed them alike.

"A happy man" and "a joyful man" are near each other in every good encoder, and should be. A judge says of
each pair True (they differ), False (they do not) or None (it cannot tell): by rules on words and their order
(the default), by a model of natural-language inference (`hf:`), by a language model (`chat:`), or your own
with `differ(pairs)` (`python:`). A text that says more than the other differs: one would see more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from weakspot.core import DIFFERS, Case, Output, Status, Verdict, WeakspotError
from weakspot.core.registry import read_number
from weakspot.text.differences import Category, categorise
from weakspot.text.exchanges import shared
from weakspot.text.same_words import Alike, WordNets, alike, installed, plainly, said
from weakspot.text.tagging import tokenise

TextPair = tuple[str, str]


@runtime_checkable
class DiffersJudge(Protocol):
    """Says whether two texts differ in what one would see."""

    def differ(self, pairs: Sequence[TextPair]) -> list[bool | None]:
        """For each pair True, False, or None where it cannot tell; in order."""
        ...


class RuleJudge:
    """By words and their order: spelling, synonyms, articles and an order that changes nothing do not count.

    A WordNet knows further synonyms: a given one, that of this machine if it has one (True), or none (False).
    """

    def __init__(self, *, wordnet: WordNets | bool = True) -> None:
        self._known = wordnet if isinstance(wordnet, WordNets) else installed() if wordnet else WordNets()

    def differ(self, pairs: Sequence[TextPair]) -> list[bool | None]:
        """See `DiffersJudge`. None for texts without words, and where one word is a kind of the other."""
        return [self._differ(a, b) for a, b in pairs]

    def _differ(self, a: str, b: str) -> bool | None:
        one, two = said(a), said(b)
        if not one or not two:
            return None
        replaced = [(x, y) for x, y in zip(one, two, strict=False) if x.text != y.text]
        if not replaced and len(one) == len(two):
            return False
        exchanged = {x.text for x, _ in replaced} & {y.text for _, y in replaced}
        if len(one) == len(two) and not exchanged:
            kinds = {alike(x, y, self._known) for x, y in replaced}
            if Alike.OTHER not in kinds:
                return None if Alike.NEAR in kinds else False
        plain = plainly(a), plainly(b)
        if categorise(*plain).category is not Category.OTHER:
            return True
        # Nothing that a rule names: the same words in another order, or texts with little in common.
        return False if shared(*map(tokenise, plain)) == 1 else None


def rules() -> RuleJudge:
    return RuleJudge()


def differs(spec: str = "rules") -> DiffersJudge:
    found: object = DIFFERS.load(spec, spec=spec)
    if not isinstance(found, DiffersJudge):
        raise WeakspotError(f"{spec[:200]} cannot judge pairs", fix="it must have: differ")
    return found


_named = differs  # `load_similarity` has an option of this name

#: What `mine` counts as alike where nothing else is said; remembered of the published evaluation.
PUBLISHED = 0.88
SAME, OPEN = "alike, and rightly so: the two do not differ", "alike; whether the two differ is open"


@dataclass(frozen=True, slots=True)
class SimilarityJudge:
    """Failed where an encoder's similarity of two texts is above the threshold although they differ.

    The score of a verdict is the similarity. Without `validity` every pair is taken to differ.
    """

    threshold: float = PUBLISHED
    validity: DiffersJudge | None = None

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. A pair that is alike, and of which nobody can say whether it differs, is undecided."""
        verdicts = [self._by_similarity(output) for output in outputs]
        alike = [i for i, verdict in enumerate(verdicts) if verdict.failed]
        if self.validity is None or not alike:
            return verdicts
        said = self.validity.differ([(cases[i].input[0], cases[i].input[1]) for i in alike])
        if len(said) != len(alike):
            raise WeakspotError(f"{len(said)} opinions on {len(alike)} pairs", fix="give one each, in order")
        for i, differ in zip(alike, said, strict=True):
            if not differ:
                failed, reason = (None, OPEN) if differ is None else (False, SAME)
                verdicts[i] = Verdict(failed, verdicts[i].score, reason=reason)
        return verdicts

    def _by_similarity(self, output: Output) -> Verdict:
        if output.status is not Status.OK:
            return Verdict(None, status=output.status, reason=output.detail)
        try:
            similarity = float(output.answer or "")
        except ValueError:
            similarity = math.nan
        if not math.isfinite(similarity):
            return Verdict(
                None, status=Status.ERROR, reason=f"{(output.answer or '')[:80]!r} is not a number"
            )
        return Verdict(similarity > self.threshold, similarity)


def load_similarity(*, threshold: str = "", differs: str = "") -> SimilarityJudge:
    """`similarity?threshold=0.9&differs=rules`."""
    limit = read_number("threshold", threshold, most=1)
    return SimilarityJudge(PUBLISHED if limit is None else limit, _named(differs) if differs else None)
