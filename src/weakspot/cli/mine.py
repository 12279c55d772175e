"""`weakspot mine`: blind spots of encoders; and its steps that can be used alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weakspot.cli import mine_grounded, mine_images, mine_run
from weakspot.cli.groups import DEFAULT, OneIsMeant

if TYPE_CHECKING:
    from weakspot.studies.mine.pair_file import PairFile
    from weakspot.text.differences import Difference

app = typer.Typer(
    cls=OneIsMeant,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Find pairs that an image–text encoder confuses, and what they have in common.",
)


@app.callback()
def _mine() -> None:
    """Keep the names of the commands even while there is only one."""


app.command(DEFAULT, short_help="Find the systematic failures of an encoder (meant where none is named).")(
    mine_run.command
)
app.command("grounded", short_help="Say what an encoder misses with the picture before it.")(
    mine_grounded.command
)
app.command("images", short_help="Find pictures that an encoder takes for alike.")(mine_images.command)


@app.command("categorise", short_help="Say in what the texts of each pair differ.")
def categorise(
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help="A .jsonl file, or .csv with a header.")],
    fields: Annotated[
        str, typer.Option(help="The two fields with the texts, e.g. caption,foil; usual names are found.")
    ] = "",
    show: Annotated[int, typer.Option(min=0, help="How many pairs to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print all pairs and the totals as JSON.")] = False,
) -> int:
    """Say in what the texts of each pair differ: one category a pair, with the reason, and the totals.

    Categories: negation, number and quantifier, attribute, spatial relation, role swap, temporal/action
    state, presence, subject, gender, other. No language model is used; docs/mine-categories.md has the rules.
    """
    from weakspot.core import WeakspotError
    from weakspot.studies.mine.pair_file import read_pair_file
    from weakspot.text.differences import categorise, totals

    names = tuple(name.strip() for name in fields.split(",")) if fields else None
    if names is not None and (len(names) != 2 or not all(names)):
        raise WeakspotError(
            f"--fields takes two names, not {fields!r}", fix="for example --fields caption,foil"
        )
    read = read_pair_file(pairs, fields=names)
    found = [categorise(row.first, row.second) for row in read.rows]
    if as_json:
        typer.echo(json.dumps(_document(read, found), indent=2))
        return 0
    _print_pairs(read, found, show)
    _print_totals(totals(found))
    for line, why in read.broken[:show]:
        _warn(f"line {line} was skipped: {why}")
    if len(read.broken) > show:
        _warn(f"{len(read.broken)} lines were skipped in all")
    return 0


def _document(read: PairFile, found: list[Difference]) -> dict[str, Any]:
    from weakspot.text.differences import totals

    return {
        "n": len(found),
        "fields": list(read.fields),
        "totals": {category.value: count for category, count in totals(found).items()},
        "skipped": [{"line": line, "why": why} for line, why in read.broken],
        "pairs": [
            {
                "line": row.line,
                "first": row.first,
                "second": row.second,
                "category": difference.category.value,
                "reason": difference.reason,
            }
            for row, difference in zip(read.rows, found, strict=True)
        ],
    }


def _print_pairs(read: PairFile, found: list[Difference], show: int) -> None:
    from weakspot.cli.screen import columns, cut

    wide = columns()
    for row, difference in list(zip(read.rows, found, strict=True))[:show]:
        typer.echo(f"{row.line:>6}  {difference.category.value:<21}  {cut(difference.reason, wide - 31)}")
        typer.echo(f"{'':>8}{cut(row.first, wide - 8)}")
        typer.echo(f"{'':>8}{cut(row.second, wide - 8)}")
    if len(found) > show > 0:
        typer.echo(f"{'…':>6}  and {len(found) - show:,} more (--show, or --json for all)")


def _print_totals(counts: Any) -> None:
    from weakspot.cli.screen import columns
    from weakspot.report.format import count, percent, plural

    n = sum(counts.values())
    typer.echo("─" * min(columns(), 60))
    for category, number in sorted(counts.items(), key=lambda item: -item[1]):
        if number:
            typer.echo(f"{category.value:<21}  {count(number):>9}  {percent(number / n):>7}")
    typer.echo(f"{plural(n, 'pair')}")


def _warn(message: str) -> None:
    from weakspot.cli.screen import cut

    typer.echo(cut(message, 300), err=True)
