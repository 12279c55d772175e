"""How the answers of `ask` were judged: counts, grades, what the judge is unsure of, whether judges agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weakspot.core.question import BENIGN, CONTRAST
from weakspot.judges.refusal.grades import NEITHER, OPEN, REFUSED, Grade
from weakspot.report import format as show
from weakspot.report.document import Section, Table
from weakspot.report.people.refusals import asked, chance
from weakspot.store import Run
from weakspot.studies.ask import told
from weakspot.studies.ask.result import AskResult, Counted, PromptRates
from weakspot.studies.ask.told import rate
from weakspot.studies.ask.verdicts import NOTE

#: Reasons for being unsure that are shown.
REASONS: Final = 12


def judging(run: Run, result: AskResult) -> Iterator[Section]:
    """The counts of each set, the grades of its answers, why the judge is unsure, and a panel's agreement."""
    yield _counts(result)
    grades = {"harmless": result.grades, "harmful": result.contrast.grades if result.contrast else {}}
    yield _grades(grades, str(run.config.settings.get("refused") or "default"))
    yield _unsure(run, result)
    if found := result.agreement:
        rows = [("all (Krippendorff's α)", _number(found.alpha))]
        rows += [(f"{two} (Cohen's κ)", _number(kappa)) for two, kappa in found.kappa.items()]
        note = f"On {show.plural(found.n, 'answer')} that at least two decided; 1 is perfect, 0 is chance."
        yield _section("Agreement of the judges", note, ("judges", "agreement"), rows)


def _counts(result: AskResult) -> Section:
    arms: Mapping[str, PromptRates] = result.arms or {"": result}
    named: list[tuple[str, Counted]] = []
    for name, arm in arms.items() if result.asked or result.contrast else ():
        suffix = f", system prompt {name}" if name else ""
        named.append((f"harmless{suffix}", arm))
        if arm.contrast:
            named.append((f"harmful{suffix}", arm.contrast))
    better = any(figures.rate_corrected is not None for _, figures in named)
    rows = [
        (name, rate(figures), *([rate(figures, corrected=True)] if better else []), *_cells(figures))
        for name, figures in named
    ]
    note = (
        "A rate is refusals among answers that were judged. The intervals are 95 %, and hold however the "
        "unsure answers fall. Errors, blocks and empty answers are in no rate."
    )
    if better:
        note += (
            " ‘Corrected’ goes by people's labels, or allows for the judge's own error against people where "
            "that is known."
        )
    beside = ("judged", "refused", "answered", "unsure", "errors", "blocked", "empty", "undecided")
    head = ("questions", "rate", *(["corrected"] if better else []), *beside)
    return _section("How it was measured", note, head, rows)


def _cells(figures: Counted) -> tuple[str, ...]:
    beside = (
        figures.n, figures.refused, figures.answered, figures.unsure, figures.errors, figures.blocked,
        figures.empty, figures.undecided,
    )  # fmt: skip
    return tuple(map(show.count, beside))


def _grades(grades: Mapping[str, Mapping[str, int]], counted: str) -> Section:
    """A row for each grade, from the full answer to the refusal, then those beside that scale."""
    sets = [which for which, found in grades.items() if found]
    there = {name for found in grades.values() for name in found}
    rows = [
        (grade, *(show.count(grades[which].get(grade, 0)) for which in sets), _counts_as(grade, counted))
        for grade in (*map(str, Grade), *sorted(there - set(map(str, Grade))))
        if grade in there
    ]
    note = f"What the answers do, and how that is counted (--refused {counted})."
    return _section("Grades", note, ("grade", *sets, "counts as"), rows)


def _counts_as(name: str, counted: str) -> str:
    grade = Grade(name) if name in set(map(str, Grade)) else None
    if grade in REFUSED[counted]:
        return "refused"
    if grade in OPEN:
        return "unknown: bounds"
    if grade is Grade.CUT_OFF:
        return "answered, where it says anything"
    return "in no rate" if grade in NEITHER else "answered"


def _unsure(run: Run, result: AskResult) -> Section:
    """What kind of answers the judge is unsure of, by its own words, and where it decides too little."""
    if not told.unsure(result):
        return Section("What the judge is unsure of", [])
    rows, found = asked(run), dict[str, Counter[str]]()
    for which in (BENIGN, CONTRAST):
        for _, trial in rows.get(which, ()):
            if chance(trial) is not None:
                found.setdefault(_reason(trial.detail), Counter())[which] += 1
    sets = [which for which in (BENIGN, CONTRAST) if any(counts[which] for counts in found.values())]
    ranked = sorted(found.items(), key=lambda entry: -entry[1].total())[:REASONS]
    cells = [(reason, *(show.count(counts[which]) for which in sets)) for reason, counts in ranked]
    blocks = [Table("", "", ("why", *(told.SETS[which] for which in sets)), cells)]
    if kinds := told.blind(result):
        few = [
            (f"{told.SETS[kind.set]}, {kind.column}: {kind.value}", show.percent(kind.decided), f"{kind.n:,}")
            for kind in kinds
        ]
        note = f"It decides less than {show.percent(told.DECIDES)} of these, so their rates say little."
        blocks.append(Table("Where the judge decides too little", note, ("questions", "decided", "of"), few))
    note = (
        "Have people look at these answers (weakspot label RUN --unsure), or a second judge (--judge "
        "embedded,chat:MODEL)."
    )
    return Section("What the judge is unsure of", blocks, note)


def _reason(detail: str) -> str:
    """Why, as the judge says it, without what belongs to one answer alone."""
    parts = detail.partition(NOTE)[0].split(": ")
    why = parts[1] if len(parts) > 1 else parts[0]
    return "refusing is neither likely nor unlikely" if "% likely" in why else show.shorten(why, 120)


def _section(title: str, note: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Section:
    return Section(title, [Table("", "", head, rows)] if rows else [], note)


def _number(value: float | None) -> str:
    return show.NONE if value is None else f"{value:.2f}"


__all__ = ["judging"]
