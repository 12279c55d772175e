"""What `hunt` is asked to do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import model_validator

from weakspot.core import MODELS, Classifier, Target, WeakspotError, check_known
from weakspot.core.registry import name_of
from weakspot.study.options import (
    BudgetOption,
    FdrOption,
    LabelSettings,
    LabelTask,
    Option,
    ProposeOption,
    SeedOption,
    check_labels,
)

#: What findings may be listed by.
ORDERS: Final = ("weight", "rate", "impact")

_model: Final = partial(Option, shown="MODEL", names="model")


class HuntSettings(LabelSettings):
    """Find captions under which an image classifier fails more often than usual.

    It hunts the failures of one label, or of several with one budget. A source that does not know what it
    drew, such as a generator, needs a captioner as well.
    """

    labels: Annotated[
        str | tuple[str, ...],
        Option(
            "Several labels with one budget: all, a list with commas, or a file with one per line.", "WHICH"
        ),
    ] = ""
    judge: Annotated[
        str | None,
        Option(
            "What counts as a failure (see: weakspot list judges); by default a missed label.",
            "JUDGE",
            names="judge",
            port="Judge",
        ),
    ] = None
    verify: Annotated[
        tuple[str, ...],
        _model(
            "A classifier or encoder that must see the label before a picture counts; may be repeated.",
            port="Classifier | Encoder",
        ),
    ] = ()
    captioner: Annotated[
        str | None,
        _model("Describes pictures when the source does not know what it drew.", port="Captioner | Target"),
    ] = None
    encoder: Annotated[str | None, _model("Groups failures by what they look like.", port="Encoder")] = None
    llm: Annotated[
        str | None,
        _model("A language model that proposes and rewords captions, e.g. chat:openai/…", named=name_of),
    ] = None
    propose: ProposeOption = "both"
    from_images: Annotated[
        str | None,
        Option("Pictures to start from, such as failures seen elsewhere.", "FOLDER", names="folder"),
    ] = None
    tags: Annotated[
        str | None,
        Option(
            "What an encoder may see in photographs without captions: one word or phrase per line.",
            "FILE",
            names="file",
        ),
    ] = None
    sentences: Annotated[int, Option("The most sentences that one caption may have.")] = 3
    edits: Annotated[
        int, Option("How many edits of each finding to measure (denied, another colour, …).")
    ] = 4
    order: Annotated[
        str, Option("How findings are listed: by weight (impact × excess), rate or impact.", "HOW")
    ] = "weight"
    seed: SeedOption = 0
    budget: BudgetOption = "images=20000"
    fdr: FdrOption = 0.05
    certify: Annotated[
        float | None,
        Option(
            "Keep drawing until nothing else that was tried can fail more often than this, e.g. 0.08.",
            "SHARE",
        ),
    ] = None

    @property
    def hunted(self) -> tuple[str, ...]:
        """All labels that are hunted."""
        several = (self.labels,) if isinstance(self.labels, str) and self.labels else tuple(self.labels)
        return several or (self.label,)

    @property
    def task(self) -> LabelTask:
        """What is asked of the classifier."""
        return replace(super().task, hunted=self.hunted, judge=self.judge, verify=self.verify)

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        check_labels(self.task)
        if not 1 <= self.sentences <= 8:
            raise WeakspotError(
                f"a caption of {self.sentences} sentences makes no sense", fix="choose 1 to 8"
            )
        if self.edits < 0:
            raise WeakspotError(f"{self.edits} edits cannot be made", fix="choose 0 or more")
        check_known(self.order, ORDERS, f"findings cannot be listed by {self.order[:80]!r}")
        if self.certify is not None and not 0 < self.certify < 1:
            raise WeakspotError(
                f"a rate of {self.certify} cannot be certified", fix="write a share, e.g. 0.08 for 8 %"
            )
        if self.propose == "llm" and self.llm is None:
            raise WeakspotError("there is no language model that could propose", fix="name one: --llm MODEL")
        if self.from_images is not None and len(self.hunted) > 1:
            raise WeakspotError("pictures to begin with are of one label", fix="hunt one label at a time")
        return self


def title(settings: HuntSettings) -> str:
    """The first line on the screen."""
    which = settings.labels
    some = _listed(which) if isinstance(which, str) else which
    what = "all labels" if some is None else f"{len(some)} labels" if which else repr(settings.label)
    return f"hunting {settings.target} for {what}"


def subject(settings: HuntSettings, _: object) -> str:
    """A word for people."""
    return settings.label or f"{len(settings.hunted)} labels"


def resolve(settings: HuntSettings, objects: dict[str, Any]) -> HuntSettings:
    """The labels one by one, where a text says which."""
    text = settings.labels
    if not isinstance(text, str):
        return settings
    labels = _listed(text)
    if labels is None:
        labels = _of_model(settings.target, objects.get("target"))
    is_file = bool(text) and Path(text).is_file()  # it may know their parents too
    return settings.changed(labels=labels, labels_file=settings.labels_file or (text if is_file else None))


def _listed(text: str) -> tuple[str, ...] | None:
    """The labels of a list with commas, or of a file; None where all are meant."""
    if text.strip() == "all":
        return None
    if text and Path(text).is_file():
        from weakspot.sources.prompts import read_label_file

        return tuple(row.name for row in read_label_file(Path(text)))
    return tuple(label.strip() for label in text.split(",") if label.strip())


def _of_model(name: str, given: object) -> tuple[str, ...]:
    from weakspot.study.loading import part

    model: Target = part(given, name, MODELS, Target)
    labels = tuple(model.labels) if isinstance(model, Classifier) else ()
    if not labels:
        raise WeakspotError(f"{name} does not say what its labels are", fix="list them with commas")
    return labels
