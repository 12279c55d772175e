"""Pictures from a text-to-image model as cases: `diffusers:stabilityai/sd-turbo?steps=4&guidance=0`."""

from __future__ import annotations

from collections.abc import Sequence

from weakspot.core import Case, Generator, Hypothesis, WeakspotError, case_seed
from weakspot.models import diffusers


class TextToImage:
    """Draws what a hypothesis says with a generator.

    A generator knows neither whether it obeyed nor what else it drew. What is expected of its pictures is
    therefore said by the one who uses it, and their captions say what was asked for, no more.

    Args:
        generator: Makes the pictures.
        expected: The right answer to every picture, e.g. the label that is hunted.
        template: How a hypothesis becomes a prompt; {text} stands for its words.
    """

    #: Networks have threads and a GPU of their own, and must not be copied into drawing processes.
    cpu_bound = False

    def __init__(self, generator: Generator, *, expected: str, template: str = "{text}") -> None:
        if "{text}" not in template:
            raise WeakspotError(
                f"the template {template[:80]!r} has no place for the words",
                fix="write e.g. 'a photo, {text}'",
            )
        self.generator, self.expected, self.template = generator, expected, template

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

    @property
    def digest(self) -> str | None:
        """The generator's, if it has one."""
        digest: str | None = getattr(self.generator, "digest", None)
        return digest


def load(
    path: str,
    *,
    label: str = "",
    template: str = "{text}",
    device: str = "auto",
    dtype: str = "auto",
    steps: str = "",
    guidance: str = "",
    negative: str = "",
    size: str = "",
    batch: str = "",
    scheduler: str = "",
    revision: str = "",
    compile: str = "no",
    offload: str = "no",
) -> TextToImage:
    """`diffusers:folder?steps=8&template=a photo, {text}`; a study gives the label, others ?label=fly."""
    if not label:
        raise WeakspotError(
            f"diffusers:{path[:200]} does not know what its pictures show", fix="say it: ?label=fly"
        )
    generator = diffusers.load(
        path,
        device=device,
        dtype=dtype,
        steps=steps,
        guidance=guidance,
        negative=negative,
        size=size,
        batch=batch,
        scheduler=scheduler,
        revision=revision,
        compile=compile,
        offload=offload,
    )
    return TextToImage(generator, expected=label, template=template)
