"""What a finished run leaves to the study `repair`: which weak spots are to go, and how.

A study says so with the hook `repair` of its `Study`: a function from (run, settings, target) to a `Job`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Judge, Output, Source, Stage, Target, WeakspotError
from weakspot.core.ports import available

Image = NDArray[np.uint8]
#: Fewer pictures teach nothing, and prove nothing.
LEAST: Final = 20


class RepairTask(Protocol):
    """What a job is told of the repair: its settings, as `repair` has them.

    Attributes:
        numbers: The weak spots by their numbers; None for the preferred ones.
        method: last-layer, full, lora or data.
        target: Name of the model; "" for that of the run.
        rate: Share of the inputs that are as the weak spots say in training.
        epochs: Rounds at most; 0 for the method's own number.
        learning_rate: 0 for the method's own.
        distil: How much of the training target is the model's earlier answer.
        most: Cases of each weak spot in the proof at most.
        here: The directory from which relative paths in the run's settings are meant.
    """

    @property
    def numbers(self) -> list[int] | None: ...

    method: str
    target: str
    rate: float
    epochs: int
    learning_rate: float
    distil: float
    device: str
    seed: int
    most: int
    here: str


@dataclass(frozen=True, slots=True)
class Spot:
    """Some inputs whose failures are counted before and after.

    Attributes:
        hypotheses: What is drawn, in equal parts.
        number: Of the mode or finding; 0 if it is none.
        failed: Where there is nothing to draw and to judge: says of a model which of its own cases fail, the
            same cases in the same order each time; None where a case has no verdict.
    """

    words: str
    hypotheses: tuple[Hypothesis, ...] = ()
    number: int = 0
    failed: Callable[[Any], list[bool | None]] | None = None


class Pair(NamedTuple):
    """One case, as the model was shown it (or drew it) before and after.

    Attributes:
        cases: The case; a generator draws its own, with the same noise.
        failed: Whether that is a failure; None where there is no verdict.
    """

    cases: tuple[Case, Case]
    said: tuple[Output, Output]
    failed: tuple[bool | None, bool | None]


#: What was answered to the cases of each spot, before and after; by the spot's words.
Answers = Mapping[str, Sequence[tuple[str | None, str | None]]]


class Fitted(NamedTuple):
    """A model that was changed.

    Attributes:
        history: How it went: curve, best, epochs, parameters, layer (see `weakspot.tuning.train.Trained`),
            and how many inputs there were, as "pictures".
    """

    target: Any
    name: str
    history: dict[str, Any]


#: Told what is being done, how much of it is done, and of how much.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The weak spots of a run, and all that is needed to repair them and to prove it.

    Attributes:
        chosen: What is to be repaired.
        others: What must not get worse.
        clean: Inputs as they are.
        source: Draws what the proof is made on.
        seed: For these draws.
        lessons: What a classifier learns from, given the labels of the network.
        samples: Pictures for the data set: (picture, label, why), given the rate and a seed.
        fit: Changes a model that is no classifier: given the run's folder and who is told of the progress.
        write: Writes the data set into a new folder where it is no folder of pictures, and says what it is:
            its "folder", how many "pictures" (or what "kind" of things).
        space: Whose landscape is measured; None where there is none.
        draws: Pairs over the landscape at most, whatever is asked for.
        most: Cases of each spot at most, whatever is asked for.
        batch: Cases that are shown at once.
        pairs: Draws cases of a hypothesis and asks both models, given the one after, where that is done
            otherwise than by `source`, `target` and `judge`, as with generators.
        cluster: What a case is of, where several may be of one: the name of its picture, of its text.
        wanted: The rate of failures that is wanted; see `weakspot.studies.repair.result.Change`.
        also: More facts of the result, given what was answered in the chosen spots.
        digests: Of data, for run.yaml.
    """

    target: Target
    name: str
    judge: Judge
    chosen: tuple[Spot, ...]
    others: tuple[Spot, ...]
    clean: Spot
    source: Source
    seed: int
    lessons: Callable[[Sequence[str]], Any] | None = None
    samples: Callable[[float, int], list[tuple[Image, str, str]]] | None = None
    fit: Callable[[Path, Progress], Fitted] | None = None
    write: Callable[[Path], dict[str, Any]] | None = None
    space: ConceptSpace | None = None
    draws: int = 1 << 31
    most: int = 1 << 31
    batch: int = 256
    pairs: Callable[[Any, Hypothesis, Sequence[int]], list[Pair]] | None = None
    cluster: Callable[[Case], str] | None = None
    wanted: float = 0.0
    also: Callable[[Answers], dict[str, Any]] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    def available(self, hypothesis: Hypothesis) -> int:
        """How many independent draws there are."""
        return available(self.source, hypothesis, seed=self.seed, stage=Stage.EXPLORE)


def mixed(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """One of each in turn."""
    return [row[i] for i in range(max(map(len, rows), default=0)) for row in rows if i < len(row)]


def chosen_of(settings: RepairTask, preferred: list[int] | None, count: int, what: str) -> list[int]:
    """The numbers that are meant; an error if one does not exist."""
    numbers = settings.numbers if preferred is None else preferred
    wrong = [n for n in numbers or [] if not 1 <= n <= count]
    if wrong or not numbers:
        raise WeakspotError(
            f"there is no {what} {wrong[0] if wrong else ''}".rstrip(),
            fix=f"the run has {what}s 1 to {count}",
        )
    return numbers


def derived(seed: int, what: str) -> int:
    """Another seed, for another purpose."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{what}".encode(), digest_size=6).digest(), "big")


def row_words(row: dict[str, float]) -> str:
    """A round of training, for people."""
    return (
        f"fails {100 * row['transformed']:.1f} % transformed, {100 * row['plain']:.1f} % plain (validation)"
    )
