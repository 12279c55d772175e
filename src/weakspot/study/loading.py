"""The parts of a study: given as objects, or named and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from weakspot.core import Registry, WeakspotError, parse_name
from weakspot.core.abilities import Described, Revised
from weakspot.engine import Placed, Watch
from weakspot.engine.identity import models_in
from weakspot.study.options import StudySettings

_FROM_PYTHON = "go on from Python: weakspot.resume(folder, target=…, source=…, judge=…)"


def part(
    given: Any,
    name: str,
    registry: Registry,
    port: type,
    *,
    without_name: str = _FROM_PYTHON,
    wanted: str = "",
    **context: Any,
) -> Any:
    """A given object, or what the name names; either must have the port's methods.

    Args:
        without_name: The way out where the run was made with an object that has no name.
        wanted: The way out where it is not what it must be; by default its methods.
        context: Reaches the factories that ask for it: a text-to-image source is told the label.
    """
    found = given
    if given is None or isinstance(given, str):
        if name.startswith("object:"):
            raise nameless(name, without_name)
        try:
            found = registry.load(name, **context)
        except WeakspotError:
            raise
        except Exception as error:  # a user's module or a plugin may raise anything
            raise WeakspotError(
                f"{name[:200]} cannot be loaded: {type(error).__name__}: {error}",
                fix="correct it; --debug shows where",
            ) from error
    if not isinstance(found, port):
        methods = ", ".join(sorted(m for m in vars(port) if not m.startswith("_")))
        raise WeakspotError(
            f"{name[:200]} is not a {port.__name__}", fix=wanted or f"it must have: {methods}"
        )
    return found


_Settings = TypeVar("_Settings", bound=StudySettings)


def pinned(settings: _Settings, **parts: object) -> _Settings:
    """The settings with the revision in the name of each part that came from the model hub.

    So run.yaml says which commit was used, and a run that is resumed loads the same one, whatever became of
    the branch since.

    Args:
        parts: What was loaded, by the field that names it; a tuple where the field holds several names.
    """
    found: dict[str, Any] = {}
    for what, loaded in parts.items():
        name = getattr(settings, what, None)
        if isinstance(name, str):
            found[what] = _with_revision(name, loaded)
        elif isinstance(name, tuple) and isinstance(loaded, tuple):
            found[what] = tuple(map(_with_revision, name, loaded))
    moved = {what: names for what, names in found.items() if names != getattr(settings, what)}
    return settings.changed(**moved) if moved else settings


def _with_revision(name: str, loaded: object) -> str:
    of_a_hub = (one.revision for one in models_in(loaded) if isinstance(one, Revised))
    revision = next(filter(None, of_a_hub), "")
    if not revision or name.startswith(("object:", "python:")):
        return name
    read = parse_name(name)
    if _is_folder(read.rest):  # one of the hub's cache, named by its path: it has no other revision
        return name
    known = read.options.get("revision")
    if known is None:
        return f"{name}{'&' if '?' in name else '?'}revision={revision}"
    return name.replace(f"revision={known}", f"revision={revision}")  # a branch or a tag, which can move


def _is_folder(path: str) -> bool:
    try:
        return Path(path).expanduser().is_dir()
    except (OSError, RuntimeError, ValueError):
        return False


def tell_models(watch: Watch, *, executor: object = None, **parts: object) -> None:
    """Say in one line each which models a study has, and where they run, as far as they say.

    Args:
        executor: Where the trials are drawn; workers on a cluster say where their models run.
        parts: By what they are for; a tuple where there may be several.
    """
    told = []
    for what, some in parts.items():
        for one in some if isinstance(some, tuple) else (some,):
            described = [model for model in models_in(one) if isinstance(model, Described)]
            told += [(what, model.about) for model in described if model.about]
    if isinstance(executor, Placed):
        told += [("on Ray", f"{pool}: {place}") for pool, place in executor.places.items()]
    for what, about in dict.fromkeys(told):
        watch.say("".join(c if c.isprintable() else " " for c in f"{what:<8} {about}")[:400])


def nameless(name: str, fix: str = _FROM_PYTHON) -> WeakspotError:
    """That a run cannot go on without the object that it was made with."""
    return WeakspotError(f"this run was made with a Python object ({name[7:200]}) that has no name", fix=fix)


#: Schemes whose name may be a path.
SCHEMES: Final = ("onnx", "hf", "timm", "torchscript", "diffusers", "openclip", "st", "npz")
#: Settings of runs that are paths, and those that are names of models, sources and judges.
PATHS: Final = ("images", "documents", "labels_file", "corpus", "tags")
NAMES: Final = ("target", "judge", "source", "encoder", "reference")


def rooted(settings: _Settings, here: str, **others: str) -> _Settings:
    """The settings of a run with the paths made absolute that are files below a directory.

    Args:
        here: The directory; "" leaves paths as they are.
        others: Values in place of the run's, where they are not "".
    """
    found: dict[str, Any] = {}
    for field in (*PATHS, *NAMES):
        given = getattr(settings, field, None)
        if here and isinstance(given, str) and given:
            found[field] = _path(given, here) if field in PATHS else anchored(given, here)
    found |= {name: value for name, value in others.items() if value}
    return settings.changed(**found) if found else settings


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
