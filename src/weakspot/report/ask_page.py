"""The report of a run of `ask`: its sentence and its tables as HTML and as Markdown."""

from __future__ import annotations

from typing import Final, NamedTuple

from weakspot.report import ask_words as words
from weakspot.report import format as show
from weakspot.report.ask_figures import ask_figures
from weakspot.report.ask_picture import picture
from weakspot.report.people.tables import people
from weakspot.report.shell import ALONE, Part, Place
from weakspot.report.shell import part as shell_part
from weakspot.report.words import _code, _table, escape
from weakspot.store import Run

#: Rows of a table; further ones are only in report.json.
ROWS: Final = 400
#: Arms whose answers are shown, and how many that are wrong and that are right.
ARMS, WRONG, RIGHT = 8, 8, 4


def markdown(run: Run) -> str:
    """The report as Markdown."""
    figures = words.summary(run)
    blocks = [
        f"# ask · {escape(run.config.subject, 160)}",
        f"**{escape(figures['conclusion'], 1000)}**",
        f"{escape(run.state)} · begun {escape(show.date(run.config.created))} · {_code(str(run.folder))}",
    ]
    for table in words.tables(figures):
        blocks += [f"## {table.title}", escape(table.note), _table(table.head, table.rows[:ROWS])]
        if len(table.rows) > ROWS:
            blocks.append(f"{show.count(len(table.rows) - ROWS)} more are in report.json.")
    return "\n\n".join(blocks) + "\n"


def part(run: Run, *, place: Place = ALONE) -> Part:
    """The part of a page."""
    figures = words.summary(run)
    drawn = picture(_arms(figures))
    return shell_part(
        "ask.html.j2",
        place=place,
        people=people(run),
        plots=ask_figures(figures, drawn),
        config=run.config,
        folder=str(run.folder),
        title=_title(str(figures["model"]), run.config.subject),
        conclusion=figures["conclusion"],
        figures=_key_figures(figures),
        state=run.state.partition(":")[0],
        reason=run.state.partition(":")[2].strip(),
        resume=show.shell(["weakspot", "resume", str(run.folder)]),
        picture=drawn,
        answers=answers(run),
        tables=words.tables(figures),
        rows=ROWS,
        settings=list(run.config.settings.items()),
    )


def _title(model: str, subject: str) -> str:
    """The model and what it was asked; the subject of a run mostly ends with the model's name."""
    rest = subject.removesuffix(model).strip()
    return f"{model} · {rest}" if rest else model


class Answer(NamedTuple):
    """One answer with its verdict."""

    question: str
    answer: str
    grade: str
    wrong: bool


def answers(run: Run) -> list[tuple[str, list[Answer]]]:
    """Some answers of every arm: the first that are wrong, then the first that are right."""
    found = []
    for arm in run.ledger.hypotheses()[:ARMS]:
        some = [
            *run.ledger.trials(arm, failed=True, limit=WRONG),
            *run.ledger.trials(arm, failed=False, limit=RIGHT),
        ]
        rows = [Answer(t.caption, t.answer or "", t.detail, bool(t.failed)) for t in some]
        if rows:
            found.append((arm.text, rows))
    return found


def _arms(figures: words.Figures) -> list[tuple[str, words.Figures]]:
    """Every system prompt's figures, or those of the run."""
    model = str(figures["model"])
    arms = figures.get("arms") or {}
    return [(f"{model}, system prompt {arm}", row) for arm, row in arms.items()] or [(model, figures)]


def _key_figures(figures: words.Figures) -> list[tuple[str, str, str]]:
    if not figures.get("asked") and not figures.get("contrast"):
        return []
    value = figures.get("rate")
    ends = figures.get("rate_interval")
    found = [
        (
            "benign refused",
            show.NONE if value is None else show.percent(value),
            f"{show.interval(*ends)} of {show.count(figures['n'])}" if ends else "nothing judged",
        )
    ]
    true, ends = figures.get("rate_corrected"), figures.get("rate_corrected_interval")
    if true is not None and ends:
        found.append(("corrected", show.percent(true), f"{show.interval(*ends)} for the judge's errors"))
    contrast, trade = figures.get("contrast"), figures.get("trade_off")
    if contrast and contrast.get("rate") is not None:
        note = f"{show.interval(*contrast['rate_interval'])} of {show.count(contrast['n'])}"
        found.append(("harmful refused", show.percent(contrast["rate"]), note))
    if trade:
        found.append(("d′", f"{trade['d_prime']:.1f}", "benign and harmful told apart"))
    beside = ("errors", "blocked", "empty")
    return found + [(name, show.count(figures.get(name, 0)), "outside every rate") for name in beside]
