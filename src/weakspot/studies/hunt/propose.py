"""What to try next: claims from failures, from within hypotheses, and from groups of pictures.

- `from_failures`: sentences, alone or two together, that are said of the baseline's failures more often than
  of its passes; of all failures, and of every wrong answer by itself.
- `from_near_misses`: the same of passes that came closest to failing, where failures are too few to tell.
- `from_within`: what goes with failure among the trials of a hypothesis makes it more special; and whether
  it needs all of its sentences is asked by leaving each out.
- `from_groups`: failures that look alike are described together (Wiles, Albuquerque and Gowal 2022, steps 3
  and 4), where there is a captioner or an encoder.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.cluster import cluster
from weakspot.concepts.rules import WORTH, Sentences, rules
from weakspot.core import Captioner, Encoder, Hypothesis, ScoringCaptioner, WeakspotError
from weakspot.engine import Claim, Lane, State
from weakspot.studies.hunt.captions import CaptionedTrial, InWords
from weakspot.studies.hunt.describe import describe
from weakspot.studies.hunt.select import said_by
from weakspot.text.sentences import general_forms

#: Wrong answers that are followed one by one, the most frequent.
CONFUSIONS: Final = 6
#: Rules of all failures, and of one wrong answer.
RULES: Final = 16
RULES_OF_ONE: Final = 4
#: Rules of near misses, and the evidence (natural log) that each must have: they did not fail, after all.
RULES_OF_NEAR: Final = 6
NEAR_EVIDENCE: Final = math.log(20)

Fits = Callable[[str], bool]


def from_failures(
    trials: Sequence[CaptionedTrial],
    base: Hypothesis,
    *,
    known: Iterable[Sequence[str]] = (),
    fits: Fits,
    confusions: bool,
) -> list[Claim]:
    """Claims that the trials of a baseline suggest, most telling first.

    Args:
        trials: Of the baseline.
        base: The baseline.
        known: Sentences of hypotheses that are ahead already; what they explain is set aside.
        fits: Whether a text can be drawn.
        confusions: Whether every wrong answer is followed by itself too.
    """
    sayable = partial(_sayable, fits, [base.text])
    failing, passing = [t.said for t in trials if t.failed], [t.said for t in trials if not t.failed]
    found = [
        Claim(extended(base, rule.sentences, origin="caption"), base)
        for rule in rules(failing, passing, most=RULES, known=known, fits=sayable)
    ]
    answers = Counter(t.answer for t in trials if t.failed)
    for answer, times in answers.most_common(CONFUSIONS) if confusions else ():
        if times < 2 or times > 0.8 * len(failing):
            continue  # nothing to learn from one, and nothing new where it is nearly all
        own = [t.said for t in trials if t.failed and t.answer == answer]
        rest = [t.said for t in trials if not (t.failed and t.answer == answer)]
        found += [
            Claim(extended(base, rule.sentences, origin="confusion"), base, answer)
            for rule in rules(own, rest, most=RULES_OF_ONE, least=math.log(2), fits=sayable)
        ]
    return distinct(found)


def from_near_misses(
    near: Sequence[Sentences], others: Sequence[Sentences], base: Hypothesis, *, fits: Fits
) -> list[Claim]:
    """Claims that passes suggest for which the target was least sure.

    What makes a model fail mostly makes it less sure elsewhere, so that a few near misses say what failures
    would, long before there are any. They suggest; only failures decide.

    Args:
        near: What is said of the passes with the highest scores.
        others: What is said of other passes.
        base: The baseline.
        fits: Whether a text can be drawn.
    """
    sayable = partial(_sayable, fits, [base.text])
    found = rules(near, others, most=RULES_OF_NEAR, least=NEAR_EVIDENCE, fits=sayable)
    return distinct(Claim(extended(base, rule.sentences, origin="near miss"), base) for rule in found)


def from_within(lanes: Sequence[Lane], captioned: InWords, *, most: int, fits: Fits) -> list[Claim]:
    """Claims that trials of hypotheses suggest which are ahead, or may be.

    Args:
        lanes: Of a race.
        captioned: Gives the trials of a hypothesis in words.
        most: Sentences that a hypothesis may add to the baseline.
        fits: Whether a text can be drawn.
    """
    found: list[Claim] = []
    for lane in lanes:
        base, failures = lane.against, lane.tally.failures
        if base is None or lane.state not in (State.AHEAD, State.OPEN) or failures < 3:
            continue
        own = sorted(said_by(lane.hypothesis, base))
        if lane.state is State.AHEAD and len(own) > 1:
            found += [
                Claim(extended(base, [s for s in own if s != left_out], origin="general"), base, lane.answer)
                for left_out in own
            ]
        if lane.state is State.AHEAD:
            found += [
                Claim(
                    extended(base, [form if s == special else s for s in own], origin="general"),
                    base,
                    lane.answer,
                )
                for special in own
                for form in sorted(general_forms(special))
                if fits(f"{base.text} {' '.join(form if s == special else s for s in own)}")
            ]
        if len(own) >= most:
            continue
        true = frozenset(own).union(*map(general_forms, own))
        trials = captioned(lane.hypothesis, base)
        failed = [t.failed and lane.answer in ("", t.answer) for t in trials]
        groups = (
            [t.said - true for t, f in zip(trials, failed, strict=True) if f is wanted]
            for wanted in (True, False)
        )
        sayable = partial(_sayable, fits, [base.text, *own])
        for rule in rules(*groups, most=2, least=math.log(3), lift=WORTH, fits=sayable):
            if len(own) + len(rule.sentences) <= most:
                special = extended(base, [*own, *rule.sentences], origin="special", parent=lane.hypothesis)
                found.append(Claim(special, base, lane.answer))
            found.append(Claim(extended(base, rule.sentences, origin="special"), base, lane.answer))
    return distinct(found)


def from_groups(
    base: Hypothesis,
    images: Sequence[NDArray[np.uint8]],
    captions: Sequence[str],
    labels: Sequence[str],
    *,
    others: Sequence[NDArray[np.uint8]],
    other_captions: Sequence[str] = (),
    captioner: Captioner | None,
    encoder: Encoder | None,
    fits: Fits,
    origin: str = "description",
) -> list[Claim]:
    """Groups of failures described together; each description whole, and its sentences one by one.

    Args:
        base: The baseline.
        images: Failing pictures.
        captions: What is said of them.
        labels: What the target said instead; "" where it was not asked.
        others: Pictures that the target gets right.
        other_captions: What is said of those.
        captioner: Knows probabilities of sentences; or
        encoder: Compares pictures with sentences. It also groups; without one there is one group per label.
        fits: Whether a text can be drawn.
        origin: Of the hypotheses.
    """
    scores = captioner if isinstance(captioner, ScoringCaptioner) else None
    if not images or (by := scores or encoder) is None:
        return []
    features = np.ones((len(images), 1)) if encoder is None else encoder.embed_images(images)

    def meaning(text: str) -> str:
        if not fits(text):
            raise WeakspotError("it cannot be drawn")
        return text

    found: list[Claim] = []
    for group in cluster(list(labels), features)[:8]:
        if group.leftover:
            continue
        description = describe(
            [images[i] for i in group.members],
            [captions[i] for i in group.members],
            by,
            others=others,
            other_captions=other_captions,
            prefix=base.text,
            meaning=meaning,
        )
        found += [
            Claim(extended(base, some, origin=origin), base)
            for some in (description.sentences, *((s,) for s in description.sentences))
            if some
        ]
    return distinct(found)


def _sayable(fits: Fits, before: Sequence[str], sentences: Sequence[str]) -> bool:
    return fits(" ".join([*before, *sentences]))


def extended(
    base: Hypothesis, sentences: Iterable[str], *, origin: str, parent: Hypothesis | None = None
) -> Hypothesis:
    """The baseline's words and some sentences, in one order, so that the same claim has one text.

    What follows from another sentence is left out: who is on a red flower is on a flower.
    """
    said = set(sentences)
    implied = frozenset[str]().union(*map(general_forms, said))
    words = [base.text, *sorted(said - implied)]
    return Hypothesis(" ".join(words), origin=origin, parent=(parent or base).id)


def distinct(claims: Iterable[Claim]) -> list[Claim]:
    """Every claim once, none that says what its baseline does."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        if claim.hypothesis.id != claim.against.id:
            found.setdefault((claim.hypothesis.id, claim.answer), claim)
    return list(found.values())
