"""One string names any model, source, judge, corpus: `scheme:name?option=value&option=value`.

The registry maps such names to lazy "module:attr" targets, so that naming a thing imports only that thing.
An entry is a full name ("world:classifier") or a scheme ("onnx"), whose factory is handed the rest of the
name. Ours stand in `builtin.toml`, those of others are entry points: `weakspot.models` and so on.
"""

from __future__ import annotations

import importlib
import inspect
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from weakspot.core.errors import WeakspotError, check_known, nearest


class Kind(StrEnum):
    """What a name can name."""

    MODEL = "model"
    SOURCE = "source"
    JUDGE = "judge"
    CORPUS = "corpus"
    PICTURES = "set of pictures"
    DIFFERS = "judge of differences"
    TABLE = "table of results"

    @property
    def plural(self) -> str:
        """In `weakspot list`, and in the entry-point group `weakspot.PLURAL`."""
        return {
            Kind.CORPUS: "corpora",
            Kind.PICTURES: "pictures",
            Kind.DIFFERS: "differs",
            Kind.TABLE: "tables",
        }.get(self, f"{self}s")


class Name(NamedTuple):
    """A parsed name. `rest` is "" where the name is a scheme alone."""

    scheme: str
    rest: str
    options: dict[str, str]

    @property
    def full(self) -> str:
        """Scheme and rest, without the options."""
        return f"{self.scheme}:{self.rest}" if self.rest else self.scheme


def parse_name(text: str) -> Name:
    """Split `scheme:name?option=value`; the options are read as in a URL."""
    head, _, query = text.strip().partition("?")
    scheme, _, rest = head.partition(":")
    if not scheme or not all(c.isprintable() for c in text):
        raise WeakspotError(f"{text[:80]!r} is not a name", fix="write it as scheme:name?option=value")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise WeakspotError(
            f"the options in {text[:80]!r} cannot be read", fix="write them as ?option=value&option=value"
        ) from None
    if len(dict(pairs)) != len(pairs):
        raise WeakspotError(f"an option is given twice in {text[:80]!r}", fix="give each option once")
    return Name(scheme, rest, dict(pairs))


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name.

    Attributes:
        name: A full name ("world:classifier") or a scheme ("onnx").
        target: "module:attr" of the factory.
        about: One line for `weakspot list`.
        example: How it is written; the name itself by default.
        extra: The optional dependency group it needs, or "".
        origin: The distribution that brings it.
        ports: What a model can be: "classifier", "captioner", "encoder", "generator", "summariser", "chat".
        examples: By port, how it is written where `example` is of another.
        beside: By option of a study, the name that goes with this one where nobody says otherwise.
        names: What follows the scheme are names, with options of their own and commas between.
    """

    name: str
    target: str
    about: str = ""
    example: str = ""
    extra: str = ""
    origin: str = "weakspot"
    ports: Sequence[str] = ()
    examples: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    names: bool = False


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

    def has(self, text: str) -> bool:
        """Whether a text is a name of this kind as it stands, without a scheme's rest or options."""
        self._read_plugins()
        return text.strip() in self._entries

    def beside(self, text: str, option: str) -> str:
        """The name that goes with a name as an option of a study; "" where none is known to."""
        return self.find(text)[0].beside.get(option, "") if self.knows(text) else ""

    def options(self, text: str) -> set[str] | None:
        """What may follow the `?` of a name; None where anything may."""
        return _keywords(_attribute(self.find(text)[0]))

    def takes(self, text: str, option: str) -> bool:
        """Whether what a name names can be told something, such as the label of its pictures."""
        known = self.options(text) if self.knows(text) else set()
        return known is None or option in known

    def find(self, text: str) -> tuple[Entry, Name]:
        """The entry behind a name; a wrong name is an error that says the nearest right one."""
        self._read_plugins()
        scheme, _, rest = text.strip().partition(":")
        if (entry := self._entries.get(scheme)) is not None and entry.names and rest:
            return entry, Name(scheme, rest, {})
        name = parse_name(text)
        entry = self._entries.get(name.full) or self._entries.get(name.scheme)
        if entry is None:
            hint = nearest(name.full, self._entries) or nearest(name.scheme, self._entries)
            raise WeakspotError(
                f"no {self.kind} is called {name.full[:80]!r}",
                fix=f"{hint + ' ' if hint else ''}see: weakspot list {self.kind.plural}",
            )
        return entry, name

    def split(self, text: str) -> list[str]:
        """Names with commas between; a comma within the options of a name is none of these."""
        found: list[str] = []
        for part in text.split(","):
            if found and "?" in found[-1] and not self.knows(part):
                found[-1] += f",{part}"
            else:
                found.append(part)
        return [name.strip() for name in found if name.strip()]

    def load(self, text: str, **context: Any) -> Any:
        """Build what a name names.

        The name's options become keyword arguments of the factory (as text); `context` gives further ones to
        factories that take them.
        """
        entry, name = self.find(text)
        factory = _attribute(entry)
        known = _keywords(factory)
        for option in name.options:
            check_option(entry, option, known)
        context = {
            k: v
            for k, v in context.items()
            if (known is None or k in known) and k not in name.options  # the name goes first
        }
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


def check_option(entry: Entry, option: str, known: set[str] | None) -> None:
    """Refuse an option that is not among those that the entry's factory takes."""
    if known is not None and option not in known:
        raise WeakspotError(
            f"{entry.name!r} has no option {option!r}",
            fix=nearest(option, known) or f"its options are: {', '.join(sorted(known)) or 'none'}",
        )


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


def name_of(thing: object) -> str:
    """The name of a part as run.yaml has it."""
    return thing if isinstance(thing, str) else f"object:{type(thing).__module__}.{type(thing).__qualname__}"


def _keywords(factory: Callable[..., Any]) -> set[str] | None:
    """The names a factory takes as keyword-only arguments; None when it takes any."""
    parameters = inspect.signature(factory).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


# -- options of a name, which are all text: `?steps=8&guidance=2&size=64x96&compile=yes`; "" is not given --


def read_whole(what: str, text: str, *, most: int) -> int | None:
    """A whole number from 1 to `most`."""
    if not text:
        return None
    if not (_digits(text) and 1 <= int(text) <= most):
        raise WeakspotError(f"{what} cannot be {text[:80]!r}", fix=f"choose a whole number from 1 to {most}")
    return int(text)


def read_number(what: str, text: str, *, most: float) -> float | None:
    """A number from 0 to `most`."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise WeakspotError(f"{what} cannot be {text[:80]!r}", fix=f"choose a number from 0 to {most:g}")
    return value


def read_size(text: str) -> tuple[int, int] | None:
    """Height and width of a picture in pixels, `512x768`, or one number for both."""
    if not text:
        return None
    sides = text.lower().split("x")
    if len(sides) > 2 or not all(_digits(side) and 8 <= int(side) <= 8192 for side in sides):
        raise WeakspotError(
            f"pictures cannot be {text[:80]!r} pixels large", fix="write 512, or 512x768 for height x width"
        )
    return int(sides[0]), int(sides[-1])


def read_yes(what: str, text: str) -> bool:
    if text not in ("yes", "no"):
        raise WeakspotError(f"{what} cannot be {text[:80]!r}", fix="choose yes or no")
    return text == "yes"


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def read_three(text: str, *, above: float = -math.inf) -> list[float]:
    """Three numbers, one for each channel: `0.485,0.456,0.406`."""
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(math.isfinite(x) and x > above for x in numbers):
        positive = " positive" if above == 0 else ""
        raise WeakspotError(f"{text[:80]!r} is not three{positive} numbers", fix="write 0.485,0.456,0.406")
    return numbers


def _builtin(kind: str) -> list[Entry]:
    return [Entry(name, **keys) for name, keys in _BUILTIN[kind].items()]


_BUILTIN: Final = tomllib.loads(Path(__file__).with_name("builtin.toml").read_text("utf-8"))
STUDIES: Final = _builtin("studies")
MODELS, SOURCES, JUDGES, CORPORA, PICTURES, DIFFERS, TABLES = (
    Registry(kind, _builtin(kind.plural)) for kind in Kind
)


@cache
def study_entries() -> dict[str, Entry]:
    """Every study by name; two owners of one name are an error."""
    found = {entry.name: entry for entry in STUDIES}
    for point in entry_points(group="weakspot.studies"):
        origin = point.dist.name if point.dist else "an unknown package"
        if point.name in found and found[point.name].target != point.value:
            raise WeakspotError(
                f"the study {point.name!r} is registered twice: by {found[point.name].origin} and {origin}",
                fix="uninstall one of the two, or rename its entry point",
            )
        found.setdefault(point.name, Entry(point.name, point.value, origin=origin))
    return found


def load_study(name: str) -> object:
    """A study by its name, whatever it is; `weakspot.study.find_study` sees to it that it is one."""
    check_known(name, study_entries(), f"no study is called {name[:80]!r}")
    entry = study_entries()[name]
    try:
        found: object = _resolve(entry.target)
        return found
    except (ImportError, AttributeError) as error:
        raise WeakspotError(
            f"the study {name!r} of {entry.origin} cannot be imported: {error}",
            fix=f"reinstall {entry.origin}",
        ) from error


def study_names() -> tuple[str, ...]:
    return tuple(study_entries())
