"""Commands about runs that are there: their report, two set against each other, a gate, a leaderboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weakspot.cli import program
from weakspot.cli.flags import argument, flag, option, show
from weakspot.core import WeakspotError
from weakspot.report.format import NONE, columns, count, folded, grid, percent, shell, wrapped
from weakspot.text.clauses import legible

if TYPE_CHECKING:
    from weakspot.after.compared import Compared
    from weakspot.after.gate import Gate

#: Where several runs are written if nobody says where.
OUT: Final = Path("compared.html")


def report(
    runs: list[Path] = argument("RUN...", "Folders of runs; they may still be running."),
    out: Path | None = option(None, "FILE", "Of several runs: the file to write; by default compared.html."),
    open_: bool = flag("--open", "Open the report in the browser."),
    as_json: bool = flag("--json", "Print the findings as JSON."),
) -> int:
    """Write report.html, report.md and report.json into the run's folder; of several runs, one HTML file.

    Runs of the same study are compared at its top, on the same cases if they share any. The report of each
    run follows.
    """
    import webbrowser

    from weakspot.after.comparison_text import to_json
    from weakspot.after.side_by_side import comparisons, write_several
    from weakspot.store import Run
    from weakspot.study.reports import summary, write

    if out is not None and len(runs) == 1:
        raise WeakspotError(
            "--out is for several runs", fix="leave it out: the report goes into the run's folder"
        )
    twice = {path.resolve() for path in runs}
    if len(twice) < len(runs):
        raise WeakspotError("a run is named twice", fix="name every run once")
    with ExitStack() as stack:
        opened = [stack.enter_context(Run.read(folder)) for folder in runs]
        alone = len(opened) == 1
        path = write(opened[0]) if alone else write_several(opened, OUT if out is None else out)
        values: dict[str, Any] = {}
        if as_json and alone:
            values = summary(opened[0])
        elif as_json:
            values = {"format": 1, "runs": [summary(run) for run in opened]}
            values["compared"] = [
                {"first": one, "second": two} | to_json(found) for one, two, found in comparisons(opened)
            ]
        show(values, [str(path)], as_json=as_json)
    if open_:
        webbrowser.open(path.resolve().as_uri())
    return 0


#: What tables need that runs know of themselves.
By: Final = option(None, "COLUMN", "Of tables: compare each category of this column too; repeatable.", "--by")
Id: Final = option("", "COLUMN", "Of tables: the column that identifies a case.", "--id")
Label: Final = option("", "COLUMN", "Of tables: the column with the right answer.", "--label")
Prediction: Final = option("", "COLUMN", "Of tables: the column with the model's answer.", "--prediction")
Failed: Final = option("", "EXPRESSION", "Of tables: what a failure is, e.g. 'loss > 2'.", "--failed")


def _are_tables(first: Path, second: Path | None, *given: object) -> bool:
    """Whether tables are meant rather than runs; a mixture, or what a run does not know, is refused."""
    from weakspot.records.read import is_table

    paths = [first] if second is None else [first, second]
    tables = [is_table(path) for path in paths]
    if any(tables) and not all(tables):
        other = paths[tables.index(False)]
        raise WeakspotError(
            f"{other} is neither a table nor a log", fix="compare a table with a table, a run with a run"
        )
    if not any(tables) and any(given):
        raise WeakspotError(
            f"{first} is neither a table nor a log, but a flag of tables is given",
            fix="leave out --by, --id, --label, --prediction and --failed, or correct the path",
        )
    return all(tables)


def compare(
    first: Path = argument("A", "The folder of a run, a table of results, or a log of another tool."),
    second: Path = argument("B", "A later run of the same study; or another table or log of the same data."),
    by: list[str] | None = By,
    id: str = Id,
    label: str = Label,
    prediction: str = Prediction,
    failed: str = Failed,
    adjust: str = option(
        "holm",
        "METHOD",
        "How p-values of many comparisons are adjusted: holm (no false one) or bh (few false ones).",
    ),
    alpha: float = option(0.05, "SHARE", "Differences with adjusted p-values up to this are shown."),
    markdown: Path | None = option(None, "FILE", "Write the comparison as Markdown, too."),
    as_json: bool = flag("--json", "Print the comparison as JSON."),
) -> int:
    """Compare two runs, tables or logs: what is new, gone, worse, better.

    Cases that both runs drew (same words, seed and source; the same item of a benchmark) are compared in
    pairs; others as separate samples, and the output says so and why. Tables and logs are paired by id. A
    difference counts only after the p-values of all comparisons have been adjusted. The exit code is 0
    whatever it finds; to fail a build, use weakspot gate.
    """
    from weakspot.after.compared import compare_folders
    from weakspot.after.comparison_text import markdown as markdown_of
    from weakspot.after.comparison_text import to_json
    from weakspot.store import write_whole

    found: Compared
    more: dict[str, Any] = {}
    if _are_tables(first, second, by, id, label, prediction, failed):
        from weakspot.after import table_compare as tables
        from weakspot.records import Roles

        roles = Roles(id=id, label=label, prediction=prediction)
        found = of_tables = tables.compare_tables(
            first, second, by=by or (), named=roles, failed=failed, adjustment=adjust, alpha=alpha
        )
        more = tables.to_json(of_tables)
    else:
        found = compare_folders(first, second, adjustment=adjust, alpha=alpha)
    if markdown is not None:
        try:
            write_whole(markdown, markdown_of(found).encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise WeakspotError(
                f"{markdown} cannot be written: {error.strerror}", fix="check the path of --markdown"
            ) from error
    values = to_json(found) | more | {"exit_code": 0}
    return show(values, _comparison(found, columns()), as_json=as_json, allow_nan=False)


def _comparison(found: Compared, wide: int) -> Iterator[str]:
    """The comparison in lines of at most `wide` columns."""
    from weakspot.after import comparison_text as words

    for name, side in (("first", found.first), ("second", found.second)):
        yield from wrapped(name, _named(side.folder, side.model), wide)
    for key, one, two in found.settings[:8]:
        yield from wrapped("", f"{key}: {one[:100]} → {two[:100]}", wide)
    most = words.scale(found.rows)
    for title, rows, more in words.shown(found):
        yield ""
        cells = [
            (
                NONE if row.first is None else percent(row.first.value),
                NONE if row.second is None else percent(row.second.value),
                words.difference(row),
                f"of {count(row.contrast.n)}{'' if row.paired else ' †'}" if row.contrast else "",
                words.p_value(row.adjusted),
                words.strip(row, most) if wide >= 110 else "",
                words.mark(row),
            )
            for row in rows
        ]
        head = ("first", "second", "points", "cases", "p", "", "")
        rest = [(legible(row.measure.words), *cell) for row, cell in zip(rows, cells, strict=True)]
        yield from grid((title, *head), rest, wide, texts=(0, 6, 7))
        if more:
            yield f"  and {count(more)} more that did not change (--json has all)"
    yield ""
    for sentence in words.sentences(found):
        yield from _wrapped(sentence, wide)
    if method := words.method(found):
        apart = any(row.contrast is not None and not row.paired for row in found.rows)
        yield from _wrapped(f"{method}{' † separate cases.' if apart else ''}", wide)
    if found.study == "hunt":
        for rows, here, there in (
            (found.new, found.second, found.first),
            (found.gone, found.first, found.second),
        ):
            if any(row.contrast is None for row in rows) and here.model != there.model:
                asked = shell([program(), "transfer", here.folder, "--target", there.model])
                yield f"{'next':<9}{asked}"


def _named(what: str, model: str) -> str:
    return f"{what} · {model}" if model else what


def _wrapped(text: str, wide: int) -> list[str]:
    return folded(text, wide)


def gate(
    run: Path = argument("RUN", "The folder of the run under test; or a table of results, or a log."),
    against: Path | None = option(
        None,
        "RUN",
        "A run of the same study, e.g. of the released model; for a table, another table of the same data.",
    ),
    max_rate: float | None = option(None, "SHARE", "Limit on the overall failure rates, e.g. 0.05."),
    max_part_rate: float | None = option(
        None, "SHARE", "Limit on the rate of every finding, slice, cell or category."
    ),
    max_findings: int | None = option(None, "NUMBER", "Limit on the number of confirmed findings."),
    certified: float | None = option(
        None,
        "SHARE",
        "Pass only if nothing else that the run tried can fail more often than this, e.g. 0.08.",
    ),
    max_increase: float | None = option(
        None, "SHARE", "With --against: limit on every increase; 0 if not given."
    ),
    strict: bool = flag("--strict", "Fail unless the upper end of every interval is within its limit."),
    only: list[str] | None = option(
        None, "WORDS", "Look only at names with these words, * for anything; repeatable."
    ),
    max_errors: float = option(
        0.1, "SHARE", "If a larger share of trials ended in an error, nothing is decided."
    ),
    by: list[str] | None = By,
    id: str = Id,
    label: str = Label,
    prediction: str = Prediction,
    failed: str = Failed,
    summary: Path | None = option(
        None, "FILE", "Append the verdict as Markdown, e.g. to $GITHUB_STEP_SUMMARY."
    ),
    as_json: bool = flag("--json", "Print the verdict as JSON."),
) -> int:
    """Say by exit code whether a run or a table stays within its limits: 0 it does, 1 it does not, 2 unknown.

    Limits are compared with intervals. By default, a run fails only if the lower end of an interval is above
    its limit. With --strict, it passes only if the upper end of every interval is within its limit. By
    default all intervals hold together (each at 1 − 0.05 / checks); with --strict, each holds on its own (95
    %).
    """
    from weakspot.after import gate as gates
    from weakspot.store import Run

    limits = gates.Limits(
        rate=max_rate,
        part_rate=max_part_rate,
        findings=max_findings,
        certified=certified,
        increase=max_increase,
        errors=max_errors,
        strict=strict,
        only=tuple(only or ()),
    )
    try:
        if _are_tables(run, against, by, id, label, prediction, failed):
            from weakspot.after.table_gate import gate_tables
            from weakspot.records import Roles

            roles = Roles(id=id, label=label, prediction=prediction)
            found = gate_tables(run, limits, against=against, by=by or (), named=roles, failed=failed)
        else:
            with ExitStack() as stack:
                opened = stack.enter_context(Run.read(run))
                other = None if against is None else stack.enter_context(Run.read(against))
                found = gates.gate(opened, limits, against=other)
        if summary is not None:
            with summary.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{gates.markdown(found)}\n")
    except WeakspotError as error:
        raise gates.CannotSay(error.what, fix=error.fix) from error
    except OSError as error:
        fix = "check the path of --summary"
        raise gates.CannotSay(f"{error.strerror} ({error.filename})", fix=fix) from error
    code = 1 if found.failed else 0
    values = gates.to_json(found) | {"exit_code": code}
    return show(values, _verdict(found, columns()), as_json=as_json, code=code, allow_nan=False)


def _verdict(found: Gate, wide: int) -> Iterator[str]:
    """The checks of a gate in lines of at most `wide` columns."""
    from weakspot.after.gate import cells, conclusion, rule

    beside = f" against {found.against}" if found.against else ""
    yield from wrapped("gate", _named(found.run + beside, found.model), wide)
    rows = [
        ("ok" if check.passed else "FAIL", legible(check.words), seen, f"limit {limit}")
        for check in found.checks[: max(12, len(found.failed))]
        for seen, limit in [cells(check)]
    ]
    yield from grid(("",) * 4, rows, wide, texts=(1,), lead=2)
    if len(found.checks) > len(rows):
        yield f"  and {len(found.checks) - len(rows)} more (--json has all)"
    for note in found.notes:
        yield from wrapped("note", note, wide)
    yield from wrapped("rule", rule(found), wide)
    yield from folded(conclusion(found), wide)


def leaderboard(
    runs: list[Path] = argument(
        "RUN…", "Folders of runs, submission files of the benchmark, or published figures."
    ),
    export: Path | None = option(
        None, "FOLDER", "Write each run in the benchmark's submission format, and its answers."
    ),
    html: Path | None = option(None, "FILE", "Write the table and the trade-off as one HTML page.", "--html"),
    as_json: bool = flag("--json", "Print as JSON."),
) -> int:
    """Show which models refuse the fewest harmless questions, and how sure their order is.

    A model is one row, however its name is spelt. Models that were asked the same questions are compared item
    by item. Published figures come without answers, so they are listed apart.
    """
    from weakspot.after import leaderboard as boards
    from weakspot.after import leaderboard_tables as told
    from weakspot.after.standings import standings
    from weakspot.study.reports import write_text

    found = standings([row for path in runs for row in boards.read(path)])
    written = []
    if export is not None:
        written = boards.export([path for path in runs if path.is_dir()], export)
    if html is not None:
        write_text(html, told.html(found))
        written.append(html)
    values = {"rows": [boards.plain(one) for one in found], "exported": [str(path) for path in written]}
    texts = [*told.lines(found, columns()), *(f"written  {path}" for path in written)]
    return show(values, texts, as_json=as_json)
