"""Captions with one thing exchanged, to be held against the picture: what a good encoder must notice.

Some kinds exchange two words that exclude each other (left and right, dog and cat, two and three) or two
beings in one caption; the others are the edits of `weakspot.text.contrast`, one kind for each category.
A caption that has both words of an exchange is left alone: "black and white" would still be true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations
from typing import Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.text import contrast
from weakspot.text.changes import key, replaced
from weakspot.text.differences import Category, categorise
from weakspot.text.forms import capital
from weakspot.text.lexicon import Tag, words
from weakspot.text.placed import words_of_caption
from weakspot.text.tagging import Token

#: Patterns of a word in its place.
_ANYWHERE: Final = r"\b({words})\b"
_SIDE: Final = r"(?:(?<=\bthe )|(?<=\bhis )|(?<=\bher )|(?<=\bits )|(?<=\bfar )|(?<=\bfacing ))({words})\b"
_BEFORE_A_THING: Final = r"\b({words})(?=\s+\w)"


class Foils(NamedTuple):
    """A kind of change, in a category; `of` gives all foils of a caption, [] where it does not apply."""

    name: str
    category: Category
    of: Callable[[str], list[str]]


def exchanged(
    caption: str, *, pairs: Sequence[tuple[str, str]], where: str = _ANYWHERE, never: str = ""
) -> list[str]:
    """The caption with the words of a pair exchanged, for each pair of which it has just one.

    `where` is a pattern of the word in its place, `never` one of captions that are left alone.
    """
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


def beings_exchanged(caption: str) -> list[str]:
    """Two people or animals change places: "a man walks a dog" becomes "a dog walks a man"."""
    spots = words_of_caption(caption)
    beings = [s for i, s in enumerate(spots) if _is_being(s.token) and not contrast.in_compound(spots, i)]
    found = []
    for a, b in combinations(beings, 2):
        if a.token.lemma != b.token.lemma and a.token.form == b.token.form:
            text = contrast.exchanged(caption, a, b).text
            if categorise(caption, text).category is Category.ROLE:
                found.append(text)
    return found


def _is_being(token: Token) -> bool:
    return token.tag is Tag.NOUN and token.lemma in words("animate") | words("human") | words("gender")


def _edited(caption: str, *, category: Category) -> list[str]:
    return [change.text for change in contrast.variants(caption, category=category)]


def _exchange(name: str, category: Category, *pairs: str, **how: str) -> Foils:
    both = [tuple(pair.split(" ↔ ")) for pair in pairs or (name,)]
    return Foils(name, category, partial(exchanged, pairs=both, **how))


EXCHANGES: Final = (
    Foils("beings exchanged", Category.ROLE, beings_exchanged),
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
    if not 0 < len(caption) <= contrast.LONGEST or not caption.isprintable():
        return []
    found = {key(text): text for text in kind.of(caption)}
    found.pop(key(caption), None)
    return list(found.values())


def chosen(names: Iterable[str] | None) -> list[Foils]:
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
