"""The steps of `mine` before anything is measured: the threshold, the search, the categories, new pairs.

Each gives plain values that the run keeps as a fact, so that a resumed run does not compute or ask again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.judges.similarity import PUBLISHED as PUBLISHED_SUCCESS
from weakspot.studies.mine.categorise import LLMCategory, categorise_llm, generate_llm
from weakspot.studies.mine.diverse import diverse
from weakspot.studies.mine.embeddings import embed_texts
from weakspot.studies.mine.pair_rule import PUBLISHED, Rule, calibrated, random_similarities
from weakspot.studies.mine.pairs import Accept, Pairs, find_pairs
from weakspot.studies.mine.pairs_made import written_hypothesis
from weakspot.studies.mine.pairs_plain import reworded
from weakspot.studies.mine.parts import MineSettings, Parts, Progress
from weakspot.studies.mine.steer import relevant
from weakspot.text.differences import Category, categorise
from weakspot.text.llm_answers import Answers, Pair
from weakspot.text.same_words import plainly

#: Share of random pairs that are less alike than a candidate of the search, and than a failure must be.
CANDIDATES, USUAL = 0.9999, 0.999
#: Captions that are reworded to see how alike texts are that say the same, and the share that is less alike.
REWORDED, LESS = 512, 0.05
#: Candidates that the search keeps for each pair of the list, so that near-copies can be passed over.
DEEP: Final = 200
#: So often the list is filled up again after pairs were struck off it.
ROUNDS: Final = 6
#: More texts than these are searched on a GPU, where there is one.
MANY: Final = 50_000
#: Failures in a language model's words that are followed up, and the fewest pairs of one in a stage.
FAILURES, FEWEST = 12, 8
BINS: Final = 50


def mined(settings: MineSettings, parts: Parts, progress: Progress) -> dict[str, Any]:
    """The pairs of the corpus that the encoder takes for alike and the reference tells apart."""
    began = time.monotonic()
    tested, reference = parts.rows("encoder", progress), parts.rows("reference", progress)
    embedded = time.monotonic()
    rule, how = threshold(settings, parts, tested, reference)
    limit = max(20_000, DEEP * settings.pairs)
    found = search(tested, reference, rule, limit=limit, accept=_of_two_pictures(parts), progress=progress)
    searched = time.monotonic()
    listed, struck = choose(found, settings, parts, reference, progress)
    counts = np.histogram(
        random_similarities(tested, pairs=200_000, seed=settings.seed), bins=BINS, range=(-1, 1)
    )
    texts = parts.corpus.texts
    return {
        "texts": len(texts),
        "left_out": parts.corpus.left_out._asdict(),
        "rule": rule._asdict(),
        "threshold": how,
        "candidates": len(found),
        "complete": found.complete,
        "alike": found.alike,
        "struck": struck,
        "random": [int(n) for n in counts[0]],
        "seconds": {"embed": round(embedded - began, 2), "search": round(searched - embedded, 2)},
        "pairs": [
            {
                "first": texts[i],
                "second": texts[j],
                "tested": round(a, 6),
                "reference": round(b, 6),
                **_named(texts[i], texts[j]),
            }
            for i, j, a, b in listed
        ],
    }


def threshold(
    settings: MineSettings,
    parts: Parts,
    tested: NDArray[np.float32],
    reference: NDArray[np.float32],
) -> tuple[Rule, dict[str, Any]]:
    """The rule of the search and the similarity above which a new pair is alike.

    Calibrated, a candidate is one of the nearest of 10,000 random pairs, and alike is nearer than nearly all
    random pairs and as near as captions are that were only reworded. An encoder that tells any difference
    from none has no pair that is alike.
    """
    if settings.threshold is not None:
        rule = Rule(settings.threshold, settings.gap)
        success = min(settings.threshold, PUBLISHED_SUCCESS) if rule == PUBLISHED else settings.threshold
        return rule, {"value": success, "how": "fixed"}
    share = settings.calibrate or CANDIDATES
    rule = calibrated(tested, reference, alike=share, seed=settings.seed)
    how: dict[str, Any] = {"how": "calibrated", "share": share, "random": rule.above, "reworded": None}
    said = None if parts.unheard else same_said(parts, seed=settings.seed)
    if said is None:
        return rule, how | {"value": rule.above}
    usual = float(np.quantile(random_similarities(tested, seed=settings.seed), min(share, USUAL)))
    # A cosine of rounded rows that are equal may be a little below 1.
    alike = max(usual, min(said, 1 - 1e-5))
    how |= {"share": min(share, USUAL), "random": usual, "reworded": said, "value": alike}
    return rule._replace(above=min(rule.above, alike)), how


def same_said(parts: Parts, *, seed: int) -> float | None:
    """The similarity that all but a few captions have with their rewordings; None if none can be reworded."""
    captions = list(parts.corpus.texts)
    Random(f"{seed} reworded").shuffle(captions)  # noqa: S311
    pairs = [(text, other) for text in captions[:REWORDED] for other in reworded(text)[:1]]
    if parts.validity is not None and parts.fits is not None:
        told = parts.validity.differ(pairs)
        pairs = [pair for pair, differs in zip(pairs, told, strict=True) if differs is False]
    if len(pairs) < 2:
        return None
    one, two = (embed_texts(parts.encoder, [pair[i] for pair in pairs]) for i in (0, 1))
    return float(np.quantile(np.einsum("ij,ij->i", one, two), LESS))


def search(
    tested: NDArray[np.float32],
    reference: NDArray[np.float32],
    rule: Rule,
    *,
    limit: int,
    accept: Accept | None,
    progress: Progress,
) -> Pairs:
    """All pairs, exactly: on a GPU if there are many texts and there is one."""

    def told(done: int, total: int) -> None:
        progress("searching all pairs", done, total)

    if len(tested) > MANY and find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            from weakspot.studies.mine.pairs_torch import find_pairs_torch

            return find_pairs_torch(tested, reference, rule=rule, limit=limit, accept=accept, progress=told)
    return find_pairs(tested, reference, rule=rule, limit=limit, accept=accept, progress=told)


def _of_two_pictures(parts: Parts) -> Accept | None:
    """Two captions of one picture do not differ in what one would see."""
    pictures = [frozenset(of) for of in parts.corpus.pictures]
    if not any(pictures):
        return None

    def accept(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
        both = zip(first.tolist(), second.tolist(), strict=True)
        return np.fromiter((not pictures[i] & pictures[j] for i, j in both), np.bool_, len(first))

    return accept


def choose(
    found: Pairs,
    settings: MineSettings,
    parts: Parts,
    reference: NDArray[np.float32],
    progress: Progress,
) -> tuple[Pairs, dict[str, int]]:
    """A diverse list of pairs that really differ and, where there is a topic, matter for it."""
    texts, left = parts.corpus.texts, found
    known: dict[tuple[int, int], str] = {}
    struck: Counter[str] = Counter()
    for _ in range(ROUNDS):
        made = diverse(left, reference, wanted=settings.pairs)
        rows = list(zip(made.pairs.first.tolist(), made.pairs.second.tolist(), strict=True))
        new = [row for row in rows if row not in known]
        why = doubts([(texts[i], texts[j]) for i, j in new], settings, parts, progress)
        known |= dict(zip(new, why, strict=True))
        struck.update(w for w in why if w)
        bad = {row for row, reason in known.items() if reason}
        if not any(row in bad for row in rows):
            return made.pairs, {**struck, "near-copies": made.for_text, "one topic": made.for_topic}
        both = zip(left.first.tolist(), left.second.tolist(), strict=True)
        left = left.some(np.array([n for n, row in enumerate(both) if row not in bad], np.int64))
    made = diverse(left, reference, wanted=settings.pairs)
    rows = list(zip(made.pairs.first.tolist(), made.pairs.second.tolist(), strict=True))
    good = np.array([n for n, row in enumerate(rows) if known.get(row) == ""], np.int64)
    return made.pairs.some(good), {**struck, "near-copies": made.for_text, "one topic": made.for_topic}


def doubts(
    pairs: Sequence[tuple[str, str]], settings: MineSettings, parts: Parts, progress: Progress
) -> list[str]:
    """Why each pair is not wanted; "" if it is."""
    said: list[bool | None] = [True] * len(pairs)
    if parts.validity is not None:
        said = parts.validity.differ(list(pairs))
    why = ["" if told else "say the same" if told is False else "may say the same" for told in said]
    if settings.steer:
        places = [i for i, reason in enumerate(why) if not reason]
        matters = relevant([pairs[i] for i in places], settings.steer, parts, progress)
        for i, yes in zip(places, matters, strict=True):
            why[i] = "" if yes else "beside the topic"
    return why


def _named(first: str, second: str) -> dict[str, str]:
    # Synonyms and openings such as "a photo of" are put aside, or they would be what the two differ in.
    found = categorise(plainly(first), plainly(second))
    return {"category": found.category.value, "reason": found.reason}


# -- with a language model ---------------------------------------------------------------------------


def named(settings: MineSettings, parts: Parts, pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The failures that a language model names, and what could not be had of it."""
    if parts.llm is None or not pairs:
        note = "" if parts.llm is None else "the language model was not asked: there are no pairs to show it"
        return {"failures": [], "answers": "", "note": note}
    shown = [Pair(row["first"], row["second"]) for row in pairs]
    try:
        found = categorise_llm(
            shown, llm=parts.llm, passes=settings.passes, steer=settings.steer, seed=settings.seed
        )
    except WeakspotError as error:
        note = f"the language model named no failures: {error.what}"
        return {"failures": [], "answers": "", "note": note}
    return {
        "failures": [category._asdict() for category in found.categories[:FAILURES]],
        "more": max(0, len(found.categories) - FAILURES),
        "answers": str(found.answers),
        "errors": list(found.answers.errors),
        "note": "",
    }


def written(
    settings: MineSettings,
    parts: Parts,
    failures: Sequence[dict[str, Any]],
    pairs: Sequence[dict[str, Any]],
    *,
    keep: Callable[[dict[str, Any]], None],
    have: dict[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """New pairs by the language model, for each failure it named: {hypothesis id: pairs and how it went}.

    Args:
        settings: Of the run.
        parts: With the language model.
        failures: As `named` has them.
        pairs: The mined pairs, which are shown as examples and never taken.
        keep: Called after each failure with what there is so far.
        have: What an interrupted run had.
        progress: Told before each failure.
    """
    found = dict(have)
    for number, row in enumerate(failures):
        progress("pairs by the language model", number, len(failures))
        category = LLMCategory(row["name"], row["description"], tuple(row["cited"]), row["passes"])
        key = written_hypothesis(category.name, category.description).id
        if key in found or parts.llm is None:
            continue
        examples = [Pair(pairs[i]["first"], pairs[i]["second"]) for i in category.cited[:8]]
        made = generate_llm(
            category,
            llm=parts.llm,
            n=2 * settings.written,
            examples=examples,
            corpus=parts.corpus.texts,
            steer=settings.steer,
            rounds=4,
        )
        found[key] = {
            "name": category.name,
            "description": category.description,
            "pairs": [list(pair) for pair in made.pairs],
            "dropped": dict(made.dropped),
            "answers": asdict(made.answers) | {"errors": list(made.answers.errors)},
        }
        keep(found)
    return found


def told(rows: Sequence[dict[str, Any]]) -> Answers:
    """How all calls went that wrote pairs."""
    total = Answers()
    for row in rows:
        counts = dict(row["answers"])
        total += Answers(**(counts | {"errors": tuple(counts["errors"])}))
    return total


def counted(pairs: Sequence[dict[str, Any]]) -> dict[Category, int]:
    """How many mined pairs each category has."""
    counts = Counter(row["category"] for row in pairs)
    return {category: counts[category.value] for category in Category}
