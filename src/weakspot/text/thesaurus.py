"""WordNet's adjectives and verbs: which words mean the same, or nearly. For nouns see `wordnet`.

Two adjectives mean the same where WordNet calls one similar to the other (messy, untidy), but not where both
are similar to a third: red and blue are chromatic. The files are read when they are first asked for.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from weakspot.core import WeakspotError
from weakspot.text.wordnet import WordNet


class Part(StrEnum):
    """A part of speech, as files are named."""

    ADJECTIVE = "adj"
    VERB = "verb"


#: Meanings of a word that are looked at, the most frequent first.
SENSES: Final = {Part.ADJECTIVE: 2, Part.VERB: 3}
_SIMILAR, _ALSO = "&", "^"


class _Table(NamedTuple):
    """Word → synsets, and synset → similar synsets, and synset → those that WordNet refers to."""

    senses: dict[str, tuple[int, ...]]
    similar: dict[int, frozenset[int]]
    also: dict[int, frozenset[int]]


class Thesaurus:
    """The adjectives and verbs in one folder.

    Args:
        folder: Has index.adj, data.adj, index.verb and data.verb.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def find(cls) -> Thesaurus:
        """Where WordNet's nouns are.

        Raises:
            WeakspotError: There is no WordNet, or it has nouns only.
        """
        folder = WordNet.find().folder
        missing = [
            p for part in Part for p in (f"index.{part}", f"data.{part}") if not (folder / p).is_file()
        ]
        if missing:
            raise WeakspotError(f"{folder} has no {missing[0]}", fix="install wordnet-base")
        return cls(folder)

    def same(self, a: str, b: str, part: Part) -> bool:
        """Whether two words share one of their frequent meanings, or one is called similar to the other."""
        table = self._table(part)
        one, two = (table.senses.get(word, ())[: SENSES[part]] for word in (a, b))
        if set(one) & set(two):
            return True
        return any(y in table.similar.get(x, ()) or x in table.similar.get(y, ()) for x in one for y in two)

    def near(self, a: str, b: str, part: Part) -> bool:
        """Whether WordNet refers from a frequent meaning of one word to one of the other."""
        table = self._table(part)
        one, two = (table.senses.get(word, ())[: SENSES[part]] for word in (a, b))
        return any(y in table.also.get(x, ()) or x in table.also.get(y, ()) for x in one for y in two)

    def knows(self, word: str) -> bool:
        """Whether a word is an adjective or a verb."""
        return any(word in self._table(part).senses for part in Part)

    def _table(self, part: Part) -> _Table:
        return self._adjectives if part is Part.ADJECTIVE else self._verbs

    @cached_property
    def _adjectives(self) -> _Table:
        return _read(self.folder, Part.ADJECTIVE)

    @cached_property
    def _verbs(self) -> _Table:
        return _read(self.folder, Part.VERB)


def _read(folder: Path, part: Part) -> _Table:
    """Read index and data as wndb(5WN) describes them; a line that is not so is passed over."""
    senses: dict[str, tuple[int, ...]] = {}
    similar: dict[int, frozenset[int]] = {}
    also: dict[int, frozenset[int]] = {}
    try:
        index = (folder / f"index.{part}").read_text("latin-1")
        data = (folder / f"data.{part}").read_text("latin-1")
    except OSError as error:
        raise WeakspotError(f"WordNet cannot be read: {error}", fix="install wordnet-base again") from error
    for line in index.splitlines():
        fields = line.split()
        if line[:1] == " " or len(fields) < 6 or not fields[2].isdecimal():
            continue
        offsets = fields[
            -int(fields[2]) :
        ]  # lemma pos synset_cnt p_cnt [symbol…] sense_cnt tagsense_cnt offset…
        senses[fields[0]] = tuple(int(offset) for offset in offsets if offset.isdecimal())
    for line in data.splitlines():
        fields = line.split(" | ", 1)[0].split()
        if line[:1] == " " or len(fields) < 6 or not fields[0].isdecimal():
            continue
        start = 4 + 2 * int(
            fields[3], 16
        )  # offset lex_filenum ss_type w_cnt word lex_id [word lex_id…] p_cnt
        pointers = fields[start + 1 :]
        links = [pointers[i : i + 4] for i in range(0, 4 * int(fields[start]), 4)]
        for symbol, table in ((_SIMILAR, similar), (_ALSO, also)):
            found = frozenset(int(link[1]) for link in links if link[0] == symbol and link[2] in "asv")
            if found:
                table[int(fields[0])] = found
    return _Table(senses, similar, also)
