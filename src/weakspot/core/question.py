"""What a chat model is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weakspot.core.errors import WeakspotError


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
        """A question from a text, a mapping, or any object with the fields `text`, `image`, `system`.

        Raises:
            WeakspotError: It has no text.
        """
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
