"""A chat model that sees, as a captioner: `--captioner chat:openai/gpt-4o`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Output, Status, WeakspotError

PROMPT: Final = (
    "Say what is in the picture in two to five short sentences of plain words: what else is there, where it "
    "is, its colours, the light, the weather, the background. One fact per sentence, each beginning with "
    "'it is' or 'there is'. Say nothing of what you guess. Reply with the sentences alone."
)
#: The longest caption, in characters.
LONGEST: Final = 2000


class CaptionsWhenAsked:
    """What `weakspot.core.Captioner` asks for, for a chat model. It knows no probabilities.

    Descriptions of groups are then scored by an encoder, where there is one. What the model says is hostile
    text like any other answer.
    """

    def ask_detailed(self, prompts: Sequence[str], images: Sequence[Any] | None = None) -> list[Output]:
        """One output per prompt, each with its picture."""
        raise NotImplementedError

    def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
        """See `Captioner`. A picture of which nothing was said has the prefix alone."""
        known = f" It is known already that this is true: {prefix}" if prefix else ""
        outputs = self.ask_detailed([PROMPT + known] * len(images), list(images))
        lost = [output for output in outputs if output.status is not Status.OK or not output.answer]
        if outputs and len(lost) == len(outputs):
            raise WeakspotError(
                f"the captioner said nothing about {len(images)} pictures: "
                f"{lost[0].detail or lost[0].status}",
                fix="check that the model can see; see docs/chat.md",
            )
        found = []
        for output in outputs:
            said = output.answer if output.status is Status.OK and output.answer else ""
            said = " ".join("".join(c if c.isprintable() else " " for c in said).split())[:LONGEST]
            found.append(f"{prefix} {said.removeprefix(prefix).strip()}".strip() if said else prefix)
        return found
