"""The result of `weakspot ask` on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weakspot.report.ask_words import Table
    from weakspot.store import Run


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a budget ended the run)."""
    from weakspot.cli.screen import columns, program
    from weakspot.report.format import shell
    from weakspot.study.reports import summary, write

    with run:
        path = write(run)
        code = 3 if run.state.startswith("stopped") else 0
        figures = summary(run)
        if as_json:
            print(json.dumps(figures | {"report": str(path), "exit_code": code}, indent=2))
            return code
        for line in _result(figures, columns()):
            print(line)
        print(f"report   {shell([str(path)])}")
        words = (
            ["report", str(run.folder), "--open"]
            if code == 0
            else ["resume", str(run.folder), "--budget", "…"]
        )
        print(f"next     {shell([program(), *words])}")
    return code


def _result(figures: Mapping[str, Any], wide: int) -> Iterator[str]:
    from weakspot.cli.screen import cut
    from weakspot.report.ask_words import counts, tables
    from weakspot.report.format import seconds

    for table in tables(figures):
        if table.title in ("Pictures", "Errors"):
            continue
        yield cut(table.title, wide)
        yield from grid(table, wide)
        yield ""
    yield cut(figures["conclusion"], 4 * wide)
    missing = len(figures.get("images_missing") or ())
    if missing:
        yield f"pictures {missing} of the benchmark's pictures are missing (see the report)"
    spent = figures["spend"]
    cost = f" · {spent['tokens']:,} tokens · ${spent.get('dollars', 0):,.2f}" if spent.get("tokens") else ""
    yield f"asked    {counts(figures)}{cost} · {seconds(float(spent.get('seconds', 0.0)))}"
    for kind in figures["error_kinds"][:3]:
        what = f"{kind['times']:,}× {kind['what']}"
        yield f"error    {cut(what, wide - 9)}"
    if figures["state"].startswith("stopped"):
        yield cut(figures["state"], wide)


def grid(table: Table, wide: int) -> Iterator[str]:
    """A table as aligned lines; columns without anything but zeros or dashes are left out."""
    from weakspot.cli.screen import cut

    rows: Sequence[Sequence[str]] = [[cut(cell, 48) for cell in row] for row in table.rows]
    kept = [i for i in range(len(table.head)) if i == 0 or any(row[i] not in ("", "0", "–") for row in rows)]
    head = [table.head[i] for i in kept]
    body = [[row[i] for i in kept] for row in rows]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(kept))]
    for line in [head, *body]:
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        shown = "  ".join([f"  {first}", *rest]).rstrip()
        yield shown if len(shown) <= wide else f"{shown[: wide - 1]}…"
