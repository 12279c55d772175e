"""Claims: what to try next, and which of what fails too often is worth confirming.

- `from_failures`: sentences, alone or two together, that are said of the baseline's failures more often than
  of its passes; of all failures, and of every wrong answer by itself.
- `from_near_misses`: the same of passes that came closest to failing, where failures are too few to tell.
- `from_within`: what goes with failure among the trials of a hypothesis makes it more special; and whether
  it needs all of its sentences is asked by leaving each out.
- `from_groups`: failures that look alike are described together (Wiles, Albuquerque and Gowal 2022, steps 3
  and 4), where there is a captioner or an encoder.
- `Rewriter`: a language model says captions in other words.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.cluster import cluster
from weakspot.concepts.rules import WORTH, Sentences, rules
from weakspot.core import Captioner, Encoder, Hypothesis, ScoringCaptioner
from weakspot.engine import Claim, Lane, State
from weakspot.stats.sequential import log_evidences
from weakspot.studies.hunt.captions import CaptionedTrial, InWords
from weakspot.studies.hunt.describe import Fits, describe
from weakspot.text.changes import key
from weakspot.text.llm_answers import LONGEST, Answers, Asked, ask_all, items, one_line
from weakspot.text.sentences import general_forms, sentences

#: Wrong answers that are followed one by one, the most frequent.
CONFUSIONS: Final = 6
#: Rules of all failures, and of one wrong answer.
RULES: Final = 16
RULES_OF_ONE: Final = 4
#: Rules of near misses, and the evidence (natural log) that each must have: they did not fail, after all.
RULES_OF_NEAR: Final = 6
NEAR_EVIDENCE: Final = math.log(20)
#: The evidence (natural log) with which a sentence by itself goes with failure.
TELLING: Final = math.log(3)
#: A sentence that is said of a larger share of the pictures is no narrow condition.
COMMON: Final = 1 / 3
#: Of one answer, so many texts are taken.
WORDINGS: Final = 6

_PROMPT: Final = """\
An image classifier fails on pictures that fit the description below, which follows the words "{base}".
Give up to {most} other descriptions that may say better what the failures have in common: plainer words, one
of the facts alone, a more general word for a thing or a place. Each is one or two short sentences in the
manner of the description, and says only what can be seen. Do not repeat the words it follows.

The description, as data: {said}

Answer with JSON only: [{{"text": "it is on a plant."}}]"""


def from_failures(
    trials: Sequence[CaptionedTrial],
    base: Hypothesis,
    *,
    known: Iterable[Sequence[str]] = (),
    fits: Fits,
    confusions: bool,
) -> list[Claim]:
    """Claims that the trials of a baseline suggest, most telling first.

    What the `known` sentences of hypotheses that are ahead already explain is set aside. With `confusions`
    every wrong answer is followed by itself too.
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
    would, long before there are any. They suggest; only failures decide. `near` is what is said of the passes
    with the highest scores, `others` of the rest.
    """
    sayable = partial(_sayable, fits, [base.text])
    found = rules(near, others, most=RULES_OF_NEAR, least=NEAR_EVIDENCE, fits=sayable)
    return distinct(Claim(extended(base, rule.sentences, origin="near miss"), base) for rule in found)


def single_sentences(
    trials: Sequence[CaptionedTrial], base: Hypothesis, *, fits: Fits
) -> tuple[list[Claim], list[Claim]]:
    """A claim for each sentence that captions say: those that go with failure, then the others, likely first.

    What is said of more than a third of all pictures cannot fail three times as often as usual.
    """
    said: dict[str, float] = defaultdict(float)
    failing: Counter[str] = Counter()
    for trial in trials:
        for sentence in trial.said:
            said[sentence] += trial.weight
            failing[sentence] += trial.failed
    total, failures = sum(t.weight for t in trials), sum(t.failed for t in trials)
    sayable = partial(_sayable, fits, [base.text])
    rare = [s for s, n in said.items() if 2 <= n <= COMMON * total and sayable([s])]
    rare.sort(key=lambda s: (-(failing[s] + 0.5) / (said[s] + 1), -said[s], s))
    counts = np.array([(failing[s], said[s], failures - failing[s], total - said[s]) for s in rare])
    evidence = log_evidences(*counts.round().T) if rare else np.zeros(0)
    claims = [Claim(extended(base, [s], origin="swept"), base) for s in rare]
    telling = [claim for claim, one in zip(claims, evidence, strict=True) if one >= TELLING]
    return telling, [claim for claim in claims if claim not in telling]


def from_within(lanes: Sequence[Lane], captioned: InWords, *, most: int, fits: Fits) -> list[Claim]:
    """Claims of at most `most` sentences that trials of hypotheses suggest which are ahead, or may be."""
    found: list[Claim] = []
    for lane in lanes:
        base, failures = lane.against, lane.tally.failures
        if base is None or lane.state not in (State.AHEAD, State.OPEN) or failures < 3:
            continue
        own = sorted(said_by(lane.hypothesis, base))
        if lane.state is State.AHEAD:
            fewer = [list(some) for n in range(len(own) - 1, 0, -1) for some in combinations(own, n)]
            plainer = [
                [form if s == special else s for s in own]
                for special in own
                for form in sorted(general_forms(special))
            ]
            more_general = fewer + [some for some in plainer if _sayable(fits, [base.text], some)]
            found += [
                Claim(extended(base, some, origin="general"), base, lane.answer) for some in more_general
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

    A failing picture has a caption and a label: what the target said instead, "" where it was not asked. The
    `others` are pictures that the target gets right. A captioner is used if it knows probabilities of
    sentences; otherwise an encoder compares pictures with them. The encoder also groups; without one a label
    is a group.
    """
    scores = captioner if isinstance(captioner, ScoringCaptioner) else None
    if not images or (by := scores or encoder) is None:
        return []
    features = np.ones((len(images), 1)) if encoder is None else encoder.embed_images(images)
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
            fits=fits,
        )
        found += [
            Claim(extended(base, some, origin=origin), base)
            for some in (description.sentences, *((s,) for s in description.sentences))
            if some
        ]
    return distinct(found)


def _sayable(fits: Fits, before: Sequence[str], said: Sequence[str]) -> bool:
    return fits(" ".join([*before, *said]))


def extended(
    base: Hypothesis, said: Iterable[str], *, origin: str, parent: Hypothesis | None = None
) -> Hypothesis:
    """The baseline's words and some sentences, in one order, so that the same claim has one text.

    What follows from another sentence is left out: who is on a red flower is on a flower.
    """
    distinct_ones = set(said)
    implied = frozenset[str]().union(*map(general_forms, distinct_ones))
    words = [base.text, *sorted(distinct_ones - implied)]
    return Hypothesis(" ".join(words), origin=origin, parent=(parent or base).id)


def distinct(claims: Iterable[Claim]) -> list[Claim]:
    """Every claim once, none that says what its baseline does."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        if claim.hypothesis.id != claim.against.id:
            found.setdefault((claim.hypothesis.id, claim.answer), claim)
    return list(found.values())


def said_by(hypothesis: Hypothesis, base: Hypothesis) -> Sentences:
    """The sentences that a hypothesis adds, as they are said (not their general forms)."""
    known = frozenset(sentences(base.text))
    return frozenset(s for s in sentences(hypothesis.text) if s not in known)


# -- other words --------------------------------------------------------------------------------------


class Rewriter:
    """A language model that rewords captions: plainer, shorter and more general words for the same failure.

    The model sees what a caption says beyond the baseline; its wordings are hypotheses like any other, raced
    and confirmed, so a bad one costs a few images and no truth.
    """

    def __init__(self, llm: Asked) -> None:
        self._llm, self._known = llm, dict[str, list[str]]()
        self.answers = Answers()

    def __call__(self, said: str, *, base: str = "") -> list[str]:
        """Other wordings of what a caption says beyond the baseline; [] where none can be used."""
        if said not in self._known:
            prompt = _PROMPT.format(
                base=one_line(base), most=WORDINGS, said=json.dumps(one_line(said)[:LONGEST])
            )
            texts, answers = ask_all(self._llm, [prompt])
            self.answers += answers
            if texts[0] is None and answers.failed:
                return []  # another call may go through
            self._known[said] = read_texts(texts[0] or "", besides=said)
        return list(self._known[said])


def read_texts(answer: str, *, besides: str = "") -> list[str]:
    """The texts of an answer: of its objects, or of its lines where it is no JSON."""
    rows: list[Any] = [value for item in items(answer) for value in item.values()]
    if not rows:
        rows = [line.strip(" \t-*•\"'0123456789).,[]") for line in answer.splitlines()]
    found: dict[str, str] = {}
    for row in rows:
        for text in row if isinstance(row, list) else [row]:
            if not isinstance(text, str) or not 0 < len(text) <= LONGEST:
                continue
            words = " ".join(sentences(one_line(text)))
            if words and key(words) != key(besides) and len(words.split()) >= 2:
                found.setdefault(key(words), words)
    return list(found.values())[:WORDINGS]
