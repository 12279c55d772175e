"""One string names any model, source, judge, corpus: `scheme:name?option=value&option=value`.

The registry maps such names to lazy "module:attr" targets, so that naming a thing imports only that
thing. Built-in parts are listed in `builtin`; third parties use entry points in the groups
`weakspot.models`, `weakspot.sources`, and so on, as `weakspot list` calls them. An entry is either a full
name ("world:classifier") or a scheme ("onnx"), whose factory is handed the rest of the name.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from typing import Any

from weakspot.core import builtin
from weakspot.core.entry import Entry, Kind, Name, parse_name
from weakspot.core.errors import WeakspotError, nearest


class Registry:
    """The names of one kind."""

    def __init__(self, kind: Kind, entries: Iterable[Entry] = ()) -> None:
        self.kind = kind
        self._entries: dict[str, Entry] = {}
        self._plugins_read = False
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Enter a name; a second owner of the same name is an error, not a silent replacement."""
        present = self._entries.get(entry.name)
        if present is not None and present.target != entry.target:
            raise WeakspotError(
                f"{self.kind} {entry.name!r} is registered twice: by {present.origin} ({present.target}) "
                f"and by {entry.origin} ({entry.target})",
                fix="uninstall one of the two, or rename its entry point",
            )
        self._entries[entry.name] = entry

    def __iter__(self) -> Iterator[Entry]:
        self._read_plugins()
        return iter(sorted(self._entries.values(), key=lambda e: e.name))

    def knows(self, text: str) -> bool:
        """Whether a text begins like a name of this kind; of what else it may be, such as a path, no word."""
        self._read_plugins()
        full = text.strip().partition("?")[0]
        return full in self._entries or full.partition(":")[0] in self._entries

    def beside(self, text: str, option: str) -> str:
        """The name that goes with a name as an option of a study; "" where none is known to."""
        return dict(self.find(text)[0].beside).get(option, "") if self.knows(text) else ""

    def takes(self, text: str, option: str) -> bool:
        """Whether what a name names can be told something, such as the label of its pictures."""
        known = _keywords(_attribute(self.find(text)[0])) if self.knows(text) else set()
        return known is None or option in known

    def find(self, text: str) -> tuple[Entry, Name]:
        """The entry behind a name; a wrong name is an error that says the nearest right one."""
        self._read_plugins()
        name = parse_name(text)
        entry = self._entries.get(name.full) or self._entries.get(name.scheme)
        if entry is None:
            hint = nearest(name.full, self._entries) or nearest(name.scheme, self._entries)
            raise WeakspotError(
                f"no {self.kind} is called {name.full[:80]!r}",
                fix=f"{hint + ' ' if hint else ''}see: weakspot list {self.kind.plural}",
            )
        return entry, name

    def load(self, text: str, **context: Any) -> Any:
        """Build what a name names.

        Args:
            text: The name. Its options become keyword arguments of the factory (as text).
            context: Further keyword arguments, given only to factories that take them.
        """
        entry, name = self.find(text)
        factory = _attribute(entry)
        known = _keywords(factory)
        if known is not None:
            unknown = [o for o in name.options if o not in known]
            if unknown:
                hint = nearest(unknown[0], known)
                raise WeakspotError(
                    f"{entry.name!r} has no option {unknown[0]!r}",
                    fix=hint or f"its options are: {', '.join(sorted(known)) or 'none'}",
                )
            context = {k: v for k, v in context.items() if k in known}
        context = {k: v for k, v in context.items() if k not in name.options}  # the name goes first
        takes_rest = entry.name == name.scheme and name.full != entry.name
        args = (name.rest,) if takes_rest else ()
        try:
            inspect.signature(factory).bind(*args, **context, **name.options)
        except TypeError as error:
            raise WeakspotError(
                f"{text[:80]!r} cannot be built: {error}", fix=f"write it as {entry.example or entry.name}"
            ) from None
        try:
            return factory(*args, **context, **name.options)
        except ImportError as error:  # heavy libraries are imported by the factory, not by its module
            raise _missing(entry, error) from error

    def _read_plugins(self) -> None:
        if self._plugins_read:
            return
        for point in entry_points(group=f"weakspot.{self.kind.plural}"):
            origin = point.dist.name if point.dist else "an unknown package"
            self.add(Entry(point.name, point.value, about="from a plugin", origin=origin))
        self._plugins_read = True  # only now: a collision is an error every time, not the first time only


def _attribute(entry: Entry) -> Callable[..., Any]:
    try:
        factory: Callable[..., Any] = _resolve(entry.target)
    except ImportError as error:
        raise _missing(entry, error) from error
    except AttributeError as error:
        raise WeakspotError(
            f"{entry.name!r} points at nothing: {error}", fix=f"reinstall {entry.origin}"
        ) from error
    return factory


def _missing(entry: Entry, error: ImportError) -> WeakspotError:
    fix = f"pip install 'weakspot[{entry.extra}]'" if entry.extra else f"reinstall {entry.origin}"
    return WeakspotError(f"{entry.name!r} needs a library that is missing: {error}", fix=fix)


def _resolve(path: str) -> Any:
    module, _, attribute = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else []:
        found = getattr(found, part)
    return found


def import_part(path: str) -> Any:
    """What `python:package.module:attr` names; a class is called without arguments."""
    if ":" not in path:
        raise WeakspotError(f"{path!r} names no attribute", fix="write it as python:package.module:attr")
    try:
        found = _resolve(path)
    except (ImportError, AttributeError) as error:
        raise WeakspotError(
            f"python:{path} cannot be imported: {error}",
            fix="check the spelling, and that the module is on PYTHONPATH or in the current folder",
        ) from error
    return found() if inspect.isclass(found) else found


def _keywords(factory: Callable[..., Any]) -> set[str] | None:
    """The names a factory takes as keyword-only arguments; None when it takes any."""
    parameters = inspect.signature(factory).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


MODELS = Registry(Kind.MODEL, builtin.MODELS)
SOURCES = Registry(Kind.SOURCE, builtin.SOURCES)
JUDGES = Registry(Kind.JUDGE, builtin.JUDGES)
CORPORA = Registry(Kind.CORPUS, builtin.CORPORA)
PICTURES = Registry(Kind.PICTURES, builtin.PICTURES)
DIFFERS = Registry(Kind.DIFFERS, builtin.DIFFERS)

__all__ = [
    "CORPORA",
    "DIFFERS",
    "JUDGES",
    "MODELS",
    "PICTURES",
    "SOURCES",
    "Entry",
    "Kind",
    "Name",
    "Registry",
    "import_part",
    "parse_name",
]
