"""What `repair` is made with: its settings, and the job that a run of another study leaves it.

A job says which weak spots are to go, what must stay as it is, what to learn from, and what to prove it on:
inputs that neither the search nor the training saw. `JOBS` says who makes it of which study.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Judge, Output, Source, Stage, Target, WeakspotError, nearest
from weakspot.store import Run
from weakspot.study.loading import check_seed

Image = NDArray[np.uint8]
METHODS: Final = ("last-layer", "full", "lora", "data")
#: Fewer pictures teach nothing, and prove nothing.
LEAST: Final = 20


def own_rate(method: str) -> float:
    """The share of inputs that are transformed in training: fewer where plain inputs would pay for it."""
    return 0.35 if method == "last-layer" else 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """What is repaired, and how; kept in run.yaml.

    Attributes:
        run: The folder of the run whose weak spots are repaired, as an absolute path.
        modes: Their numbers, "1,3", or "preferred".
        method: last-layer, full, lora, or data (only the data set).
        target: Name of the model; that of the run by default.
        layer: Name of the last layer, where it cannot be found.
        rate: Share of the pictures that are transformed in training.
        epochs: At most; 0 takes the method's own number.
        learning_rate: 0 takes the method's own.
        distil: How much of the wanted answer is the model's former one to the plain picture.
        mirror: Whether a mirrored picture means the same.
        reset_head: The last layer begins anew.
        draws: Pairs over the whole landscape.
        most: Cases of each mode at most.
        device: "auto", "cpu", "cuda".
        seed: Everything random follows from it.
        here: The directory from which relative paths in the run's settings are meant.
        budget: Always the number of pairs; kept for `resume`.
    """

    run: str
    modes: str = "preferred"
    method: str = "full"
    target: str = ""
    layer: str = ""
    rate: float = 0.5
    epochs: int = 0
    learning_rate: float = 0.0
    distil: float = 1.0
    mirror: bool = True
    reset_head: bool = False
    draws: int = 10_000
    most: int = 2_000
    device: str = "auto"
    seed: int = 0
    here: str = ""
    budget: str = "images=1000000"

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is loaded."""
        if self.method not in METHODS:
            raise WeakspotError(
                f"no method is called {self.method[:60]!r}",
                fix=nearest(self.method, METHODS) or f"choose from: {', '.join(METHODS)}",
            )
        if not 0 < self.rate <= 1:
            raise WeakspotError(f"the rate cannot be {self.rate:g}", fix="choose a share above 0 and up to 1")
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
        if self.device not in ("auto", "cpu"):
            _there(self.device)
        check_seed(self.seed)

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


def _there(device: str) -> None:
    """Refuse a device that is none, or not here."""
    from weakspot.models.compute.device import choose_device

    try:
        choose_device(device)
    except ImportError as error:
        raise WeakspotError(
            f"training on {device[:80]} needs a library that is missing: {error}",
            fix="pip install 'weakspot[torch]'",
        ) from error


@dataclass(frozen=True, slots=True)
class Spot:
    """Some inputs whose failures are counted before and after.

    Attributes:
        words: Which.
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
        said: What was answered.
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
        target: As it is now.
        name: The name under which it is a target.
        learnt: How it went: curve, best, epochs, parameters, layer (see `weakspot.tuning.train.Trained`),
            and how many inputs there were, as "pictures".
    """

    target: Any
    name: str
    learnt: dict[str, Any]


#: Told what is being done, how much of it is done, and of how much.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be done.

    Attributes:
        target: The model as it is.
        name: Its name.
        judge: Says what a failure is.
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
        wanted: The rate of failures that is wanted; see `weakspot.studies.repair.proof.Change`.
        also: More facts of the result, given what was answered in the chosen spots.
        counts: Inputs per part, for people.
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
        some = getattr(self.source, "available", None)
        return 1 << 31 if some is None else int(some(hypothesis, seed=self.seed, stage=Stage.EXPLORE))


#: By study: "module:function" from (run, settings, target) to a job.
JOBS: Final[dict[str, str]] = {
    "map": "weakspot.studies.repair.parts:map_job",
    "hunt": "weakspot.studies.hunt.repair_job:hunt_job",
    "mine": "weakspot.studies.mine.repair_job:mine_job",
}
#: The same for maps, by the task of their space.
MAPS: Final[dict[str, str]] = {
    "image": "weakspot.studies.map.repair_pictures:picture_job",
    "world": "weakspot.studies.map.repair_pictures:picture_job",
    "text": "weakspot.studies.map.repair_text:text_job",
    "prompt": "weakspot.studies.map.repair_prompt:prompt_job",
}


def job_of(run: Run, settings: RepairSettings, *, target: Target | None = None) -> Job:
    """The job that a run leaves.

    Raises:
        WeakspotError: The study leaves none, the modes do not exist, there are too few pictures.
    """
    made = JOBS.get(run.config.study)
    if made is None:
        raise WeakspotError(
            f"{run.folder} is a run of {run.config.study[:60]}, which repair cannot take up",
            fix=f"name a run of {' or '.join(JOBS)}",
        )
    return _built(made, run, settings, target)


def _built(made: str, run: Run, settings: RepairSettings, target: Any) -> Job:
    module, _, name = made.partition(":")
    build: Callable[..., Job] = getattr(import_module(module), name)
    return build(run, settings, target=target)


def map_job(run: Run, settings: RepairSettings, *, target: Target | None = None) -> Job:
    """The modes of a map: the repair part is learnt from, the verification part proves it."""
    from weakspot.studies.map.parts import settings_of

    task = settings_of(run).concept_space.task
    if task not in MAPS:
        raise WeakspotError(
            f"a map of the task {task[:60]!r} cannot be repaired here",
            fix=f"repair takes maps of the tasks {', '.join(MAPS)}",
        )
    return _built(MAPS[task], run, settings, target)


class Modes(NamedTuple):
    """The modes of a map.

    Attributes:
        space: What they are regions of.
        numbers: Those that are to be repaired.
        spots: All of them.
        regions: Of those that are to be repaired.
    """

    space: ConceptSpace
    numbers: list[int]
    spots: list[Spot]
    regions: list[Any]

    @property
    def chosen(self) -> tuple[Spot, ...]:
        """Those that are to be repaired."""
        return tuple(self.spots[i - 1] for i in self.numbers)

    @property
    def others(self) -> tuple[Spot, ...]:
        """The others, which must not get worse."""
        return tuple(spot for spot in self.spots if spot.number not in self.numbers)


def modes_to_repair(run: Run, settings: RepairSettings, space: ConceptSpace) -> Modes:
    """Of all modes of a map those that are meant.

    Raises:
        WeakspotError: There is none of that number.
    """
    from weakspot.studies.map.preferences import modes_of, preferred

    known = modes_of(run)
    numbers = chosen_of(settings, preferred(run) if settings.numbers is None else None, len(known), "mode")
    regions = [tuple(tuple(v) for v in mode["region"]) for mode in known]
    spots = [
        Spot(mode["words"], (space.hypothesis(region, origin="mode"),), i)
        for i, (mode, region) in enumerate(zip(known, regions, strict=True), start=1)
    ]
    return Modes(space, numbers, spots, [regions[i - 1] for i in numbers])


def mapped_by(run: Run, settings: RepairSettings) -> Any:
    """The settings of a map, its paths as they were meant, and with another target if one is named."""
    from dataclasses import replace

    from weakspot.studies.map.parts import settings_of
    from weakspot.study.paths import rooted

    mapped = rooted(settings_of(run), settings.here)
    return replace(mapped, target=settings.target) if settings.target else mapped


def mixed(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """One of each in turn."""
    return [row[i] for i in range(max(map(len, rows), default=0)) for row in rows if i < len(row)]


def chosen_of(settings: RepairSettings, preferred: list[int] | None, count: int, what: str) -> list[int]:
    """The numbers that are meant.

    Raises:
        WeakspotError: One does not exist.
    """
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


def folder_of(run: str | Path | Run) -> Path:
    """The folder of a run however it is given."""
    return run.folder if isinstance(run, Run) else Path(run)


def row_words(row: dict[str, float]) -> str:
    """A round of training, for people."""
    return (
        f"fails {100 * row['transformed']:.1f} % transformed, {100 * row['plain']:.1f} % plain (validation)"
    )
