"""The report of a hunt as HTML: every foreign word escaped and made visible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from weakspot.core import Finding, Hypothesis, Rate, Stage
from weakspot.report import format as show
from weakspot.report.chart import Axis, Bar, axis
from weakspot.report.evidence import Example, Room, examples
from weakspot.report.facts import Facts, RaceLane
from weakspot.report.figure import Figure
from weakspot.report.hunt_figures import figures as figures_of
from weakspot.report.measured import Base, Tried
from weakspot.report.people.tables import people
from weakspot.report.reproduce import Recipe, recipe, resume_command
from weakspot.report.shell import ALONE, Part, Place
from weakspot.report.shell import part as shell_part
from weakspot.report.telling import cases, changed, conclusion, figures, instead, misread, titled
from weakspot.store import Run

#: Examples per finding.
FAILING, PASSING = 12, 6
#: Findings with a card of their own; further ones get a row in a table.
CARDS: Final = 24
#: Rows of a table; further ones are only in report.json.
ROWS: Final = 400
#: Characters of pictures in the whole page.
PICTURES: Final = 3_200_000
#: Answers listed by name in a card.
ANSWERS: Final = 5

_STATES: Final = ("ahead", "open", "behind", "could not be drawn")


class Step(NamedTuple):
    """A step of a ladder: a finding, an edit of it, or the baseline."""

    kind: str
    words: str
    rate: Rate
    bar: Bar


class Card(NamedTuple):
    """A finding as the page shows it.

    Attributes:
        title: Its words, after its label where there are several.
        said: What was said instead, in short.
        passes: How many of its fresh draws passed.
        ladder: What it hangs on; [] where no edit was measured.
        ladder_scale: The axis of the ladder.
    """

    rank: int
    finding: Finding
    title: str
    cases: str
    misread: str
    said: str
    bar: Bar
    base: Bar
    answers: list[tuple[str, float]]
    failing: list[Example]
    passing: list[Example]
    passes: int
    ladder: list[Step]
    ladder_scale: Axis
    recipe: Recipe | None


class Row(NamedTuple):
    """A lane of the race as the page shows it.

    Attributes:
        base: Its baseline's bar.
        ranks: Of the findings it became.
        fresh: What fresh draws said of it, if it became none.
    """

    lane: RaceLane
    bar: Bar
    base: Bar | None
    ranks: list[int]
    fresh: str


class Doubt(NamedTuple):
    """One row of the table of the second opinion; `wrong` is the share of cases that are not valid."""

    words: str
    rate: Rate
    whole: Rate
    wrong: float


class Trial(NamedTuple):
    """A person's try as the page shows it."""

    tried: Tried
    title: str
    said: str
    failing: list[Example]
    passing: list[Example]


def part(run: Run, facts: Facts, *, place: Place = ALONE) -> Part:
    """A hunt's part of a page."""
    room = Room(PICTURES // place.of)
    scale = axis([r for f in facts.findings for r in (f.rate, f.baseline)])
    shown = enumerate(facts.confirmed[:CARDS], start=1)
    cards = [_card(run, facts, finding, rank, scale, room) for rank, finding in shown]
    race_scale = axis([lane.rate for lane in facts.lanes] + [base.rate for base in facts.bases])
    rows = _rows(facts, race_scale)
    return shell_part(
        "report.html.j2",
        place=place,
        title=_title(facts),
        plots=[*figures_of(run, facts), *_card_figures(cards)],
        facts=facts,
        config=facts.config,
        folder=str(facts.folder),
        people=people(run),
        conclusion=conclusion(facts),
        cases=cases(facts),
        figures=figures(facts),
        state=facts.state.partition(":")[0],
        reason=facts.state.partition(":")[2].strip(),
        resume=resume_command(facts),
        scale=scale,
        cards=cards,
        further=_named(facts, facts.confirmed[CARDS:][:ROWS]),
        candidates=_named(facts, facts.candidates[:ROWS]),
        base=_base(run, facts, room),
        race_scale=race_scale,
        bases=facts.bases[:ROWS] if facts.labels else (),
        doubts=_doubts(facts),
        tries=[_tried(run, facts, tried, room) for tried in facts.tries[:CARDS]],
        rows=rows[:ROWS],
        rows_left_out=max(0, len(rows) - ROWS),
        recipe=recipe(facts),
        errors=facts.errors[:50],
        errors_left_out=max(0, len(facts.errors) - 50),
        settings=list(facts.config.settings.items())[:ROWS],
    )


def _card_figures(cards: Sequence[Card]) -> list[Figure]:
    """The data of the pictures that cards hold; the template draws them."""
    columns = ("of", "rate", "low", "high", "failures", "n")
    found = []
    for card in cards:
        rates = (("with these words", card.finding.rate), ("baseline", card.finding.baseline))
        rows = [(name, r.value, r.low, r.high, r.failures, r.n) for name, r in rates]
        title = f"the failure rate of finding {card.rank}"
        found.append(Figure(f"finding-{card.rank}", title, columns, rows, Markup("")))
    return found


def _title(facts: Facts) -> str:
    subject = show.shorten(facts.config.subject, 80)
    subject = subject if facts.labels else f"‘{subject}’"
    target = show.shorten(facts.setting("target"), 120)
    return f"{target} · {subject}" if target else subject


def _named(facts: Facts, findings: Sequence[Finding]) -> list[tuple[str, str, Finding]]:
    return [(titled(facts, f), instead(f), f) for f in findings]


def _card(run: Run, facts: Facts, finding: Finding, rank: int, scale: Axis, room: Room) -> Card:
    named = [(show.shorten(a, 60) or "(nothing)", share) for a, share in finding.confusions[:ANSWERS]]
    rest = sum(share for _, share in finding.confusions[ANSWERS:])
    fresh = run.ledger.tally(finding.hypothesis, Stage.CONFIRM)
    ladder, ladder_scale = _ladder(facts, finding)
    return Card(
        rank=rank,
        finding=finding,
        title=titled(facts, finding),
        cases=cases(facts, finding),
        misread=misread(facts, finding),
        said=instead(finding),
        bar=scale.bar(finding.rate),
        base=scale.bar(finding.baseline),
        answers=[*named, ("other answers", rest)] if rest > 0 else named,
        failing=examples(run, finding.hypothesis, finding.failing, most=FAILING, room=room),
        passing=examples(run, finding.hypothesis, finding.passing, most=PASSING, room=room),
        passes=fresh.n - fresh.failures,
        ladder=ladder,
        ladder_scale=ladder_scale,
        recipe=recipe(facts, finding),
    )


def _ladder(facts: Facts, finding: Finding) -> tuple[list[Step], Axis]:
    rungs = facts.rungs(finding)
    rows = [
        ("as found", finding.phrase, finding.rate),
        *((*changed(rung), rung.rate) for rung in rungs),
        ("baseline", "without these words", finding.baseline),
    ]
    scale = axis([rate for _, _, rate in rows])
    return ([Step(*row, scale.bar(row[2])) for row in rows] if rungs else []), scale


def _doubts(facts: Facts) -> list[Doubt]:
    """Rates with and without the second opinion: the baselines', then the findings'."""
    if facts.invalid is None:
        return []
    words = ("baseline of {}" if facts.labels else "baseline").format
    rows: list[tuple[str, Rate, Rate]] = [(words(b.label), b.rate, b.unchecked) for b in facts.bases[:ROWS]]
    rows += [(titled(facts, f), f.rate, f.unchecked or f.rate) for f in facts.findings[:ROWS]]
    return [Doubt(*row, 1 - row[1].n / row[2].n if row[2].n else 0.0) for row in rows]


def _tried(run: Run, facts: Facts, tried: Tried, room: Room) -> Trial:
    answer = tried.answers[0] if tried.answers else None
    return Trial(
        tried=tried,
        title=f"{show.shorten(tried.label, 60)}: {tried.phrase}" if facts.labels else tried.phrase,
        said=f"{show.shorten(answer[0], 60) or '(nothing)'} {show.percent(answer[1])}" if answer else "",
        failing=examples(run, tried.hypothesis, tried.failing, most=PASSING, room=room),
        passing=examples(run, tried.hypothesis, tried.passing, most=PASSING // 2, room=room),
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
        "tally": facts.bases[0].tally,
        "failing": examples(run, facts.base, kept(facts.base, failed=True), most=FAILING, room=room),
        "passing": examples(run, facts.base, kept(facts.base, failed=False), most=PASSING, room=room),
    }


def _rows(facts: Facts, scale: Axis) -> list[Row]:
    ranks: dict[str, list[int]] = {}
    for rank, finding in enumerate(facts.confirmed[:CARDS], start=1):
        ranks.setdefault(finding.hypothesis.id, []).append(rank)
    fresh = {f.hypothesis.id: "confirmed" if f.confirmed else "not confirmed" for f in facts.findings[::-1]}
    usual: dict[str, Base] = {base.label: base for base in facts.bases}
    only = facts.bases[0] if len(facts.bases) == 1 else None
    order = {state: place for place, state in enumerate(_STATES)}
    lanes = sorted(facts.lanes, key=lambda lane: (order.get(lane.state, 1), -lane.rate.value, lane.text))
    untested = "not tested" if facts.findings else ""
    rows = []
    for lane in lanes:
        base = usual.get(lane.label, only)
        rows.append(
            Row(
                lane,
                scale.bar(lane.rate),
                scale.bar(base.rate) if base is not None and base.tally.n else None,
                ranks.get(lane.id, []),
                fresh.get(lane.id, untested if lane.state == "ahead" else ""),
            )
        )
    return rows
