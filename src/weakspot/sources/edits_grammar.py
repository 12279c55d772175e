"""Edits that need grammar: sentences denied, nouns from one to many and back, verbs in the other tense."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from weakspot.search.lexicons import Tag, plural, singular, verb_form, verb_forms
from weakspot.search.tagging import Token, tokenise

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?]+(?=\s|$|[\"'”’)])|[.!?]+|\n|$)")
_BE: Final = frozenset({"is", "are", "was", "were", "am", "be", "been", "being"})
_HAVE: Final = frozenset({"has", "have", "had", "having"})
_MODALS: Final = "can could will would shall should must may might do does did to not let"
_MODAL: Final = frozenset(_MODALS.split())
_OTHER: Final = {
    "is": "was", "are": "were", "am": "was", "was": "is", "were": "are", "has": "had", "have": "had",
    "do": "did", "does": "did", "will": "would", "would": "will", "can": "could", "could": "can",
    "may": "might", "might": "may",
}  # fmt: skip
_HELPS: Final = r"is|are|was|were|am|can|could|will|would|should|must|may|might"
_MANY: Final = frozenset({"they", "we", "i", "you", "these", "those", "both", "many", "several", "few"})
_STUFF: Final = (
    "water snow rain money news information traffic electricity heat energy food wood milk bread music air "
    "sand salt work research equipment furniture advice weather time power evidence"
)
_MASS: Final = frozenset(_STUFF.split())
_NO_NOUNS: Final = "now how whether later usual other else twice then still away free less"
#: Taken for nouns because they are in no list.
_NO_NOUN: Final = frozenset(_NO_NOUNS.split())
#: Forms that are also words of their own, and in running text seldom are.
_PAST: Final = {"saw": "see", "found": "find", "fell": "fall", "left": "leave", "felt": "feel", "lay": "lie"}


class Placed(NamedTuple):
    """A word of a text, where it stands, and what it does in its sentence."""

    start: int
    end: int
    word: str
    token: Token


def placed(text: str) -> Iterator[list[Placed]]:
    """The tagged words of each sentence; words that the tagger reads otherwise are left out."""
    for sentence in _SENTENCE.finditer(text):
        tokens = [t for t in tokenise(sentence[0]) if t.tag is not Tag.BREAK]
        said = [(part, token) for token in tokens for part in token.said.split()]
        found, at = [], 0
        for match in _WORD.finditer(sentence[0]):
            ahead = [i for i in range(at, min(at + 4, len(said))) if said[i][0] == match[0].casefold()]
            if not ahead:
                continue
            at = ahead[0] + 1
            token = said[ahead[0]][1]
            if " " not in token.said:
                start = sentence.start() + match.start()
                found.append(Placed(start, start + len(match[0]), match[0], token))
        yield found


def _like(word: str, model: str) -> str:
    """In the capitals of another word."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def _apply(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _sample(
    changes: Sequence[tuple[int, int, str]], rng: random.Random, share: float
) -> Sequence[tuple[int, int, str]]:
    if not changes:
        return changes
    return rng.sample(changes, min(max(1, round(share * len(changes))), len(changes)))


# -- number -------------------------------------------------------------------------------------------


def number(text: str, rng: random.Random, share: float) -> str:
    """Nouns: "the bridges" and "the bridge" change places. Names and stuff are left as they are."""
    changes = []
    for row in placed(text):
        for i, (start, end, word, token) in enumerate(row):
            name = word[:1].isupper() and i > 0
            small, before = word.lower(), row[i - 1].word.lower() if i else ""
            if token.tag is not Tag.NOUN or name or len(word) < 3 or not word.isalpha():
                continue
            if small in _NO_NOUN or before in _MODAL or before in ("they", "he", "she", "we", "who"):
                continue  # not a noun, whatever the tagger says
            other = singular(small)
            if other == small:
                other = small if small in _MASS else plural(small)
            if other != small:
                changes.append((start, end, _like(other, word)))
    return _apply(text, _sample(changes, rng, share))


# -- tense --------------------------------------------------------------------------------------------


def tense(text: str, rng: random.Random, share: float) -> str:
    """Verbs and auxiliaries: past becomes present, and present past."""
    changes = []
    for row in placed(text):
        for i, (start, end, word, _) in enumerate(row):
            other = _other_tense(row, i)
            if other and other != word.lower():
                changes.append((start, end, _like(other, word)))
    return _apply(text, _sample(changes, rng, share))


def _other_tense(row: Sequence[Placed], i: int) -> str:
    """The word in the other tense; "" where it has none."""
    word, token = row[i].word.lower(), row[i].token
    before = [p.word.lower() for p in row[max(i - 2, 0) : i]]
    if row[i].word[:1].isupper() and i > 0:
        return ""  # the month of May
    if word in _OTHER:
        return "" if before and before[-1] in _MODAL else _OTHER[word]
    if word == "had":
        return "have" if _many(row, i) else "has"
    if token.tag is not Tag.VERB:
        return ""
    skipped = before[-1:] if before and before[-1].endswith("ly") else []
    near = before[-2:-1] if skipped else before[-1:]
    if near and near[0] in _BE | _HAVE | _MODAL:
        return ""  # the auxiliary carries the tense
    base, form = base_of(word)
    if form == "past":
        return verb_form(base, "base" if _many(row, i) else "s")
    return verb_form(base, "past") if form in ("base", "s") else ""


def _many(row: Sequence[Placed], i: int) -> bool:
    """Whether what stands before a verb is many, or speaks of itself."""
    for p in reversed(row[:i]):
        if p.token.tag is Tag.NOUN:
            return p.token.form == "many"
        if p.token.tag is Tag.PRON and p.word.lower() not in ("which", "who", "that"):
            return p.word.lower() in _MANY
    return False


def base_of(verb: str) -> tuple[str, str]:
    """A verb's base and which form it is, from the lists or from its ending: "restored" is "restore"."""
    known = (_PAST[verb], "past") if verb in _PAST else verb_forms().get(verb)
    if known:
        return known
    if verb.endswith("ied") and len(verb) > 4:
        return f"{verb[:-3]}y", "past"
    if verb.endswith("ed") and len(verb) > 4:
        stem = verb[:-2]
        if re.search(r"([bdgklmnprt])\1$", stem) and not re.search(r"(ll|ss)$", stem):
            return stem[:-1], "past"
        mute = r"([bcdgpt]l|[aeiou][cgsvzu]|[^aeiou][cgvz]|[^aeious]s|[aiou][dtmkr]|[ai]n|[aeiou][pb]|u)$"
        kept = r"([aeo]i|oo|ea|ou|ee)[a-z]$|(er|ain|[^r]on|en|[^v]it|ct?or|ns?or|itor|op)$"
        ends_in_e = re.search(r"(st|pl|gn|[^c]c)or$|in$(?<!oin|ain)|plet$|[aeiou]s$", stem) or (
            re.search(mute, stem) and not re.search(kept, stem)
        )
        return (f"{stem}e" if ends_in_e else stem), "past"
    if verb.endswith("ing") and len(verb) > 5:
        return verb[:-3], "ing"
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y", "s"
    if verb.endswith("s") and not verb.endswith("ss"):
        return (verb[:-2] if re.search(r"(ss|x|zz|ch|sh|o)es$", verb) else verb[:-1]), "s"
    return verb, "base"


# -- denial -------------------------------------------------------------------------------------------


def negate(text: str, rng: random.Random, share: float) -> str:
    """Sentences say the opposite: "it is open" and "it is not open"."""
    changes = []
    for sentence in _SENTENCE.finditer(text):
        other = denied(sentence[0])
        if other != sentence[0]:
            changes.append((*sentence.span(), other))
    return _apply(text, _sample(changes, rng, share))


def denied(sentence: str) -> str:
    """The opposite of one sentence; the sentence itself where no rule fits."""
    for pattern, new in (
        (r"\b(ca|wo|does|do|did|is|are|was|were|has|have|had|would|could|should)n['’]t\b", _unsaid),
        (r"\bcannot\b", "can"),
        (rf"\b({_HELPS}|has|have|had)\s+not\b", r"\1"),
        (rf"\b({_HELPS})\b", r"\1 not"),
    ):
        other, n = re.subn(pattern, new, sentence, count=1)
        if n:
            return other
    row = next(iter(list(placed(sentence))), [])
    for i, (start, end, word, token) in enumerate(row):
        small, behind = word.lower(), row[i + 1].token if i + 1 < len(row) else None
        before = row[i - 1].word.lower() if i else ""
        if small in ("has", "have", "had") and behind and (behind.form == "past" or behind.text == "been"):
            return sentence[:end] + " not" + sentence[end:]
        if before in _BE | _HAVE | _MODAL or token.form == "ing":
            continue
        if token.tag is not Tag.VERB and small not in _HAVE:
            continue
        base, form = base_of(small)
        if form in ("past", "s") or (form == "base" and i and _many(row, i)):
            helper = {"past": "did", "s": "does", "base": "do"}[form]
            return f"{sentence[:start]}{_like(helper, word)} not {base}{sentence[end:]}"
    return sentence


def _unsaid(match: re.Match[str]) -> str:
    """From "can't" to "can", from "won't" to "will"."""
    return {"wo": "will", "ca": "can"}.get(match[1].lower(), match[1])
