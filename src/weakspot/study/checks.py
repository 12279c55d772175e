"""What a study's file names, looked at before anything is spent: models, files, budgets, and their sense.

Nothing is loaded unless asked for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import TypeAdapter, ValidationError

from weakspot.core import JUDGES, MODELS, SOURCES, Registry, WeakspotError
from weakspot.core.registry import Entry, check_option
from weakspot.records.read import is_table
from weakspot.store.blobs import check_url
from weakspot.study.files import Problem, StudyFile, options_of
from weakspot.study.lifecycle import check_executor
from weakspot.study.options import Field
from weakspot.study.study import Study, find_study

_REGISTRIES: Final[dict[str, Registry]] = {"model": MODELS, "source": SOURCES, "judge": JUDGES}
#: Schemes after which a file or a folder is named, and options that name a file.
_FILES: Final = frozenset(
    {"onnx", "npz", "replay", "mossbench", "questions", "xstest", "retrieve", "coco", "snli"}
)
#: Schemes after which a folder or a name on the model hub is named.
_HUB: Final = frozenset({"diffusers", "hf", "openclip", "st", "timm"})
_FILE_OPTIONS: Final = frozenset({"labels", "weights"})


def check_study(found: StudyFile, *, load: bool = False) -> list[Problem]:
    """Everything that is wrong with a study, in its text and in what it names.

    With `load` the models are loaded too, to see whether they fit; that may download them.
    """
    problems = list(found.problems)
    if not found.study:
        return problems
    study = find_study(found.study)
    for field in options_of(found.study).values():
        value = found.values.get(field.name)
        if value in (None, ""):
            continue
        meant, wrong = _meant(study, field, value)
        for one in meant if isinstance(meant, list | tuple) else [meant]:
            wrong += _names_nothing(field, str(one))
        line = found.lines.get(field.name, 0)
        problems += [Problem(line, f"{field.name}: {what}", fix) for what, fix in wrong]
    return problems or _cannot_be_meant(study, found, load=load)


def _meant(study: Study, field: Field, value: Any) -> tuple[Any, list[tuple[str, str]]]:
    """A value as the option reads it, and what the option itself says against it."""
    info = study.options.model_fields.get(field.name)
    if info is None:
        return value, []
    given = tuple(value) if isinstance(value, list) else value
    try:
        annotated: Any = Annotated[info.annotation, *info.metadata]
        return TypeAdapter(annotated).validate_python(given), []
    except WeakspotError as error:
        return value, [(error.what, error.fix)]
    except ValidationError as error:
        return value, [(error.errors()[0]["msg"].lower(), f"it takes a {field.takes}")]


def _names_nothing(field: Field, value: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a name: (what, fix)."""
    names = field.option.names
    try:
        if field.option.checked is not None:
            field.option.checked(value)
        elif names in _REGISTRIES and not (names == "model" and is_table(value)):
            yield from _named(_REGISTRIES[names], value)
        elif names == "executor":
            yield from _executor(value)
        elif names == "address":
            check_url(value)
        elif names == "new folder":
            yield from _new_folder(Path(value))
        elif names in ("file", "folder"):
            yield from _there(value)
        elif names == "inputs":
            yield from _inputs(value)
    except WeakspotError as error:
        yield error.what, error.fix


def _cannot_be_meant(study: Study, found: StudyFile, *, load: bool) -> list[Problem]:
    """What the options say against each other and, if wanted, the models that they name."""
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in found.values.items() if v is not None}
    try:
        settings, objects = study.separate({k: v for k, v in given.items() if k in study.fields})
        if load:
            study.find("parts")(study.resolved(settings, objects), **objects)
    except WeakspotError as error:
        known = options_of(found.study)
        named = next((w for w in re.findall(r"\w+", error.what.replace("-", "_")) if w in known), "")
        return [Problem(found.lines.get(named, 0), error.what, error.fix)]
    return []


def _executor(text: str) -> Iterator[tuple[str, str]]:
    check_executor(text)
    if text != "local" and find_spec("ray") is None:
        yield "the executor 'ray' needs ray, which is not installed", "pip install 'weakspot[scale]'"


def _named(registry: Registry, text: str) -> Iterator[tuple[str, str]]:
    """A name: is there such a part, with such options, with its library and its files?"""
    entry, name = registry.find(text)
    if missing := missing_libraries(entry):
        fix = f"pip install 'weakspot[{entry.extra}]'" if entry.extra else f"pip install {missing[0]}"
        yield f"{entry.name!r} needs {', '.join(missing)}, which is not installed", fix
        return
    is_path = entry.name in _HUB and name.rest.startswith(("/", "./", "../", "~"))
    if name.rest and (entry.name in _FILES or is_path):
        yield from _there(name.rest)
    if entry.name in ("python", "torch"):
        yield from _module(name.rest)
    known = registry.options(text)
    for option, value in name.options.items():
        check_option(entry, option, known)
        if option in _FILE_OPTIONS and "." in value:
            yield from _there(value)


def _inputs(text: str) -> Iterator[tuple[str, str]]:
    """Inputs that are a file or a folder, or a scheme of their own."""
    scheme, sign, rest = text.partition("?")[0].partition(":")
    if sign and scheme in _FILES:
        yield from _there(rest)
    elif not sign and not any(entry.name.startswith(f"{scheme}:") for entry in MODELS):
        yield from _there(scheme)


def _there(text: str) -> Iterator[tuple[str, str]]:
    if not Path(text).expanduser().exists():
        where = Path(text).expanduser().parent
        names = [path.name for path in where.iterdir()] if where.is_dir() else []
        close = difflib.get_close_matches(Path(text).name, names, n=1, cutoff=0.75)
        fix = f"did you mean {close[0]!r}?" if close else "paths are read from the current folder"
        yield f"there is no {text[:200]!r} here", fix


def _new_folder(path: Path) -> Iterator[tuple[str, str]]:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        yield f"{path} is not empty", "choose a folder that is new or empty"


def _module(rest: str) -> Iterator[tuple[str, str]]:
    module = rest.partition(":")[0]
    try:
        there = find_spec(module) is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        yield f"there is no module {module[:80]!r}", "it must be in the current folder or on PYTHONPATH"


def missing_libraries(entry: Entry) -> list[str]:
    """Libraries of a part's extra that its own file speaks of and that are not installed."""
    spec = find_spec(entry.target.partition(":")[0])
    if not entry.extra or spec is None or spec.origin is None:
        return []
    text = Path(spec.origin).read_text("utf-8", "replace")
    found = []
    for line in requires("weakspot") or ():
        needed, _, condition = line.partition(";")
        if re.search(rf"extra\s*==\s*['\"]{re.escape(entry.extra)}['\"]", condition):
            name = re.split(r"[^\w.-]", needed.strip())[0]
            module = name.lower().replace("-", "_").removesuffix("_torch")
            if re.search(rf"\b{module}\b", text) and not _installed(name):
                found.append(name)
    return found


def _installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False
