"""What a chat model is asked, and what it may offer beyond its answer.

The input of every case of the study `ask` is a `BenchmarkQuestion`. A target reads its text, image and system
prompt; the rest says where it comes from, so that a recording can answer it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from weakspot.core.errors import WeakspotError
from weakspot.core.vocabulary import Output


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Words for a chat model, with a picture and a system prompt where there are any.

    Attributes:
        text: What the user says.
        image: RGB of uint8, the bytes of an image file, its path, or anything with such bytes as `content`.
        system: The system prompt; None leaves it to the model's own setting, "" is none.
    """

    text: str
    image: Any = None
    system: str | None = None

    @classmethod
    def of(cls, value: object) -> Question:
        """A question from a text, a mapping, or any object with the fields `text`, `image`, `system`."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls(value)
        fields = value if isinstance(value, Mapping) else {n: getattr(value, n, None) for n in cls.__slots__}
        text, system = fields.get("text"), fields.get("system")
        if not isinstance(text, str) or not (system is None or isinstance(system, str)):
            raise WeakspotError(
                f"a {type(value).__name__} is not a question for a chat model",
                fix="give a text, or text, image and system, as weakspot.core.Question does",
            )
        return cls(text, fields.get("image"), system)


BENIGN: Final = "benign"
CONTRAST: Final = "contrast"
#: What is expected of the model, by the set a question belongs to: `Case.expected`.
EXPECTED: Final = {BENIGN: "answer", CONTRAST: "refusal"}


@runtime_checkable
class ImageFile(Protocol):
    """A picture that is there as the bytes of its file."""

    @property
    def content(self) -> bytes:
        """PNG, JPEG, WebP or GIF."""


@runtime_checkable
class Noted(Protocol):
    """A picture of which a person should know something, such as that it was made smaller."""

    @property
    def note(self) -> str:
        """In a few words; "" for nothing."""


class QuestionImage(NamedTuple):
    """A picture as it is handed to the model.

    Attributes:
        content: The bytes of the file.
        mime: What they are, by their first bytes and whatever the file is called: "image/jpeg".
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


# -- what chat models, and those who ask them, may offer ----------------------------------------------


@runtime_checkable
class AnswersQuestions(Protocol):
    """A model of questions; it reads their pictures itself, and keeps to its own limit of calls at once."""

    def answer_questions(self, questions: Sequence[object]) -> list[Output]:
        """One output per question, in order; see `Question.of` for what a question is."""


@runtime_checkable
class Waits(Protocol):
    """A model behind a server: each question is a call of its own, and many are under way at once."""

    @property
    def width(self) -> int:
        """How many calls it stands at once just now."""

    @property
    def most(self) -> int:
        """How many it ever stands."""


@runtime_checkable
class Stoppable(Protocol):
    """A model whose calls can be ended while they are under way."""

    def stop(self) -> None:
        """End them and send nothing more; from any thread."""


@runtime_checkable
class NeedsImages(Protocol):
    """A target or a judge that says whether it is shown pictures; a target that does not say so is."""

    needs_images: bool


class Cost(Protocol):
    """What something costs, or has cost."""

    tokens: int
    dollars: float


class Requests(Cost, Protocol):
    """What requests have cost so far."""

    calls: int  # requests sent, with every further attempt
    known: int  # those of them whose cost is known: not so while they are under way, or if no reply came


#: How the note on an answer begins that the limit of tokens ended, so that its end is missing.
CUT_OFF: Final = "cut off"
#: How the detail of an output begins whose request was never sent, because a limit was reached.
NOT_SENT: Final = "not sent: "


@runtime_checkable
class Budgeted(Protocol):
    """A model that counts its requests, and asks before each of them whether it may still be sent.

    `may_send` gives "" and the request counts as sent, or why not, which begins with `NOT_SENT`. It is called
    from the thread that sends.
    """

    spent: Requests
    may_send: Callable[[], str] | None


@runtime_checkable
class Priced(Protocol):
    """A model with a price, in dollars per million tokens read and written; None where it is not known."""

    name: str
    price: Any


@runtime_checkable
class Estimates(Protocol):
    """A model that says beforehand what questions would cost: see `weakspot.models.chat.costs.Estimate`."""

    def estimate(self, questions: Sequence[object]) -> Any:
        """Where they would go, and for how many tokens and dollars. Sends nothing."""
