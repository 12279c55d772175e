"""`weakspot export`: the misread pictures of a hunt as a data set."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weakspot.cli.flags import AsJson

if TYPE_CHECKING:
    from weakspot.store import Run


class Format(StrEnum):
    """How the data set is written."""

    IMAGEFOLDER = "imagefolder"
    PARQUET = "parquet"
    JSONL = "jsonl"
    HF = "hf"
    CSV = "csv"


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a hunt, of mine, map or ask.")],
    format: Annotated[
        Format | None,
        typer.Option(
            help="A folder per label (of a hunt, its default), Parquet or a Hugging Face data set (both need "
            "weakspot[data]), JSON lines (default of map and ask), or csv (of mine, its default)."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A folder that does not exist; by default one in the run's."),
    ] = None,
    per_caption: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Pictures per caption at most, so that none outweighs the rest."),
    ] = 50,
    only_confirmed: Annotated[
        bool, typer.Option("--only-confirmed", help="Leave out findings that fresh pictures did not confirm.")
    ] = False,
    draw: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Draw so many pictures per caption at most to find more; 0 takes what the run kept.",
        ),
    ] = 0,
    budget: Annotated[
        str, typer.Option(metavar="LIMITS", help="Limits of the drawing, e.g. images=20k,seconds=600.")
    ] = "images=20000",
    licence: Annotated[
        str, typer.Option(metavar="TEXT", help="The licence of the pictures, for the data card.")
    ] = "not stated",
    as_json: AsJson = False,
) -> int:
    """Write the pictures that a hunt found misread, with captions, seeds, labels and a data card.

    Of a run of mine, write its pairs: csv as the published script does, or everything as JSON lines, Parquet
    or hf. Of a run of ask, its questions and answers with the verdicts; of map, its queries by concepts. All
    of them come with a data card and their provenance.

    The folder appears whole or not at all. After Ctrl-C the same command goes on where it stopped. Exit
    code 3 if the budget ended the drawing early.
    """
    from collections import Counter

    from weakspot.after.export import ExportSettings, export
    from weakspot.cli.screen import program
    from weakspot.report.format import Progress, columns, count, cut, plural, shell
    from weakspot.store import Run
    from weakspot.study.study import find_study

    with Run.read(run) as opened:
        if not find_study(opened.config.study).pictures:
            return _rows(opened, format, out, licence, as_json=as_json)
    if format is None:
        format = Format.IMAGEFOLDER
    if format is Format.CSV:
        raise typer.BadParameter(
            "csv is for pairs of mine; pictures are written as imagefolder, parquet, jsonl, hf"
        )
    settings = ExportSettings(
        format=format.value,
        per_caption=per_caption,
        only_confirmed=only_confirmed,
        draw=draw,
        budget=budget,
        licence=licence,
    )
    with Run.read(run) as opened, Progress(f"export of {run}") as progress:
        try:
            done = export(opened, out=out, settings=settings, progress=progress)
        except KeyboardInterrupt:
            typer.echo("\nstopped; what was drawn is kept. the same command goes on", err=True)
            raise
    counts, code = done.counts, 3 if done.counts.limit else 0
    per_finding = Counter(record.finding for record in done.records)
    if as_json:
        told = {
            "folder": str(done.folder),
            "format": format.value,
            "pictures": len(done.records),
            "findings": [
                {
                    "phrase": finding.phrase,
                    "hypothesis": finding.hypothesis.id,
                    "confirmed": finding.confirmed,
                    "pictures": per_finding[rank],
                }
                for rank, finding in enumerate(done.findings, start=1)
            ],
            "counts": counts._asdict(),
            "exit_code": code,
        }
        typer.echo(json.dumps(told, indent=2))
        return code
    for rank, finding in enumerate(done.findings, start=1):
        typer.echo(f"{count(per_finding[rank]):>6}  {cut(finding.phrase, columns() - 10)}")
    drawn = f" · {count(counts.drawn)} found among {count(counts.tried)} drawn" if counts.tried else ""
    typer.echo(f"{plural(len(done.records), 'misread picture')}: {count(counts.kept)} kept by the run{drawn}")
    for number, what in (
        (counts.twice, "left out: the same picture is there already"),
        (counts.recovered, "left out: failed in the run, but not when drawn again"),
        (counts.invalid, "left out: they do not show what they should"),
        (counts.errors, "ended in an error"),
    ):
        if number:
            typer.echo(f"{count(number):>6}  {what}")
    if counts.limit:
        typer.echo(f"stopped: the {counts.limit}")
    typer.echo(f"written  {shell([str(done.folder)])}")
    if format in (Format.PARQUET, Format.HF):
        typer.echo(f"next     {shell([program(), 'transfer', str(run), '--target'])} MODEL")
    else:
        typer.echo(f"next     {shell([program(), 'realism', str(done.folder), '--reference'])} FOLDER")
    return code


def _rows(run: Run, format: Format | None, out: Path | None, licence: str, *, as_json: bool) -> int:
    """A run as a table."""
    from weakspot.after.rows_export import export_rows
    from weakspot.report.format import plural, shell
    from weakspot.study.rows import rows_of

    form = rows_of(run).forms[0] if format is None else format.value
    folder, n = export_rows(run, form=form, out=out, licence=licence)
    if as_json:
        told = {"folder": str(folder), "format": form, "rows": n, "exit_code": 0}
        typer.echo(json.dumps(told, indent=2))
    else:
        typer.echo(plural(n, "row"))
        typer.echo(f"written  {shell([str(folder)])}")
    return 0
