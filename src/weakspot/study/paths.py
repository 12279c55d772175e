"""Files that a run names by relative paths, found again from anywhere.

A repair reads the settings of a run that was made in some directory. It keeps that directory, so that it can
be gone on with from another one.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from weakspot.core import WeakspotError, parse_name
from weakspot.study.options import StudySettings

#: Schemes whose name may be a path.
SCHEMES: Final = ("onnx", "hf", "timm", "torchscript", "diffusers", "openclip", "st", "npz")
#: Settings of runs that are paths, and those that are names of models, sources and judges.
PATHS: Final = ("images", "documents", "labels_file", "corpus")
NAMES: Final = ("target", "judge", "source", "encoder", "reference")

_Settings = TypeVar("_Settings")


def rooted(settings: _Settings, here: str, **others: str) -> _Settings:
    """The settings of a run with the paths made absolute that are files below a directory.

    Args:
        settings: Of the run.
        here: The directory; "" leaves paths as they are.
        others: Values in place of the run's, where they are not "".
    """
    found: dict[str, Any] = {}
    for field in (*PATHS, *NAMES):
        given = getattr(settings, field, None)
        if here and isinstance(given, str) and given:
            found[field] = _path(given, here) if field in PATHS else anchored(given, here)
    found |= {name: value for name, value in others.items() if value}
    if not found:
        return settings
    if isinstance(settings, StudySettings):
        return settings.changed(**found)
    return replace(settings, **found)  # type: ignore[type-var]


def anchored(name: str, here: str) -> str:
    """A name, `scheme:path?option=value`, with the paths made absolute that are files below a directory."""
    try:
        scheme, rest, options = parse_name(name)
    except WeakspotError:  # whoever loads it says what is wrong
        return name
    path = _path(rest, here) if scheme in SCHEMES else rest
    moved = {key: _option(value, here) for key, value in options.items()}
    if path == rest and moved == options:
        return name
    query = urlencode(moved, safe="/,:") if moved else ""
    return scheme + (f":{path}" if path else "") + (f"?{query}" if query else "")


def _option(value: str, here: str) -> str:
    if value.partition(":")[0] in SCHEMES and ":" in value:  # a name in a name
        return anchored(value, here)
    return _path(value, here) if "/" in value or Path(value).suffix else value


def _path(given: str, here: str) -> str:
    """An absolute path, if there is such a file."""
    if not given or Path(given).is_absolute():
        return given
    try:
        there = Path(here, given).exists()
    except (OSError, ValueError):  # too long for a path, or with a zero in it
        return given
    return str(Path(here, given)) if there else given
