"""Pictures from a text-to-image model as cases: `diffusers:stabilityai/sd-turbo?steps=4&guidance=0`, or of an
images endpoint: `https://HOST/v1/images/generations?model=…&cache=pictures`.

They are of a hypothesis' words, or of the prompts of a concept space: with the axes adjective, profession and
place "a photo of a friendly doctor in the office."; otherwise the words of the cell, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import Signature, signature
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import MODELS, SOURCES, Case, Generator, Hypothesis, Source, WeakspotError, case_seed
from weakspot.core.abilities import Repeating
from weakspot.core.ports import NoiseGenerator, cpu_bound, digest_of, understands
from weakspot.core.registry import import_part
from weakspot.models.diffusers import pipeline as diffusers
from weakspot.models.http import models as http
from weakspot.sources.cells import cell_of
from weakspot.sources.spaces import Gaussian

_Load = TypeVar("_Load", bound=Callable[..., Any])


class TextToImage:
    """Draws what a hypothesis says with a generator.

    A generator knows neither whether it obeyed nor what else it drew. What is expected of its pictures is
    therefore said by the one who uses it, and their captions say what was asked for, no more. In the template
    of prompts, {text} stands for the hypothesis' words. For `captioner` see `weakspot.core.Captioned`.
    """

    #: Networks have threads and a GPU of their own, and must not be copied into drawing processes.
    cpu_bound = False

    def __init__(
        self, generator: Generator, *, expected: str, template: str = "{text}", captioner: str = ""
    ) -> None:
        if "{text}" not in template:
            raise WeakspotError(
                f"the template {template[:80]!r} has no place for the words",
                fix="write e.g. 'a photo, {text}'",
            )
        self.generator, self.expected, self.template = generator, expected, template
        self.models, self.captioner = (generator,), captioner

    def expecting(self, label: str) -> TextToImage:
        return TextToImage(self.generator, expected=label, template=self.template, captioner=self.captioner)

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption of a case is its hypothesis' text."""
        words = hypothesis.text
        prompt = self.template.replace("{text}", words)
        seeds = [case_seed(seed, hypothesis, index) for index in indices]
        pictures = self.generator.generate([prompt] * len(seeds), seeds)
        return [
            Case(hypothesis, index, own, picture, self.expected, words)
            for index, own, picture in zip(indices, seeds, pictures, strict=True)
        ]

    def space(self, hypothesis: Hypothesis) -> NoiseSpace | None:
        """The noise that a picture begins with (see `Spaced`); None for a generator that takes no noise."""
        generator = self.generator
        return NoiseSpace(self, generator, hypothesis) if isinstance(generator, NoiseGenerator) else None

    @property
    def digest(self) -> str:
        return digest_of(self.generator)


class NoiseSpace(Gaussian):
    """The pictures of one hypothesis, each by the noise it begins with."""

    def __init__(self, source: TextToImage, generator: NoiseGenerator, hypothesis: Hypothesis) -> None:
        super().__init__(*generator.noise_shape)
        self.source, self.generator, self.hypothesis = source, generator, hypothesis

    def to_cases(self, states: NDArray[Any], indices: Sequence[int]) -> list[Case]:
        """See `CaseSpace`. A case's seed follows from its noise."""
        source, words = self.source, self.hypothesis.text
        noise = np.ascontiguousarray(states, np.float32)
        prompt = source.template.replace("{text}", words)
        pictures = self.generator.generate_from([prompt] * len(noise), noise)
        return [
            Case(self.hypothesis, index, diffusers.seed_of(row), picture, source.expected, words)
            for index, row, picture in zip(indices, noise, pictures, strict=True)
        ]


def drawn_by(make: Callable[..., Any], rest: str, *, scheme: str, label: str, template: str) -> TextToImage:
    """The source of a generator whose name is `scheme:rest`; it is not loaded before the label is known."""
    if not label:
        raise WeakspotError(
            f"{scheme}:{rest[:200]} does not know what its pictures show", fix="say it: ?label=fly"
        )
    generator = make(rest)
    if not isinstance(generator, Generator):
        raise WeakspotError(
            f"{scheme}:{rest[:200]} makes no pictures", fix="its address ends in /images/generations"
        )
    must_repeat(generator, f"{scheme}:{rest}")
    return TextToImage(generator, expected=label, template=template)


def must_repeat(generator: object, name: str) -> None:
    """Refuse a generator that says of itself that it draws anew each time."""
    if isinstance(generator, Repeating) and not generator.repeats:
        raise WeakspotError(
            f"{name[:200]} draws a different picture each time, so no case could be drawn again",
            fix="add seed=NAME if the server takes a seed by that name, or cache=FOLDER to keep pictures",
        )


def _options_of(generator: Callable[..., Any], *only: str) -> Callable[[_Load], _Load]:
    """A source's own options, and for its `**options` those of a generator, all or only some."""

    def with_options(load: _Load) -> _Load:
        own = [p for p in signature(load).parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [p for p in signature(generator).parameters.values() if p.kind is p.KEYWORD_ONLY]
        load.__signature__ = Signature([*own, *(p for p in more if not only or p.name in only)])  # type: ignore[attr-defined]
        return load

    return with_options


@_options_of(diffusers.load)
def load(path: str, *, label: str = "", template: str = "{text}", **options: str) -> TextToImage:
    """`diffusers:folder?steps=8&template=a photo, {text}`; a study gives the label, others ?label=fly."""
    make = partial(diffusers.load, **options)
    return drawn_by(make, path, scheme="diffusers", label=label, template=template)


@_options_of(http.load, "model", "size", "seed", "cache", "answer", "timeout", "attempts", "concurrency")
def load_http(
    rest: str, *, scheme: str = "http", label: str = "", template: str = "{text}", **options: str
) -> TextToImage:
    """`http://HOST:7860/v1/images/generations?seed=seed`; a study gives the label, others ?label=fly."""
    make = partial(http.load, scheme=scheme, **options)
    return drawn_by(make, rest, scheme=scheme, label=label, template=template)


#: `https://…`.
load_https = partial(load_http, scheme="https")


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
    full = name.partition("?")[0]
    if full.startswith("python:"):
        return import_part(full.removeprefix("python:"))
    if full in {entry.name for entry in SOURCES} and not MODELS.knows(name):
        return SOURCES.load(name)
    return MODELS.load(name)  # of what is no model it says what there is
