"""Words of a text where they stand, and changes of a text, with the articles and capitals that they need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from weakspot.text.lexicon import Tag, article, capital
from weakspot.text.tagging import Token, tokenise

#: A word, with what an apostrophe ties to it.
WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
#: A sentence of running text.
SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?]+(?=\s|$|[\"'”’)])|[.!?]+|\n|$)")


class Placed(NamedTuple):
    """A word of a text, where it stands, and what it does there."""

    start: int
    end: int
    word: str
    token: Token

    @property
    def small(self) -> str:
        """In lower case, with a plain apostrophe."""
        return self.word.lower().replace("’", "'")

    @property
    def tag(self) -> Tag:
        """What it does; `BREAK` where that is not known."""
        return self.token.tag

    def to(self, new: str) -> tuple[int, int, str]:
        return self.start, self.end, new


def words_of_caption(caption: str) -> list[Placed]:
    """All words and stops of a caption; [] if they do not stand there as the tagger reads them."""
    found, at, lower = [], 0, caption.lower()
    for token in tokenise(caption) if "'" not in caption and "’" not in caption else ():
        match = re.compile(r"[\W_]+".join(map(re.escape, token.text.split("_")))).search(lower, at)
        if match is None or re.search(r"\w", lower[at : match.start()]):
            return []
        found.append(Placed(match.start(), match.end(), caption[match.start() : match.end()], token))
        at = match.end()
    return found


def words_of_sentences(text: str) -> Iterator[list[Placed]]:
    """The words of each sentence of a running text; those that the tagger joins do nothing here."""
    for sentence in SENTENCE.finditer(text):
        tokens = [t for t in tokenise(sentence[0]) if t.tag is not Tag.BREAK]
        said = [(part, token) for token in tokens for part in token.said.split()]
        found, at = [], 0
        for match in WORD.finditer(sentence[0]):
            start, token = sentence.start() + match.start(), None
            ahead = [i for i in range(at, min(at + 4, len(said))) if said[i][0] == match[0].casefold()]
            if ahead:
                at, token = ahead[0] + 1, said[ahead[0]][1]
            if token is None or " " in token.said:
                token = Token(match[0], Tag.BREAK, match[0], "", frozenset())
            found.append(Placed(start, start + len(match[0]), match[0], token))
        yield found


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
