"""Sentences of one kind: "it is behind a fence." and "it is behind a net." say the same of two things.

A sentence's frame is what is left of it without the thing, colour, side or number that it names last:
"it is behind …", "the background is …", "it is … (colour)", "there are … of them". Sentences with one frame
can be said as one: "it is behind a fence, a net or bars."
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from weakspot.text.lexicon import Tag, swaps
from weakspot.text.tagging import Token, tokenise

#: What may stand before the thing that is named: "behind a net", "is a street".
_LEADS: Final = frozenset({Tag.PREP, Tag.AUX, Tag.VERB})
#: What a name is made of.
_NAMES: Final = frozenset({Tag.DET, Tag.ADJ, Tag.NOUN, Tag.SIDE, Tag.NUM})
#: Of these a sentence says things without a place of their own: "it is small", "they are two".
_PRONOUNS: Final = frozenset({"it", "they"})


class Framed(NamedTuple):
    """A sentence cut in three: "it is behind", "a net", ""; or "there are", "two", "of them"."""

    before: str
    named: str
    after: str
    kind: str = ""  # "colour" where that is what is named by itself

    @property
    def frame(self) -> tuple[str, str, str]:
        """What sentences of one kind share."""
        return self.before, self.after, self.kind


@lru_cache(8192)
def framed(sentence: str) -> Framed | None:
    """How a sentence is cut; None where it names nothing that another could stand for."""
    tokens = [token for token in tokenise(sentence) if token.tag is not Tag.BREAK]
    said = [token.said for token in tokens]
    if " ".join(said) != sentence.rstrip("."):
        return None
    if said[-2:] == ["of", "them"] and len(said) > 3 and tokens[-3].tag is Tag.NUM:
        return Framed(" ".join(said[:-3]), said[-3], "of them")
    if said and said[0] in ("a", "an"):  # "a cat is behind it"
        return _thing_first(tokens, said)
    start = len(tokens)
    while start and tokens[start - 1].tag in _NAMES:
        start -= 1
    if start in (0, len(tokens)) or tokens[start - 1].tag not in _LEADS:
        return None
    before, named = " ".join(said[:start]), " ".join(said[start:])
    if said[0] in _PRONOUNS and tokens[start - 1].tag is Tag.AUX:
        (colours,) = swaps("colours")
        return Framed(before, named, "", "colour") if named in colours else None
    return Framed(before, named, "")


def _thing_first(tokens: Sequence[Token], said: Sequence[str]) -> Framed | None:
    end = 0
    while end < len(tokens) and tokens[end].tag in _NAMES:
        end += 1
    if end == len(tokens) or tokens[end].tag is not Tag.AUX:
        return None
    return Framed("", " ".join(said[:end]), " ".join(said[end:]))


def joined(sentences: Sequence[str]) -> str:
    """Sentences of one frame as one: "it is behind a net or bars."; the first where they have none."""
    cut = [framed(sentence) for sentence in sentences]
    first = cut[0]
    names = [one.named for one in cut if one is not None and first is not None and one.frame == first.frame]
    if first is None or len(names) < len(sentences):
        return sentences[0]
    listed = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return " ".join(part for part in (first.before, listed, first.after) if part) + "."
