"""What the toy study is asked, and what that names."""

from typing import Annotated, Any, Self

from pydantic import model_validator

from weakspot.study.labels import LabelledParts, labelled_workers, load_labelled
from weakspot.study.options import BudgetOption, LabelSettings, Option, SeedOption, check_labels


class ToySettings(LabelSettings):
    """Count how often each sentence, added to the plain prompt, makes a classifier fail."""

    sentence: Annotated[tuple[str, ...], Option("A sentence; may be repeated.", "TEXT")] = ()
    draws: Annotated[int, Option("Pictures per sentence.")] = 200
    budget: BudgetOption = "images=2000"
    seed: SeedOption = 0

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        check_labels(self.task)
        return self


def load(settings: ToySettings, **objects: Any) -> LabelledParts:
    return load_labelled(settings.task, **objects)


def workers(settings: ToySettings, parts: LabelledParts, objects: dict[str, Any]) -> dict[str, Any]:
    return labelled_workers(settings.task, parts, objects)
