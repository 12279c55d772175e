"""Models of the transformers library: `hf:owner/name` or `hf:FOLDER`. Its config.json says what it is.

Each kind of model has its own module with a function `load_folder(folder, *, device, dtype, batch)`; a new
kind is a line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError
from weakspot.models import options
from weakspot.models.diffusers_pipeline import choose_device, choose_dtype
from weakspot.models.hf_files import find_folder, read_config, refuse_pickles


class ModelKind(NamedTuple):
    """A kind of model: what it is called, how its configuration tells it, who loads it, its own options."""

    name: str
    fits: Callable[[Mapping[str, Any]], bool]
    target: str
    options: tuple[str, ...] = ()


def _two_towers(config: Mapping[str, Any]) -> bool:
    kind = str(config.get("model_type", ""))
    return kind in ("clip", "siglip", "siglip2", "altclip", "chinese_clip", "metaclip_2")


def _writes(config: Mapping[str, Any]) -> bool:
    return bool(config.get("is_encoder_decoder")) and config.get("model_type") != "vision-encoder-decoder"


KINDS: Final = (
    ModelKind("an encoder of texts and pictures", _two_towers, "weakspot.models.hf_clip:load_folder"),
    ModelKind(
        "a summariser (BART, T5, Pegasus)",
        _writes,
        "weakspot.models.hf_seq2seq:load_folder",
        ("prefix", "tokens", "beams"),
    ),
)


def load(
    path: str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    batch: str = "",
    revision: str = "",
    prefix: str = "",
    tokens: str = "",
    beams: str = "",
) -> Any:
    """`hf:openai/clip-vit-large-patch14?device=cuda&batch=256`, `hf:facebook/bart-large-cnn?tokens=60`."""
    import_module("transformers")  # a missing library is told before anything is fetched
    folder = find_folder(path, revision=revision or None)
    config = read_config(folder)
    kind = next((kind for kind in KINDS if kind.fits(config)), None)
    if kind is None:
        said = str(config.get("model_type") or "a model of no known type")
        raise WeakspotError(
            f"hf:{path[:200]} is {said[:80]!r}, which cannot be used here yet",
            fix=f"there is: {'; '.join(kind.name for kind in KINDS)}",
        )
    own = {"prefix": prefix, "tokens": tokens, "beams": beams}
    strange = [name for name, value in own.items() if value and name not in kind.options]
    if strange:
        raise WeakspotError(f"{kind.name} has no option {strange[0]!r}", fix="leave it out")
    refuse_pickles(folder)
    place = choose_device(device)
    module, _, attribute = kind.target.partition(":")
    loader: Callable[..., Any] = getattr(import_module(module), attribute)
    size = options.whole("batch", batch, most=1 << 16)
    more = {name: own[name] for name in kind.options}
    return loader(Path(folder), device=place, dtype=choose_dtype(dtype, place), batch=size, **more)
