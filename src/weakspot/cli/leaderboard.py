"""`weakspot leaderboard`: many runs of ask in one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

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
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Show many runs of ask in one table, least oversensitive first; each is compared with the one above.

    Comparisons are item by item (McNemar's exact test, adjusted for all of them). Published figures, which
    have no answers, stand beside.
    """
    from weakspot.cli.ask import grid
    from weakspot.cli.screen import columns
    from weakspot.studies.leaderboard import board, read
    from weakspot.studies.leaderboard import export as write

    table = board([row for path in runs for row in read(path)])
    written = write([path for path in runs if path.is_dir()], export) if export is not None else []
    if as_json:
        print(json.dumps({"rows": table, "exported": [str(path) for path in written]}, indent=2))
        return 0
    for line in grid(_table(table), columns()):
        print(line)
    for path in written:
        print(f"written  {path}")
    return 0


def _table(lines: list[dict[str, Any]]) -> Any:
    from weakspot.report.ask_words import Table, rate
    from weakspot.report.format import count, percent

    values = list(dict.fromkeys(v for line in lines for v in line["stimulus"]))
    head = ("model", "judge", "refused", "corrected", "of", "errors", *values, "harmful", "d′", "p to above")
    rows = []
    for line in lines:
        versus, prime = line["versus_above"], line["d_prime"]
        alone = percent(line["rate"]) if line["rate"] is not None and not line["rate_interval"] else ""
        rows.append(
            (
                f"{line['place']:>2} {line['model']}",
                line["judge"],
                alone or rate(line),
                rate(line, corrected=True),
                count(line["n"]) if line["n"] else "",
                count(line["errors"]) if line["errors"] else "",
                *(
                    percent(line["stimulus"][v]) if line["stimulus"].get(v) is not None else ""
                    for v in values
                ),
                percent(line["contrast_rate"]) if line["contrast_rate"] is not None else "",
                "" if prime is None else f"{prime:.1f}",
                f"{versus['p_adjusted']:.2g}" if versus else "",
            )
        )
    return Table("Leaderboard", "", head, rows)
