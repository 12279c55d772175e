"""WordNet's adjectives and verbs: which words mean the same, or nearly. For nouns see `wordnet`.

Two adjectives mean the same where WordNet calls one similar to the other (messy, untidy), but not where both
are similar to a third: red and blue are chromatic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from weakspot.core import WeakspotError
from weakspot.text.wordnet import WordNet
from weakspot.text.wordnet_files import Part, WordNetFiles

#: Meanings of a word that are looked at, the most frequent first.
SENSES: Final = {Part.ADJECTIVE: 2, Part.VERB: 3}
_SIMILAR, _ALSO = "&", "^"


class Thesaurus:
    """The adjectives and verbs in one folder: index.adj, data.adj, index.verb and data.verb."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = {part: WordNetFiles(folder, part) for part in SENSES}
        self._meanings: dict[tuple[str, Part], tuple[int, ...]] = {}

    @classmethod
    def find(cls) -> Thesaurus:
        """Where WordNet's nouns are.

        Raises:
            WeakspotError: There is no WordNet, or it has nouns only.
        """
        folder = WordNet.find().folder
        missing = [
            p for part in SENSES for p in (f"index.{part}", f"data.{part}") if not (folder / p).is_file()
        ]
        if missing:
            raise WeakspotError(f"{folder} has no {missing[0]}", fix="install wordnet-base")
        return cls(folder)

    def same(self, a: str, b: str, part: Part) -> bool:
        """Whether two words share one of their frequent meanings, or one is called similar to the other."""
        shared = set(self._frequent(a, part)) & set(self._frequent(b, part))
        return bool(shared) or self._linked(a, b, part, _SIMILAR)

    def near(self, a: str, b: str, part: Part) -> bool:
        """Whether WordNet refers from a frequent meaning of one word to one of the other."""
        return self._linked(a, b, part, _ALSO)

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
