"""The lists of words that everything here goes by, and how words are inflected.

`lexicon.txt`, `synonyms.txt` and `swaps.txt` are there to be read and changed. Nothing else is consulted, so
every machine gives the same answers.
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
def sections(file: str = "lexicon.txt") -> dict[str, tuple[str, ...]]:
    """The lines of each section of a file."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in Path(__file__).with_name(file).read_text("utf-8").splitlines():
        if line.startswith("["):
            current = found.setdefault(line.strip("[] \n"), [])
        elif line.strip() and not line.startswith("#"):
            current.append(line)
    return {name: tuple(rows) for name, rows in found.items()}


@cache
def lines(name: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a section of lexicon.txt, split into words."""
    return tuple(tuple(line.split()) for line in sections()[name])


@cache
def section(name: str) -> tuple[str, ...]:
    """The words of a section of lexicon.txt, in order."""
    return tuple(word for line in lines(name) for word in line)


@cache
def words(name: str) -> frozenset[str]:
    """The words of a section of lexicon.txt."""
    return frozenset(section(name))


@cache
def swaps(name: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a section of swaps.txt: phrases that take each other's place."""
    return tuple(tuple(part.strip() for part in line.split(",")) for line in sections("swaps.txt")[name])


# -- one and many, the forms of verbs, articles and capitals --------------------------------------------


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
    if form == "base":
        return verb
    return {"s": third, "past": _past, "ing": _ing}[form](verb)


def third(verb: str) -> str:
    """From "sit" to "sits"."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(s|x|z|ch|sh|o)$", verb) else "s")


def bare(verb: str) -> str:
    """From "sits" to "sit"."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[: -2 if re.search(r"(ss|x|zz|ch|sh|o)es$", verb) else -1]


@cache
def _irregular() -> dict[str, tuple[str, ...]]:
    """The irregular forms of verbs; the first line of a verb counts."""
    return {row[0]: row[1:] for row in reversed(lines("irregular verb"))}


def _ing(verb: str) -> str:
    irregular = next((form for form in _irregular().get(verb, ()) if form.endswith("ing")), "")
    if irregular and irregular != verb:
        return irregular
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def _past(verb: str) -> str:
    irregular = next(iter(_irregular().get(verb, ())), "")
    if irregular and not irregular.endswith("ing"):
        return irregular
    if irregular:  # "put putting": the past is the base
        same = irregular.startswith(verb) and verb not in ("picnic", "panic", "ski", "taxi")
        return verb if same else f"{verb}ed"
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
            if other not in words("verb"):  # "saw", "lay" and "fell" are verbs of their own
                table[other] = (base, "ing" if other.endswith("ing") and other != base else "past")
    third_person = {"be": "is are am", "have": "has", "do": "does", "go": "goes"}
    return table | {form: (base, "s") for base, said in third_person.items() for form in said.split()}


def unknown_verb(word: str) -> tuple[str, str]:
    """Base and form of a verb in no list, by its ending; as it stands in a caption."""
    for ending, form in (("ing", "ing"), ("ed", "past"), ("s", "s")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word[: -len(ending)]
            return (stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem), form
    return word, "base"


#: Pasts that are also words of their own, and in running text seldom are.
PASTS: Final = {"saw": "see", "found": "find", "fell": "fall", "left": "leave", "felt": "feel", "lay": "lie"}
#: Of a stem before "ed", what shows that it lost an "e" ("restor"), and what shows that it did not.
_MUTE: Final = r"([bcdgpt]l|[aeiou][cgsvzu]|[^aeiou][cgvz]|[^aeious]s|[aiou][dtmkr]|[ai]n|[aeiou][pb]|u)$"
_KEPT: Final = r"([aeo]i|oo|ea|ou|ee)[a-z]$|(er|ain|[^r]on|en|[^v]it|ct?or|ns?or|itor|op)$"
_SURELY_MUTE: Final = r"(st|pl|gn|[^c]c)or$|in$(?<!oin|ain)|plet$|[aeiou]s$"


def base_of(verb: str) -> tuple[str, str]:
    """A verb's base and which form it is, as it stands in running text: "restored" is "restore"."""
    known = (PASTS[verb], "past") if verb in PASTS else verb_forms().get(verb)
    if known:
        return known
    if verb.endswith("ied") and len(verb) > 4:
        return f"{verb[:-3]}y", "past"
    if verb.endswith("ed") and len(verb) > 4:
        stem = verb[:-2]
        if re.search(r"([bdgklmnprt])\1$", stem) and not re.search(r"(ll|ss)$", stem):
            return stem[:-1], "past"
        mute = re.search(_SURELY_MUTE, stem) or (re.search(_MUTE, stem) and not re.search(_KEPT, stem))
        return (f"{stem}e" if mute else stem), "past"
    if verb.endswith("ing") and len(verb) > 5:
        return verb[:-3], "ing"
    if verb.endswith("s") and not verb.endswith("ss"):
        return bare(verb), "s"
    return verb, "base"


def article(word: str) -> str:
    """The indefinite article that a word takes, by its first letter."""
    return "an" if word[:1] in ("a", "e", "i", "o", "u") else "a"


def capital(word: str, model: str) -> str:
    """A word with a capital where another one has it."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
