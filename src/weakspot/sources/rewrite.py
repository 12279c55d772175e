"""Texts, edited as a cell of a concept space says, with their reference summaries.

An axis `edit` names the edit; an axis `amount`, if there is one, the share of what the edit can change. An
edit of one text can be drawn again and again, each time at other places. A cell's draws therefore go through
the texts of a part in rounds, each round in an order of its own, until each has been shown often enough for
rates to be told apart. With few texts a rate is one of these texts, not of all that there might be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.core import Case, Hypothesis, Stage, WeakspotError, case_seed
from weakspot.models.vectors import Ngrams
from weakspot.sources.cells import CellSource, cell_of
from weakspot.sources.documents import Documents
from weakspot.sources.pixels import Destroyed
from weakspot.text.text_edits import EDITS, edit

#: Draws that a cell can have at least: fewer texts than this are shown in several rounds.
DRAWS: Final = 400
AXES: Final = ("edit", "amount")
#: Numbers of the vector that a policy sees of a text.
SEEN: Final = 64


class EditedTexts(CellSource):
    """Draws texts of a part, edited by the hypothesis' concepts; see `CellSource`.

    The axes of the space are `edit` and, if wanted, `amount`.
    """

    sees = "a vector of the text"

    def __init__(
        self, documents: Documents, *, space: ConceptSpace, parts: Mapping[Stage, Sequence[int]]
    ) -> None:
        super().__init__(space, parts)
        self.documents = documents
        self._encoder = Ngrams(size=SEEN)
        check(space)

    def rounds(self, stage: Stage) -> int:
        """How often each text of a stage's part can be shown in a cell."""
        return max(1, math.ceil(DRAWS / len(self.parts[stage])))

    def none_left(self, count: int) -> WeakspotError:
        """That all rounds were drawn."""
        return WeakspotError("a cell has no more draws of these texts", fix="give more texts")

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption says which text it is."""
        region, cases = self.space.read(hypothesis), []
        for index in indices:
            own, number = case_seed(seed, hypothesis, index), self.number_of(hypothesis, index, seed=seed)
            text = self.documents.texts[number]
            if region is not None:
                text = self.edited(text, region, own)
            caption = f"text {self.documents.names[number]}"
            cases.append(Case(hypothesis, index, own, text, self.documents.summaries[number], caption))
        return cases

    def edited(self, text: str, region: Region, own: int) -> str:
        """A text after the edit of a cell of a region; of several cells, one at random.

        Raises:
            Destroyed: The edit leaves no word.
        """
        given = self.space.assignment(cell_of(self.space, region, own))
        share = float(given["amount"]) if "amount" in given else None
        after = edit(text, given["edit"], seed=own, share=share)
        if not any(c.isalnum() for c in after):
            raise Destroyed(f"the edit {given['edit']!r} leaves nothing of the text")
        return after

    def contexts(self, texts: Sequence[int], *, stage: Stage = Stage.EXPLORE) -> NDArray[np.float32]:
        """What a policy may see of texts (by their places): a vector of each, from 0 to 1."""
        part = self.parts[stage]
        rows = self._encoder.embed_texts([self.documents.texts[part[i % len(part)]] for i in texts])
        return np.asarray(np.clip((rows + 1) / 2, 0, 1), np.float32)


def check(space: ConceptSpace) -> None:
    """Refuse axes and values that no edit of a text knows."""
    names = [axis.name for axis in space.axes]
    if "edit" not in names or not set(names) <= set(AXES):
        raise WeakspotError(
            f"the space {space.name[:60]!r} of texts has the axes {', '.join(names)[:120]}",
            fix="it has an axis edit, and if wanted an axis amount",
        )
    for axis in space.axes:
        for value in axis.values:
            if axis.name == "edit" and value not in EDITS:
                edit("a", value, seed=0)  # says the nearest right one
            if axis.name == "amount":
                _amount(value)


def _amount(value: str) -> None:
    try:
        fits = 0 < float(value) <= 1
    except ValueError:
        fits = False
    if not fits:
        raise WeakspotError(f"an amount cannot be {value[:60]!r}", fix="choose numbers above 0 and at most 1")
