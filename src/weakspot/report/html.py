"""A document as a page: one file with everything inside, for one run or for several."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from jinja2 import BaseLoader, Environment, FunctionLoader, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from weakspot.report import format as show
from weakspot.report.document import Allowance, Block, Document, Html, Pictures, Section, Table, Text
from weakspot.report.plots import Figure, named

#: Characters of pictures in the whole page.
PICTURES: Final = 3_200_000
#: Characters of one piece of text, wherever it comes from.
TEXT: Final = 4_000
#: Characters of a cell that stays on one line.
SHORT: Final = 28


def html(document: Document, *, beside: bool = False) -> str:
    """The whole file, with style, pictures and the script inside.

    `beside`: the page will lie in the run's folder, and links what it does not hold itself.
    """
    run = document.run
    version = run.config.versions.get("weakspot", "")
    folder = run.folder if beside else None
    return page(body(document), title=document.title, study=run.config.study, version=version, folder=folder)


def body(document: Document, *, prefix: str = "", runs: int = 1) -> Markup:
    """The document without the page around it; as one of several runs, its ids have a prefix."""
    run = document.run
    sections = document.every_section(Allowance(PICTURES // runs))
    figures = [figure for section in sections for block in section.blocks for figure in _figures(block)]
    by_name = {figure.name: figure._replace(name=f"{prefix}{figure.name}") for figure in figures}
    around = {"at": prefix, "alone": runs == 1, "figures": by_name}
    return rendered(
        "document.html.j2",
        **around,
        title=show.shorten(document.title, 300),
        config=run.config,
        folder=str(run.folder),
        state=run.state.partition(":")[0],
        reason=run.state.partition(":")[2].strip(),
        document=document,
        sections=[_section(section, by_name, around) for section in sections],
    )


def page(body: Markup, *, title: str, study: str, version: str, folder: Path | None = None) -> str:
    """The whole file; what it does not hold is linked where it lies beside it, in the run's folder."""
    script = (files("weakspot.report") / "templates" / "report.js").read_text(encoding="utf-8")
    whole = rendered(
        "page.html.j2",
        title=title,
        study=study,
        version=version,
        folder=folder,
        blobs=folder is not None and (folder / "blobs").is_dir(),
        policy=_policy(script),
        body=body,
        script=Markup(script),  # noqa: S704 - ours
    )
    return str(whole)


def rendered(template: str, **values: Any) -> Markup:
    """A template, of this package or as "package:file" of a study's."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704 - templates escape


def _section(section: Section, drawn: Mapping[str, Figure], around: Mapping[str, Any]) -> dict[str, Any]:
    blocks: list[tuple[str, Any]] = []
    for kind, some in groupby(section.blocks, key=lambda block: _KINDS[type(block)]):
        if kind == "figures":
            blocks.append((kind, [drawn[one.name] for one in some if isinstance(one, Figure)]))
        elif kind == "pictures":
            blocks += _galleries([one for one in some if isinstance(one, Pictures)])
        elif kind == "html":
            found = (one for one in some if isinstance(one, Html))
            blocks += [(kind, rendered(one.template, **around, **one.values)) for one in found]
        else:
            blocks += [(kind, one) for one in some]
    return {"title": section.title, "note": section.note, "id": named(section.title), "blocks": blocks}


_KINDS: Final = {Table: "table", Figure: "figures", Pictures: "pictures", Text: "text", Html: "html"}


def _galleries(some: list[Pictures]) -> Iterable[tuple[str, Any]]:
    if any(one.shown for one in some):
        yield "pictures", [one for one in some if one.shown]
    else:
        yield from (("table", one.instead) for one in some if one.instead is not None)


def _figures(block: Block) -> Iterable[Figure]:
    if isinstance(block, Figure):
        yield block
    elif isinstance(block, Html):
        yield from block.figures


def _policy(script: str) -> Markup:
    """Only this very script runs, and nothing is loaded."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Markup(  # noqa: S704 - ours
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )


@cache
def _environment() -> Environment:
    def source(template: str) -> Any:
        package, _, name = template.rpartition(":")
        return PackageLoader(package or "weakspot.report").get_source(made, name)

    made = templates(FunctionLoader(source), picture=_picture, kinds=_kinds)
    return made


def templates(loader: BaseLoader, **filters: Callable[..., Any]) -> Environment:
    """Where templates are found, and what they may call: numbers and words as a person reads them."""
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    usual = ("percent", "level", "times", "count", "e_value", "date", "seconds", "shorten")
    made.filters.update({name: getattr(show, name) for name in usual}, bound=_bound, **filters)
    made.globals.update(interval=show.interval, plural=show.plural)
    return made


def _shown(value: Any) -> Any:
    """Whatever a template prints passes here, so no text reaches the page uncleaned or at full length."""
    if isinstance(value, Markup) or not isinstance(value, str | Path):
        return value
    return show.shorten(str(value), TEXT)


def _kinds(rows: Sequence[Sequence[str]]) -> list[str]:
    """Of each column of a table: "few" where every cell fits on a line, "long" where one is a sentence."""
    return [
        "few" if all(len(cell) <= SHORT for cell in column) else "long" for column in zip(*rows, strict=True)
    ]


def _bound(text: str) -> Markup:
    """Keep numbers and their units on one line; cleaned here, since cleaning undoes it."""
    return escape(show.shorten(text, TEXT)).replace(" %", "\u00a0%")


def _picture(uri: str) -> Markup:
    """A data URI, which is longer than any text may be; made by us, of characters that need no escape."""
    head, _, body = uri.partition(";base64,")
    if head not in ("data:image/png", "data:image/jpeg") or not set(body) <= _BASE64:
        raise ValueError("this is no picture of ours")
    return Markup(uri)  # noqa: S704 - checked above


_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
