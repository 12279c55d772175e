"""Sentences that say the opposite: short ones of captions, and sentences of running text.

Of a caption's sentence the words are kept as far as possible, and something is denied in any of them, verb or
not ("a fly not on a flower"). Running text is denied by its verb ("it did not rain").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from weakspot.text.changes import SENTENCE, Span, words_of_sentences
from weakspot.text.forms import article, bare, base_of, third
from weakspot.text.inflection import (
    BE,
    DENIAL,
    DENIED,
    HAVE,
    MODAL,
    Row,
    adverb,
    auxiliary,
    inverted,
    like,
    many,
)
from weakspot.text.lexicon import Tag, words
from weakspot.text.tagging import LONG_FORMS

_HELPS: Final = r"is|are|was|were|am|can|could|will|would|should|must|may|might"


_WHERE: Final = (
    r"on|in|behind|under|near|at|by|inside|outside|above|below|beside|between|against|next to|in front of"
)
_Put = str | Callable[[re.Match[str]], str]


def negated(sentence: str) -> str:
    """The opposite of one short sentence; "" where no rule applies.

    "it is on a flower." and "it is not on a flower." are each other's opposite, and so are "there is a
    ball." and "there is no ball.". The words are kept as far as possible.
    """
    text = " ".join(sentence.split())
    for short, full in LONG_FORMS:
        text = re.sub(short, full, text, flags=re.IGNORECASE)
    for pattern, put in _RULES:
        other, n = pattern.subn(put, text, count=1)
        if n:
            other = " ".join(other.split())
            return other if other.lower() != sentence.lower() else ""
    return ""


def _a(noun: str) -> str:
    """A noun phrase with an article, if it takes one."""
    first = noun.split()[0].strip(".,;!?").lower()
    last = re.split(r"[\s.,;!?]", noun.strip(".,;!? "))[-1].lower()
    if first in ("a", "an", "the") or {first, last} & words("no article"):
        return noun
    return f"{article(first)} {noun}"


def _rule(pattern: str, put: _Put) -> tuple[re.Pattern[str], _Put]:
    return re.compile(pattern, re.IGNORECASE), put


#: The first that applies is used. Denials come first: what denies is asserted, not denied twice.
_RULES: Final[tuple[tuple[re.Pattern[str], _Put], ...]] = (
    _rule(r"\bdoes not ([a-z]+)", lambda m: third(m[1])),
    _rule(r"\b(?:do|did) not ([a-z]+)", r"\1"),
    _rule(r"\bthere is no(?:t any)? ((?!one\b).+)$", lambda m: f"there is {_a(m[1])}"),
    _rule(r"\bthere are no(?:t any)? ((?!one\b).+)$", r"there are \1"),
    _rule(r"\bhas no (.+)$", lambda m: f"has {_a(m[1])}"),
    _rule(r"\bwithout\b", "with"),
    _rule(r"\bwith no (.+)$", lambda m: f"with {_a(m[1])}"),
    _rule(r"\bnot\s+", ""),
    _rule(r"\bnothing\b", "something"),
    _rule(r"\b(?:nobody|no one)\b", "someone"),
    _rule(r"\bsomething\b", "nothing"),
    _rule(r"\b(?:somebody|someone)\b", "nobody"),
    _rule(r"\bthere (is|are) ((?:one|two|three|four|five|six|\d+)\b)", r"there \1 not \2"),
    _rule(r"\bthere (is|are) (?:(?:an?|the|some)\s+)?", r"there \1 no "),
    _rule(r"\bhas (?:an? |some )", "has no "),
    _rule(rf"\b({_HELPS})\s+", r"\1 not "),
    _rule(r"^(it|he|she|this|that) ([a-z]+[^s\W]e?s)\b", lambda m: f"{m[1]} does not {bare(m[2])}"),
    _rule(r"^(they|these|those) ([a-z]+)\b", r"\1 do not \2"),
    _rule(r"\bwith\b", "without"),
    _rule(rf"\b({_WHERE})\s+", r"not \1 "),
)


def denials(text: str) -> Iterator[Span]:
    """The sentences of a text that have an opposite, with it: "it is open" and "it is not open"."""
    for sentence in SENTENCE.finditer(text):
        other = denied(sentence[0])
        if other != sentence[0]:
            yield *sentence.span(), other


def denied(sentence: str) -> str:
    """The opposite of one sentence; the sentence itself where no rule fits."""
    row = next(words_of_sentences(sentence), [])
    asked = inverted(row)
    if asked >= 0 and row[asked].small in DENIAL:
        start, end, word, _ = row[asked]
        return sentence[:start] + like(DENIAL[row[asked].small], word) + sentence[end:]
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
        if token.tag is Tag.BREAK or (i and (row[i - 1].small == "to" or auxiliary(row[i - 1].small))):
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
