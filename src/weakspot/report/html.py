"""A document as a page: its sections in one template, the blocks that only a page has in their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup

from weakspot.report import format as show
from weakspot.report.document import Block, Document, Html, Pictures, Section, Table, Text, error_table
from weakspot.report.evidence import Room
from weakspot.report.figure import Figure, named
from weakspot.report.people.tables import people
from weakspot.report.shell import ALONE, Part, Place, Rest, environment, page

#: Characters of pictures in the whole page.
PICTURES: Final = 3_200_000


def html(document: Document, *, beside: bool = False) -> str:
    """The whole file: style, charts, pictures and scripts inside.

    Args:
        beside: The page will lie in the run's folder, and links what it does not hold itself.
    """
    run = document.run
    version = run.config.versions.get("weakspot", "")
    rest = Rest(run.folder, blobs=(run.folder / "blobs").is_dir()) if beside else None
    return page([body(document)], title=document.title, study=run.config.study, version=version, rest=rest)


def body(document: Document, *, place: Place = ALONE) -> Part:
    """The document without the page around it, by itself or among others."""
    run = document.run
    sections = [one for one in document.sections(Room(PICTURES // place.of)) if one.blocks]
    figures = [figure for section in sections for block in section.blocks for figure in _figures(block)]
    by_name = {figure.name: figure._replace(name=f"{place.at}{figure.name}") for figure in figures}
    around = {"at": place.at, "alone": place.alone, "figures": by_name}
    title = show.shorten(document.title, 300)
    text = environment().get_template("document.html.j2").render(
        **around,
        title=title,
        config=run.config,
        folder=str(run.folder),
        state=run.state.partition(":")[0],
        reason=run.state.partition(":")[2].strip(),
        resume=document.resume,
        verdict=document.verdict,
        conclusion=document.conclusion,
        tiles=document.tiles(),
        about=document.about(),
        sections=[_section(section, by_name, around) for section in sections],
        people=people(run),
        errors=error_table(run),
        again=document.again,
    )  # fmt: skip
    return Part(title, Markup(text))  # noqa: S704 - the template escapes


def _section(section: Section, drawn: Mapping[str, Figure], around: Mapping[str, Any]) -> dict[str, Any]:
    blocks: list[tuple[str, Any]] = []
    for kind, some in groupby(section.blocks, key=_kind):
        if kind == "figures":
            blocks.append((kind, [drawn[one.name] for one in some if isinstance(one, Figure)]))
        elif kind == "pictures":
            blocks += _galleries([one for one in some if isinstance(one, Pictures)])
        elif kind == "html":
            blocks += [(kind, _rendered(one, around)) for one in some if isinstance(one, Html)]
        else:
            blocks += [(kind, one) for one in some]
    return {"title": section.title, "note": section.note, "id": named(section.title), "blocks": blocks}


def _galleries(some: list[Pictures]) -> Iterable[tuple[str, Any]]:
    if any(one.shown for one in some):
        yield "pictures", [one for one in some if one.shown]
    else:
        yield from (("table", one.instead) for one in some if one.instead is not None)


def _kind(block: Block) -> str:
    kinds = {Table: "table", Figure: "figures", Pictures: "pictures", Text: "text", Html: "html"}
    return kinds[type(block)]


def _figures(block: Block) -> Iterable[Figure]:
    if isinstance(block, Figure):
        yield block
    elif isinstance(block, Html):
        yield from block.figures


def _rendered(block: Html, around: Mapping[str, Any]) -> Markup:
    text = environment().get_template(block.template).render(**around, **block.values)
    return Markup(text)  # noqa: S704 - the template escapes
