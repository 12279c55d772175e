"""The words of captions: what they can be, and their forms.

The lists are in `lexicon.txt`, to be read and changed; nothing else is consulted, so that every machine gives
the same answers.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Final


class Tag(StrEnum):
    """What a word does."""

    NEG = "negation"
    DET = "determiner"
    PRON = "pronoun"
    AUX = "auxiliary"
    CONJ = "conjunction"
    NUM = "number"  # quantifiers too
    PREP = "preposition"
    SIDE = "side"
    ADJ = "adjective"
    ADV = "adverb"
    VERB = "verb"
    NOUN = "noun"
    BREAK = "break"  # a comma or the end of a sentence


@cache
def section(name: str) -> tuple[str, ...]:
    """The words of a section of lexicon.txt, in order."""
    return tuple(word for line in lines(name) for word in line)


@cache
def words(name: str) -> frozenset[str]:
    """The words of a section of lexicon.txt."""
    return frozenset(section(name))


@cache
def lines(name: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a section of lexicon.txt, split into words."""
    return sections()[name]


@cache
def sections() -> dict[str, tuple[tuple[str, ...], ...]]:
    """All sections of lexicon.txt: name → lines, split into words."""
    found: dict[str, list[tuple[str, ...]]] = {}
    current: list[tuple[str, ...]] = []
    for line in Path(__file__).with_name("lexicon.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            current = found.setdefault(line.strip("[] \n"), [])
        elif line and not line.startswith("#"):
            current.append(tuple(line.split()))
    return {name: tuple(rows) for name, rows in found.items()}


# -- forms of words ---------------------------------------------------------------------------------


@lru_cache(maxsize=65_536)
def plural(noun: str) -> str:
    """From "dog" to "dogs", from "child" to "children"."""
    irregular = {row[0]: row[1] for row in reversed(lines("irregular plural"))}  # the first of several counts
    if noun in irregular or noun in words("invariant") or noun in words("plural only"):
        return irregular.get(noun, noun)
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(s|x|z|ch|sh)$", noun) else "s")


@lru_cache(maxsize=65_536)
def singular(noun: str) -> str:
    """From "dogs" to "dog"; a word that is no plural as it is."""
    irregular = {many: one for one, many in reversed(lines("irregular plural"))}
    kept = words("not plural") | words("invariant") | words("plural only")
    if noun in irregular:
        return irregular[noun]
    if len(noun) < 4 or not noun.endswith("s") or noun.endswith(("ss", "us")) or noun in kept:
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    whole = noun[:-2] in kept or re.search(r"((ss|x|z|ch|sh)es|[aeiou]toes)$", noun)
    return noun[:-2] if whole or noun in ("potatoes", "heroes", "mangoes", "echoes") else noun[:-1]


def one_and_many(a: str, b: str) -> bool:
    """Whether two words may be a noun and its plural, misspelt or not: "dishe" and "dishes"."""
    return a != b and bool(_stems(a) & _stems(b))


@lru_cache(maxsize=65_536)
def _stems(noun: str) -> frozenset[str]:
    cut = {noun[: -len(end)] for end in ("s", "es") if noun.endswith(end) and len(noun) > len(end) + 2}
    return frozenset({noun, singular(noun)} | cut)


def verb_form(verb: str, form: str) -> str:
    """A verb from its base in the form "base", "s", "past" or "ing"."""
    return {"base": verb, "s": third(verb), "past": _past(verb), "ing": ing(verb)}[form]


def third(verb: str) -> str:
    """From "sit" to "sits"."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(s|x|z|ch|sh|o)$", verb) else "s")


def ing(verb: str) -> str:
    """From "sit" to "sitting"."""
    irregular = next(
        (w for row in lines("irregular verb") if row[0] == verb for w in row if w[-3:] == "ing"), ""
    )
    if irregular and irregular != verb:
        return irregular
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def _past(verb: str) -> str:
    irregular = next((row[1] for row in lines("irregular verb") if row[0] == verb and len(row) > 1), "")
    if irregular and not irregular.endswith("ing"):
        return irregular
    if irregular:  # "put putting": the past is the base
        return (
            verb
            if irregular.startswith(verb) and verb not in ("picnic", "panic", "ski", "taxi")
            else f"{verb}ed"
        )
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def _doubled(verb: str) -> str:
    """The last consonant twice, where one short vowel stands before it."""
    short = re.fullmatch(r"[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]", verb)
    return verb + verb[-1] if short or verb in ("begin", "unzip", "unplug", "admit", "handcuf") else verb


@cache
def verb_forms() -> dict[str, tuple[str, str]]:
    """Form → (base, which form)."""
    table: dict[str, tuple[str, str]] = {}
    verbs = dict.fromkeys((*section("verb"), *(row[0] for row in lines("irregular verb"))))
    for verb in verbs:
        for form in ("base", "s", "past", "ing"):
            table.setdefault(verb_form(verb, form), (verb, form))
    for base, *others in lines("irregular verb"):
        for other in others:
            form = "ing" if other.endswith("ing") and other != base else "past"
            if other not in verbs or other not in words(
                "verb"
            ):  # "saw", "lay" and "fell" are verbs of their own
                table[other] = (base, form)
    for base, form, said in (
        ("be", "s", "is are am"),
        ("have", "s", "has"),
        ("do", "s", "does"),
        ("go", "s", "goes"),
    ):
        table |= dict.fromkeys(said.split(), (base, form))
    return table


def unknown_verb(word: str) -> tuple[str, str]:
    """Base and form of a verb in no list, by its ending."""
    for ending, form in (("ing", "ing"), ("ed", "past"), ("s", "s")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            return (stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem), form
    return word, "base"


# -- what a word can be ------------------------------------------------------------------------------

_CLOSED: Final = (
    (Tag.NEG, ("negation",)), (Tag.NUM, ("quantifier", "number")), (Tag.PREP, ("preposition",)),
    (Tag.PRON, ("pronoun",)), (Tag.DET, ("determiner",)), (Tag.AUX, ("auxiliary",)),
    (Tag.CONJ, ("conjunction",)), (Tag.SIDE, ("side",)),
)  # fmt: skip
_NO_ADVERB: Final = frozenset(
    {*("family", "lily", "fly", "butterfly", "belly", "jelly", "bully", "ally", "italy", "assembly", "reply")}
)


@lru_cache(maxsize=65_536)
def options(word: str) -> frozenset[Tag]:
    """Everything a word can be."""
    if not word[0].isalnum() or word == "'s":
        return frozenset({Tag.DET if word == "'s" else Tag.BREAK})
    if word.isdecimal() or re.fullmatch(r"\d+(st|nd|rd|th)", word):
        return frozenset({Tag.NUM})
    for tag, names in _CLOSED:
        if any(word in words(name) for name in names):
            return frozenset({tag})
    found = set()
    if sure_adjective(word):
        found.add(Tag.ADJ)
    listed = word in words("adverb") or word in words("manner")
    if listed or (word.endswith("ly") and word not in _NO_ADVERB and Tag.ADJ not in found):
        found.add(Tag.ADV)
    base, form = verb_forms().get(word, ("", ""))
    if base:
        found |= {Tag.VERB, *({Tag.ADJ} if form == "past" else {Tag.NOUN} if form != "ing" else ())}
    elif re.search(r"[a-z]{2,}(ing|(?<!e)ed)$", word) and word not in words("participle noun"):
        found |= {Tag.VERB, *({Tag.ADJ} if word.endswith("ed") else ())}
    if word in words("participle noun") or not found:
        found.add(Tag.NOUN)
        known = word in words("noun in y") or re.search(
            r"(berry|[ie]ty|phy|[ol]gy|try|[aot]ry|cy|omy|by)$", word
        )
        if re.search(r"..[^aeiou]y$", word) and not known:
            found.add(Tag.ADJ)  # "scaly", "feathery"
    if Tag.ADJ in found and Tag.ADV not in found:
        found.add(Tag.NOUN)  # "glass", "orange", "a blonde"
    return frozenset(found)


def sure_adjective(word: str) -> bool:
    """Whether a word is an adjective by the list or by its ending, not only by its place."""
    ending = re.search(r"..(ful|less|ous|ish|able|ible|ic|shaped|colored|coloured)$", word)
    return word in words("adjective") or _compared(word) or (bool(ending) and word not in words("noun in ic"))


def _compared(word: str) -> bool:
    """Whether a word is the comparative or superlative of an adjective in the list."""
    ending = re.search(r"(er|est)$", word)
    if ending is None or word in ("flatter", "poster", "shower", "tower", "counter", "cooler", "corner"):
        return False
    stem = word[: ending.start()]
    return bool(
        {stem, f"{stem}e", re.sub(r"i$", "y", stem), stem[:-1] if stem[-2:-1] == stem[-1:] else stem}
        & words("adjective")
    )
