"""The same words in other places: who does what to whom, and which word belongs to which noun.

Every noun is given its place (does it, is done to, stands after this preposition), every adjective and number
its noun; what these maps disagree in is what was exchanged. The passive has the places of the active.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, takewhile
from typing import Final, NamedTuple

from weakspot.text.lexicon import Tag, lines, swaps
from weakspot.text.tagging import Token, noun_phrase

_CONTENT: Final = frozenset({Tag.NOUN, Tag.VERB, Tag.ADJ, Tag.NUM, Tag.PRON, Tag.SIDE})
_NAMES: Final = frozenset({"he", "she", "it", "they", "i", "we", "you", "him", "them", "me", "us", "her"})
_CASES: Final = {"him": "he", "her": "she", "them": "they", "me": "i", "us": "we"}
#: Of the words that say something, so many must be in both texts before an order is read into them.
OVERLAP: Final = 0.66


class NounPlace(NamedTuple):
    """Where a noun stands: what kind of place, by which word, and what else is said there."""

    kind: str
    by: str
    beside: frozenset[str] = frozenset()

    def agrees(self, other: NounPlace) -> bool:
        """Whether the two may be one place: what is not known does not contradict."""
        if self.kind != other.kind:
            return False
        if self.kind == "prep":
            apart = self.beside and other.beside and not self.beside & other.beside
            return self.by == other.by and not apart
        return self.by == other.by or not self.by or not other.by


class Exchange(NamedTuple):
    """What changed places: its kind, and the words."""

    tag: Tag | None
    words: tuple[str, ...]


def name(token: Token) -> str:
    """The lemma; for a pronoun its first case."""
    return _CASES.get(token.lemma, token.lemma) if token.tag is Tag.PRON else token.lemma


def shared(a: Sequence[Token], b: Sequence[Token]) -> float:
    """The share of the words that say something which both texts have, of the longer text's."""
    one, two = (
        Counter(name(t) for t in tokens if t.tag in _CONTENT and (t.tag is not Tag.PRON or t.text in _NAMES))
        for tokens in (a, b)
    )
    longer = max(one.total(), two.total())
    return (one & two).total() / longer if longer else 0.0


def exchange(a: Sequence[Token], b: Sequence[Token]) -> Exchange | None:
    """What was exchanged between two texts of nearly the same words; None if nothing was.

    `NOUN` (or `VERB`) means roles; the tag is None where only the order differs.
    """
    if shared(a, b) < OVERLAP:
        return None
    where_a, where_b = places(a), places(b)
    often = [Counter(name(t) for t in tokens if _is_name(t)) for tokens in (a, b)]
    nouns = _inverted(*([n for n in _nouns(t) if often[0][n] == often[1][n]] for t in (a, b)))
    if nouns:
        if _seen_from_the_other_side(a, b, nouns):
            return Exchange(None, nouns)
        if any(not where_a[n].agrees(where_b[n]) for n in nouns):
            return Exchange(Tag.NOUN, nouns)
        for tag in (Tag.ADJ, Tag.NUM):
            if moved := _rebound(a, b, tag):
                return Exchange(tag, moved)
        return Exchange(None, nouns)
    if _passive(a) != _passive(b):
        swapped = [
            n for n in where_a if n in where_b and {where_a[n].kind, where_b[n].kind} == {"does", "done to"}
        ]
        if swapped:
            return Exchange(Tag.NOUN, tuple(swapped[:2]))
    for tag in (Tag.ADJ, Tag.NUM):
        if moved := _inverted(_lemmas(a, tag), _lemmas(b, tag)) or _rebound(a, b, tag):
            return Exchange(Tag.NOUN if tag is Tag.ADJ and _one_noun(a, moved) else tag, moved)
    if moved := _inverted(_lemmas(a, Tag.VERB), _lemmas(b, Tag.VERB)):
        return Exchange(Tag.VERB, moved)
    for tag in (Tag.SIDE, Tag.PREP):
        if moved := _inverted(_lemmas(a, tag), _lemmas(b, tag)):
            return Exchange(tag, moved)
    return None


def places(tokens: Sequence[Token]) -> dict[str, NounPlace]:
    """The place of each noun (the last of a compound) and personal pronoun, by lemma."""
    found: dict[str, NounPlace] = {}
    latest = NounPlace("does", "")
    for i, token in enumerate(tokens):
        if not _is_name(token):
            continue
        if i + 1 < len(tokens) and tokens[i + 1].tag is Tag.NOUN:
            found.setdefault(name(token), NounPlace("part", tokens[i + 1].lemma))
            continue
        latest = _place(tokens, i - len(noun_phrase(tokens[:i])), i, latest)
        found.setdefault(name(token), latest)
    return found


def _place(tokens: Sequence[Token], start: int, end: int, latest: NounPlace) -> NounPlace:
    governor = tokens[start - 1] if start else None
    after = next((t for t in tokens[end + 1 :] if t.tag not in (Tag.ADV, Tag.NEG)), None)
    acts = after is not None and after.tag in (Tag.VERB, Tag.AUX)
    if governor is None or governor.tag is Tag.BREAK or (governor.tag is Tag.CONJ and acts):
        return _subject(tokens, end)
    if governor.tag is Tag.CONJ and governor.text in ("as", "than"):
        return NounPlace("prep", governor.text, frozenset(_before(tokens, start - 1)))
    if governor.tag is Tag.CONJ and governor.text in ("and", "or", "plus", "but"):
        return latest
    if governor.tag is Tag.PREP:
        verb = tokens[start - 2] if start > 1 and tokens[start - 2].tag in (Tag.VERB, Tag.ADJ) else None
        if governor.text == "by" and verb is not None and _is_passive(tokens, start - 2):
            return NounPlace("does", verb.lemma)
        by = governor.lemma + _which(tokens, start - 1)
        return NounPlace("prep", by, frozenset(_before(tokens, start - 1)))
    # A noun after a noun and before an article is a verb that was not known.
    unknown = governor.tag is Tag.NOUN and start > 1 and tokens[start - 2].tag is Tag.NOUN
    helper = governor.tag is Tag.AUX and governor.lemma in ("have", "do")
    if governor.tag is Tag.VERB or unknown or helper:
        return NounPlace("done to", governor.lemma)
    return _subject(tokens, end)


def _which(tokens: Sequence[Token], end: int) -> str:
    """The number of the noun before a preposition among those of its name; "" if it is the only one."""
    noun = next((t.lemma for t in reversed(tokens[:end]) if t.tag is Tag.NOUN), "")
    alike = [i for i, t in enumerate(tokens) if t.lemma == noun and t.tag is Tag.NOUN]
    return str(sum(i < end for i in alike)) if len(alike) > 1 else ""


def _subject(tokens: Sequence[Token], end: int) -> NounPlace:
    for i in range(end + 1, len(tokens)):
        if tokens[i].tag is Tag.VERB:
            return NounPlace("done to" if _is_passive(tokens, i) else "does", tokens[i].lemma)
        if tokens[i].tag in (Tag.CONJ, Tag.BREAK, Tag.NOUN):
            break
    return NounPlace("does", "")


def _before(tokens: Sequence[Token], end: int) -> Iterable[str]:
    """What is said before a preposition, back to the last conjunction."""
    clause = takewhile(lambda t: t.tag not in (Tag.CONJ, Tag.BREAK), reversed(tokens[:end]))
    return (t.lemma for t in clause if t.tag in (Tag.NOUN, Tag.VERB))


def _is_passive(tokens: Sequence[Token], at: int) -> bool:
    """Whether the verb there is a past participle after a form of "be", or right before "by"."""
    if tokens[at].form != "past" and tokens[at].tag is not Tag.ADJ:
        return False
    before = [t for t in tokens[max(0, at - 3) : at] if t.tag not in (Tag.ADV, Tag.NEG)]
    by = at + 1 < len(tokens) and tokens[at + 1].text == "by"
    return by or bool(before and before[-1].lemma in ("be", "get"))


def _passive(tokens: Sequence[Token]) -> bool:
    return any(t.tag is Tag.VERB and _is_passive(tokens, i) for i, t in enumerate(tokens))


def _is_name(token: Token) -> bool:
    return token.tag is Tag.NOUN or (token.tag is Tag.PRON and token.text in _NAMES)


def _nouns(tokens: Sequence[Token]) -> list[str]:
    return list(dict.fromkeys(name(t) for t in tokens if _is_name(t)))


def _lemmas(tokens: Sequence[Token], tag: Tag) -> list[str]:
    counts = Counter(t.lemma for t in tokens if t.tag is tag)
    return [lemma for lemma in dict.fromkeys(t.lemma for t in tokens if t.tag is tag) if counts[lemma] == 1]


def _inverted(a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    """Two words that stand in another order; () if all are in the same."""
    at = {word: i for i, word in enumerate(b)}
    common = [word for word in a if word in at]
    return next(((x, y) for x, y in combinations(common, 2) if at[x] > at[y]), ())


def _bound(tokens: Sequence[Token], tag: Tag) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for i, token in enumerate(tokens):
        if token.tag is not tag:
            continue
        noun = None
        for j in range(i + 1, len(tokens)):
            if tokens[j].tag is Tag.NOUN:
                noun = j
            elif noun is not None or tokens[j].tag not in (Tag.ADJ, Tag.NUM, Tag.CONJ, Tag.SIDE, Tag.VERB):
                break
        if noun is None and i and tokens[i - 1].tag in (Tag.AUX, Tag.ADV, Tag.CONJ):
            noun = next((j for j in range(i - 1, -1, -1) if tokens[j].tag is Tag.NOUN), None)
        if noun is not None:
            found.setdefault(token.lemma, set()).add(tokens[noun].lemma)
    return found


def _rebound(a: Sequence[Token], b: Sequence[Token], tag: Tag) -> tuple[str, ...]:
    """Words of this kind that belong to another noun of the same texts now."""
    one, two = _bound(a, tag), _bound(b, tag)
    nouns = set(_nouns(a)) & set(_nouns(b))
    return tuple(w for w in one if w in two and not one[w] & two[w] and one[w] <= nouns and two[w] <= nouns)


def _one_noun(tokens: Sequence[Token], adjectives: tuple[str, ...]) -> bool:
    """Whether two adjectives tell two things of one name apart: a tall boy hugs a small boy."""
    bound = [_bound(tokens, Tag.ADJ).get(word, set()) for word in adjectives]
    at = [i for i, t in enumerate(tokens) if t.lemma in adjectives]
    between = tokens[at[0] : at[-1]] if at else ()
    apart = {t.tag for t in between}
    joined = Tag.CONJ in apart or not apart & {Tag.VERB, Tag.PREP}
    return len(bound) == 2 and bound[0] == bound[1] != set() and not joined


def _seen_from_the_other_side(a: Sequence[Token], b: Sequence[Token], nouns: tuple[str, ...]) -> bool:
    """Two nouns exchanged and the preposition inverted: a dog left of a cat, a cat right of a dog."""
    one, two = ([t.lemma for t in tokens if t.tag is Tag.PREP] for tokens in (a, b))
    inverse = set(map(frozenset, swaps("seen from the other side")))
    changed = [frozenset((x, y)) for x, y in zip(one, two, strict=False) if x != y]
    alone = len(one) == len(two) and len(changed) == 1 and changed[0] in inverse
    return alone and len(set(_nouns(a))) == len(nouns) == 2


@lru_cache(maxsize=65_536)
def gender(word: str) -> str:
    """The sex a word tells: "male", "female" or ""."""
    return next((("male", "female")[row.index(word)] for row in lines("gender") if word in row), "")
