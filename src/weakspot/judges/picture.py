"""A generated picture failed when it does not match its prompt, is of bad quality, or shows an attribute.

- `match`: Δ = 1 − cosine of picture and prompt, by an encoder;
- `quality`: Δ = how much more the picture is like a bad picture than like a good one in an encoder's eyes, as
  Wang et al. (2023) ask it, from 0 to 1;
- `shows`: Δ = the probability of one value of an attribute. A cell's rate is then the share of pictures that
  show it, and the landscape is one of bias.

What a case shows is the picture; what it expects is the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import (
    MODELS,
    Case,
    Encoder,
    Output,
    Scores,
    Status,
    Verdict,
    WeakspotError,
    check_known,
    nearest,
)
from weakspot.judges.discrepancy import judge_by, limit

#: By measure, the usual ε. A match of 0.25 is what CLIPs give to pictures that show what was asked for.
USUAL: Final[Mapping[str, float]] = {"match": 0.75, "quality": 0.5, "shows": 0.5}
#: What a good and a bad picture are called.
GOOD, BAD = "a good photo.", "a bad photo."
#: Cosines are multiplied by this before they become probabilities, as CLIPs were trained.
SHARP: Final = 100.0
#: A picture whose pixels differ less than this, of 255, shows nothing.
FLAT: Final = 1.0


class Viewer:
    """Looks at generated pictures: the target of a map of a generator, whose source is the generator itself.

    It answers with the value of the attribute that it sees ("a man", "a woman", in words that the encoder
    understands), so that the ledger has it of every picture; where no attribute is asked for, with
    "a picture". A picture that is one plain colour is `empty`.
    """

    def __init__(self, encoder: Encoder | None = None, *, attribute: Sequence[str] = ()) -> None:
        self.encoder, self.attribute = encoder, tuple(attribute)
        self._rows: NDArray[np.float32] | None = None

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        outputs = [_looked(case.input) for case in cases]
        shown = [i for i, output in enumerate(outputs) if output.status is Status.OK]
        if self.encoder is None or not self.attribute or not shown:
            return outputs
        rows = self.probabilities([cases[i].input for i in shown])
        for i, row in zip(shown, rows, strict=True):
            if not np.isfinite(row).all():
                said = "the encoder gave numbers that are not finite"
                outputs[i] = Output(None, status=Status.ERROR, detail=said)
                continue
            scores = Scores(self.attribute, row)
            outputs[i] = Output(scores.top(1)[0][0], scores=scores)
        return outputs

    def probabilities(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Of each value, one row per picture."""
        if self.encoder is None:
            raise WeakspotError("no encoder is named to look at the pictures", fix="name an encoder")
        if self._rows is None:
            self._rows = self.encoder.embed_texts(self.attribute)
        return softmax(self.encoder.embed_images(images) @ self._rows.T)


def softmax(cosines: NDArray[Any]) -> NDArray[np.float32]:
    sharp = SHARP * np.asarray(cosines, dtype=float)
    powers = np.exp(sharp - sharp.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def _looked(image: object) -> Output:
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise WeakspotError("the generator gave no picture", fix="it gives uint8 (height, width, 3)")
    if image.size == 0 or float(np.ptp(image.reshape(-1, 3), axis=0).max()) < FLAT:
        return Output(None, status=Status.EMPTY, detail="the picture is one plain colour")
    return Output("a picture")


class PictureJudge:
    """See the module; the measure is one of `USUAL`.

    The values of the attribute are words, each with the share it is wanted to have (by default all alike);
    `shows` looks for one value, by default the first. `good` and `bad` say what `quality` tells apart.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        measure: str = "match",
        epsilon: float | None = None,
        attribute: Sequence[str] = (),
        wanted: Sequence[float] = (),
        value: str = "",
        good: str = GOOD,
        bad: str = BAD,
    ) -> None:
        self.encoder, self.measure, self.models = encoder, measure, (encoder,)
        self.epsilon = USUAL[measure] if epsilon is None else epsilon
        self.attribute = tuple(attribute)
        self.wanted = tuple(wanted) or (1.0,) * len(self.attribute)
        self.value = value
        self._quality: tuple[str, ...] = (good, bad)
        self._texts: dict[str, NDArray[np.float32]] = {}
        if measure == "shows" and not self.attribute:
            raise WeakspotError("no attribute is named", fix="add attribute=a man|a woman")
        if self.attribute and (len(set(self.attribute)) < 2 or len(self.wanted) != len(self.attribute)):
            raise WeakspotError(
                "an attribute needs at least two different values, with a wanted share for each",
                fix="write attribute=a man|a woman&wanted=0.5,0.5",
            )
        if value and value not in self.attribute:
            raise WeakspotError(
                f"the attribute has no value {value[:60]!r}",
                fix=nearest(value, self.attribute) or f"choose from: {', '.join(self.attribute)[:200]}",
            )

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. The score is Δ."""

        def deltas(which: Sequence[int]) -> list[float]:
            return self.deltas([cases[i] for i in which])

        return judge_by(deltas, cases, outputs, epsilon=self.epsilon, what=self.measure)

    def deltas(self, cases: Sequence[Case]) -> list[float]:
        seen = np.asarray(self.encoder.embed_images([case.input for case in cases]), dtype=float)
        if self.measure == "match":
            asked = np.stack([self._embedded(case.expected) for case in cases])
            return [float(1 - a @ b) for a, b in zip(seen, asked, strict=True)]
        texts, which = self._quality, 1
        if self.measure == "shows":
            texts, which = self.attribute, self.attribute.index(self.value or self.attribute[0])
        rows = softmax(seen @ np.stack([self._embedded(text) for text in texts]).T)
        return [float(row[which]) for row in rows]

    def _embedded(self, text: str) -> NDArray[np.float32]:
        if text not in self._texts:
            self._texts[text] = self.encoder.embed_texts([text])[0]
        return self._texts[text]


def load(
    *,
    encoder: str = "",
    measure: str = "match",
    epsilon: str = "",
    attribute: str = "",
    wanted: str = "",
    value: str = "",
    good: str = GOOD,
    bad: str = BAD,
) -> PictureJudge:
    """`picture?encoder=openclip:ViT-L-14/openai&attribute=a man|a woman&wanted=0.5,0.5`."""
    check_known(measure, USUAL, f"no measure of pictures is called {measure[:60]!r}")
    if not encoder:
        raise WeakspotError(
            "no encoder is named to look at the pictures",
            fix="--judge 'picture?encoder=openclip:ViT-L-14/openai', or world:encoder for the drawn world",
        )
    model: Any = MODELS.load(encoder)
    if not isinstance(model, Encoder):
        raise WeakspotError(
            f"{encoder[:80]} is not an encoder of pictures and texts", fix="use e.g. world:encoder"
        )
    return PictureJudge(
        model,
        measure=measure,
        epsilon=limit(epsilon),
        attribute=_split(attribute, "|"),
        wanted=_shares(wanted),
        value=value,
        good=good,
        bad=bad,
    )


def _split(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def _shares(text: str) -> list[float]:
    try:
        shares = [float(part) for part in _split(text, ",")]
    except ValueError:
        shares = [-1.0]
    if shares and not (np.isfinite(shares).all() and min(shares) >= 0 and sum(shares) > 0):
        raise WeakspotError(
            f"wanted shares cannot be {text[:60]!r}", fix="write a number for each value, e.g. wanted=0.5,0.5"
        )
    return shares
