"""The static types of `weakspot.hunt(…)` and its siblings, written from the studies' options.

    python -m weakspot.study.stub > src/weakspot/__init__.pyi

The file is checked in, and a test says when it is no longer what this module writes.
"""

from __future__ import annotations

import ast
from importlib.resources import files

from weakspot.core.builtin import STUDIES
from weakspot.study.calls import documentation_of
from weakspot.study.options import EXECUTOR, OUT, Field, fields_of
from weakspot.study.registry import find_study
from weakspot.study.study import Study

_PLAIN = {bool: "bool", int: "int", float: "float", str: "str"}


def stub() -> str:
    """The text of `__init__.pyi`."""
    source = files("weakspot").joinpath("__init__.py").read_text("utf-8")
    tree = ast.parse(source)
    checking = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    imports = [node for node in checking.body if isinstance(node, ast.ImportFrom)]
    lines = [
        "# Written by `python -m weakspot.study.stub` from the studies' options; do not edit.",
        "from collections.abc import Sequence",
        "from pathlib import Path",
        "from typing import Any",
        "",
        *(_public(node) for node in imports),
        "import weakspot.core as _core",
        "from weakspot.engine import Cluster as _Cluster",
        "from weakspot.engine import Executor as _Executor",
        "from weakspot.engine import Watch as _Watch",
        "",
        "__version__: str",
        "",
        "def open_run(folder: str) -> Run: ...",
        "",
    ]
    for entry in STUDIES:
        lines += _function(find_study(entry.name))
    return "\n".join(lines)


def _public(node: ast.ImportFrom) -> str:
    names = ", ".join(f"{name.name} as {name.asname or name.name}" for name in node.names)
    return f"from {node.module} import {names}"


def _function(study: Study) -> list[str]:
    fields = list(fields_of(study))
    arguments = [f"    {field.name}: {_type(field)}," for field in fields if field.option.argument]
    options = [
        f"    {field.name}: {_type(field)}{'' if field.required else f' = {field.default!r}'},"
        for field in fields
        if not field.option.argument
    ]
    help_text = "\n".join(f"    {line}".rstrip() for line in documentation_of(study).strip().splitlines())
    return [
        f"def {study.name}(",
        *arguments,
        "    *,",
        *options,
        "    watch: _Watch | None = None,",
        ") -> Run:",
        f'    """{help_text.strip()}\n    """',
        "",
    ]


def _type(field: Field) -> str:
    if field == EXECUTOR:
        return "str | _Executor | _Cluster | None"
    one = "str | Path" if field == OUT or field.option.names in ("file", "folder", "inputs") else ""
    one = one or _PLAIN.get(field.kind, "Any")
    if field.option.port:
        ports = [f"_core.{name.strip()}" for name in field.option.port.split("|")]
        one = " | ".join(dict.fromkeys(["str", "Path", *ports] if "Path" in one else ["str", *ports]))
    elif field.option.named:
        one = "Any"
    if field.many or field.listed:
        one = f"{one} | Sequence[{one}]" if one != "Any" else "Any"
    return f"{one} | None" if field.optional and one != "Any" else one


if __name__ == "__main__":
    print(stub(), end="")
