"""What an option of a study is: said once, and read by everything that offers it.

A study's settings are a frozen pydantic model whose fields are annotated with an `Option`. The flag and its
help, the key of a YAML study, the environment variable, the Python signature, run.yaml and the docs follow.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Self,
    Union,
    get_args,
    get_origin,
)

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from weakspot.core import WeakspotError, check_known, nearest

if TYPE_CHECKING:
    from weakspot.study.study import Study


#: What a text may name: a registered part, something on the disk, or inputs (either of the two).
Names = Literal["model", "source", "judge", "file", "folder", "inputs", "executor", "address", "new folder"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as people are told of it.

    Attributes:
        help: What it is for, in a sentence.
        shown: The placeholder of its value in the help, e.g. MODEL.
        names: What the value names, if it names anything; it is looked up before anything is spent.
        port: What Python callers may give in place of a name: types of `weakspot.core`, such as
            "Source | Generator", or "Any".
        argument: It is given without a flag.
        flag: Its flag, where that is not the field's name.
        inner: It follows from other options, is kept in run.yaml, and cannot be given.
        checked: Of a text that names inputs in its own way: raises what is wrong with it.
        named: The name of an object that is given instead of a text; by default its class.
    """

    help: str
    shown: str = ""
    names: Names | None = None
    port: str = ""
    argument: bool = False
    flag: str = ""
    inner: bool = False
    checked: Callable[[str], object] | None = None
    named: Callable[[Any], str] | None = None


class Field(NamedTuple):
    """An option of one study, with what follows from its place in the settings.

    Attributes:
        name: The key in files, and the keyword in Python.
        many: Several may be given.
        optional: It may be null.
        listed: One text says all of several values; callers in Python may give a list.
    """

    name: str
    option: Option
    kind: type
    many: bool
    required: bool
    default: Any
    optional: bool
    listed: bool

    @property
    def flag(self) -> str:
        """As on the command line; "" for what needs none."""
        return "" if self.option.argument else self.option.flag or f"--{self.name.replace('_', '-')}"

    @property
    def shown(self) -> str:
        """The placeholder of a value."""
        return self.option.shown or {int: "NUMBER", float: "NUMBER", bool: ""}.get(self.kind, "TEXT")

    @property
    def takes(self) -> str:
        words = {bool: "yes or no", int: "whole number", float: "number", Path: "path"}
        return words.get(self.kind, "text")


class StudySettings(BaseModel):
    """What a study was asked to do: the base of every study's settings.

    A value that cannot be meant raises `WeakspotError`, by a validator of the field or of the model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def fields(cls) -> dict[str, Field]:
        """The options by name, in the order in which people are told of them; without inner ones."""
        return {name: field for name, field in _fields(cls).items() if not field.option.inner}

    @classmethod
    def read(cls, values: Mapping[str, Any], *, where: str = "") -> Self:
        """Settings from plain values, checked; `where` is the file they come from, for the message."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise _explained(cls, error, where) from None

    def changed(self, **values: Any) -> Self:
        """The same settings with other values, checked again."""
        return self.read(self.model_dump() | values)

    def plain(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def resumed(self, budget: str) -> Self:
        """The settings of a resumed run, with the budget that it is given now.

        A study whose design depends on the budget refuses one that would change it.
        """
        return self.changed(budget=budget)


@cache
def _fields(cls: type[StudySettings]) -> dict[str, Field]:
    found = {}
    for name, info in cls.model_fields.items():
        # Of an option that several studies have, a study may say more: the last one counts.
        option = next((one for one in reversed(info.metadata) if isinstance(one, Option)), None)
        if option is None:
            raise TypeError(f"{cls.__name__}.{name} is not annotated with an Option")
        kind, many, optional = _kind(info.annotation)
        required = info.is_required()
        default = None if required else info.get_default(call_default_factory=True)
        listed = not many and any(get_origin(one) is tuple for one in get_args(info.annotation))
        found[name] = Field(name, option, kind, many, required, default, optional, listed)
    return found


def _kind(hint: Any) -> tuple[type, bool, bool]:
    """What a value is, whether several may be given, and whether it may be None."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in (Union, types.UnionType):
        others = [one for one in inner if one is not type(None)]
        kind, many, _ = _kind(others[0])
        return kind, many, len(others) < len(inner)
    if origin is tuple:
        return _kind(inner[0])[0], True, False
    if origin is Literal:
        return type(inner[0]), False, False
    if origin is not None:
        return dict, False, False
    return hint, False, False


def _explained(cls: type[StudySettings], error: ValidationError, where: str) -> WeakspotError:
    """The first thing that is wrong, for a person."""
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    known = _fields(cls)
    start = f"{where}: " if where else ""
    if first["type"] == "extra_forbidden":
        hint = nearest(name, known) or f"the options are: {', '.join(known)}"
        return WeakspotError(f"{start}there is no option {name[:80]!r}", fix=hint)
    if first["type"] == "missing":
        placeholder = known[name].shown
        return WeakspotError(f"{start}{name!r} is needed", fix=f"give it: {name}={placeholder}")
    given = repr(first["input"])[:60]
    if first["type"] == "literal_error":  # one of a few words
        words = first["ctx"]["expected"].replace("'", "")
        hint = nearest(str(first["input"])[:80], words.replace(" or ", ", ").split(", "))
        return WeakspotError(f"{start}{name!r} cannot be {given}", fix=hint or f"choose {words}")
    takes = f"takes a {known[name].takes}, not {given}" if name in known else first["msg"]
    return WeakspotError(f"{start}{name!r} {takes}", fix="see the help of the study's command")


# -- options that several studies have -------------------------------------------------------------


def _budget(text: str) -> str:
    from weakspot.engine.stop import Budget  # only now: the help of a command needs no engine

    Budget.parse(text)
    return text


def check_seed(seed: int) -> int:
    """Refuse a seed that the generators of random numbers refuse."""
    if seed < 0:
        raise WeakspotError(f"a seed cannot be {seed}", fix="choose a whole number from 0")
    return seed


def _fdr(share: float) -> float:
    if not 0 < share < 1:
        raise WeakspotError(f"a false-discovery rate of {share} makes no sense", fix="choose e.g. 0.05")
    return share


#: Who may propose what to test.
PROPOSING: Final = ("both", "rules", "llm")


def _proposing(who: str) -> str:
    check_known(who, PROPOSING, f"there is no proposer {who[:80]!r}")
    return who


BudgetOption = Annotated[
    str,
    AfterValidator(_budget),
    Option("Limits: any of images, calls, tokens, dollars, seconds; e.g. images=20k,seconds=600.", "LIMITS"),
]
SeedOption = Annotated[int, AfterValidator(check_seed), Option("The same seed gives the same run.")]
FdrOption = Annotated[
    float,
    AfterValidator(_fdr),
    Option("Bound on the expected share of false findings, between 0 and 1.", "SHARE"),
]
LabelsFileOption = Annotated[
    str | None, Option("Names and parents of labels, as CSV, JSON or text.", "FILE", names="file")
]
SenseOption = Annotated[
    str | None,
    Option(
        "Which meaning of the label, if WordNet has several; for several labels, e.g. crane=5,cat=1.", "SENSE"
    ),
]


#: Of a table of results: its columns, where their names do not say it.
LabelColumnOption = Annotated[str, Option("Of a table: the column with the right answers.", "COLUMN")]
PredictionColumnOption = Annotated[str, Option("Of a table: the column with the model's answers.", "COLUMN")]
GroupColumnOption = Annotated[
    str, Option("Of a table: the column whose groups are never split, e.g. patient.", "COLUMN")
]
FailedOption = Annotated[
    str, Option("Of a table: what counts as a failure if not a wrong answer, e.g. 'loss > 2'.", "EXPRESSION")
]


class _Frame(StudySettings):
    """What every study is given beside its settings: where the run is kept, and where it is computed."""

    out: Annotated[
        Path | None,
        Option(
            "The run's folder, new or empty; by default a new one in runs/.", "FOLDER", names="new folder"
        ),
    ] = None
    blobs: Annotated[
        str | None,
        Option(
            "Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder.",
            "URL",
            names="address",
        ),
    ] = None
    executor: Annotated[
        str,
        Option(
            "Where the work is done: local, or on Ray, e.g. 'ray?source=4' or 'ray:auto?source_gpus=1'.",
            "EXECUTOR",
            names="executor",
        ),
    ] = "local"


OUT, BLOBS, EXECUTOR = _Frame.fields().values()


def fields_of(study: Study) -> Iterator[Field]:
    """Everything a study is given: its own options, and where its run is kept and computed."""
    yield from study.fields.values()
    yield OUT
    yield BLOBS
    if study.spreads:
        yield EXECUTOR


def _template(text: str) -> str:
    from weakspot.sources.prompts import check_template  # only now: the help of a command needs no sources

    check_template(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTask:
    """What is asked of a classifier.

    Attributes:
        hunted: The labels whose failures are counted.
        target_label: If given, only this wrong answer counts as a failure.
        judge: Name of the judge; by default the label is missed, or `target_label` is said.
        verify: Names of models that must see the label in a picture before it counts.
        prompt: The plain prompt; {label} and {parent} are filled in.
    """

    target: str
    source: str
    hunted: tuple[str, ...]
    target_label: str | None = None
    judge: str | None = None
    verify: tuple[str, ...] = ()
    labels_file: str | None = None
    sense: str | None = None
    prompt: str = "a realistic photograph of a {label} ({parent})."


class LabelSettings(StudySettings):
    """The options that these studies share."""

    target: Annotated[
        str,
        Option(
            "The classifier, e.g. world:classifier (see: weakspot list models).",
            "MODEL",
            names="model",
            port="Target",
            argument=True,
        ),
    ]
    label: Annotated[str, Option("The label whose failures are counted.", "LABEL")] = ""
    target_label: Annotated[str | None, Option("Count only this wrong answer as a failure.", "LABEL")] = None
    source: Annotated[
        str,
        Option(
            "What draws images from words (see: weakspot list sources).",
            "SOURCE",
            names="source",
            port="Source | Generator",
        ),
    ] = "world:renderer"
    prompt: Annotated[
        str,
        AfterValidator(_template),
        Option("The plain prompt, with {label} and, if wanted, ({parent}).", "TEXT"),
    ] = "a realistic photograph of a {label} ({parent})."
    labels_file: LabelsFileOption = None
    sense: SenseOption = None

    @property
    def task(self) -> LabelTask:
        return LabelTask(
            target=self.target,
            source=self.source,
            hunted=(self.label,),
            target_label=self.target_label,
            labels_file=self.labels_file,
            sense=self.sense,
            prompt=self.prompt,
        )


def check_labels(task: LabelTask) -> None:
    if not all(label.strip() for label in task.hunted):
        raise WeakspotError("the label is empty", fix="name the label whose failures are hunted")
    if len({*task.hunted}) < len(task.hunted):
        raise WeakspotError("a label is given twice", fix="give each label once")
    if task.target_label in task.hunted:
        raise WeakspotError("the target label is the right label", fix="name a wrong answer, or leave it out")
    if task.target_label is not None and task.judge is not None:
        raise WeakspotError(
            "a target label and a judge both say what a failure is",
            fix="give one of the two; label?target=… is the judge for a target label",
        )


ProposeOption = Annotated[
    str,
    AfterValidator(_proposing),
    Option("Who proposes what to test: rules, llm or both; without --llm it is the rules.", "WHO"),
]
