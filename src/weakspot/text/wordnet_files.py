"""WordNet's files as Princeton made them, read where they lie; see wndb(5WN).

`index.noun` has a line per word, in the order of its bytes. `data.noun` has a line per synset, and the eight
digits of its id are the place of that line in bytes. Both begin with the licence, indented by two spaces.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from weakspot.core import WeakspotError

VARIABLE: Final = "WEAKSPOT_WORDNET"  # names the folder
LONGEST: Final = 1 << 16  # the longest line of WordNet 3.0 has 12,972 bytes
#: Plural endings with what stands in their place in the singular, as WordNet's own `morph` has them.
PLURALS: Final = (
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z")),
    *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
)


class Part(StrEnum):
    """A part of speech, as files are named."""

    NOUN = "noun"
    ADJECTIVE = "adj"
    VERB = "verb"


#: The letters that mark synsets of a part; "s" are adjectives that are like another one.
_LETTERS: Final = {Part.NOUN: "n", Part.ADJECTIVE: "as", Part.VERB: "v"}


class Synset(NamedTuple):
    """A meaning: its words with spaces and capitals, its definition, and its links (sign, offset)."""

    lemmas: tuple[str, ...]
    gloss: str
    links: tuple[tuple[str, int], ...]


class WordNetFiles:
    """`index.noun`, `data.noun` and, if it is there, `noun.exc` (irregular plurals); or another part's."""

    def __init__(self, folder: Path, part: Part = Part.NOUN) -> None:
        self.folder, self.part = folder, part
        self._synsets: dict[int, Synset] = {}
        letter = f"[{_LETTERS[part]}]".encode()
        index, data = rb"\S+ %s \d+ \d+ " % letter, rb"%%08d \d\d %s [\da-f]{2} " % letter
        for kind, pattern in (("index", index), ("data", data)):
            with self._open(kind) as file:
                at, line = 0, file.readline(LONGEST)
                while line.startswith(b"  ") and at < LONGEST:
                    at, line = at + len(line), file.readline(LONGEST)
            # That the first synset stands where it says shows that no line end was changed before it.
            if not re.match(pattern % at if kind == "data" else pattern, line):
                raise self._spoilt(kind, at)

    def offsets(self, word: str) -> list[int]:
        """The synsets of a word, spelt as the index has it (lower case, underscores); [] if it has none."""
        with self._open("index") as index:
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
            raise self._spoilt("index", at) from None

    def near(self, word: str) -> list[str]:
        """Some words that stand beside this one in the index, or would."""
        with self._open("index") as index:
            index.seek(max(self._find(index, word) - 2000, 0))
            lines = index.read(4000).decode("utf-8", "replace").split("\n")[1:-1]
        return [line.split(" ")[0].replace("_", " ") for line in lines if line[:1].strip()]

    def has(self, offset: int) -> bool:
        """Whether a synset stands there."""
        return offset in self._synsets or self._line(offset).startswith(b"%08d " % offset)

    def singulars(self, key: str) -> Iterator[str]:
        """What a plural may come from: by the exceptions, then by the endings of its last and first word."""
        yield from self._exceptions.get(key, ())
        head, joint, last = key.rpartition("_")
        yield from (head + joint + singular for singular in self._singular(last))
        first, joint, rest = key.partition("_")
        if joint:
            yield from (singular + joint + rest for singular in self._singular(first))

    def synset(self, offset: int) -> Synset:
        """The synset that stands there."""
        if offset in self._synsets:
            return self._synsets[offset]
        # 02012849 05 n 01 crane 0 004 @ 02000954 n 0000 … ~ 02013177 n 0000 | large long-necked wading bird …
        head, _, gloss = self._line(offset).decode("utf-8", "replace").partition("|")
        fields = head.split()
        try:
            end = 4 + 2 * int(fields[3], 16)
            lemmas = tuple(field.replace("_", " ") for field in fields[4:end:2])
            links = fields[end + 1 : end + 1 + 4 * int(fields[end])]
            own = tuple(
                (sign, _offset(to))
                for sign, to, letter in zip(links[::4], links[1::4], links[2::4], strict=True)
                if letter in _LETTERS[self.part]
            )
            if _offset(fields[0]) != offset or not lemmas:
                raise ValueError
        except (ValueError, IndexError):
            raise self._spoilt("data", offset) from None
        self._synsets[offset] = Synset(lemmas, gloss.strip(), own)
        return self._synsets[offset]

    def _line(self, offset: int) -> bytes:
        with self._open("data") as data:
            data.seek(offset)
            return data.readline(LONGEST)

    def _find(self, index: BinaryIO, word: str) -> int:
        """The least place from which the next line's word is not before this one."""

        def word_from(at: int) -> bytes:
            line = _line_from(index, at)
            return line.split(b" ")[0] if line else b"\xff"  # a line of the licence has b"", the least

        size = index.seek(0, os.SEEK_END)
        return bisect_left(range(size), word.encode("utf-8", "replace"), key=word_from)

    @cached_property
    def _exceptions(self) -> dict[str, list[str]]:
        path = self.folder / f"{self.part}.exc"
        lines = path.read_bytes()[: 1 << 22].decode("utf-8", "replace").splitlines() if path.is_file() else ()
        return {plural: singular for plural, *singular in map(str.split, filter(str.strip, lines))}

    def _singular(self, word: str) -> list[str]:
        found = list(self._exceptions.get(word, ()))
        if len(word) > 2 and not word.endswith("ss"):
            found += [word.removesuffix(end) + new for end, new in PLURALS if word.endswith(end)]
        return found

    def _open(self, kind: str) -> BinaryIO:
        try:
            return (self.folder / f"{kind}.{self.part}").open("rb")
        except OSError as error:
            raise WeakspotError(
                f"WordNet cannot be read: {error}", fix=f"check the folder, or name another in {VARIABLE}"
            ) from error

    def _spoilt(self, kind: str, at: int) -> WeakspotError:
        path = self.folder / f"{kind}.{self.part}"
        return WeakspotError(
            f"{path} is not WordNet's {self.part} file, or was changed (at byte {at:,})",
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
