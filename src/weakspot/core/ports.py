"""The three ports through which everything of the outside world enters the loop, and the models behind them.

An implementation needs no base class: it has the right methods or it does not, and `weakspot.testing`
says which. All methods take batches. They may raise: the engine then finds the case at fault, records an
error for it and goes on.

What a part may offer beyond its one method is declared here too, below: one small protocol for each ability
(those of chat models are in `weakspot.core.question`). Nobody looks for an attribute that is not declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from weakspot.core.abilities import Digested
from weakspot.core.vocabulary import Case, Hypothesis, Output, Stage, Verdict

if TYPE_CHECKING:  # the list of commands is shown without it
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Source(Protocol):
    """Turns the words of a hypothesis into cases."""

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """The cases at these indices of the hypothesis' endless row of draws, in this order.

        With the run's `seed`, case `i` must follow from `case_seed(seed, hypothesis, i)` alone: not from the
        order, the batch or what was drawn before.
        """


@runtime_checkable
class Target(Protocol):
    """The model under test."""

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """One output per case, in order."""


@runtime_checkable
class Classifier(Target, Protocol):
    """A target that answers with one of a fixed set of labels."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the scores."""

    @property
    def parents(self) -> Mapping[str, str]:
        """The wider class of a label, where one is known; {} otherwise."""


@runtime_checkable
class Judge(Protocol):
    """Says whether the target failed."""

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """One verdict per case, in order. An output that is an error gets `failed=None`."""


# -- models that sources, searches and studies are made with ----------------------------------------
# Pictures are RGB, uint8, (height, width, 3).


@runtime_checkable
class TextEncoder(Protocol):
    """Turns texts into vectors; what means alike should lie near."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 per text."""


@runtime_checkable
class ImageEncoder(Protocol):
    """Turns pictures into vectors."""

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One row of length 1 per picture."""


@runtime_checkable
class Encoder(TextEncoder, ImageEncoder, Protocol):
    """Puts texts and pictures into one space."""


@runtime_checkable
class Captioner(Protocol):
    """Says what is in a picture, in short sentences."""

    def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
        """The most likely text of each picture that begins with `prefix` (which is part of it)."""


@runtime_checkable
class ScoringCaptioner(Captioner, Protocol):
    """A captioner that also says how likely a sentence is; chat models cannot."""

    def log_probabilities(
        self, images: Sequence[NDArray[np.uint8]], sentences: Sequence[str], *, prefix: str = ""
    ) -> NDArray[np.float64]:
        """log P(sentence | picture, prefix), natural: one row per picture, one column per sentence."""


@runtime_checkable
class Generator(Protocol):
    """Makes pictures from texts."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        """One picture per prompt; the same prompt and seed give the same picture in any batch."""


@runtime_checkable
class NoiseGenerator(Generator, Protocol):
    """A generator whose noise can be given: the same prompt and noise give the same picture."""

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """The shape of the standard normal noise that one picture begins with."""

    def generate_from(self, prompts: Sequence[str], noise: NDArray[np.float32]) -> list[NDArray[np.uint8]]:
        """One picture per prompt, each from its own row of noise."""


@runtime_checkable
class LanguageModel(Protocol):
    """Writes: what proposes, describes and judges in words is made with one."""

    def ask(self, prompts: Sequence[str]) -> Sequence[str | None]:
        """One text per prompt, in order; "" or None where there is none."""


# -- what a source may offer beyond `draw` ----------------------------------------------------------

#: What `available` says of a source without an end: more cases than any run has.
ENDLESS: Final = 1 << 40


@runtime_checkable
class Finite(Protocol):
    """A source that comes to an end, such as a folder of pictures."""

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many cases the hypothesis has in a stage: the indices from `stage.start` on, without gaps."""


class Item(NamedTuple):
    """An input of a collection: what it is called, and what people say of it."""

    name: str
    captions: tuple[str, ...] = ()


class Embedded(NamedTuple):
    """The inputs of a collection in an encoder's space: one row of length 1 each, in their order."""

    encoder: TextEncoder
    vectors: NDArray[np.float32]


@runtime_checkable
class Collected(Protocol):
    """A source that has a collection of inputs, such as a folder of photographs, and cannot make more.

    Each input is asked about once, as a case of the baseline, and serves every hypothesis that is true of it.
    """

    @property
    def once(self) -> bool:
        """False where somebody chose that inputs are drawn for each hypothesis all the same."""

    def items(self, hypothesis: Hypothesis, *, seed: int) -> Sequence[Item]:
        """All inputs of a baseline in a random order: `i` is the case that `draw` gives for the index i."""

    def embedded(self, hypothesis: Hypothesis, *, seed: int) -> Embedded | None:
        """The same inputs as vectors; None where no encoder has seen them."""


@runtime_checkable
class Selective(Protocol):
    """A source or generator that cannot draw every text."""

    def understands(self, text: str) -> bool:
        """Whether a text can be drawn. Where it says yes, drawing does not fail because of the words."""


@runtime_checkable
class CpuBound(Protocol):
    """Says whether a source or generator computes in Python, so that several processes draw faster than one.

    Where this is true, the source can be pickled: each process gets a copy of it.
    """

    @property
    def cpu_bound(self) -> bool:
        """False for what waits for files, a GPU or a server."""


@runtime_checkable
class Relabelled(Protocol):
    """A source whose pictures all show one label."""

    def expecting(self, label: str) -> Source:
        """The same source for another label; what was loaded is shared."""


@runtime_checkable
class Captioned(Protocol):
    """A source that knows which captioner says best what its pictures show."""

    @property
    def captioner(self) -> str:
        """The name of the model; "" for none."""


@runtime_checkable
class Skipping(Protocol):
    """A source that leaves out files which it cannot use."""

    @property
    def skipped(self) -> Sequence[tuple[str, str]]:
        """The files that are never drawn, each with the reason."""


@runtime_checkable
class Placing(Protocol):
    """A source that can show an input of somebody's choice, as a policy of `map` chooses it."""

    def place(self, hypothesis: Hypothesis, index: int, number: int, /) -> None:
        """Let the draw with this index show the input with this number."""


@runtime_checkable
class Numbered(Protocol):
    """A source that shows inputs from a finite collection and says which one a draw shows."""

    @property
    def inputs(self) -> int:
        """How many a cell can show while a weak spot is searched for; numbers run from 0."""

    @property
    def distinct(self) -> int:
        """How many of them differ; the others repeat these, in the same order, with other random numbers."""

    def place_of(self, hypothesis: Hypothesis, index: int, *, seed: int) -> int:
        """The number of the input that a draw shows."""


@runtime_checkable
class Counted(Protocol):
    """A source whose cells have inputs of their own, some many and some none, as the rows of a table.

    Both give a number for each cell of the space. A rate is then the rate of the inputs that there are, not
    of more like them.
    """

    @property
    def searched(self) -> NDArray[np.int64]:
        """How many inputs of a cell can be shown while a weak spot is searched for."""

    @property
    def population(self) -> NDArray[np.int64]:
        """How many inputs a cell has in all."""


@runtime_checkable
class Visible(Protocol):
    """A source that lets a policy see something of an input before it chooses what is done to it."""

    @property
    def sees(self) -> str:
        """What the policy sees, for people."""

    def contexts(self, inputs: Sequence[int], /) -> NDArray[np.float32]:
        """What is seen of inputs, by their numbers: one row each, numbers from 0 to 1."""


@runtime_checkable
class Probing(Protocol):
    """A part that can be tried before a run."""

    def probe(self) -> None:
        """Raise a `WeakspotError` that says what would go wrong, or return."""


@runtime_checkable
class Keepable(Protocol):
    """An input of a kind of its own that can be kept as evidence; pictures and texts are kept as they are."""

    def evidence(self) -> bytes | None:
        """A picture's file, or text in UTF-8; None where there is nothing to keep."""


# -- what a judge may offer beyond `judge` ----------------------------------------------------------


@runtime_checkable
class Waiting(Protocol):
    """A judge that waits for people: its verdicts on new outputs come in a later session.

    It keeps what it asks on this machine, so it cannot be copied to others.
    """

    def hold(self) -> None:
        """Raise a `WeakspotError` if outputs still wait; it says what a person has to do."""


@runtime_checkable
class ErrorKnown(Protocol):
    """A judge whose error against people was measured."""

    @property
    def confusion(self) -> Any:
        """A `weakspot.stats.Confusion`, or a mapping with its keys; None where it does not apply."""


# -- the answers of parts that do not say -----------------------------------------------------------


def available(source: Source, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
    """How many cases a hypothesis has in a stage; `ENDLESS` where the source does not end."""
    if isinstance(source, Finite):
        return int(source.available(hypothesis, seed=seed, stage=stage))
    return ENDLESS


def collected(source: object) -> Collected | None:
    """The source, where its inputs are a collection of which each is asked about once."""
    return source if isinstance(source, Collected) and source.once else None


def understands(part: object, text: str) -> bool:
    """Whether a source or generator can draw a text; one that does not say can draw any."""
    return not isinstance(part, Selective) or bool(part.understands(text))


def cpu_bound(part: object) -> bool:
    """Whether several processes draw faster than one."""
    return isinstance(part, CpuBound) and bool(part.cpu_bound)


def digest_of(part: object) -> str:
    """The digest of a part itself; "" where it has none."""
    return str(part.digest or "") if isinstance(part, Digested) else ""
