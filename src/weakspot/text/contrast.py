"""New pairs of one category: a caption of the corpus and the same caption with one thing changed.

The edits of `weakspot.text.edit` (negation, sides, relations, colours, counts) are used where they fit;
the others are here: roles, adjectives that change nouns, verbs, times, things, people's sex, what is there.
A pair is given only if `weakspot.text.differences` names its category, too, and neither the changed caption
nor the pair is in the corpus. Nothing but the edit differs: case, spelling and punctuation are the caption's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from random import Random
from typing import Final, NamedTuple

from weakspot.core import Hypothesis, WeakspotError
from weakspot.text.differences import Category, categorise
from weakspot.text.edit import Kind, edits
from weakspot.text.exchanges import gender
from weakspot.text.forms import plural, verb_form
from weakspot.text.lexicon import Tag, lines, section, words
from weakspot.text.tagging import Token, tokenise

#: A caption longer than this, in characters, is not edited.
LONGEST: Final = 300


class Contrast(NamedTuple):
    """A caption, the edited caption, and what was changed into what."""

    first: str
    second: str
    category: Category
    before: str
    after: str


class _Spot(NamedTuple):
    """A word of a caption and where it stands there."""

    token: Token
    start: int
    end: int


class _Change(NamedTuple):
    before: str
    after: str
    text: str


def contrasts(captions: Iterable[str], *, category: Category, n: int, seed: int = 0) -> list[Contrast]:
    """Up to n new pairs, no caption twice; the same for the same captions, category, n and seed.

    Fewer are given if the corpus has no more captions to which the edit applies. The same change of words
    (e.g. "two" → "three") makes up at most about a tenth of the pairs as long as there are others.

    Raises:
        WeakspotError: `category` is `OTHER`, which is no edit.
    """
    if category is Category.OTHER:
        raise WeakspotError("there is no edit for the category 'other'", fix="name another category")
    pool = sorted({" ".join(c.split()) for c in captions if 0 < len(c) <= LONGEST and c.isprintable()})
    rng = Random(f"{seed} {category.value}")  # noqa: S311
    rng.shuffle(pool)
    seen, most = {_key(caption) for caption in pool}, max(2, n // 10)
    found: list[Contrast] = []
    spare: list[Contrast] = []
    used: Counter[str] = Counter()
    for caption in pool:
        if len(found) >= n:
            break
        new = [c for c in variants(caption, category=category) if _key(c.second) not in seen]
        if not new:
            continue
        pair = rng.choice(new)
        seen.add(_key(pair.second))
        change = f"{pair.before} → {pair.after}"[:60].casefold()
        used[change] += 1
        (found if used[change] <= most else spare).append(pair)
    return (found + spare)[:n]


def variants(caption: str, *, category: Category) -> list[Contrast]:
    """Every edit of one caption that makes a pair of this category; [] if there is none."""
    spots = _spots(caption)
    changes = (change for rule in _RULES[category] for change in rule(caption, spots)) if spots else ()
    found = {_key(c.text): Contrast(caption, c.text, category, c.before, c.after) for c in changes}
    found.pop(_key(caption), None)
    return [c for c in found.values() if categorise(caption, c.second).category is category]


# -- the edits: each gives changed captions ----------------------------------------------------------

_Rule = Callable[[str, Sequence[_Spot]], Iterator[_Change]]


def _by_edit(*kinds: Kind) -> _Rule:
    def rule(caption: str, _: Sequence[_Spot]) -> Iterator[_Change]:
        described = words("adjective") & set(_key(caption).split())
        for edit in edits(Hypothesis(caption), each=2):
            text = _as(caption, edit.hypothesis.text)
            # Of two negations one may be that of the caption without its adjectives: two edits at once.
            if edit.kind in kinds and (edit.kind is Kind.COLOUR or described <= set(_key(text).split())):
                yield _Change(edit.before, edit.after, text)

    return rule


def _not_doing(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    """From "a man riding a horse" to "a man not riding a horse"."""
    for before, spot in pairwise(spots):
        if spot.token.tag is Tag.VERB and spot.token.form == "ing" and before.token.tag is Tag.NOUN:
            said = caption[spot.start : spot.end]
            yield _Change(said, f"not {said}", caption[: spot.start] + "not " + caption[spot.start :])
            return


def _taking_places(name: str, *tags: Tag) -> _Rule:
    """The words of a line of the lexicon take each other's place, in the form the old one has."""

    def rule(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
        for i, spot in enumerate(spots):
            word = spot.token.lemma if Tag.VERB in tags or Tag.NOUN in tags else spot.token.text
            if spot.token.tag not in tags or (Tag.NOUN in tags and _in_compound(spots, i)):
                continue
            for others in lines(name):
                for other in others if word in others else ():
                    if other != word and _fits(name, spots, i):
                        yield _put(caption, [(spot, _in_form(other, spot.token))])

    return rule


_ALONE: Final = frozenset(
    {
        *(
            "walk",
            "run",
            "sit",
            "stand",
            "lie",
            "jump",
            "climb",
            "swim",
            "laugh",
            "cry",
            "smile",
            "sleep",
            "float",
        )
    }
)


def _fits(name: str, spots: Sequence[_Spot], at: int) -> bool:
    """Whether another word of the list can stand there: no verb with a thing or a particle, no particle."""
    following = spots[at + 1].token if at + 1 < len(spots) else None
    thing = following is not None and following.tag in (Tag.DET, Tag.NOUN, Tag.ADJ, Tag.NUM)
    particle = following is not None and following.text in ("up", "down", "off", "over", "out")
    if name == "other verbs":
        return not particle and not (thing and spots[at].token.lemma in _ALONE)
    return thing if name == "other places" else True


def _in_compound(spots: Sequence[_Spot], at: int) -> bool:
    """Whether a noun is a part of a name: the "dog" of "hot dog", the "tree" of "tree house"."""
    beside = [spots[j].token for j in (at - 1, at + 1) if 0 <= j < len(spots)]
    return any(t.tag is Tag.NOUN or t.text in ("hot", "teddy") for t in beside)


def _in_form(word: str, token: Token) -> str:
    if token.tag is Tag.NOUN:
        return plural(word) if token.form == "many" else word
    if token.tag is Tag.VERB:
        return verb_form(word, token.form or "base")
    return word.replace("_", " ")


def _more_of_it(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    """From "holding a ball" to "holding two balls", where no verb has to agree."""
    for start, end in _phrases(spots):
        head, article = spots[end], spots[start]
        governed = start > 0 and spots[start - 1].token.tag in (Tag.VERB, Tag.PREP)
        free = end + 1 == len(spots) or spots[end + 1].token.tag in (Tag.PREP, Tag.BREAK)
        if article.token.text in ("a", "an") and head.token.form == "one" and governed and free:
            many = plural(head.token.text)
            text = _put(caption, [(article, "two"), (head, many)]).text
            yield _Change(f"a {head.token.text}", f"two {many}", text)


def _quantified(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    for spot in spots:
        for one, other in (
            ("many", "few"),
            ("several", "two"),
            ("a_few", "many"),
            ("a_couple_of", "dozens of"),
        ):
            if spot.token.text == one:
                yield _put(caption, [(spot, other)])


def _adjectives_exchanged(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    """From "a red car and a blue bus" to "a blue car and a red bus"."""
    own = [
        (s, spots[i + 1].token.lemma)
        for i, s in enumerate(spots[:-1])
        if s.token.tag is Tag.ADJ
        and spots[i + 1].token.tag is Tag.NOUN
        and s.token.text in words("adjective")
    ]
    for (a, noun), (b, other) in combinations(own, 2):
        if noun != other and a.token.text != b.token.text:
            yield _put(caption, [(a, b.token.said), (b, a.token.said)])


def _roles_exchanged(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    """From "a dog chases a cat" to "a cat chases a dog": two noun phrases with a verb between them."""
    phrases = list(_phrases(spots))
    for (a, a_end), (b, b_end) in pairwise(phrases):
        between = [s.token for s in spots[a_end + 1 : b]]
        verbs = [t for t in between if t.tag is Tag.VERB]
        apart = all(t.tag in (Tag.VERB, Tag.AUX, Tag.PREP) for t in between) and len(between) <= 3
        agrees = spots[a_end].token.form == spots[b_end].token.form or (between and between[0].form == "ing")
        owned = any(
            s.token.tag is Tag.DET and s.token.text not in ("a", "an", "the")
            for s in (*spots[a : a_end + 1], *spots[b : b_end + 1])
        )
        bare = any(spots[i].token.tag is Tag.NOUN and spots[i].token.form == "one" for i in (a, b))
        governed = (
            a > 0
            and spots[a - 1].token.tag is not Tag.BREAK
            and spots[a - 1].token.text not in ("while", "as")
        )
        listed = b_end + 1 < len(spots) and spots[b_end + 1].token.tag is Tag.CONJ
        particles = sum(t.tag is Tag.PREP for t in between) > 1
        if len(verbs) != 1 or not apart or not agrees or owned or bare or governed or listed or particles:
            continue
        one, two = (caption[spots[i].start : spots[j].end] for i, j in ((a, a_end), (b, b_end)))
        if one.casefold() != two.casefold():
            middle = caption[spots[a_end].end : spots[b].start]
            swapped = _as(one, two) + middle + (one[0].lower() + one[1:] if one[0].isupper() else one)
            yield _Change(one, two, caption[: spots[a].start] + swapped + caption[spots[b_end].end :])


def _sex_changed(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    """All words of the one sex become words of the other; captions with both are left alone."""
    told = [(s, gender(s.token.lemma) or gender(s.token.text)) for s in spots]
    sexes = {sex for _, sex in told if sex}
    slip = re.search(r"\ba (wo)?men\b", caption, re.IGNORECASE)
    new = [(s, _other_sex(s.token, sex)) for s, sex in told if sex]
    if len(sexes) == 1 and not slip and all(word for _, word in new):
        yield _put(caption, new)


def _other_sex(token: Token, sex: str) -> str:
    """The word for the other sex in the same form; "" for what only looks so: "hissing", "a boys hands"."""
    if token.text == "her":
        return "his" if token.tag is Tag.DET else "him"
    at = 0 if sex == "male" else 1
    word = token.lemma if token.tag is Tag.NOUN else token.text
    other = next((row[1 - at] for row in lines("gender") if row[at] == word), "")
    return plural(other) if other and token.form == "many" else other


def _left_out(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    """What the caption ends with is left out: "… with a hat", "… and a spoon"."""
    for start, end in _phrases(spots):
        last = end + 1 == len(spots) or spots[end + 1].token.text in (".", "!")
        joined = start > 2 and spots[start - 1].token.text in ("with", "and", "near", "next_to", "beside")
        if last and joined and spots[start - 2].token.tag is Tag.NOUN:
            cut = caption[spots[start - 2].end : spots[end].end]
            yield _Change(cut.strip(), "", caption[: spots[start - 2].end] + caption[spots[end].end :])


def _put_in(caption: str, spots: Sequence[_Spot]) -> Iterator[_Change]:
    """A thing more at the end: "… next to a ladder"."""
    end = next((s for s in reversed(spots) if s.token.tag is not Tag.BREAK), spots[-1])
    if end.token.tag is Tag.NOUN and caption[end.end :].strip() in ("", "."):
        things = [thing for thing in section("added things") if thing not in caption.casefold()]
        if things and not caption.isupper():
            thing = things[len(caption) % len(things)]
            new = f"next to {'an' if thing[0] in 'aeiou' else 'a'} {thing}"
            yield _Change("", new, f"{caption[: end.end]} {new}{caption[end.end :]}")


_RULES: Final[dict[Category, tuple[_Rule, ...]]] = {
    Category.NEGATION: (_by_edit(Kind.NEGATE), _not_doing),
    Category.NUMBER: (_by_edit(Kind.COUNT), _more_of_it, _quantified),
    Category.ATTRIBUTE: (
        _by_edit(Kind.COLOUR), _taking_places("opposite adjectives", Tag.ADJ), _adjectives_exchanged,
    ),
    Category.SPATIAL: (_by_edit(Kind.SIDE, Kind.RELATION), _taking_places("other places", Tag.PREP)),
    Category.ROLE: (_roles_exchanged,),
    Category.ACTION: (
        _taking_places("other verbs", Tag.VERB), _taking_places("other times", Tag.NOUN),
        _taking_places("other times", Tag.PREP),
    ),
    Category.PRESENCE: (_left_out, _put_in),
    Category.SUBJECT: (_taking_places("other things", Tag.NOUN),),
    Category.GENDER: (_sex_changed,),
    Category.OTHER: (),
}  # fmt: skip


# -- words and places in a caption ---------------------------------------------------------------------


def _spots(caption: str) -> list[_Spot]:
    """The words with where they stand; [] if they cannot be found there as they were read."""
    found, at, lower = [], 0, caption.lower()
    for token in tokenise(caption) if "'" not in caption and "’" not in caption else ():
        match = re.compile(r"[\W_]+".join(map(re.escape, token.text.split("_")))).search(lower, at)
        if match is None or re.search(r"\w", lower[at : match.start()]):
            return []
        found.append(_Spot(token, match.start(), match.end()))
        at = match.end()
    return found


def _phrases(spots: Sequence[_Spot]) -> Iterator[tuple[int, int]]:
    """First and last word of each plain noun phrase: "two black dogs"."""
    start = None
    for i, spot in enumerate(spots):
        tag = spot.token.tag
        start = i if start is None and tag in (Tag.DET, Tag.NUM, Tag.ADJ, Tag.NOUN) else start
        following = spots[i + 1].token.tag if i + 1 < len(spots) else Tag.BREAK
        if start is not None and tag is Tag.NOUN and following is not Tag.NOUN:
            yield start, i
            start = None
        elif tag not in (Tag.DET, Tag.NUM, Tag.ADJ, Tag.NOUN):
            start = None


def _put(caption: str, new: Sequence[tuple[_Spot, str]]) -> _Change:
    """The caption with words replaced, an article before them fitted."""
    text, at = "", 0
    for spot, word in new:
        head = caption[at : spot.start]
        if article := re.search(r"\b(an?)(\s+)$", head, re.IGNORECASE):
            fitted = _as(article[1], "an" if word[0] in "aeiou" else "a")
            head = head[: article.start()] + fitted + article[2]
        text += head + _as(caption[spot.start : spot.end], word)
        at = spot.end
    before = " ".join(caption[s.start : s.end] for s, _ in new)
    return _Change(before, " ".join(word for _, word in new), text + caption[at:])


def _as(old: str, word: str) -> str:
    return word[0].upper() + word[1:] if old[:1].isupper() else word


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
