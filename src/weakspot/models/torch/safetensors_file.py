"""Weights from a file into a module of torch, all of them or none.

A file is safetensors; a pickle is read on the user's word alone, with torch's restricted reader, which makes
tensors and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError


def read_weights(module: Any, path: Path, *, pickle: bool = False) -> None:
    """Fill a module.

    Args:
        module: Of torch.
        path: The file.
        pickle: Whether one that is no safetensors may be read as a pickle.

    Raises:
        WeakspotError: It is no safetensors file, or does not fit.
    """
    if pickle and path.suffix != ".safetensors":
        fill(module, _restricted(path), of=str(path))
        return
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


def _restricted(path: Path) -> Any:
    try:
        return import_module("torch").load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of the file, or of what it would have run
        said = (str(error).strip().splitlines() or [""])[0][:200]
        raise WeakspotError(
            f"the weights {str(path)[:200]} are no pickle of tensors alone: {type(error).__name__}: {said}",
            fix="check the file; convert it to safetensors where you trust it",
        ) from error


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
