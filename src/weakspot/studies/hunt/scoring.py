"""How well sentences fit pictures: by a captioner's probabilities, or by an encoder's similarities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Encoder, ScoringCaptioner, WeakspotError
from weakspot.text.sentences import without_adjectives

#: Special forms ("on a yellow flower") that count towards a general sentence ("on a flower").
FORMS: Final = 8
#: The log-probability of a sentence that no picture could have.
IMPOSSIBLE: Final = -1e6

Image = NDArray[np.uint8]
Matrix = NDArray[np.float64]


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
    """log P(sentence | picture, text before), with a floor.

    A captioner that says "it is on a yellow flower." rarely says "it is on a flower.", though it is true. A
    general sentence therefore has the probability of all its forms together; they exclude each other.

    Args:
        captioner: Knows the probabilities.
        images: The pictures, one row each.
        forms: See `special_forms`.
        reach: In natural logs. What is further below the picture of which a sentence is likeliest counts as
            this far below it: between the unlikely and the impossible there is nothing to learn.

    Attributes:
        scored: Pairs of picture and sentence it was asked about.
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
        self.scored = 0

    def __call__(self, tried: Sequence[str], text: str) -> Matrix:
        """One row per picture, one column per sentence that may follow the text."""
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
        self.scored += len(self.images) * len(asked)
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
    """By how much a sentence brings the text nearer to a picture, in cosines.

    Args:
        encoder: Of pictures and texts.
        images: The pictures, one row each.

    Attributes:
        scored: Pairs of picture and sentence that were compared.
    """

    def __init__(self, encoder: Encoder, images: Sequence[Image]) -> None:
        self.encoder, self.scored = encoder, 0
        self.pictures = np.asarray(encoder.embed_images(images), np.float64)

    def __call__(self, tried: Sequence[str], text: str) -> Matrix:
        """One row per picture, one column per sentence that may follow the text."""
        self.scored += len(self.pictures) * len(tried)
        texts = [f"{text} {s}".strip() for s in tried] + ([text] if text else [])
        near = self.pictures @ np.asarray(self.encoder.embed_texts(texts), np.float64).T
        if not np.isfinite(near).all():
            raise WeakspotError("the encoder gave numbers that are not finite", fix="check the model")
        start = near[:, -1:] if text else near.mean(1, keepdims=True)
        return np.asarray(near[:, : len(tried)] - start)
