"""WordNet's noun files as Princeton made them, read where they lie.

`index.noun` has a line per word, in the order of its bytes, so it is searched by halves. `data.noun` has a
line per synset, and the eight digits of its id are the place of that line in bytes. Both begin with the
licence, in lines that begin with two spaces. See wndb(5WN).
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from weakspot.core import WeakspotError

#: Names the folder.
VARIABLE: Final = "WEAKSPOT_WORDNET"
#: The longest line of WordNet 3.0 has 12,972 bytes.
LONGEST: Final = 1 << 16
#: Plural endings with what stands in their place in the singular, as WordNet's own `morph` has them.
PLURALS: Final = (
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z")),
    *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
)


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning: a synset.

    Attributes:
        id: "n" and its eight digits; the same for every word with this meaning.
        lemmas: The words for it, the usual one first, with spaces and capitals.
        gloss: The definition, with examples.
        hypernyms: Ids of what it is a kind, or an instance, of; the first is the usual one.
        hyponyms: Ids of its own kinds and instances.
    """

    id: str
    lemmas: tuple[str, ...]
    gloss: str
    hypernyms: tuple[str, ...]
    hyponyms: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its usual word."""
        return self.lemmas[0]


class NounFiles:
    """`index.noun`, `data.noun` and, if it is there, `noun.exc` (irregular plurals) of one folder.

    Raises:
        WeakspotError: A file is missing, or is not what its name says; at the beginning or when met.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._senses: dict[int, Sense] = {}
        self._irregular: dict[str, list[str]] | None = None
        for name, pattern in (("index.noun", rb"\S+ n \d+ \d+ "), ("data.noun", rb"%08d \d\d n [\da-f]{2} ")):
            with self._open(name) as file:
                at, line = 0, file.readline(LONGEST)
                while line.startswith(b"  ") and at < LONGEST:
                    at, line = at + len(line), file.readline(LONGEST)
            # That the first synset stands where it says shows that no line end was changed before it.
            if not re.match(pattern % at if b"%" in pattern else pattern, line):
                raise self._spoilt(name, at)

    def offsets(self, word: str) -> list[int]:
        """The synsets of a word, spelt as the index has it (lower case, underscores); [] if it has none."""
        with self._open("index.noun") as index:
            at = self._find(index, word)
            line = _line_from(index, at)
        # crane n 5 4 @ ~ #m + 5 0 10914447 10914331 09295455 03126707 02012849
        fields = line.decode("utf-8", "replace").split()
        if not word or not fields or fields[0] != word:
            return []
        try:
            count = int(fields[2])
            if not 0 < count <= len(fields) - 6:
                raise ValueError
            return [_offset(field) for field in fields[-count:]]
        except (ValueError, IndexError):
            raise self._spoilt("index.noun", at) from None

    def near(self, word: str) -> list[str]:
        """Some words that stand beside this one in the index, or would."""
        with self._open("index.noun") as index:
            index.seek(max(self._find(index, word) - 2000, 0))
            lines = index.read(4000).decode("utf-8", "replace").split("\n")[1:-1]
        return [line.split(" ")[0].replace("_", " ") for line in lines if line[:1].strip()]

    def has(self, offset: int) -> bool:
        """Whether a synset stands there."""
        return offset in self._senses or self._line(offset).startswith(b"%08d " % offset)

    def sense(self, offset: int) -> Sense:
        """The synset that stands there."""
        if offset not in self._senses:
            self._senses[offset] = self._read(offset)
        return self._senses[offset]

    def singulars(self, key: str) -> Iterator[str]:
        """What a plural may come from: by the exceptions, then by the endings of its last and first word."""
        yield from self._exceptions().get(key, ())
        head, joint, last = key.rpartition("_")
        yield from (head + joint + singular for singular in self._singular(last))
        first, joint, rest = key.partition("_")
        if joint:
            yield from (singular + joint + rest for singular in self._singular(first))

    # -- inside ------------------------------------------------------------------------------------

    def _read(self, offset: int) -> Sense:
        # 02012849 05 n 01 crane 0 004 @ 02000954 n 0000 … ~ 02013177 n 0000 | large long-necked wading bird …
        head, _, gloss = self._line(offset).decode("utf-8", "replace").partition("|")
        fields = head.split()
        try:
            end = 4 + 2 * int(fields[3], 16)
            lemmas = tuple(field.replace("_", " ") for field in fields[4:end:2])
            links = fields[end + 1 : end + 1 + 4 * int(fields[end])]
            signs, targets, kinds = links[::4], links[1::4], links[2::4]
            nouns = [
                (sign, f"n{_offset(to):08d}")
                for sign, to, kind in zip(signs, targets, kinds, strict=True)
                if kind == "n"
            ]
            if _offset(fields[0]) != offset or not lemmas:
                raise ValueError
        except (ValueError, IndexError):
            raise self._spoilt("data.noun", offset) from None
        # A sign with an i is of an instance: Stephen Crane is an instance of a writer.
        up, down = (tuple(to for s, to in nouns if s in (sign, f"{sign}i")) for sign in "@~")
        return Sense(f"n{offset:08d}", lemmas, gloss.strip(), up, down)

    def _line(self, offset: int) -> bytes:
        with self._open("data.noun") as data:
            data.seek(offset)
            return data.readline(LONGEST)

    def _find(self, index: BinaryIO, word: str) -> int:
        """The least place from which the next line's word is not before this one."""

        def word_from(at: int) -> bytes:
            line = _line_from(index, at)
            return line.split(b" ")[0] if line else b"\xff"  # a line of the licence has b"", the least

        size = index.seek(0, os.SEEK_END)
        return bisect_left(range(size), word.encode("utf-8", "replace"), key=word_from)

    def _exceptions(self) -> dict[str, list[str]]:
        if self._irregular is None:
            self._irregular = {}
            if (self.folder / "noun.exc").is_file():
                with self._open("noun.exc") as file:
                    lines = file.read(1 << 22).decode("utf-8", "replace").splitlines()
                self._irregular = {
                    plural: singular for plural, *singular in map(str.split, filter(str.strip, lines))
                }
        return self._irregular

    def _singular(self, word: str) -> list[str]:
        found = list(self._exceptions().get(word, ()))
        if len(word) > 2 and not word.endswith("ss"):
            found += [word.removesuffix(end) + new for end, new in PLURALS if word.endswith(end)]
        return found

    def _open(self, name: str) -> BinaryIO:
        try:
            return (self.folder / name).open("rb")
        except OSError as error:
            raise WeakspotError(
                f"WordNet cannot be read: {error}", fix=f"check the folder, or name another in {VARIABLE}"
            ) from error

    def _spoilt(self, name: str, at: int) -> WeakspotError:
        return WeakspotError(
            f"{self.folder / name} is not WordNet's noun file, or was changed (at byte {at:,})",
            fix=f"install wordnet-base again, or name another folder in {VARIABLE}",
        )


def _line_from(file: BinaryIO, at: int) -> bytes:
    """The first line that begins at or after a place."""
    file.seek(max(at - 1, 0))
    if at:
        file.readline(LONGEST)  # the rest of the line before
    return file.readline(LONGEST)


def _offset(field: str) -> int:
    if len(field) != 8 or not (field.isascii() and field.isdigit()):
        raise ValueError(field)
    return int(field)
