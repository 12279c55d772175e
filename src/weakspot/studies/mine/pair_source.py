"""The source of `mine`: pairs of texts, drawn from what a hypothesis says of them.

    edited    captions of the corpus and each with one thing of a category changed
    written   what a language model wrote for a category
    replaced  captions with any word replaced: the baseline of edits
    random    any two captions: the baseline of all pairs

Captions are dealt to the two stages, so that no caption of a confirmation was used before. The row of pairs
of a hypothesis follows from the corpus, the run's seed and the hypothesis, and ends where the corpus does.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Final

import numpy as np

from weakspot.core import Case, Hypothesis, Output, Stage, TextEncoder, Trial, WeakspotError, case_seed
from weakspot.sources.corpus import Corpus
from weakspot.studies.mine.pair_kinds import Made, at_random, edited, replaced, vocabulary
from weakspot.text.differences import Category
from weakspot.text.plain import normal_form

#: Pairs of a category in each stage at most, and of a baseline.
MOST: Final = {Stage.EXPLORE: 128, Stage.CONFIRM: 256}
MOST_PLAIN: Final = {Stage.EXPLORE: 512, Stage.CONFIRM: 1024}
#: Captions that are looked at for a category in each stage.
LOOKED_AT: Final = 8000


def edited_hypothesis(category: Category, *, mined: int = 0) -> Hypothesis:
    """Pairs that differ in a category; `mined` pairs of the corpus suggested it."""
    concepts = (("pairs", "edited"), ("differ in", category.value))
    return Hypothesis(category.value, concepts, origin="mined" if mined else "edit")


def written_hypothesis(name: str, description: str) -> Hypothesis:
    """Pairs that a language model wrote for a failure in its own words."""
    text = f"{name}: {description}" if description else name
    return Hypothesis(text, (("pairs", "written"), ("name", name)), origin="llm")


REPLACED: Final = Hypothesis(
    "a caption, and the same with any word replaced", (("pairs", "replaced"),), origin="baseline"
)
RANDOM: Final = Hypothesis("two captions at random", (("pairs", "random"),), origin="baseline")


class PairSource:
    """See the module.

    The language model's pairs are given by hypothesis id (`written`); texts that do not fit are not made;
    `only` these captions are drawn from, by baselines too, if not all.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        written: Mapping[str, Sequence[tuple[str, str]]] | None = None,
        fits: Callable[[str], bool] | None = None,
        only: Sequence[str] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.corpus, self.written, self._fits = corpus, dict(written or {}), fits
        self._captions = corpus.texts if only is None else tuple(only)
        self._progress = progress
        self._known = frozenset(map(normal_form, corpus.texts))
        self._pictures = dict(zip(corpus.texts, corpus.pictures, strict=True))
        self._rows: dict[tuple[str, int, Stage], list[Made]] = {}
        self._lock = threading.Lock()

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many pairs there are of a hypothesis in a stage."""
        return len(self._row(hypothesis, seed, stage))

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The input is a `Made`; the caption is the same as JSON."""
        cases = []
        for index in indices:
            stage = Stage.of(index)
            row = self._row(hypothesis, seed, stage)
            if index - stage.start >= len(row):
                raise WeakspotError(f"there are only {len(row)} pairs of {hypothesis.text[:80]!r}")
            pair = row[index - stage.start]
            own = case_seed(seed, hypothesis, index)
            said = json.dumps(pair, ensure_ascii=False)
            cases.append(Case(hypothesis, index, own, pair, "told apart", said))
        return cases

    def _row(self, hypothesis: Hypothesis, seed: int, stage: Stage) -> list[Made]:
        key = (hypothesis.id, seed, stage)
        with self._lock:
            if key not in self._rows:
                self._rows[key] = self._make(hypothesis, seed, stage)
            return self._rows[key]

    def _make(self, hypothesis: Hypothesis, seed: int, stage: Stage) -> list[Made]:
        concepts = dict(hypothesis.concepts)
        kind, rng = concepts.get("pairs"), Random(f"{seed} {hypothesis.id} {int(stage)}")  # noqa: S311
        if kind == "written":
            pairs = [Made(*pair) for pair in self.written.get(hypothesis.id, ())]
            return [pair for pair in pairs if stage_of(pair.first + "\n" + pair.second, seed) is stage]
        captions = [text for text in self._captions if stage_of(text, seed) is stage]
        rng.shuffle(captions)
        found: Iterator[Made]
        if kind == "edited":
            category, most = Category(concepts["differ in"]), MOST[stage]
            looked = captions[:LOOKED_AT]
            found = edited(looked, category=category, rng=rng, known=self._known, fits=self._fits)
        elif kind == "replaced":
            words, most = vocabulary(captions), MOST_PLAIN[stage]
            found = replaced(captions, words=words, rng=rng, known=self._known, fits=self._fits)
        elif kind == "random":
            found, most = at_random(captions, self._pictures, rng=rng), MOST_PLAIN[stage]
        else:
            raise WeakspotError(f"{hypothesis.text[:80]!r} says nothing of pairs")
        return list(islice(self._told(found, hypothesis, most), most))

    def _told(self, found: Iterator[Made], hypothesis: Hypothesis, most: int) -> Iterator[Made]:
        for number, pair in enumerate(found):
            if self._progress is not None and number % 16 == 0:
                self._progress(f"making pairs: {hypothesis.text[:60]}", number, most)
            yield pair


def stage_of(text: str, seed: int) -> Stage:
    """The stage to which a caption is dealt: half of them to each."""
    dice = hashlib.blake2b(f"{seed}:{text}".encode("utf-8", "backslashreplace"), digest_size=1).digest()
    return Stage.CONFIRM if dice[0] & 1 else Stage.EXPLORE


def pair_of(trial: Trial) -> Made:
    """The pair of a recorded trial; empty texts where it could not be drawn."""
    try:
        row = json.loads(trial.caption)
        return Made(*(str(part) for part in row))
    except (ValueError, TypeError):
        return Made("", "")


class PairSimilarity:
    """An encoder as a target: answers a case of two texts with the cosine of their vectors, six decimals."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder, self.models = encoder, (encoder,)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`. Each text is embedded once, however many cases it is in."""
        pairs = [_two_texts(case.input) for case in cases]
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        if not texts:
            return []
        rows = np.asarray(self.encoder.embed_texts(texts), np.float64)
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise WeakspotError(f"the encoder gave no finite row for each of {len(texts)} texts")
        lengths = np.linalg.norm(rows, axis=1)
        if not lengths.all():
            raise WeakspotError(f"the encoder gave zeros alone for {texts[int(lengths.argmin())][:80]!r}")
        rows /= lengths[:, None]
        at = {text: row for row, text in enumerate(texts)}
        return [Output(f"{float(rows[at[a]] @ rows[at[b]]):.6f}") for a, b in pairs]


def _two_texts(value: object) -> tuple[str, str]:
    if isinstance(value, tuple | list) and len(value) >= 2 and all(isinstance(v, str) for v in value[:2]):
        return value[0], value[1]
    raise WeakspotError(f"a {type(value).__name__} is no pair of texts", fix="give two texts")
