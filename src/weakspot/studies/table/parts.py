"""What `table` is made with: the rows with their verdicts, and what can be said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.columns import Concepts, concepts_of
from weakspot.core import WeakspotError
from weakspot.records import Judged
from weakspot.records.verdicts import read_judged
from weakspot.studies.table.settings import TableSettings
from weakspot.text.wordnet import WordNet


@dataclass(frozen=True)
class TableParts:
    """A table that was read.

    Attributes:
        wider: Nouns have wider ones, since WordNet is on this machine.
    """

    judged: Judged
    concepts: Concepts
    wider: bool

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


def load(settings: TableSettings, target: Any = None) -> TableParts:
    """Read the table; what cannot be used is told here."""
    judged = read_judged(
        settings.target if target is None else target, named=settings.roles, failed=settings.failed
    )
    for name in settings.ignore:
        judged.records.column(name)
    if not len(judged):
        first = next(iter(judged.left_out), None)
        why = f": line {first.line}: {first.reason}" if first else ""
        raise WeakspotError(f"no row of {judged.records.origin} has a verdict{why}", fix="mend the table")
    wordnet = _wordnet()
    concepts = concepts_of(judged, wordnet=wordnet, ignored=settings.ignore)
    return TableParts(judged, concepts, wordnet is not None)


def _wordnet() -> WordNet | None:
    try:
        return WordNet.find()
    except WeakspotError:  # without it words have no wider nouns, which the report says
        return None
