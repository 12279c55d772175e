"""Sentences that say the opposite of what they said: "it is open" and "it is not open"."""

from __future__ import annotations

import random
import re
from typing import Final

from weakspot.text.edits_grammar import (
    BE,
    DENIED,
    HAVE,
    MODAL,
    SENTENCE,
    Row,
    adverb,
    apply,
    auxiliary,
    base_of,
    inverted,
    like,
    many,
    placed,
    sample,
)
from weakspot.text.lexicon import Tag

_HELPS: Final = r"is|are|was|were|am|can|could|will|would|should|must|may|might"
_SHORT: Final = {word: short for short, word in DENIED.items()}


def negate(text: str, rng: random.Random, share: float) -> str:
    """Sentences say the opposite: "it is open" and "it is not open"."""
    changes = []
    for sentence in SENTENCE.finditer(text):
        other = denied(sentence[0])
        if other != sentence[0]:
            changes.append((*sentence.span(), other))
    return apply(text, sample(changes, rng, share))


def denied(sentence: str) -> str:
    """The opposite of one sentence; the sentence itself where no rule fits."""
    row = next(iter(list(placed(sentence))), [])
    asked = inverted(row)
    if asked >= 0 and row[asked].small in _SHORT:
        start, end, word, _ = row[asked]
        return sentence[:start] + like(_SHORT[row[asked].small], word) + sentence[end:]
    for pattern, new in (
        (r"\b(ca|wo|sha|does|do|did|is|are|was|were|has|have|had|would|could|should|must)n['’]t\b", _unsaid),
        (r"\bcannot\b", "can"),
        (r"\bnever\s+", ""),
        (rf"\b({_HELPS}|has|have|had|do|does|did)\s+not\b", r"\1"),
        (rf"\b({_HELPS})\b", r"\1 not"),
    ):
        other, n = re.subn(pattern, new, sentence, count=1, flags=re.IGNORECASE)
        if n:
            return other[:1].upper() + other[1:] if sentence[:1].isupper() else other
    for i, (start, end, word, token) in enumerate(row):
        small = row[i].small
        if token is None or (i and (row[i - 1].small == "to" or auxiliary(row[i - 1].small))):
            continue
        if small in HAVE and _participle(row, i):
            return sentence[:end] + " not" + sentence[end:]
        if token.form == "ing" or small in BE | MODAL or (token.tag is not Tag.VERB and small not in HAVE):
            continue
        base, form = base_of(small)
        if form in ("past", "s") or (form == "base" and i and many(row, i)):
            helper = {"past": "did", "s": "does", "base": "do"}[form]
            return f"{sentence[:start]}{like(helper, word)} not {base}{sentence[end:]}"
    return sentence


def _participle(row: Row, i: int) -> bool:
    """Whether a participle follows "have", with adverbs between or without."""
    for word in row[i + 1 :]:
        if not adverb(word):
            form = base_of(word.small)[1] if word.tag is Tag.VERB else ""
            return word.small == "been" or form in ("past", "base")
    return False


def _unsaid(match: re.Match[str]) -> str:
    """From "can't" to "can", from "won't" to "will"."""
    full = DENIED.get(f"{match[1].lower()}n't", match[1])
    return like(full, match[1])
