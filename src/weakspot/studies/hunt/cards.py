"""What the page of a hunt draws: findings ranked and on cards, people's tries, and the race."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from weakspot.core import SOURCES, Finding, Hypothesis, Rate, Stage
from weakspot.report import format as show
from weakspot.report.document import Allowance, Html, examples
from weakspot.report.markdown import bullets, code, escape, table
from weakspot.report.plots import Axis, Bar, axis
from weakspot.report.ranking import Ranked, Ranking, failing, reading
from weakspot.studies.hunt.kinds import likewise
from weakspot.studies.hunt.listing import Edit, Listing, cases, impact_of, misread, titled
from weakspot.text import clauses

#: Examples of a card.
FAILING, PASSING = 6, 3
#: Cards that are open at once; the others open by a click.
OPEN: Final = 3
#: Findings with a card of their own; further ones get a row in a table.
CARDS: Final = 24
#: Answers listed by name in a card.
ANSWERS: Final = 5
#: Other words for a finding that are listed.
FORMS: Final = 8
#: What an edit did, for people.
KINDS: Final = {"negate": "denied", "drop": "left out", "plain": "plainer", "rewrite": "reworded"}
#: Cases drawn again at most, and the longest text that is repeated for it.
_CASES, _LONGEST = 100, 2_000
_STATES: Final = ("ahead", "open", "behind", "could not be drawn")
_HOME: Final = "weakspot.studies.hunt"


class Step(NamedTuple):
    """A row of what a finding depends on: itself, an edit of it, or the baseline."""

    kind: str
    words: str
    rate: Rate
    bar: Bar


# -- findings --------------------------------------------------------------------------------------------


def findings(hunt: Listing, allowance: Allowance, *, again: str) -> Html:
    """The confirmed findings, ranked, then the card of each."""
    shown = list(enumerate(hunt.confirmed[:CARDS], start=1))
    ranked = ranking(hunt, [finding for _, finding in shown], allowance)
    cards = [_card(hunt, finding, rank, allowance) for rank, finding in shown]
    values = {"cards": cards, "again": again, "open": OPEN, **ranked.values()}
    texts = [
        ranked.markdown(),
        only(hunt.confirmed),
        *(text for card in cards for text in _in_markdown(card)),
    ]
    markdown = "\n\n".join(filter(None, texts))
    return Html(f"{_HOME}:findings.html.j2", values, markdown, [ranked.figure()])


def ranking(hunt: Listing, some: Sequence[Finding], allowance: Allowance | None = None) -> Ranking:
    """Findings in their order; with three inputs that fail, as far as they may still be shown."""
    rows = []
    for rank, f in enumerate(some, start=1):
        label = hunt.label_of(f) or hunt.setting("label")
        fails = (
            () if allowance is None else failing(hunt.run, f.hypothesis, f.failing, allowance, should=label)
        )
        words = likewise(hunt, f) or (clauses.title(hunt.adds(f)) if f.under else titled(hunt, f))
        rows.append(
            Ranked(
                hunt.place(f) or str(rank), words, f.rate, f.baseline, fails,
                link=f"finding-{rank}", more=(_arrow(f),),
                under="worse" if f.under else "or" if f.beside else "",
            )
        )  # fmt: skip
    where = "when" if all(clauses.clause(f.phrase) for f in some) and not hunt.labels else "where"
    return Ranking(rows=rows, where=where, further=("said instead",), several=bool(hunt.labels))


def _arrow(finding: Finding) -> str:
    said = instead(finding)
    return f"→ {said}" if said else ""


def head(hunt: Listing) -> tuple[str, ...]:
    """Findings as rows of a table."""
    of = "fresh draws" if hunt.result.collection is None else "photographs"
    return ("#", "words", "rate", of, "× usual", "of all failures", "said instead", "e-value")


def summed_up(hunt: Listing, some: Sequence[Finding], *, start: int = 1) -> list[tuple[str, ...]]:
    """A row for each finding."""
    return [
        (
            hunt.place(f) or str(rank),
            titled(hunt, f),
            reading(f.rate),
            show.count(f.rate.n),
            show.times(f.lift) if f.rate.n else show.NONE,
            show.NONE if f.impact is None else show.percent(f.impact.value),
            instead(f),
            show.e_value(f.log_evidence),
        )
        for rank, f in enumerate(some, start=start)
    ]


def only(some: Sequence[Finding]) -> str:
    """How to read findings that are about one wrong answer; "" where there are none."""
    text = "“Only” means that both rates, this one and the baseline, count just this wrong answer."
    return text if any(f.answer for f in some) else ""


def _card(hunt: Listing, finding: Finding, rank: int, allowance: Allowance) -> dict[str, Any]:
    """What its template shows: `passes` of its fresh draws passed, `steps` say what it depends on."""
    named = [(show.shorten(a, 60) or "(nothing)", share) for a, share in finding.confusions[:ANSWERS]]
    rest = sum(share for _, share in finding.confusions[ANSWERS:])
    fresh = hunt.run.ledger.tally(finding.hypothesis, Stage.CONFIRM)
    edits = hunt.edits(finding)
    rows = [
        ("as found", clauses.title(finding.phrase), finding.rate),
        *((*changed(edit), edit.rate) for edit in edits),
        ("baseline", "without these words", finding.baseline),
    ]
    steps_scale = axis([rate for _, _, rate in rows])
    shown = partial(examples, hunt.run, finding.hypothesis, allowance=allowance)
    label = hunt.label_of(finding) or hunt.setting("label")
    return {
        "rank": rank,
        "place": hunt.place(finding),
        "finding": finding,
        "title": heading(hunt, finding),
        "impact": impact_of(finding),
        "forms": forms_of(finding),
        "cases": f"{'' if hunt.result.collection is not None else 'fresh '}{cases(hunt, finding)}",
        "misread": misread(hunt, finding),
        "said": instead(finding),
        "answers": [*named, ("other answers", rest)] if rest > 0 else named,
        "failing": shown(finding.failing, most=FAILING),
        "passing": shown(finding.passing, most=PASSING),
        "passes": fresh.n - fresh.failures,
        "steps": [Step(*row, steps_scale.bar(row[2])) for row in rows] if edits else [],
        "steps_scale": steps_scale,
        "redraw": redraw(hunt, finding.hypothesis, finding.failing, label),
    }


def forms_of(finding: Finding) -> str:
    """The other words for about the same inputs; "" where there are none."""
    if not finding.forms:
        return ""
    more = f" and {len(finding.forms) - FORMS} more" if len(finding.forms) > FORMS else ""
    return f"also said as: {', '.join(finding.forms[:FORMS])}{more}"


def heading(hunt: Listing, finding: Finding) -> str:
    """The words of a finding as a heading: "When it is on a flower"."""
    label, words = hunt.label_of(finding), clauses.title(finding.phrase)
    words = f"when {words}" if clauses.clause(finding.phrase) else words
    return f"{show.shorten(label, 60)}: {words}" if label else f"{words[:1].upper()}{words[1:]}"


def _in_markdown(card: dict[str, Any]) -> Iterable[str]:
    finding: Finding = card["finding"]
    said = ", ".join(answered(*pair) for pair in finding.confusions[:ANSWERS])
    whole = finding.unchecked
    lines = (
        escape(f"{show.rate(finding.rate)} {card['cases']} {card['misread']}"),
        f"without the second opinion {escape(show.rate(whole))}" if whole is not None else "",
        f"{show.times(finding.lift)} the baseline, {escape(show.rate(finding.baseline))}",
        escape(card["impact"]),
        escape(card["forms"]),
        f"said instead: {escape(said)}" if said else "",
        f"hypothesis {code(finding.hypothesis.id)}: {escape(finding.hypothesis.text)}",
        f"failing cases: {', '.join(map(str, finding.failing[:24]))}" if finding.failing else "",
    )
    level = "####" if finding.under or finding.beside else "###"
    yield f"{level} {card['place']}. {escape(card['title'], 240)}"
    yield bullets(filter(None, lines))
    if card["steps"]:
        rows = [(s.kind, s.words, reading(s.rate), show.count(s.rate.n)) for s in card["steps"]]
        yield "What it depends on:"
        yield table(("edit", "words", "rate", "of"), rows)


def redraw(hunt: Listing, hypothesis: Hypothesis, indices: Sequence[int], label: str) -> str:
    """Python that draws cases again; "" if the text is too long to repeat or the source has no name."""
    source = hunt.setting("source")
    if not source or source.startswith("object:") or len(hypothesis.text) > _LONGEST or not indices:
        return ""
    shows = f", label={show.literal(label)}" if SOURCES.takes(source, "label") else ""
    words = show.literal(hypothesis.text) + (f", {hypothesis.concepts!a}" if hypothesis.concepts else "")
    return (
        "from weakspot.core import SOURCES, Hypothesis\n"
        f"source = SOURCES.load({show.literal(source)}{shows})\n"
        f"cases = source.draw(Hypothesis({words}), {list(indices[:_CASES])}, "
        f"seed={show.literal(hunt.settings.get('seed', 0))})"
    )


# -- a finding in words ------------------------------------------------------------------------------


def instead(finding: Finding) -> str:
    """What was said instead: "bee 98 %", or "bee only" where the finding is about this answer alone."""
    if finding.answer:
        return f"{show.shorten(finding.answer, 60)} only"
    return answered(*finding.confusions[0]) if finding.confusions else ""


def answered(answer: str, share: float) -> str:
    """An answer and its share of the failures."""
    return f"{show.shorten(answer, 60) or '(nothing)'} {show.percent(share)}"


def changed(edit: Edit) -> tuple[str, str]:
    """What an edit did, and to which words: ("colour", "yellow → blue")."""
    kind = KINDS.get(edit.kind, edit.kind)
    before, after = (show.shorten(words, 160) for words in (edit.before, edit.after))
    if not after:
        return kind, f"without “{before}”"
    if edit.kind in ("negate", "plain", "rewrite"):
        return kind, clauses.title(after)
    return kind, f"{before} → {after}"


# -- people's tries --------------------------------------------------------------------------------------


def tries(hunt: Listing, allowance: Allowance, *, listed: int) -> Html:
    """What people tried, each with examples."""
    cards, rows = [], []
    for place, one in enumerate(hunt.tries):
        title = f"{show.shorten(one.label, 60)}: {one.phrase}" if hunt.labels else one.phrase
        said = answered(*one.answers[0]) if one.answers else ""
        shown = partial(examples, hunt.run, one.hypothesis, allowance=allowance)
        if place < listed:
            counts = (reading(one.rate), show.count(one.rate.n), show.times(one.lift))
            rows.append((title, *counts, one.verdict, said))
        if place < CARDS:
            failing, passing = shown(one.failing, most=PASSING), shown(one.passing, most=PASSING // 2)
            cards.append({"tried": one, "title": title, "said": said, "failing": failing, "passing": passing})
    head = ("words", "rate", "of", "× usual", "verdict", "said instead")
    more = max(0, len(hunt.tries) - CARDS)
    return Html(f"{_HOME}:tries.html.j2", {"cards": cards, "more": more}, table(head, rows))


# -- the race --------------------------------------------------------------------------------------------


def race(hunt: Listing, *, most: int, listed: int) -> Html:
    """The race with a bar for each hypothesis: `most` rows on the page, `listed` in Markdown."""
    scale = axis([racer.rate for racer in hunt.race] + [base.rate for base in hunt.bases])
    rows = _race_rows(hunt, scale)
    texts = [
        (
            f"{racer.label}: {racer.phrase}" if hunt.labels else racer.phrase,
            racer.state,
            reading(racer.rate),
            show.count(racer.failures),
            show.count(racer.n),
            show.count(racer.errors),
        )
        for racer in sorted(hunt.race, key=lambda racer: (-racer.rate.value, racer.text))[:listed]
    ]
    values = {
        "rows": rows[:most],
        "total": len(rows),
        "more": max(0, len(rows) - most),
        "scale": scale,
        "several": bool(hunt.labels),
    }
    left_out = f"{show.count(len(rows) - listed)} more are in report.json." if len(rows) > listed else ""
    text = table(("words", "state", "rate", "failed", "of", "errors"), texts)
    return Html(f"{_HOME}:race.html.j2", values, "\n\n".join(filter(None, (text, left_out))))


def _race_rows(hunt: Listing, scale: Axis) -> list[dict[str, Any]]:
    """Each with its baseline's bar, and the findings it became or what fresh draws said of it otherwise."""
    ranks: dict[str, list[tuple[int, str]]] = {}
    for rank, finding in enumerate(hunt.confirmed[:CARDS], start=1):
        ranks.setdefault(finding.hypothesis.id, []).append((rank, hunt.place(finding)))
    fresh = {f.hypothesis.id: "confirmed" if f.confirmed else "not confirmed" for f in hunt.findings[::-1]}
    usual = {base.label: base for base in hunt.bases}
    only_one = hunt.bases[0] if len(hunt.bases) == 1 else None
    order = {state: place for place, state in enumerate(_STATES)}
    racers = sorted(hunt.race, key=lambda racer: (order.get(racer.state, 1), -racer.rate.value, racer.text))
    untested = "not tested" if hunt.findings else ""
    rows = []
    for racer in racers:
        base = usual.get(racer.label, only_one)
        rows.append(
            {
                "racer": racer,
                "bar": scale.bar(racer.rate),
                "base": scale.bar(base.rate) if base is not None and base.tally.n else None,
                "ranks": ranks.get(racer.id, []),
                "fresh": fresh.get(racer.id, untested if racer.state == "ahead" else ""),
            }
        )
    return rows
