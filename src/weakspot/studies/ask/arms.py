"""The arms of `ask`: under which system prompt, and in which variant of the question, an item is asked.

A hypothesis of the study is one arm: `set`, `system` and `stage` are its concepts. The stages ask refused
questions again, with more and more help and, as a placebo, with none: see `stages`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from weakspot.core import Case, Hypothesis, WeakspotError, nearest
from weakspot.core.question import BENIGN
from weakspot.sources.benchmark import Benchmark, Item, PicturedQuestion, case_of
from weakspot.studies.ask.settings import PLAIN

#: What models are told, by purpose.
PROMPTS: Final[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_bytes())
SYSTEMS: Final[dict[str, str]] = PROMPTS["systems"]
DESCRIBE, AGAIN, FILLER, DESCRIPTION, INTENT = "describe", "again", "filler", "description", "intent"
STAGES: Final = (DESCRIBE, AGAIN, FILLER, DESCRIPTION, INTENT)


class Arm(NamedTuple):
    """A hypothesis of the study with its items, in the order of the indices, and how often each is asked.

    `system` is the name of a system prompt; `stage` is "" for the question itself.
    """

    hypothesis: Hypothesis
    items: tuple[Item, ...]
    repeats: int
    set: str
    system: str
    stage: str

    @property
    def n(self) -> int:
        return len(self.items) * self.repeats


def arm_of(
    benchmark: str, items: Sequence[Item], *, which: str, system: str, stage: str = "", repeats: int = 1
) -> Arm:
    concepts = [("set", which), ("system", system)]
    words = f"{benchmark}: {which}"
    if system != PLAIN:
        words += f", system prompt {system}"
    if stage:
        concepts.append(("stage", stage))
        words += f", stage {stage}"
    hypothesis = Hypothesis(words, tuple(concepts), origin="benchmark")
    return Arm(hypothesis, tuple(items), repeats, which, system, stage)


def system_prompts(names: Sequence[str]) -> dict[str, str]:
    """The texts of system prompts by name; a name may be a file, whose words then name it."""
    found: dict[str, str] = {}
    for name in names:
        key, text = (name, SYSTEMS[name]) if name in SYSTEMS else _from_file(name)
        if key in found:
            raise WeakspotError(f"the system prompt {name[:80]!r} is given twice", fix="name each once")
        found[key] = text
    return found


def _from_file(name: str) -> tuple[str, str]:
    path = Path(name)
    if not path.is_file():
        raise WeakspotError(
            f"there is no system prompt or file called {name[:80]!r}",
            fix=nearest(name, SYSTEMS) or f"choose from {', '.join(SYSTEMS)}, or name a text file",
        )
    try:
        text = path.read_bytes()[: 1 << 20].decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WeakspotError(
            f"{name[:200]} cannot be read as text: {error}", fix="save it as UTF-8"
        ) from error
    if not text:
        raise WeakspotError(f"{name[:200]} is empty", fix="write the system prompt into it, or use: none")
    return f"{path.stem}-{hashlib.sha256(text.encode()).hexdigest()[:6]}", text


class Questions:
    """The `Source` of the study: items of a benchmark, put as an arm puts them.

    `systems` are the texts of system prompts by name.
    """

    def __init__(self, benchmark: Benchmark, systems: Mapping[str, str]) -> None:
        self.benchmark, self.systems = benchmark, dict(systems)
        self._arms: dict[str, Arm] = {}

    def add(self, arm: Arm) -> None:
        """Make an arm known; one that is known may gain items at its end."""
        self._arms[arm.hypothesis.id] = arm

    def question(self, arm: Arm, index: int) -> PicturedQuestion:
        """What is asked at an index, without the picture that the target is shown."""
        repeat, place = divmod(index, len(arm.items))
        item = arm.items[place]
        return PicturedQuestion(
            id=item.id,
            text=worded(item, arm.stage),
            system=self.systems[arm.system],
            set=item.set,
            arm=arm.system,
            stage=arm.stage,
            repeat=repeat,
            picture=item.image,
        )

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        arm = self._arms[hypothesis.id]
        cases = []
        for index in indices:
            image = self.benchmark.picture(arm.items[index % len(arm.items)])
            cases.append(case_of(hypothesis, index, seed, replace(self.question(arm, index), image=image)))
        return cases


def worded(item: Item, stage: str) -> str:
    if stage == DESCRIBE:
        return str(PROMPTS["describe"])
    if stage in ("", AGAIN):
        return item.question
    if stage == FILLER:
        return f"{filler(len(item.description))}\n\n{item.question}"
    shown = f"For your information, this is what the image shows: {item.description}"
    meant = item.intent or PROMPTS["harmless"]
    said = (shown if item.description else "", meant if stage == INTENT else "")
    return "\n\n".join([*filter(None, said), item.question])


def filler(length: int) -> str:
    """Neutral words, about as many as a description has that is so long; at least a sentence."""
    sentences: list[str] = PROMPTS["filler"]
    said = sentences[0]
    for sentence in cycle(sentences[1:]):
        if len(said) >= length:
            return said
        said = f"{said} {sentence}"
    return said


def plan(benchmark: Benchmark, *, contrast: bool, systems: Sequence[str], repeats: int) -> list[Arm]:
    """The arms of a run, without the stages: every set under every system prompt."""
    sets = [s for s in benchmark.sets if contrast or s == BENIGN]
    return [
        arm_of(benchmark.name, benchmark.of(which), which=which, system=system, repeats=repeats)
        for system in systems
        for which in sets
    ]
