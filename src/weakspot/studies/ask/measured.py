"""What `ask` found out beyond its findings: why, under which prompts, and how all of it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weakspot.core.question import BENIGN
from weakspot.report import format as show
from weakspot.report.document import Block, Section, Table, Text
from weakspot.store import Run
from weakspot.studies.ask import told
from weakspot.studies.ask.analysis import FEWEST
from weakspot.studies.ask.benign import Doubt
from weakspot.studies.ask.figures import points, slices, trade_off
from weakspot.studies.ask.purse import LOST
from weakspot.studies.ask.result import AskResult, Cause, Counted, PromptRates, Scenarios, Stages
from weakspot.studies.ask.told import rate, with_ends

#: Rows of a table; further ones are only in report.json.
ROWS: Final = 400
_HELP: Final = {
    "again": "with nothing changed",
    "filler": "with neutral words",
    "description": "told what the picture shows",
    "intent": "also told what it is for",
}
_NAMED: Final = {
    "perception": "what the model sees",
    "intent": "what it takes the user to want",
    "decision": "its decision, whatever it is told",
}
_CAUSES: Final = {
    "perception": "answered once told what the picture shows",
    "intent": "answered once also told what it is for",
    "decision": "refused even then",
    "chance": "answered when asked again with nothing changed",
}


def section(title: str, note: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Section:
    """A section of one table; without rows it has nothing, and is not shown."""
    return Section(title, [table(head, rows)] if rows else [], note)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], title: str = "", note: str = "") -> Table:
    return Table(title, note, head, rows[:ROWS], max(len(rows) - ROWS, 0))


# -- whether the questions are harmless --------------------------------------------------------------


def doubted(result: AskResult, doubts: Sequence[Doubt]) -> Section:
    """The rate with and without the questions that somebody does not call harmless."""
    rows = [
        (doubt.by, show.count(doubt.voted), show.count(len(doubt.doubtful)), _of(doubt.rate), _of(result))
        for doubt in doubts
    ]
    note = (
        "Refusing a question that is not harmless is not a fault. A question is doubtful if most "
        "people, or the model that was asked, do not call it harmless."
    )
    head = ("who was asked", "of how many", "doubtful", "refused without these", "refused of all")
    return section("Are the questions harmless?", note, head, rows)


def _of(figures: Counted) -> str:
    return f"{rate(figures)} of {show.count(figures.n)}"


def without(doubt: Doubt) -> str:
    """The same in a line."""
    said = f"{doubt.by}: {len(doubt.doubtful)} of {show.plural(doubt.voted, 'question')} not harmless"
    return f"{said}; without these {_of(doubt.rate)} refused"


# -- why, and under which prompts --------------------------------------------------------------------


def why(result: AskResult) -> Iterator[Section]:
    """The stages of help, the system prompts side by side, the repeats."""
    if result.stages:
        yield _stages(result.stages)
    yield from _prompts(result)
    if (again := result.consistency) and again.n:
        counts = (again.repeats, again.n, again.always_refused, again.sometimes_refused, again.never_refused)
        agreement = with_ends(again.agreement, again.agreement_interval)
        head = ("times asked", "questions", "always refused", "sometimes", "never", "two repeats agree")
        row = (*(show.count(n or 0) for n in counts), agreement)
        note = "Questions that were judged every time. The rates above are of the first time."
        yield section("Asked again and again", note, head, [row])


def _prompts(result: AskResult) -> Iterator[Section]:
    rows = []
    for name, arm in result.arms.items():
        harmful = arm.contrast
        rows.append(
            (
                name,
                f"{rate(arm)} of {show.count(arm.n)}",
                f"{told.of_answered(harmful)} of {show.count(harmful.n)}" if harmful else show.NONE,
                told.unjudged(arm) or show.NONE,
            )
        )
    yield section(
        "Under each system prompt", "", ("prompt", "harmless refused", "harmful answered", "not judged"), rows
    )
    head = ("first", "second", "difference in points", "only first : only second", "p")
    compared = []
    for one in result.comparisons:
        ends = ", ".join(f"{100 * end:+.1f}" for end in one.difference_interval)
        difference = f"{100 * one.difference:+.1f} [{ends}]"
        times = f"{one.only_first} : {one.only_second}"
        compared.append((one.first, one.second, difference, times, f"{one.p_adjusted:.2g}"))
    note = (
        "How many more questions the first refuses, of those judged under both (McNemar's exact test, "
        "adjusted for all comparisons)."
    )
    yield section("System prompts compared, question by question", note, head, compared)


def _stages(found: Stages) -> Section:
    asked = []
    for stage, how in _HELP.items():
        if (said := found.answered.get(stage)) is not None and said.n:
            of = f"{show.count(said.count)} of {show.count(said.n)}"
            asked.append((how, of, with_ends(said.share, said.interval)))
    causes = []
    for cause, meaning in _CAUSES.items():
        one: Cause = getattr(found, cause)
        sure = "beyond chance" if one.found else "" if cause == "chance" else "not beyond chance"
        causes.append((cause, meaning, _points(one), show.count(one.n), sure))
    note = (
        f"The {show.plural(found.refused, 'refused harmless question')}, asked again. The first two ways "
        "give no help, so what they change is chance. Only what the others add to that counts as the "
        "effect of the help. The intervals of the three causes hold together, with 95 %."
    )
    if found.unknown:
        note += f" {show.plural(found.unknown, 'question')} could not be judged in every way."
    if found.described.mean_words_found is not None:
        note += (
            " Of the benchmark's words for the pictures, the model's own descriptions of "
            f"{show.count(found.described.n)} have {show.percent(found.described.mean_words_found)} on "
            "average."
        )
    head = ("asked again", "answered", "share")
    tables = [
        table(head, asked),
        table(("cause", "meaning", "share of refusals", "of", ""), causes, "What the refusals come from"),
    ]
    return Section("Why they were refused", [_sentence(found), *tables] if found.refused else [], note)


def _sentence(found: Stages) -> Text:
    """What the refusals come from, in words."""
    sure = [name for name in _CAUSES if name != "chance" and getattr(found, name).found]
    if not sure:
        said = "No cause was found: no help turned more refusals into answers than simply asking again."
        if found.chance.share is not None:
            said += f" {_points(found.chance)} of the refusals would have been answers another time."
        return Text(said)
    parts = [f"{_NAMED[name]} ({_points(getattr(found, name))})" for name in sure]
    named = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return Text(f"These shares of the refusals come from {named}.")


def _points(one: Cause) -> str:
    return with_ends(one.share, one.interval)


# -- what was looked at and not found -----------------------------------------------------------------


def not_found(result: AskResult) -> Section:
    """All kinds of questions with their rates, which bound what was not found."""
    blocks: list[Block] = []
    harmful = result.contrast.slices if result.contrast else {}
    for which, found in (("harmless", result.slices), ("harmful", harmful)):
        rows = [
            (
                f"{column}: {value}",
                f"{told.of_answered(row) if which == 'harmful' else rate(row)}",
                show.count(row.n),
                told.of_rest(row, answered=which == "harmful") or show.NONE,
                "worse" if row.worse else "too few" if row.p is None and row.n < FEWEST else "",
            )
            for column, value, row in told.rows_of(found)
        ]
        what = "answered" if which == "harmful" else "refused"
        if rows:
            blocks.append(table((f"{which} questions", what, "of", "elsewhere", ""), rows))
    blocks += slices(result) if blocks else []
    note = (
        "Every kind was compared with the rest of its set. A kind that is not called worse may still be, up "
        "to the upper end of its interval."
    )
    return Section("All kinds of questions", blocks, note)


# -- how it was measured ------------------------------------------------------------------------------


def measured(run: Run, result: AskResult) -> Iterator[Section]:
    """Counts, the judge, the trade-off, the tests, the pictures, the money."""
    yield _counts(result)
    arms = [(f"{result.model}, system prompt {name}", arm) for name, arm in result.arms.items()]
    yield from _trade_off(result, arms)
    yield _tests(result)
    yield from _judges(result)
    yield _pictures(result)
    yield _money(run)


def _counts(result: AskResult) -> Section:
    rows = []
    arms: Mapping[str, PromptRates] = result.arms or {"": result}
    for name, arm in arms.items() if result.asked or result.contrast else ():
        suffix = f", system prompt {name}" if name else ""
        rows.append((f"harmless{suffix}", *_cells(arm)))
        if arm.contrast:
            rows.append((f"harmful{suffix}", *_cells(arm.contrast)))
    note = (
        "A rate is the share of refusals among judged answers; everything else is listed separately. "
        "‘Corrected’ allows for the judge's own error, if people's labels tell how large it is. "
        "Intervals are 95 %."
    )
    head = (
        "questions",
        "refused",
        "corrected",
        "judged",
        "refused",
        "errors",
        "blocked",
        "empty",
        "undecided",
    )
    return section("How it was measured", note, head, rows)


def _cells(figures: Counted) -> tuple[str, ...]:
    beside = (
        figures.n, figures.refused, figures.errors, figures.blocked, figures.empty, figures.undecided
    )  # fmt: skip
    return rate(figures), rate(figures, corrected=True), *map(show.count, beside)


def _trade_off(result: AskResult, arms: Sequence[tuple[str, PromptRates]]) -> Iterator[Section]:
    every = arms or [(result.model, result)]
    blocks: list[Block] = [*trade_off(points(every))]
    rows = []
    for name, arm in every:
        if (trade := arm.trade_off) is None:
            continue
        low, high = trade.d_prime_interval
        pairs = trade.pairs
        rows.append(
            (
                name,
                with_ends(trade.balanced_accuracy, trade.balanced_accuracy_interval),
                f"{trade.d_prime:.1f} [{low:.1f}, {high:.1f}]",
                f"{with_ends(pairs.told_apart_rate, pairs.told_apart_interval)} of {pairs.n}"
                if pairs
                else "",
            )
        )
    if rows:
        note = (
            "Balanced accuracy is the mean of harmless questions answered and harmful ones refused; d′ is "
            "how many standard deviations apart the two are to the model. A question and its "
            "harmful counterpart are told apart if only the harmful one is refused."
        )
        blocks.append(table(("model", "balanced accuracy", "d′", "pairs told apart"), rows, "", note))
    note = "The nearer the lower left corner, the better a model tells harmless questions from harmful ones."
    yield Section("The trade-off", blocks, note)


def _tests(result: AskResult) -> Section:
    harmful = result.contrast.slices if result.contrast else {}
    rows = [
        (which, f"{column}: {value}", f"{row.p:.2g}", f"{row.q:.2g}", "worse" if row.worse else "")
        for which, found in (("harmless", result.slices), ("harmful", harmful))
        for column, value, row in told.rows_of(found)
        if row.p is not None and row.q is not None
    ]
    note = (
        "Fisher's exact test of each kind against the rest; q is adjusted for all kinds (Benjamini–Hochberg)."
    )
    return section("The tests", note, ("questions", "kind", "p", "q", ""), rows)


def _judges(result: AskResult) -> Iterator[Section]:
    if found := result.agreement:
        rows = [("all (Krippendorff's α)", _number(found.alpha))]
        rows += [(f"{two} (Cohen's κ)", _number(kappa)) for two, kappa in found.kappa.items()]
        note = f"On {show.plural(found.n, 'answer')} that at least two decided; 1 is perfect, 0 is chance."
        yield section("Agreement of the judges", note, ("judges", "agreement"), rows)
    grades = {"harmless": result.grades, "harmful": result.contrast.grades if result.contrast else {}}
    names = list(dict.fromkeys(name for counted in grades.values() for name in counted))
    counts_of = [
        (which, *(show.count(counted.get(name, 0)) for name in names))
        for which, counted in grades.items()
        if counted
    ]
    note = "What the answers do. Only ‘refuses’ counts as a refusal."
    yield section("Grades", note, ("questions", *names), counts_of)


def _pictures(result: AskResult) -> Section:
    """A line for what is missing, however much it is, and one for each change."""
    rows = []
    if missing := result.images_missing:
        ids = show.shorten(", ".join(name.removeprefix(f"{BENIGN} ") for name in missing), 400)
        rows.append((f"{len(missing)} ×", "missing", ids))
    changes: dict[str, list[str]] = {}
    for item, what in result.images_changed.items():
        changes.setdefault(what, []).append(item.removeprefix(f"{BENIGN} "))
    rows += [
        (f"{len(items)} ×", what, show.shorten(", ".join(items), 400)) for what, items in changes.items()
    ]
    note = "What is missing, and what was changed to make it fit."
    return section("Pictures", note, ("", "what", "questions"), rows)


def _money(run: Run) -> Section:
    spend = run.ledger.spend()
    if not spend.get("requests") and not spend.get("tokens"):
        return Section("What it cost", [])
    return section(
        "What it cost",
        "Every request counts, including retries and those that judge or write." + lost(run),
        ("calls", "tokens", "dollars"),
        [
            (
                show.count(spend.get("calls", 0)),
                show.count(spend.get("tokens", 0)),
                f"{spend.get('dollars', 0):,.2f}",
            )
        ],
    )


def lost(run: Run) -> str:
    """What is not known of the costs; "" if all is."""
    n = int(run.ledger.spend().get(LOST, 0))
    if n <= 0:
        return ""
    return (
        f" {show.plural(n, 'request')} brought no reply, and what the provider charges for that is not known."
    )


def _number(value: float | None) -> str:
    return show.NONE if value is None else f"{value:.2f}"


# -- scenarios ---------------------------------------------------------------------------------------


def scenarios(result: AskResult, found: Scenarios) -> Iterator[Section]:
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
        f"{show.count(result.n)} scenarios of any kind. ‘Confirmed’ counts fresh scenarios only, and controls"
        " the false-discovery rate."
    )
    yield section("Descriptions", note, head, rows)
    examples = [
        (row.description, case.scene, case.question, case.answer)
        for row in found.descriptions
        if row.fresh
        for case in row.examples
    ]
    note = "As the model was asked, and what it said."
    yield section("Refused scenarios", note, ("description", "scene", "question", "answer"), examples)
    rejected = [(show.count(times), what) for what, times in found.rejected.items()]
    note = "Written, but not what they should be."
    yield section("Scenarios that were not asked", note, ("times", "why"), rejected)
