"""What changed between two texts: one category a pair, with the words that say so.

The first of these that holds names the pair: a negation came or went; words that both texts have changed
places; the words that were replaced, added or left out are of a kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from weakspot.text.exchanges import exchange, gender, shared
from weakspot.text.lexicon import Tag, one_and_many, words
from weakspot.text.tagging import Token, sure_adjective, tokenise


class Category(StrEnum):
    """In what two texts differ."""

    NEGATION = "negation"
    NUMBER = "number and quantifier"
    ATTRIBUTE = "attribute"
    SPATIAL = "spatial relation"
    ROLE = "role swap"
    ACTION = "temporal/action state"
    PRESENCE = "presence"
    SUBJECT = "subject"
    GENDER = "gender"
    OTHER = "other"


class Difference(NamedTuple):
    """The category of a pair and the reason, one short line that quotes the words."""

    category: Category
    reason: str


RELATED: Final = 0.25  # texts that share less than this of their words are not one text edited
_LONGEST_REASON: Final = 160


def categorise(a: str, b: str) -> Difference:
    """The category of a pair of texts. Never fails: what no rule names is `OTHER`."""
    one, two = (tokenise(text) for text in (a, b))
    said = [[t for t in tokens if t.tag is not Tag.BREAK] for tokens in (one, two)]
    if not all(said):
        return Difference(Category.OTHER, "a text has no words")
    if [t.text for t in said[0]] == [t.text for t in said[1]]:
        return Difference(Category.OTHER, "the same words in the same order")
    found = _negated(*said) or _exchanged(one, two)
    if found is None:
        regions, inflected = _align(*said)
        signals = [s for s in (*map(_region, regions), *(_inflection(*pair) for pair in inflected)) if s]
        found = _strongest(signals, *said)
    return found._replace(reason=found.reason[:_LONGEST_REASON])


def totals(found: Iterable[Difference]) -> dict[Category, int]:
    """How many pairs each category has; all categories, in their order."""
    counts = Counter(d.category for d in found)
    return {category: counts[category] for category in Category}


class Region(NamedTuple):
    """Words of one text where the other has other words, or none; `after` is the next word they share."""

    a: tuple[Token, ...]
    b: tuple[Token, ...]
    after: Token | None


# -- the rules: each gives a category with its reason, or None ---------------------------------------


def _negated(a: Sequence[Token], b: Sequence[Token]) -> Difference | None:
    """A negation in one text only; or "yes" against "no"; or one that denies another word."""
    ours, theirs = ([t.said for t in tokens if t.tag is Tag.NEG] for tokens in (a, b))
    if len(ours) != len(theirs) and shared(a, b) >= RELATED:
        word = next(iter((Counter(ours) - Counter(theirs)) or (Counter(theirs) - Counter(ours))))
        which = "first" if len(ours) > len(theirs) else "second"
        return Difference(Category.NEGATION, f"“{word}” is in the {which} text only")
    if len(ours) == len(theirs) > 0 and ours != theirs and shared(a, b) >= 0.5:
        return None
    if ours and ours == theirs:
        denied, denied_b = (_denied(tokens) for tokens in (a, b))
        if denied != denied_b and shared(a, b) == 1:
            return Difference(Category.NEGATION, f"“{ours[0]}” denies “{denied[0]}”, then “{denied_b[0]}”")
    return None


def _denied(tokens: Sequence[Token]) -> list[str]:
    """The word that says something after each negation."""
    heavy = (Tag.NOUN, Tag.VERB, Tag.ADJ)
    return [
        next((t.lemma for t in tokens[i:] if t.tag in heavy), "")
        for i, token in enumerate(tokens)
        if token.tag is Tag.NEG
    ]


#: What it means that words of a kind changed places, and how it is said.
_EXCHANGED: Final = {
    Tag.NOUN: (Category.ROLE, "roles"), Tag.VERB: (Category.ROLE, "who does what"),
    Tag.ADJ: (Category.ATTRIBUTE, "what they describe"), Tag.NUM: (Category.NUMBER, "places"),
    Tag.SIDE: (Category.SPATIAL, "places"), Tag.PREP: (Category.SPATIAL, "places"),
}  # fmt: skip


def _exchanged(a: Sequence[Token], b: Sequence[Token]) -> Difference | None:
    found = exchange(a, b)
    if found is None:
        return None
    quoted = " and ".join(f"“{word.replace('_', ' ')}”" for word in found.words)
    if found.tag is None:
        if Counter(t.lemma for t in a) != Counter(t.lemma for t in b) and shared(a, b) < 1:
            return None
        return Difference(Category.OTHER, f"{quoted} stand in another order and mean the same")
    if found.tag is Tag.NOUN and all(any(t.text == "than" for t in side) for side in (a, b)):
        return Difference(Category.NUMBER, f"{quoted} changed places in a comparison of numbers")
    if found.tag is Tag.VERB and any(t.text in ("before", "after", "then", "until") for t in (*a, *b)):
        return Difference(Category.ACTION, f"{quoted} changed places in time")
    category, what = _EXCHANGED[found.tag]
    return Difference(category, f"{quoted} changed places ({what})")


def _inflection(a: Token, b: Token) -> Difference | None:
    """The same word in another form: one or many, then or now."""
    if a.tag is Tag.NOUN and (a.form != b.form or a.lemma != b.lemma):
        return Difference(Category.NUMBER, f"“{a.said}” became “{b.said}”")
    past = [t.form == "past" for t in (a, b)]
    if a.tag in (Tag.VERB, Tag.AUX) and past[0] != past[1]:
        return Difference(Category.ACTION, f"“{a.said}” became “{b.said}”: another time")
    return None


def _is_time(token: Token) -> bool:
    return token.tag is not Tag.VERB and bool({token.text, token.lemma} & words("time"))


def _region(region: Region) -> Difference | None:
    """What the words of a region are; None if they say nothing by themselves (articles, agreement)."""
    a, b = region.a, region.b
    before, after = (" ".join(t.said for t in side) for side in (a, b))
    change = f"“{before}” became “{after}”"
    if not (a and b):
        change = f"“{before or after}” was {'left out' if a else 'added'}"
    if any(t.tag is Tag.NEG for t in a) != any(t.tag is Tag.NEG for t in b):
        return Difference(Category.NEGATION, change)
    category = _replaced(region) if _weighty(a) and _weighty(b) else _added(region)
    return Difference(category, change) if category else None


def _weighty(side: Iterable[Token]) -> bool:
    return any(t.tag not in (Tag.DET, Tag.AUX, Tag.CONJ) for t in side)


def _of(side: Iterable[Token], *tags: Tag) -> list[Token]:
    return [t for t in side if t.tag in tags and not _is_time(t)]


def _replaced(region: Region) -> Category | None:
    a, b = region.a, region.b
    both = (*a, *b)

    def on_both(*tags: Tag) -> bool:
        return bool(_of(a, *tags)) and bool(_of(b, *tags))

    if _of_other_sex(region):
        return Category.GENDER
    if any(map(_is_time, a)) and any(map(_is_time, b)):
        return Category.ACTION
    modifies = region.after is not None and region.after.tag is Tag.NOUN and not _of(both, Tag.PREP, Tag.VERB)
    described = on_both(Tag.ADJ) or any(sure_adjective(t.text) for t in _of(both, Tag.ADJ))
    if modifies and described and not _of(both, Tag.NUM):
        doing = all(t.text.endswith("ing") for t in both if t.tag is not Tag.DET)
        return Category.ACTION if doing else Category.ATTRIBUTE
    if on_both(Tag.NOUN):
        does = on_both(Tag.VERB) and all(_of(side, Tag.VERB, Tag.NOUN)[0].tag is Tag.VERB for side in (a, b))
        return Category.ACTION if does else Category.SUBJECT
    if on_both(Tag.NUM):
        return Category.NUMBER
    if on_both(Tag.VERB):
        return Category.ACTION
    if on_both(Tag.VERB, Tag.NOUN):
        return _verb_or_noun(_of(a, Tag.VERB, Tag.NOUN)[0], _of(b, Tag.VERB, Tag.NOUN)[0])
    if on_both(Tag.ADJ):
        doing = all(t.text.endswith("ing") or t.text in ("asleep", "awake") for t in _of(both, Tag.ADJ))
        return Category.ACTION if doing else Category.ATTRIBUTE
    if on_both(Tag.PREP, Tag.SIDE):
        if {t.text for t in both} == {"on", "off"} and region.after is None:
            return Category.ACTION  # the light is on, the light is off
        times = any(t.text in words("time preposition") for t in both)
        return Category.ACTION if times and not _of(both, Tag.SIDE) else Category.SPATIAL
    if _of(both, Tag.NUM):
        return Category.NUMBER
    if _of(both, Tag.VERB) and _of(both, Tag.ADJ):
        active = any(t.form == "ing" for t in _of(both, Tag.VERB))
        return Category.ACTION if active else Category.ATTRIBUTE
    if _of(both, Tag.NOUN) and _of(both, Tag.ADJ):
        return Category.ATTRIBUTE
    if _of(both, Tag.VERB) and _of(both, Tag.PREP, Tag.SIDE):
        return Category.SPATIAL
    if all(any(t.tag is Tag.NOUN for t in side) for side in (a, b)):
        return Category.SUBJECT  # one of them a time
    if any(map(_is_time, both)) or any(t.text in words("manner") for t in both):
        return Category.ACTION
    if _of(both, Tag.PREP, Tag.SIDE) and not _of(both, Tag.NOUN):
        return Category.SPATIAL
    return _added(region)


def _verb_or_noun(a: Token, b: Token) -> Category:
    """A verb in place of a noun: one of them may be read as the other."""
    verb, noun = (a, b) if a.tag is Tag.VERB else (b, a)
    ends_alike = verb.text.endswith("s") == noun.text.endswith("s")
    if Tag.VERB in noun.options or verb.form == "ing" or (verb.form == "s" and ends_alike):
        return Category.ACTION
    return Category.SUBJECT if Tag.NOUN in verb.options else Category.ACTION


def _added(region: Region) -> Category | None:
    side = (*region.a, *region.b)
    nouns, verbs, places = _of(side, Tag.NOUN), _of(side, Tag.VERB), _of(side, Tag.PREP, Tag.SIDE)
    if not _weighty(side):
        if _of_other_sex(region):
            return Category.GENDER
        return Category.ACTION if any(t.text in _TENSES for t in side) else None
    joined = nouns and any(t.tag is Tag.CONJ for t in side)
    modifies = region.after is not None and region.after.tag in (Tag.NOUN, Tag.ADJ) and not joined
    if modifies and not _of(side, Tag.PREP, Tag.NUM) and side[-1].tag in (Tag.ADJ, Tag.NOUN, Tag.VERB):
        return Category.ATTRIBUTE
    if any(map(_is_time, side)) and not nouns:
        return Category.ACTION
    if _of(side, Tag.NUM) and not nouns and not verbs and not places:
        return Category.NUMBER
    manner = [t for t in side if t.text in words("manner")]
    kinds = (
        (nouns, Category.PRESENCE), (verbs, Category.ACTION), (_of(side, Tag.ADJ), Category.ATTRIBUTE),
        (places, Category.SPATIAL), (manner, Category.ACTION), (_of(side, Tag.ADV), Category.ATTRIBUTE),
    )  # fmt: skip
    return next((category for some, category in kinds if some), None)


#: One of these in one text only tells another time.
_TENSES: Final = frozenset({"will", "would", "was", "were", "had", "did", "used", "shall"})


def _of_other_sex(region: Region) -> bool:
    one, two = (
        {sex for t in side if (sex := gender(t.lemma) or gender(t.text))} for side in (region.a, region.b)
    )
    return bool(one and two) and one != two


#: When a pair differs in several ways, the first of these that occurs names it; another subject comes first.
_ORDER: Final = (
    *(Category.NEGATION, Category.GENDER, Category.NUMBER, Category.ACTION, Category.SUBJECT),
    *(Category.SPATIAL, Category.ATTRIBUTE, Category.PRESENCE, Category.OTHER),
)


def _strongest(signals: Sequence[Difference], a: Sequence[Token], b: Sequence[Token]) -> Difference:
    if not signals:
        return Difference(Category.OTHER, "only articles, agreement or word order differ")
    heads = [next((t.lemma for t in tokens if t.tag is Tag.NOUN), "") for tokens in (a, b)]
    if shared(a, b) < RELATED and len(signals) > 1:
        if heads[0] != heads[1]:
            return Difference(
                Category.SUBJECT, f"the texts are about “{heads[0]}” and “{heads[1]}”, and share little"
            )
        return Difference(Category.OTHER, "the texts share few words")
    first = () if heads[0] == heads[1] else (Category.NEGATION, Category.GENDER, Category.SUBJECT)
    best = min(signals, key=lambda s: (*first, *_ORDER).index(s.category))
    others = sorted({s.category for s in signals} - {best.category})
    return best._replace(reason=f"{best.reason}; differs also in {', '.join(others)}") if others else best


# -- two texts beside each other, word for word ----------------------------------------------------------

#: Kinds of words that say little by themselves.
_LIGHT: Final = frozenset({Tag.DET, Tag.AUX, Tag.CONJ, Tag.ADV})


def _align(a: Sequence[Token], b: Sequence[Token]) -> tuple[list[Region], list[tuple[Token, Token]]]:
    """Where two texts differ, and the words that only changed their form, at the least cost.

    Words of the same kind rather take each other's place than others; articles count little.
    """
    n, m = len(a), len(b)
    cost = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        cost[i][m] = cost[i + 1][m] + _gap(a[i])
    for j in range(m - 1, -1, -1):
        cost[n][j] = cost[n][j + 1] + _gap(b[j])
    for i in range(n - 1, -1, -1):
        row, below, gap = cost[i], cost[i + 1], _gap(a[i])
        for j in range(m - 1, -1, -1):
            row[j] = min(below[j + 1] + _swap(a[i], b[j]), below[j] + gap, row[j + 1] + _gap(b[j]))
    regions: list[Region] = []
    inflected: list[tuple[Token, Token]] = []
    left: list[Token] = []
    right: list[Token] = []
    i = j = 0

    def close(after: Token | None) -> None:
        if left or right:
            regions.append(Region(tuple(left), tuple(right), after))
            left.clear()
            right.clear()

    while i < n or j < m:
        here = cost[i][j]
        if i < n and j < m and abs(here - cost[i + 1][j + 1] - _swap(a[i], b[j])) < 1e-9:
            if _same(a[i], b[j]):
                close(b[j])
                if a[i].text != b[j].text:
                    inflected.append((a[i], b[j]))
            else:
                left.append(a[i])
                right.append(b[j])
            i, j = i + 1, j + 1
        elif i < n and abs(here - cost[i + 1][j] - _gap(a[i])) < 1e-9:
            left.append(a[i])
            i += 1
        else:
            right.append(b[j])
            j += 1
    close(None)
    return regions, inflected


def _same(a: Token, b: Token) -> bool:
    if a.text == b.text or (a.lemma == b.lemma and a.tag is b.tag):
        return True
    return a.tag is b.tag is Tag.NOUN and one_and_many(a.text, b.text)


def _gap(token: Token) -> float:
    return 0.4 if token.tag in _LIGHT else 1.0


def _swap(a: Token, b: Token) -> float:
    if _same(a, b):
        return 0.0 if a.text == b.text else 0.05
    if a.tag is b.tag:
        return 0.5 if a.tag in _LIGHT else 1.1
    return 1.4 if a.options & b.options else 1.9
