"""Claims that a language model proposes: it reads captions of failures and of passes, round after round.

They are claims like those of the rules. They race for the same images and are confirmed on fresh draws, so a
bad one costs a few images and no truth. What the source cannot draw is dropped, and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from weakspot.core import Hypothesis
from weakspot.engine import Claim, Lane, State
from weakspot.studies.hunt.captions import CaptionedTrial
from weakspot.studies.hunt.claims import distinct, extended, said_by
from weakspot.studies.hunt.describe import Fits
from weakspot.text.llm_answers import Asked
from weakspot.text.llm_proposals import TOLD, Example, Tried, proposed
from weakspot.text.sentences import general_forms, sentences

#: With fewer failures it is not asked; where so few are left that nothing explains yet, all are shown.
FEWEST: Final = 3
#: Of many labels, so many are asked about in a round: those with most failures.
LABELS: Final = 4
_MANNER: Final = (
    "Each condition is one to {most} short sentences, written as the sentences in the quotes are. It says "
    "only what can be seen."
)


class Suggester:
    """Asks a language model about one baseline at a time; `proposed` and `dropped` count its conditions."""

    labels = LABELS

    def __init__(self, llm: Asked, seed: int) -> None:
        self._llm, self._seed = llm, seed
        self._rounds: Counter[str] = Counter()
        self.proposed, self.dropped = 0, 0

    def __call__(
        self,
        base: Hypothesis,
        trials: Sequence[CaptionedTrial],
        lanes: Sequence[Lane],
        *,
        fits: Fits,
        most: int,
    ) -> list[Claim]:
        """Claims of at most `most` sentences about a baseline's failures."""
        own = [lane for lane in lanes if lane.against == base]
        examples = examples_of(trials, [lane for lane in own if lane.state is State.AHEAD])
        if sum(one.failed for one in examples) < FEWEST:
            return []
        self._rounds[base.id] += 1
        found = proposed(
            self._llm,
            examples,
            manner=_MANNER.format(most=most),
            tried=tried_of(base, own),
            seed=f"{self._seed} {base.id} {self._rounds[base.id]}",
        )
        claims = []
        for text in found.conditions:
            claim = claim_of(text, base, fits=fits, most=most)
            claims += [claim] if claim is not None else []
            self.dropped += claim is None
        self.proposed += len(found.conditions)
        return distinct(claims)


def claim_of(text: str, base: Hypothesis, *, fits: Fits, most: int) -> Claim | None:
    """A condition as a claim; None where it says too much, or cannot be drawn."""
    for words in (text, re.sub(r",? and ", ". ", text)):
        said = sentences(words.removeprefix(base.text))
        caption = extended(base, said, origin="llm")
        if 0 < len(said) <= most and fits(caption.text):
            return Claim(caption, base)
    return None


def examples_of(trials: Sequence[CaptionedTrial], ahead: Sequence[Lane]) -> list[Example]:
    """Trials in words, those failures that nothing ahead explains, unless hardly any are left."""
    explained = [said_by(lane.hypothesis, lane.against) for lane in ahead if lane.against and not lane.answer]
    examples = [(Example(_words(trial), trial.failed, trial.answer), trial) for trial in trials if trial.said]
    open_still = [
        one
        for one, trial in examples
        if not (trial.failed and any(words <= trial.said for words in explained))
    ]
    enough = sum(one.failed for one in open_still) >= FEWEST
    return open_still if enough else [one for one, _ in examples]


def tried_of(base: Hypothesis, lanes: Sequence[Lane]) -> list[Tried]:
    """What came of its own proposals, and of others that are ahead; those that failed most first."""
    told = {
        lane.hypothesis.id: Tried(lane.hypothesis.beyond(base), lane.tally.failures, lane.tally.n)
        for lane in lanes
        if lane.tally.n and not lane.answer and (lane.hypothesis.origin == "llm" or lane.state is State.AHEAD)
    }
    return sorted(told.values(), key=lambda one: (-one.failures / one.n, one.text))[:TOLD]


def _words(trial: CaptionedTrial) -> str:
    """What is said of a trial, without what follows from another sentence."""
    implied = frozenset[str]().union(*map(general_forms, trial.said))
    return " ".join(sorted(trial.said - implied))
