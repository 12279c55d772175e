"""The report of a map: the landscape in pictures, its modes in words, what is known of it and what is not."""

from __future__ import annotations

from typing import Any, Final

from weakspot.report import format as show
from weakspot.report.evidence import Room, examples
from weakspot.report.map_figures import map_figures
from weakspot.report.page import PICTURES
from weakspot.report.people import people
from weakspot.report.rare_page import Table
from weakspot.report.shell import ALONE, Part, Place
from weakspot.report.shell import part as shell_part
from weakspot.report.words import _code, _table, escape
from weakspot.store import Run

#: Pictures of one finding in the page.
SHOWN: Final = 6


def summary(run: Run) -> dict[str, Any]:
    """Plain values under stable keys: what report.json holds and `--json` prints."""
    config, tallies = run.config, run.ledger.tallies().values()
    return {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(run.folder),
        "state": run.state,
        "created": config.created,
        "conclusion": conclusion(run),
        "settings": dict(config.settings),
        "result": run.ledger.fact("map"),
        "landscape": run.ledger.fact("landscape"),
        "parts": run.ledger.fact("parts", {}),
        "preferences": run.ledger.fact("preferences"),
        "bias": run.ledger.fact("bias"),
        "findings": [finding.to_json() for finding in run.findings],
        "trials": {"drawn": sum(t.drawn for t in tallies), "errors": sum(t.errors for t in tallies)},
        "errors": [{"what": what, "times": times} for what, times in run.ledger.errors()],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in run.ledger.spend().items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }


def conclusion(run: Run) -> str:
    """The result in a few sentences."""
    result = run.ledger.fact("map")
    who = show.shorten(str(run.config.settings.get("target")), 80)
    if result is None:
        return f"The landscape of {who} is not known yet."
    confirmed = [f for f in run.findings if f.confirmed]
    mean = show.percent(result["rate"])
    text = f"Over {show.count(result['cells'])} cells {who} fails {mean} of the time"
    if not result["modes"]:
        return f"{text}, and no cell is believed to fail {show.percent(result['above'])} of the time."
    first = result["modes"][0]
    text += f"; most where {show.shorten(first['words'], 160)}: {show.percent(first['rate'])} "
    text += f"{show.interval(first['low'], first['high'])} at its peak."
    if confirmed:
        text += f" {show.plural(len(confirmed), 'finding')} held on inputs that the search never saw."
    return text


def tables(run: Run) -> list[Table]:
    """The tables, as far as there is a result."""
    result = run.ledger.fact("map")
    if result is None:
        return []
    preferences = run.ledger.fact("preferences") or {}
    chosen = set(preferences.get("chosen", []))
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
            ("mode", "where", "peak", "rate at the peak", "cells"),
            [
                (
                    f"{i}{' ★' if i in chosen else ''}",
                    show.shorten(mode["words"], 200),
                    show.shorten(mode["peak_words"], 200),
                    f"{show.percent(mode['rate'])} {show.interval(mode['low'], mode['high'])}",
                    show.count(mode["cells"]),
                )
                for i, mode in enumerate(result["modes"], start=1)
            ],
        ),
        Table(
            "Minimal failing sets",
            "Values that are enough, whatever the other axes are; with any one set free it is no longer so.",
            ("values", "mean rate"),
            [(show.shorten(one["words"], 200), show.percent(one["rate"])) for one in result["sets"]],
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
    if bias := run.ledger.fact("bias"):
        found.append(_bias(bias))
    for title, key, note in (
        ("Worst cells", "worst", "Believed rates; n are the queries at random inputs in the cell itself."),
        ("Uncertain cells", "uncertain", "The widest intervals: where more queries would tell most."),
    ):
        rows = [
            (
                show.shorten(c["words"], 200),
                f"{show.percent(c['rate'])} {show.interval(c['low'], c['high'])}",
                f"{show.count(c['failures'])} of {show.count(c['n'])}",
            )
            for c in result[key]
        ]
        found.append(Table(title, note, ("cell", "rate", "failed"), rows))
    return [table for table in found if table.rows]


def _known(result: dict[str, Any]) -> list[tuple[str, ...]]:
    coverage = result["coverage"]
    rows = [
        (
            "search",
            f"{result['search']}, {show.count(result['failures'])} failures in "
            f"{show.count(result['queries'])} queries",
        ),
        ("cells asked", show.percent(coverage["asked"])),
        ("cells known to ± 5 points", show.percent(coverage["known"])),
        ("cells in modes", show.percent(coverage["above"])),
        ("chance that something clearly worse was missed", show.percent(result["missed"])),
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


def _compared(compared: dict[str, Any]) -> Table:
    said = "won against both beyond chance" if compared["won"] else "did not win beyond chance"
    return Table(
        "Did the agent learn?",
        f"{compared['agent']} {said}. Each had {show.count(compared['queries'])} queries on the same inputs, "
        "which no training saw.",
        ("who", "failures per query", "p-value of ‘no better’"),
        [
            (str(compared["agent"]), show.percent(compared["trained"]), ""),
            ("its untrained copy", show.percent(compared["untrained"]), f"{compared['p_untrained']:.2g}"),
            ("random cells", show.percent(compared["random"]), f"{compared['p_random']:.2g}"),
        ],
    )


def markdown(run: Run) -> str:
    """The report as Markdown."""
    blocks = [
        f"# map · {escape(run.config.subject, 160)}",
        f"**{escape(conclusion(run), 1000)}**",
        f"{escape(run.state)} · begun {escape(show.date(run.config.created))} · {_code(str(run.folder))}",
    ]
    for table in tables(run):
        blocks += [f"## {table.title}", escape(table.note, 400), _table(table.head, table.rows)]
    return "\n\n".join(blocks) + "\n"


def part(run: Run, *, place: Place = ALONE) -> Part:
    """The part of a page."""
    result = run.ledger.fact("map")
    room = Room(PICTURES // place.of)
    shown = [
        (f.phrase, examples(run, f.hypothesis, f.failing, most=SHOWN, room=room))
        for f in run.findings
        if f.failing
    ]
    return shell_part(
        "map.html.j2",
        place=place,
        people=people(run),
        plots=[] if result is None else map_figures(run, result),
        config=run.config,
        folder=str(run.folder),
        title=f"{run.config.settings.get('target', '')} · {run.config.subject}",
        conclusion=conclusion(run),
        state=run.state.partition(":")[0],
        reason=run.state.partition(":")[2].strip(),
        resume=show.shell(["weakspot", "resume", str(run.folder)]),
        tables=tables(run),
        shown=[(phrase, some) for phrase, some in shown if some],
        settings=[(k, v) for k, v in run.config.settings.items() if k != "concepts"],
    )
