"""`weakspot compare`: two runs of the same study, and what became worse or better between them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from weakspot.after.compared import Compared


def command(
    first: Annotated[Path, typer.Argument(metavar="A", help="The folder of a run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The folder of a later run of the same study.")],
    adjust: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="How p-values of many comparisons are adjusted: holm (no false one) or bh (few false ones).",
        ),
    ] = "holm",
    alpha: Annotated[
        float, typer.Option(metavar="SHARE", help="Differences with adjusted p-values up to this are shown.")
    ] = 0.05,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comparison as Markdown, too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> int:
    """Set two runs of the same study against each other: what is new, gone, worse, better.

    Cases that both runs drew (same words, seed and source; the same item of a benchmark) are compared in
    pairs; others as separate samples, and the output says so and why. A difference is called one only after
    the p-values of all comparisons have been adjusted. Exit code 0 whatever is found: see weakspot gate.
    """
    from weakspot.after import compared_words
    from weakspot.after.compared import compare_folders
    from weakspot.core import WeakspotError
    from weakspot.report.format import columns
    from weakspot.store import write_whole

    found = compare_folders(first, second, adjustment=adjust, alpha=alpha)
    if markdown is not None:
        text = compared_words.markdown(found)
        try:
            write_whole(markdown, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise WeakspotError(
                f"{markdown} cannot be written: {error.strerror}", fix="check the path of --markdown"
            ) from error
    if as_json:
        typer.echo(json.dumps(compared_words.to_json(found) | {"exit_code": 0}, indent=2, allow_nan=False))
        return 0
    for line in tell(found, columns()):
        typer.echo(line)
    return 0


def tell(found: Compared, wide: int) -> Iterator[str]:
    """The comparison in lines of at most `wide` columns."""
    from weakspot.after import compared_words as words
    from weakspot.cli.screen import program
    from weakspot.report.format import NONE, count, cut, percent, shell

    for name, side in (("first", found.first), ("second", found.second)):
        yield f"{name:<9}{cut(f'{side.folder} · {side.model}', wide - 9)}"
    for key, one, two in found.settings[:8]:
        yield f"{'':<9}{cut(f'{key}: {one[:100]} → {two[:100]}', wide - 9)}"
    most = words.scale(found.rows)
    for title, rows, more in words.shown(found):
        yield ""
        cells = [
            (
                NONE if row.first is None else percent(row.first.value),
                NONE if row.second is None else percent(row.second.value),
                words.difference(row),
                f"of {count(row.contrast.n)}{'' if row.paired else ' †'}" if row.contrast else "",
                words.p_value(row.adjusted),
                words.strip(row, most) if wide >= 110 else "",
                words.mark(row),
            )
            for row in rows
        ]
        head = ("first", "second", "points", "cases", "p", "", "")
        widths = [max(len(line[i]) for line in [head, *cells]) for i in range(len(head))]
        room = max(wide - 2 - sum(widths) - 2 * len(widths), 16)
        room = min(room, max([len(title), *(len(cut(row.measure.words, room)) for row in rows)]))
        for what, line in [(title, head), *zip((row.measure.words for row in rows), cells, strict=True)]:
            numbers = "  ".join(
                f"{cell:<{width}}" if i >= 5 else f"{cell:>{width}}"
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            yield f"  {cut(what, room):<{room}}  {numbers}".rstrip()
        if more:
            yield f"  and {count(more)} more that did not change (--json has all)"
    yield ""
    for sentence in words.sentences(found):
        yield from _wrapped(sentence, wide)
    if told := words.method(found):
        yield from _wrapped(f"{told}{' † separate cases.' if _some_separate(found) else ''}", wide)
    if found.study == "hunt":
        for rows, here, there in (
            (found.new, found.second, found.first),
            (found.gone, found.first, found.second),
        ):
            if any(row.contrast is None for row in rows) and here.model != there.model:
                asked = shell([program(), "transfer", here.folder, "--target", there.model])
                yield f"{'next':<9}{asked}"


def _some_separate(found: Compared) -> bool:
    return any(row.contrast is not None and not row.paired for row in found.rows)


def _wrapped(text: str, wide: int) -> list[str]:
    import textwrap

    from weakspot.report.format import clean

    return textwrap.wrap(clean(text), wide, break_on_hyphens=False)
