"""What a model, and any part made of models, may offer beyond its port: a protocol for each ability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:  # the list of commands is shown without it
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Composed(Protocol):
    """A part made of models, such as a source of its generator or a judge of its second opinions."""

    @property
    def models(self) -> tuple[object, ...]:
        """What it asks: their digests, revisions and lines about them are those of the part."""


@runtime_checkable
class Digested(Protocol):
    """A part that is known again: a run is not resumed with another one."""

    @property
    def digest(self) -> str | None:
        """Follows from everything that changes its answers: weights, number format, settings.

        None or "" where that is not known.
        """


@runtime_checkable
class Revised(Protocol):
    """A model from a hub with revisions."""

    @property
    def revision(self) -> str:
        """The commit that was loaded; "" where it came from a plain folder."""


@runtime_checkable
class Described(Protocol):
    """A model that says in a few words what it is and where it runs."""

    @property
    def about(self) -> str:
        """One line for people; "" for nothing to say."""


@runtime_checkable
class Formatted(Protocol):
    """A model that says in which number format it computes."""

    @property
    def dtype(self) -> str:
        """float32, float16, bfloat16, …; "" where it does not matter."""


@runtime_checkable
class Located(Protocol):
    """A model that says where it runs."""

    @property
    def device(self) -> str:
        """cpu, cuda:0, …"""


@runtime_checkable
class Trainable(Protocol):
    """An encoder whose text tower is an ONNX file that can be trained and put back."""

    @property
    def text_file(self) -> Path:
        """The graph, from tokens to vectors."""

    def tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The tokens of texts, filled up to one length."""

    def name_with(self, text_file: Path) -> str:
        """The name of the same encoder with another text tower."""


@runtime_checkable
class Releasing(Protocol):
    """A model that can leave the memory of its device."""

    def release(self) -> None:
        """Free what can be loaded again; the next call loads it."""


@runtime_checkable
class Batching(Protocol):
    """A model that says how many inputs it takes best at once."""

    @property
    def batch(self) -> int:
        """At least 1."""


@runtime_checkable
class Doubtful(Protocol):
    """A classifier that may have noticed that its numbers are no probabilities."""

    @property
    def doubt(self) -> str:
        """What is wrong with the numbers seen so far; "" for nothing."""


@runtime_checkable
class Repeating(Protocol):
    """A generator behind a server, which may draw anew each time."""

    @property
    def repeats(self) -> bool:
        """Whether the same prompt and seed give the same picture again."""
