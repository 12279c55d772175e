"""Changes of a text: words in place of others, with the articles and capitals that they need."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from weakspot.text.forms import article, capital

#: Where something begins and ends in a text, and what takes its place.
Span = tuple[int, int, str]


class Change(NamedTuple):
    """The words that were there, the words that are there now, and the changed text."""

    before: str
    after: str
    text: str


def replaced(text: str, spans: Iterable[Span]) -> str:
    """A text with spans replaced that do not overlap."""
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def put(text: str, *spans: Span) -> Change:
    """Words replaced, in the order of the text; capitals are kept, and an article before a word is fitted."""
    made, at, old = "", 0, []
    for start, end, new in spans:
        head, word = text[at:start], text[start:end]
        if found := re.search(r"\b(an?)(\s+)$", head, re.IGNORECASE):
            head = head[: found.start()] + capital(article(new), found[1]) + found[2]
        made += head + capital(new, word)
        old.append(word)
        at = end
    return Change(" ".join(old), " ".join(new for _, _, new in spans), made + text[at:])


def key(text: str) -> str:
    """What makes two texts the same: their words."""
    return " ".join(re.findall(r"\w+", text.casefold()))
