"""What `table` is made with: the rows with their verdicts, and what can be said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.columns import Concepts, concepts_of
from weakspot.core import WeakspotError
from weakspot.records import Judged
from weakspot.records.batches import Pieces, pieces_of
from weakspot.records.verdicts import read_judged
from weakspot.studies.table.settings import TableSettings
from weakspot.text.wordnet import WordNet

#: Tables of more bytes, unpacked, are not read at once.
BYTES: Final = 500_000_000


@dataclass(frozen=True)
class TableParts:
    """A table that was read.

    Attributes:
        wider: Nouns have wider ones, since WordNet is on this machine.
        ignored: Columns of which nothing is said.
    """

    judged: Judged
    concepts: Concepts
    wider: bool
    ignored: tuple[str, ...] = ()

    @property
    def digests(self) -> Mapping[str, str]:
        """The table's, so that a run is not gone on with over another one."""
        return {"table": self.judged.records.digest} if self.judged.records.digest else {}

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

    @property
    def digests(self) -> Mapping[str, str]:
        """Of the files, as far as it is known without reading all of them."""
        return {"table": self.pieces.digest}


def load(settings: TableSettings, target: Any = None) -> TableParts | InPieces:
    """Read the table, or see of which pieces it is; what cannot be used is told here."""
    pieces = pieces_of(settings.target) if target is None else None
    if pieces is not None and (pieces.rows > settings.at_once or pieces.size > BYTES):
        return InPieces(pieces)
    judged = read_judged(
        settings.target if target is None else target, named=settings.roles, failed=settings.failed
    )
    return said_of(judged, settings)


def said_of(judged: Judged, settings: TableSettings) -> TableParts:
    """Rows with all that can be said of them."""
    for name in settings.ignore:
        judged.records.column(name)
    wordnet = _wordnet()
    concepts = concepts_of(judged, wordnet=wordnet, ignored=settings.ignore)
    return TableParts(judged, concepts, wordnet is not None, settings.ignore)


def _wordnet() -> WordNet | None:
    try:
        return WordNet.find()
    except WeakspotError:  # without it words have no wider nouns, which the report says
        return None
