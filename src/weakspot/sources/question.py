"""A benchmark's question: the input of every case of the study `ask`.

A target reads `text`, `image` and `system`; everything else says where the question comes from, so that a
recording can answer it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from weakspot.core import Question

BENIGN: Final = "benign"
CONTRAST: Final = "contrast"
#: What is expected of the model, by the set a question belongs to: `Case.expected`.
EXPECTED: Final = {BENIGN: "answer", CONTRAST: "refusal"}


class QuestionImage(NamedTuple):
    """A picture as it is handed to the model.

    Attributes:
        content: The bytes of the file.
        mime: What they are, by their first bytes and whatever the file is called: "image/jpeg".
        width: In pixels.
        height: In pixels.
        note: What was changed to make it fit, e.g. "resized from 9,000 × 6,700"; "" if nothing was.
    """

    content: bytes
    mime: str
    width: int
    height: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion(Question):
    """A question that knows where it comes from.

    Attributes:
        id: Of the item, unique within its set.
        set: `BENIGN` or `CONTRAST`.
        arm: Name of the system prompt; "none" for none.
        stage: "" for the question itself; else which variant of the stage analysis it is.
        repeat: 0 for the first time it is asked.
    """

    id: str = ""
    set: str = BENIGN
    arm: str = "none"
    stage: str = ""
    repeat: int = 0
