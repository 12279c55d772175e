"""A group of pictures in words: the greedy likelihood description of Wiles, Albuquerque and Gowal (2022).

From the sentences S of the captions of a group A, one after the other is chosen:

    s_j = argmax over s in S of the mean over x in A of log P([s_1 … s_(j-1), s] | x)

By itself this prefers what is true of everything ("the background is a meadow."). So the same mean over other
pictures, those the model got right, is subtracted, and a sentence must tell more than the best sentence of a
random group would. P comes from a captioner; where it knows no probabilities, an encoder's similarity of
picture and text stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.cluster import READ, rank_keywords
from weakspot.core import Encoder, Hypothesis, ScoringCaptioner, WeakspotError
from weakspot.studies.hunt.scoring import Image, Likelihood, Matrix, Similarity, special_forms
from weakspot.text.sentences import sentences, without_adjectives

#: Of a caption so many sentences are read.
PER_CAPTION: Final = 24
_STOPS: Final = str.maketrans(dict.fromkeys("!?;\n\r。！？", "."))

#: Takes sentences and the text before them; one row per picture, the group's first, one column per sentence.
Score = Callable[[Sequence[str], str], Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSettings:
    """How a group is described.

    Attributes:
        sentences: At most so many (K in the paper).
        candidates: Sentences the model is asked about; the cheap filter, counts in captions, chooses them.
        support: A candidate is said at least this share as often as the one said most; sentences that are
            all said once are all candidates.
        pictures: Pictures of the group that are looked at, the first ones.
        others: Other pictures that are looked at, the first ones.
        contrast: Weight of the others' mean. 0 is the published rule: no contrast, and no test. At 1 a
            sentence that is hardly true of the group would do, if it is true of the others even less.
        reach: Of a captioner's probabilities; see `Likelihood`.
        level: Share of random groups whose best sentence may tell as much as the one that is taken.
        draws: Random groups that are drawn for that.
    """

    sentences: int = 4
    candidates: int = 64
    support: float = 0.25
    pictures: int = 32
    others: int = 64
    contrast: float = 0.8
    reach: float = 7.0
    level: float = 0.05
    draws: int = 199


class Description(NamedTuple):
    """What a group's pictures have in common.

    Attributes:
        sentences: In the order they were chosen; () if none tells more than chance.
        gains: For each, by how much the group's mean exceeds the others'; the mean itself where there are
            no others. Natural logs with a captioner, cosines with an encoder.
        ended: Why there is no further sentence.
        scored: Pairs of picture and sentence that the model was asked about.
    """

    sentences: tuple[str, ...]
    gains: tuple[float, ...]
    ended: str
    scored: int

    @property
    def text(self) -> str:
        """All sentences as one text."""
        return " ".join(self.sentences)

    def hypothesis(self, base: Hypothesis) -> Hypothesis | None:
        """The baseline's words and these; None where there are none."""
        if not self.sentences:
            return None
        return Hypothesis(f"{base.text} {self.text}", origin="description", parent=base.id)


def describe(
    images: Sequence[Image],
    captions: Sequence[str],
    by: ScoringCaptioner | Encoder,
    *,
    others: Sequence[Image] = (),
    other_captions: Sequence[str] = (),
    prefix: str = "",
    meaning: Callable[[str], object] | None = None,
    settings: DescribeSettings | None = None,
) -> Description:
    """Describe a group of pictures.

    A sentence is added while it tells more of the group than of the others, and more than 95 % of random
    groups of the same size, drawn from both together, get from their best sentence (so that having
    looked at many sentences is paid for). Without others there is nothing to compare with, and the
    published rule is left: K sentences, if there are so many.

    Args:
        images: The group, the most typical first.
        captions: Texts whose sentences may be chosen; the group's captions, from whomever.
        by: A captioner, or an encoder of pictures and texts.
        others: Pictures that do not belong to the group, best of all those the model gets right.
        other_captions: Their captions, for the cheap filter.
        prefix: What is known already, e.g. the baseline's words; not said again.
        meaning: Raises `WeakspotError` for a text that the source cannot draw or that contradicts itself,
            such as `weakspot.world.grammar.parse`; a sentence that would lead to one is passed over.
        settings: See there.

    Raises:
        WeakspotError: The model gave something that cannot be used, or refused every sentence.
    """
    settings = settings or DescribeSettings()
    inside, outside = list(images[: settings.pictures]), list(others[: settings.others])
    if not inside:
        return Description((), (), "there are no pictures", 0)
    said = [_split(caption, prefix) for caption in captions]
    elsewhere = [_split(caption, prefix) for caption in other_captions]
    compared = elsewhere if settings.contrast > 0 else ()
    tried = candidates(said, compared, most=settings.candidates, support=settings.support)
    model: Likelihood | Similarity
    if isinstance(by, ScoringCaptioner):
        forms = special_forms(s for some in (*said, *elsewhere) for s in some)
        model = Likelihood(by, inside + outside, forms=forms, reach=settings.reach)
    elif isinstance(by, Encoder):
        model = Similarity(by, inside + outside)
    else:
        raise WeakspotError(
            f"a {type(by).__name__} can describe nothing",
            fix="give a Captioner, or an Encoder of pictures and texts; see weakspot.core.ports",
        )
    chosen, gains, ended = greedy(
        model, tried, len(inside), prefix=prefix, meaning=meaning, settings=settings
    )
    return Description(tuple(chosen), tuple(gains), ended, model.scored)


def candidates(
    said: Sequence[Sequence[str]],
    elsewhere: Sequence[Sequence[str]] = (),
    *,
    most: int = 64,
    support: float = 0.0,
) -> list[str]:
    """Sentences, and the same without adjectives, that captions say more often than others do.

    Args:
        said: The sentences of each caption.
        elsewhere: Those of other captions.
        most: How many to give, most telling first.
        support: See `DescribeSettings`.
    """

    def both(place: str) -> set[str]:
        return {form for s in texts[int(place)] for form in (s, without_adjectives(s))}

    texts = [*said, *elsewhere]
    places = [str(i) for i in range(len(texts))]
    ranked = rank_keywords(places[: len(said)], places[len(said) :], words=both, least=1, most=most)
    # Of two that tell the same, the shorter says it more generally.
    ranked.sort(key=lambda s: (-s.log_evidence, -s.lift, len(s.text), s.text))
    enough = support * max((s.failing for s in ranked), default=0)
    return [s.text for s in ranked if s.failing >= enough]


def greedy(
    score: Score,
    tried: Sequence[str],
    inside: int,
    *,
    prefix: str = "",
    meaning: Callable[[str], object] | None = None,
    settings: DescribeSettings,
) -> tuple[list[str], list[float], str]:
    """Choose sentence after sentence; they, their gains, and why it ended.

    Args:
        score: Gives the table of a round; its first `inside` rows are the group's.
        tried: The candidates, in order: of equals the first is taken.
        inside: Pictures of the group.
        prefix: The text before the first sentence.
        meaning: See `describe`.
        settings: `sentences`, `contrast`, `level` and `draws` are used.
    """
    chosen: list[str] = []
    gains: list[float] = []
    while len(chosen) < settings.sentences:
        text = " ".join([prefix, *chosen]).strip()
        tried = [s for s in tried if meaning is None or _understood(meaning, f"{text} {s}".strip())]
        if not tried:
            return chosen, gains, "no candidate is left"
        try:
            table = score(tried, text)
        except WeakspotError as error:
            if not chosen:
                raise
            return chosen, gains, f"the model goes no further: {error.what}"  # too long a text for it, say
        compared = settings.contrast > 0 and len(table) > inside
        worth = table[:inside].mean(0)
        if compared:
            worth = worth - settings.contrast * table[inside:].mean(0)
        best, useful, gain = int(worth.argmax()), np.ones(len(tried), bool), worth
        if compared:
            gain = _contrasts(table, np.arange(len(table))[None] < inside)[0]
            if not gain[best] > 0 or _chance(table, inside, gain[best], settings) > settings.level:
                return chosen, gains, "no sentence tells more than a random group's best"
            useful = gain > 0  # what told nothing is not asked again
        chosen.append(tried[best])
        gains.append(float(gain[best]))
        plain = without_adjectives(tried[best])
        tried = [s for s, ok in zip(tried, useful, strict=True) if ok and without_adjectives(s) != plain]
    return chosen, gains, f"{settings.sentences} sentences are enough"


def _understood(meaning: Callable[[str], object], text: str) -> bool:
    try:
        meaning(text)
    except WeakspotError:
        return False
    return True


def _contrasts(table: Matrix, members: NDArray[np.bool_]) -> Matrix:
    """Mean of the members minus mean of the rest: one row per grouping, one column per sentence."""
    size = members[0].sum()
    weights = np.where(members, 1 / size, -1 / max(len(table) - size, 1))
    return np.asarray(weights @ table)


def _chance(table: Matrix, inside: int, reached: float, settings: DescribeSettings) -> float:
    """How often a random group's best sentence reaches as much; never 0, since the group itself is one."""
    random = np.random.default_rng(0)
    members = np.tile(np.arange(len(table)) < inside, (settings.draws, 1))
    best = _contrasts(table, random.permuted(members, axis=1)).max(1)
    return float((1 + (best >= reached - 1e-12).sum()) / (1 + settings.draws))


def _split(caption: str, prefix: str) -> list[str]:
    """The first sentences of a caption, without those of the prefix."""
    known = frozenset(sentences(prefix))
    found = sentences(caption[: READ + len(prefix)].translate(_STOPS))
    return [s for s in found if s not in known][:PER_CAPTION]
