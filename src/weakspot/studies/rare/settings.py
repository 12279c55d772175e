"""What `rare` is asked to do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import model_validator

from weakspot.core import WeakspotError
from weakspot.study.options import BudgetOption, LabelSettings, Option, SeedOption, check_labels

if TYPE_CHECKING:
    from weakspot.engine import Lane

#: Fewer images say nothing of a rare failure.
LEAST: Final = 200


class RareSettings(LabelSettings):
    """Measure how often an image classifier fails where plain sampling would hardly see a failure.

    Images are moved step by step towards being misread, which takes far fewer of them: 40,000 for a factor of
    2 at one failure in 100,000. If the classifier gives no scores, or the source cannot move its images, they
    are simply drawn and counted, and the result says so.
    """

    label: Annotated[str, Option("The label whose failures are counted.", "LABEL")]
    words: Annotated[str, Option('Sentences added to the prompt, e.g. "it is on a flower."', "TEXT")] = ""
    budget: BudgetOption = "images=20000"
    seed: SeedOption = 0

    @property
    def images(self) -> int:
        return int(self._limit)

    @property
    def _limit(self) -> float:
        from weakspot.engine.stop import Budget

        return Budget.parse(self.budget)["images"]

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        check_labels(self.task)
        images = self._limit
        if math.isinf(images):
            raise WeakspotError("the budget has no number of images", fix="write e.g. images=20k,seconds=600")
        if images < LEAST:
            raise WeakspotError(
                f"{images:.0f} images are too few to say anything about a rare failure",
                fix=f"give {LEAST} at least; 40k are enough for a factor of 2 at one in 100,000",
            )
        return self

    def resumed(self, budget: str) -> Self:
        """The number of images is part of the design: how they are split into levels follows from it."""
        settings = self.changed(budget=budget)
        if settings.images != self.images:
            raise WeakspotError(
                f"this run was laid out for {self.images:,} images, which cannot be changed now",
                fix=f"keep images={self.images} and change the other limits, or begin a new run",
            )
        return settings


def title(settings: RareSettings) -> str:
    return f"rare failures of {settings.target} on {settings.label!r}"


def subject(settings: RareSettings, _: object) -> str:
    return settings.label


_DOING: Final = {"look": "first look", "split": "moving towards failures", "plain": "counting"}


def progress(phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    failing = sum(lane.tally.failures for lane in lanes)
    return f"{_DOING.get(phase, phase)} · {spent['images']:,.0f} images · {failing:,} failing"
