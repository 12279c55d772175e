"""The confirmed findings of a run, ranked: the same rows on the page, in Markdown and on a terminal.

Every study tells its findings so: where, how often it fails and usually does, and three inputs that fail,
each with what it should be and what was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple

from weakspot.core import Hypothesis, Rate
from weakspot.report import format as show
from weakspot.report.document import Allowance, Html, examples, said_of
from weakspot.report.markdown import table
from weakspot.report.plots import Figure, Lanes, Mark, axis, lanes
from weakspot.store import Run

TEMPLATE: Final = "weakspot.report:ranking.html.j2"
#: Failing inputs of a finding that are shown beside it.
FAILING: Final = 3
#: Characters of a text beside a finding, and of an answer.
TEXT, ANSWER = 110, 40
#: Characters of a text of which differences are marked.
LONGEST: Final = 300
_TOKENS: Final = re.compile(r"\w+\s*|[^\w\s]\s*")


class Stretch(NamedTuple):
    """Some words of a text: whether the other text has others there, and whether a space follows."""

    words: str
    changed: bool
    gap: bool


class Failing(NamedTuple):
    """An input that fails: a picture or a text; or two, of which one became the other.

    Attributes:
        uri: The picture, as a data URI; `beside` is what it was made of.
        text: The input, where it is no picture. Where `other` is given too, the two should be told apart,
            and what differs is marked.
        note: What stands in place of what should be and was said.
    """

    should: str = ""
    said: str = ""
    uri: str = ""
    beside: str = ""
    text: str = ""
    other: str = ""
    alt: str = ""
    small: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """What went wrong, as in "should be cat, said fence"."""
        should, said = show.shorten(self.should, ANSWER), show.shorten(self.said, ANSWER)
        parts = [f"should be {should}" if should else "", f"said {said}" if said else ""]
        return self.note or ", ".join(filter(None, parts))

    @property
    def texts(self) -> list[list[Stretch]]:
        """What is shown of texts, with what differs between two."""
        if self.other:
            return list(marked(show.shorten(self.text, LONGEST), show.shorten(self.other, LONGEST)))
        return [[Stretch(show.shorten(self.text, LONGEST), False, False)]] if self.text else []


class Ranked(NamedTuple):
    """A finding in its place.

    Attributes:
        place: Its number, e.g. "1" or "4a".
        words: Where it fails, as a clause or a name.
        baseline: What it is compared with.
        link: The card's id on the page; "" where it has none.
        under: Why it stands under the finding above it: "worse" where it is a worse part of that one, "or"
            where it is another of its kind; "" of one with a place of its own.
        more: What else a terminal and Markdown say of it, in the ranking's further columns.
    """

    place: str
    words: str
    rate: Rate
    baseline: Rate | None
    failing: Sequence[Failing] = ()
    link: str = ""
    under: Literal["", "worse", "or"] = ""
    more: tuple[str, ...] = ()

    @property
    def times(self) -> str:
        """How many times the baseline's rate."""
        if self.baseline is None or not self.rate.n:
            return ""
        if not self.baseline.value:
            return "∞" if self.rate.value else ""
        return show.times(self.rate.value / self.baseline.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Findings, the first the most important.

    Attributes:
        where: What the words are ("when", "where").
        what: What the rate is of ("failure rate").
        usual: What findings are compared with ("baseline", "elsewhere").
        further: The names of further columns.
        several: Each row has a baseline of its own.
    """

    rows: Sequence[Ranked]
    where: str = "when"
    what: str = "failure rate"
    usual: str = "baseline"
    further: tuple[str, ...] = ()
    several: bool = False

    def html(self) -> Html:
        """As a block of a document."""
        return Html(TEMPLATE, self.values(), self.markdown(), [self.figure()])

    def values(self) -> dict[str, Any]:
        """What the template shows; a study's own template may include it."""
        scale = axis([r for row in self.rows for r in (row.rate, row.baseline) if r is not None])
        rows = [
            {
                "row": row,
                "bar": scale.bar(row.rate) if row.rate.n else None,
                "base": scale.bar(row.baseline) if row.baseline is not None and row.baseline.n else None,
                "pictures": bool(row.failing) and all(one.uri for one in row.failing),
            }
            for row in self.rows
        ]
        beside = any(row["pictures"] for row in rows)  # else what fails stands below its row
        values = {"ranking": self, "ranked": rows, "scale": scale, "beside": beside}
        return values | {"ranking_template": TEMPLATE}

    def figure(self) -> Figure:
        """The same rates as a picture, to be saved for slides."""
        marks, bands, rows = [], {}, []
        for row in self.rows:
            name = f"{row.place}. {row.words}"
            marks.append(Mark(name, "", row.rate))
            if row.baseline is not None and row.baseline.n:
                bands[name] = row.baseline
            for what, rate in ((self.what, row.rate), (self.usual, row.baseline)):
                if rate is not None:
                    rows.append((name, what, rate.value, rate.low, rate.high, rate.failures, rate.n))
        columns = ("finding", "of", "rate", "low", "high", "failures", "n")
        title = "The findings with their intervals"
        note = f"Points with 95 % intervals; the blue band is the interval of what is usual ({self.usual})."
        return Figure("findings", title, columns, rows, lanes(Lanes(marks, ("",), bands), title), note)

    def markdown(self) -> str:
        """As a table: a row for each finding, with what it should be and what was said."""
        head = ("#", self.where, self.what, "of", self.usual, *self.further, "three that fail")
        rows = [
            (
                row.place,
                row.words,
                reading(row.rate),
                show.count(row.rate.n),
                show.NONE if row.baseline is None else reading(row.baseline),
                *row.more,
                "; ".join(map(briefly, row.failing)),
            )
            for row in self.rows
        ]
        if not any(row.failing for row in self.rows):
            head, rows = head[:-1], [row[:-1] for row in rows]
        return table(head, rows, most=600)

    def lines(self, wide: int) -> Iterator[str]:
        """As aligned lines; the words are wrapped, the numbers never cut."""
        rows = [
            (
                row.place if not row.under else "",
                f"└ {row.words}" if row.under == "worse" else row.words,
                show.percent(row.rate.value) if row.rate.n else show.NONE,
                show.interval(row.rate.low, row.rate.high) if row.rate.n else "",
                f"of {show.count(row.rate.n)}",
                self._compared(row),
                *row.more,
            )
            for row in self.rows
        ]
        columns = 6 + len(self.further)
        texts = (1, *range(6, columns))
        for line in show.grid(("",) * columns, rows, wide, texts=texts, lead=2):
            yield line.removeprefix(" ")

    def _compared(self, row: Ranked) -> str:
        """A rate beside what is usual, in a cell of a terminal."""
        if row.baseline is None or not row.baseline.n:
            return ""
        if self.usual == "baseline":
            return f"{row.times} baseline" if row.times else ""
        return f"{self.usual} {show.percent(row.baseline.value)}"


def reading(rate: Rate) -> str:
    """A rate with its interval, in a cell."""
    return f"{show.percent(rate.value)} {show.interval(rate.low, rate.high)}" if rate.n else show.NONE


def briefly(one: Failing) -> str:
    """A failing input in a line."""
    text = show.shorten(one.text, TEXT)
    if one.other:
        return f"“{text}” and “{show.shorten(one.other, TEXT)}”"
    said = one.verdict
    return f"{said}: “{text}”" if text and said else text or said


def failing(
    run: Run, hypothesis: Hypothesis, indices: Sequence[int], allowance: Allowance, *, should: str = ""
) -> list[Failing]:
    """The first of these trials whose inputs can be shown; where none can, what was said of the first."""
    shown = [
        Failing(
            should=should or one.expected, said=one.said, uri=one.uri, text=one.text, alt=one.alt,
            small=one.pixelated,
        )
        for one in examples(run, hypothesis, indices, most=FAILING, allowance=allowance)
    ]  # fmt: skip
    if shown:
        return shown
    trials = (run.ledger.trial(hypothesis, index) for index in indices[:FAILING])
    return [Failing(should=should or t.expected, said=said_of(t)[0]) for t in trials if t is not None]


def marked(first: str, second: str) -> tuple[list[Stretch], list[Stretch]]:
    """Both texts in stretches that they share and that they do not."""
    one, two = (_TOKENS.findall(text) for text in (first, second))
    bare = [[token.strip() for token in tokens] for tokens in (one, two)]
    steps = SequenceMatcher(a=bare[0], b=bare[1], autojunk=False).get_opcodes()

    def stretch(tokens: Sequence[str], *, changed: bool) -> Stretch:
        text = "".join(tokens)
        return Stretch(text.strip(), changed, text != text.rstrip())

    return (
        [stretch(one[a:b], changed=tag != "equal") for tag, a, b, _, _ in steps if a < b],
        [stretch(two[a:b], changed=tag != "equal") for tag, _, _, a, b in steps if a < b],
    )
