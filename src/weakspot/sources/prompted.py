"""Pictures that a generator makes of the prompts of a concept space: adjective × profession × place, or any.

The space's words become a prompt. With the axes adjective, profession and place it is "a photo of a friendly
doctor in the office."; otherwise the words of the cell, one after the other, so a space whose phrases are
sentences gives a text of sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import MODELS, SOURCES, Case, Generator, Hypothesis, Source, WeakspotError, case_seed
from weakspot.core.ports import cpu_bound, understands
from weakspot.core.registry import import_part
from weakspot.sources.cells import cell_of
from weakspot.sources.generate import must_repeat

#: The prompt of spaces with these axes; their values are the words.
TEMPLATE: Final = "a photo of {a} {adjective} {profession} in the {place}."
#: Prompts that are looked at before a run.
PROBED: Final = 500
_AXES: Final = ("adjective", "profession", "place")
#: Stands for whatever prompt a noise is used with.
_NOISE: Final = Hypothesis("noise")


class PromptPictures:
    """Draws the pictures of a cell's prompt.

    An input that a policy has chosen is the generator's noise. A policy sees nothing of it: what there is to
    see, the prompt, is what it chooses.
    """

    def __init__(self, generator: Generator, *, space: ConceptSpace) -> None:
        self.generator, self.space = generator, space
        self._placed: dict[tuple[str, int], int] = {}
        #: Networks have threads and a GPU of their own; a renderer computes in Python.
        self.cpu_bound, self.models = cpu_bound(generator), (generator,)

    def prompt(self, cell: int) -> str:
        return prompt_of(self.space, cell)

    def probe(self) -> None:
        """Look, before a run, whether the prompts can be drawn by one who says so."""
        for prompt in map(self.prompt, range(min(self.space.size, PROBED))):
            if not understands(self.generator, prompt):
                raise WeakspotError(
                    f"the prompt {prompt[:200]!r} cannot be drawn",
                    fix="use a space in words that it knows; for the drawn world: --space prompt-world",
                )

    def place(self, hypothesis: Hypothesis, index: int, noise: int) -> None:
        self._placed[hypothesis.id, index] = noise

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """A case shows the picture and expects its prompt; the baseline is any cell at random."""
        region = self.space.read(hypothesis) or self.space.whole
        noise = [self._placed.get((hypothesis.id, index)) for index in indices]
        seeds = [
            case_seed(seed, hypothesis, index) if own is None else case_seed(seed, _NOISE, own)
            for index, own in zip(indices, noise, strict=True)
        ]
        prompts = [self.prompt(cell_of(self.space, region, own)) for own in seeds]
        pictures = self.generator.generate(prompts, seeds)
        if len(pictures) != len(prompts):
            raise WeakspotError(f"the generator gave {len(pictures)} pictures for {len(prompts)} prompts")
        return [
            Case(hypothesis, index, own, picture, prompt, prompt)
            for index, own, picture, prompt in zip(indices, seeds, pictures, prompts, strict=True)
        ]


def prompt_of(space: ConceptSpace, cell: int) -> str:
    """A cell as a prompt; see above."""
    given = space.assignment(cell)
    if set(given) != set(_AXES):
        return space.words(cell)
    said = TEMPLATE
    for axis, value in given.items():
        said = said.replace(f"{{{axis}}}", value)
    return said.replace("{a}", "an" if given["adjective"][:1].lower() in "aeiou" else "a")


class SourceAsGenerator:
    """A source that draws what words say, used as a generator: `world:renderer`."""

    def __init__(self, source: Source) -> None:
        self.source, self.cpu_bound = source, cpu_bound(source)

    def understands(self, text: str) -> bool:
        return understands(self.source, text)

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        return [
            self.source.draw(Hypothesis(prompt), [0], seed=own)[0].input
            for prompt, own in zip(prompts, seeds, strict=True)
        ]


def generator(given: Any, name: str) -> Generator:
    """The generator of a name: a model that generates, or a source that draws."""
    found = given
    if given is None or isinstance(given, str):
        found = _named(name)
    if isinstance(found, Generator):
        must_repeat(found, name)
        return found
    if isinstance(found, Source):
        return SourceAsGenerator(found)
    raise WeakspotError(
        f"{name[:200]} generates no pictures",
        fix="name a generator (diffusers:FOLDER, python:module:attr) or a source that draws (world:renderer)",
    )


def _named(name: str) -> Any:
    if name.startswith("object:"):
        raise WeakspotError(
            f"this run was made with a Python object ({name[7:200]}) that has no name",
            fix="go on from Python: weakspot.resume(folder, target=…)",
        )
    scheme = name.partition("?")[0]
    models = {entry.name for entry in MODELS}
    if scheme in models or (scheme.partition(":")[0] in models - {"python"}):
        return MODELS.load(name)
    if scheme.startswith("python:"):
        return import_part(scheme.removeprefix("python:"))
    if scheme in {entry.name for entry in SOURCES}:
        return SOURCES.load(name)
    return MODELS.load(name)  # says what there is
