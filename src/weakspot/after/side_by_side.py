"""Several runs in one page: those of one study set against each other, then every run's own report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup

from weakspot.after import comparison_text as words
from weakspot.after.compared import Compared, MeasureRow, compare, model_of
from weakspot.core import Rate, WeakspotError
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.html import body, page, rendered
from weakspot.report.plots import Figure, Lanes, Mark, named
from weakspot.store import Run
from weakspot.study.rates import comparable, plural, rates_of
from weakspot.study.reports import document_of, write_text
from weakspot.text.clauses import legible

#: Runs in one page, and rows of a picture.
MOST, ROWS = 12, 30


def write_several(runs: Sequence[Run], path: Path) -> Path:
    """Write one HTML file of several runs: those of one study set against each other, then each by itself.

    It links each run's folder, for what it does not hold itself.
    """
    if len(runs) > MOST:
        raise WeakspotError(f"{len(runs)} runs are too many for one page", fix=f"name at most {MOST}")
    title = f"{show.plural(len(runs), 'run')} side by side"
    parts = [_head(title, runs)]
    for i, run in enumerate(runs, start=1):
        own = body(document_of(run), prefix=f"run{i}-", runs=len(runs))
        way = Path(os.path.relpath(run.folder.resolve(), path.parent.resolve())).as_posix()
        link = Markup('<a href="{}/">all of its files</a>').format(quote(way))
        frame = Markup(
            '<article class="run" id="run{0}"><p class="number">Run {0} · {2}</p>\n{1}\n</article>'
        )
        parts.append(frame.format(i, own, link))
    version = runs[0].config.versions.get("weakspot", "")
    write_text(path, page(Markup("\n").join(parts), title=title, study="report", version=version))
    return path


def comparisons(runs: Sequence[Run]) -> list[tuple[int, int, Compared]]:
    """Every run against the first of its study, by their numbers from 1."""
    found = []
    for first, *others in _groups(runs):
        found += [(first, other, compare(runs[first - 1], runs[other - 1])) for other in others]
    return found


def _groups(runs: Sequence[Run]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for i, run in enumerate(runs, start=1):
        if comparable(run):
            groups.setdefault(rates_of(run).name, []).append(i)
    return [group for group in groups.values() if len(group) > 1]


def _head(title: str, runs: Sequence[Run]) -> Markup:
    lines = [_line(i, run) for i, run in enumerate(runs, start=1)]
    found, figures, groups = comparisons(runs), {}, []
    for numbers in _groups(runs):
        own = [one for one in found if one[0] == numbers[0]]
        figure = _figure(own, {i: f"{i} · {lines[i - 1]['model']}" for i in numbers})
        if figure is not None:
            figures[figure.name] = figure
        groups.append(
            {
                "study": lines[numbers[0] - 1]["study"],
                "numbers": numbers,
                "figure": figure.name if figure is not None else "",
                "against": [_versus(*one) for one in own],
            }
        )
    compared = {number for group in groups for number in group["numbers"]}
    return rendered(
        "weakspot.after:side_by_side.html.j2",
        title=title,
        figures=figures,
        lines=lines,
        groups=groups,
        left=[number for number in range(1, len(runs) + 1) if number not in compared],
    )


def _line(number: int, run: Run) -> dict[str, Any]:
    return {
        "number": number,
        "name": run.folder.resolve().name,
        "study": run.config.study,
        "model": show.shorten(model_of(run.config) or run.config.subject, 80),
        "findings": sum(f.confirmed for f in run.findings),
        "state": run.state.partition(":")[0],
        "created": run.config.created,
    }


def _versus(first: int, second: int, found: Compared) -> dict[str, Any]:
    """Two runs set against each other: sentences, and a table of each kind of what both measured."""
    kinds = [
        {"title": title, "rows": [_row(row) for row in rows], "more": more}
        for title, rows, more in words.shown(found)
        if rows
    ]
    return {
        "first": first,
        "second": second,
        "told": [_numbered(text, first, second) for text in words.sentences(found)],
        "method": words.method(found),
        "settings": found.settings,
        "kinds": kinds,
    }


def _numbered(text: str, first: int, second: int) -> str:
    for word, number in (("first", first), ("second", second)):
        text = text.replace(f"The {word} run", f"Run {number}").replace(f"the {word} run", f"run {number}")
    return text


def _row(row: MeasureRow) -> tuple[str, ...]:
    contrast = row.contrast
    how = show.NONE if contrast is None else "the same cases" if row.paired else "separate cases"
    return (
        show.shorten(legible(row.measure.words), 200),
        show.NONE if row.first is None else show.rate(row.first),
        show.NONE if row.second is None else show.rate(row.second),
        words.difference(row),
        how if contrast is None else f"{how}, {show.count(contrast.n)}",
        words.p_value(row.adjusted),
        words.mark(row),
    )


def _figure(found: Sequence[tuple[int, int, Compared]], names: dict[int, str]) -> Figure | None:
    """The rates of all runs of a study, a row for whatever at least two of them measured."""
    rates: dict[str, dict[int, Rate]] = {}
    about: dict[str, tuple[str, str]] = {}
    for first, second, one in found:
        for row in one.rows:
            key = row.measure.key
            about.setdefault(key, (plural(row.measure.kind), legible(row.measure.words)))
            for number, rate in ((first, row.first), (second, row.second)):
                if rate is not None:
                    rates.setdefault(key, {})[number] = rate
    kept = [key for key in about if len(rates.get(key, {})) > 1][:ROWS]
    if not kept:
        return None
    series = tuple(names.values())
    order = list(dict.fromkeys(about[key][0] for key in kept))
    kept.sort(key=lambda key: order.index(about[key][0]))
    marks = [
        Mark(about[key][1], names[number], rate, about[key][0])
        for key in kept
        for number, rate in sorted(rates[key].items())
    ]
    rows: list[Sequence[Any]] = [
        (m.group, m.row, m.series, m.rate.value, m.rate.low, m.rate.high, m.rate.failures, m.rate.n)
        for m in marks
    ]
    title = f"Rates of the runs of {found[0][2].study}"
    return Figure(
        named("compared", found[0][2].study, found[0][0]),
        title,
        _COLUMNS,
        rows,
        plots.lanes(Lanes(marks, series, inks=plots.RUNS if len(series) == 2 else ()), title),
        "What at least two runs measured, each with its own 95 % interval.",
    )


_COLUMNS: Final = ("kind", "where", "run", "rate", "low", "high", "failures", "n")
