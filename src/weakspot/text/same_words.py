"""Texts written one way: spelling, synonyms, numerals, articles and openings that change nothing one sees.

The groups are in `synonyms.txt`, to be read and changed; WordNet is asked where it is installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from weakspot.core import WeakspotError
from weakspot.text.lexicon import Tag, plural, sections, verb_form
from weakspot.text.tagging import Token, options, tokenise
from weakspot.text.wordnet import Thesaurus, WordNet
from weakspot.text.wordnet_files import Part

_NUMBERS: Final = "one two three four five six seven eight nine ten eleven twelve"
_NUMERALS: Final = {str(i): word for i, word in enumerate(_NUMBERS.split(), 1)} | dict.fromkeys(
    ("single", "a_single", "exactly_one"), "one"
)
#: What a caption may begin with and say nothing: "a photo of", "there is", "this is a picture showing".
_OPENING: Final = re.compile(
    r"^\W*(?:(?:(?:this|here|it|that) (?:is|are|shows)|there (?:is|are|was|were)|we (?:can )?see)\s+(?=\w))?"
    r"(?:(?:(?:an?|the|this|one)\s+)?(?:(?:close ?-?up|color|colour|black and white|realistic|nice)\s+)*"
    r"(?:photo|photograph|picture|image|snapshot|shot|view)s?\s+(?:of|showing|with|that shows)\s+)?",
    re.IGNORECASE,
)
_SILENT: Final = frozenset({"a", "an", "the", "this", "that", "these", "those", "is", "are"})


@cache
def groups() -> dict[str, str]:
    """Word → the first of its group; of a word in two groups, that of the first."""
    found: dict[str, str] = {}
    for line in sections("synonyms.txt")["synonyms"]:
        first = line.split()[0]
        for word in line.split():
            found.setdefault(word, found.get(first, first))
    return found


def plainly(text: str) -> str:
    """A text with each word in its plainest form, without openings that say nothing.

    Inflection stays: "kids" become "children", never "child".
    """
    text = _OPENING.sub("", text, count=1) or text
    return " ".join(_plain(token) for token in _phrased(tokenise(text)) if token.tag is not Tag.BREAK)


def said(text: str) -> list[Token]:
    """The plain words of a text: without articles ("one" is one) and the forms of "be" that say nothing.

    Two adjectives that "and" joins are in the order of the alphabet.
    """
    tokens = [t for t in tokenise(plainly(text)) if t.text not in _SILENT and t.tag is not Tag.BREAK]
    for i in range(1, len(tokens) - 1):
        before, after = tokens[i - 1], tokens[i + 1]
        joined = tokens[i].text == "and" and before.tag is after.tag is Tag.ADJ
        if joined and before.text > after.text:
            tokens[i - 1], tokens[i + 1] = after, before
    return [
        t
        for i, t in enumerate(tokens)
        if t.text != "and" and not (t.text == "one" and i + 1 < len(tokens) and tokens[i + 1].text != "of")
    ]


def _phrased(tokens: Sequence[Token]) -> list[Token]:
    """Tokens with the phrases of the groups joined, where the tagger does not know them."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        for length in (3, 2):
            part = tokens[at : at + length]
            joined = "_".join(t.text for t in part)
            if len(part) == length and joined in groups():
                found.append(part[-1]._replace(text=joined, lemma=joined))
                at += length
                break
        else:
            found.append(tokens[at])
            at += 1
    return found


@lru_cache(maxsize=65_536)
def _plain(token: Token) -> str:
    if token.text in _NUMERALS:
        return _NUMERALS[token.text]
    word = groups().get(token.text) or groups().get(token.lemma)
    if word is None or (token.text in groups() and token.text != token.lemma):
        return word or token.text  # prepositions and phrases have no other form
    if token.tag is Tag.NOUN and token.form == "many" and word not in ("people", "trousers"):
        return plural(word)
    return verb_form(word, token.form or "base") if token.tag is Tag.VERB else word


# -- WordNet, where it is installed ----------------------------------------------------------------------


class WordNets(NamedTuple):
    """What is known of words: nouns, and adjectives and verbs; None what is not installed."""

    nouns: WordNet | None = None
    others: Thesaurus | None = None


@cache
def installed() -> WordNets:
    """WordNet as it is on this machine; nothing where it is not."""
    with suppress(WeakspotError):
        nouns = WordNet.find()
        with suppress(WeakspotError):
            return WordNets(nouns, Thesaurus.find())
        return WordNets(nouns)
    return WordNets()


class Alike(Enum):
    """How near two words are that stand in each other's place."""

    SAME = "same"
    NEAR = "near"  # it cannot be told: one is a kind of the other, or they are often said of one thing
    OTHER = "other"


_PARTS: Final = {Tag.ADJ: Part.ADJECTIVE, Tag.VERB: Part.VERB}


def alike(a: Token, b: Token, known: WordNets) -> Alike:
    """How near two words are by WordNet; `OTHER` where it is not installed."""
    if _misspelt(a.text, b.text, known):
        return Alike.SAME
    if a.tag is b.tag and (a.form == "past") != (b.form == "past"):
        return Alike.OTHER  # then and now
    if a.tag is b.tag is Tag.NOUN and a.form != b.form:
        return Alike.OTHER  # one and many
    found = Alike.OTHER
    if known.others is not None:
        for tag, part in _PARTS.items():
            if tag in a.options & b.options:
                one, two = (t.text if tag is Tag.ADJ or t.tag is not Tag.VERB else t.lemma for t in (a, b))
                if known.others.same(one, two, part):
                    return Alike.SAME
                found = Alike.NEAR if known.others.near(one, two, part) else found
    if known.nouns is not None and a.tag is b.tag is Tag.NOUN:
        if _synonyms(a.lemma, b.lemma, known.nouns):
            return Alike.SAME
        found = Alike.NEAR if _kind_of(a.lemma, b.lemma, known.nouns) else found
    return found


@lru_cache(maxsize=65_536)
def _synonyms(a: str, b: str, nouns: WordNet) -> bool:
    """Whether two nouns mean the same in a frequent meaning of both."""
    one, two = ([sense.id for sense in nouns.senses(word.replace("_", " "))[:2]] for word in (a, b))
    return any(i + j <= 1 and x == y for i, x in enumerate(one) for j, y in enumerate(two))


@lru_cache(maxsize=65_536)
def _kind_of(a: str, b: str, nouns: WordNet) -> bool:
    """Whether one noun, in its most frequent meaning, is a kind of the other: a man is a person."""
    one, two = (nouns.senses(word.replace("_", " "))[:1] for word in (a, b))
    return bool(one and two) and (nouns.is_a(one[0], two[0]) or nouns.is_a(two[0], one[0]))


def _misspelt(a: str, b: str, known: WordNets) -> bool:
    """Whether one is no word, and the other with a letter missing, added or changed: "floo" for "floor"."""
    if known.nouns is None or known.others is None or min(len(a), len(b)) < 4 or abs(len(a) - len(b)) > 1:
        return False
    if a.rstrip("s") == b.rstrip("s") or not _one_letter(*sorted((a, b), key=len)):
        return False
    for word in (a, b):
        formed = re.search(r"(ing|ed|ly|er|est)$", word) or Tag.NOUN not in options(word)
        if not (known.nouns.senses(word) or known.others.knows(word) or formed):
            return True
    return False


def _one_letter(short: str, long: str) -> bool:
    same = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    return short[same:] == long[same + 1 :] or short[same + 1 :] == long[same + 1 :]
