"""WordNet: what nouns mean and are kinds of (`WordNet`), which adjectives and verbs are alike (`Thesaurus`).

Needs the files of WordNet 3.0: Debian's wordnet-base, or the folder `corpora/wordnet` of NLTK.
Nothing is read before it is asked for; a look-up takes about a millisecond.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.text.wordnet_files import VARIABLE, Part, WordNetFiles

_ID: Final = re.compile(r"n(\d{8})", re.ASCII)
_NUMBER: Final = re.compile(r"(?:(.*\S)\.)?(\d{1,3})", re.ASCII)
_LABEL: Final = re.compile(r"(?:(?P<id>n[0-9]{8})(?:[\s:,-]+|$))?(?P<names>.*?)(?:\((?P<hint>[^()]+)\))?")
_SHARES: Final = (Path("/usr/share"), Path("/usr/local/share"), Path("/opt/homebrew/share"))


class Sense(NamedTuple):
    """One meaning of a noun."""

    id: str  # "n" and eight digits; the same for every word with this meaning
    lemmas: tuple[str, ...]  # the words for it, the usual one first, with spaces and capitals
    gloss: str  # the definition, with examples
    hypernyms: tuple[str, ...]  # ids of what it is a kind, or an instance, of; the usual one first

    @property
    def name(self) -> str:
        """Its usual word."""
        return self.lemmas[0]


class UnknownWord(WeakspotError):
    """WordNet does not have a word."""


class AmbiguousLabel(WeakspotError):
    """A label has several meanings, or not the one that was asked for."""


class LabelParts(NamedTuple):
    """What heads put into one label: "n02123045 tabby, tabby cat", "golden_retriever", "crane (bird)"."""

    id: str  # of WordNet, or ""
    names: tuple[str, ...]  # in order, with spaces for underscores
    hint: str  # what stands in brackets after them, or ""

    @classmethod
    def of(cls, label: str) -> LabelParts:
        """Take a label apart."""
        found = _LABEL.fullmatch(" ".join(label.replace("_", " ").split()))
        if found is None:
            return cls("", (), "")
        names = (name.strip() for name in found["names"].split(","))
        return cls(found["id"] or "", tuple(filter(None, names)), (found["hint"] or "").strip())


class WordNet:
    """The nouns in one folder: `index.noun`, `data.noun`, and `noun.exc` if irregular plurals are wanted."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._files = folder, WordNetFiles(folder)

    @classmethod
    def find(cls, folder: str | Path | None = None) -> WordNet:
        """The WordNet in a folder, or in what WEAKSPOT_WORDNET names, or in one of the usual places."""
        named = folder or os.environ.get(VARIABLE)
        places = _usual_places()
        if named:
            start = os.path.expanduser(named)  # noqa: PTH111
            places = [Path(start, below) for below in ("", "dict", "wordnet", "corpora/wordnet")]
        for place in places:
            if (place / "index.noun").is_file() and (place / "data.noun").is_file():
                return cls(place)
        zipped = [z for place in places if place.name and (z := place.with_suffix(".zip")).is_file()]
        if zipped:
            raise WeakspotError(f"WordNet is packed in {zipped[0]}", fix="unzip it in place")
        raise WeakspotError(
            f"there is no WordNet in {named}" if named else "WordNet's nouns are not on this machine",
            fix="apt-get install wordnet-base; or name a folder that has index.noun and data.noun in "
            f"{VARIABLE}; or give a labels file with names and parents",
        )

    def senses(self, word: str) -> list[Sense]:
        """The meanings of a noun, the most frequent first; [] if it is not in WordNet.

        Case does not matter, nor whether words are joined by spaces, underscores or hyphens. A plural has
        the meanings of its singular unless it is a word of its own ("glasses").
        """
        key = _key(word)
        for form in chain([key], self._files.singulars(key)):
            joined = (form, form.replace("-", "_"), form.replace("_", "-"), re.sub("[_-]", "", form))
            for spelling in dict.fromkeys((*joined, form.replace(".", ""))):
                if offsets := self._files.offsets(spelling):
                    return [self._sense(offset) for offset in offsets]
        return []

    def sense_of_id(self, id: str) -> Sense:
        """The meaning with an id such as "n02123394": a byte offset in WordNet 3.0."""
        found = _ID.fullmatch(id.strip())
        if found is None:
            raise WeakspotError(
                f"{id[:80]!r} is not the id of a noun", fix="write n and eight digits: n02123394"
            )
        if not self._files.has(int(found[1])):
            raise WeakspotError(
                f"no noun in {self.folder} has the id {found[0]}",
                fix="check it; ids are of WordNet 3.0, and other versions have others",
            )
        return self._sense(int(found[1]))

    def choose(self, label: str, sense: str | int | None = None, hint: str | None = None) -> Sense:
        """The one meaning of a label, or an error that says what stands near or how to choose.

        An id in a label decides; of "tabby, tabby cat" only the meanings that all its words share are
        considered; "crane (bird)" has its hint in it, "crane.5" its sense. `sense` is "crane.5" or 5 (as
        `senses` counts, from 1), an id, or a hint: a word for what it is a kind of, near or far.
        """
        parts, asked = LabelParts.of(label), "" if sense is None else str(sense).strip()
        if id := asked if _ID.fullmatch(asked) else "" if asked else parts.id:
            return self.sense_of_id(id)
        number = _NUMBER.fullmatch(asked or label.strip())
        if number and (asked or (number[1] and not self.senses(label))):
            return self._number(number[1] or next(iter(parts.names), label), int(number[2]))
        if asked:
            other = LabelParts.of(asked)
            parts, hint = (other, other.hint) if other.hint else (parts, asked)
        word, left = next(iter(parts.names), label.strip()), self._meanings(parts.names)
        if not left:
            raise self._unknown(word)
        wanted, which = (hint or parts.hint).strip().lower(), ""
        if wanted:
            depths = {n: depth for n, s in left.items() if (depth := self._depth(s, wanted)) is not None}
            if not depths:
                raise self._ambiguous(word, left, f", but no kind of {wanted[:80]!r}")
            left = {n: left[n] for n, depth in depths.items() if depth == min(depths.values())}
            which = f" as a kind of {wanted[:80]!r}"
        if len(left) > 1:
            raise self._ambiguous(word, left, which)
        return next(iter(left.values()))

    def parent(self, sense: Sense) -> Sense | None:
        """What it is first of all a kind of; None for "entity"."""
        return self._sense(int(sense.hypernyms[0][1:])) if sense.hypernyms else None

    def above(self, sense: Sense) -> Iterator[tuple[Sense, int]]:
        """All that it is a kind of, with how many steps up it is: the nearest first, each once."""
        seen, level, depth = {sense.id}, [sense], 0
        while level:
            ids = dict.fromkeys(id for one in level for id in one.hypernyms if id not in seen)
            seen.update(ids)
            level, depth = [self._sense(int(id[1:])) for id in ids], depth + 1
            yield from ((found, depth) for found in level)

    def is_a(self, sense: Sense, other: Sense) -> bool:
        """Whether it is the other, or a kind of it."""
        return sense.id == other.id or any(above.id == other.id for above, _ in self.above(sense))

    def covered(
        self, sense: Sense, labels: Iterable[str], *, ids: Mapping[str, str] | None = None
    ) -> frozenset[str]:
        """The labels of a head that are kinds of a meaning: for dog, the 118 breeds of ImageNet.

        A label is taken by its id, from `ids` or from its name. Without one, it is covered if any of its
        meanings is: "boxer" is a dog, but "crane" is both a bird and a device. Give ids to be exact.
        """
        found = set()
        for label in labels:
            parts = LabelParts.of(label)
            id = (ids or {}).get(label) or parts.id
            meanings = [self.sense_of_id(id)] if id else self._meanings(parts.names).values()
            if any(self.is_a(meaning, sense) for meaning in meanings):
                found.add(label)
        return frozenset(found)

    def _sense(self, offset: int) -> Sense:
        found = self._files.synset(offset)
        # A sign with an i is of an instance: Stephen Crane is an instance of a writer.
        hypernyms = tuple(f"n{to:08d}" for sign, to in found.links if sign in ("@", "@i"))
        return Sense(f"n{offset:08d}", found.lemmas, found.gloss, hypernyms)

    def _meanings(self, names: Iterable[str]) -> dict[int, Sense]:
        """Those that all names share, numbered as of the first name; its own where they share none."""
        known = [senses for name in names if (senses := self.senses(name))]
        numbered = dict(enumerate(known[0], 1)) if known else {}
        others = [{sense.id for sense in senses} for senses in known[1:]]
        return {n: s for n, s in numbered.items() if all(s.id in ids for ids in others)} or numbered

    def _depth(self, sense: Sense, word: str) -> int | None:
        """How far up a word is met: in a lemma of its own (0), of a parent (1) …; None if nowhere."""
        for above, depth in ((sense, 0), *self.above(sense)):
            if any(word in (lemma.lower(), *lemma.lower().split()) for lemma in above.lemmas):
                return depth
        return None

    def _number(self, word: str, number: int) -> Sense:
        senses = dict(enumerate(self.senses(word), 1))
        if not senses:
            raise self._unknown(word)
        if number not in senses:
            raise self._ambiguous(word, senses, f", but no number {number}")
        return senses[number]

    def _unknown(self, word: str) -> UnknownWord:
        hint = nearest(word.lower(), self._files.near(_key(word)))
        fix = "use another word, an id such as n02123394, or a labels file with names and parents"
        return UnknownWord(f"WordNet has no noun {word[:80]!r}", fix=f"{hint} {fix}".strip())

    def _ambiguous(self, word: str, senses: Mapping[int, Sense], which: str) -> AmbiguousLabel:
        lines, examples = [], []
        for number, sense in senses.items():
            parent = self.parent(sense)
            above = f" ({parent.name})" if parent else ""
            brief = sense.gloss.split(";")[0].strip()  # without examples and asides
            brief = brief if len(brief) <= 60 else f"{brief[:59].rstrip()}…"
            lines.append(f"{word}.{number}{above}: {brief}")
            examples += [f"{word}.{number}", sense.id, *([f"'{word}{above}'"] if above else [])]
        meanings = f"{len(lines)} meanings" if len(lines) > 1 else "one meaning"
        return AmbiguousLabel(
            f"{word[:80]!r} has {meanings} in WordNet{which}:\n" + ";\n".join(lines),
            fix=f"choose by number, id or parent, as in {' or '.join(examples[:3])}",
        )


#: Meanings of a word that are looked at, the most frequent first.
SENSES: Final = {Part.ADJECTIVE: 2, Part.VERB: 3}


class Thesaurus:
    """The adjectives and verbs in one folder: which words mean the same, or nearly.

    Two adjectives mean the same where WordNet calls one similar to the other (messy, untidy), but not where
    both are similar to a third: red and blue are chromatic.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = {part: WordNetFiles(folder, part) for part in SENSES}
        self._meanings: dict[tuple[str, Part], tuple[int, ...]] = {}

    @classmethod
    def find(cls) -> Thesaurus:
        """Where WordNet's nouns are; refused where it has nouns only."""
        folder = WordNet.find().folder
        for file in (f"{kind}.{part}" for part in SENSES for kind in ("index", "data")):
            if not (folder / file).is_file():
                raise WeakspotError(f"{folder} has no {file}", fix="install wordnet-base")
        return cls(folder)

    def same(self, a: str, b: str, part: Part) -> bool:
        """Whether two words share one of their frequent meanings, or one is called similar to the other."""
        shared = set(self._frequent(a, part)) & set(self._frequent(b, part))
        return bool(shared) or self._linked(a, b, part, "&")

    def near(self, a: str, b: str, part: Part) -> bool:
        """Whether WordNet refers from a frequent meaning of one word to one of the other."""
        return self._linked(a, b, part, "^")

    def knows(self, word: str) -> bool:
        """Whether a word is an adjective or a verb."""
        return any(self._all(word, part) for part in SENSES)

    def _linked(self, a: str, b: str, part: Part, sign: str) -> bool:
        one, two = (self._frequent(word, part) for word in (a, b))
        links = {(x, to) for x in (*one, *two) for s, to in self._files[part].synset(x).links if s == sign}
        return any((x, y) in links or (y, x) in links for x in one for y in two)

    def _frequent(self, word: str, part: Part) -> tuple[int, ...]:
        return self._all(word, part)[: SENSES[part]]

    def _all(self, word: str, part: Part) -> tuple[int, ...]:
        if (word, part) not in self._meanings:
            self._meanings[word, part] = tuple(self._files[part].offsets(word))
        return self._meanings[word, part]


def _usual_places() -> list[Path]:
    nltk = [Path(place) for place in os.environ.get("NLTK_DATA", "").split(os.pathsep) if place]
    nltk += [place / "nltk_data" for place in (Path("~"), *_SHARES)]
    # Where there is no home, os.path leaves "~" as it is; pathlib raises.
    below = [Path(os.path.expanduser(place), "corpora", "wordnet") for place in nltk]  # noqa: PTH111
    return [*(place / "wordnet" for place in _SHARES), *below]


def _key(word: str) -> str:
    return "_".join(word.lower().replace("_", " ").replace("’", "'").split())
