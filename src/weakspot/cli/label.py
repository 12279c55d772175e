"""`weakspot label`: people judge items of a run in the browser; what they said is scored and exported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from weakspot.report.people.tasks import Task

#: More items than any run has.
EVERYTHING: Final = 10**9
#: The command that is meant where none is named: `weakspot label X` is `weakspot label run X`.
DEFAULT: Final = "run"


class OneIsMeant(TyperGroup):
    """A group of commands of which one needs no name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before arguments that begin with no command."""
        if args and args[0] not in ctx.help_option_names and args[0] not in self.commands:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=OneIsMeant,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Have people label items of a run in the browser, and see what follows from it.",
)

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder; it may still be running.")]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task", metavar="TASK", help="pairs, refusals, modes, images or ratings; by default the study's."
    ),
]
Most = Annotated[
    int, typer.Option("--items", metavar="NUMBER", min=1, help="Items at most, where a sample is drawn.")
]
Aspect = Annotated[
    list[str] | None,
    typer.Option("--aspect", metavar="NAME", help="Of images: shows, quality, bias. May be repeated."),
]


@app.command(DEFAULT, short_help="Open the labelling page (meant where none is named).")
def label(
    run: RunFolder,
    task: TaskName = None,
    items: Most = 200,
    aspect: Aspect = None,
    annotator: Annotated[
        list[str] | None,
        typer.Option(
            "--annotator", metavar="NAME", help="Who may label; by default anybody. May be repeated."
        ),
    ] = None,
    overlap: Annotated[
        float,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="Share of items that all annotators get; the rest is split."
        ),
    ] = 1.0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen here instead of on this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=0, max=65535, help="By default 8642, or any that is free."),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> int:
    """Label items by keys, one at a time; every answer is saved at once and can be taken back.

    Each annotator sees the items in an order of their own, without what the run knows of them.
    """
    from weakspot.cli.view import need_web, served

    need_web()
    from weakspot.web.labelling import Labelling

    pages = Labelling(
        run,
        _task(run, task, most=items, aspects=aspect or ("shows",)),
        annotators=annotator or (),
        overlap=overlap,
    )
    return served(pages.app(), host=host, port=port, path="/", show=show)


@app.command("score", short_help="Agreement, and what follows from the labels.")
def score(
    run: RunFolder,
    task: TaskName = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Of modes: keep the answers as the run's preferences, for repair.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Say how far annotators agree, how the judge compares, and the rates that follow."""
    from weakspot.report.people.score import score as scored
    from weakspot.store import Run

    what = _task(run, task)
    with Run.read(run) as opened:
        found = scored(opened, what)
    if apply:
        found["preferred"] = _apply(run, found)
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(_lines(found)))
    return 0


@app.command("export", short_help="Write the labels as a CSV file.")
def export(
    run: RunFolder,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")] = Path("labels.csv"),
    task: TaskName = None,
) -> int:
    """Write what holds now, one row per answer; no cell is a formula to a spreadsheet."""
    from weakspot.web.table import write_csv

    n = write_csv(run, _task(run, task), out)
    typer.echo(f"{n:,} labels in {out}")
    return 0


@app.command("import", short_help="Add the labels of a CSV file.")
def import_(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="With columns item, annotator, label.")],
    task: TaskName = None,
) -> int:
    """Add labels that were made elsewhere; a later answer of the same person replaces an earlier one."""
    from weakspot.web.table import read_csv

    what = _task(run, task)
    new, known = read_csv(run, what, file)
    if what.table is not None:
        from weakspot.report.people.labels import Labels
        from weakspot.report.people.ratings import fill_in

        fill_in(what.table, Labels(run).current(what.name))
    typer.echo(f"{new:,} new labels, {known:,} were there already")
    return 0


def _task(
    folder: Path,
    name: str | None,
    *,
    most: int = EVERYTHING,
    aspects: Sequence[str] = ("shows", "quality", "bias"),
) -> Task:
    """What is asked of a run; by default all that may have been asked, however large the sample was."""
    from weakspot.report.people.tasks import task_of
    from weakspot.store import Run

    with Run.read(folder) as run:
        return task_of(run, name, most=most, aspects=aspects)


def _apply(folder: Path, found: dict[str, Any]) -> list[int]:
    """Keep comparisons of modes as preferences; ratings and choices made before stay."""
    from weakspot.core import WeakspotError
    from weakspot.report.people.preferences import Preferences, minded, prefer
    from weakspot.store import Run

    if found["task"] != "modes":
        raise WeakspotError("only labels of modes are preferences", fix="leave out --apply, or: --task modes")
    with Run.read(folder) as run:
        kept = Preferences.of(run) or Preferences()
    prefer(
        folder,
        chosen=kept.chosen or None,
        pairs=[(worse, milder) for worse, milder in found["preferences"]["pairs"]],
        ratings=dict(kept.ratings),
        clear=True,
    )
    with Run.read(folder) as run:
        return minded(run)


def _lines(found: dict[str, Any]) -> list[str]:
    """The figures in lines."""
    from weakspot.report.format import columns, cut, interval, percent

    def share(one: dict[str, Any]) -> str:
        if one["rate"] is None:
            return "none yet"
        return f"{percent(one['rate'])} {interval(one['low'], one['high'])} of {one['n']:,}"

    def plain(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    def line(name: str, text: str) -> str:
        return f"{name:<11}{cut(text, columns() - 11)}"

    people = ", ".join(f"{name} {n:,}" for name, n in found["annotators"].items()) or "nobody yet"
    lines = [
        line(
            "labels",
            f"{found['labels']:,} on {found['labelled']:,} items ({found['task']})",
        ),
        line("by", people),
        line("answers", ", ".join(f"{label} {n:,}" for label, n in found["answers"].items()) or "–"),
    ]
    for pair, one in found["kappa"].items():
        lines.append(line("kappa", f"{plain(one['kappa'])} {pair}, {one['same']:,} of {one['n']:,} the same"))
    ordinal = f", ordinal {plain(found['alpha_ordinal'])}" if "alpha_ordinal" in found else ""
    lines.append(
        line("alpha", f"{plain(found['alpha'])}{ordinal} on {found['overlap']:,} items of several annotators")
    )
    if found["split"]:
        lines.append(line("split", f"{found['split']:,} items without a majority are left out below"))
    if "downstream" in found:
        one = found["downstream"]
        lines.append(line("downstream", f"{share(one['failed'])} pairs fail; {one['same']:,} look the same"))
        lines.append(line("matcher", _judge(one["matcher"], plain)))
    if "judge" in found:
        one = found["judge"]
        lines.append(line("judge", _judge(one, plain)))
        lines.append(line("refused", share(one["rate"])))
        if one["corrected"]:
            right = one["corrected"]
            lines.append(
                line("corrected", f"{percent(right['rate'])} {interval(right['low'], right['high'])}")
            )
    if "pictures" in found:
        one = found["pictures"]
        lines.append(
            line("valid", f"{share(one['valid_failing'])} failing, {share(one['valid_passing'])} passing")
        )
        for row in one["corrected"]:
            if row["corrected"] is not None:
                ends = interval(row["low"] or 0.0, 1.0 if row["high"] is None else row["high"])
                right = f"{percent(row['rate'])} → {percent(row['corrected'])} {ends}"
                lines.append(line("corrected", f"{right} {row['phrase']}"))
        for aspect, rating in one["ratings"].items():
            lines.append(line(aspect, f"{rating['mean']:.2f} on average of {rating['n']:,}"))
    if "ratings" in found and found["ratings"]["n"]:
        one = found["ratings"]
        lines.append(
            line("ratings", f"{one['mean']:.1f} on average of {one['n']:,} outputs (1 good, 10 bad)")
        )
    if "preferences" in found:
        lines.append(line("modes", f"{len(found['preferences']['pairs']):,} comparisons"))
    if "preferred" in found:
        lines.append(line("preferred", ", ".join(map(str, found["preferred"]))))
    return lines


def _judge(one: dict[str, Any], plain: Any) -> str:
    if not one["n"]:
        return "nothing to compare with people yet"
    return (
        f"kappa {plain(one['kappa'])} with people, "
        f"sensitivity {plain(one['sensitivity'])} of {one['positives']:,}, "
        f"specificity {plain(one['specificity'])} of {one['negatives']:,}"
    )
