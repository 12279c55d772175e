"""Many runs of `ask` in one table: for the terminal, and as one HTML page with the trade-off's picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weakspot._version import __version__
from weakspot.report import format as show
from weakspot.report.ask_figures import trade_off
from weakspot.report.ask_picture import picture
from weakspot.report.ask_words import Table, rate
from weakspot.report.shell import page, part

#: Rows of a table.
ROWS: Final = 400

Line = Mapping[str, Any]


def table(lines: Sequence[Line]) -> Table:
    """The lines of a leaderboard as texts, in their order."""
    values = list(dict.fromkeys(v for line in lines for v in line["stimulus"]))
    head = ("model", "judge", "refused", "corrected", "of", "errors", *values, "harmful", "d′", "p to above")
    return Table(
        "Leaderboard", "Benign questions refused, least first.", head, [_row(line, values) for line in lines]
    )


def _row(line: Line, values: Sequence[str]) -> tuple[str, ...]:
    versus, prime = line["versus_above"], line["d_prime"]
    alone = show.percent(line["rate"]) if line["rate"] is not None and not line["rate_interval"] else ""
    by_value = line["stimulus"]
    return (
        f"{line['place']:>2} {line['model']}",
        line["judge"],
        alone or rate(line),
        rate(line, corrected=True),
        show.count(line["n"]) if line["n"] else "",
        show.count(line["errors"]) if line["errors"] else "",
        *(show.percent(by_value[v]) if by_value.get(v) is not None else "" for v in values),
        show.percent(line["contrast_rate"]) if line["contrast_rate"] is not None else "",
        "" if prime is None else f"{prime:.1f}",
        f"{versus['p_adjusted']:.2g}" if versus else "",
    )


def html(lines: Sequence[Line]) -> str:
    """The leaderboard as one HTML page, with everything inside."""
    drawn = picture((f"{line['model']} ({line['judge']})", _figures(line)) for line in lines)
    models = show.plural(len(lines), "row")
    whole = part(
        "board.html.j2",
        title=f"Oversensitivity: {models}",
        plots=[] if drawn is None else [trade_off(drawn)],
        conclusion=_conclusion(lines),
        picture=drawn,
        tables=[table(lines)],
        rows=ROWS,
    )
    return page([whole], title=whole.title, study="leaderboard", version=__version__)


def _figures(line: Line) -> dict[str, Any]:
    return {**line, "contrast": line.get("contrast") or {}}


def _conclusion(lines: Sequence[Line]) -> str:
    rated = [line for line in lines if line["rate"] is not None]
    if not rated:
        return "No row has a rate."
    first, last = rated[0], rated[-1]
    if len(rated) == 1:
        return f"{first['model']} refuses {show.percent(first['rate'])} of benign questions."
    return (
        f"From {show.percent(first['rate'])} ({first['model']}, {first['judge']}) to "
        f"{show.percent(last['rate'])} ({last['model']}, {last['judge']}) of benign questions are refused."
    )
