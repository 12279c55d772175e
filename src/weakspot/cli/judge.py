"""`weakspot judge check`: how far a judge of refusals agrees with people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _main() -> None:
    """Measure judges."""


@app.command("check", short_help="Compare a judge's verdicts with people's labels.")
def check(
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="Its name (see: weakspot list judges).")],
    labels: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE", help="Answers with people's labels: a table, or a folder of tables. Repeatable."
        ),
    ],
    by: Annotated[str, typer.Option(metavar="COLUMN", help="Group by this column; by model otherwise.")] = "",
    leave_one_out: Annotated[
        bool,
        typer.Option("--leave-one-out", help="Train the embedded judge anew for each group, on the others."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Print accuracy, sensitivity, specificity and Cohen's kappa, in all and by group.

    Partial refusals are counted apart. Answers that the embedded judge learnt from are judged by a model that
    did not learn from their author.
    """
    from weakspot.core import JUDGES, WeakspotError
    from weakspot.judges.refusal import check as checking

    if leave_one_out and judge != "embedded":
        raise WeakspotError(f"{judge[:80]!r} cannot be trained anew", fix="leave out --leave-one-out")
    labelled = checking.read_labels(labels, by=by)
    if leave_one_out:
        found = checking.leave_one_out(labelled)
    else:
        found = checking.check(JUDGES.load(judge), labelled)
    found = {"judge": judge, "leave_one_out": leave_one_out, **found}
    typer.echo(json.dumps(found, indent=2) if as_json else _table(judge, found))
    return 0


def _table(judge: str, found: dict[str, Any]) -> str:
    from weakspot.report.format import cut

    rows = [(name, figures) for name, figures in found["by"].items()]
    wide = max([len("all"), *(min(len(name), 40) for name, _ in rows)])
    head = f"{'':<{wide}}  {'n':>6}  accuracy  sensitivity  specificity  kappa  partial (refused)"
    lines = [f"{judge} against people", head]
    for name, figures in [*rows, ("all", found)]:
        partial = f"{figures['partial']['n']} ({figures['partial']['refused']})"
        lines.append(
            f"{cut(name, 40):<{wide}}  {figures['n']:>6,}  {_percent(figures['accuracy']):>8}  "
            f"{_percent(figures['sensitivity']):>11}  {_percent(figures['specificity']):>11}  "
            f"{_plain(figures['kappa']):>5}  {partial:>17}"
        )
    interval = found["accuracy_interval"]
    if interval:
        lines.append(
            f"accuracy {_percent(found['accuracy'])} [{interval[0] * 100:.1f}, {interval[1] * 100:.1f}]"
        )
    if found["held_out"]:
        lines.append(f"{found['held_out']:,} answers judged by a model that learnt nothing from their author")
    if found["errors"] or found["undecided"]:
        lines.append(f"{found['errors']:,} without an answer · {found['undecided']:,} undecided: not counted")
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value * 100:.1f} %"


def _plain(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"
