"""`weakspot gate`: an exit code for a build. Does a run keep its limits, and did nothing get worse?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run under test.")],
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="A run of the same study, e.g. of the released model."),
    ] = None,
    max_rate: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Limit on the overall failure rates, e.g. 0.05."),
    ] = None,
    max_part_rate: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Limit on the rate of every finding, slice, cell or category."),
    ] = None,
    max_findings: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Limit on the number of confirmed findings.")
    ] = None,
    max_increase: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="With --against: limit on every increase; 0 if not given."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail unless the upper end of every interval is within its limit."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="Look only at what has these words, * for anything; repeatable."),
    ] = None,
    max_errors: Annotated[
        float,
        typer.Option(metavar="SHARE", help="With more trials that ended in an error, nothing is decided."),
    ] = 0.1,
    summary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append the verdict as Markdown, e.g. to $GITHUB_STEP_SUMMARY."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> int:
    """Say by the exit code whether a run keeps its limits: 0 it does, 1 it does not, 2 it cannot be said.

    Limits are held against intervals. By default a run fails only if that is shown: the lower end of an
    interval is above its limit. With --strict it fails unless the contrary is shown: the upper end must be
    within. All intervals hold together by default (each at 1 − 0.05 / checks), and each by itself with
    --strict (95 %).
    """
    from weakspot.after.gate import CannotSay, Limits, cells, conclusion, gate, markdown, rule, to_json
    from weakspot.core import WeakspotError
    from weakspot.report.format import columns, cut
    from weakspot.store import Run

    limits = Limits(
        rate=max_rate,
        part_rate=max_part_rate,
        findings=max_findings,
        increase=max_increase,
        errors=max_errors,
        strict=strict,
        only=tuple(only or ()),
    )
    try:
        with Run.read(run) as opened:
            if against is None:
                found = gate(opened, limits)
            else:
                with Run.read(against) as other:
                    found = gate(opened, limits, against=other)
        if summary is not None:
            with summary.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{markdown(found)}\n")
    except WeakspotError as error:
        raise CannotSay(error.what, fix=error.fix) from error
    except OSError as error:
        raise CannotSay(f"{error.strerror} ({error.filename})", fix="check the path of --summary") from error
    code = 1 if found.failed else 0
    if as_json:
        typer.echo(json.dumps(to_json(found) | {"exit_code": code}, indent=2, allow_nan=False))
        return code
    wide = columns()
    beside = f" against {found.against}" if found.against else ""
    typer.echo(f"{'gate':<9}{cut(f'{found.run}{beside} · {found.model}', wide - 9)}")
    rows = [(check, *cells(check)) for check in found.checks[: max(12, len(found.failed))]]
    seen_wide = max(len(seen) for _, seen, _ in rows)
    limit_wide = max(len(limit) for *_, limit in rows)
    room = max(wide - seen_wide - limit_wide - 22, 20)
    room = min(room, max(len(cut(check.words, room)) for check, *_ in rows))
    for check, seen, limit in rows:
        mark = "ok" if check.passed else "FAIL"
        typer.echo(f"  {mark:<5} {cut(check.words, room):<{room}}  {seen:<{seen_wide}}  limit {limit}")
    if len(found.checks) > len(rows):
        typer.echo(f"  and {len(found.checks) - len(rows)} more (--json has all)")
    for note in found.notes:
        typer.echo(f"{'note':<9}{cut(note, 2 * wide)}")
    typer.echo(f"{'rule':<9}{rule(found)}")
    typer.echo(cut(conclusion(found), 2 * wide))
    return code
