"""Pictures from a text-to-image model as cases: `diffusers:stabilityai/sd-turbo?steps=4&guidance=0`, or of an
images endpoint: `https://HOST/v1/images/generations?model=…&cache=pictures`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Signature, signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Generator, Hypothesis, WeakspotError, case_seed
from weakspot.core.ports import NoiseGenerator, Repeating, digest_of
from weakspot.models.diffusers import pipeline as diffusers
from weakspot.models.http import models as http
from weakspot.sources.spaces import Gaussian

_Load = TypeVar("_Load", bound=Callable[..., Any])


class TextToImage:
    """Draws what a hypothesis says with a generator.

    A generator knows neither whether it obeyed nor what else it drew. What is expected of its pictures is
    therefore said by the one who uses it, and their captions say what was asked for, no more.

    Args:
        expected: The right answer to every picture, e.g. the label that is hunted.
        template: How a hypothesis becomes a prompt; {text} stands for its words.
        captioner: See `weakspot.core.Captioned`; "" where nobody knows.
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
        """The noise that a picture begins with; see `weakspot.sources.spaces.Spaced`.

        None for a generator that takes no noise.
        """
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
            Case(self.hypothesis, index, _seed_of(row), picture, source.expected, words)
            for index, row, picture in zip(indices, noise, pictures, strict=True)
        ]


def _seed_of(noise: NDArray[np.float32]) -> int:
    return int.from_bytes(hashlib.blake2b(noise.tobytes(), digest_size=8).digest(), "big") >> 1


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
            f"{name[:200]} draws another picture each time, so that no case could be drawn again",
            fix="add seed=NAME if the server takes a seed under that name, or cache=FOLDER to keep pictures",
        )


def _options_of(generator: Callable[..., Any], *only: str) -> Callable[[_Load], _Load]:
    """A source's own options, and for its `**options` those of a generator, all or only some."""

    def told(load: _Load) -> _Load:
        own = [p for p in signature(load).parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [p for p in signature(generator).parameters.values() if p.kind is p.KEYWORD_ONLY]
        load.__signature__ = Signature([*own, *(p for p in more if not only or p.name in only)])  # type: ignore[attr-defined]
        return load

    return told


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
