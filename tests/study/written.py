"""What the repository holds that follows from the studies' options, and is written by this module.

    python -m tests.study.written

writes the static types of `weakspot.hunt(…)` and its siblings (`src/weakspot/__init__.pyi`), and the page of
all commands and options (`docs/reference/commands.md`). Both are checked in, and a test says when they are no
longer what this module writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.study.command_page import command_page

from weakspot.core.registry import STUDIES
from weakspot.study.calls import documentation_of
from weakspot.study.options import EXECUTOR, OUT, Field
from weakspot.study.study import Study, every_field, find_study, stand_ins

_PACKAGE: Final = Path(__file__).parents[2] / "src" / "weakspot"
_PLAIN: Final = {bool: "bool", int: "int", float: "float", str: "str"}


def written() -> Iterator[tuple[Path, str]]:
    """Each file, and what it must hold."""
    yield _PACKAGE / "__init__.pyi", stub()
    yield _PACKAGE.parents[1] / "docs" / "reference" / "commands.md", command_page()


def stub() -> str:
    """The static types of the package's public names."""
    package: Any = sys.modules["weakspot"]
    homes: dict[str, list[str]] = {}
    for name, module in sorted(package.HOMES.items()):
        called = package.CALLED.get(name, name)
        homes.setdefault(module, []).append(name if called == name else f"{called} as {name}")
    lines = [
        "# Written by `python -m tests.study.written` from the studies' options; do not edit.",
        "# fmt: off",
        "# ruff: noqa",
        "from collections.abc import Sequence",
        "from pathlib import Path",
        "from typing import Any",
        "",
        *(f"from {module} import {', '.join(names)}" for module, names in sorted(homes.items())),
        "import weakspot.core as _core",
        "from weakspot.engine import Cluster as _Cluster",
        "from weakspot.engine import Executor as _Executor",
        "from weakspot.engine import Watch as _Watch",
        "",
        f"__all__ = {package.__all__}",
        "__version__: str",
        "",
        "def open_run(folder: str) -> Run: ...",
        "",
    ]
    for entry in STUDIES:
        lines += _function(find_study(entry.name))
    return "\n".join(lines)


def _function(study: Study) -> list[str]:
    fields = every_field(study)
    own = {field.name: _wide(study, field) for field in fields}
    arguments = [f"    {field.name}: {own[field.name]}," for field in fields if field.option.argument]
    options = [
        f"    {field.name}: {own[field.name]}{'' if field.required else f' = {field.default!r}'},"
        for field in fields
        if not field.option.argument
    ]
    about = "\n".join(f"    {line}".rstrip() for line in documentation_of(study).strip().splitlines())
    watch = "    watch: _Watch | None = None,"
    start, end = f"def {study.name}(", [") -> Run:", f'    """{about.strip()}\n    """', ""]
    return [start, *arguments, "    *,", *options, watch, *end]


def _wide(study: Study, field: Field) -> str:
    """The type of an option, which may be wider where another study stands in."""
    others = [other.fields[field.name] for other in stand_ins(study) if field.name in other.fields]
    types = dict.fromkeys([_type(field), *map(_type, others)])
    return "Any" if "Any" in types else " | ".join(types)


def _type(field: Field) -> str:
    if field == EXECUTOR:
        return "str | _Executor | _Cluster | None"
    one = "str | Path" if field == OUT or field.option.names in ("file", "folder", "inputs") else ""
    one = one or _PLAIN.get(field.kind, "Any")
    if field.option.port:
        names = map(str.strip, field.option.port.split("|"))
        ports = [name if name == "Any" else f"_core.{name}" for name in names]
        one = " | ".join(dict.fromkeys(["str", "Path", *ports] if "Path" in one else ["str", *ports]))
    elif field.option.named:
        one = "Any"
    if field.many or field.listed:
        one = f"{one} | Sequence[{one}]" if one != "Any" else "Any"
    return f"{one} | None" if field.optional and one != "Any" else one


if __name__ == "__main__":
    for path, text in written():
        path.write_text(text, "utf-8")
