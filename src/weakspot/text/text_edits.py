"""The sixteen edits of a text, by rule: the same text, seed and amount give the same edit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from weakspot.core import WeakspotError, check_known
from weakspot.text.changes import WORD, Span, replaced
from weakspot.text.grammar import denials, numbers, tenses
from weakspot.text.lexicon import lines, section, words


def _without_words(text: str, which: Callable[[str], bool] = bool) -> Iterator[Span]:
    return ((*m.span(), "") for m in WORD.finditer(text) if which(m[0].lower()))


def _punctuation(text: str) -> Iterator[Span]:
    """Commas, full stops, quotation marks; not those inside numbers and words."""
    return ((*m.span(), "") for m in re.finditer(r"(?<!\w)[^\w\s]|[^\w\s](?!\w)", text))


def _letters(text: str) -> Iterator[tuple[int, str]]:
    return ((i, c) for i, c in enumerate(text) if c.isalpha())


def _neighbouring_letters(text: str) -> Iterator[Span]:
    for i, c in _letters(text):
        behind = text[i + 1 : i + 2]
        if behind.isalpha() and behind.lower() != c.lower():
            yield i, i + 2, behind + c


def _keys_beside(text: str) -> Iterator[Span]:
    beside = dict(zip("qwertyuiopasdfghjklzxcvbnm", section("keys beside"), strict=True))
    for i, c in _letters(text):
        if keys := beside.get(c.lower()):
            yield i, i + 1, keys.upper() if c.isupper() else keys


def misspelt(word: str) -> str:
    """A common misspelling of a word; the word itself where no rule fits."""
    small = word.lower()
    wrong = dict(pair.split(":") for pair in section("misspelt")).get(small, "")
    if not wrong and len(small) > 3:
        tried = (re.sub(pattern, new, small, count=1) for pattern, new in lines("misspelt sounds"))
        wrong = next((one for one in tried if one != small), "")
    if not wrong:
        return word
    return wrong.capitalize() if word[0].isupper() else wrong


def _neighbouring_words(text: str) -> Iterator[Span]:
    hits = list(WORD.finditer(text))
    for one, two in pairwise(hits):
        if text[one.end() : two.start()] == " " and one[0] != two[0]:
            yield one.start(), two.end(), f"{two[0]} {one[0]}"


class Edit(NamedTuple):
    """An edit of a text."""

    places: Callable[[str], Iterable[Span]]  # everything that it can change, and into what
    share: float  # how much of that it changes unless told otherwise
    drawn: bool = False  # only one letter of what could be put there is, by chance
    tidy: bool = False  # blanks that words leave behind are taken out


#: By the names that the space text-16 has.
EDITS: Final[dict[str, Edit]] = {
    "drop stop words": Edit(lambda text: _without_words(text, words("stop").__contains__), 1.0, tidy=True),
    "drop punctuation": Edit(_punctuation, 1.0),
    "lower case": Edit(lambda text: ((i, i + 1, c.lower()) for i, c in enumerate(text) if c.isupper()), 1.0),
    "negate": Edit(denials, 0.5),
    "delete characters": Edit(lambda text: ((i, i + 1, "") for i, _ in _letters(text)), 0.06),
    "insert characters": Edit(
        lambda text: ((i, i, "abcdefghijklmnopqrstuvwxyz") for i, _ in _letters(text)), 0.06, drawn=True
    ),
    "repeat characters": Edit(lambda text: ((i, i, c) for i, c in _letters(text)), 0.06),
    "swap characters": Edit(_neighbouring_letters, 0.06),
    "mistype characters": Edit(_keys_beside, 0.06, drawn=True),
    "change case": Edit(
        lambda text: ((i, i + 1, c.swapcase()) for i, c in _letters(text) if len(c.swapcase()) == 1), 0.1
    ),
    "misspell": Edit(
        lambda text: ((*m.span(), wrong) for m in WORD.finditer(text) if (wrong := misspelt(m[0])) != m[0]),
        0.4,
    ),
    "delete words": Edit(_without_words, 0.15, tidy=True),
    "repeat words": Edit(lambda text: ((m.end(), m.end(), f" {m[0]}") for m in WORD.finditer(text)), 0.15),
    "reorder words": Edit(_neighbouring_words, 0.2),
    "number of nouns": Edit(numbers, 1.0),
    "tense": Edit(tenses, 1.0),
}


def edit(text: str, name: str, *, seed: int, share: float | None = None) -> str:
    """Do one of `EDITS`, to a share of what it can change; one place is changed at least."""
    check_known(name, EDITS, f"no edit is called {name[:60]!r}")
    if share is not None and not 0 < share <= 1:
        raise WeakspotError(f"a share cannot be {share}", fix="choose a number above 0 and at most 1")
    rule, rng = EDITS[name], random.Random(seed)  # noqa: S311
    spans, taken = list(rule.places(text)), rule.share if share is None else share
    chosen: list[Span] = []
    many = min(max(1, round(taken * len(spans))), len(spans))
    for start, end, new in sorted(rng.sample(spans, many)):
        if not chosen or start >= chosen[-1][1]:
            chosen.append((start, end, rng.choice(new) if rule.drawn else new))
    text = replaced(text, chosen)
    if rule.tidy:
        text = re.sub(r"[ \t]+(?=[,.;:!?)])", "", re.sub(r"[ \t]{2,}", " ", text))
        text = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text)
    return text
