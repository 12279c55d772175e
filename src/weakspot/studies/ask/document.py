"""How a run of `ask` is told: how many harmless questions are refused, which kinds, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from weakspot.report import format as show
from weakspot.report.document import Allowance, Block, Document, Section, Table, Tile, errors, spent
from weakspot.report.format import cut, grid
from weakspot.store import Run
from weakspot.studies.ask.figures import points, slices, trade_off
from weakspot.studies.ask.labelled import Labelled, after_people
from weakspot.studies.ask.result import (
    AskResult,
    Counted,
    Interval,
    PromptRates,
    Scenarios,
    Share,
    Slice,
    Stages,
)

#: Rows of a table; further ones are only in report.json.
ROWS: Final = 400
#: Hypotheses whose answers are shown, and how many that are wrong and that are right.
ARMS, WRONG, RIGHT = 8, 8, 4
_BESIDE: Final = ("judged", "refused", "unsure", "errors", "blocked", "empty", "undecided")
_CAUSES: Final = {
    "perception": "answered once told what the picture shows",
    "intent": "answered once also told what it is for",
    "decision": "refused even then",
}


class AskDocument(Document):
    """See `Document`."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.result = AskResult.of(run) or AskResult(model=str(run.config.settings.get("target", "")))

    @cached_property
    def labelled(self) -> list[Labelled]:
        """The rates as people's labels have them; none where there are too few labels."""
        return after_people(self.run, self.result) if self.result.order else []

    @property
    def title(self) -> str:
        rest = self.run.config.subject.removesuffix(self.result.model).strip()
        return f"{self.result.model} · {rest}" if rest else self.result.model

    @property
    def conclusion(self) -> str:
        result = self.result
        if result.scenarios:
            return _of_scenarios(result, result.scenarios)
        if not result.asked:
            return "No benign question was asked." if result.contrast else "Nothing has been asked yet."
        if not result.n:
            return "No answer could be judged, so nothing can be said about the model."
        said = f"{rate(result)} of {show.plural(result.n, 'benign answer')} refuse"
        if result.unsure and result.rate_bounds:
            low, high = map(show.percent, result.rate_bounds)
            said += f" ({low} to {high}, as the {show.count(result.unsure)} that the judge is unsure of fall)"
        if result.rate_corrected is not None:
            said += f"; {rate(result, corrected=True)} once the judge's own errors are allowed for"
        worse = [f"{column} {value}" for column, value, row in _rows_of(result.slices) if row.worse]
        if self.labelled:
            one = self.labelled[0]
            said += (
                f"; {show.percent(one.rate)} {show.interval(one.low, one.high)} by people's labels of "
                f"{show.plural(one.labels, 'answer')}"
            )
        if worse:
            said += f". Refused more than the rest: {', '.join(show.shorten(w, 80) for w in worse[:4])}"
            said += f" and {len(worse) - 4} more" if len(worse) > 4 else ""
        contrast, trade = result.contrast, result.trade_off
        if contrast and contrast.n and trade:
            said += (
                f". Of harmful questions {rate(contrast)} are refused: balanced accuracy "
                f"{show.percent(trade.balanced_accuracy)}, d′ {trade.d_prime:.1f}"
            )
        return f"{said}."

    def tiles(self) -> Sequence[Tile]:
        result = self.result
        if not _begun(result):
            return ()
        found = [_tile("benign refused", result)]
        if result.rate_corrected is not None and result.rate_corrected_interval:
            ends = show.interval(*result.rate_corrected_interval)
            number = show.percent(result.rate_corrected)
            found.append(Tile("corrected", number, f"{ends} for the judge's errors"))
        if result.contrast and result.contrast.n:
            found.append(_tile("harmful refused", result.contrast))
        if trade := result.trade_off:
            found.append(Tile("d′", f"{trade.d_prime:.1f}", "benign and harmful told apart"))
        beside = {"errors": result.errors, "blocked": result.blocked, "empty": result.empty}
        return found + [Tile(name, show.count(n), "outside every rate") for name, n in beside.items()]

    def sections(self, _: Allowance) -> Iterable[Section]:
        result = self.result
        arms = [(f"{result.model}, system prompt {name}", arm) for name, arm in result.arms.items()]
        note = (
            "Near the lower left corner a model tells harmless questions from harmful ones. Bars are 95 % "
            "intervals."
        )
        yield from _found(result)
        yield Section("The trade-off", trade_off(points(arms or [(result.model, result)])), note)
        yield from _why(result)
        yield _by_people(self.labelled)
        yield self._answers()
        yield from _beside(result)

    def _answers(self) -> Section:
        """Some answers of every hypothesis: the first that are wrong, then the first that are right."""
        blocks: list[Block] = []
        for hypothesis in self.run.ledger.hypotheses()[:ARMS]:
            wrong = self.run.ledger.trials(hypothesis, failed=True, limit=WRONG)
            right = self.run.ledger.trials(hypothesis, failed=False, limit=RIGHT)
            rows = [
                (
                    "wrong" if trial.failed else "right",
                    show.shorten(trial.caption, 600),
                    show.shorten(trial.answer or "(no words)", 900),
                    show.shorten(trial.detail, 300),
                )
                for trial in (*wrong, *right)
            ]
            if rows:
                title = show.shorten(hypothesis.text, 160)
                blocks.append(Table(title, "", ("", "question", "answer", "the judge"), rows))
        note = (
            "Not picked: the first that are wrong, then the first that are right. Wrong is a refusal of a "
            "harmless question, or an answer to a harmful one."
        )
        return Section("Answers with their verdicts", blocks, note)

    def values(self) -> Mapping[str, Any]:
        settings = self.run.config.settings
        named = {name: settings.get(name) or "" for name in ("benchmark", "judge")}
        found = self.result.model_dump(mode="json", exclude={"items", "order"})
        people = [one._asdict() for one in self.labelled]
        return named | found | {"labelled": people, "error_kinds": errors(self.run), "spend": spent(self.run)}

    def lines(self, wide: int) -> Iterable[str]:
        result, cost = self.result, spent(self.run)
        for section in (*_found(result), *_why(result), _by_people(self.labelled), *_beside(result)):
            for table in (block for block in section.blocks if isinstance(block, Table)):
                if table.rows and section.title != "Pictures":
                    yield cut(table.title or section.title, wide)
                    yield from grid(table.head, table.rows, wide)
                    yield ""
        yield cut(self.conclusion, 4 * wide)
        if missing := len(result.images_missing):
            yield f"pictures {missing} of the benchmark's pictures are missing (see the report)"
        price = f" · {cost['tokens']:,} tokens · ${cost.get('dollars', 0):,.2f}" if cost.get("tokens") else ""
        yield f"asked    {_counts(result)}{price} · {show.seconds(float(cost.get('seconds', 0.0)))}"
        for what, times in self.run.ledger.errors()[:3]:
            yield f"error    {cut(f'{times:,}× {what}', wide - 9)}"
        if self.run.state.startswith("stopped"):
            yield cut(self.run.state, wide)


def _of_scenarios(result: AskResult, found: Scenarios) -> str:
    confirmed = [row for row in found.descriptions if row.confirmed]
    usual = f"{rate(result)} of {show.plural(result.n, 'answer')} to any of them"
    if not confirmed:
        tried = show.plural(len(found.descriptions), "description")
        return f"None of {tried} of harmless questions is refused more than usual ({usual})."
    named = "; ".join(f"‘{show.shorten(row.description, 100)}’ {rate(row)}" for row in confirmed[:4])
    return f"Harmless questions that are refused more than others of their type ({usual}): {named}."


def rate(figures: Counted, *, corrected: bool = False) -> str:
    """A rate as people read it, with its interval: "12 % [9, 16]"; a dash where there is none."""
    if corrected:
        return _with_ends(figures.rate_corrected, figures.rate_corrected_interval)
    return _with_ends(figures.rate, figures.rate_interval)


def _with_ends(value: float | None, ends: Interval | None) -> str:
    return show.NONE if value is None or not ends else f"{show.percent(value)} {show.interval(*ends)}"


def _tile(name: str, figures: Counted) -> Tile:
    if figures.rate is None or not figures.rate_interval:
        return Tile(name, show.NONE, "nothing judged")
    note = f"{show.interval(*figures.rate_interval)} of {show.count(figures.n)}"
    return Tile(name, show.percent(figures.rate), note)


def _counts(result: Counted) -> str:
    """What stands beside the rate: "286 answers judged · 14 errors · 0 blocked · 0 empty"."""
    undecided = f" · {show.count(result.undecided)} undecided" if result.undecided else ""
    return (
        f"{show.plural(result.n, 'answer')} judged · {show.plural(result.errors, 'error')} · "
        f"{show.count(result.blocked)} blocked · {show.count(result.empty)} empty{undecided}"
    )


def _begun(result: PromptRates) -> bool:
    return bool(result.asked) or result.contrast is not None


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], title: str = "", note: str = "") -> Table:
    return Table(title, note, head, rows[:ROWS], max(len(rows) - ROWS, 0))


def _section(title: str, note: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Section:
    """A section of one table; without rows it has nothing, and is not shown."""
    return Section(title, [_table(head, rows)] if rows else [], note)


def _cells(figures: Counted) -> tuple[str, ...]:
    beside = (
        figures.n, figures.refused, figures.unsure, figures.errors, figures.blocked, figures.empty,
        figures.undecided,
    )  # fmt: skip
    return rate(figures), *map(show.count, beside)


# -- what was found ----------------------------------------------------------------------------------


def _found(result: AskResult) -> Iterator[Section]:
    if result.scenarios:
        yield from _scenarios(result, result.scenarios)
    rows = []
    arms: Mapping[str, PromptRates] = result.arms or {"": result}
    for name, arm in arms.items() if _begun(result) else ():
        suffix = f", system prompt {name}" if name else ""
        rows.append((f"benign{suffix}", *_cells(arm)))
        if arm.contrast:
            rows.append((f"harmful{suffix}", *_cells(arm.contrast)))
    note = (
        "Errors, blocks and empty answers are outside the rate. Intervals are 95 %, and hold however the "
        "answers fall that the judge is unsure of."
    )
    yield _section("Refusals", note, ("questions", "refused", *_BESIDE), rows)
    yield _slices(result)


def _slices(result: AskResult) -> Section:
    blocks: list[Block] = [*slices(result)]
    note = "q is adjusted for all slices at once (Benjamini–Hochberg); worse means {}."
    less = "that harmful questions of this kind are refused less than the rest"
    harmful = result.contrast.slices if result.contrast else {}
    sets = (
        ("", "refused more than the rest", result.slices),
        ("Slices of the harmful questions", less, harmful),
    )
    head = ("slice", "refused", *_BESIDE, "q", "")
    for title, worse, found in sets:
        rows = [
            (
                f"{column}: {value}",
                *_cells(row),
                show.NONE if row.q is None else f"{row.q:.2g}",
                "worse" if row.worse else "",
            )
            for column, value, row in _rows_of(found)
        ]
        if rows:
            blocks.append(_table(head, rows, title, note.format(worse)))
    return Section("Slices", blocks)


def _rows_of(found: Mapping[str, Mapping[str, Slice]]) -> list[tuple[str, str, Slice]]:
    return [(column, value, row) for column, values in found.items() for value, row in values.items()]


def _scenarios(result: AskResult, found: Scenarios) -> Iterator[Section]:
    rows = [
        (
            row.description,
            rate(row),
            rate(row, corrected=True),
            show.count(row.n),
            "fresh" if row.fresh else "race",
            show.e_value(row.log_evidence),
            rate(row.contrast) if row.contrast else show.NONE,
            "confirmed" if row.confirmed else row.state,
        )
        for row in found.descriptions
    ]
    head = ("harmless questions", "refused", "corrected", "of", "drawn for", "e-value", "harmful refused", "")
    note = (
        f"Descriptions for ‘{show.shorten(found.stimulus, 120)}’, against {rate(result)} of "
        f"{show.count(result.n)} scenarios of any kind. ‘Confirmed’ is said of fresh scenarios only, and "
        "controls the false-discovery rate."
    )
    yield _section("Descriptions", note, head, rows)
    examples = [
        (row.description, case.scene, case.question, case.answer)
        for row in found.descriptions
        if row.fresh
        for case in row.examples
    ]
    note = "As the model was asked, and what it said."
    yield _section("Refused scenarios", note, ("description", "scene", "question", "answer"), examples)
    rejected = [(show.count(times), what) for what, times in found.rejected.items()]
    note = "Written, but not what they should be."
    yield _section("Scenarios that were not asked", note, ("times", "why"), rejected)


def _by_people(found: Sequence[Labelled]) -> Section:
    rows = [
        (
            one.slice or "all",
            f"{show.percent(one.rate)} {show.interval(one.low, one.high)}",
            show.count(one.n),
            show.count(one.labels),
        )
        for one in found
    ]
    note = (
        "Harmless questions, by the labels that people gave to answers of this run; slices with ten labels "
        "or more."
    )
    return _section("Refusals, by people's labels", note, ("slice", "refused", "judged", "labelled"), rows)


# -- why ---------------------------------------------------------------------------------------------


def _why(result: AskResult) -> Iterator[Section]:
    head = (
        "first", "second", "first refused", "second refused", "difference in points",
        "only first : only second", "p",
    )  # fmt: skip
    rows = []
    for one in result.comparisons:
        ends = ", ".join(f"{100 * end:+.1f}" for end in one.difference_interval)
        rows.append(
            (
                one.first, one.second, show.percent(one.rate_first), show.percent(one.rate_second),
                f"{100 * one.difference:+.1f} [{ends}]", f"{one.only_first} : {one.only_second}",
                f"{one.p_adjusted:.2g}",
            )
        )  # fmt: skip
    note = "Only items judged in both; McNemar's exact test, adjusted for all comparisons (Holm)."
    yield _section("Compared, item by item", note, head, rows)
    if result.stages:
        yield _stages(result.stages)


def _stages(found: Stages) -> Section:
    rows = []
    for cause, meaning in _CAUSES.items():
        one: Share = getattr(found, cause)
        rows.append((cause, meaning, show.count(one.count), _with_ends(one.share, one.interval)))
    if found.unknown:
        rows.append(("unknown", "a stage failed", show.count(found.unknown), show.NONE))
    note = f"The {show.plural(found.refused, 'refused benign question')}, asked again with help."
    if found.described.mean_words_found is not None:
        note += (
            " Of the benchmark's words for the pictures, the model's own descriptions of "
            f"{show.count(found.described.n)} have {show.percent(found.described.mean_words_found)} on "
            "average."
        )
    return _section("Why they were refused", note, ("cause", "meaning", "questions", "share"), rows)


# -- the judge, the repeats, the pictures ------------------------------------------------------------


def _beside(result: AskResult) -> Iterator[Section]:
    if found := result.agreement:
        rows = [("all (Krippendorff's α)", _number(found.alpha))]
        rows += [(f"{two} (Cohen's κ)", _number(kappa)) for two, kappa in found.kappa.items()]
        note = f"On {show.plural(found.n, 'answer')} that at least two decided; 1 is perfect, 0 is chance."
        yield _section("Agreement of the judges", note, ("judges", "agreement"), rows)
    grades = {"benign": result.grades, "harmful": result.contrast.grades if result.contrast else {}}
    names = list(dict.fromkeys(name for counted in grades.values() for name in counted))
    counts_of = [
        (which, *(show.count(counted.get(name, 0)) for name in names))
        for which, counted in grades.items()
        if counted
    ]
    yield _section(
        "Grades", "What counts as a refusal is said by --refused.", ("questions", *names), counts_of
    )
    if (again := result.consistency) and again.n:
        counts = (again.repeats, again.n, again.always_refused, again.sometimes_refused, again.never_refused)
        agreement = f"{show.percent(again.agreement or 0.0)} {show.interval(*again.agreement_interval or ())}"
        head = ("times asked", "items", "always refused", "sometimes", "never", "two repeats agree")
        row = (*(show.count(n or 0) for n in counts), agreement)
        yield _section("Consistency", "Items that were judged every time.", head, [row])
    rows = [(name, "missing") for name in result.images_missing] + list(result.images_changed.items())
    note = "What is missing, and what was changed to make it fit."
    yield _section("Pictures", note, ("item", "what"), rows)


def _number(value: float | None) -> str:
    return show.NONE if value is None else f"{value:.2f}"
