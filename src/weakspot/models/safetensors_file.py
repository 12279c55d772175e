"""Weights from a safetensors file into a module of torch, all of them or none."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError


def read_weights(module: Any, path: Path) -> None:
    """Fill a module.

    Raises:
        WeakspotError: It is no safetensors file, or does not fit.
    """
    if path.suffix != ".safetensors":
        raise WeakspotError(
            f"{str(path)[:200]} is not a safetensors file",
            fix="convert it; pickles can run code and are not read",
        )
    library: Any = import_module("safetensors")
    try:
        tensors = import_module("safetensors.torch").load_file(str(path))
    except (OSError, library.SafetensorError) as error:
        raise WeakspotError(
            f"the weights {str(path)[:200]} cannot be read: {error}", fix="check the file"
        ) from error
    fill(module, tensors, of=str(path))


def fill(module: Any, tensors: Any, *, of: str) -> None:
    """Fill a module with tensors by name; one that lacks or is left over is an error."""
    fix = "name the network they were made with"
    try:
        lacking, strange = module.load_state_dict(tensors, strict=False)
    except RuntimeError as error:  # shapes differ
        said = str(error).splitlines()[-1].strip()[:200]
        raise WeakspotError(f"the weights {of[:200]} do not fit: {said}", fix=fix) from error
    lacking = [key for key in lacking if not key.endswith("num_batches_tracked")]
    if lacking or strange:
        which = f"{lacking[0]} is missing" if lacking else f"{strange[0]} is not the network's"
        raise WeakspotError(f"the weights {of[:200]} do not fit: {which}", fix=fix)
