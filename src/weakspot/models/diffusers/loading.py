"""Finds a diffusers pipeline, in a folder or on the model hub, and loads it whole or not at all.

The libraries come through `import_module` and are `Any` here, so that the type checker says the same with
and without the extra `hf`, and need not read all of torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError, nearest
from weakspot.core.errors import in_one_line
from weakspot.models.compute import channels_last, out_of_memory, power_of_two
from weakspot.models.diffusers.folder import (
    INDEX,
    Index,
    Part,
    check_folder,
    parts,
    pipeline_kind,
    read_index,
)
from weakspot.models.hf.loading import hushed, local_folder, not_given, quiet, reading, revision_of

_UNSEEDED: Final = ("DPMSolverSDEScheduler", "CosineDPMSolverMultistepScheduler")
#: Numbers that are held per pixel when a picture is decoded, the largest step of the usual pipelines: a few
#: layers of 256 channels at full size.
_PER_PIXEL: Final = 2048


def find(path: str, *, revision: str | None = None) -> Path:
    """The folder of a pipeline: a path, or `owner/name` on the model hub, which is fetched if need be."""
    convert = "convert it: StableDiffusionPipeline.from_single_file(file).save_pretrained(folder)"
    folder = local_folder(path, revision=revision, name=path, no_folder=convert)
    return folder if folder is not None else _fetch(path, revision)


def _fetch(name: str, revision: str | None) -> Path:
    hub, diffusers = import_module("huggingface_hub"), import_module("diffusers")
    import_module("transformers.utils.logging")  # it sets its own level when it is first imported
    try:
        # The index first: what names code of its own is refused before anything else is fetched. A snapshot
        # of it alone, since that asks the hub once, where a single file is asked for six times.
        with hushed():
            index = Path(hub.snapshot_download(name, revision=revision, allow_patterns=[INDEX]))
            read_index(index / INDEX)
            known = revision_of(index) or revision  # so that both are of one commit
            return Path(diffusers.DiffusionPipeline.download(name, revision=known, use_safetensors=True))
    except (WeakspotError, ImportError):
        raise
    except Exception as error:  # of the network, the hub's client or its cache
        raise not_given(name, error) from error


def load_pipeline(folder: Path, *, dtype: str) -> tuple[Any, Index]:
    """The pipeline with its weights in `dtype`, on the CPU."""
    import_module("diffusers")  # before it is told to be quiet
    with quiet():
        index = check_folder(folder)
        kind = pipeline_kind(index)
        found = parts(folder, index)
        for part in found:
            _refuse_unseeded(getattr(part.kind, "__name__", ""))
        networks = {part.name: _network(folder, part, dtype) for part in found if part.weights}
        with reading(folder, _unloadable):  # the rest is a tokenizer, a scheduler, a configuration
            return kind.from_pretrained(
                folder, use_safetensors=True, local_files_only=True, **networks
            ), index


def _network(folder: Path, part: Part, dtype: str) -> Any:
    """One network, loaded by itself: only so do the libraries tell which weights did not fit."""
    torch, transformers = import_module("torch"), import_module("transformers")
    options: dict[str, Any] = {"torch_dtype": getattr(torch, dtype)}
    if issubclass(part.kind, transformers.PreTrainedModel):
        if int(transformers.__version__.split(".")[0]) >= 5:
            options = {"dtype": getattr(torch, dtype)}
        options["ignore_mismatched_sizes"] = True  # they are told below, by name
    with reading(folder / part.name, _unloadable):
        network, info = part.kind.from_pretrained(
            folder / part.name,
            use_safetensors=True,
            local_files_only=True,
            output_loading_info=True,
            **options,
        )
    if wrong := _misfit(info):
        raise WeakspotError(
            f"the weights in {folder / part.name} do not fit its config.json: {wrong}",
            fix="the two must belong together; copy the folder again",
        )
    return network


def _unloadable(folder: Path, error: Exception) -> WeakspotError:
    if out_of_memory(error):
        return WeakspotError(f"there is not enough memory to load {folder}", fix="use a smaller model")
    return WeakspotError(
        f"{folder} cannot be loaded: {_first_line(error)}",
        fix="its configuration and its weights must belong together; copy the folder again",
    )


def _misfit(info: Mapping[str, Any]) -> str:
    """What the loader passed over; "" if it used every tensor and needed no other."""
    for key, shape, wanted in sorted(info["mismatched_keys"]):
        return f"{key} is {tuple(shape)}, not {tuple(wanted)}"
    for key in sorted(info["missing_keys"]):
        return f"{key} is missing"
    # Old versions of transformers saved these although they carry no information.
    for key in sorted(k for k in info["unexpected_keys"] if not k.endswith("position_ids")):
        return f"there is no place for {key}"
    return "; ".join(str(error) for error in info.get("error_msgs", ()))[:300]


def lay_out(pipe: Any, device: str) -> None:
    """Put the networks that are made of convolutions into the layout that is fastest on the device."""
    for name in ("unet", "vae"):
        if (network := getattr(pipe, name, None)) is not None:
            channels_last(network, device)


def use_scheduler(pipe: Any, name: str) -> None:
    """Replace the pipeline's sampler by another of diffusers, with the same configuration."""
    diffusers = import_module("diffusers")
    known = {kind.__name__ for kind in pipe.scheduler.compatibles}
    if name not in known:
        every = [n for n in dir(diffusers) if n.endswith("Scheduler")]
        reason = "does not go with this pipeline" if name in every else "is not a scheduler of diffusers"
        raise WeakspotError(
            f"{name[:80]!r} {reason}",
            fix=nearest(name, known) or f"choose one of: {', '.join(sorted(known))}",
        )
    _refuse_unseeded(name)
    with quiet():
        pipe.scheduler = getattr(diffusers, name).from_config(pipe.scheduler.config)


def _refuse_unseeded(scheduler: str) -> None:
    if scheduler in _UNSEEDED:
        raise WeakspotError(
            f"{scheduler} makes noise for all pictures of a batch together, not by their seeds",
            fix="use a pipeline with another sampler, e.g. DPMSolverMultistepScheduler",
        )


def settings_of(
    pipe: Any,
    *,
    steps: int | None,
    guidance: float | None,
    negative: str,
    size: int | tuple[int, int] | None,
) -> dict[str, Any]:
    """What each call of the pipeline is given beside prompt and noise; what it does not take is an error."""
    height, width = (size, size) if isinstance(size, int) else size or (None, None)
    if negative and guidance is not None and guidance <= 1:
        raise WeakspotError(
            "a negative prompt means nothing without guidance", fix="leave it out, or give guidance above 1"
        )
    wanted = {
        "num_inference_steps": steps, "guidance_scale": guidance, "height": height, "width": width,
        "negative_prompt": negative or None,
    }  # fmt: skip
    given = {key: value for key, value in wanted.items() if value is not None}
    takes = inspect.signature(type(pipe).__call__).parameters
    for key in given:
        if key not in takes:
            raise WeakspotError(f"{type(pipe).__name__} takes no {key}", fix="leave it out")
    given.pop("negative_prompt", None)  # one per prompt: the generator adds it
    return given


class _Seen(Exception):
    """Carries what `noise_of` is after out of the pipeline."""


def noise_of(pipe: Any, settings: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, int]]:
    """The shape of one picture's latents, and the picture's height and width, with these settings.

    The pipeline itself is asked, since packings differ by pipeline.
    """
    torch, original = import_module("torch"), pipe.prepare_latents
    known = inspect.signature(original)

    def look(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        asked = known.bind(*args, **kwargs).arguments
        first = made[0] if isinstance(made, tuple) else made
        raise _Seen(tuple(first.shape[1:]), (int(asked["height"]), int(asked["width"])))

    pipe.prepare_latents = look
    try:
        with quiet():
            pipe(prompt=[""], generator=[torch.Generator("cpu")], output_type="np", **settings)
    except _Seen as seen:
        shape, size = seen.args
        return shape, size
    except ValueError as error:  # the pipeline checks what it is given
        what = f"the pipeline refuses its settings: {_first_line(error)}"
        raise WeakspotError(what, fix="choose others, e.g. another size") from error
    except ImportError:  # the registry says which extra
        raise
    except Exception as error:  # of the tokenizer or the text encoder, which run before the noise is made
        if out_of_memory(error):
            what = "there is not enough memory to read a prompt"
            raise WeakspotError(what, fix="use a smaller model") from error
        raise WeakspotError(
            f"{type(pipe).__name__} cannot read a prompt: {_first_line(error)}",
            fix="its tokenizer and its text encoder must belong together; copy the folder again",
        ) from error
    finally:
        del pipe.prepare_latents
        pipe.maybe_free_model_hooks()
    raise WeakspotError(f"{type(pipe).__name__} does not begin with noise", fix="use another pipeline")


def fitting_batch(free: int | None, *, size: tuple[int, int], dtype: str) -> int:
    """How many pictures to make at once: a first guess, to be halved; one where nobody knows what is free.

    A power of two, since with these most kernels treat all places of a batch alike. No more than keeps a
    GPU busy, because requests for fewer pictures are filled up: 8 of 512 × 512 pixels, more of smaller ones.
    """
    if free is None:
        return 1
    pixels = size[0] * size[1]
    each = pixels * _PER_PIXEL * (4 if dtype == "float32" else 2)
    return power_of_two(free / each, most=max(8, min(64, 8 * 512 * 512 // pixels)))


def _first_line(error: BaseException) -> str:
    return in_one_line(error).split(". If you want")[0]
