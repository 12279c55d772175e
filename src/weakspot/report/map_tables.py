"""The tables of a map's report: what held, the modes, what is enough, what is known, what gave no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.store import Run, unjudged
from weakspot.studies.map.result import MapResult
from weakspot.study.preferences import Preferences

#: Causes of missing verdicts that are listed; the others are counted together.
CAUSES: Final = 12


class Table(NamedTuple):
    """A table of the report; `figure` names the one that stands above it."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    figure: str = ""


def landscape_of(run: Run) -> dict[str, Any] | None:
    """What the search found, as plain values."""
    found: dict[str, Any] | None = (MapResult.of(run) or MapResult()).plain()["landscape"]
    return found


def believed(row: Mapping[str, Any]) -> str:
    """A believed rate with its interval: "43 % [19, 60]"."""
    return f"{show.percent(row['rate'])} {show.interval(row['low'], row['high'])}"


def missed(result: Mapping[str, Any]) -> str:
    """The chance that something worse was missed; as few as no draw of so many are not none."""
    draws = result["missed_draws"]
    if not draws:
        return "none (every cell is in a mode)"
    return show.percent(result["missed"]) if result["missed"] else f"< {show.level(1 / draws)}"


def tables(run: Run) -> list[Table]:
    """The tables, as far as there is a result."""
    result = landscape_of(run)
    if result is None:
        return _unjudged(run)
    chosen = set((Preferences.of(run) or Preferences()).chosen)
    found = [
        Table(
            "Confirmed on fresh inputs",
            "Modes and the fewest concepts that are enough, drawn again on inputs that the search never saw. "
            "‘Confirmed’ controls the false-discovery rate.",
            ("where", "fails", "as they are", "confirmed"),
            [
                (
                    show.shorten(f.phrase, 200),
                    show.rate(f.rate),
                    show.rate(f.baseline),
                    "yes" if f.confirmed else "no",
                )
                for f in run.findings
            ],
        ),
        Table(
            "Modes",
            f"Connected regions of cells believed to fail at least {show.percent(result['above'])} of the "
            "time, worst first. The number is for weakspot prefer and weakspot repair.",
            ("mode", "where", "worst cell", "believed rate there", "failed there", "cells"),
            [
                (
                    f"{i}{' ★' if i in chosen else ''}",
                    show.shorten(mode["words"], 200),
                    show.shorten(mode["peak_words"], 200),
                    believed(mode),
                    f"{show.count(mode['failures'])} of {show.count(mode['n'])}",
                    show.count(mode["cells"]),
                )
                for i, mode in enumerate(result["modes"], start=1)
            ],
        ),
        Table(
            "Minimal failing sets",
            "Values that are enough, whatever the other axes are; with any one set free it is no longer so. "
            "The rate is the mean of all cells with these values.",
            ("values", "believed mean rate", "failed there"),
            [
                (
                    show.shorten(one["words"], 200),
                    believed(one),
                    f"{show.count(one['failures'])} of {show.count(one['n'])}",
                )
                for one in result["sets"]
            ],
        ),
        Table(
            "What is known",
            "Intervals are for 95 %. Entropy is 0 if all failures lie in one cell, 1 if they are everywhere.",
            ("what", "value"),
            _known(result),
        ),
    ]
    if result.get("compared"):
        found.append(_compared(result["compared"]))
    if bias := (MapResult.of(run) or MapResult()).plain()["bias"]:
        found.append(_bias(bias))
    for title, key, note in (
        ("Worst cells", "worst", "Believed rates; n are the queries at random inputs in the cell itself."),
        ("Uncertain cells", "uncertain", "The widest intervals: where more queries would tell most."),
    ):
        rows = [
            (
                show.shorten(c["words"], 200),
                believed(c),
                f"{show.count(c['failures'])} of {show.count(c['n'])}",
            )
            for c in result[key]
        ]
        found.append(Table(title, note, ("cell", "rate", "failed"), rows))
    return [table for table in [*found, *_unjudged(run)] if table.rows]


def _known(result: dict[str, Any]) -> list[tuple[str, ...]]:
    coverage = result["coverage"]
    rows = [
        (
            "search",
            f"{result['search']}, {show.count(result['failures'])} failures in "
            f"{show.count(result['queries'])} queries",
        ),
        (
            "mean over all cells",
            f"{believed(result['whole'])}, from {show.count(result['whole']['n'])} queries at random inputs",
        ),
        ("cells asked", show.percent(coverage["asked"])),
        ("cells known to ± 5 points", show.percent(coverage["known"])),
        ("cells in modes", show.percent(coverage["above"])),
        ("chance that something clearly worse was missed", missed(result)),
        ("entropy of the failures", f"{result['entropy']:.3f}"),
    ]
    if result["note"]:
        rows.append(("note", result["note"]))
    return [tuple(row) for row in rows]


def _bias(bias: dict[str, Any]) -> Table:
    values = [show.shorten(str(value), 60) for value in bias["attribute"]]
    wanted = ", ".join(f"{v} {show.percent(w)}" for v, w in zip(values, bias["wanted"], strict=True))
    return Table(
        "Bias",
        f"How often each value is seen, all cells alike; wanted are {wanted}. The distance is the total "
        "variation from these shares: 0 if they are met, at most 1.",
        ("where", *values, "pictures", "distance"),
        [
            (
                show.shorten(row["where"], 200),
                *(show.percent(c / row["n"]) for c in row["counts"]),
                show.count(row["n"]),
                f"{show.percent(row['apart'])} {show.interval(row['low'], row['high'])}",
            )
            for row in bias["rows"]
        ],
    )


def compared_words(compared: Mapping[str, Any]) -> str:
    """Who was compared on what."""
    shown = show.plural(compared["inputs"], "input")
    if compared["paired"]:
        text = f"All three were shown the same {shown}, which no training saw, each once."
    else:
        text = f"Inputs cannot be chosen here: {shown} were drawn anew for each of the three."
    if compared["sees"]:
        return f"{text} Before it chooses, the agent sees {compared['sees']}."
    return f"{text} The agent sees nothing of an input: it can learn which cells fail, not for which input."


def _compared(compared: Mapping[str, Any]) -> Table:
    said = "won against both beyond chance" if compared["won"] else "did not win beyond chance"
    rates = {who: show.rate(Rate(**rate)) for who, rate in compared["rates"].items()}
    return Table(
        "Did the agent learn?",
        f"{compared['agent']} {said}. {compared_words(compared)}",
        ("who", "failures per query", "p-value of ‘no better’"),
        [
            (str(compared["agent"]), rates["trained"], ""),
            ("its untrained copy", rates["untrained"], f"{compared['p_untrained']:.2g}"),
            ("random cells", rates["random"], f"{compared['p_random']:.2g}"),
        ],
    )


def _unjudged(run: Run) -> list[Table]:
    """Why queries gave no verdict."""
    causes = unjudged(run)
    if not causes:
        return []
    rows = [(c.status, show.shorten(c.reason, 300), show.count(c.times)) for c in causes[:CAUSES]]
    if rest := sum(c.times for c in causes[CAUSES:]):
        rows.append(("", f"{show.count(len(causes) - CAUSES)} other causes", show.count(rest)))
    drawn = sum(tally.drawn for tally in run.ledger.tallies().values())
    none = sum(c.times for c in causes)
    note = (
        f"{show.count(none)} of {show.count(drawn)} queries count neither as failed nor as passed. "
        "What was said of them, without the names of inputs:"
    )
    return [Table("Without a verdict", note, ("what", "cause", "queries"), rows)]
