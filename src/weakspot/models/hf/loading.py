"""Folders in the format of the Hugging Face libraries: found, or fetched once from the hub.

Only JSON, text and safetensors are fetched and read; pickles, and code that comes with a model, on the user's
word alone. With HF_HUB_OFFLINE=1 (or TRANSFORMERS_OFFLINE=1) nothing is fetched.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict, Unpack

from weakspot.core import WeakspotError
from weakspot.core.errors import explained, in_one_line, system_reason
from weakspot.core.registry import read_whole, read_yes
from weakspot.models.compute import Batched, Batches, choose_device, choose_dtype, free, out_of_memory

PICKLES: Final = (".bin", ".ckpt", ".pt", ".pth", ".pkl")
#: What is fetched of a model.
FETCHED: Final = ("*.json", "*.txt", "*.safetensors", "*.model", "*.jinja")
#: Variables that say that nothing is to be fetched.
_OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_NAME: Final = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)


def local_folder(path: str, *, revision: str | None, name: str, no_folder: str) -> Path | None:
    """The folder at a path; None where there is none and `name` may be one on the model hub.

    `no_folder` is the way out where the path is a file.
    """
    odd = (OSError, RuntimeError, ValueError)  # too long, not ours to see, of an unknown user
    with explained(f"{path[:200]} cannot be read", *odd, fix="check the path"):
        folder = Path(path).expanduser()
        is_folder, is_there = folder.is_dir(), folder.exists()
    if is_folder:
        if revision is not None:
            raise WeakspotError(f"{folder} is a folder, which has no revisions", fix="leave revision out")
        return folder
    if is_there:
        raise WeakspotError(f"{folder} is a file, not a folder", fix=no_folder)
    if not _NAME.fullmatch(name):
        raise WeakspotError(
            f"there is no folder {path[:200]}", fix="check the path, or write owner/name for the model hub"
        )
    return None


def find_folder(path: str, *, revision: str | None = None, owner: str = "", also: Sequence[str] = ()) -> Path:
    """The folder of a model: a path, or `owner/name` on the hub; `owner` has names that come without one.

    Files of the patterns `also` are fetched beside the safe ones, where the user allowed it.
    """
    name = f"{owner}/{path}" if owner and "/" not in path else path
    folder = local_folder(path, revision=revision, name=name, no_folder="name the folder with config.json")
    if folder is not None:
        return folder
    hub: Any = import_module("huggingface_hub")
    with hushed():
        try:
            return Path(hub.snapshot_download(name, revision=revision, allow_patterns=[*FETCHED, *also]))
        except Exception as error:  # of the network, the hub's client or its cache
            raise not_given(name, error) from error


def offline() -> str:
    """The variable that says that nothing is to be fetched; "" where none does."""
    said = (name for name in _OFFLINE if os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE"))
    return next(said, "")


def not_given(name: str, error: Exception) -> WeakspotError:
    """That the model hub did not give a model, and why, in one line."""
    known = offline()
    said = in_one_line(error).split(". If you want")[0]
    why = f"{known} is set and it is not in the cache" if known else said
    return WeakspotError(
        f"there is no folder {name}, and the model hub did not give it: {why}",
        fix=f"unset {known} to fetch it once, or give the path of a folder"
        if known
        else "check the name and the network (a gated model needs HF_TOKEN), or give a folder's path",
    )


@contextmanager
def hushed() -> Iterator[None]:
    """Without what the hub's client logs of every attempt; progress of downloads is shown."""
    logs = [logging.getLogger(name) for name in ("huggingface_hub", "diffusers", "transformers")]
    before = [log.level for log in logs]
    try:
        for log in logs:
            log.setLevel(logging.CRITICAL)
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


def revision_of(folder: Path) -> str:
    """The commit that a folder of the hub's cache holds; "" for any other folder."""
    return folder.name if folder.parent.name == "snapshots" and _COMMIT.fullmatch(folder.name) else ""


def read_config(folder: Path, name: str = "config.json") -> dict[str, Any]:
    what, broken = f"{folder / name} cannot be read", (OSError, ValueError, RecursionError)
    fix = "name a folder that a model was saved to with save_pretrained"
    with explained(what, *broken, fix=fix, why=system_reason):
        content = json.loads((folder / name).read_bytes())
    if not isinstance(content, dict):
        raise WeakspotError(f"{folder / name} is not a JSON object", fix="copy the folder again")
    return content


def refuse_pickles(folder: Path, *, fix: str = "") -> None:
    """An error where weights, of the model or of a part in a folder below, are there as a pickle only.

    The way out is by default the option that allows them for one run.
    """
    fix = fix or (
        "if you trust it: add pickle=yes to the name (torch's restricted reader is used), or load it "
        "with its library, then save_pretrained(folder)"
    )
    for pickle in _pickled(folder):
        raise WeakspotError(
            f"{pickle.parent} has its weights only as a pickle ({pickle.name}), which can run code", fix=fix
        )
    if any(folder.rglob("*.safetensors")):
        return
    if revision_of(folder):
        raise WeakspotError(
            f"{folder} was fetched without pickles, and there are no weights as safetensors", fix=fix
        )
    raise WeakspotError(f"{folder} cannot be loaded: it has no weights", fix="copy the folder again")


def _pickled(folder: Path) -> list[Path]:
    """Pickles with no safetensors beside them."""
    found = sorted(p for p in folder.rglob("*") if p.suffix in PICKLES and p.is_file())
    return [path for path in found if not any(path.parent.glob("*.safetensors"))]


def folder_digest(folder: Path) -> str:
    """One SHA-256 of all files that are read; of pickles, those that are all there is."""
    total, pickled = hashlib.sha256(), _pickled(folder)
    for path in sorted(
        p for p in folder.rglob("*") if p.is_file() and (p.suffix not in PICKLES or p in pickled)
    ):
        inside = path.relative_to(folder)
        if not any(part.startswith(".") for part in inside.parts) and path.suffix not in (".md", ".onnx"):
            total.update(f"{inside.as_posix()}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def unloadable(folder: Path, error: Exception) -> WeakspotError:
    """What a library's complaint comes to."""
    if "trust_remote_code" in str(error):
        return WeakspotError(
            f"{folder} brings code of its own, which runs only if you ask for it",
            fix="if you trust it: add code=yes to the name",
        )
    return WeakspotError(
        f"{folder} cannot be loaded: {in_one_line(error)}",
        fix="its configuration and its weights must belong together; copy the folder again",
    )


@contextmanager
def quiet(*, drawing: bool = False) -> Iterator[None]:
    """Without the libraries' advice and progress bars, and without Python's warnings.

    While pictures are drawn it is one warning alone, since threads share the filters: samplers turn tensors
    into arrays in a way that numpy 2 warns of.
    """
    names = ("transformers.utils.logging", "diffusers.utils.logging")
    with suppress(ImportError):
        import_module(names[0])
    logs: list[Any] = [sys.modules[name] for name in names if name in sys.modules]
    before = [(log, log.get_verbosity(), log.is_progress_bar_enabled()) for log in logs]
    with warnings.catch_warnings():
        if drawing:
            warnings.filterwarnings("ignore", "__array__ implementation", DeprecationWarning)
        else:
            warnings.simplefilter("ignore")
        for log in logs:
            log.set_verbosity_error()
            log.disable_progress_bar()
        try:
            yield
        finally:
            for log, verbosity, shown in before:
                log.set_verbosity(verbosity)
                if shown:
                    log.enable_progress_bar()


@contextmanager
def reading(folder: Path, explain: Callable[[Path, Exception], WeakspotError] = unloadable) -> Iterator[None]:
    """A library reads a folder, quietly; what it complains of comes as one error of ours."""
    with quiet():
        try:
            yield
        except ImportError:  # the registry says which extra
            raise
        except Exception as error:  # of the files, which the libraries find broken in many ways
            raise explain(folder, error) from error


def sha256(path: Path) -> str:
    """Of one file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Trust(NamedTuple):
    """What a user allows for one run, by options of a name."""

    #: Weights may be read from a pickle (`pickle=yes`); torch's restricted reader is used.
    pickle: bool = False
    #: Python files that come with the model may be run (`code=yes`).
    code: bool = False

    @property
    def fetched(self) -> tuple[str, ...]:
        return (*(("*.bin",) if self.pickle else ()), *(("*.py",) if self.code else ()))


NOTHING = Trust()


class Placement(TypedDict, total=False):
    """How a model is loaded: on a CPU where nothing is said. A batch halves itself when memory is short."""

    device: str
    dtype: str
    batch: int | None


class How(Placement, total=False):
    """That, and what is allowed for it."""

    trust: Trust


class FolderModel(Batched):
    """A model that its library saved to a folder; `usual` items at once where nothing else is said."""

    def __init__(self, folder: Path, *, usual: int, **how: Unpack[How]) -> None:
        self.name, self.revision = str(folder), revision_of(folder)
        self.device, self.dtype = how.get("device", "cpu"), how.get("dtype", "float32")
        self.trust = how.get("trust", NOTHING)
        self.digest = f"{folder_digest(folder)}-{self.dtype}"
        self._torch: Any = import_module("torch")
        self._batches = Batches(self.name, how.get("batch") or usual, device=self.device, dtype=self.dtype)

    def _network(self, kind: str, *, unused: str = "") -> Any:
        where = {"device": self.device, "dtype": self.dtype}
        return load_model(kind, Path(self.name), trust=self.trust, unused=unused, **where)


def read_options(
    *, device: str, dtype: str, batch: str, pickle: str = "no", code: str = "no"
) -> tuple[Placement, Trust]:
    """The options `?device=cuda&dtype=bfloat16&batch=256&pickle=yes&code=yes` of a name."""
    place = choose_device(device)
    most = read_whole("batch", batch, most=1 << 16)
    trust = Trust(read_yes("pickle", pickle), read_yes("code", code))
    return Placement(device=place, dtype=choose_dtype(dtype, place), batch=most), trust


def load_model(
    kind: str, folder: Path, *, device: str, dtype: str, trust: Trust = NOTHING, unused: str = ""
) -> Any:
    """A model of a class of transformers (`kind`), in evaluation mode, on its device.

    Weights whose names begin with `unused` may be missing, since nobody asks for them.
    """
    torch, transformers = import_module("torch"), import_module("transformers")
    named = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    safe = not trust.pickle or any(folder.glob("*.safetensors"))
    with reading(folder):
        model, info = getattr(transformers, kind).from_pretrained(
            folder,
            use_safetensors=True if safe else None,
            local_files_only=True,
            trust_remote_code=trust.code,
            output_loading_info=True,
            **{named: getattr(torch, dtype)},
        )
    missing = sorted(k for k in info.get("missing_keys", ()) if not (unused and k.startswith(unused)))
    if missing:
        raise WeakspotError(
            f"the weights in {folder} do not fit its config.json: {missing[0]} is missing",
            fix="the two must belong together; copy the folder again",
        )
    return on_device(model, device, of=str(folder)).eval()


def load_beside(kind: str, folder: Path, *, trust: Trust = NOTHING) -> Any:
    """What goes with the folder's model: "AutoTokenizer", or "AutoProcessor"."""
    transformers = import_module("transformers")
    with reading(folder):
        return getattr(transformers, kind).from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust.code
        )


def on_device(model: Any, device: str, *, of: str) -> Any:
    """The model on its device; that it is too large for it is said in one line."""
    try:
        return model.to(device)
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
    free(device)
    raise WeakspotError(
        f"{of[:200]} is too large for the memory of {device}", fix="try dtype=bfloat16, or device=cpu"
    )
