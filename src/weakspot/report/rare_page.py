"""The report of a run of `rare`: the rate and its interval, what the failures have in common, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from weakspot.report import format as show
from weakspot.report.evidence import Room, examples
from weakspot.report.page import PICTURES
from weakspot.report.people.tables import people
from weakspot.report.rare_figures import rare_figures, size
from weakspot.report.shell import ALONE, Part, Place
from weakspot.report.shell import part as shell_part
from weakspot.report.words import _code, _table, escape
from weakspot.store import Run

#: Pictures shown.
SHOWN: Final = 24
_SMALL: Final = 1e-3


class Table(NamedTuple):
    """A table of the report; `figure` names the one that stands above it."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    figure: str = ""


def summary(run: Run) -> dict[str, Any]:
    """Plain values under stable keys: what report.json holds and `--json` prints."""
    config, result = run.config, run.ledger.fact("result")
    tallies = run.ledger.tallies().values()
    return {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(run.folder),
        "state": run.state,
        "created": config.created,
        "conclusion": conclusion(run),
        "settings": {k: None if v is None else v for k, v in config.settings.items()},
        "text": _text(run),
        "result": result,
        "trials": {"drawn": sum(t.drawn for t in tallies), "errors": sum(t.errors for t in tallies)},
        "errors": [{"what": what, "times": times} for what, times in run.ledger.errors()],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in run.ledger.spend().items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }


def conclusion(run: Run) -> str:
    """The result in a few sentences."""
    result, settings = run.ledger.fact("result"), run.config.settings
    who = show.shorten(str(settings.get("target")), 80)
    what = f"‘{show.shorten(str(settings.get('label')), 60)}’"
    if settings.get("target_label"):
        what += f" as ‘{show.shorten(str(settings['target_label']), 60)}’"
    if result is None:
        return f"How often {who} misreads {what} is not known yet."
    rate, ends = size(result["rate"]), interval(result["low"], result["high"])
    if result["rate"] == 0:
        text = f"No failure was seen: {who} misreads {what} at most {size(result['high'])} of the time."
    elif result["method"] == "plain" and not result["repeats"]:
        text = f"{who} misreads {what} {rate} {ends} of the time."
    else:
        once = show.count(round(1 / result["rate"]))
        text = f"{who} misreads {what} about once in {once} pictures: {rate} {ends}."
    if result["common"]:
        first = result["common"][0]
        usual = f"{show.percent(first['usual'])} of all pictures"
        if not first["usual"]:
            usual = f"none of {show.count(result['independent']['n'])} drawn at random"
        text += (
            f" {show.percent(first['failing'])} of the failures, but {usual}: "
            f"{show.shorten(first['words'], 120)}"
        )
    return text


def interval(low: float, high: float) -> str:
    """An interval in the unit of `size`: of the high end."""
    if high < _SMALL:
        return f"[{1e6 * low:.3g}, {1e6 * high:.3g}]"
    return f"[{size(low)} to {size(high)}]" if low < _SMALL else show.interval(low, high)


def tables(run: Run) -> list[Table]:
    """The tables, as far as there is a result."""
    result = run.ledger.fact("result")
    if result is None:
        return []
    independent = result["independent"]
    figures = [
        ("rate", f"{size(result['rate'])} {interval(result['low'], result['high'])}"),
        (
            "by independent draws alone",
            f"at most {size(result['ceiling'])}; {independent['failures']:,} of {independent['n']:,} failed",
        ),
        ("method", result["method"] if not result["repeats"] else _splitting(result)),
        ("images", show.count(result["images"])),
    ]
    if result["note"]:
        figures.append(("note", result["note"]))
    found = [
        Table(
            "Result",
            "With a 95 % interval. Failures behind pictures that the model is very sure of can be missed by "
            "splitting; the bound by independent draws holds for them too.",
            ("what", "value"),
            [(name, show.shorten(value, 300)) for name, value in figures],
            "rate",
        )
    ]
    if result["common"]:
        found.append(
            Table(
                "What the failures have in common",
                "Said of the failing pictures more often than of others. Guesses from these very pictures; "
                "weakspot hunt tests such words.",
                ("words", "of the failures", "of all pictures"),
                [
                    (show.shorten(c["words"], 160), show.percent(c["failing"]), show.percent(c["usual"]))
                    for c in result["common"]
                ],
                "common",
            )
        )
    if result["answers"]:
        rows = [(show.shorten(a, 80) or "(nothing)", show.percent(share)) for a, share in result["answers"]]
        found.append(Table("Said instead", "Of the failures found.", ("answer", "share"), rows, "answers"))
    if result["examples"]:
        found.append(
            Table(
                "Failing pictures",
                f"Some of the {show.count(result['found'])} that were found.",
                ("caption", "answer", "trial"),
                [
                    (
                        show.shorten(e["caption"], 200) or "(no caption)",
                        show.shorten(e["answer"] or "", 60),
                        str(e["index"]),
                    )
                    for e in result["examples"]
                ],
            )
        )
    return found


def markdown(run: Run) -> str:
    """The report as Markdown."""
    blocks = [
        f"# rare · {escape(run.config.subject, 160)}",
        f"**{escape(conclusion(run), 1000)}**",
        f"Drawn from: {escape(_text(run), 300)}",
        f"{escape(run.state)} · begun {escape(show.date(run.config.created))} · {_code(str(run.folder))}",
    ]
    for table in tables(run):
        blocks += [f"## {table.title}", escape(table.note, 400), _table(table.head, table.rows)]
    return "\n\n".join(blocks) + "\n"


def part(run: Run, *, place: Place = ALONE) -> Part:
    """The part of a page."""
    result = run.ledger.fact("result")
    known = {h.id: h for h in run.ledger.hypotheses()}
    shown = []
    if result is not None and result["hypothesis"] in known:
        indices = [e["index"] for e in result["examples"] if e["blob"]]
        shown = examples(
            run, known[result["hypothesis"]], indices, most=SHOWN, room=Room(PICTURES // place.of)
        )
    return shell_part(
        "rare.html.j2",
        place=place,
        people=people(run),
        plots=[] if result is None else rare_figures(result),
        config=run.config,
        folder=str(run.folder),
        title=f"{run.config.settings.get('target', '')} · ‘{run.config.subject}’",
        text=_text(run),
        conclusion=conclusion(run),
        state=run.state.partition(":")[0],
        reason=run.state.partition(":")[2].strip(),
        resume=show.shell(["weakspot", "resume", str(run.folder)]),
        tables=[table for table in tables(run) if table.title != "Failing pictures" or not shown],
        shown=shown,
        settings=list(run.config.settings.items()),
    )


def _splitting(result: dict[str, Any]) -> str:
    agree = "which agree" if result["agree"] else "which disagree"
    return (
        f"splitting: {len(result['repeats'])} repeats over {len(result['ladder'])} levels, {agree}; the "
        f"failures of each descend from {result['roots']:.1f} first draws"
    )


def _text(run: Run) -> str:
    return next((h.text for h in run.baselines), "")
