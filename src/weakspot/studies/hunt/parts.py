"""What `hunt` is made with: a classifier and its labels, and models that look at pictures and reword."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weakspot.core import MODELS, Captioner, Encoder, WeakspotError
from weakspot.core.ports import Captioned, collected
from weakspot.judges.verified import Opinion
from weakspot.sources.folder import files_in
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study.labels import LabelledParts, labelled_workers, load_labelled
from weakspot.study.loading import part
from weakspot.text.llm_answers import Asked


@dataclass(frozen=True)
class HuntParts(LabelledParts):
    """What the settings name.

    A captioner says what is in pictures where the source does not know; `chosen` has its name where the
    source chose it. An encoder groups failures by what they look like; a language model proposes and
    rewords captions.
    """

    captioner: Captioner | None = None
    encoder: Encoder | None = None
    llm: Asked | None = None
    chosen: Mapping[str, str] = field(default_factory=dict)

    @property
    def verify(self) -> tuple[Opinion, ...]:
        """The second opinions, as the setting is called."""
        return self.opinions


def load(settings: HuntSettings, **objects: Any) -> HuntParts:
    """Load what is named; what does not fit together is told here."""
    labelled = load_labelled(settings.task, **objects)
    source, named = labelled.source, settings.captioner
    if named is None and isinstance(source, Captioned):
        named = source.captioner or None
    captioner = _optional(objects.get("captioner"), named, Captioner)
    encoder = _optional(objects.get("encoder"), settings.encoder, Encoder)
    llm = _optional(objects.get("llm"), settings.llm, Asked)
    if settings.from_images is not None and captioner is None:
        raise WeakspotError("pictures to begin with must be described in words", fix="name a captioner")
    if settings.from_images is not None:
        files_in(settings.from_images)  # a wrong folder is said before there is a run
    if collected(source) is not None:
        _fits_photographs(settings)
    chosen = {"captioner": named} if named is not None and settings.captioner is None else {}
    return HuntParts(**vars(labelled), captioner=captioner, encoder=encoder, llm=llm, chosen=chosen)


def workers(
    settings: HuntSettings, parts: HuntParts, objects: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """How a worker on another machine makes its source, target and judge."""
    return labelled_workers(settings.task, parts, objects)


def _fits_photographs(settings: HuntSettings) -> None:
    """Refuse what can be done with pictures that are drawn only."""
    for name, value in (("llm", settings.llm), ("from_images", settings.from_images)):
        if value is not None:
            raise WeakspotError(
                f"{name} is for pictures that are drawn; a folder of photographs is used as it is",
                fix=f"leave out --{name.replace('_', '-')}, or draw for each hypothesis: retrieve:…&top=20",
            )
    if settings.certify is not None:
        raise WeakspotError(
            "certifying a limit takes newly drawn pictures, and a folder of photographs has no more",
            fix="leave out --certify; the report's last lines say what the photographs exclude",
        )
    if settings.encoder is not None:
        raise WeakspotError(
            "the encoder of a folder of photographs is part of the source's name",
            fix=f"write --source 'retrieve:FOLDER?encoder={settings.encoder}'",
        )


def _optional(given: Any, name: str | None, port: type) -> Any:
    return None if given is None and name is None else part(given, name or "", MODELS, port)
