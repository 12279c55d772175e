"""The option tables of the docs pages, kept between two comments and written from the studies' options.

    python -m weakspot.study.tables docs/*.md

A page says where its table goes: `<!-- options: hunt -->` … `<!-- end of options -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from weakspot.study.options import Field, fields_of
from weakspot.study.registry import find_study

_PLACE: Final = re.compile(r"(<!-- options: (\S+) -->\n).*?(<!-- end of options -->)", re.DOTALL)


def table_of(study: str) -> str:
    """The options of a study as a Markdown table."""
    rows = [f"| {_name(field)} | {_default(field)} | {field.option.help} |" for field in _fields(study)]
    return "\n".join(["| option | default | what it is for |", "|---|---|---|", *rows]) + "\n"


def with_tables(text: str) -> str:
    """A page with its tables as they should be."""
    return _PLACE.sub(lambda match: f"{match[1]}{table_of(match[2])}{match[3]}", text)


def _fields(study: str) -> list[Field]:
    return list(fields_of(find_study(study)))


def _name(field: Field) -> str:
    return f"`{field.shown}`" if field.option.argument else f"`{field.flag}`"


def _default(field: Field) -> str:
    if field.required:
        return "needed"
    return "" if field.default in (None, "", ()) else f"`{field.default}`"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(with_tables(page.read_text("utf-8")), "utf-8")
