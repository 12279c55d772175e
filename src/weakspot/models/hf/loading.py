"""Loads a model of transformers from a folder: safetensors alone and no code of its own, unless told so."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models import options
from weakspot.models.compute.batches import Batched, Batches, free
from weakspot.models.compute.device import choose_device, choose_dtype, out_of_memory
from weakspot.models.hf.files import folder_digest, quiet, revision_of, unloadable
from weakspot.models.vectors import in_batches, unit


class Trust(NamedTuple):
    """What a user allows for one run, by options of a name.

    Attributes:
        pickle: Weights may be read from a pickle (`pickle=yes`); torch's restricted reader is used.
        code: Python files that come with the model may be run (`code=yes`).
    """

    pickle: bool = False
    code: bool = False

    @property
    def fetched(self) -> tuple[str, ...]:
        """Files that are fetched for it, beyond the safe ones."""
        return (*(("*.bin",) if self.pickle else ()), *(("*.py",) if self.code else ()))


NOTHING = Trust()


class How(TypedDict, total=False):
    """How a model is loaded.

    Attributes:
        device: Where it is to run; a CPU where it is not said.
        batch: Items at once; halved by itself when memory is short.
    """

    device: str
    dtype: str
    batch: int | None
    trust: Trust


class FolderModel(Batched):
    """A model that its library saved to a folder.

    Args:
        folder: On disk, or in the hub's cache.
        usual: Items at once where `how` does not say it.
    """

    def __init__(self, folder: Path, *, usual: int, **how: Unpack[How]) -> None:
        self.name, self.revision = str(folder), revision_of(folder)
        self.device, self.dtype = how.get("device", "cpu"), how.get("dtype", "float32")
        self.trust = how.get("trust", NOTHING)
        self.digest = f"{folder_digest(folder)}-{self.dtype}"
        self._torch: Any = import_module("torch")
        self._batches = Batches(self.name, how.get("batch") or usual, device=self.device, dtype=self.dtype)

    def _network(self, kind: str, *, unused: str = "") -> Any:
        """The folder's model, a class of transformers."""
        where = {"device": self.device, "dtype": self.dtype}
        return load_model(kind, Path(self.name), trust=self.trust, unused=unused, **where)


class TextTower(FolderModel, ABC):
    """See `weakspot.core.TextEncoder`. Texts longer than the model reads are cut."""

    _width: int | None = None

    @abstractmethod
    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        """One row for each of some texts, of any length."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `TextEncoder`."""
        rows = in_batches([str(t) for t in texts], self._texts, batch=self._batches, width=self._width)
        return unit(rows, of=self.name)


class TwoTowers(TextTower):
    """See `weakspot.core.Encoder`."""

    @abstractmethod
    def _pictures(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One row for each of some pictures, of any length."""

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """See `Encoder`."""
        parts = self._batches.run(images, self._pictures)
        return unit(np.concatenate(parts) if parts else np.zeros((0, self._width or 0)), of=self.name)


def read_options(*, device: str, dtype: str, batch: str, pickle: str = "no", code: str = "no") -> How:
    """The options `?device=cuda&dtype=bfloat16&batch=256&pickle=yes&code=yes` of a name."""
    place = choose_device(device)
    return How(
        device=place,
        dtype=choose_dtype(dtype, place),
        batch=options.whole("batch", batch, most=1 << 16),
        trust=Trust(options.yes("pickle", pickle), options.yes("code", code)),
    )


def load_model(
    kind: str, folder: Path, *, device: str, dtype: str, trust: Trust = NOTHING, unused: str = ""
) -> Any:
    """The model, in evaluation mode, on its device.

    Args:
        kind: A class of transformers, e.g. "AutoModelForImageClassification".
        folder: As `save_pretrained` writes it.
        device: Where it is to run.
        dtype: "float32", "float16" or "bfloat16".
        trust: What is allowed beyond safetensors.
        unused: What the names of weights begin with that may be missing, since nobody asks for them.

    Raises:
        WeakspotError: It cannot be loaded, or weights are missing.
    """
    torch, transformers = import_module("torch"), import_module("transformers")
    named = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    safe = not trust.pickle or any(folder.glob("*.safetensors"))
    with quiet():
        try:
            model, info = getattr(transformers, kind).from_pretrained(
                folder,
                use_safetensors=True if safe else None,
                local_files_only=True,
                trust_remote_code=trust.code,
                output_loading_info=True,
                **{named: getattr(torch, dtype)},
            )
        except ImportError:  # the registry says which extra
            raise
        except Exception as error:  # of the files
            raise unloadable(folder, error) from error
    missing = sorted(k for k in info.get("missing_keys", ()) if not (unused and k.startswith(unused)))
    if missing:
        raise WeakspotError(
            f"the weights in {folder} do not fit its config.json: {missing[0]} is missing",
            fix="the two must belong together; copy the folder again",
        )
    return on_device(model, device, of=str(folder)).eval()


def load_tokenizer(folder: Path, *, trust: Trust = NOTHING) -> Any:
    """The folder's tokenizer."""
    transformers = import_module("transformers")
    with quiet():
        try:
            return transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=trust.code
            )
        except ImportError:
            raise
        except Exception as error:  # of the files
            raise unloadable(folder, error) from error


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
