"""The little English that edits need: words that take each other's place, and the opposite of a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple


class Place(NamedTuple):
    """A place and how it is said.

    Attributes:
        where: After "it is": "in a forest".
        name: After "the background is": "a forest"; "" if that cannot be said.
        nouns: Words by which it is recognised.
    """

    where: str
    name: str
    nouns: tuple[str, ...]


class Lexicon(NamedTuple):
    """The words that can take each other's place; neighbours in a list differ clearly.

    Attributes:
        relations: Words that can stand in for a preposition.
        sides: Pairs of opposites that are swapped.
    """

    colours: tuple[str, ...]
    numbers: tuple[str, ...]
    places: tuple[Place, ...]
    relations: tuple[tuple[str, tuple[str, ...]], ...]
    sides: tuple[tuple[str, str], ...]


ENGLISH: Final = Lexicon(
    colours=(
        *("red", "blue", "yellow", "green", "white", "black", "orange", "purple", "brown", "pink", "grey"),
    ),
    numbers=("two", "three", "four", "five"),
    places=(
        Place("in a meadow", "a meadow", ("meadow",)),
        Place("on a street", "a street", ("street", "road")),
        Place("in the snow", "snow", ("snow",)),
        Place("in a kitchen", "a kitchen", ("kitchen",)),
        Place("on a beach", "a beach", ("beach",)),
        Place("in a forest", "a forest", ("forest", "woods")),
        Place("in a living room", "a living room", ("living room",)),
        Place("on the sea", "the sea", ("sea", "ocean")),
        Place("in a desert", "a desert", ("desert",)),
        Place("on a riverbed", "a riverbed", ("riverbed",)),
        Place("on rocks", "rocks", ("rocks",)),
        Place("under water", "", ("under water", "underwater")),
        Place("in a garden", "a garden", ("garden",)),
        Place("in an office", "an office", ("office",)),
        Place("in a field", "a field", ("field",)),
        Place("in a park", "a park", ("park",)),
        Place("in the mountains", "mountains", ("mountains",)),
    ),
    relations=(
        ("in front of", ("behind", "next to")),
        ("behind", ("in front of", "next to")),
        ("on top of", ("under", "next to")),
        ("next to", ("behind", "in front of", "far from")),
        ("above", ("below",)),
        ("below", ("above",)),
        ("under", ("on top of", "next to")),
        ("inside", ("outside",)),
        ("outside", ("inside",)),
        ("near", ("far from",)),
    ),
    sides=(("left", "right"), ("top", "bottom")),
)


# -- opposites --------------------------------------------------------------------------------------

#: Nouns that take no article.
_MASS: Final = frozenset(
    {
        *("glare", "snow", "rain", "fog", "water", "grass", "light", "sunlight", "shade", "text", "wind"),
        *("food", "sand", "ice", "smoke", "fire", "mud", "dust", "fur", "hair", "traffic", "furniture"),
    }
)
_SHORT: Final = (("can't", "can not"), ("won't", "will not"), ("n't", " not"), ("cannot", "can not"))
_IS: Final = r"is|are|was|were|am|can|could|will|would|should|must|may|might"
_WHERE: Final = (
    r"on|in|behind|under|near|at|by|inside|outside|above|below|beside|between|against|next to|in front of"
)
_Put = str | Callable[[re.Match[str]], str]


def negated(sentence: str) -> str:
    """The opposite of one short sentence; "" where no rule applies.

    "it is on a flower." and "it is not on a flower." are each other's opposite, and so are "there is a
    ball." and "there is no ball.". The words are kept as far as possible.
    """
    text = " ".join(sentence.split())
    for short, full in _SHORT:
        text = re.sub(short, full, text, flags=re.IGNORECASE)
    for pattern, put in _RULES:
        other, n = pattern.subn(put, text, count=1)
        if n:
            other = " ".join(other.split())
            return other if other.lower() != sentence.lower() else ""
    return ""


def _a(noun: str) -> str:
    """A noun phrase with an article, if it takes one."""
    first = noun.split()[0].strip(".,;!?").lower()
    last = re.split(r"[\s.,;!?]", noun.strip(".,;!? "))[-1].lower()
    if first in ("a", "an", "the") or first in _MASS or last in _MASS:
        return noun
    return f"{'an' if first[:1] in 'aeiou' else 'a'} {noun}"


def _third(verb: str) -> str:
    """From "sit" to "sits"."""
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(s|x|z|ch|sh|o)$", verb) else "s")


def _bare(verb: str) -> str:
    """From "sits" to "sit"."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[: -2 if re.search(r"(ss|x|zz|ch|sh|o)es$", verb) else -1]


def _rule(pattern: str, put: _Put) -> tuple[re.Pattern[str], _Put]:
    return re.compile(pattern, re.IGNORECASE), put


#: The first that applies is used. Denials come first: what denies is asserted, not denied twice.
_RULES: Final[tuple[tuple[re.Pattern[str], _Put], ...]] = (
    _rule(r"\bdoes not ([a-z]+)", lambda m: "has" if m[1] == "have" else _third(m[1])),
    _rule(r"\b(?:do|did) not ([a-z]+)", r"\1"),
    _rule(r"\bthere is no(?:t any)? ((?!one\b).+)$", lambda m: f"there is {_a(m[1])}"),
    _rule(r"\bthere are no(?:t any)? ((?!one\b).+)$", r"there are \1"),
    _rule(r"\bhas no (.+)$", lambda m: f"has {_a(m[1])}"),
    _rule(r"\bwithout\b", "with"),
    _rule(r"\bwith no (.+)$", lambda m: f"with {_a(m[1])}"),
    _rule(r"\bnot\s+", ""),
    _rule(r"\bnothing\b", "something"),
    _rule(r"\b(?:nobody|no one)\b", "someone"),
    _rule(r"\bsomething\b", "nothing"),
    _rule(r"\b(?:somebody|someone)\b", "nobody"),
    _rule(r"\bthere (is|are) ((?:one|two|three|four|five|six|\d+)\b)", r"there \1 not \2"),
    _rule(r"\bthere (is|are) (?:(?:an?|the|some)\s+)?", r"there \1 no "),
    _rule(r"\bhas (?:an? |some )", "has no "),
    _rule(rf"\b({_IS})\s+", r"\1 not "),
    _rule(r"^(it|he|she|this|that) ([a-z]+[^s\W]e?s)\b", lambda m: f"{m[1]} does not {_bare(m[2])}"),
    _rule(r"^(they|these|those) ([a-z]+)\b", r"\1 do not \2"),
    _rule(r"\bwith\b", "without"),
    _rule(rf"\b({_WHERE})\s+", r"not \1 "),
)
