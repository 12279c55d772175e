"""`weakspot transfer`: do a hunt's findings trouble other models, and show on other pictures?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from weakspot.cli.flags import AsJson


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a hunt.")],
    target: Annotated[
        list[str], typer.Option(metavar="MODEL", help="Another model; can be given several times.")
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="SOURCE",
            help="Another source, besides the run's own: another generator, a folder of photographs.",
        ),
    ] = None,
    n: Annotated[
        int, typer.Option("--n", metavar="NUMBER", help="Fresh pictures of each caption and source.")
    ] = 256,
    budget: Annotated[
        str | None,
        typer.Option(metavar="LIMITS", help="Limits, e.g. images=2000,seconds=600; none by default."),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=LABEL,…",
            help="Labels of other models that are as right as the hunted one: 'fly=house fly,horse fly'.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Measure other models, and other pictures, on the captions that a hunt found.

    All models see the same fresh pictures. The result is printed and written into the run's folder:
    transfer.json, transfer.md, transfer.svg. Exit code 3 if the budget cut it short.
    """
    from weakspot.after.matrix import markdown, svg
    from weakspot.after.transfer import transfer
    from weakspot.report.format import Progress, columns, shell
    from weakspot.store import Run, write_whole

    pairs = parse_same(same or [])
    with Run.read(run) as opened, Progress(f"transfer of {run} to {', '.join(target)}") as progress:
        found = transfer(
            opened, target, sources=source or [], n=n, budget=budget, same=pairs or None, progress=progress
        )
    data = found.to_json()
    for name, text in (
        ("transfer.json", json.dumps(data, indent=2, allow_nan=False) + "\n"),
        ("transfer.svg", svg(data)),
        ("transfer.md", markdown(data, picture="transfer.svg")),
    ):
        write_whole(run / name, text.encode("utf-8", "backslashreplace"))
    code = 3 if found.limit else 0
    if as_json:
        typer.echo(json.dumps(data | {"exit_code": code}, indent=2, allow_nan=False))
    else:
        for line in tell(data, columns()):
            typer.echo(line)
        typer.echo(f"written  {shell([str(run / 'transfer.md')])}")
    return code


def parse_same(given: list[str]) -> dict[str, list[str]]:
    """`fly=house fly,horse fly` as labels by label."""
    from weakspot.core import WeakspotError

    found: dict[str, list[str]] = {}
    for text in given:
        label, sign, others = text.partition("=")
        listed = [other.strip() for other in others.split(",") if other.strip()]
        if not sign or not label.strip() or not listed:
            raise WeakspotError(
                f"{text[:80]!r} does not say which labels are the same",
                fix="write --same 'fly=house fly,horse fly'",
            )
        found.setdefault(label.strip(), []).extend(listed)
    return found


def tell(data: Mapping[str, Any], wide: int) -> Iterator[str]:
    """The result in lines of at most `wide` columns."""
    from weakspot.after.matrix import cells_of, rate_of, worse
    from weakspot.report.format import count, cut, interval, percent, plural

    names = data["targets"]
    width = max(len(cut(name, 40)) for name in names)
    for source in data["sources"]:
        yield cut(f"pictures of {source}", wide)
        for at, row in enumerate(data["rows"]):
            yield f"  {cut(row['phrase'], wide - 4)}"
            for cell in cells_of(data, source, at):
                rate = rate_of(cell)
                ends = f"{percent(rate.value):>7}  {interval(rate.low, rate.high):<14} of {count(rate.n):<6}"
                mark = "▲ more than its baseline" if worse(cell) else ""
                yield f"    {cut(cell['target'], 40):<{width}}  {ends if rate.n else '–'} {mark}".rstrip()
    for share in data["shared"]:
        if share["row"] is None:
            rate = rate_of(share)
            also = f"{percent(rate.value)} {interval(rate.low, rate.high)}" if rate.n else "none to ask about"
            yield cut(f"of {plural(rate.n, 'failure')} {share['target']} shares {also}", wide)
    if data["state"] != "finished":
        yield cut(data["state"], wide)
    errors = sum(error["times"] for error in data["errors"])
    costs = (plural(data["images"], "image"), plural(len(names), "model"), plural(errors, "error"))
    yield f"trials   {' · '.join(costs)}"
    for error in data["errors"][:3]:
        what = f"{count(error['times'])}× {error['what']}"
        yield f"error    {cut(what, wide - 9)}"
