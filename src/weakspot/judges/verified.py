"""A second opinion: does the picture show what it should, before a miss counts as the model's?

A generator draws wrong things and words have two meanings. Without a second opinion its mistakes count as
the classifier's. A verifier is another model, best one made in another way: a classifier that must name the
label, or an encoder of pictures and texts that must put the label among the nearest. Every case is shown to
it, passes too, so that the rate is one of all valid cases; what it does not recognise is `INVALID`, which is
neither a failure nor a pass. It errs as well, and where it errs as the classifier does a failure is not seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Classifier, Encoder, Judge, Output, Status, Verdict, WeakspotError, nearest

#: What an encoder is asked to tell apart.
PROMPT: Final = "a photo of a {label}."


@runtime_checkable
class Opinion(Protocol):
    """Says whether pictures show what is expected of them."""

    def doubts(self, cases: Sequence[Case]) -> list[str]:
        """For each case "" if it shows it, else what is seen instead."""
        ...


@runtime_checkable
class ChecksLabels(Protocol):
    """An opinion that knows beforehand which labels it can judge."""

    def check(self, label: str) -> None:
        """Raise a `WeakspotError` for a label that it cannot tell from others."""
        ...


class ClassifierOpinion:
    """A classifier that must name the expected label, or one that is the same, among its `top` labels."""

    def __init__(
        self, classifier: Classifier, *, top: int = 1, same: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self.classifier, self.top, self.same = classifier, top, same or {}
        self.models = (classifier,)

    def check(self, label: str) -> None:
        """Refuse a label that its head does not have."""
        if not {label, *self.same.get(label, ())} & {*self.classifier.labels}:
            raise WeakspotError(
                f"the verifier has no label {label[:80]!r}",
                fix=nearest(label, self.classifier.labels) or "give a verifier with the same labels",
            )

    def doubts(self, cases: Sequence[Case]) -> list[str]:
        found = []
        for case, output in zip(cases, self.classifier.answer(cases), strict=True):
            if output.answer is None:
                raise WeakspotError(f"the verifier gave no answer: {output.detail[:200]}")
            seen = [output.answer]
            if self.top > 1 and output.scores is not None:
                seen = [label for label, _ in output.scores.top(self.top)]
            right = {case.expected, *self.same.get(case.expected, ())}
            found.append("" if right & {*seen} else f"the verifier sees {', '.join(seen)[:80]}")
        return found


class EncoderOpinion:
    """An encoder of pictures and texts that must put the expected label among the `top` nearest.

    All labels of the target's head are to be told apart. The prompt says how a label is said: {label} is
    filled in, by what `words` have for it if anything.
    """

    def __init__(
        self,
        encoder: Encoder,
        labels: Sequence[str],
        *,
        top: int = 3,
        prompt: str = PROMPT,
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.encoder, self.labels, self.top = encoder, tuple(labels), top
        self.models = (encoder,)
        self._texts = [prompt.replace("{label}", (words or {}).get(label, label)) for label in self.labels]
        self._rows: NDArray[np.float32] | None = None

    def check(self, label: str) -> None:
        """Refuse a label that it is not told of, or a single one: nothing could be told apart."""
        if label not in self.labels or len(self.labels) <= self.top:
            raise WeakspotError(
                f"the verifier cannot tell {label[:80]!r} from anything else: it knows {len(self.labels)} "
                "labels",
                fix="use a target that knows its labels, or a classifier as the verifier",
            )

    def doubts(self, cases: Sequence[Case]) -> list[str]:
        if self._rows is None:
            self._rows = self.encoder.embed_texts(self._texts)
        near = self.encoder.embed_images([case.input for case in cases]) @ self._rows.T
        if not np.isfinite(near).all():
            raise WeakspotError("the verifier gave numbers that are not finite", fix="check the model")
        found = []
        for case, row in zip(cases, near, strict=True):
            nearer = np.argsort(-row, kind="stable")[: self.top]
            seen = [self.labels[i] for i in nearer]
            found.append("" if case.expected in seen else f"the verifier sees {', '.join(seen)[:80]}")
        return found


@dataclass(frozen=True, slots=True)
class Verified:
    """A judge whose verdicts count only for cases that every opinion finds valid."""

    judge_alone: Judge
    opinions: tuple[Opinion, ...]

    @property
    def models(self) -> tuple[object, ...]:
        return self.judge_alone, *self.opinions

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. What no verdict can be given for is not shown to the opinions."""
        verdicts = self.judge_alone.judge(cases, outputs)
        decided = [i for i, verdict in enumerate(verdicts) if verdict.failed is not None]
        for opinion in self.opinions if decided else ():
            said = opinion.doubts([cases[i] for i in decided])
            for i, doubt in zip(list(decided), said, strict=True):
                if doubt:
                    before = verdicts[i]
                    verdicts[i] = Verdict(before.failed, before.score, Status.INVALID, doubt)
                    decided.remove(i)
        return verdicts


def opinion(model: Any, *, name: str, labels: Sequence[str], words: Mapping[str, str]) -> Opinion:
    """The opinion of a model: a classifier's, an encoder's, or its own."""
    if isinstance(model, Opinion):
        return model
    if isinstance(model, Classifier):
        return ClassifierOpinion(model)
    if isinstance(model, Encoder):
        return EncoderOpinion(model, labels, words=words)
    raise WeakspotError(
        f"{name[:200]} cannot verify pictures", fix="give a classifier, or an encoder of pictures and texts"
    )
