"""Edits of a caption by category (`variants`), and foils: what a good encoder must notice beside the picture.

An edit is given only if `differences` names its category, too. Case, spelling and punctuation stay the
caption's. A foil is an edit, or an exchange of two words that exclude each other; a caption that has both is
left alone: "black and white" would still be true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from weakspot.core import Hypothesis, WeakspotError, nearest
from weakspot.text.caption_edits import Kind, edits
from weakspot.text.changes import Change, Placed, key, put, replaced, words_of_caption
from weakspot.text.differences import Category, categorise
from weakspot.text.exchanges import gender
from weakspot.text.lexicon import Tag, article, capital, lines, plural, section, verb_form, words
from weakspot.text.tagging import Token

LONGEST: Final = 300  # a caption longer than this, in characters, is not edited

Words = Sequence[Placed]


def variants(caption: str, *, category: Category) -> list[Change]:
    """Every edit of one caption that makes a pair of this category; [] if there is none."""
    if not 0 < len(caption) <= LONGEST or not caption.isprintable():
        return []
    spots = words_of_caption(caption)
    changes = (change for rule in _RULES[category] for change in rule(caption, spots)) if spots else ()
    found = {key(c.text): c for c in changes}
    found.pop(key(caption), None)
    return [c for c in found.values() if categorise(caption, c.text).category is category]


# -- the edits: each gives changed captions ----------------------------------------------------------

_Rule = Callable[[str, Words], Iterator[Change]]


def _by_edit(*kinds: Kind) -> _Rule:
    def rule(caption: str, _: Words) -> Iterator[Change]:
        described = words("adjective") & set(key(caption).split())
        for edit in edits(Hypothesis(caption), each=2):
            text = capital(edit.hypothesis.text, caption)
            # Of two negations one may be that of the caption without its adjectives: two edits at once.
            if edit.kind in kinds and (edit.kind is Kind.COLOUR or described <= set(key(text).split())):
                yield Change(edit.before, edit.after, text)

    return rule


def _not_doing(caption: str, spots: Words) -> Iterator[Change]:
    """From "a man riding a horse" to "a man not riding a horse"."""
    for before, spot in pairwise(spots):
        if spot.tag is Tag.VERB and spot.token.form == "ing" and before.tag is Tag.NOUN:
            said = caption[spot.start : spot.end]
            yield Change(said, f"not {said}", caption[: spot.start] + "not " + caption[spot.start :])
            return


def _taking_places(name: str, *tags: Tag) -> _Rule:
    """The words of a line of the lexicon take each other's place, in the form the old one has."""

    def rule(caption: str, spots: Words) -> Iterator[Change]:
        for i, spot in enumerate(spots):
            word = spot.token.lemma if Tag.VERB in tags or Tag.NOUN in tags else spot.token.text
            if spot.tag not in tags or (Tag.NOUN in tags and _in_compound(spots, i)):
                continue
            for others in lines(name):
                for other in others if word in others else ():
                    if other != word and _fits(name, spots, i):
                        yield put(caption, spot.to(_in_form(other, spot.token)))

    return rule


def _fits(name: str, spots: Words, at: int) -> bool:
    """Whether another word of the list can stand there: no verb with a thing or a particle, no particle."""
    following = spots[at + 1].token if at + 1 < len(spots) else None
    thing = following is not None and following.tag in (Tag.DET, Tag.NOUN, Tag.ADJ, Tag.NUM)
    particle = following is not None and following.text in ("up", "down", "off", "over", "out")
    if name == "other verbs":
        return not particle and not (thing and spots[at].token.lemma in words("alone"))
    return thing if name == "other places" else True


def _in_compound(spots: Words, at: int) -> bool:
    """Whether a noun is a part of a name: the "dog" of "hot dog", the "tree" of "tree house"."""
    beside = [spots[j].token for j in (at - 1, at + 1) if 0 <= j < len(spots)]
    return any(t.tag is Tag.NOUN or t.text in ("hot", "teddy") for t in beside)


def _in_form(word: str, token: Token) -> str:
    if token.tag is Tag.NOUN:
        return plural(word) if token.form == "many" else word
    if token.tag is Tag.VERB:
        return verb_form(word, token.form or "base")
    return word.replace("_", " ")


def _more_of_it(caption: str, spots: Words) -> Iterator[Change]:
    """From "holding a ball" to "holding two balls", where no verb has to agree."""
    for start, end in _phrases(spots):
        head, first = spots[end], spots[start]
        governed = start > 0 and spots[start - 1].tag in (Tag.VERB, Tag.PREP)
        free = end + 1 == len(spots) or spots[end + 1].tag in (Tag.PREP, Tag.BREAK)
        if first.token.text in ("a", "an") and head.token.form == "one" and governed and free:
            many = plural(head.token.text)
            text = put(caption, first.to("two"), head.to(many)).text
            yield Change(f"a {head.token.text}", f"two {many}", text)


def _quantified(caption: str, spots: Words) -> Iterator[Change]:
    others = {"many": "few", "several": "two", "a_few": "many", "a_couple_of": "dozens of"}
    for spot in spots:
        if other := others.get(spot.token.text):
            yield put(caption, spot.to(other))


def _exchanged(caption: str, a: Placed, b: Placed) -> Change:
    return put(caption, a.to(b.token.said), b.to(a.token.said))


def _adjectives_exchanged(caption: str, spots: Words) -> Iterator[Change]:
    """From "a red car and a blue bus" to "a blue car and a red bus"."""
    own = [
        (spot, behind.token.lemma)
        for spot, behind in pairwise(spots)
        if spot.tag is Tag.ADJ and behind.tag is Tag.NOUN and spot.token.text in words("adjective")
    ]
    for (a, noun), (b, other) in combinations(own, 2):
        if noun != other and a.token.text != b.token.text:
            yield _exchanged(caption, a, b)


def _roles_exchanged(caption: str, spots: Words) -> Iterator[Change]:
    """From "a dog chases a cat" to "a cat chases a dog": two noun phrases with a verb between them."""
    for (a, a_end), (b, b_end) in pairwise(_phrases(spots)):
        between = [s.token for s in spots[a_end + 1 : b]]
        verbs = [t for t in between if t.tag is Tag.VERB]
        apart = all(t.tag in (Tag.VERB, Tag.AUX, Tag.PREP) for t in between) and len(between) <= 3
        agrees = spots[a_end].token.form == spots[b_end].token.form or (between and between[0].form == "ing")
        phrases = (*spots[a : a_end + 1], *spots[b : b_end + 1])
        owned = any(s.tag is Tag.DET and s.token.text not in ("a", "an", "the") for s in phrases)
        bare = any(spots[i].tag is Tag.NOUN and spots[i].token.form == "one" for i in (a, b))
        before = spots[a - 1].token if a else None
        governed = before and before.tag is not Tag.BREAK and before.text not in ("while", "as")
        listed = b_end + 1 < len(spots) and spots[b_end + 1].tag is Tag.CONJ
        particles = sum(t.tag is Tag.PREP for t in between) > 1
        if len(verbs) != 1 or not apart or not agrees or owned or bare or governed or listed or particles:
            continue
        one, two = (caption[spots[i].start : spots[j].end] for i, j in ((a, a_end), (b, b_end)))
        if one.casefold() != two.casefold():
            middle = caption[spots[a_end].end : spots[b].start]
            swapped = capital(two, one) + middle + (one[0].lower() + one[1:] if one[0].isupper() else one)
            yield Change(one, two, caption[: spots[a].start] + swapped + caption[spots[b_end].end :])


def _sex_changed(caption: str, spots: Words) -> Iterator[Change]:
    """All words of the one sex become words of the other; captions with both are left alone."""
    sexes = [(spot, gender(spot.token.lemma) or gender(spot.token.text)) for spot in spots]
    slip = re.search(r"\ba (wo)?men\b", caption, re.IGNORECASE)
    new = [(spot, _other_sex(spot.token, sex)) for spot, sex in sexes if sex]
    if len({sex for _, sex in sexes if sex}) == 1 and not slip and all(word for _, word in new):
        yield put(caption, *(spot.to(word) for spot, word in new))


def _other_sex(token: Token, sex: str) -> str:
    """The word for the other sex in the same form; "" for what only looks so: "hissing", "a boys hands"."""
    if token.text == "her":
        return "his" if token.tag is Tag.DET else "him"
    at = 0 if sex == "male" else 1
    word = token.lemma if token.tag is Tag.NOUN else token.text
    other = next((row[1 - at] for row in lines("gender") if row[at] == word), "")
    return plural(other) if other and token.form == "many" else other


def _left_out(caption: str, spots: Words) -> Iterator[Change]:
    """What the caption ends with is left out: "… with a hat", "… and a spoon"."""
    for start, end in _phrases(spots):
        last = end + 1 == len(spots) or spots[end + 1].token.text in (".", "!")
        joined = start > 2 and spots[start - 1].token.text in ("with", "and", "near", "next_to", "beside")
        if last and joined and spots[start - 2].tag is Tag.NOUN:
            cut = caption[spots[start - 2].end : spots[end].end]
            yield Change(cut.strip(), "", caption[: spots[start - 2].end] + caption[spots[end].end :])


def _put_in(caption: str, spots: Words) -> Iterator[Change]:
    """A thing more at the end: "… next to a ladder"."""
    end = next((s for s in reversed(spots) if s.tag is not Tag.BREAK), spots[-1])
    if end.tag is Tag.NOUN and caption[end.end :].strip() in ("", "."):
        things = [thing for thing in section("added things") if thing not in caption.casefold()]
        if things and not caption.isupper():
            thing = things[len(caption) % len(things)]
            new = f"next to {article(thing)} {thing}"
            yield Change("", new, f"{caption[: end.end]} {new}{caption[end.end :]}")


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


def _phrases(spots: Words) -> Iterator[tuple[int, int]]:
    """First and last word of each plain noun phrase: "two black dogs"."""
    start = None
    for i, spot in enumerate(spots):
        tag = spot.tag
        start = i if start is None and tag in (Tag.DET, Tag.NUM, Tag.ADJ, Tag.NOUN) else start
        following = spots[i + 1].tag if i + 1 < len(spots) else Tag.BREAK
        if start is not None and tag is Tag.NOUN and following is not Tag.NOUN:
            yield start, i
            start = None
        elif tag not in (Tag.DET, Tag.NUM, Tag.ADJ, Tag.NOUN):
            start = None


# -- foils: captions to be held against the picture -----------------------------------------------------

#: Patterns of a word in its place.
_ANYWHERE: Final = r"\b({words})\b"
_SIDE: Final = r"(?:(?<=\bthe )|(?<=\bhis )|(?<=\bher )|(?<=\bits )|(?<=\bfar )|(?<=\bfacing ))({words})\b"
_BEFORE_A_THING: Final = r"\b({words})(?=\s+\w)"


class Foils(NamedTuple):
    """A kind of change, in a category; `of` gives all foils of a caption, [] where it does not apply."""

    name: str
    category: Category
    of: Callable[[str], list[str]]


def _words_exchanged(
    caption: str, *, pairs: Sequence[Sequence[str]], where: str = _ANYWHERE, never: str = ""
) -> list[str]:
    """The caption with the words of each pair exchanged of which it has just one, unless it has `never`."""
    if never and re.search(never, caption, re.IGNORECASE):
        return []
    found = []
    for one, two in pairs:
        other = {one: two, two: one}
        pattern = re.compile(where.replace("{words}", f"{one}|{two}"), re.IGNORECASE)
        have = {w for w in other if re.search(rf"\b{w}\b", caption, re.IGNORECASE)}
        spans = [(*m.span(1), capital(other[m[1].lower()], m[1])) for m in pattern.finditer(caption)]
        if len(have) == 1 and spans:
            found.append(replaced(caption, spans))
    return found


def _beings_exchanged(caption: str) -> list[str]:
    """Two people or animals change places: "a man walks a dog" becomes "a dog walks a man"."""
    spots = words_of_caption(caption)
    living = words("animate") | words("human") | words("gender")
    nouns = [s for i, s in enumerate(spots) if s.tag is Tag.NOUN and not _in_compound(spots, i)]
    beings = [s for s in nouns if s.token.lemma in living]
    found = []
    for a, b in combinations(beings, 2):
        if a.token.lemma != b.token.lemma and a.token.form == b.token.form:
            text = _exchanged(caption, a, b).text
            if categorise(caption, text).category is Category.ROLE:
                found.append(text)
    return found


def _edited(caption: str, *, category: Category) -> list[str]:
    return [change.text for change in variants(caption, category=category)]


def _exchange(name: str, category: Category, *pairs: str, **how: str) -> Foils:
    both = [pair.split(" ↔ ") for pair in pairs or (name,)]
    return Foils(name, category, partial(_words_exchanged, pairs=both, **how))


EXCHANGES: Final = (
    Foils("beings exchanged", Category.ROLE, _beings_exchanged),
    _exchange("left ↔ right", Category.SPATIAL, where=_SIDE),
    _exchange("in front of ↔ behind", Category.SPATIAL, where=_BEFORE_A_THING),
    _exchange("up ↔ down", Category.SPATIAL, never=r"\b(upside[ -]down|close[ -]up)\b"),
    _exchange("over ↔ under", Category.SPATIAL, where=_BEFORE_A_THING, never=r"\ball over\b"),
    _exchange("with ↔ without", Category.NEGATION),
    _exchange("count (two ↔ three, four ↔ five)", Category.NUMBER, "two ↔ three", "four ↔ five"),
    _exchange("colour (black ↔ white, red ↔ blue)", Category.ATTRIBUTE, "black ↔ white", "red ↔ blue"),
    _exchange("man ↔ woman", Category.GENDER, "man ↔ woman", "men ↔ women"),
    _exchange("dog ↔ cat", Category.SUBJECT, "dog ↔ cat", "dogs ↔ cats"),
)
EDITS: Final = tuple(
    Foils(category.value, category, partial(_edited, category=category))
    for category in Category
    if category is not Category.OTHER
)
KINDS: Final = (*EXCHANGES, *EDITS)


def foils(caption: str, kind: Foils) -> list[str]:
    """The foils of a caption, each once, none that has the caption's words in their order."""
    if not 0 < len(caption) <= LONGEST or not caption.isprintable():
        return []
    found = {key(text): text for text in kind.of(caption)}
    found.pop(key(caption), None)
    return list(found.values())


def chosen_foils(names: Iterable[str] | None) -> list[Foils]:
    """The kinds of these names, or of a category's name with all its exchanges; all kinds if None."""
    if names is None:
        return list(KINDS)
    found: dict[str, Foils] = {}
    for name in map(str, names):
        some = [k for k in KINDS if name in (k.name, k.category.value) or k.name.startswith(f"{name} (")]
        if not some:
            known = [k.name for k in KINDS]
            raise WeakspotError(
                f"no change of captions is called {name[:80]!r}",
                fix=nearest(name, known) or f"there are: {', '.join(known)}",
            )
        found |= {kind.name: kind for kind in some}
    if not found:
        raise WeakspotError("no change of captions is named", fix="leave it out to have all")
    return list(found.values())
