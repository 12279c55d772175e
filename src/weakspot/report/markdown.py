"""A document as Markdown, for a pull request or a wiki: the same without the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from weakspot.report import format as show
from weakspot.report.document import Allowance, Block, Document, Html, Pictures, Section, Table, Text

#: Rows of a table; further ones are only in report.json.
ROWS: Final = 200

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|~#&$!@])|(?<=:)(//)|(?<=www)(\.)", re.IGNORECASE)


def markdown(document: Document) -> str:
    run = document.run
    blocks = [
        f"# {escape(document.title, 300)}",
        f"**{escape(document.conclusion, 1200)}**",
        bullets(f"{t.name}: {escape(t.number)} ({escape(t.note)})" for t in document.tiles()),
        *(escape(line, 400) for line in document.about()),
        f"{escape(run.state)} · begun {escape(show.date(run.config.created))} · {code(str(run.folder))}",
    ]
    if run.state != "finished":
        blocks.append(f"To go on: {code(document.resume)}")
    for section in document.every_section(Allowance(0)):
        blocks += _section(section)
    for name in ("settings", "versions", "digests"):
        if pairs := getattr(run.config, name):
            rows = ((str(k), show.NONE if v is None else str(v)) for k, v in pairs.items())
            blocks += [f"### {name.capitalize()}", table(("name", "value"), rows)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _section(section: Section) -> list[str]:
    found = [block for one in section.blocks for block in _block(one, section.title)]
    return [f"## {escape(section.title)}", escape(section.note, 800), *found] if any(found) else []


def _block(block: Block, title: str) -> list[str]:
    if isinstance(block, Table):
        heading = f"### {escape(block.title)}" if block.title and block.title != title else ""
        left_out = f"{show.count(block.more)} more are in report.json." if block.more else ""
        return [heading, escape(block.note, 800), table(block.head, block.rows), left_out]
    if isinstance(block, Pictures):
        return [] if block.instead is None else _block(block.instead, title)
    if isinstance(block, Text):
        return [escape(block.text, 2000)]
    return [block.markdown] if isinstance(block, Html) else []


def escape(text: str, most: int = 400) -> str:
    """Foreign text for a line or a table cell of Markdown: it is shown, it does nothing."""
    return _SPECIAL.sub(lambda m: "".join(f"\\{c}" for c in m[0]), show.shorten(text, most)).strip()


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, most: int = 200) -> str:
    """A table; its cells are escaped here, and have at most so many characters."""
    lines = [head, ["---"] * len(head), *([escape(cell, most) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A list of lines that are escaped already."""
    return "\n".join(f"- {line}" for line in lines)


def code(text: str) -> str:
    """A code span whose fence is longer than any run of backticks inside."""
    text = show.shorten(text, 2_000)
    fence = "`" * (1 + _longest_run(text))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(text: str) -> str:
    text = show.shorten(text, 4_000)
    fence = "`" * max(3, 1 + _longest_run(text))
    return f"{fence}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
