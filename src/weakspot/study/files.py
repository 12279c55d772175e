"""A study as a YAML file: the options of its settings, read with the line of every problem."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from weakspot.core import WeakspotError, disk_errors, nearest
from weakspot.core.registry import study_names
from weakspot.study.options import Field, fields_of
from weakspot.study.study import Study, find_study, taker_of

#: More than any study's file has.
LARGEST: Final = 1 << 20
_TEXT, _INT, _FLOAT, _BOOL, _NULL = (
    f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "bool", "null")
)


class Problem(NamedTuple):
    """What is wrong, where (0: the file as a whole), and what to do about it."""

    line: int
    what: str
    fix: str = ""


class _Unfit(Exception):
    """A value that is not what its option takes."""


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study as a file says it.

    Attributes:
        study: Its name; "" if there is none such.
        values: By key, as far as they can be read; None is not there.
        problems: Of the text itself: what it names has not been looked at.
    """

    path: Path
    study: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def arguments(self) -> list[str]:
        """The same as words of the command line, without the command itself."""
        flags: list[str] = []
        plain: list[str] = []
        for option in options_of(self.study).values():
            value = self.values.get(option.name)
            if value is None or value is False:
                continue
            if not option.flag:
                plain.append(str(value))
            elif value is True:
                flags.append(option.flag)
            else:
                if option.listed and isinstance(value, list):
                    value = ",".join([*value, ""])
                flags += [f"{option.flag}={one}" for one in (value if option.many else [value])]
        return [*flags, "--", *plain]


def read_study(path: Path, *, changes: Sequence[str] = ()) -> StudyFile:
    """Read a study's file; everything that is wrong with it is in `problems`.

    `changes` are KEY=VALUE, in place of what the file says.
    """
    found = StudyFile(path)
    loader, rows = _rows(_text(path), found.problems)
    known: Mapping[str, Field] = {}
    name, line = next(((value, line) for key, line, value in rows if key == "study"), (None, 1))
    if rows or not found.problems:
        study = None if name is None or loader is None else name.value
        if isinstance(study, str) and study in study_names():
            plain = {key: node.value for key, _, node in rows if isinstance(node, yaml.ScalarNode)}
            study = taker_of(find_study(study), plain).name
            known = options_of(study)
            found = StudyFile(path, study, found.values, found.lines, found.problems)
        elif name is None:
            fix = f"add the line: study: hunt (or {', '.join(n for n in study_names() if n != 'hunt')})"
            found.problems.append(Problem(0, "the file does not say which study it is", fix))
        else:
            hint = nearest(str(study), study_names()) or f"choose from: {', '.join(study_names())}"
            found.problems.append(Problem(line, f"no study is called {str(study)[:60]!r}", hint))
    for key, line, node in rows:
        if key != "study" and known:
            _take(found, key, line, node, known)
    for change in changes if known else ():
        _change(found, change, known)
    for option in known.values():
        if option.required and found.values.get(option.name) is None:
            line = found.lines.get(option.name, 0)
            if not any(problem.line == line and line for problem in found.problems):
                fix = f"add the line: {option.name}: {option.shown}"
                found.problems.append(Problem(line, f"{option.name!r} is needed", fix))
    return found


def options_of(study: str) -> dict[str, Field]:
    """Every key of a study's file, in the order of its help."""
    return {field.name: field for field in fields_of(find_study(study))}


def _text(path: Path) -> str:
    with disk_errors(f"{path} cannot be read", "name a YAML file of a study"):
        try:
            content = path.read_bytes()[: LARGEST + 1]
        except FileNotFoundError:
            raise WeakspotError(f"there is no file {path}", fix="weakspot init hunt > study.yaml") from None
    try:
        if len(content) > LARGEST:
            raise ValueError("it is too large")
        return content.decode("utf-8-sig")
    except ValueError as error:
        raise WeakspotError(
            f"{path} is not a study: {error}", fix="weakspot init hunt > study.yaml"
        ) from None


def _rows(text: str, problems: list[Problem]) -> tuple[Any, list[tuple[str, int, Any]]]:
    """(key, line, node) of the file's mapping."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        problems.append(
            Problem(mark.line + 1 if mark else 0, f"this is not YAML: {what}", "correct the line")
        )
        return None, []
    if not isinstance(root, yaml.MappingNode):
        problems.append(Problem(1, "the file holds no options", "write one a line, as in: seed: 7"))
        return None, []
    rows = []
    seen: dict[str, int] = {}
    for key_node, value in root.value:
        line = key_node.start_mark.line + 1
        key = str(key_node.value).replace("-", "_") if isinstance(key_node, yaml.ScalarNode) else ""
        if key in seen:
            problems.append(
                Problem(line, f"{key!r} is given twice, first on line {seen[key]}", "give it once")
            )
            continue
        seen[key] = line
        rows.append((key, line, value))
    return loader, rows


def _take(found: StudyFile, key: str, line: int, node: Any, known: Mapping[str, Field]) -> None:
    if key not in known:
        hint = nearest(key, known) or f"see: weakspot init {found.study}"
        found.problems.append(Problem(line, f"{found.study} has no option {key[:60]!r}", hint))
        return
    found.lines[key] = line
    try:
        found.values[key] = _value(node, known[key])
    except _Unfit as error:
        found.problems.append(Problem(line, f"{key!r} {error}", f"e.g. {_example(known[key])}"))


def _change(found: StudyFile, change: str, known: Mapping[str, Field]) -> None:
    key, sign, value = change.partition("=")
    key = key.strip().replace("-", "_")
    if not sign or key not in known:
        hint = "" if key in known else nearest(key, known)
        hint = hint or f"write --set KEY=VALUE, with a key of: weakspot init {found.study}"
        found.problems.append(Problem(0, f"--set {change[:80]!r} sets no option of {found.study}", hint))
        return
    try:
        node = yaml.SafeLoader(value).get_single_node()
        found.values[key] = None if node is None else _value(node, known[key])
    except yaml.YAMLError:
        found.values[key] = value  # a name with a character that YAML reserves is a name still
    except _Unfit as error:
        found.problems.append(Problem(0, f"--set {key} {error}", f"e.g. {_example(known[key])}"))
    # What a change replaces is no longer wrong.
    line = found.lines.pop(key, -1)
    found.problems[:] = [p for p in found.problems if p.line != line or not p.what.startswith(repr(key))]


def _value(node: Any, option: Field) -> Any:
    """The value of a node as the option takes it; None for null."""
    if isinstance(node, yaml.SequenceNode):
        if not option.many and not option.listed:
            raise _Unfit(f"takes one {option.takes}, not a list")
        return [_scalar(one, option) for one in node.value] or None
    value = _scalar(node, option)
    return value if value is None or not option.many else [value]


def _scalar(node: Any, option: Field) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise _Unfit(f"takes a {option.takes}")
    text = str(node.value)
    if node.tag == _NULL:
        return None
    if option.takes == "yes or no":
        if node.tag != _BOOL:
            raise _Unfit(f"is yes or no, not {text[:60]!r}")
        return text.lower() in ("yes", "true", "on", "y")
    if node.tag == _BOOL:
        raise _Unfit(f"is read as yes or no: {text}; put it in quotes if it is a text")
    if option.takes in ("whole number", "number"):
        return _number(text, option)
    return text


def _number(text: str, option: Field) -> int | float:
    with suppress(ValueError):
        if option.takes == "whole number":
            return int(text)
        if math.isfinite(value := float(text)):
            return value
    raise _Unfit(f"is a {option.takes}, not {text[:60]!r}")


def _example(option: Field) -> str:
    if option.default is not None:
        return f"{option.name}: {option.default}"
    value = {"yes or no": "true", "whole number": "7", "number": "0.1"}.get(option.takes, option.shown)
    return f"{option.name}: {f'[{value}]' if option.many else value}"


def described(path: Path, problems: Sequence[Problem]) -> Iterator[str]:
    """The problems as lines, in the order of the file: `study.yaml:7: …`."""
    for problem in sorted(problems, key=lambda p: (p.line == 0, p.line)):
        where = f"{path}:{problem.line}" if problem.line else f"{path}"
        yield f"{where}: {problem.what}{f' ({problem.fix})' if problem.fix else ''}"


_TYPES = {bool: "boolean", int: "integer", float: "number"}


def schema_of(study: Study) -> dict[str, Any]:
    fields = list(fields_of(study))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"weakspot {study.name}",
        "description": study.about,
        "type": "object",
        "properties": {"study": {"const": study.name}} | {field.name: _property(field) for field in fields},
        "required": ["study", *(field.name for field in fields if field.required)],
        "additionalProperties": False,
    }


def _property(field: Field) -> dict[str, Any]:
    one: dict[str, Any] = {"type": _TYPES.get(field.kind, "string")}
    several = field.many or field.listed
    value = {"anyOf": [one, {"type": "array", "items": one}]} if several else one
    if not field.required:
        value = {"anyOf": [value, {"type": "null"}]}
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return value | {"description": field.option.help} | ({} if field.required else {"default": default})
