"""The options of studies that ask a classifier about labels: hunt and rare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from weakspot.core import WeakspotError
from weakspot.study.options import LabelsFileOption, Option, SenseOption, StudySettings


def _template(text: str) -> str:
    from weakspot.sources.prompts import check_template  # only now: the help of a command needs no sources

    check_template(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTask:
    """What is asked of a classifier.

    Attributes:
        target: Name of the classifier.
        source: Name of what draws images from words.
        hunted: The labels whose failures are counted.
        target_label: If given, only this wrong answer counts as a failure.
        judge: Name of the judge; by default the label is missed, or `target_label` is said.
        verify: Names of models that must see the label in a picture before it counts.
        labels_file: A file with names and parents of labels.
        sense: Which meaning of the label is meant, where WordNet knows several.
        prompt: The plain prompt; {label} and {parent} are filled in.
    """

    target: str
    source: str
    hunted: tuple[str, ...]
    target_label: str | None = None
    judge: str | None = None
    verify: tuple[str, ...] = ()
    labels_file: str | None = None
    sense: str | None = None
    prompt: str = "a realistic photograph of a {label} ({parent})."


class LabelSettings(StudySettings):
    """The options that these studies share."""

    target: Annotated[
        str,
        Option(
            "The classifier, e.g. world:classifier (see: weakspot list models).",
            "MODEL",
            names="model",
            port="Target",
            argument=True,
        ),
    ]
    label: Annotated[str, Option("The label whose failures are counted.", "LABEL")] = ""
    target_label: Annotated[str | None, Option("Count only this wrong answer as a failure.", "LABEL")] = None
    source: Annotated[
        str,
        Option(
            "What draws images from words (see: weakspot list sources).",
            "SOURCE",
            names="source",
            port="Source | Generator",
        ),
    ] = "world:renderer"
    prompt: Annotated[
        str,
        AfterValidator(_template),
        Option("The plain prompt, with {label} and, if wanted, ({parent}).", "TEXT"),
    ] = "a realistic photograph of a {label} ({parent})."
    labels_file: LabelsFileOption = None
    sense: SenseOption = None

    @property
    def task(self) -> LabelTask:
        """What is asked of the classifier."""
        return LabelTask(
            target=self.target,
            source=self.source,
            hunted=(self.label,),
            target_label=self.target_label,
            labels_file=self.labels_file,
            sense=self.sense,
            prompt=self.prompt,
        )


def check_labels(task: LabelTask) -> None:
    """Refuse labels that cannot be meant."""
    if not all(label.strip() for label in task.hunted):
        raise WeakspotError("the label is empty", fix="name the label whose failures are hunted")
    if len({*task.hunted}) < len(task.hunted):
        raise WeakspotError("a label is given twice", fix="give each label once")
    if task.target_label in task.hunted:
        raise WeakspotError("the target label is the right label", fix="name a wrong answer, or leave it out")
    if task.target_label is not None and task.judge is not None:
        raise WeakspotError(
            "a target label and a judge both say what a failure is",
            fix="give one of the two; label?target=… is the judge for a target label",
        )
