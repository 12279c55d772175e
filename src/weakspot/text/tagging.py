"""A small tagger for captions: what each word does, told by lists, endings and neighbours.

A word in no list is a noun unless its ending or its place says otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from weakspot.text.lexicon import (
    Tag,
    section,
    sections,
    singular,
    unknown_verb,
    verb_form,
    verb_forms,
    words,
)

LONGEST_TEXT: Final = 300  # of a longer text only the beginning is read, in words
LONGEST_WORD: Final = 60  # of a longer word only the beginning is read, in characters


class Token(NamedTuple):
    """A word of a text. Several words that are one, such as "in front of", are joined by "_"."""

    text: str  # in lower case
    tag: Tag
    lemma: str  # "dog" for "dogs", "run" for "ran"
    form: str  # of a noun "one" or "many", of a verb "base", "s", "past" or "ing"; "" for others
    options: frozenset[Tag]  # everything it could be elsewhere

    @property
    def said(self) -> str:
        """As it was written, but for its case."""
        return self.text.replace("_", " ")


#: A word in the list of one of these is nothing else; lists are named as tags are.
_CLOSED: Final = (Tag.NEG, Tag.NUM, Tag.PREP, Tag.PRON, Tag.DET, Tag.AUX, Tag.CONJ, Tag.SIDE)


@lru_cache(maxsize=65_536)
def options(word: str) -> frozenset[Tag]:
    if not word[0].isalnum() or word == "'s":
        return frozenset({Tag.DET if word == "'s" else Tag.BREAK})
    if word.isdecimal() or re.fullmatch(r"\d+(st|nd|rd|th)", word):
        return frozenset({Tag.NUM})
    for tag in _CLOSED:
        if word in words(tag) or (tag is Tag.NUM and word in words("quantifier")):
            return frozenset({tag})
    found = set()
    if sure_adjective(word):
        found.add(Tag.ADJ)
    listed = word in words("adverb") | words("manner")
    if listed or (word.endswith("ly") and word not in words("no adverb") and Tag.ADJ not in found):
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
    if ending is None or word in words("no comparative"):
        return False
    stem = word[: ending.start()]
    return bool(
        {stem, f"{stem}e", re.sub(r"i$", "y", stem), stem[:-1] if stem[-2:-1] == stem[-1:] else stem}
        & words("adjective")
    )


#: Denials written short, and their long forms.
LONG_FORMS: Final = (
    (r"\bcan't\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"), (r"\bcannot\b", "can not"),
)  # fmt: skip
_SHORT: Final = (
    *LONG_FORMS, (r"\b(it|he|she|there|that|who|what|here)'s\b", r"\1 is"), (r"'re\b", " are"),
    (r"'ve\b", " have"), (r"'ll\b", " will"), (r"'m\b", " am"), (r"s'(?=\s)", "s 's"), (r"'s\b", " 's"),
)  # fmt: skip
_WORD: Final = re.compile(r"'s|[^\W_]+|[.,;:!?]")


def tokenise(text: str) -> list[Token]:
    """The words of a text with what they do. Hyphens part words; commas and full stops are tokens."""
    plain = unicodedata.normalize("NFKC", text[: 20 * LONGEST_TEXT]).casefold().replace("’", "'")
    for short, full in _SHORT:
        plain = re.sub(short, full, plain)
    return _tagged(_joined([word[:LONGEST_WORD] for word in _WORD.findall(plain)[:LONGEST_TEXT]]))


@cache
def _phrases() -> dict[str, list[tuple[str, ...]]]:
    """The longer phrases of all sections by their first word, longest first."""
    listed = {word for rows in sections().values() for row in rows for word in row.split() if "_" in word}
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted((tuple(word.split("_")) for word in listed), key=lambda p: (-len(p), p)):
        found.setdefault(phrase[0], []).append(phrase)
    return found


def _joined(plain: list[str]) -> list[str]:
    joined, at = [], 0
    while at < len(plain):
        match = next(
            (p for p in _phrases().get(plain[at], ()) if tuple(plain[at : at + len(p)]) == p), (plain[at],)
        )
        joined.append("_".join(match))
        at += len(match)
    return joined


_OPENS: Final = frozenset({Tag.DET, Tag.NUM, Tag.ADJ})
_ENDS: Final = frozenset(
    {Tag.DET, Tag.PREP, Tag.PRON, Tag.CONJ, Tag.ADV, Tag.NUM, Tag.NEG, Tag.SIDE, Tag.BREAK}
)
_NOUNISH: Final = frozenset({Tag.NOUN, Tag.ADJ})
_RELATIVE: Final = frozenset({"who", "which", "that"})


def _tagged(plain: Sequence[str]) -> list[Token]:
    tokens: list[Token] = []
    for i, word in enumerate(plain):
        behind = plain[i + 1] if i + 1 < len(plain) else "."
        if behind == "," and i + 2 < len(plain) and Tag.ADJ in options(word) & options(plain[i + 2]):
            behind = plain[i + 2]  # "a small, red train"
        token = _token(word, _tag(word, tokens, behind))
        be = bool(tokens) and tokens[-1].lemma == "be"
        tokens.append(token._replace(form="past") if be and token.form == "base" else token)
    return tokens


@lru_cache(maxsize=65_536)
def _token(word: str, tag: Tag) -> Token:
    lemma, form = word, ""
    if tag is Tag.NOUN:
        lemma = singular(word)
        form = "many" if lemma != word else "one"
        if word in words("invariant") or word in words("plural only"):
            form = ""
    elif tag is Tag.VERB:
        lemma, form = verb_forms().get(word) or unknown_verb(word)
    elif tag is Tag.AUX:
        lemma, form = verb_forms().get(word, (word, ""))
    elif word in ("a", "an", "the"):
        lemma = "the"
    elif word in ("gray", "centre", "toward"):
        lemma = {"gray": "grey", "centre": "center", "toward": "towards"}[word]
    return Token(word, tag, lemma, form, options(word))


def _tag(word: str, before: Sequence[Token], behind: str) -> Tag:
    """What a word is, from what it can be, the words before it and the next one."""
    can, following = options(word), options(behind)
    if len(before) > 1 and before[-1].text == "," and before[-2].tag is Tag.ADJ:
        before = before[:-1]
    last = before[-1] if before else None
    previous = last.tag if last else Tag.BREAK
    nominal = bool(following & _NOUNISH) and not following & _ENDS
    if _one(before) and _third_person(behind):
        nominal = False  # "a stone falls": no plural goes with "a"
    if behind == "looking" and Tag.ADJ in can and previous in _OPENS:
        return Tag.ADJ  # "an angry looking goose"
    stuff = word in words("stuff")
    if stuff and behind.endswith("ing") and Tag.VERB in following:
        nominal = False  # "a stone covering a leaf"
    if word in ("her", "his"):
        return Tag.DET if nominal or following & {Tag.NUM, Tag.SIDE} else Tag.PRON
    if word == "that":
        return Tag.PRON if following & {Tag.AUX} or previous is Tag.NOUN else Tag.DET
    if len(can) == 1:
        (only,) = can
        if only is Tag.NOUN and last is not None and last.lemma == "be" and last.tag is Tag.AUX:
            return Tag.NOUN if following & {Tag.NOUN, Tag.AUX} or _third_person(word) else Tag.ADJ
        late = _third_person(word) and only is Tag.NOUN
        return Tag.VERB if late and _finite(word, before, following, sure=False) else only
    if Tag.VERB in can:
        form = verb_forms().get(word, unknown_verb(word))[1]
        if form == "ing" or word.endswith("ing"):
            after_noun = previous is Tag.NOUN and len(before) > 1 and not following & {Tag.DET, Tag.PRON}
            if Tag.NOUN in can and (previous in _OPENS or previous is Tag.PREP or after_noun):
                return Tag.NOUN
            if previous is Tag.DET and not nominal and not following & {Tag.DET, Tag.PRON}:
                return Tag.NOUN  # "a viking on a boat"
            return Tag.ADJ if previous in _OPENS and nominal else Tag.VERB
        if form == "past" and Tag.ADJ in can:
            if previous in _OPENS and not nominal and last is not None and last.tag is Tag.DET:
                return Tag.NOUN  # "the ground"
            listed = word in words("adjective") and previous is not Tag.NOUN and behind != "by"
            return Tag.ADJ if (previous in _OPENS and nominal) or listed else Tag.VERB
        if word in words("adjective"):
            if previous in _OPENS or previous in (Tag.AUX, Tag.ADV, Tag.BREAK, Tag.CONJ, Tag.VERB):
                return Tag.ADJ if nominal or previous in (Tag.AUX, Tag.ADV, Tag.CONJ) else Tag.NOUN
            return Tag.ADJ if not _finite(word, before, following, sure=True) else Tag.VERB
        return Tag.VERB if _finite(word, before, following, sure=True) else Tag.NOUN
    if Tag.ADJ in can:
        if Tag.ADV in can:
            return Tag.ADJ if nominal or previous is Tag.AUX else Tag.ADV
        if previous in (Tag.DET, Tag.NUM, Tag.ADJ) and not nominal:
            after_be = previous is Tag.ADJ and not any(t.tag in (Tag.DET, Tag.NUM) for t in before[-3:])
            plain = not stuff and (behind == "," or (behind.endswith("ing") and Tag.VERB in following))
            coloured = word in section("adjective")[:20] and Tag.CONJ in following  # "a red and a blue bus"
            return Tag.ADJ if after_be or plain or coloured else Tag.NOUN
        if not sure_adjective(word) and not nominal and previous not in (Tag.AUX, Tag.ADV):
            return Tag.NOUN
        return Tag.NOUN if stuff and not nominal and previous in (Tag.VERB, Tag.PREP, Tag.BREAK) else Tag.ADJ
    return next(t for t in (Tag.ADV, Tag.NOUN) if t in can)


def _finite(word: str, before: Sequence[Token], following: frozenset[Tag], *, sure: bool) -> bool:
    """Whether a word that looks like a verb in the present is one here: "a dog runs", "two dogs run".

    `sure` says that it is in the list of verbs; otherwise it only ends in "s".
    """
    last = before[-1] if before else None
    if last is None or last.tag in (Tag.DET, Tag.NUM, Tag.ADJ, Tag.BREAK, Tag.SIDE):
        return False
    if last.tag is Tag.PREP:
        return sure and last.text == "to" and not word.endswith("s")
    if last.tag in (Tag.AUX, Tag.NEG):
        return sure and (last.lemma != "be" or _past_alike(word)) and not word.endswith("s")
    if last.tag is Tag.PRON:
        return sure or bool(following & _ENDS)
    if last.tag in (Tag.VERB, Tag.CONJ):
        verbs = [t.form for t in before if t.tag is Tag.VERB and t.form in ("s", "base")]
        alike = bool(verbs) and (verbs[-1] == "s") == word.endswith("s")
        return sure and last.tag is Tag.CONJ and bool(following & _ENDS) and alike
    if last.tag is Tag.ADV:
        return sure and any(t.tag is Tag.NOUN for t in before)
    # What a relative clause says is not the main clause's.
    begins = (Tag.BREAK, Tag.CONJ)
    clause = list(takewhile(lambda t: t.tag not in begins and t.text not in _RELATIVE, reversed(before)))
    if any((t.tag is Tag.VERB and t.form in ("s", "base")) or t.tag is Tag.AUX for t in clause):
        return False
    singular_form = word.endswith("s") and not word.endswith("ss")
    several = last.form == "many" or (last.form == "one" and _with_another(before))
    if singular_form == several and last.form and not (_past_alike(word) and Tag.DET in following):
        return False
    if singular_form and _one(before) and _third_person(word):
        return Tag.AUX not in following  # no plural goes with "a"
    if sure and singular_form and Tag.DET in following:
        return True
    phrase = noun_phrase(before)
    marked = any(
        t.tag is Tag.DET or (t.tag is Tag.NUM and (not singular_form or t.text in words("before one")))
        for t in phrase
    )
    if singular_form and not marked and last.text not in words("animate") | words("human") | words("gender"):
        return False
    doubtful = not sure or word in words("also noun")
    if last.text in words("compound") and doubtful and Tag.DET not in following:
        return False
    if not sure:
        return marked and bool(following & {Tag.DET, Tag.PREP, Tag.PRON}) and len(clause) <= 4
    if following & _ENDS or (Tag.VERB in following and Tag.NOUN not in following):
        return True
    return not following & {Tag.AUX, Tag.VERB} if singular_form else Tag.NOUN in following


@lru_cache(maxsize=65_536)
def _third_person(word: str) -> bool:
    """Whether a word can only be a plural or a verb of the third person."""
    ends = word.endswith("s") and not word.endswith(("ss", "us")) and len(word) > 3
    return ends and word not in words("not plural") and word not in words("plural only") and word.isalpha()


def _one(before: Sequence[Token]) -> bool:
    """Whether "a" or another word that goes with no plural began the noun phrase that stands last."""
    return next(
        (t.text in words("before one") for t in noun_phrase(before) if t.tag in (Tag.DET, Tag.NUM)), False
    )


def _past_alike(word: str) -> bool:
    """Whether a verb has its base as its past, as "cut" has."""
    return word in words("verb") and verb_form(word, "past") == word


def _with_another(before: Sequence[Token]) -> bool:
    """Whether the noun phrase that stands last is joined to another: "a girl and a boy"."""
    rest = before[: len(before) - len(noun_phrase(before))]
    return len(rest) > 1 and rest[-1].text == "and" and rest[-2].tag is Tag.NOUN


def noun_phrase(before: Sequence[Token]) -> list[Token]:
    """The words of the noun phrase that stands last, the last first."""
    found: list[Token] = []
    for token in reversed(before):
        if token.tag not in (Tag.NOUN, Tag.ADJ, Tag.DET, Tag.NUM, Tag.SIDE):
            break
        found.append(token)
        if token.tag is Tag.DET and token.text != "'s":
            break
    return found
