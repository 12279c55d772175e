"""What `table` is made with: the rows with their verdicts, and what can be said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.columns import Concepts, concepts_of
from weakspot.concepts.tags import read_tags
from weakspot.core import MODELS, Encoder, WeakspotError
from weakspot.engine import Watch
from weakspot.records import Judged
from weakspot.records.batches import Pieces, pieces_of
from weakspot.records.verdicts import read_judged
from weakspot.studies.table.pictures import shown
from weakspot.studies.table.settings import TableSettings
from weakspot.study.loading import part
from weakspot.text.llm_answers import Asked
from weakspot.text.wordnet import WordNet

#: Tables of more bytes, unpacked, are not read at once.
BYTES: Final = 500_000_000


@dataclass(frozen=True)
class TableParts:
    """A table that was read.

    Attributes:
        wordnet: Gives nouns wider ones; None where it is not on this machine.
        ignored: Columns of which nothing is said.
        encoder: Says what pictures show; None for words and values alone.
        tags: What it may say.
        shown: The column of what it said; "" before it was asked.
        llm: Reads rows and proposes; None for the rules alone.
        more: The concepts with those that it added; None where it added none.
    """

    judged: Judged
    wordnet: WordNet | None = None
    ignored: tuple[str, ...] = ()
    encoder: Encoder | None = None
    tags: tuple[str, ...] = ()
    shown: str = ""
    llm: Asked | None = None
    more: Concepts | None = None

    @property
    def wider(self) -> bool:
        """Nouns have wider ones."""
        return self.wordnet is not None

    @property
    def digests(self) -> Mapping[str, str]:
        """The table's and the tags', so that a run is not gone on with over others."""
        found = {"table": self.judged.records.digest} if self.judged.records.digest else {}
        if self.tags:
            found["tags"] = sha256("\n".join(self.tags).encode()).hexdigest()
        return found

    @property
    def concepts(self) -> Concepts:
        """What can be said of the rows, by anybody."""
        return self.more or self.plain

    @cached_property
    def plain(self) -> Concepts:
        """What can be said of the rows without looking at what failed."""
        return concepts_of(self.judged, wordnet=self.wordnet, ignored=self.ignored, shown=self.shown)

    def looked_at(self, folder: Path, watch: Watch) -> TableParts:
        """The same with what the encoder sees in the pictures; `folder` keeps what it needs again."""
        if self.encoder is None:
            return self
        seen = shown(self.judged, self.encoder, self.tags, folder=folder, watch=watch)
        return replace(self, judged=seen.judged, shown=seen.column)

    @cached_property
    def groups(self) -> NDArray[np.int64] | None:
        """The number of each row's group; None where every row stands for itself."""
        name = self.judged.roles.group
        if not name:
            return None
        texts = self.judged.records.column(name).texts()
        own = [f"row {i}" if text is None else f"group {text}" for i, text in enumerate(texts)]
        found: NDArray[np.int64] = np.unique(own, return_inverse=True)[1]
        return found


@dataclass(frozen=True)
class InPieces:
    """A table that does not fit into memory; nothing of it has been read."""

    pieces: Pieces
    llm: Asked | None = None

    @property
    def digests(self) -> Mapping[str, str]:
        """Of the files, as far as it is known without reading all of them."""
        return {"table": self.pieces.digest}


def load(
    settings: TableSettings, target: Any = None, encoder: Any = None, llm: Any = None
) -> TableParts | InPieces:
    """Read the table, or see of which pieces it is; what cannot be used is told here."""
    named = settings.llm is not None or llm is not None
    model = part(llm, settings.llm or "", MODELS, Asked) if named else None
    pieces = pieces_of(settings.target) if target is None else None
    if pieces is not None and (pieces.rows > settings.at_once or pieces.size > BYTES):
        if encoder is not None or settings.encoder is not None:
            raise WeakspotError(
                f"{pieces.origin} is too large to look at all of its pictures",
                fix="leave the encoder out, or give a part of the table",
            )
        return InPieces(pieces, model)
    judged = read_judged(
        settings.target if target is None else target, named=settings.roles, failed=settings.failed
    )
    return replace(said_of(judged, settings, encoder), llm=model)


def said_of(judged: Judged, settings: TableSettings, encoder: Any = None) -> TableParts:
    """Rows with all that can be said of them."""
    for name in settings.ignore:
        judged.records.column(name)
    if not len(judged):
        first = next(iter(judged.left_out), None)
        why = f": line {first.line}: {first.reason}" if first else ""
        raise WeakspotError(f"no row of {judged.records.origin} has a verdict{why}", fix="correct the table")
    parts = TableParts(judged, _wordnet(), settings.ignore)
    if encoder is None and settings.encoder is None:
        return parts
    if not judged.roles.image:
        raise WeakspotError(
            f"{judged.records.origin} names no pictures that an encoder could look at",
            fix="name the column of their paths: --image COLUMN",
        )
    tags = read_tags(None if settings.tags is None else Path(settings.tags))
    return replace(parts, encoder=part(encoder, settings.encoder or "", MODELS, Encoder), tags=tags)


def _wordnet() -> WordNet | None:
    try:
        return WordNet.find()
    except WeakspotError:  # without it words have no wider nouns, which the report says
        return None
