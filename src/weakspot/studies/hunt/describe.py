"""A group of pictures in words: the greedy likelihood description of Wiles, Albuquerque and Gowal (2022).

From the sentences S of the captions of a group A, one after the other is chosen:

    s_j = argmax over s in S of the mean over x in A of log P([s_1 … s_(j-1), s] | x)

By itself this prefers what is true of everything ("the background is a meadow."). So the same mean over other
pictures, those the model got right, is subtracted, and a sentence must tell more than the best sentence of a
random group would. P comes from a captioner; where it knows no probabilities, an encoder's similarity of
picture and text stands in for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.cluster import READ, rank_keywords
from weakspot.core import Encoder, ScoringCaptioner, WeakspotError
from weakspot.text.sentences import sentences, without_adjectives

#: Of a caption so many sentences are read.
PER_CAPTION: Final = 24
#: Special forms ("on a yellow flower") that count towards a general sentence ("on a flower").
FORMS: Final = 8
#: The log-probability of a sentence that no picture could have.
IMPOSSIBLE: Final = -1e6
_STOPS: Final = str.maketrans(dict.fromkeys("!?;\n\r。！？", "."))

Image = NDArray[np.uint8]
Matrix = NDArray[np.float64]
#: Whether a text can be drawn.
Fits = Callable[[str], bool]
#: Takes sentences and the text before them; one row per picture, the group's first, one column per sentence.
Score = Callable[[Sequence[str], str], Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSettings:
    """How a group is described."""

    sentences: int = 4  # at most (K in the paper)
    candidates: int = 64  # that the model is asked about; a cheap filter, counts in captions, chooses them
    support: float = 0.25  # a candidate is said at least this share as often as the one said most
    pictures: int = 32  # of the group that are looked at, the first ones
    others: int = 64  # other pictures that are looked at, the first ones
    #: Weight of the others' mean. 0 is the published rule: no contrast, and no test. At 1 a sentence that is
    #: hardly true of the group would do, if it is true of the others even less.
    contrast: float = 0.8
    reach: float = 7.0  # of a captioner's probabilities; see `Likelihood`
    level: float = 0.05  # share of random groups whose best sentence may tell as much as the one taken
    draws: int = 199  # random groups for that


class Description(NamedTuple):
    """What a group's pictures have in common: sentences, as they were chosen, and why there are no more.

    A gain is by how much the group's mean exceeds the others', or the mean itself where there are no others:
    natural logs with a captioner, cosines with an encoder.
    """

    sentences: tuple[str, ...]
    gains: tuple[float, ...]
    ended: str


def describe(
    images: Sequence[Image],
    captions: Sequence[str],
    by: ScoringCaptioner | Encoder,
    *,
    others: Sequence[Image] = (),
    other_captions: Sequence[str] = (),
    prefix: str = "",
    fits: Fits = lambda _: True,
    settings: DescribeSettings | None = None,
) -> Description:
    """Describe a group of pictures, the most typical first, by sentences of captions, from whomever.

    A sentence is added while it tells more of the group than of the others, and more than 95 % of random
    groups of the same size, drawn from both together, get from their best sentence (so that having looked at
    many sentences is paid for). The others are best those the model gets right; without them there is nothing
    to compare with, and the published rule is left: K sentences, if there are so many.

    What the `prefix` says is not said again. `fits` is whether the source can draw a text; a sentence that
    would lead to another one is passed over.
    """
    settings = settings or DescribeSettings()
    inside, outside = list(images[: settings.pictures]), list(others[: settings.others])
    if not inside:
        return Description((), (), "there are no pictures")
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
            f"a {type(by).__name__} cannot describe pictures",
            fix="give a Captioner, or an Encoder of pictures and texts; see weakspot.core.ports",
        )
    return greedy(model, tried, len(inside), prefix=prefix, fits=fits, settings=settings)


def candidates(
    said: Sequence[Sequence[str]],
    elsewhere: Sequence[Sequence[str]] = (),
    *,
    most: int = 64,
    support: float = 0.0,
) -> list[str]:
    """Sentences, and the same without adjectives, that captions say more often than others do, best first."""

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
    fits: Fits = lambda _: True,
    settings: DescribeSettings,
) -> Description:
    """Choose sentence after sentence.

    The first `inside` rows of a table of scores are the group's. Of equal candidates the first is taken.
    """
    chosen: list[str] = []
    gains: list[float] = []

    def so_far(ended: str) -> Description:
        return Description(tuple(chosen), tuple(gains), ended)

    while len(chosen) < settings.sentences:
        text = " ".join([prefix, *chosen]).strip()
        tried = [s for s in tried if fits(f"{text} {s}".strip())]
        if not tried:
            return so_far("no candidate is left")
        try:
            table = score(tried, text)
        except WeakspotError as error:
            if not chosen:
                raise
            return so_far(f"the model cannot go on: {error.what}")  # too long a text for it, say
        compared = settings.contrast > 0 and len(table) > inside
        worth = table[:inside].mean(0)
        if compared:
            worth = worth - settings.contrast * table[inside:].mean(0)
        best, useful, gain = int(worth.argmax()), np.ones(len(tried), bool), worth
        if compared:
            gain = _contrasts(table, np.arange(len(table))[None] < inside)[0]
            if not gain[best] > 0 or _chance(table, inside, gain[best], settings) > settings.level:
                return so_far("no sentence says more than the best one of a random group")
            useful = gain > 0  # what told nothing is not asked again
        chosen.append(tried[best])
        gains.append(float(gain[best]))
        plain = without_adjectives(tried[best])
        tried = [s for s, ok in zip(tried, useful, strict=True) if ok and without_adjectives(s) != plain]
    return so_far(f"{settings.sentences} sentences are enough")


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


# -- how well sentences fit pictures -----------------------------------------------------------------


def special_forms(said: Iterable[str]) -> dict[str, list[str]]:
    """The special forms of general sentences, the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for sentence in said:
        plain = without_adjectives(sentence)
        if plain != sentence:
            found.setdefault(plain, Counter())[sentence] += 1
    return {
        plain: [s for s, _ in sorted(forms.items(), key=lambda pair: (-pair[1], pair[0]))[:FORMS]]
        for plain, forms in found.items()
    }


class Likelihood:
    """log P(sentence | picture, text before), with a floor; a `Score`.

    A captioner that says "it is on a yellow flower." rarely says "it is on a flower.", though it is true. A
    general sentence therefore has the probability of all its `special_forms` together; they exclude each
    other. What is further than `reach` (natural logs) below the picture of which a sentence is likeliest
    counts as this far below it: between the unlikely and the impossible there is nothing to learn.
    """

    def __init__(
        self,
        captioner: ScoringCaptioner,
        images: Sequence[Image],
        *,
        forms: Mapping[str, list[str]],
        reach: float,
    ) -> None:
        self.captioner, self.images, self.forms, self.reach = captioner, list(images), forms, reach

    def __call__(self, tried: Sequence[str], text: str) -> Matrix:
        """See `Score`."""
        asked = list(dict.fromkeys(form for s in tried for form in (s, *self.forms.get(s, ()))))
        place = {s: i for i, s in enumerate(asked)}
        single, errors = self._ask(asked, text)
        if not np.isfinite(single).any():
            if errors:
                raise errors[0]
            raise WeakspotError(
                "the captioner gives none of the sentences a probability",
                fix="see weakspot.testing.check_captioner, or describe by an encoder",
            )
        table = np.stack(
            [
                np.logaddexp.reduce(single[:, [place[f] for f in (s, *self.forms.get(s, ()))]], axis=1)
                for s in tried
            ],
            axis=1,
        )
        return np.asarray(np.maximum(table, np.maximum(table.max(0) - self.reach, IMPOSSIBLE)))

    def _ask(self, asked: list[str], text: str) -> tuple[Matrix, list[WeakspotError]]:
        """Log-probabilities; -inf where the captioner refuses a sentence or gives no number."""
        try:
            table = np.asarray(self.captioner.log_probabilities(self.images, asked, prefix=text), np.float64)
        except WeakspotError as error:  # one sentence may be at fault, one that is too long say
            if len(asked) == 1:
                return np.full((len(self.images), 1), -np.inf), [error]
            half = len(asked) // 2
            (left, one), (right, two) = self._ask(asked[:half], text), self._ask(asked[half:], text)
            return np.concatenate([left, right], axis=1), one + two
        wanted = (len(self.images), len(asked))
        if table.shape != wanted:
            raise WeakspotError(
                f"the captioner gave log-probabilities of the shape {table.shape}, not {wanted}",
                fix="one row per picture, one column per sentence; see weakspot.testing.check_captioner",
            )
        return np.where(table < np.inf, table, -np.inf), []  # neither nan nor inf is a probability


class Similarity:
    """By how much a sentence brings the text nearer to a picture, in cosines; a `Score`."""

    def __init__(self, encoder: Encoder, images: Sequence[Image]) -> None:
        self.encoder = encoder
        self.pictures = np.asarray(encoder.embed_images(images), np.float64)

    def __call__(self, tried: Sequence[str], text: str) -> Matrix:
        """See `Score`."""
        texts = [f"{text} {s}".strip() for s in tried] + ([text] if text else [])
        near = self.pictures @ np.asarray(self.encoder.embed_texts(texts), np.float64).T
        if not np.isfinite(near).all():
            raise WeakspotError("the encoder gave numbers that are not finite", fix="check the model")
        start = near[:, -1:] if text else near.mean(1, keepdims=True)
        return np.asarray(near[:, : len(tried)] - start)
