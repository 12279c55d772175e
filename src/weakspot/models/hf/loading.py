"""Loads a model of transformers from a folder: safetensors alone and no code of its own, unless told so."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from weakspot.core import WeakspotError
from weakspot.models.compute.batches import free
from weakspot.models.compute.device import out_of_memory
from weakspot.models.hf.files import quiet, unloadable


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


class How(TypedDict):
    """How a model is loaded: where it is to run, in which number format, with how many items at once."""

    device: str
    dtype: str
    batch: int | None
    trust: Trust


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
