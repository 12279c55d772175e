"""The files that come with the world: weights, tokens, truth tables. None is used unless its digest is right.

`weights/manifest.json` lists them all. `training/manifest.py` writes it anew.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from weakspot.core.errors import WeakspotError

FOLDER: Final = Path(__file__).with_name("weights")
MANIFEST: Final = "manifest.json"
#: What to do about every error here: the files are part of the package and nobody else's.
FIX: Final = "reinstall weakspot"


def manifest() -> dict[str, dict[str, Any]]:
    """Every shipped file by its path below `weights/`: its "sha256" and its "bytes"."""
    try:
        return dict(json.loads((FOLDER / MANIFEST).read_text("utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeakspotError("the list of the world's weights cannot be read", fix=FIX) from error


def file(name: str) -> Path:
    """A shipped file; an error if it is unknown, missing or not the one that was shipped."""
    return _checked(name, manifest())


def folder(name: str) -> tuple[Path, dict[str, str]]:
    """A shipped folder, and the digest of each of its files by the path below it; all are checked."""
    files = manifest()
    inside = {path.removeprefix(f"{name}/"): path for path in files if path.startswith(f"{name}/")}
    if not inside:
        raise WeakspotError(f"the world has no weights called {name!r}", fix=FIX)
    for path in inside.values():
        _checked(path, files)
    return FOLDER / name, {short: files[path]["sha256"] for short, path in inside.items()}


def joint_digest(*names: str) -> str:
    """One SHA-256 for a model that is made of several files."""
    files = manifest()
    return hashlib.sha256(" ".join(files[name]["sha256"] for name in names).encode()).hexdigest()


def _checked(name: str, files: dict[str, dict[str, Any]]) -> Path:
    if name not in files:
        raise WeakspotError(f"the world has no file {name!r}", fix=FIX)
    path = FOLDER / name
    try:
        stat = path.stat()
        right = stat.st_size == files[name]["bytes"] and (
            _digest(path, stat.st_mtime_ns, stat.st_size) == files[name]["sha256"]
        )
    except OSError as error:
        raise WeakspotError(f"the world's file {path} cannot be read: {error.strerror}", fix=FIX) from error
    if not right:
        raise WeakspotError(f"{path} is not the file it should be (its SHA-256 differs)", fix=FIX)
    return path


@lru_cache(maxsize=1024)
def _digest(path: Path, changed: int, size: int) -> str:  # noqa: ARG001 (they are the key of the cache)
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
