"""The source and the target of `mine`: pairs of texts, drawn from what a hypothesis says of them.

    edited    captions of the corpus and each with one thing of a category changed
    written   what a language model wrote for a category
    replaced  captions with some noun, verb or adjective replaced by another of its kind
    random    any two captions

The last two are the baselines. Captions are dealt to the two stages, so that no caption of a confirmation was
used before. The row of pairs of a hypothesis follows from the corpus, the run's seed and the hypothesis.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Final, NamedTuple

import numpy as np

from weakspot.core import Case, Hypothesis, Output, Stage, TextEncoder, Trial, WeakspotError, case_seed
from weakspot.sources.corpus import Corpus
from weakspot.text.changes import put
from weakspot.text.contrast import LONGEST, variants
from weakspot.text.differences import Category
from weakspot.text.lexicon import Tag
from weakspot.text.plain import normal_form
from weakspot.text.tagging import Token, tokenise

#: Pairs of a category in each stage at most, and of a baseline.
MOST: Final = {Stage.EXPLORE: 128, Stage.CONFIRM: 256}
MOST_PLAIN: Final = {Stage.EXPLORE: 512, Stage.CONFIRM: 1024}
LOOKED_AT: Final = 8000  # captions that are looked at for a category in each stage
OFTEN: Final = 12  # after so many pairs with the same change of words ("two" → "three") others are preferred
#: Kinds of words that are replaced.
KINDS: Final = (Tag.NOUN, Tag.VERB, Tag.ADJ)
READ: Final = 3000  # captions whose words are gathered
TRIES: Final = 12  # words that are tried in one caption
ROUNDS: Final = 3  # how often the captions are gone through, another word each time


class Made(NamedTuple):
    """A pair, and what was changed where that is known."""

    first: str
    second: str
    change: str = ""


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
        admits, most = admitting(self._known, self._fits), MOST_PLAIN[stage]
        if kind == "edited":
            category, most = Category(concepts["differ in"]), MOST[stage]
            found = edited(captions[:LOOKED_AT], admits, category=category, rng=rng)
        elif kind == "replaced":
            found = replaced(captions, admits, rng=rng)
        elif kind == "random":
            found = at_random(captions, self._pictures, rng=rng)
        else:
            raise WeakspotError(f"{hypothesis.text[:80]!r} says nothing of pairs")
        return list(islice(self._reporting(found, hypothesis, most), most))

    def _reporting(self, found: Iterator[Made], hypothesis: Hypothesis, most: int) -> Iterator[Made]:
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


# -- how pairs are made of captions ---------------------------------------------------------------------


def admitting(known: Collection[str], fits: Callable[[str], bool] | None) -> Callable[[str], bool]:
    """Admits each text once, none with a known normal form, and none that would not be understood."""
    seen: set[str] = set()

    def admits(text: str) -> bool:
        form = normal_form(text)
        if form in known or form in seen or (fits is not None and not fits(text)):
            return False
        seen.add(form)
        return True

    return admits


def edited(
    captions: Sequence[str], admits: Callable[[str], bool], *, category: Category, rng: Random
) -> Iterator[Made]:
    """One new pair for each caption to which an edit of the category applies, in the captions' order."""
    used: Counter[str] = Counter()
    for caption in captions:
        if not 0 < len(caption) <= LONGEST or not caption.isprintable():
            continue
        plain = " ".join(caption.split())
        found = variants(plain, category=category)
        rng.shuffle(found)
        found.sort(key=lambda c: used[_change(c.before, c.after)] >= OFTEN)  # what is worn comes last
        for contrast in found:
            if admits(contrast.text):
                change = _change(contrast.before, contrast.after)
                used[change] += 1
                yield Made(plain, contrast.text, change)
                break


def _change(before: str, after: str) -> str:
    return f"{before.casefold()[:60] or '∅'} → {after.casefold()[:60] or '∅'}"


def replaced(captions: Sequence[str], admits: Callable[[str], bool], *, rng: Random) -> Iterator[Made]:
    """Captions with one word replaced by another of its kind and form, as often as captions have that."""
    words: dict[tuple[Tag, str], list[str]] = defaultdict(list)
    for caption in captions[:READ]:
        for token in filter(_plain, tokenise(caption)):
            words[token.tag, token.form].append(token.text)
    for _ in range(ROUNDS):
        for caption in captions:
            tokens = [t for t in tokenise(caption) if _plain(t) and len(words.get((t.tag, t.form), ())) > 1]
            for _ in range(TRIES if tokens else 0):
                token = rng.choice(tokens)
                word = rng.choice(words[token.tag, token.form])
                text = _put(caption, token.text, word) if word != token.text else None
                if text is not None and admits(text):
                    yield Made(caption, text, f"{token.text} → {word}")
                    break


def at_random(
    captions: Sequence[str], pictures: Mapping[str, Collection[str]], *, rng: Random
) -> Iterator[Made]:
    """Two captions at random, none of them of one picture, as far as the pictures of a caption are known."""
    while len(captions) > 1:
        first, second = rng.sample(range(len(captions)), 2)
        of, other = (pictures.get(captions[i], ()) for i in (first, second))
        if not set(of) & set(other):
            yield Made(captions[first], captions[second], "")


_OPENING: Final = re.compile(r"an? (?:realistic )?(?:photo|picture|image|photograph) of ", re.IGNORECASE)
OPENINGS: Final = ("a photo of ", "a picture of ", "an image of ")


def reworded(caption: str) -> list[str]:
    """The caption with openings that say nothing of the scene: "a picture of …" for "a photo of …"."""
    own = _OPENING.match(caption)
    rest = caption[own.end() :] if own else caption[:1].lower() + caption[1:]
    return [opening + rest for opening in OPENINGS if not own or opening.strip() != own[0].strip().lower()]


def _plain(token: Token) -> bool:
    return token.tag in KINDS and token.text.isalpha() and len(token.text) > 1


def _put(caption: str, old: str, new: str) -> str | None:
    """The caption with a word replaced; None if the word is not there just once."""
    places = list(re.finditer(rf"(?<![\w'’-]){re.escape(old)}(?![\w'’-])", caption, re.IGNORECASE))
    return put(caption, (*places[0].span(), new)).text if len(places) == 1 else None


# -- the target -----------------------------------------------------------------------------------------


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
            raise WeakspotError(f"the encoder gave only zeros for {texts[int(lengths.argmin())][:80]!r}")
        rows /= lengths[:, None]
        at = {text: row for row, text in enumerate(texts)}
        return [Output(f"{float(rows[at[a]] @ rows[at[b]]):.6f}") for a, b in pairs]


def _two_texts(value: object) -> tuple[str, str]:
    if isinstance(value, tuple | list) and len(value) >= 2 and all(isinstance(v, str) for v in value[:2]):
        return value[0], value[1]
    raise WeakspotError(f"a {type(value).__name__} is not a pair of texts", fix="give two texts")
