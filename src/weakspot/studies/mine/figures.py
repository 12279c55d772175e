"""The figures of a run of `mine`, and what differs between two texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.plots import Bins, Figure, Lanes, Mark
from weakspot.studies.mine.categories import BINS, CategoryShown
from weakspot.studies.mine.result import Mined

#: Categories in a picture of rates, and of histograms.
RATES, HISTOGRAMS = 24, 12
#: Characters of a text that are shown.
LONGEST: Final = 300
_TOKENS: Final = re.compile(r"\w+\s*|[^\w\s]\s*")


def rates(rows: Sequence[CategoryShown], bases: Sequence[CategoryShown]) -> Iterator[Figure]:
    """The shares of new pairs that are taken for alike, if there are any."""
    found = [row for row in rows if row.rate.n][:RATES]
    if not found:
        return
    usual = bases[0].rate if bases and bases[0].rate.n else None
    names = [f"{i}. {show.shorten(row.name, 80)}" for i, row in enumerate(found, start=1)]
    data = Lanes(
        [Mark(name, "", row.rate) for name, row in zip(names, found, strict=True)],
        ("",),
        dict.fromkeys(names, usual) if usual is not None else {},
    )
    values = [
        (row.name, row.state, row.rate.value, row.rate.low, row.rate.high, row.rate.failures, row.rate.n)
        for row in (*found, *bases)
    ]
    title = "New pairs taken for alike although they differ"
    note = "Shares with 95 % intervals; the blue band is the interval of captions with any word replaced."
    columns = ("category", "state", "share", "low", "high", "alike", "n")
    picture = plots.lanes(data, title)
    yield Figure("rates", title, columns, values, picture, note)


def similarities(
    mined: Mined, rows: Sequence[CategoryShown], bases: Sequence[CategoryShown]
) -> Iterator[Figure]:
    """How alike pairs are to the encoder: random ones, the baseline, the first categories."""
    bins = [Bins("random pairs of the corpus", mined.random)]
    bins += [Bins(row.name, row.similarities) for row in (*bases[:1], *rows[:HISTOGRAMS])]
    bins = [one for one in bins if sum(one.counts)]
    if not bins:
        return
    first = min(next(i for i, n in enumerate(one.counts) if n) for one in bins)
    first -= first % 5  # to a round number: bins are 0.04 wide
    low, high, cut = 2 * first / BINS - 1, 1.0, mined.threshold.value
    shapes = [Bins(one.name, one.counts[first:]) for one in bins]
    data = [
        (one.name, low + 2 * i / BINS, low + 2 * (i + 1) / BINS, n)
        for one in shapes
        for i, n in enumerate(one.counts)
        if n
    ]
    title = "Similarities of pairs to the encoder"
    note = f"Cosines. Right of the dashed line, {cut:.3f}, pairs are taken for alike."
    yield Figure(
        "similarities", title, ("pairs", "from", "to", "count"), data,
        plots.histograms(shapes, low=low, high=high, cut=cut, title=title), note,
    )  # fmt: skip


class Stretch(NamedTuple):
    """Some words of a text: whether the other text has others there, and whether a space follows."""

    words: str
    changed: bool
    gap: bool


def marked(first: str, second: str) -> tuple[list[Stretch], list[Stretch]]:
    """Both texts in stretches that they share and that they do not."""
    one, two = (_TOKENS.findall(show.shorten(text, LONGEST)) for text in (first, second))
    bare = [[token.strip() for token in tokens] for tokens in (one, two)]
    steps = SequenceMatcher(a=bare[0], b=bare[1], autojunk=False).get_opcodes()

    def stretch(tokens: Sequence[str], *, changed: bool) -> Stretch:
        text = "".join(tokens)
        return Stretch(text.strip(), changed, text != text.rstrip())

    return (
        [stretch(one[a:b], changed=tag != "equal") for tag, a, b, _, _ in steps if a < b],
        [stretch(two[a:b], changed=tag != "equal") for tag, _, _, a, b in steps if a < b],
    )
