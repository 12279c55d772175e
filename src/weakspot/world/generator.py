"""`world:generator`: the drawn world as a neural text-to-image model sees it (`training/generator.py`).

A genuine Stable Diffusion pipeline, only small: the same adapter loads it that loads the large ones, and it
errs as they do. The renderer draws exactly what the words say; this one tries.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from weakspot.core import WeakspotError
from weakspot.core.registry import read_number, read_whole
from weakspot.models.diffusers.pipeline import DiffusersGenerator
from weakspot.sources.generate import TextToImage
from weakspot.world import shipped

#: How the models were measured; see their cards.
STEPS: Final = 8
GUIDANCE: Final = {"generator": 1.75, "generator-small": 2.5}


def load(
    model: str = "generator", *, device: str = "auto", steps: str = "", guidance: str = "", batch: str = ""
) -> DiffusersGenerator:
    """`world:generator?steps=4`, its files checked against the manifest."""
    folder, digests = shipped.folder(model)
    strength = read_number("guidance", guidance, most=100)
    return DiffusersGenerator(
        folder,
        device=device,
        dtype="float32",
        steps=read_whole("steps", steps, most=1000) or STEPS,
        guidance=GUIDANCE[model] if strength is None else strength,
        batch=read_whole("batch", batch, most=4096),
        digests=digests,
    )


def source(
    model: str = "generator",
    *,
    label: str = "",
    device: str = "auto",
    steps: str = "",
    guidance: str = "",
    batch: str = "",
) -> TextToImage:
    """The generator as a source; a study gives the label."""
    if not label:
        raise WeakspotError(f"world:{model} does not know what its pictures show", fix="say it: ?label=fly")
    made = load(model, device=device, steps=steps, guidance=guidance, batch=batch)
    return TextToImage(made, expected=label, captioner="world:captioner")


small = partial(load, "generator-small")
small_source = partial(source, "generator-small")
