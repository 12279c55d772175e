"""The mined list: pairs of the corpus that the encoder confuses and the reference tells apart.

Where there is a topic, pairs must matter for it: a language model says so, or both texts are among the tenth
of the corpus that is nearest to the topic's words, to the reference.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Rate, WeakspotError
from weakspot.judges.differs.judge import PUBLISHED as PUBLISHED_SUCCESS
from weakspot.stats import wilson
from weakspot.studies.mine.embeddings import embed_texts
from weakspot.studies.mine.language_model import PROMPTS
from weakspot.studies.mine.pair_rule import PUBLISHED, PairRule, Vectors, calibrated, random_similarities
from weakspot.studies.mine.pair_source import reworded
from weakspot.studies.mine.pairs import Accept, Pairs, diverse, find_pairs
from weakspot.studies.mine.parts import MineContext, MineParts
from weakspot.studies.mine.result import Mined, MinedPair, Threshold
from weakspot.text.differences import categorise
from weakspot.text.llm_answers import ask_all, one_line
from weakspot.text.same_words import plainly

#: Share of random pairs that are less alike than a candidate of the search (what 0.9 is to an encoder lies
#: near it), and than a failure must be.
CANDIDATES, USUAL = 0.9999, 0.999
#: Captions that are reworded to see how alike texts are that say the same, and the share that is less alike.
REWORDED, LESS = 512, 0.05
#: Candidates that the search keeps for each pair of the list, so that near-copies can be passed over.
DEEP: Final = 200
ROUNDS: Final = 6  # so often the list is filled up again after pairs were struck off it
MANY: Final = 50_000  # more texts than these are searched on a GPU, where there is one
BINS: Final = 50


def mine_pairs(context: MineContext) -> Mined:
    """Search all pairs of the corpus, and choose a diverse list of those that really differ."""
    settings, parts, progress = context.settings, context.parts, context.watch.progress
    began = time.monotonic()
    tested, reference = parts.rows("encoder", progress), parts.rows("reference", progress)
    embedded = time.monotonic()
    rule, threshold = thresholds(context, tested, reference)
    accept, limit = _of_two_pictures(parts), max(20_000, DEEP * settings.pairs)
    tell = partial(progress, "searching all pairs")
    search = search_of(len(tested))
    found = search(tested, reference, rule=rule, limit=limit, accept=accept, progress=tell)
    searched = time.monotonic()
    listed, struck = choose(found, context, reference)
    random = random_similarities(tested, pairs=200_000, seed=settings.seed)
    texts = parts.corpus.texts
    return Mined(
        texts=len(texts),
        left_out=parts.corpus.left_out,
        rule=rule,
        threshold=threshold,
        candidates=len(found),
        complete=found.complete,
        alike=found.alike,
        struck=struck,
        random=tuple(np.histogram(random, bins=BINS, range=(-1, 1))[0].tolist()),
        seconds={"embed": round(embedded - began, 2), "search": round(searched - embedded, 2)},
        pairs=tuple(_pair(texts[i], texts[j], near, far) for i, j, near, far in listed),
    )


def _pair(first: str, second: str, tested: float, reference: float) -> MinedPair:
    # Synonyms and openings such as "a photo of" are put aside, or they would be what the two differ in.
    found = categorise(plainly(first), plainly(second))
    return MinedPair(
        first=first,
        second=second,
        tested=round(tested, 6),
        reference=round(reference, 6),
        category=found.category.value,
        reason=found.reason,
    )


def thresholds(context: MineContext, tested: Vectors, reference: Vectors) -> tuple[PairRule, Threshold]:
    """The rule of the search and the similarity above which a new pair is alike.

    Calibrated, a candidate is one of the nearest of 10,000 random pairs, and alike is nearer than nearly all
    random pairs and as near as captions are that were only reworded.
    """
    settings, parts = context.settings, context.parts
    if settings.threshold is not None:
        rule = PairRule(settings.threshold, settings.gap)
        success = min(settings.threshold, PUBLISHED_SUCCESS) if rule == PUBLISHED else settings.threshold
        return rule, Threshold(value=success, how="fixed")
    share = settings.calibrate or CANDIDATES
    rule = calibrated(tested, reference, alike=share, seed=settings.seed)
    said = None if parts.deaf else similarity_of_rewordings(parts, seed=settings.seed)
    if said is None:
        return rule, Threshold(value=rule.above, how="calibrated", share=share, random=rule.above)
    share = min(share, USUAL)
    usual = float(np.quantile(random_similarities(tested, seed=settings.seed), share))
    # A cosine of rounded rows that are equal may be a little below 1.
    alike = max(usual, min(said, 1 - 1e-5))
    threshold = Threshold(value=alike, how="calibrated", share=share, random=usual, reworded=said)
    return rule._replace(above=min(rule.above, alike)), threshold


def similarity_of_rewordings(parts: MineParts, *, seed: int) -> float | None:
    """The similarity that all but a few captions have with their rewordings; None if none can be reworded."""
    captions = list(parts.corpus.texts)
    Random(f"{seed} reworded").shuffle(captions)  # noqa: S311
    pairs = [(text, other) for text in captions[:REWORDED] for other in reworded(text)[:1]]
    if parts.validity is not None and parts.fits is not None:
        differ = parts.validity.differ(pairs)
        pairs = [pair for pair, differs in zip(pairs, differ, strict=True) if differs is False]
    if len(pairs) < 2:
        return None
    one, two = (embed_texts(parts.encoder, [pair[i] for pair in pairs]) for i in (0, 1))
    return float(np.quantile(np.einsum("ij,ij->i", one, two), LESS))


def search_of(texts: int) -> Callable[..., Pairs]:
    """How so many texts are searched: on a GPU if they are many and there is one."""
    if texts > MANY and find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            from weakspot.studies.mine.pairs_torch import find_pairs_torch

            return find_pairs_torch
    return find_pairs


def _of_two_pictures(parts: MineParts) -> Accept | None:
    """Two captions of one picture do not differ in what one would see."""
    pictures = [frozenset(of) for of in parts.corpus.pictures]
    if not any(pictures):
        return None

    def accept(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
        both = zip(first.tolist(), second.tolist(), strict=True)
        return np.fromiter((not pictures[i] & pictures[j] for i, j in both), np.bool_, len(first))

    return accept


def choose(found: Pairs, context: MineContext, reference: Vectors) -> tuple[Pairs, dict[str, int]]:
    """A diverse list of pairs that really differ and, where there is a topic, matter for it."""
    texts, left = context.parts.corpus.texts, found
    doubt: dict[tuple[int, int], str] = {}
    struck: Counter[str] = Counter()
    rounds = 0
    while True:
        made = diverse(left, reference, wanted=context.settings.pairs)
        rows = [(i, j) for i, j, *_ in made.pairs]
        if rounds < ROUNDS:
            new = [row for row in rows if row not in doubt]
            why = doubts([(texts[i], texts[j]) for i, j in new], context)
            doubt |= dict(zip(new, why, strict=True))
            struck.update(filter(None, why))
        good = [n for n, row in enumerate(rows) if doubt.get(row) == ""]
        if rounds == ROUNDS or len(good) == len(rows):
            struck.update({"near-copies": made.for_text, "one topic": made.for_topic})
            return made.pairs.some(np.array(good, np.int64)), dict(struck)
        kept = [n for n, (i, j, *_) in enumerate(left) if not doubt.get((i, j))]
        left = left.some(np.array(kept, np.int64))
        rounds += 1


def doubts(pairs: Sequence[tuple[str, str]], context: MineContext) -> list[str]:
    """Why each pair is not wanted; "" if it is."""
    differ: list[bool | None] = [True] * len(pairs)
    if context.parts.validity is not None:
        differ = context.parts.validity.differ(list(pairs))
    why = ["" if yes else "say the same" if yes is False else "may say the same" for yes in differ]
    if context.settings.steer:
        places = [i for i, reason in enumerate(why) if not reason]
        matters = relevant([pairs[i] for i in places], context)
        for i, yes in zip(places, matters, strict=True):
            why[i] = "" if yes else "beside the topic"
    return why


# -- steering: which pairs matter for a topic -----------------------------------------------------------

ABOUT: Final = 0.1  # share of the corpus that is about a topic
LEAST: Final = 1000  # fewer captions are not drawn from; the nearest of the corpus are added


def relevant(pairs: Sequence[tuple[str, str]], context: MineContext) -> list[bool | None]:
    """Whether each pair matters for the topic; None where the language model did not say."""
    if not pairs:
        return []
    topic, parts = context.settings.steer, context.parts
    if parts.llm is not None:
        context.watch.progress("asking what matters for the topic", 0, len(pairs))
        ask = partial(PROMPTS["matters"].format, topic=one_line(topic))
        prompts = [ask(first=one_line(a), second=one_line(b)) for a, b in pairs]
        answers, _ = ask_all(parts.llm, prompts)
        return [said_yes(answer) for answer in answers]
    likeness, near = nearness(context)
    bar = float(np.quantile(likeness, 1 - ABOUT))
    rows = embed_texts(parts.reference, [text for pair in pairs for text in pair])
    sims = (rows @ near).reshape(-1, 2)
    return [bool(row.min() >= bar) for row in sims]


def said_yes(answer: str | None) -> bool | None:
    """What a language model's yes or no means; None for anything else."""
    found = re.match(r"\W*(yes|no)\b", answer or "", re.IGNORECASE)
    return None if found is None else found[1].lower() == "yes"


def nearness(context: MineContext) -> tuple[Vectors, Vectors]:
    """How like the topic each text of the corpus is, to the reference; and the topic's row."""
    try:
        (row,) = embed_texts(context.parts.reference, [context.settings.steer])
    except WeakspotError as error:
        raise WeakspotError(
            f"the reference cannot embed the topic: {error.what}",
            fix="steer with --llm, or name a reference that embeds any text",
        ) from error
    return context.parts.rows("reference", context.watch.progress) @ row, row


def captions_about(context: MineContext) -> list[str]:
    """The captions of the corpus that are nearest to the topic: from these, edited pairs are made."""
    likeness, _ = nearness(context)
    count = min(len(likeness), max(LEAST, round(ABOUT * len(likeness))))
    chosen = np.sort(np.argsort(-likeness, kind="stable")[:count])
    return [context.parts.corpus.texts[i] for i in chosen]


def share_that_matters(said: Sequence[bool | None]) -> Rate:
    """The relevance: the share of the pairs that matter, of those of which anything was said."""
    known = [yes for yes in said if yes is not None]
    low, high = wilson(sum(known), len(known)) if known else (0.0, 1.0)
    return Rate(sum(known) / len(known) if known else 0.0, low, high, len(known), sum(known))
