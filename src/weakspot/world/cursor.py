"""A text as a row of known words, a cursor that steps over words, phrases and nouns, and its errors."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn, TypeVar

from weakspot.core.errors import WeakspotError
from weakspot.world import lexicon
from weakspot.world.lexicon import NOUNS, Meaning, Noun, Phrase, Values
from weakspot.world.scene import ATTRIBUTES, BEARERS, CHILD_OF, SUBJECTS, SUPPORT_COLORS, SceneSet

LONGEST_TEXT: Final = 10_000

_T = TypeVar("_T")
_WORD: Final = re.compile(r"[a-z0-9]+|[.,()]")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9\s.,;!()\"'-]|[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SAME: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})
_OPEN: Final = (("n't", " not"), ("it's", "it is"), ("there's", "there is"), ("they're", "they are"))


class UnknownWords(WeakspotError):
    """Some words cannot be understood; `words` holds them, in lower case."""

    def __init__(self, what: str, *, words: tuple[str, ...] = (), fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.words = words


class Contradiction(WeakspotError):
    """Two phrases leave no value for an attribute."""


class Claim(NamedTuple):
    attribute: str
    values: frozenset[str]
    said: str


@dataclass(slots=True)
class Thing:
    """A noun with what is said before it; `colors` is empty if none is said."""

    noun: Noun
    name: str
    states: list[Meaning] = field(default_factory=list)
    colors: Values = ()
    count: Values = ()


def clip(text: str, length: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def words_of(text: str) -> list[str]:
    """The words and stops of a text, or an error that names what is no word of ours."""
    if len(text) > LONGEST_TEXT:
        what = f"a text of {len(text):,} characters is too long"
        raise UnknownWords(what, fix=f"use at most {LONGEST_TEXT:,}")
    text = text.translate(_SAME)
    if found := _FOREIGN.search(text):
        name = unicodedata.name(found[0], "a control character").lower()
        raise UnknownWords(
            f"cannot read the character U+{ord(found[0]):04X} ({name}) at position {found.start() + 1}",
            words=(found[0],),
            fix="describe the scene in plain English words",
        )
    text = text.lower().replace(";", ".").replace("!", ".")
    for short, full in _OPEN:
        text = text.replace(short, full)
    words = _WORD.findall(text)
    unknown = dict.fromkeys(w for w in words if w not in lexicon.KNOWN and w not in "()")
    if unknown:
        names = tuple(unknown)
        shown = [clip(w, 30) for w in names[:5]]
        close = {w: difflib.get_close_matches(w, lexicon.KNOWN, n=1, cutoff=0.7) for w in shown}
        hints = [f"did you mean {c[0]!r} by {w!r}?" for w, c in close.items() if c]
        raise UnknownWords(
            f"cannot understand {', '.join(map(repr, shown))}{' …' if len(names) > 5 else ''}",
            words=names,
            fix=" ".join(hints) or f"the subjects are: {', '.join(SUBJECTS)}",
        )
    return words


class Cursor:
    """A cursor over the words of one text, and the claims read so far."""

    def __init__(self, words: list[str]) -> None:
        self.spoken = words
        self.index = [i for i, w in enumerate(words) if w not in lexicon.ARTICLES]
        self.words = [words[i] for i in self.index]
        self.at = 0
        self.began = 0
        self.claims: list[Claim] = []

    # -- the cursor ---------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        return self.at >= len(self.words)

    def peek(self) -> str:
        return "" if self.done else self.words[self.at]

    def take(self, *phrases: str) -> bool:
        """Steps over the first of the phrases that comes next."""
        for text in phrases:
            wanted = text.split()
            if self.words[self.at : self.at + len(wanted)] == wanted:
                self.at += len(wanted)
                return True
        return False

    def skip(self, words: Collection[str]) -> str:
        """Steps over all such words; the last of them, or ''."""
        last = ""
        while not self.done and self.words[self.at] in words:
            last = self.words[self.at]
            self.at += 1
        return last

    def longest(self, table: Mapping[Phrase, _T]) -> tuple[Phrase, _T] | None:
        """The longest entry that comes next, without stepping over it."""
        for length in range(5, 0, -1):
            key = tuple(self.words[self.at : self.at + length])
            if len(key) == length and key in table:
                return key, table[key]
        return None

    def match(self, table: Mapping[Phrase, _T]) -> _T | None:
        found = self.longest(table)
        if found is None:
            return None
        self.at += len(found[0])
        return found[1]

    # -- claims and errors --------------------------------------------------------------------------

    def said(self, end: int | None = None) -> str:
        """The phrase being read, as it was written."""
        start = self.index[self.began - 1] + 1 if self.began else 0
        last = (self.at if end is None else end) - 1
        text = " ".join(self.spoken[start : self.index[last] + 1])
        return clip(re.sub(r" (?=[.,)])|(?<=\() ", "", text))

    def claim(self, attribute: str, values: Collection[str], *, denied: bool = False) -> None:
        left = frozenset(ATTRIBUTES[attribute]) - set(values) if denied else frozenset(values)
        if not left:
            self.fail("it leaves nothing possible")
        self.claims.append(Claim(attribute, left, self.said()))

    def fail(self, why: str = "", fix: str = "") -> NoReturn:
        """Reports the phrase being read, up to the end of its sentence."""
        end = self.began + 1
        while end < len(self.words) and self.words[end] != ".":
            end += 1
        raise UnknownWords(
            f"cannot understand {self.said(min(end, len(self.words)))!r}{': ' + why if why else ''}",
            words=tuple(self.words[self.began : end]),
            fix=fix
            or "use short sentences, such as 'it is on a yellow flower.' or 'the background is green.'",
        )

    # -- noun phrases -------------------------------------------------------------------------------

    def colors(self) -> Values:
        """A list of colours: "red", "red or yellow", "coloured"."""
        if self.take("coloured", "colored"):
            return SUPPORT_COLORS
        found: list[str] = []
        while (color := self.longest(lexicon.ADJECTIVES)) and color[1].attribute == "color":
            self.at += len(color[0])
            found += color[1].values
            start = self.at
            if not self.take(", or", "or", ","):
                break
            after = self.longest(lexicon.ADJECTIVES)
            if after is None or after[1].attribute != "color":
                self.at = start
                break
        return tuple(found)

    def thing(self) -> Thing | None:
        """A noun with its number and adjectives, or None (and the cursor stays) if none comes next."""
        start = self.at
        count = self.match(lexicon.COUNTS) or ()
        while count and self.take("or"):
            count = (*count, *(self.match(lexicon.COUNTS) or ()))
        states: list[Meaning] = []
        colors: Values = ()
        while not self.done:
            if noun := self.longest(NOUNS):
                self.at += len(noun[0])
                thing = Thing(noun[1], " ".join(noun[0]), states, colors, count)
                if {"anything", "nothing"} & set(noun[1].readings):
                    thing.colors = self.colors()
                return thing
            if not self.skip({"other", "another", "plain"}):
                found = self.colors()
                colors += found
                if not found:
                    state = self.match(lexicon.ADJECTIVES)
                    if state is None:
                        break
                    states.append(state)
        self.at = start
        return None

    def things(self, again: Phrase = ()) -> list[Thing]:
        """One or more nouns joined by "or"; `again` is a preposition that may be repeated."""
        found = [self.thing()]
        while found[-1] is not None and self.take(", or", "or", "nor"):
            self.take(" ".join(again)) if again else None
            found.append(self.thing())
        if any(thing is None for thing in found):
            self.fail()
        return [thing for thing in found if thing is not None]


def _contradict(one: str, other: str) -> NoReturn:
    raise Contradiction(f"{one!r} and {other!r} contradict each other", fix="keep one of them")


def combine(claims: list[Claim]) -> SceneSet:
    """The scenes of which all claims are true."""
    left: dict[str, frozenset[str]] = {}
    for i, claim in enumerate(claims):
        before = left.get(claim.attribute, frozenset(ATTRIBUTES[claim.attribute]))
        left[claim.attribute] = before & claim.values
        if not left[claim.attribute]:
            others = [c for c in claims[:i] if c.attribute == claim.attribute]
            other = next((c for c in others if not c.values & claim.values), others[-1])
            _contradict(other.said, claim.said)
    scenes = SceneSet.of(left)
    for parent, child in CHILD_OF.items():
        if not any((v in BEARERS[parent]) == (c != "none") for v in scenes[parent] for c in scenes[child]):
            said = {c.attribute: c.said for c in claims}
            _contradict(said[parent], said[child])
    return scenes
