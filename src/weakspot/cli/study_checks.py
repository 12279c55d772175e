"""What a study's file names, looked at before anything is spent: models, files, budgets, and their sense.

Which check an option gets follows from its placeholder in the help. Nothing is loaded unless asked for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from weakspot.cli.study_file import Problem, StudyFile
from weakspot.cli.study_options import Option, command_of, options_of
from weakspot.core import JUDGES, MODELS, SOURCES, Registry, WeakspotError
from weakspot.core.errors import nearest
from weakspot.core.registry import Entry, _keywords, _resolve
from weakspot.core.studies import study_names
from weakspot.engine.budget import Budget
from weakspot.store.remote import check_url

_REGISTRIES: Final[dict[str, Registry]] = {
    "MODEL": MODELS, "ENCODER": MODELS, "SOURCE": SOURCES, "JUDGE": JUDGES, "BENCHMARK": SOURCES,
}  # fmt: skip
#: Schemes after which a file or a folder is named, and options that name a file.
_FILES: Final = frozenset(
    {"onnx", "npz", "replay", "mossbench", "questions", "xstest", "retrieve", "coco", "snli"}
)
#: Schemes after which a folder or a name on the model hub is named.
_HUB: Final = frozenset({"diffusers", "hf", "openclip", "st", "timm"})
_FILE_OPTIONS: Final = frozenset({"labels", "weights"})
#: One of these is needed.
_ONE_OF: Final[dict[str, tuple[str, ...]]] = {}


def check_study(found: StudyFile, *, load: bool = False) -> list[Problem]:
    """Everything that is wrong with a study, in its text and in what it names.

    Args:
        found: As read.
        load: Also load the models and look whether they fit; that may download them.
    """
    if found.study in study_names():
        from weakspot.study import checks

        return checks.check_study(found, load=load)  # type: ignore[arg-type, return-value]
    problems = list(found.problems)
    if not found.study:
        return problems
    for option in options_of(found.study).values():
        value = found.values.get(option.name)
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                problems += [
                    Problem(found.lines.get(option.name, 0), f"{option.name}: {what}", fix)
                    for what, fix in _checked(option, one)
                ]
    needed = _ONE_OF.get(found.study, ())
    line = next((found.lines[name] for name in needed if name in found.lines), 0)
    told = line and any(problem.line == line for problem in problems)
    if needed and not told and not any(found.values.get(name) for name in needed):
        problems.append(Problem(line, f"{' or '.join(map(repr, needed))} is needed", "add one of them"))
    if not problems:
        problems += _as_the_command_does(found)
    if not problems:
        problems += _as_the_study_does(found, load=load)
    return problems


def _checked(option: Option, value: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with one value: (what, fix)."""
    from weakspot.concepts.space import load_space
    from weakspot.studies.map.search.searches import find

    try:
        if option.placeholder == "LIMITS":
            Budget.parse(str(value))
        elif option.placeholder == "EXECUTOR":
            yield from _executor(str(value))
        elif option.name == "blobs":
            check_url(str(value))
        elif option.placeholder == "SPACE":
            load_space(str(value))
        elif option.placeholder == "SEARCH":
            find(str(value))
        elif option.placeholder == "SHARE" and not 0 < float(value) < 1:
            yield f"{value} is no share", "choose a number between 0 and 1, e.g. 0.05"
        elif option.name == "out":
            yield from _new_folder(Path(str(value)))
        elif option.kind == "path":
            yield from _there(str(value))
        elif option.placeholder in _REGISTRIES:
            yield from _named(_REGISTRIES[option.placeholder], _full(option, str(value)))
        elif option.name in ("images", "corpus", "documents", "pool"):
            yield from _inputs(str(value))
    except WeakspotError as error:
        yield error.what, error.fix


def _executor(text: str) -> Iterator[tuple[str, str]]:
    from weakspot.study.executors import check_executor

    check_executor(text)
    if text != "local" and find_spec("ray") is None:
        yield "the executor 'ray' needs ray, which is not installed", "pip install 'weakspot[scale]'"


def _full(option: Option, value: str) -> str:
    if option.placeholder != "BENCHMARK":
        return value
    from weakspot.studies.ask.settings import benchmark_name

    return str(benchmark_name(value))


def _named(registry: Registry, text: str) -> Iterator[tuple[str, str]]:
    """A name: is there such a part, with such options, with its library and its files?"""
    entry, name = registry.find(text)
    if missing := missing_libraries(entry):
        fix = f"pip install 'weakspot[{entry.extra}]'" if entry.extra else f"pip install {missing[0]}"
        yield f"{entry.name!r} needs {', '.join(missing)}, which is not installed", fix
        return
    known = _keywords(_resolve(entry.target))
    for option, value in name.options.items():
        if known is not None and option not in known:
            hint = nearest(option, known) or f"its options are: {', '.join(sorted(known)) or 'none'}"
            yield f"{entry.name!r} has no option {option!r}", hint
        elif option in _FILE_OPTIONS and "." in value:
            yield from _there(value)
    is_path = entry.name in _HUB and name.rest.startswith(("/", "./", "../", "~"))
    if name.rest and (entry.name in _FILES or is_path):
        yield from _there(name.rest)
    if entry.name in ("python", "torch"):
        yield from _module(name.rest)


def _inputs(text: str) -> Iterator[tuple[str, str]]:
    """Inputs that are a file or a folder, or a scheme of their own."""
    scheme, sign, rest = text.partition("?")[0].partition(":")
    if sign and scheme in _FILES:
        yield from _there(rest)
    elif not sign and scheme != "world":
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


def _as_the_command_does(found: StudyFile) -> list[Problem]:
    """Let the command read the options, so that no check of its own is passed over."""
    import typer

    misuse: type[Exception] = typer.BadParameter.__mro__[1]  # whichever click typer uses
    try:
        command_of(found.study).make_context(found.study, found.arguments())
    except misuse as error:
        return [Problem(0, str(getattr(error, "message", error)), f"see: weakspot {found.study} --help")]
    return []


def _as_the_study_does(found: StudyFile, *, load: bool) -> list[Problem]:
    """The study's own check of its settings and, if wanted, of the models they name."""
    try:
        _PROOFS[found.study](dict(found.values), load)
    except WeakspotError as error:
        known = options_of(found.study)
        named = next((word for word in re.findall(r"\w+", error.what.replace("-", "_")) if word in known), "")
        return [Problem(found.lines.get(named, 0), error.what, error.fix)]
    return []


def _settings(cls: type, values: dict[str, Any]) -> Any:
    known = {f.name for f in fields(cls)}
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if v is not None}
    return cls(**{k: v for k, v in given.items() if k in known})


_PROOFS: Final[dict[str, Callable[[dict[str, Any], bool], None]]] = {
}  # fmt: skip
