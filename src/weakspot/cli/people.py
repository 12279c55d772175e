"""Commands about what people say of a run: labels from the browser, preferences, agreement with a judge."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weakspot.cli.flags import DEFAULT, OneIsMeant, argument, flag, option, show
from weakspot.cli.view import HOST, OPEN, PORT, need_web, served
from weakspot.core import WeakspotError
from weakspot.report.format import columns, interval, percent, shell, wrapped
from weakspot.text.clauses import legible

if TYPE_CHECKING:
    from weakspot.report.people.tasks import Task

labels = typer.Typer(
    cls=OneIsMeant,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Have people label items of a run in the browser, and see what follows from it.",
)
judges = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure judges.")
judges.callback()(lambda: None)  # a group, although it has one command

RUN: Any = argument("RUN", "The run's folder; it may still be running.")
TASK: Any = option(
    None, "TASK", "pairs, refusals, questions, modes, images or ratings; by default the study's.", "--task"
)


@labels.command(DEFAULT, short_help="Open the labelling page (the default if you name none).")
def label(
    run: Path = RUN,
    task: str | None = TASK,
    questions: bool = flag("--questions", "Of ask: label whether the questions themselves are harmless."),
    items: int = option(200, "NUMBER", "The most items, if a sample is drawn.", "--items", min=1),
    aspect: list[str] | None = option(
        None, "NAME", "Of images: shows, quality, bias. May be repeated.", "--aspect"
    ),
    annotator: list[str] | None = option(
        None,
        "NAME",
        "Who may label; anybody by default. Each gets a link that fixes the name. May be repeated.",
        "--annotator",
    ),
    unsure: bool = flag("--unsure", "Of refusals: only the answers the judge is unsure of."),
    overlap: float = option(
        1.0, "SHARE", "Share of items that every annotator gets; the rest is split among them.", min=0, max=1
    ),
    host: str = HOST,
    port: int | None = PORT,
    open_: bool = OPEN,
) -> int:
    """Label items by keys, one at a time; every answer is saved at once and can be taken back.

    Each annotator sees the items in an order of their own, without what the run knows about them.
    """
    need_web()
    from weakspot.web.labelling import Labelling

    task = "questions" if questions else task
    asked = _task(run, task, most=items, aspects=aspect or ("shows",), unsure=unsure)
    pages = Labelling(run, asked, annotators=annotator or (), overlap=overlap)
    return served(pages.app(), host=host, port=port, open_=open_, people=pages.annotators)


@labels.command("score", short_help="Agreement, and what follows from the labels.")
def score(
    run: Path = RUN,
    task: str | None = TASK,
    apply: bool = flag("--apply", "Of modes: keep the answers as the run's preferences, for repair."),
    as_json: bool = flag("--json", "Print as JSON."),
) -> int:
    """Say how far annotators agree, how the judge compares, and the rates that follow."""
    from weakspot.report.people.score import score as scored
    from weakspot.store import Run

    what = _task(run, task)
    with Run.read(run) as opened:
        found = scored(opened, what)
    if apply:
        found["preferred"] = _apply(run, found)
    lines = (line for name, text in _figures(found) for line in wrapped(name, text, columns(), room=11))
    return show(found, lines, as_json=as_json)


@labels.command("export", short_help="Write the labels as a CSV file.")
def export(
    run: Path = RUN,
    out: Path = option(Path("labels.csv"), "FILE", "The file to write."),
    task: str | None = TASK,
) -> int:
    """Write the current labels, one row per answer; no cell can act as a formula in a spreadsheet."""
    from weakspot.web.labels_csv import write_csv

    n = write_csv(run, _task(run, task), out)
    typer.echo(f"{n:,} labels in {out}")
    return 0


@labels.command("import", short_help="Add the labels of a CSV file.")
def import_(
    run: Path = RUN,
    file: Path = argument("FILE", "With columns item, annotator, label."),
    task: str | None = TASK,
) -> int:
    """Add labels that were made elsewhere; a later answer of the same person replaces an earlier one."""
    from weakspot.web.labels_csv import read_csv

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
    most: int | None = None,
    aspects: Sequence[str] = ("shows", "quality", "bias"),
    unsure: bool = False,
) -> Task:
    """What is asked of a run; by default all that may have been asked, however large the sample was."""
    from weakspot.report.people.tasks import task_of
    from weakspot.store import Run

    with Run.read(folder) as run:
        return task_of(run, name, most=most, aspects=aspects, unsure=unsure)


def _apply(folder: Path, found: dict[str, Any]) -> list[int]:
    """Keep comparisons of modes as preferences; ratings and choices made before stay."""
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


def _figures(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the labels say: a name and a text for each line."""
    yield "labels", f"{found['labels']:,} on {found['labelled']:,} items ({found['task']})"
    yield "by", ", ".join(f"{name} {n:,}" for name, n in found["annotators"].items()) or "nobody yet"
    yield "answers", ", ".join(f"{label} {n:,}" for label, n in found["answers"].items()) or "–"
    for pair, one in found["kappa"].items():
        yield "kappa", f"{_number(one['kappa'])} {pair}, {one['same']:,} of {one['n']:,} the same"
    ordinal = f", ordinal {_number(found['alpha_ordinal'])}" if "alpha_ordinal" in found else ""
    yield "alpha", f"{_number(found['alpha'])}{ordinal} on {found['overlap']:,} items of several annotators"
    if found["split"]:
        yield "split", f"{found['split']:,} items without a majority are left out below"
    if one := found.get("downstream"):
        rate = one["failed"]["rate"]
        fail = "no pair is settled yet" if rate is None else f"{_share(one['failed'])} pairs fail"
        yield "downstream", f"{fail}; {one['same']:,} look the same"
        yield "matcher", _agreement(one["matcher"])
    if one := found.get("judge"):
        yield "judge", _agreement(one)
        for name, of in one["sets"].items():
            text = f"{_share(of['rate'])} {name}"
            if (left := of["unsure"])["n"]:
                text += f", unsure of {left['n']:,} ({left['labelled']:,} labelled)"
            if right := of["corrected"]:
                text += f" → {percent(right['rate'])} {interval(right['low'], right['high'])} by people"
            yield "refused", text
    if one := found.get("pictures"):
        yield "valid", f"{_share(one['valid_failing'])} failing, {_share(one['valid_passing'])} passing"
        for row in one["corrected"]:
            if row["corrected"] is None:
                yield "measured", f"{percent(row['rate'])} {legible(row['phrase'])} (needs {row['missing']})"
            else:
                ends = interval(row["low"], row["high"])
                right = f"{percent(row['rate'])} → {percent(row['corrected'])} {ends}"
                yield "corrected", f"{right} {legible(row['phrase'])}"
        for aspect, rating in one["ratings"].items():
            yield aspect, f"{rating['mean']:.2f} on average of {rating['n']:,}"
    if "ratings" in found and found["ratings"]["n"]:
        one = found["ratings"]
        yield "ratings", f"{one['mean']:.1f} on average of {one['n']:,} outputs (1 good, 10 bad)"
    if "preferences" in found:
        yield "modes", f"{len(found['preferences']['pairs']):,} comparisons"
    if "preferred" in found:
        yield "preferred", ", ".join(map(str, found["preferred"]))


def _share(one: Mapping[str, Any]) -> str:
    if one["rate"] is None:
        return "none yet"
    return f"{percent(one['rate'])} {interval(one['low'], one['high'])} of {one['n']:,}"


def _number(value: float | None, none: str = "–") -> str:
    return none if value is None else f"{value:.2f}"


def _agreement(one: Mapping[str, Any]) -> str:
    if not one["n"]:
        return "nothing to compare with people yet"
    return (
        f"kappa {_number(one['kappa'])} with people, "
        f"sensitivity {_number(one['sensitivity'])} of {one['positives']:,}, "
        f"specificity {_number(one['specificity'])} of {one['negatives']:,}"
    )


def prefer(
    run: Path = argument("RUN", "The folder of a map."),
    modes: str | None = option(None, "NUMBERS", "The modes to repair, e.g. 1,3."),
    worse: list[str] | None = option(
        None, "PAIR", 'One mode is worse than another, e.g. --worse "2>1". May be repeated.'
    ),
    rate: list[str] | None = option(
        None, "RATING", "How bad a mode's samples are, 0 to 10, e.g. --rate 2=8. May be repeated."
    ),
    clear: bool = flag("--clear", "Forget earlier answers first."),
    open_: bool = flag("--open", "Open the page with the pictures in the browser."),
    as_json: bool = flag("--json", "Print all answers as JSON."),
) -> int:
    """Say which modes of a map you mind; repair can then take the preferred ones.

    Failing inputs of each mode are in the page modes.html of the run's folder. Without options on a terminal
    it asks: which modes, or which of two is worse. A few answers are enough.
    """
    import webbrowser

    from weakspot.report.people import preferences
    from weakspot.report.people.sheet import write_sheet
    from weakspot.store import Run

    chosen = None if modes is None else _numbers(modes)
    pairs = [_pair(text) for text in worse or []]
    ratings = dict(_rating(text) for text in rate or [])
    with Run.read(run) as opened:
        known = preferences.modes_of(opened)
        samples = {number: preferences.samples_of(opened, number) for number in range(1, len(known) + 1)}
        looks = open_ or (sys.stdin.isatty() and not as_json)
        sheet = write_sheet(opened) if looks and any(samples.values()) else None
    if not as_json:
        for number, mode in enumerate(known, start=1):
            ends = f"{percent(mode.rate)} {interval(mode.low, mode.high)}"
            print(*wrapped(f"{number:>3}", f"{ends}  {mode.words}", columns(), room=5), sep="\n")
            for sample in samples[number]:
                print(f"     sample  {shell([sample])}")
        if sheet is not None:
            print(f"pictures {shell([str(sheet)])}")
    if open_ and sheet is not None:
        webbrowser.open(sheet.resolve().as_uri())
    if chosen is None and not pairs and not ratings and not clear and sys.stdin.isatty():
        chosen, pairs = _asked(len(known))
    if chosen is None and not pairs and not ratings and not clear:
        with Run.read(run) as opened:
            answers = preferences.Preferences.of(opened) or preferences.Preferences()
    else:
        answers = preferences.prefer(run, chosen=chosen, pairs=pairs, ratings=ratings, clear=clear)
    with Run.read(run) as opened:
        first = preferences.minded(opened)
    values = answers.plain() | {"preferred": first, "samples": samples, "exit_code": 0}
    which = ", ".join(map(str, first)) or "none: no mode is rated above 5 or called worse"
    return show(values, [f"preferred  {which}"], as_json=as_json)


def _asked(count: int) -> tuple[list[int] | None, list[tuple[int, int]]]:
    """What a person answers on the terminal; who mistypes is asked again."""
    while True:
        answer = typer.prompt("which should be repaired? (numbers, or e.g. 2>1)", default="1")
        try:
            pairs = [_pair(text) for text in answer.split(",")] if ">" in answer else []
            chosen = None if pairs else _numbers(answer)
        except typer.BadParameter as error:
            typer.echo(error.format_message())
            continue
        named = [*(chosen or ()), *(number for pair in pairs for number in pair)]
        if wrong := [number for number in named if not 1 <= number <= count]:
            typer.echo(f"there is no mode {wrong[0]}: the run has modes 1 to {count}")
        elif any(worse == milder for worse, milder in pairs):
            typer.echo("a mode cannot be worse than itself: compare two modes, e.g. 1>3")
        else:
            return chosen, pairs


def _numbers(text: str) -> list[int]:
    parts = [part for part in re.split(r"[,\s]+", text.strip()) if part]
    if not parts or not all(part.isdecimal() and len(part) < 6 for part in parts):
        raise typer.BadParameter(f"{text[:60]!r} are not numbers of modes: write e.g. 1,3")
    return list(dict.fromkeys(int(part) for part in parts))


def _pair(text: str) -> tuple[int, int]:
    if match := re.fullmatch(r"\s*(\d{1,5})\s*>\s*(\d{1,5})\s*", text):
        return int(match[1]), int(match[2])
    raise typer.BadParameter(f"{text[:60]!r} is not a comparison: write e.g. 2>1")


def _rating(text: str) -> tuple[int, float]:
    if match := re.fullmatch(r"\s*(\d{1,5})\s*=\s*(\d{1,2}(?:\.\d+)?)\s*", text):
        return int(match[1]), float(match[2])
    raise typer.BadParameter(f"{text[:60]!r} is not a rating: write e.g. 2=8")


@judges.command("check", short_help="Compare a judge's verdicts with people's labels.")
def check(
    judge: str = argument("JUDGE", "Its name (see: weakspot list judges), or several separated by commas."),
    labels: list[Path] = option(
        ..., "FILE", "Answers with people's labels: a table, or a folder of tables. Repeatable."
    ),
    by: str = option("", "COLUMN", "Group by this column; by model otherwise."),
    leave_one_out: bool = flag(
        "--leave-one-out", "For each group, train the embedded judge again on the others."
    ),
    keep: Path | None = option(
        None,
        "FILE",
        "Keep verdicts here, and continue from them; judges that ask a server always do.",
    ),
    disagreements: int = option(
        10, "NUMBER", "How many of the answers it judges differently from people to show.", min=0
    ),
    as_json: bool = flag("--json", "Print as JSON, with all disagreements."),
) -> int:
    """Say how often a judge is right, where it is blind, and where it disagrees with people.

    Partial refusals, and what the judge is unsure of, are counted separately. Answers that the embedded judge
    learnt from are judged by a model that did not learn from their author. Ctrl-C shows what was judged so
    far.
    """
    from weakspot.cli.checking import lines_of, place_of, told
    from weakspot.core import JUDGES
    from weakspot.judges.refusal import check as checking
    from weakspot.judges.refusal.labels import read_labels
    from weakspot.judges.refusal.routed import routed_name

    if leave_one_out and judge != "embedded":
        raise WeakspotError(f"{judge[:80]!r} cannot be trained anew", fix="leave out --leave-one-out")
    labelled = read_labels(labels, by=by)
    if leave_one_out:
        found = checking.leave_one_out(labelled)
    else:
        loaded = JUDGES.load(routed_name(judge))
        kept = keep or place_of(judge, loaded, labelled)
        found = checking.check(loaded, labelled, progress=told, keep=kept)
        if found["judged"] < found["of"]:
            found["kept"] = None if kept is None else str(kept)
    found = {"judge": judge, "leave_one_out": leave_one_out, **found}
    show(found, lines_of(judge, found, disagreements, columns()), as_json=as_json)
    return 130 if found["judged"] < found["of"] else 0
