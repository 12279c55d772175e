"""What `repair` is asked to do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, model_validator

from weakspot.core import WeakspotError, check_known
from weakspot.study.options import Option, SeedOption, StudySettings

METHODS: Final = ("last-layer", "full", "lora", "data")
#: Fewer cases prove nothing.
LEAST: Final = 20


def _method(name: str) -> str:
    check_known(name, METHODS, f"no method is called {name[:60]!r}")
    return name


class RepairSettings(StudySettings):
    """Train a model where it fails, and prove on untouched inputs what moved.

    It trains on the repair part of the inputs. Then it shows the model the same cases of the verification
    part before and after: failures removed, failures newly made, the inputs as they are, the whole landscape.
    A repair that trades one failure for another is reported as a trade. Classifiers, summarisers (hf:FOLDER),
    generators (diffusers:FOLDER, --method lora) and the text tower of world:encoder can be trained. The model
    is kept as ONNX or safetensors, with a card.
    """

    run: Annotated[
        str, Option("The folder of a map, a hunt or a mine.", "RUN", names="folder", argument=True)
    ]
    modes: Annotated[
        str,
        Option("Which modes to repair (of hunt or mine: which findings), e.g. 1,3; or preferred.", "NUMBERS"),
    ] = "preferred"
    method: Annotated[
        str,
        AfterValidator(_method),
        Option("full, last-layer, lora; data writes only the data set to train on.", "METHOD"),
    ] = "full"
    target: Annotated[
        str,
        Option("The model to repair, if not that of the run.", "MODEL", names="model", port="Target"),
    ] = ""
    layer: Annotated[str, Option("The name of the last layer, if it cannot be found.", "NAME")] = ""
    rate: Annotated[
        float,
        Option(
            "Share of training inputs that are changed as the weak spots say; 0 takes the method's own "
            "(0.5; last-layer 0.35).",
            "SHARE",
        ),
    ] = 0.0
    epochs: Annotated[int, Option("The most rounds of training; 0 takes the method's own number.")] = 0
    learning_rate: Annotated[float, Option("0 takes the method's own.")] = 0.0
    distil: Annotated[
        float, Option("How much of the training target is the model's earlier answer.", "SHARE")
    ] = 1.0
    mirror: Annotated[bool, Option("Whether a mirrored picture means the same.")] = True
    reset_head: Annotated[bool, Option("Start the last layer from scratch.")] = False
    draws: Annotated[int, Option("Pairs drawn over the whole landscape; 0 leaves this out.")] = 10_000
    most: Annotated[
        int, Option("The most cases of each mode in the proof (generators: 200; slow on a CPU).")
    ] = 2_000
    device: Annotated[str, Option("auto, cpu, cuda.", "DEVICE")] = "auto"
    seed: SeedOption = 0
    here: Annotated[
        str, Option("The directory from which relative paths in the run's settings are meant.", inner=True)
    ] = ""

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        if not 0 <= self.rate <= 1:
            raise WeakspotError(f"the rate cannot be {self.rate:g}", fix="choose a share from 0 to 1")
        if not 0 <= self.distil <= 1:
            raise WeakspotError(f"distil cannot be {self.distil:g}", fix="choose a share from 0 to 1")
        if not 0 <= self.learning_rate < math.inf:
            raise WeakspotError(
                f"the learning rate cannot be {self.learning_rate:g}",
                fix="choose a number that is at least 0",
            )
        if self.draws < 0 or self.most < LEAST or self.epochs < 0:
            raise WeakspotError(
                "a number is too small",
                fix=f"draws and epochs are at least 0, and most is at least {LEAST}",
            )
        return self

    @property
    def numbers(self) -> list[int] | None:
        """The modes' numbers; None for the preferred ones."""
        if self.modes == "preferred":
            return None
        parts = [part.strip() for part in self.modes.split(",")]
        if not all(part.isdecimal() and len(part) < 5 for part in parts):
            raise WeakspotError(
                f"{self.modes[:60]!r} are not numbers of modes", fix="write e.g. 1,3 or preferred"
            )
        found = [int(part) for part in parts]
        if len(set(found)) < len(found):
            raise WeakspotError(f"a mode is named twice in {self.modes[:60]!r}", fix="name each once")
        return found


def resolve(settings: RepairSettings, _: dict[str, Any]) -> RepairSettings:
    """Paths as they are meant from here, so that the run can be resumed from anywhere."""
    from weakspot.study.loading import anchored

    here = str(Path.cwd())
    if settings.device not in ("auto", "cpu"):  # one that is none, or not here, is refused
        from weakspot.models.compute import choose_device

        try:
            choose_device(settings.device)
        except ImportError as error:
            raise WeakspotError(
                f"training on {settings.device[:80]} needs a library that is missing: {error}",
                fix="pip install 'weakspot[torch]'",
            ) from error
    target = anchored(settings.target, here) if settings.target else ""
    own = 0.35 if settings.method == "last-layer" else 0.5  # fewer where plain inputs would pay for it
    return settings.changed(
        rate=settings.rate or own, run=str(Path(settings.run).absolute()), target=target, here=here
    )


def title(settings: RepairSettings) -> str:
    return f"repairing modes {settings.modes} of {settings.run} · {settings.method}"
