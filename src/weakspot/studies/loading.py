"""The parts of a study: given as objects, or named and loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from weakspot.core import Registry, WeakspotError, parse_name

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
        given: The object, or None, or the name once more.
        name: As run.yaml has it.
        registry: Where names are looked up.
        port: What it must be.
        without_name: The way out where the run was made with an object that has no name.
        wanted: The way out where it is not what it must be; by default its methods.
        context: Reaches the factories that ask for it: a text-to-image source is told the label.
    """
    found = given
    if given is None or isinstance(given, str):
        if name.startswith("object:"):
            raise WeakspotError(
                f"this run was made with a Python object ({name[7:200]}) that has no name", fix=without_name
            )
        try:
            found = registry.load(name, **context)
        except WeakspotError:
            raise
        except Exception as error:  # a user's module or a plugin may raise anything
            raise WeakspotError(
                f"{name[:200]} cannot be loaded: {type(error).__name__}: {error}",
                fix="mend it; --debug shows where",
            ) from error
    if not isinstance(found, port):
        methods = ", ".join(sorted(m for m in vars(port) if not m.startswith("_")))
        raise WeakspotError(
            f"{name[:200]} is not a {port.__name__}", fix=wanted or f"it must have: {methods}"
        )
    return found


_Settings = TypeVar("_Settings")


def pinned(settings: _Settings, **parts: object) -> _Settings:
    """The settings with the revision in the name of each part that came from the model hub.

    So run.yaml says which commit was used, and a run that is resumed loads the same one, whatever became of
    the branch since.

    Args:
        settings: A dataclass whose fields hold the names.
        parts: What was loaded, by the field that names it.
    """
    found = {}
    for what, loaded in parts.items():
        name = getattr(settings, what, None)
        revision = getattr(loaded, "revision", "") or getattr(
            getattr(loaded, "generator", None), "revision", ""
        )
        if not (isinstance(name, str) and isinstance(revision, str) and revision):
            continue
        known = parse_name(name).options.get("revision")
        if known is None:
            found[what] = f"{name}{'&' if '?' in name else '?'}revision={revision}"
        else:  # a branch or a tag, which can move
            found[what] = name.replace(f"revision={known}", f"revision={revision}")
    return replace(settings, **found) if found else settings  # type: ignore[type-var]


def name_of(thing: object) -> str:
    """The name of a part as run.yaml has it."""
    return thing if isinstance(thing, str) else f"object:{type(thing).__module__}.{type(thing).__qualname__}"
