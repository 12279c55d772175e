"""A chat model that sees, as a captioner: `--captioner chat:openai/gpt-4o`.

It says what is in pictures, and knows no probabilities; descriptions of groups are then scored by an encoder,
where there is one. What it says is hostile text like any other answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Output, Status, WeakspotError

PROMPT: Final = (
    "Say what is in the picture in two to five short sentences of plain words: what else is there, where it "
    "is, its colours, the light, the weather, the background. One fact per sentence, each beginning with "
    "'it is' or 'there is'. Say nothing of what you guess. Reply with the sentences alone."
)
#: Of a caption, in characters.
LONGEST: Final = 2000


class Sees(Protocol):
    """A chat model that can be shown pictures."""

    def ask_detailed(self, prompts: Sequence[str], images: Sequence[Any] | None = None) -> list[Output]:
        """One output per prompt."""
        ...


class ChatCaptioner:
    """See `weakspot.core.Captioner`.

    Args:
        prompt: What it is asked, beside the picture.
    """

    def __init__(self, model: Sees, *, prompt: str = PROMPT) -> None:
        self.model, self.prompt = model, prompt

    def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
        """See `Captioner`. A picture of which nothing was said has the prefix alone.

        Raises:
            WeakspotError: Nothing was said of any picture; it says why.
        """
        known = f" It is known already that this is true: {prefix}" if prefix else ""
        outputs = self.model.ask_detailed([self.prompt + known] * len(images), list(images))
        lost = [output for output in outputs if output.status is not Status.OK or not output.answer]
        if outputs and len(lost) == len(outputs):
            raise WeakspotError(
                f"the captioner said nothing of {len(images)} pictures: {lost[0].detail or lost[0].status}",
                fix="check that the model can see; see docs/chat.md",
            )
        return [self._text(output, prefix) for output in outputs]

    @staticmethod
    def _text(output: Output, prefix: str) -> str:
        said = output.answer if output.status is Status.OK and output.answer else ""
        said = " ".join("".join(c if c.isprintable() else " " for c in said).split())[:LONGEST]
        return f"{prefix} {said.removeprefix(prefix).strip()}".strip() if said else prefix


def captioner_of(model: Any) -> Any:
    """A chat model as a captioner; what is one already, and anything else, as it is."""
    sees = hasattr(model, "ask_detailed") and not hasattr(model, "captions")
    return ChatCaptioner(model) if sees else model
