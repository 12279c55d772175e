"""How the weak spots of a table are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from weakspot.report import format as show
from weakspot.report.document import Allowance, Document, Html, Section, Table, Text, Tile, pairs, picture
from weakspot.report.markdown import bullets, escape
from weakspot.report.ranking import FAILING, Failing, Ranked, Ranking
from weakspot.store import Run
from weakspot.studies.table.result import TableResult, WeakSpot

#: Answers are drawn where one of them makes up so much of the failures.
ANSWERED: Final = 0.1
#: Cards that are open at once; the others open by a click.
OPEN: Final = 3


class TableDocument(Document):
    """See `Document`."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.result = TableResult.of(run)

    @property
    def title(self) -> str:
        return show.shorten(self.result.origin if self.result else self.run.config.subject, 120)

    @property
    def conclusion(self) -> str:
        result = self.result
        if result is None:
            return "The table has not been read to its end yet."
        usual = f"{show.percent(result.usual.value)} of {show.plural(result.rows, 'row')} fail"
        if not result.failures:
            return f"No row fails: {show.count(result.rows)} were read."
        if not result.spots:
            return f"{usual}, and nothing that can be said about a row was shown to make it fail more often."
        first = result.spots[0]
        text = (
            f"{usual}. They fail most where {joined(first)}: {show.percent(first.rate.value)} of such rows, "
        )
        text += f"against {show.percent(first.elsewhere.value)} elsewhere."
        if len(result.spots) > 1:
            more = len(result.spots) - 1
            text += f" {show.plural(more, 'more weak spot')} {'was' if more == 1 else 'were'} confirmed."
        return text

    def tiles(self) -> Sequence[Tile]:
        result = self.result
        if result is None:
            return ()
        usual = f"{show.percent(result.usual.value)} {show.interval(result.usual.low, result.usual.high)}"
        found = [
            Tile("rows", show.count(result.rows), f"{show.count(result.left_out)} left out"),
            Tile("failures", show.count(result.failures), usual),
            Tile(
                "weak spots", show.count(len(result.spots)), f"of {show.count(result.concepts)} things to say"
            ),
        ]
        if result.label is not None:
            share, low, high = result.label
            note = f"of the failures {show.interval(low, high)}: the answer is acceptable too"
            found.append(Tile("probably the label", show.percent(share), note))
        return found

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        result = self.result
        if result is None:
            return
        yield self._spots(result, allowance)
        yield Section("What was looked at and not found", [Text(not_found(result))])
        yield Section(
            "How it was measured",
            [Text(_METHOD_SAMPLED if result.sampled else _METHOD), pairs(measured(result))],
        )
        if result.reasons:
            rows = [(str(line), reason) for line, reason in result.reasons]
            left = Table("", "", ("line", "why"), rows, result.left_out - len(rows))
            yield Section("Rows that were left out", [left])

    def _spots(self, result: TableResult, allowance: Allowance) -> Section:
        if not result.spots:
            return Section("Weak spots", [Text("None was confirmed.", empty=True)])
        ranked = ranking(self.run, result, allowance)
        cards = [
            {
                "rank": rank,
                "title": f"{joined(spot)[:1].upper()}{joined(spot)[1:]}",
                "spot": spot,
                "lift": spot.rate.value / spot.elsewhere.value if spot.elsewhere.value else float("inf"),
                "lines": list(said_of(spot, sampled=bool(result.sampled))),
                "answers": spot.answers if any(ANSWERED <= share < 1 for _, share in spot.answers) else (),
                "examples": [
                    one.plain() | {"uri": picture(self.run, one.picture, allowance) if one.picture else ""}
                    for one in spot.examples
                ],
            }
            for rank, spot in enumerate(result.spots, 1)
        ]
        texts = [ranked.markdown()]
        for rank, spot in enumerate(result.spots, 1):
            texts.append(f"### {rank}. {escape(joined(spot))}")
            said = [*said_of(spot, sampled=bool(result.sampled)), *examples_of(spot)]
            texts.append(bullets(escape(line) for line in said))
        values = {"cards": cards, "open": OPEN, **ranked.values()}
        template = "weakspot.studies.table:spots.html.j2"
        block = Html(template, values, "\n\n".join(texts), [ranked.figure()])
        note = (
            "Kinds of rows that fail more often than the others. First come those that matter most: many "
            "failures, and a rate far above the usual. The rows of each rate had no part in suggesting it."
        )
        return Section("Weak spots", [block], note)

    def values(self) -> Mapping[str, Any]:
        return {"result": None if self.result is None else self.result.plain()}

    def lines(self, wide: int) -> Iterable[str]:
        result = self.result
        if result is None:
            yield self.run.state
            return
        columns = ", ".join(f"{name} ({meaning})" for name, meaning in result.columns)
        yield from show.wrapped("columns", columns or "none of a usual name", wide)
        yield from show.wrapped("failure", result.rule, wide)
        yield f"rows     {show.count(result.rows)}, {show.count(result.left_out)} left out"
        yield ""
        for rank, spot in enumerate(result.spots, 1):
            rate = f"{show.percent(spot.rate.value)} {show.interval(spot.rate.low, spot.rate.high)}"
            yield from show.wrapped(f"{rank:>2}", joined(spot), wide)
            yield from show.wrapped(
                "",
                f"{rate} of {show.count(spot.rate.n)} fail, elsewhere {show.percent(spot.elsewhere.value)}; "
                f"{show.percent(spot.impact)} of all failures",
                wide,
            )
            for example in examples_of(spot, most=1):
                yield from show.wrapped("", f"e.g. {example}", wide)
        if result.spots:
            yield ""
        yield from show.wrapped("beyond", not_found(result), wide)
        if result.llm is not None:
            yield from show.wrapped("llm", str(result.llm), wide)


def joined(spot: WeakSpot) -> str:
    """A statement in words."""
    return in_words(spot.says)


def in_words(says: Sequence[str]) -> str:
    """Columns first, then pictures and words: "light is night and the text says “white” and “half”"."""
    words = [part for part in says if part.startswith(("“", "any "))]
    shows = [part for part in says if part.startswith("shows ")]
    parts = [part for part in says if part not in words and part not in shows]
    if shows:
        parts.append(f"the picture shows {' and '.join(part.removeprefix('shows ') for part in shows)}")
    if words:
        parts.append(f"the text says {' and '.join(words)}")
    return " and ".join(parts)


def ranking(run: Run, result: TableResult, allowance: Allowance) -> Ranking:
    """The weak spots in their order, with three rows that fail."""
    rows = []
    for rank, spot in enumerate(result.spots, 1):
        fails = []
        for one in spot.examples[:FAILING]:
            uri = picture(run, one.picture, allowance) if one.picture else ""
            text = "" if uri else one.text
            fails.append(Failing(should=one.expected or "", said=one.answer or "", uri=uri, text=text))
        impact = f"{show.percent(spot.impact)} of all failures"
        rows.append(
            Ranked(
                str(rank), joined(spot), spot.rate, spot.elsewhere, fails, link=f"spot-{rank}", more=(impact,)
            )
        )
    return Ranking(rows=rows, where="where", usual="elsewhere", further=("of all failures",))


def said_of(spot: WeakSpot, *, sampled: bool = False) -> Iterator[str]:
    """What a card says of a weak spot."""
    where = (
        "outside the sample that suggested it"
        if sampled
        else "on the half of the table that did not suggest it"
    )
    more = spot.failures - spot.rows * spot.elsewhere.value
    yield f"{show.rate(spot.rate)} fail {where}; {show.percent(spot.elsewhere.value)} of its other rows do."
    yield (
        f"In the whole table {show.count(spot.failures)} of {show.plural(spot.rows, 'such row')} fail: "
        f"{show.percent(spot.impact)} of all failures"
        + (f", {show.count(round(more))} more than at the rate elsewhere." if more >= 1 else ".")
    )
    if spot.own < 0.8 * spot.impact:
        yield f"Beyond what other findings explain it adds {show.percent(spot.own)} of all failures."
    if spot.label is not None:
        share, low, high = spot.label
        yield (
            f"Probably the label: {show.percent(share)} {show.interval(low, high)} of its failures, "
            "where the answer is acceptable too."
        )
    if spot.both:
        yield "Both halves suggested it, each without the other."
    if spot.forms:
        forms = "; ".join(in_words(form) for form in spot.forms[:4])
        yield f"About the same rows: {forms}."


def examples_of(spot: WeakSpot, *, most: int = 3) -> Iterator[str]:
    """Failing rows in one line each."""
    for one in spot.examples[:most]:
        should = f"should be {one.expected}, " if one.expected is not None else ""
        said = f"said {one.answer}" if one.answer is not None else ""
        text = f": {show.cut(one.text, 100)}" if one.text else ""
        yield f"line {one.line}: {should}{said}".rstrip(", :") + text


def not_found(result: TableResult) -> str:
    """What the table excludes."""
    if result.failures == result.rows:
        return "Every row fails, so none fails more often than the others."
    if result.bound is None:
        return "No word or value covers enough rows to say what else could be weak."
    found = result.bound
    size = show.plural(found.rows, "row") + (f" of {show.count(found.groups)} groups" if found.groups else "")
    other = "Among the rows that none of these covers, no" if result.spots else "No"
    return (
        f"{other} single word or value with at least {size} fails more often than "
        f"{show.percent(found.rate)} of the time (at 95 %; {show.count(found.concepts)} were looked at)."
    )


def measured(result: TableResult) -> Iterator[tuple[str, str]]:
    yield "the table", f"{result.origin} ({result.form})"
    yield "a failure", result.rule
    yield from result.columns
    if result.sampled:
        rows = f"{show.count(result.sampled)} rows suggested, {show.count(result.tested)} others tested"
        yield "read piece by piece", rows
    yield (
        "intervals",
        "of 95 %; the low end of a weak spot's rate is that of 99.5 %, since it was picked for failing often",
    )
    yield "things to say", f"{show.count(result.concepts)} words, values, ranges and the like"
    if not result.wider:
        yield "wider nouns", "none: WordNet is not on this machine (apt-get install wordnet-base)"
    if result.llm is not None:
        yield "language model", str(result.llm)
    for note in result.notes:
        yield "note", note


_METHOD = (
    "The rows were split into two halves at random. Each half suggested the fewest statements that explain "
    "its failures. The other half tested them: against all its other rows, and against those that are "
    "alike in what earlier findings say. Both lists together hold the false-discovery rate. The model that "
    "failed was not asked again."
)
_METHOD_SAMPLED = (
    "The table is too large to be read at once. A random sample of its rows suggested the fewest "
    "statements that explain its failures. All rows outside the sample tested them: against all other "
    "rows, and against those that are alike in what earlier findings say. The list holds the "
    "false-discovery rate. Examples, wrong answers, doubts about labels and what is said about rows "
    "without a weak spot are the sample's. The model that failed was not asked again."
)
