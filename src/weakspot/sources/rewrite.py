"""Texts, edited as a cell of a concept space says, with their reference summaries.

An axis `edit` names the edit; an axis `amount`, if there is one, the share of what the edit can change. An
edit of one text can be drawn again and again, each time at other places. A cell's draws therefore go through
the texts of a part in rounds, each round in an order of its own, until each has been shown often enough for
rates to be told apart. With few texts a rate is one of these texts, not of all that there might be.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.core import Case, Hypothesis, Stage, WeakspotError, case_seed
from weakspot.models.vectors import Ngrams
from weakspot.sources.documents import Documents
from weakspot.sources.pixels import Destroyed
from weakspot.text.text_edits import EDITS, edit

#: Draws that a cell can have at least: fewer texts than this are shown in several rounds.
DRAWS: Final = 400
AXES: Final = ("edit", "amount")
#: Numbers of the vector that a policy sees of a text.
SEEN: Final = 64


class EditedTexts:
    """Draws texts of a part, edited by the hypothesis' concepts.

    Args:
        space: Its axes are `edit` and, if wanted, `amount`.
        parts: Which texts each stage draws from, by their numbers.
    """

    sees = "a vector of the text"

    def __init__(
        self, documents: Documents, *, space: ConceptSpace, parts: Mapping[Stage, Sequence[int]]
    ) -> None:
        self.documents, self.space = documents, space
        self.parts = {stage: tuple(some) for stage, some in parts.items()}
        self._placed: dict[tuple[str, int], int] = {}
        self._order = lru_cache(maxsize=4096)(self._shuffled)
        self._encoder = Ngrams(size=SEEN)
        check(space)

    def rounds(self, stage: Stage) -> int:
        """How often each text of a stage's part can be shown in a cell."""
        return max(1, math.ceil(DRAWS / len(self.parts[stage])))

    @property
    def inputs(self) -> int:
        """Texts times rounds, for discovery."""
        return self.distinct * self.rounds(Stage.EXPLORE)

    @property
    def distinct(self) -> int:
        """Texts, for discovery."""
        return len(self.parts[Stage.EXPLORE])

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many draws there are; of a policy's own choices any number."""
        del seed
        if "policy" in dict(hypothesis.concepts):
            return 1 << 31
        return len(self.parts[stage]) * self.rounds(stage)

    def place(self, hypothesis: Hypothesis, index: int, text: int) -> None:
        """Say which text (by its place in the stage's part) a draw shows that a policy has chosen."""
        self._placed[hypothesis.id, index] = text

    def place_of(self, hypothesis: Hypothesis, index: int, *, seed: int) -> int:
        """Which text and round a draw shows: the text's place in its part, plus a part's length per round."""
        placed = self._placed.get((hypothesis.id, index))
        if placed is not None:
            return placed
        stage = Stage.of(index)
        round_, at = divmod(index - stage.start, len(self.parts[stage]))
        if round_ >= self.rounds(stage):
            raise WeakspotError("a cell has no more draws of these texts", fix="give more texts")
        return int(self._order(hypothesis, stage, seed, round_)[at]) + round_ * len(self.parts[stage])

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption says which text it is."""
        region, cases = self.space.read(hypothesis), []
        for index in indices:
            own, part = case_seed(seed, hypothesis, index), self.parts[Stage.of(index)]
            number = part[self.place_of(hypothesis, index, seed=seed) % len(part)]
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
        rng = random.Random(own)  # noqa: S311
        cell = [rng.choice(values) for values in region]
        given = self.space.assignment(self.space.number(cell))
        share = float(given["amount"]) if "amount" in given else None
        after = edit(text, given["edit"], seed=own, share=share)
        if not any(c.isalnum() for c in after):
            raise Destroyed(f"the edit {given['edit']!r} leaves nothing of the text")
        return after

    def _shuffled(self, hypothesis: Hypothesis, stage: Stage, seed: int, round_: int) -> NDArray[np.int64]:
        rng = np.random.default_rng([case_seed(seed, hypothesis, stage.start), round_])
        return rng.permutation(len(self.parts[stage]))

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
