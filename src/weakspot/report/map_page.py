"""The report of a map: the landscape in pictures, its modes in words, what is known of it and what is not."""

from __future__ import annotations

from typing import Any, Final

from weakspot.report import format as show
from weakspot.report.evidence import Room, examples
from weakspot.report.html import PICTURES
from weakspot.report.map_figures import map_figures
from weakspot.report.map_tables import believed, landscape_of, tables
from weakspot.report.markdown import code as _code
from weakspot.report.markdown import escape
from weakspot.report.markdown import table as _table
from weakspot.report.people.tables import people
from weakspot.report.shell import ALONE, Part, Place
from weakspot.report.shell import part as shell_part
from weakspot.store import Run, unjudged
from weakspot.studies.map.result import MapResult
from weakspot.study.preferences import Preferences

#: Pictures of one finding in the page.
SHOWN: Final = 6


def summary(run: Run) -> dict[str, Any]:
    """Plain values under stable keys: what report.json holds and `--json` prints."""
    config, tallies = run.config, run.ledger.tallies().values()
    known, minded = (MapResult.of(run) or MapResult()).plain(), Preferences.of(run)
    return {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(run.folder),
        "state": run.state,
        "created": config.created,
        "conclusion": conclusion(run),
        "settings": dict(config.settings),
        "result": known["landscape"],
        "landscape": known["every_cell"],
        "parts": known["parts"],
        "preferences": None if minded is None else minded.plain(),
        "bias": known["bias"],
        "findings": [finding.to_json() for finding in run.findings],
        "trials": {"drawn": sum(t.drawn for t in tallies), "errors": sum(t.errors for t in tallies)},
        "errors": [{"what": what, "times": times} for what, times in run.ledger.errors()],
        "unjudged": [row.to_json() for row in unjudged(run)],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in run.ledger.spend().items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }


def conclusion(run: Run) -> str:
    """The result in a few sentences."""
    result = landscape_of(run)
    who = show.shorten(str(run.config.settings.get("target")), 80)
    if result is None:
        reasons = unjudged(run)
        if reasons and not any(tally.n for tally in run.ledger.tallies().values()):
            times = sum(row.times for row in reasons)
            return f"None of {show.count(times)} answers of {who} could be judged: {reasons[0]}."
        return f"The landscape of {who} is not known yet."
    confirmed = [f for f in run.findings if f.confirmed]
    text = f"Over {show.count(result['cells'])} cells {who} fails {believed(result['whole'])} of the time"
    text += f" ({show.count(result['whole']['n'])} queries at random inputs)"
    if not result["modes"]:
        return f"{text}, and no cell is believed to fail {show.percent(result['above'])} of the time."
    first = result["modes"][0]
    text += (
        f"; most where {show.shorten(first['words'].rstrip('.'), 160)}: {believed(first)} in the worst cell"
    )
    text += f" ({show.count(first['failures'])} of {show.count(first['n'])} failed there)."
    if confirmed:
        text += f" {show.plural(len(confirmed), 'finding')} held on inputs that the search never saw."
    return text


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
    result = landscape_of(run)
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
        plots=[] if result is None else map_figures(MapResult.of(run) or MapResult()),
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
