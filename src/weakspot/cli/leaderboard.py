"""`weakspot leaderboard`: many runs of ask in one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN…", help="Folders of runs, submission files of the benchmark, or published figures."
        ),
    ],
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write each run in the benchmark's submission format, and its answers."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the table and the trade-off as one HTML page."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Show many runs of ask in one table, least oversensitive first; each is compared with the one above.

    Comparisons are item by item (McNemar's exact test, adjusted for all of them). Published figures, which
    have no answers, stand beside.
    """
    from weakspot.after.leaderboard import board, read, table
    from weakspot.after.leaderboard import html as page
    from weakspot.after.submission import export as write
    from weakspot.report.format import columns, grid
    from weakspot.study.reports import write_text

    lines = board([row for path in runs for row in read(path)])
    written = write([path for path in runs if path.is_dir()], export) if export is not None else []
    if html is not None:
        write_text(html, page(lines))
        written.append(html)
    if as_json:
        rows = [line.plain() for line in lines]
        print(json.dumps({"rows": rows, "exported": [str(path) for path in written]}, indent=2))
        return 0
    shown = table(lines)
    for text in grid(shown.head, shown.rows, columns()):
        print(text)
    for path in written:
        print(f"written  {path}")
    return 0
