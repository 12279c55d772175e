"""Two runs compared, in plain words, as lines of a table, as Markdown, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from weakspot.after.compared import BETTER, UNMEASURED, WORSE, Compared, MeasureRow
from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report.markdown import escape
from weakspot.study.rates import FINDING, Measure, plural
from weakspot.text import clauses

#: Rows of each kind that a person is shown unless they changed.
ROWS: Final = 12
#: Columns of the strip that shows a difference; 0 is in the middle.
STRIP: Final = 21
_METHODS: Final = {
    "holm": "Holm: the chance of even one false difference is at most {alpha}",
    "bh": "Benjamini and Hochberg: of the differences shown, at most {alpha} are expected to be false",
}
_OF_ALL: Final = (
    "Each rate counts everything that its run drew. A difference counts only the cases that both "
    "runs drew, so it need not be the difference of the two rates."
)
_MARK: Final = {WORSE: "▲ worse", BETTER: "▼ better", UNMEASURED: "not tested in both"}


def sentences(found: Compared) -> list[str]:
    """What a person must know, the most important first."""
    told = []
    n = found.tests
    for change, words in ((WORSE, "fails more often"), (BETTER, "fails less often")):
        rows = found.changed(change)
        if rows:
            where = f"{len(rows)} of {show.plural(n, 'comparison')}"
            told.append(f"The second {found.thing} {words} in {where}: {_named(rows)}.")
    if n and not found.changed(WORSE) and not found.changed(BETTER):
        told.append(f"No difference is shown in {show.plural(n, 'comparison')}.")
    for rows, what, where in (
        (found.new, "new", "confirmed only in the second run"),
        (found.gone, "gone", "confirmed only in the first run"),
    ):
        tested = [row for row in rows if row.change != UNMEASURED]
        untested = [row for row in rows if row.change == UNMEASURED]
        if tested:
            are = "is" if len(tested) == 1 else "are"
            told.append(f"{show.plural(len(tested), 'finding')} {are} {what} ({where}): {_named(tested)}.")
        if untested:
            were = "was" if len(untested) == 1 else "were"
            which = "the first" if what == "new" else "the second"
            some = show.plural(len(untested), "finding")
            told.append(f"{some} {were} {where} and never tested in {which}: {_named(untested)}.")
    return [*told, *found.notes]


def method(found: Compared) -> str:
    pairs = sum(row.paired for row in found.rows)
    parts = []
    if pairs:
        parts.append(f"{show.plural(pairs, 'comparison')} on the same cases")
    if found.tests - pairs:
        why = found.separate or "one run confirmed on cases that the other did not draw"
        parts.append(f"{show.plural(found.tests - pairs, 'comparison')} of separate cases ({why})")
    if not parts:
        return ""
    if found.tested_by:
        tests = found.tested_by
    elif found.watched:
        tests = "tests and intervals that hold whenever a run stops"
    else:
        tests = "McNemar's exact test with Tango's interval" if pairs else "Fisher's exact test"
        tests += "" if pairs == found.tests or not pairs else "; Fisher's test with Newcombe's"
    adjusted = _METHODS[found.adjustment].format(alpha=show.level(found.alpha))
    told = f"{'; '.join(parts)}. {tests[:1].upper()}{tests[1:]}; adjusted by {adjusted}."
    return f"{told} {_OF_ALL}" if any(map(_of_some, found.rows)) else told


def _of_some(row: MeasureRow) -> bool:
    """Whether a difference is one of shared cases, beside rates of more than these."""
    if row.contrast is None or not row.paired:
        return False
    return any(rate is not None and rate.n != row.contrast.n for rate in (row.first, row.second))


def shown(found: Compared) -> Iterator[tuple[str, list[MeasureRow], int]]:
    """By kind: its title, the rows to show, and how many more there are."""
    for kind in dict.fromkeys(row.measure.kind for row in found.rows):
        rows = [row for row in found.rows if row.measure.kind == kind]
        told = [row for row in rows if row.change in (WORSE, BETTER) or row.found != (False, False)]
        rest = [row for row in rows if row not in told]
        told = [row for row in rows if row in told or row in rest[: max(0, ROWS - len(told))]]
        yield plural(kind), told, len(rows) - len(told)


def mark(row: MeasureRow) -> str:
    """What became of a row, in a few words."""
    if row.change == UNMEASURED and any(row.found):
        return f"not tested in the {'first' if row.found[1] else 'second'} run"
    state = {(False, True): "new", (True, False): "gone"}.get(row.found, "")
    return ", ".join(filter(None, (state, _MARK.get(row.change, ""))))


def difference(row: MeasureRow) -> str:
    """Second minus first in points: "+4.1 [1.0, 7.3]"; a dash if it was not measured in both."""
    if row.contrast is None:
        return show.NONE
    d = row.contrast
    wide = 100 * (d.high - d.low)
    decimals = 0 if wide >= 20 else 1 if wide >= 2 else 2 if wide >= 0.2 else 4
    return f"{100 * d.difference:+.{decimals}f} [{100 * d.low:.{decimals}f}, {100 * d.high:.{decimals}f}]"


def strip(row: MeasureRow, most: float) -> str:
    """The interval of a difference as a picture: ──●── around ┆, which is no difference."""
    if row.contrast is None:
        return ""
    middle = STRIP // 2

    def place(value: float) -> int:
        return middle + round(max(-1.0, min(value / most, 1.0)) * middle)

    low, at, high = place(row.contrast.low), place(row.contrast.difference), place(row.contrast.high)
    cells = ["─" if low <= i <= high else " " for i in range(STRIP)]
    cells[middle] = "┼" if low <= middle <= high else "┆"
    cells[at] = "●"
    return "".join(cells)


def scale(rows: Sequence[MeasureRow]) -> float:
    return max((max(abs(r.contrast.low), abs(r.contrast.high)) for r in rows if r.contrast), default=1.0)


def p_value(p: float | None) -> str:
    """An adjusted p-value: "0.03", "< 0.001"; a dash without one."""
    if p is None:
        return show.NONE
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _of_study(found: Compared) -> str:
    return f" of {found.study}" if found.study else ""


def markdown(found: Compared) -> str:
    names = [
        escape(f"{side.folder} ({side.model})" if side.model else side.folder, 200)
        for side in (found.first, found.second)
    ]
    blocks = [
        f"# Two {found.thing}s{_of_study(found)}",
        f"- first: {names[0]}\n- second: {names[1]}",
        "\n\n".join(escape(sentence, 2000) for sentence in sentences(found)),
    ]
    for title, rows, more in shown(found):
        lines = [
            f"| {title} | first | second | second − first, points | adjusted p | |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for row in rows:
            change = mark(row)
            cells = (
                escape(clauses.legible(row.measure.words), 160),
                escape(_reading(row.first)),
                escape(_reading(row.second)),
                escape(difference(row)),
                escape(p_value(row.adjusted)),
                f"**{change}**" if row.change in (WORSE, BETTER) else change,
            )
            lines.append(f"| {' | '.join(cells)} |")
        blocks.append("\n".join(lines) + (f"\n\nand {show.count(more)} more" if more else ""))
    if told := method(found):
        blocks.append(escape(told, 2000))
    return "\n\n".join(block for block in blocks if block) + "\n"


def to_json(found: Compared) -> dict[str, Any]:
    return {
        "format": 1,
        "study": found.study,
        "first": found.first._asdict(),
        "second": found.second._asdict(),
        "settings": [{"name": k, "first": a, "second": b} for k, a, b in found.settings],
        "paired": not found.separate,
        "separate_because": found.separate,
        "adjustment": found.adjustment,
        "alpha": found.alpha,
        "anytime_valid": found.watched,
        "comparisons": found.tests,
        "worse": [row.measure.words for row in found.changed(WORSE)],
        "better": [row.measure.words for row in found.changed(BETTER)],
        "new": [row.measure.words for row in found.new],
        "gone": [row.measure.words for row in found.gone],
        "summary": " ".join(sentences(found)),
        "method": method(found),
        "rows": [_row(row) for row in found.rows],
    }


def _row(row: MeasureRow) -> dict[str, Any]:
    contrast = {} if row.contrast is None else row.contrast._asdict()
    return {
        "kind": row.measure.kind,
        "words": row.measure.words,
        "hypothesis": row.measure.hypothesis or None,
        "answer": row.measure.answer or None,
        "first": None if row.first is None else row.first._asdict(),
        "second": None if row.second is None else row.second._asdict(),
        "paired": row.paired,
        **{name: contrast.get(name) for name in ("difference", "low", "high", "n")},
        **{name: contrast.get(name) if row.paired else None for name in ("only_first", "only_second")},
        "p": contrast.get("p"),
        "p_exact": contrast.get("exact"),
        "p_adjusted": row.adjusted,
        "found_in_first": row.found[0],
        "found_in_second": row.found[1],
        "change": row.change,
    }


def _reading(rate: Rate | None) -> str:
    return show.NONE if rate is None else show.rate(rate)


def _named(rows: Sequence[MeasureRow], most: int = 4) -> str:
    words = "; ".join(_in_a_sentence(row.measure) for row in rows[:most])
    return words + (f" and {len(rows) - most} more" if len(rows) > most else "")


def _in_a_sentence(measure: Measure) -> str:
    """A finding: "when it is on a flower (taken for ‘bee’)"; anything else by its name: "‘set=benign’"."""
    if measure.kind != FINDING:
        return f"‘{show.shorten(clauses.legible(measure.words), 90).rstrip('.')}’"
    phrase, arrow, answer = measure.words.partition(" → ")
    taken = f" (taken for ‘{show.shorten(answer, 40)}’)" if arrow else ""
    return f"{clauses.when(show.shorten(phrase, 120))}{taken}"
