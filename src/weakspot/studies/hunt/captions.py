"""What is said of trials: by the source that drew them, or by a captioner that looks at the kept pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.cluster import keywords
from weakspot.concepts.rules import Sentences, sentences_of
from weakspot.core import Captioner, Hypothesis, Stage, Status, Trial, WeakspotError
from weakspot.engine import Engine
from weakspot.text.sentences import sentences

#: Pictures that a captioner is shown at once.
_AT_ONCE: Final = 32
#: So many captions show whether sentences are said again; below this share of them they are not.
_ENOUGH: Final = 20
_ALIKE: Final = 0.3


class CaptionedTrial(NamedTuple):
    """A trial in words: sentences that are true of it, beyond the baseline's, and what the target answered.

    Of passes only some may have been looked at: one stands for `weight` trials, a failure always for 1.
    """

    said: Sentences
    failed: bool
    answer: str
    weight: float = 1.0


#: Gives the trials of a hypothesis in words, beyond those of its baseline.
InWords = Callable[[Hypothesis, Hypothesis], Sequence[CaptionedTrial]]


class Captions:
    """What is said of the explored trials of a run.

    A source that knows what it drew says so in the captions of its cases. Where it knows no more than it was
    asked for, a captioner describes the pictures that were kept. What it said is written into the ledger, so
    that a captioner that would say something else next time changes nothing in a run that is resumed.

    Captions that people wrote are no two alike. Where hardly a sentence is said twice, their words take the
    place of sentences: "two dogs run through deep snow" says "dogs.", "run.", "deep snow.", …

    Only trials that the engine has seen count, so that a replay says the same; for that, `known` has what the
    captioner said before the run was interrupted, and `keep` is given all that it said when there is more.
    """

    def __init__(
        self,
        engine: Engine,
        captioner: Captioner | None,
        *,
        known: Mapping[str, str],
        keep: Callable[[dict[str, str]], None],
    ) -> None:
        self.engine, self.captioner = engine, captioner
        self._by_word: dict[str, bool] = {}
        self._read: dict[tuple[str, str], tuple[int, list[CaptionedTrial]]] = {}
        self._captions, self._keep = dict(known), keep

    def trials(self, hypothesis: Hypothesis, base: Hypothesis) -> list[CaptionedTrial]:
        """The valid trials of a hypothesis of which something is known, in order."""
        drawn, captioned = self._read.get((hypothesis.id, base.id), (-1, []))
        if drawn != (now := self.engine.tally(hypothesis).drawn):
            captioned = self._captioned(hypothesis, base)
            self._read[hypothesis.id, base.id] = now, captioned
        return captioned

    def _captioned(self, hypothesis: Hypothesis, base: Hypothesis) -> list[CaptionedTrial]:
        seen = self._seen(hypothesis)
        own = sentences_of(hypothesis.text, base.text)
        read = self._reader(base)
        known = [read(trial.caption) for trial in seen]
        if self.captioner is not None and not any(words - own for words in known):
            looked = self._look(hypothesis, base, [t for t in seen if t.blob])
            weight = _weight(seen, looked)
            return [
                _captioned(t, own | sentences_of(looked[t.index], base.text), 1.0 if t.failed else weight)
                for t in seen
                if t.index in looked
            ]
        return [_captioned(t, own | words) for t, words in zip(seen, known, strict=True)]

    def near_misses(self, base: Hypothesis, most: int) -> tuple[list[Sentences], list[Sentences]]:
        """What is said of a baseline's passes with the highest scores, and of its other passes.

        Where the source does not know what it drew, those pictures are drawn once more, to be looked at.
        Without scores there are none.
        """
        seen = self._seen(base)
        passes = sorted(
            (t for t in seen if not t.failed and t.score), key=lambda t: (-(t.score or 0), t.index)
        )
        near = {t.index: t for t in passes[:most]}
        read = self._reader(base)
        words = {t.index: read(t.caption) for t in seen if not t.failed}
        if self.captioner is not None and not any(words.values()):
            looked = self._look(base, base, [t for t in seen if t.blob and not t.failed])
            looked |= self._look_again(base, list(near.values()))
            words = {index: sentences_of(caption, base.text) for index, caption in looked.items()}
        return (
            [some for index, some in words.items() if index in near],
            [some for index, some in words.items() if index not in near],
        )

    def plain(self, base: Hypothesis) -> list[tuple[Sentences, bool]]:
        """What the source says of a baseline's valid trials of both stages, as drawn, and which failed.

        Nothing where it does not know: a captioner looks at failures more often than at passes.
        """
        read = self._reader(base)
        found: list[tuple[Sentences, bool]] = []
        for stage in Stage:
            end = stage.start + self.engine.tally(base, stage).drawn
            found += [
                (read(trial.caption), trial.failed)
                for trial in self.engine.run.ledger.trials(base, stage=stage)
                if trial.index < end and trial.failed is not None and trial.status is not Status.INVALID
            ]
        return found if any(words for words, _ in found) else []

    def _look_again(self, base: Hypothesis, trials: Sequence[Trial]) -> dict[int, str]:
        """What the captioner says of trials; pictures that were not kept are drawn once more."""
        lost = [t for t in trials if not t.blob]
        held = [t.index for t in lost if f"{base.id}:{t.index}" in self._captions]
        drawn = self.engine.redraw(base, [t.index for t in lost], held=held)
        there = [t for t in trials if t.blob or t.index in drawn or t.index in held]
        return self._look(base, base, there, {index: case.input for index, case in drawn.items()})

    def _reader(self, base: Hypothesis) -> Callable[[str], Sentences]:
        """How captions are read: sentence by sentence, or, if no two are alike, word by word."""
        if base.id not in self._by_word:
            captions = [t.caption for t in self._seen(base) if t.caption.removeprefix(base.text).strip()]
            if len(captions) < _ENOUGH:
                return lambda caption: sentences_of(caption, base.text)
            # The first ones only: what is decided must not change when more are seen.
            times = Counter(s for caption in captions[:_ENOUGH] for s in sentences_of(caption, base.text))
            self._by_word[base.id] = sum(n for n in times.values() if n > 1) < _ALIKE * times.total()
        known = frozenset(keywords(base.text))
        if self._by_word[base.id]:
            return lambda caption: frozenset(f"{word}." for word in keywords(caption) - known)
        return lambda caption: sentences_of(caption, base.text)

    def of(self, hypothesis: Hypothesis, base: Hypothesis, trials: Sequence[Trial]) -> list[str]:
        """What the captioner says of trials whose pictures were kept; else what the source does."""
        looked = self._look(hypothesis, base, trials)
        return [looked.get(t.index, t.caption) for t in trials]

    def pictures(
        self, hypothesis: Hypothesis, *, failed: bool
    ) -> tuple[list[NDArray[np.uint8]], list[Trial]]:
        """The kept pictures of failing (or passing) trials, and the trials."""
        kept = [t for t in self._seen(hypothesis) if t.failed is failed and t.blob]
        return [self.engine.run.image(hypothesis, t) for t in kept], kept

    def _seen(self, hypothesis: Hypothesis) -> list[Trial]:
        end, ledger = self.engine.tally(hypothesis).drawn, self.engine.run.ledger
        both = (ledger.trials(hypothesis, stage=Stage.EXPLORE, failed=failed) for failed in (True, False))
        return sorted((t for some in both for t in some if t.index < end), key=lambda trial: trial.index)

    def _look(
        self,
        hypothesis: Hypothesis,
        base: Hypothesis,
        trials: Sequence[Trial],
        others: Mapping[int, NDArray[np.uint8]] = MappingProxyType({}),
    ) -> dict[int, str]:
        """What the captioner says of kept pictures, and of others that are given, by index."""
        if self.captioner is None:
            return {}
        run = self.engine.run
        new = [t for t in trials if f"{hypothesis.id}:{t.index}" not in self._captions]
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            texts = self.captioner.captions(
                [others[t.index] if t.index in others else run.image(hypothesis, t) for t in some],
                prefix=base.text,
            )
            if len(texts) != len(some) or not all(isinstance(text, str) for text in texts):
                kind = "" if len(texts) != len(some) else ", and not all are text"
                raise WeakspotError(
                    f"the captioner gave {len(texts)} captions of {len(some)} pictures{kind}",
                    fix="see weakspot.testing.check_captioner",
                )
            for trial, text in zip(some, texts, strict=True):
                self._captions[f"{hypothesis.id}:{trial.index}"] = " ".join(sentences(text[:10_000])[:24])
        if new:
            self._keep(self._captions)
        return {t.index: self._captions[f"{hypothesis.id}:{t.index}"] for t in trials}


def _captioned(trial: Trial, words: Sentences, weight: float = 1.0) -> CaptionedTrial:
    return CaptionedTrial(words, bool(trial.failed), trial.answer or "", weight)


def _weight(seen: Sequence[Trial], looked: Container[int]) -> float:
    """For how many trials a pass stands that was looked at, where a failure stands for one."""
    shares = []
    for failed in (True, False):
        all_of = [t.index for t in seen if t.failed is failed]
        shares.append(sum(index in looked for index in all_of) / len(all_of) if all_of else 1.0)
    return shares[0] / shares[1] if shares[1] else 1.0
