"""The four ports through which everything of the outside world enters the loop, and the models behind them.

An implementation needs no base class: it has the right methods or it does not, and `weakspot.testing`
says which. All methods take batches. They may raise: the engine then finds the case at fault, records an
error for it and goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from weakspot.core.vocabulary import Case, Hypothesis, Output, Stage, Tally, Trial, Verdict

if TYPE_CHECKING:  # the list of commands is shown without it
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Source(Protocol):
    """Turns the words of a hypothesis into cases."""

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """The cases at these indices, in this order.

        Args:
            hypothesis: What to draw.
            indices: Which of its endless row of draws.
            seed: The run's seed. Case `i` must follow from `case_seed(seed, hypothesis, i)` alone: not
                from the order, the batch or what was drawn before.
        """
        ...


@runtime_checkable
class Target(Protocol):
    """The model under test."""

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """One output per case, in order."""
        ...


@runtime_checkable
class Classifier(Target, Protocol):
    """A target that answers with one of a fixed set of labels."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the scores."""
        ...

    @property
    def parents(self) -> Mapping[str, str]:
        """The wider class of a label, where one is known; {} otherwise."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Says whether the target failed."""

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """One verdict per case, in order. An output that is an error gets `failed=None`."""
        ...


class LedgerView(Protocol):
    """What a search may read of a run."""

    def hypotheses(self) -> list[Hypothesis]:
        """All hypotheses, oldest first."""
        ...

    def tallies(self) -> Mapping[str, Tally]:
        """Counts by hypothesis id, all stages together."""
        ...

    def trials(
        self, hypothesis: Hypothesis, *, stage: Stage | None = None, failed: bool | None = None
    ) -> list[Trial]:
        """Trials of a hypothesis in the order of their indices; of one stage, failures or passes only."""
        ...


@runtime_checkable
class Search(Protocol):
    """Learns from the ledger what to try next."""

    def propose(self, ledger: LedgerView) -> list[Hypothesis]:
        """New hypotheses, most promising first; [] when done."""
        ...


# -- models that sources, searches and studies are made with ----------------------------------------
# Pictures are RGB, uint8, (height, width, 3).


@runtime_checkable
class TextEncoder(Protocol):
    """Turns texts into vectors; what means alike should lie near."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 per text."""
        ...


@runtime_checkable
class Encoder(TextEncoder, Protocol):
    """Puts texts and pictures into one space."""

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One row of length 1 per picture."""
        ...


@runtime_checkable
class Captioner(Protocol):
    """Says what is in a picture, in short sentences."""

    def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
        """The most likely text of each picture that begins with `prefix` (which is part of it)."""
        ...

    def log_probabilities(
        self, images: Sequence[NDArray[np.uint8]], sentences: Sequence[str], *, prefix: str = ""
    ) -> NDArray[np.float64]:
        """log P(sentence | picture, prefix), natural: one row per picture, one column per sentence."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Makes pictures from texts."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        """One picture per prompt; the same prompt and seed give the same picture in any batch."""
        ...
