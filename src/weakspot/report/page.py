"""The report as one HTML file: no network, no scripts, every foreign word escaped and made visible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from weakspot.core import Finding, Hypothesis
from weakspot.report import format as show
from weakspot.report.chart import Axis, Bar, axis
from weakspot.report.evidence import Example, Room, examples
from weakspot.report.facts import Facts, RaceLane
from weakspot.report.reproduce import Recipe, recipe, resume_command
from weakspot.report.telling import cases, conclusion, figures, misread
from weakspot.store import Run

#: Examples per finding.
FAILING, PASSING = 12, 6
#: Findings with a card of their own; further ones get a row in a table.
CARDS: Final = 24
#: Rows of a table; further ones are only in report.json.
ROWS: Final = 400
#: Characters of pictures in the whole page.
PICTURES: Final = 3_200_000
#: Characters of one piece of text, wherever it comes from.
TEXT: Final = 4_000
#: Answers listed by name in a card.
ANSWERS: Final = 5

_STATES: Final = ("ahead", "open", "behind", "could not be drawn")


class Card(NamedTuple):
    """A finding as the page shows it."""

    rank: int
    finding: Finding
    bar: Bar
    base: Bar
    answers: list[tuple[str, float]]
    failing: list[Example]
    passing: list[Example]
    recipe: Recipe | None


class Row(NamedTuple):
    """A lane of the race as the page shows it; `rank` of the finding it became, 0 if it did not."""

    lane: RaceLane
    bar: Bar
    rank: int
    fresh: str


def html(run: Run, facts: Facts) -> str:
    """The page."""
    room = Room(PICTURES)
    scale = axis([r for f in facts.findings for r in (f.rate, f.baseline)])
    shown = enumerate(facts.confirmed[:CARDS], start=1)
    cards = [_card(run, facts, finding, rank, scale, room) for rank, finding in shown]
    race_scale = axis([lane.rate for lane in facts.lanes] + ([facts.baseline] if facts.baseline else []))
    rows = _rows(facts, race_scale)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            facts=facts,
            config=facts.config,
            folder=str(facts.folder),
            title=_title(facts),
            conclusion=conclusion(facts),
            cases=cases(facts),
            misread=misread(facts),
            figures=figures(facts),
            state=facts.state.partition(":")[0],
            reason=facts.state.partition(":")[2].strip(),
            resume=resume_command(facts),
            scale=scale,
            cards=cards,
            further=facts.confirmed[CARDS:][:ROWS],
            candidates=facts.candidates[:ROWS],
            base=_base(run, facts, room),
            race_scale=race_scale,
            race_base=race_scale.bar(facts.baseline) if facts.baseline else None,
            rows=rows[:ROWS],
            rows_left_out=max(0, len(rows) - ROWS),
            recipe=recipe(facts),
            errors=facts.errors[:50],
            errors_left_out=max(0, len(facts.errors) - 50),
            settings=list(facts.config.settings.items())[:ROWS],
        )
    )


def _title(facts: Facts) -> str:
    subject = f"‘{show.shorten(facts.config.subject, 80)}’"
    target = show.shorten(facts.setting("target"), 120)
    return f"{target} · {subject}" if target else subject


def _card(run: Run, facts: Facts, finding: Finding, rank: int, scale: Axis, room: Room) -> Card:
    named = [(show.shorten(a, 60) or "(nothing)", share) for a, share in finding.confusions[:ANSWERS]]
    rest = sum(share for _, share in finding.confusions[ANSWERS:])
    return Card(
        rank=rank,
        finding=finding,
        bar=scale.bar(finding.rate),
        base=scale.bar(finding.baseline),
        answers=[*named, ("other answers", rest)] if rest > 0 else named,
        failing=examples(run, finding.hypothesis, finding.failing, most=FAILING, room=room),
        passing=examples(run, finding.hypothesis, finding.passing, most=PASSING, room=room),
        recipe=recipe(facts, finding),
    )


def _base(run: Run, facts: Facts, room: Room) -> dict[str, Any] | None:
    if facts.base is None or facts.baseline is None:
        return None

    def kept(hypothesis: Hypothesis, *, failed: bool) -> Sequence[int]:
        trials = run.ledger.trials(hypothesis, failed=failed, kept=True, limit=24)
        return [t.index for t in trials]

    return {
        "text": facts.base.text,
        "id": facts.base.id,
        "rate": facts.baseline,
        "failing": examples(run, facts.base, kept(facts.base, failed=True), most=FAILING, room=room),
        "passing": examples(run, facts.base, kept(facts.base, failed=False), most=PASSING, room=room),
    }


def _rows(facts: Facts, scale: Axis) -> list[Row]:
    ranks = {f.hypothesis.id: rank for rank, f in enumerate(facts.confirmed[:CARDS], start=1)}
    fresh = {f.hypothesis.id: "confirmed" if f.confirmed else "not confirmed" for f in facts.findings}
    order = {state: place for place, state in enumerate(_STATES)}
    lanes = sorted(facts.lanes, key=lambda lane: (order.get(lane.state, 1), -lane.rate.value, lane.text))
    untested = "not tested" if facts.findings else ""
    return [
        Row(
            lane,
            scale.bar(lane.rate),
            ranks.get(lane.id, 0),
            fresh.get(lane.id, untested if lane.state == "ahead" else ""),
        )
        for lane in lanes
    ]


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("weakspot.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters.update(
        percent=show.percent,
        level=show.level,
        times=show.times,
        count=show.count,
        e_value=show.e_value,
        date=show.date,
        shorten=show.shorten,
        bound=_bound,
        picture=_picture,
    )
    environment.globals.update(interval=show.interval, plural=show.plural)
    return environment


def _shown(value: Any) -> Any:
    """Whatever a template prints passes here, so no text reaches the page uncleaned or at full length."""
    if isinstance(value, Markup) or not isinstance(value, str | Path):
        return value
    return show.shorten(str(value), TEXT)


def _bound(text: str) -> str:
    """Keep numbers and their units on one line."""
    return text.replace(" %", "\u00a0%")


def _picture(uri: str) -> Markup:
    """A data URI, which is longer than any text may be; made by us, of characters that need no escape."""
    head, _, body = uri.partition(";base64,")
    if head not in ("data:image/png", "data:image/jpeg") or not set(body) <= _BASE64:
        raise ValueError("this is no picture of ours")
    return Markup(uri)  # noqa: S704 - checked above


_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
