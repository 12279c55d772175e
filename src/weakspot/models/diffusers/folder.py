"""What is in a folder of the diffusers format, checked before anything of it is loaded.

Only data is read: JSON and safetensors. Pickles and a folder's own code are refused, because loading them
runs whatever their author wrote.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.core.errors import explained, kind_and_reason
from weakspot.models.hf.loading import PICKLES, sha256

INDEX: Final = "model_index.json"
_AGAIN: Final = "copy the folder again"
_LIBRARIES: Final = ("diffusers", "transformers")
#: What a text-to-image pipeline is called with; `latents` are the noise it begins with.
_CALLED_WITH: Final = {
    "prompt", "height", "width", "num_inference_steps", "generator", "latents", "output_type"
}  # fmt: skip
#: What gives away a pipeline that needs more than words, or makes something else than pictures.
_NEEDS_MORE: Final = {"image", "mask_image", "control_image", "strength", "num_frames", "audio_length_in_s"}


class Part(NamedTuple):
    """A component: the class that reads it, and the files of weights if it is a network."""

    name: str
    kind: Any
    weights: tuple[Path, ...]


class Index(NamedTuple):
    """What model_index.json says: the pipeline's class, and `library, class` of each component it has."""

    kind: str
    parts: dict[str, tuple[str, str]]


def read_index(path: Path) -> Index:
    """Read a model_index.json; an error if it names code that does not come with diffusers."""
    broken = (OSError, ValueError, KeyError, TypeError, AttributeError)
    with explained(f"{path} cannot be read", *broken, fix=_AGAIN, why=kind_and_reason):
        content = json.loads(path.read_text("utf-8"))
        kind = content["_class_name"]
        rows = {k: v for k, v in content.items() if not k.startswith("_") and isinstance(v, list)}
        parts = {
            name: (row[0], row[1]) for name, row in rows.items() if len(row) == 2 and row != [None, None]
        }
    # diffusers would import whatever is named here; its own pipelines' modules are written without a package.
    home = Path(import_module("diffusers").__file__ or "").parent / "pipelines"
    strange = [] if isinstance(kind, str) else [kind]
    for library, name in parts.values():
        plain = isinstance(library, str) and library.isidentifier() and isinstance(name, str)
        if not plain or not (library in _LIBRARIES or (home / library / "__init__.py").is_file()):
            strange.append((library, name))
    if strange:
        raise WeakspotError(
            f"{path} names code of its own ({strange[0]}), which is never run",
            fix="use a pipeline whose classes come with diffusers or transformers; "
            "there is no code=yes here, because other code may not keep to the seeds",
        )
    return Index(kind, parts)


def pipeline_kind(index: Index) -> Any:
    """The pipeline's class; an error if it does not make pictures from words alone."""
    diffusers = import_module("diffusers")
    kind = getattr(diffusers, index.kind, None)
    if kind is None:
        known = [name for name in dir(diffusers) if name.endswith("Pipeline")]
        raise WeakspotError(
            f"diffusers {diffusers.__version__} has no pipeline {index.kind[:80]!r}",
            fix=nearest(index.kind, known) or "install the version of diffusers that the model was made with",
        )
    takes = set(inspect.signature(kind.__call__).parameters)
    wants = _NEEDS_MORE & takes
    if wants == {"image"} and "Control" not in index.kind:  # some can be given a picture and need none
        mapping = import_module("diffusers.pipelines.auto_pipeline").AUTO_TEXT2IMAGE_PIPELINES_MAPPING
        wants = set() if kind in mapping.values() else wants
    prepare = getattr(kind, "prepare_latents", None)
    sized = prepare is not None and {"height", "width"} <= set(inspect.signature(prepare).parameters)
    if wants or not takes >= _CALLED_WITH or not sized:
        raise WeakspotError(
            f"{index.kind} is not a text-to-image pipeline whose noise can be given",
            fix="use one such as StableDiffusionPipeline or StableDiffusionXLPipeline",
        )
    return kind


def check_folder(folder: Path) -> Index:
    if not folder.is_dir():
        raise WeakspotError(f"there is no folder {folder}", fix="check the path")
    if not (folder / INDEX).is_file():
        raise WeakspotError(
            f"{folder} has no {INDEX}, so it is not a pipeline in the diffusers format; {_contents(folder)}",
            fix="name the folder that holds it; pipeline.save_pretrained(folder) makes one",
        )
    return read_index(folder / INDEX)


def parts(folder: Path, index: Index) -> list[Part]:
    """The components, each with all its files there and whole."""
    network = import_module("torch").nn.Module
    ours = import_module("diffusers").ModelMixin
    found = []
    for name, (library, class_name) in index.parts.items():
        if not (folder / name).is_dir():
            raise WeakspotError(f"{folder} lacks the component {name!r}; {_contents(folder)}", fix=_AGAIN)
        module = library if library in _LIBRARIES else f"diffusers.pipelines.{library}"
        kind: Any = getattr(import_module(module), class_name, None)
        if kind is None and library != "transformers":  # diffusers knows the new names of old classes there
            raise WeakspotError(
                f"{library} has no {class_name[:80]!r}",
                fix="install the version of diffusers the model was made with",
            )
        is_network = isinstance(kind, type) and issubclass(kind, network)
        if isinstance(kind, type):
            _check_settings(folder / name, kind, is_network=is_network)
        stem = "diffusion_pytorch_model" if is_network and issubclass(kind, ours) else "model"
        found.append(Part(name, kind, _weights(folder / name, stem) if is_network else ()))
    return found


def _check_settings(folder: Path, kind: type, *, is_network: bool) -> None:
    """An error unless a component's small files are there. The libraries do without some, and guess."""
    diffusers, transformers = import_module("diffusers"), import_module("transformers")
    if is_network:
        _check_json(folder / "config.json")
    elif issubclass(kind, diffusers.SchedulerMixin):
        _check_json(folder / "scheduler_config.json")
    elif issubclass(kind, transformers.PreTrainedTokenizerBase):
        _check_json(folder / "tokenizer_config.json")
        _check_vocabulary(folder, getattr(kind, "vocab_files_names", {}))


def _check_vocabulary(folder: Path, files: Mapping[str, str]) -> None:
    """An error unless a tokenizer's words are there: all in tokenizer.json, or in the files of its kind."""
    apart = [name for what, name in files.items() if what != "tokenizer_file"]
    lacks = [name for name in apart if not (folder / name).is_file()]
    if not files or (apart and not lacks) or (folder / "tokenizer.json").is_file():
        return
    if len(lacks) == len(apart):
        lacks = [" or ".join(filter(None, ("tokenizer.json", " with ".join(apart))))]
    raise WeakspotError(
        f"{folder / lacks[0]} is missing, so the tokenizer has no words; {_contents(folder)}", fix=_AGAIN
    )


def _check_json(path: Path) -> None:
    if not path.is_file():
        raise WeakspotError(f"{path} is missing; {_contents(path.parent)}", fix=_AGAIN)
    with explained(f"{path} cannot be read", OSError, ValueError, fix=_AGAIN):
        content = json.loads(path.read_text("utf-8"))
    if not isinstance(content, dict):
        raise WeakspotError(f"{path} holds a {type(content).__name__}, not an object of settings", fix=_AGAIN)


def _weights(folder: Path, stem: str) -> tuple[Path, ...]:
    files = [path] if (path := folder / f"{stem}.safetensors").is_file() else []
    listing = folder / f"{stem}.safetensors.index.json"
    if listing.is_file():
        broken = (ValueError, KeyError, TypeError, AttributeError)
        with explained(f"{listing} cannot be read", *broken, fix=_AGAIN):
            names = set(json.loads(listing.read_bytes())["weight_map"].values())
            files += [folder / name for name in sorted(names)]
    pickles = sorted(p.name for p in folder.iterdir() if p.suffix in PICKLES)
    if not files and pickles:
        raise WeakspotError(
            f"{folder} has its weights only as a pickle ({pickles[0]}); pickles can run code and are refused",
            fix="diffusers: has no pickle=yes; if you trust the file, convert it once: load it with "
            "diffusers, then pipeline.save_pretrained(folder)",
        )
    missing = [path for path in files or [folder / f"{stem}.safetensors"] if not path.is_file()]
    if missing:
        raise WeakspotError(f"the weights {missing[0]} are missing; {_contents(folder)}", fix=_AGAIN)
    for path in files:
        _check_safetensors(path)
    return tuple(files)


def _check_safetensors(path: Path) -> None:
    safetensors = import_module("safetensors")
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"version https://git-lfs"):
        raise WeakspotError(f"{path} is only a pointer of Git LFS", fix="run: git lfs pull")
    what, broken = f"{path} is not a complete safetensors file", (safetensors.SafetensorError, OSError)
    with explained(what, *broken, fix="copy or download it again"), safetensors.safe_open(path, "numpy"):
        pass


def check_digests(folder: Path, digests: Mapping[str, str]) -> None:
    """Check that the folder holds exactly these files, with these SHA-256 by relative path."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(set(digests) - there):
        raise WeakspotError(f"{folder / name} is missing", fix="reinstall it")
    for name in sorted(there - set(digests)):
        raise WeakspotError(
            f"{folder / name} does not belong there", fix="remove it, or reinstall the folder"
        )
    for name in sorted(there):
        if sha256(folder / name) != digests[name].lower():
            raise WeakspotError(
                f"{folder / name} is not the file it should be (its SHA-256 differs)", fix="reinstall it"
            )


def folder_digest(folder: Path, components: Iterable[str]) -> str:
    """One SHA-256 of all that is read of a pipeline: its index and the files of its components."""
    files = [folder / INDEX, *(p for name in components for p in (folder / name).rglob("*") if p.is_file())]
    total = hashlib.sha256()
    for path in sorted(p for p in files if p.suffix not in PICKLES):
        total.update(f"{path.relative_to(folder).as_posix()}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def _contents(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    some = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
    return f"there is: {re.sub(r'[^ -~…]', '?', some)[:300]}" if names else "it is empty"
