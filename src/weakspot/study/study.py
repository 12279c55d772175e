"""A study: settings, parts, a method, a result, and the document that tells it.

What is named as "module:attribute" is imported when it is needed, so that the help of a command costs the
import of its settings alone. A study from outside enters itself in the group `weakspot.studies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, PlainSerializer, ValidationError

from weakspot.core import TABLES, WeakspotError
from weakspot.core.registry import load_study, name_of, study_entries, study_names
from weakspot.study.options import BLOBS, EXECUTOR, OUT, Field, Option, StudySettings, fields_of

if TYPE_CHECKING:
    from weakspot.store import Run


#: What is no object given in place of a name.
_NAMES: Final = (str, Path, bool, int, float, type(None))
#: Something of a study, or where it is: "module:attribute", the module relative to the study's home.
Lazy = Any


@runtime_checkable
class Known(Protocol):
    """Parts with digests beyond those of the things that the settings name, such as of data."""

    @property
    def digests(self) -> Mapping[str, str]:
        """By what they are of."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """One study, as everybody else sees it.

    Attributes:
        name: Of the command, of the function in Python, in run.yaml.
        about: The line in the list of commands.
        home: The package, or the module, that relative names are in.
        settings: A `StudySettings`.
        parts: `load(settings, **objects) -> parts`: what the settings name. Objects are given in place of
            names.
        method: `method(context) -> result`: the study itself. What it returns is the result; what it
            published stands if it returns None.
        result: A `Result`.
        document: `document(run) -> Document`: how the result is told.
        title: `title(settings) -> str`: what is being done, in the first line on the screen.
        progress: `progress(phase, lanes, spent) -> str`: how far the run is, in one line on the screen.
        race: The hypotheses under test are shown as a table while the run goes on.
        one_of: Options of which exactly one must be given.
        resolve: `resolve(settings, objects) -> settings`: what follows from other options, before anything
            is loaded.
        preview: `preview(settings, parts) -> {…}`: what a run would send where and cost, for `--dry-run`;
            pairs of a word and a sentence for people are under "lines". Nothing is sent.
        subject: `subject(settings, parts) -> str`: a word for people, in the name of the run's folder.
        named: `named(parts) -> {setting: object}`: what was loaded, for digests, pinned revisions and the
            screen. By default the attributes of the parts that are called like a setting.
        workers: `workers(settings, parts, objects) -> {pool: make}`: how workers on other machines make their
            source, target and judge. Without it the study stays on one machine.
        pieces: Its work is in pieces that need no models, such as parts of a table; Ray Data spreads them.
        instead_of: The study whose command and function this one answers too, where what it is given first is
            its own, as `hunt` is given a table.
        takes: `takes(given) -> bool`: whether it is.
        stays: Why it does, in words that follow "because".
        retries: Which errors a resumed run asks again: those after which it stopped as broken, or all.
        rates: `rates(run) -> Rates`: what can be compared between runs; by default baselines and findings.
        incomparable: Why nothing can be compared, where `rates` is None.
        rows: `rows(run) -> Rows`: the run as a table, for export; by default a row per trial.
        views: `views(run) -> Views`: what its headline speaks of, as trials that can be looked at.
        pictures: Its findings are words under which a classifier misreads pictures; these are exported.
        repair: `repair(run, settings, target=…)`: the job that a run leaves to the study `repair`.
        example: Values with which the study runs on the embedded world.
        budget: What a budget is counted in, if not in images.
        tools: Further commands below the study's own, by name: "module:command".
        notes: Exit codes and the like, for the end of the help.
    """

    name: str
    about: str
    home: str
    settings: Lazy
    parts: Lazy
    method: Lazy
    result: Lazy
    document: Lazy
    title: Lazy = None
    progress: Lazy = None
    race: bool = False
    one_of: tuple[str, ...] = ()
    resolve: Lazy = None
    preview: Lazy = None
    subject: Lazy = None
    named: Lazy = None
    workers: Lazy = None
    pieces: bool = False
    instead_of: str = ""
    takes: Lazy = None
    stays: str = ""
    retries: Literal["broken", "all"] = "broken"
    rates: Lazy = "weakspot.study.rates:Rates"
    incomparable: str = ""
    rows: Lazy = "weakspot.study.rows:Rows"
    views: Lazy = None
    pictures: bool = False
    repair: Lazy = None
    example: Mapping[str, Any] = field(default_factory=dict)
    budget: str = "images"
    tools: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""

    def find(self, what: str) -> Any:
        """What stands under an attribute, imported; None where the study has no such thing."""
        value = getattr(self, what)
        if not isinstance(value, str):
            return value
        module, _, attribute = value.partition(":")
        path = module if module.startswith("weakspot.") else f"{self.home}.{module}" if module else self.home
        return getattr(import_module(path), attribute)

    @property
    def options(self) -> type[StudySettings]:
        found: type[StudySettings] = self.find("settings")
        return found

    @property
    def fields(self) -> dict[str, Field]:
        return self.options.fields()

    def separate(self, values: Mapping[str, Any]) -> tuple[StudySettings, dict[str, Any]]:
        """Settings, and the objects that were given in place of names, from options by name."""
        self._check_one_of(values)
        fields = self.fields
        plain, objects = dict(values), {}
        for name, value in values.items():
            known = fields.get(name)
            if known is not None and known.many and isinstance(value, str):
                plain[name] = (value,)
            if known is None or not (known.option.port or known.option.named):
                continue
            several = known.many and isinstance(value, list | tuple)
            if not all(isinstance(one, _NAMES) for one in (value if several else [value])):
                objects[name] = value
                naming: Callable[[Any], str] = known.option.named or name_of
                plain[name] = tuple(map(naming, value)) if several else naming(value)
        texts = {k: str(v) if isinstance(v, Path) else v for k, v in plain.items()}
        return self.options.read(texts), objects

    def resolved(self, settings: Any, objects: dict[str, Any]) -> Any:
        """The settings with what follows from other options."""
        resolve = self.find("resolve")
        return settings if resolve is None else resolve(settings, objects)

    def _check_one_of(self, values: Mapping[str, Any]) -> None:
        given = [repr(name) for name in self.one_of if values.get(name)]
        if self.one_of and not given:
            raise WeakspotError(f"{' or '.join(map(repr, self.one_of))} is needed", fix="add one of them")
        if len(given) > 1:
            raise WeakspotError(f"{' and '.join(given)} are both given", fix="give one of the two")

    def named_parts(self, parts: Any) -> dict[str, Any]:
        """What was loaded, by the setting that names it."""
        named = self.find("named")
        if named is not None:
            return dict(named(parts))
        return {name: getattr(parts, name) for name in self.fields if hasattr(parts, name)}

    def digests(self, parts: Any) -> dict[str, str]:
        """The digests of what was loaded, as far as it has any."""
        from weakspot.engine.identity import digest_in

        found: dict[str, str] = {}
        for name, thing in self.named_parts(parts).items():
            for number, one in enumerate(thing if isinstance(thing, tuple) else (thing,), 1):
                if digest := digest_in(one):
                    found[name if number == 1 else f"{name} {number}"] = digest
        return found | (dict(parts.digests) if isinstance(parts, Known) else {})

    @property
    def spreads(self) -> bool:
        """Whether several machines can share its work."""
        return self.pieces or self.workers is not None

    def read_result(self, run: Any) -> Result | None:
        found: type[Result] = self.find("result")
        return found.of(run)

    def check_executor(self, named: object) -> None:
        """Refuse another machine where the study stays on one."""
        if not self.spreads and named not in (None, "local"):
            every = map(find_study, study_names())
            others = [one.name for one in every if one.spreads and not one.instead_of]
            raise WeakspotError(
                f"{self.name} is not spread over machines: {self.stays or 'it draws no trials'}",
                fix=f"leave the executor out; {' and '.join(others)} can be spread",
            )


@cache
def find_study(name: str) -> Study:
    """A study by its name; a wrong name is an error that says the nearest right one."""
    found = load_study(name)
    if not isinstance(found, Study):
        origin = study_entries()[name].origin
        raise WeakspotError(
            f"the study {name!r} of {origin} is a {type(found).__name__}, not a Study",
            fix=f"ask the authors of {origin}",
        )
    return found


def stand_ins(study: Study) -> tuple[Study, ...]:
    """The studies that answer this one's command where they are given what is theirs."""
    return tuple(one for name in study_names() if (one := find_study(name)).instead_of == study.name)


def every_field(study: Study) -> list[Field]:
    """What a study's command takes: its own options, then those of studies that stand in for it."""
    own = {field.name: field for field in fields_of(study)}
    frame = [own.pop(field.name) for field in (OUT, BLOBS, EXECUTOR) if field.name in own]
    for other in stand_ins(study):
        for name, option in other.fields.items():
            same = own.get(name)
            own[name] = _beside(other, option) if same is None else _both(other, same, option)
    return [*own.values(), *frame]


def _beside(study: Study, field: Field) -> Field:
    return field._replace(required=False, option=_of(study, field.option))


def _both(study: Study, own: Field, other: Field) -> Field:
    """An option that two studies call alike, with what it is for in either."""
    if own.option.help == other.option.help:
        return own
    if own.option.argument:
        shown = f"{own.option.shown}|{other.option.shown}"
        option = replace(own.option, shown=shown, help=f"{own.option.help} Or: {_lower(other.option.help)}")
    else:
        option = replace(own.option, help=_of(study, other.option, before=own.option.help).help)
    return own._replace(option=option)


def _of(study: Study, option: Option, *, before: str = "") -> Option:
    """An option as it is told beside those of another study."""
    return replace(option, help=f"{before} Of a {study.name}: {_lower(option.help)}".strip())


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def taker_of(study: Study, values: Mapping[str, Any]) -> Study:
    """The study that answers: another one where this one is given what is the other's."""
    given = next(
        (values[f.name] for f in study.fields.values() if f.option.argument and f.name in values), None
    )
    if given is None or _is_name(given):
        return study
    return next((one for one in stand_ins(study) if one.find("takes")(given)), study)


def _is_name(given: Any) -> bool:
    """Whether this can only name a model: it has a scheme, and is no table's name and no file's."""
    return isinstance(given, str) and ":" in given and not TABLES.has(given) and not Path(given).exists()


def chosen(study: Study, values: Mapping[str, Any]) -> tuple[Study, dict[str, Any]]:
    """The study that answers, and the options that are given to it.

    An option that belongs to the other one, and is not as by default, is an error.
    """
    taker = taker_of(study, values)
    known = {field.name for field in fields_of(taker)}
    defaults = {field.name: field.default for field in every_field(study)}
    for name, value in values.items():
        if name not in known and name in defaults and value not in (None, (), [], defaults[name]):
            other = (
                "for tables of results only" if taker is study else f"for {study.name} only, not for tables"
            )
            raise WeakspotError(f"{name!r} is an option {other}", fix="leave it out")
    return taker, {name: value for name, value in values.items() if name in known or name not in defaults}


#: Writes a named tuple as an object with its names: `rate: Annotated[Rate, ByName]`.
ByName: Final = PlainSerializer(lambda value: value._asdict(), return_type=dict)


class Value(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def plain(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class Result(Value):
    """The base of every study's result.

    Attributes:
        version: Raised when a field changes its meaning; a reader refuses what is newer than itself.
        key: The name under which the ledger keeps it.
    """

    version: ClassVar[int] = 1
    key: ClassVar[str] = "result"

    def keep(self, run: Run) -> None:
        run.ledger.set_fact(self.key, {"version": self.version} | self.plain())

    @classmethod
    def of(cls, run: Run) -> Self | None:
        """The result of a run; None while there is none."""
        values = run.ledger.fact(cls.key)
        if values is None:
            return None
        version = values.pop("version", 0) if isinstance(values, dict) else 0
        if not isinstance(version, int) or version > cls.version:
            raise WeakspotError(
                f"the result in {run.folder} was written by a newer weakspot (version {version!r}; "
                f"this one reads {cls.version})",
                fix="update weakspot",
            )
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            at = ".".join(map(str, first["loc"])) or "it"
            raise WeakspotError(
                f"the result in {run.folder} cannot be read: {at}: {first['msg']}",
                fix="restore the run from a copy, or run the study again",
            ) from None
