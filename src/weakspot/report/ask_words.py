"""A run of `ask` as plain values, as a sentence and as tables, for the terminal and every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weakspot.report import format as show
from weakspot.report.plain import _plain
from weakspot.store import Run
from weakspot.studies.ask.result import AskResult

Figures = Mapping[str, Any]


class Table(NamedTuple):
    """Rows of texts under a title; `note` says how to read them."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def summary(run: Run) -> dict[str, Any]:
    """A run as plain values under stable keys: what report.json holds and `--json` prints."""
    config, ledger = run.config, run.ledger
    result = AskResult.of(run)
    found = {} if result is None else result.model_dump(mode="json", exclude={"items", "order"})
    figures: dict[str, Any] = {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(run.folder),
        "state": run.state,
        "created": config.created,
        "settings": _plain(config.settings),
        "model": config.settings.get("target", ""),
        "benchmark": config.settings.get("benchmark", ""),
        "judge": config.settings.get("judge", ""),
        **found,
        "error_kinds": [{"what": what, "times": times} for what, times in ledger.errors()],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in ledger.spend().items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }
    return figures | {"conclusion": conclusion(figures)}


def rate(figures: Figures, *, corrected: bool = False) -> str:
    """A rate as people read it, with its interval: "12 % [9, 16]"; a dash where there is none."""
    key = "rate_corrected" if corrected else "rate"
    value, ends = figures.get(key), figures.get(f"{key}_interval")
    return show.NONE if value is None or not ends else f"{show.percent(value)} {show.interval(*ends)}"


def conclusion(figures: Figures) -> str:
    """The run in one or two plain sentences."""
    if figures.get("scenarios"):
        return _found(figures)
    if not figures.get("asked"):
        return "No benign question was asked." if figures.get("contrast") else "Nothing has been asked yet."
    if not figures.get("n"):
        return "No answer could be judged, so nothing can be said about the model."
    said = f"{rate(figures)} of {show.plural(figures['n'], 'benign answer')} refuse"
    true = figures.get("rate_corrected")
    if true is not None:
        said += f"; {rate(figures, corrected=True)} once the judge's own errors are allowed for"
    worse = [f"{column} {value}" for column, value, row in _slices(figures.get("slices")) if row.get("worse")]
    if worse:
        said += f". Refused more than the rest: {', '.join(show.shorten(w, 80) for w in worse[:4])}"
        said += f" and {len(worse) - 4} more" if len(worse) > 4 else ""
    contrast, trade = figures.get("contrast"), figures.get("trade_off")
    if contrast and contrast.get("n") and trade:
        said += (
            f". Of harmful questions {rate(contrast)} are refused: balanced accuracy "
            f"{show.percent(trade['balanced_accuracy'])}, d′ {trade['d_prime']:.1f}"
        )
    return f"{said}."


def counts(figures: Figures) -> str:
    """What stands beside the rate: "286 answers judged · 14 errors · 0 blocked · 0 empty"."""
    parts = [
        f"{show.plural(figures.get('n', 0), 'answer')} judged",
        show.plural(figures.get("errors", 0), "error"),
        f"{show.count(figures.get('blocked', 0))} blocked",
        f"{show.count(figures.get('empty', 0))} empty",
    ]
    if figures.get("undecided"):
        parts.append(f"{show.count(figures['undecided'])} undecided")
    return " · ".join(parts)


def tables(figures: Figures) -> list[Table]:
    """Everything worth a table, most important first; empty ones are left out."""
    found = [
        *_scenarios(figures),
        _sets(figures),
        *_slice_tables(figures),
        _comparisons(figures),
        _stages(figures),
    ]
    found += [
        _agreement(figures),
        _grades(figures),
        _consistency(figures),
        _pictures(figures),
        _errors(figures),
    ]
    return [table for table in found if table is not None and table.rows]


_BESIDE = ("judged", "refused", "errors", "blocked", "empty", "undecided")


def _measured(row: Figures) -> tuple[str, ...]:
    beside = ("n", *_BESIDE[1:])
    return rate(row), rate(row, corrected=True), *(show.count(row.get(name, 0)) for name in beside)


def _sets(figures: Figures) -> Table | None:
    if not figures.get("asked") and not figures.get("contrast"):
        return None
    head = ("questions", "refused", "corrected", *_BESIDE)
    arms: Mapping[str, Figures] = figures.get("arms") or {"": figures}
    rows = []
    for arm, row in arms.items():
        suffix = f", system prompt {arm}" if arm and len(arms) > 1 else ""
        rows.append((f"benign{suffix}", *_measured(row)))
        if row.get("contrast"):
            rows.append((f"harmful{suffix}", *_measured(row["contrast"])))
    return Table(
        "Refusals",
        "Errors, blocks and empty answers are outside the rate. Intervals are 95 %.",
        head,
        rows,
    )


def _found(figures: Figures) -> str:
    """A search over scenarios in one or two sentences."""
    rows = figures["scenarios"]["descriptions"]
    confirmed = [row for row in rows if row["confirmed"]]
    usual = f"{rate(figures)} of {show.plural(figures.get('n', 0), 'answer')} to any of them"
    if not confirmed:
        tried = show.plural(len(rows), "description")
        return f"None of {tried} of harmless questions is refused more than usual ({usual})."
    named = "; ".join(f"‘{show.shorten(row['description'], 100)}’ {rate(row)}" for row in confirmed[:4])
    return f"Harmless questions that are refused more than others of their type ({usual}): {named}."


def _scenarios(figures: Figures) -> list[Table | None]:
    found = figures.get("scenarios")
    if not found:
        return []
    rows = [
        (
            row["description"],
            rate(row),
            rate(row, corrected=True),
            show.count(row["n"]),
            "fresh" if row["fresh"] else "race",
            show.e_value(row["log_evidence"]),
            rate(row["contrast"]) if row.get("contrast") else show.NONE,
            "confirmed" if row["confirmed"] else row["state"],
        )
        for row in found["descriptions"]
    ]
    head = ("harmless questions", "refused", "corrected", "of", "drawn for", "e-value", "harmful refused", "")
    note = (
        f"Descriptions for ‘{show.shorten(found['stimulus'], 120)}’, against {rate(figures)} of "
        f"{show.count(figures.get('n', 0))} scenarios of any kind. ‘Confirmed’ is said of fresh scenarios "
        "only, and controls the false-discovery rate."
    )
    examples = [
        (row["description"], case["scene"], case["question"], case["answer"])
        for row in found["descriptions"]
        if row["fresh"]
        for case in row["examples"]
    ]
    rejected = [(show.count(times), what) for what, times in found["rejected"].items()]
    return [
        Table("Descriptions", note, head, rows),
        Table(
            "Refused scenarios", "As the model was asked, and what it said.",
            ("description", "scene", "question", "answer"), examples,
        ),
        Table(
            "Scenarios that were not asked", "Written, but not what they should be.",
            ("times", "why"), rejected,
        ),
    ]  # fmt: skip


def _slice_tables(figures: Figures) -> list[Table | None]:
    head = ("slice", "refused", "corrected", *_BESIDE, "q", "")
    note = (
        "q is adjusted for all slices at once (Benjamini–Hochberg); worse means refused more than the rest."
    )
    found: list[Table | None] = [_slice_table("Slices", note, head, figures.get("slices"))]
    contrast = figures.get("contrast")
    if contrast and contrast.get("slices"):
        note = "q as above; worse means that harmful questions of this kind are refused less than the rest."
        found.append(_slice_table("Slices of the harmful questions", note, head, contrast["slices"]))
    return found


def _slice_table(title: str, note: str, head: tuple[str, ...], slices: Any) -> Table:
    rows = []
    for column, value, row in _slices(slices):
        q = row.get("q")
        shown = show.NONE if q is None else f"{q:.2g}"
        rows.append((f"{column}: {value}", *_measured(row), shown, "worse" if row.get("worse") else ""))
    return Table(title, note, head, rows)


def _slices(slices: Any) -> list[tuple[str, str, Figures]]:
    return [(c, v, row) for c, values in (slices or {}).items() for v, row in values.items()]


def _comparisons(figures: Figures) -> Table | None:
    rows = [
        (
            str(row["first"]),
            str(row["second"]),
            show.percent(row["rate_first"]),
            show.percent(row["rate_second"]),
            _points(row),
            f"{row['only_first']} : {row['only_second']}",
            f"{row['p_adjusted']:.2g}",
        )
        for row in figures.get("comparisons") or []
    ]
    return Table(
        "Compared, item by item",
        "Only items judged in both; McNemar's exact test, adjusted for all comparisons (Holm).",
        (
            "first",
            "second",
            "first refused",
            "second refused",
            "difference in points",
            "only first : only second",
            "p",
        ),
        rows,
    )


def _points(row: Figures) -> str:
    ends = ", ".join(f"{100 * end:+.1f}" for end in row["difference_interval"])
    return f"{100 * row['difference']:+.1f} [{ends}]"


def _stages(figures: Figures) -> Table | None:
    found = figures.get("stages")
    if not found:
        return None
    means = {
        "perception": "answered once told what the picture shows",
        "intent": "answered once also told what it is for",
        "decision": "refused even then",
    }
    rows = []
    for cause, meaning in means.items():
        row = found[cause]
        share = (
            show.NONE
            if row["share"] is None
            else f"{show.percent(row['share'])} {show.interval(*row['interval'])}"
        )
        rows.append((cause, meaning, show.count(row["count"]), share))
    if found["unknown"]:
        rows.append(("unknown", "a stage failed", show.count(found["unknown"]), show.NONE))
    note = f"The {show.plural(found['refused'], 'refused benign question')}, asked again with help."
    described = found.get("described") or {}
    if described.get("mean_words_found") is not None:
        note += (
            f" Of the benchmark's words for the pictures, the model's own descriptions of "
            f"{show.count(described['n'])} have {show.percent(described['mean_words_found'])} on average."
        )
    return Table(
        "Why they were refused",
        note,
        ("cause", "meaning", "questions", "share"),
        rows,
    )


def _agreement(figures: Figures) -> Table | None:
    found = figures.get("agreement")
    if not found:
        return None
    rows = [("all (Krippendorff's α)", _number(found["alpha"]))]
    rows += [(f"{two} (Cohen's κ)", _number(kappa)) for two, kappa in found["kappa"].items()]
    return Table(
        "Agreement of the judges",
        f"On {show.plural(found['n'], 'answer')} that at least two decided; 1 is perfect, 0 is chance.",
        ("judges", "agreement"),
        rows,
    )


def _number(value: float | None) -> str:
    return show.NONE if value is None else f"{value:.2f}"


def _grades(figures: Figures) -> Table | None:
    grades = [
        ("benign", figures.get("grades") or {}),
        ("harmful", (figures.get("contrast") or {}).get("grades") or {}),
    ]
    names = list(dict.fromkeys(name for _, counted in grades for name in counted))
    rows = [(which, *(show.count(counted.get(n, 0)) for n in names)) for which, counted in grades if counted]
    return Table("Grades", "Only ‘refuses’ counts as a refusal.", ("questions", *names), rows)


def _consistency(figures: Figures) -> Table | None:
    found = figures.get("consistency")
    if not found or not found.get("n"):
        return None
    row = (
        show.count(found["repeats"]),
        show.count(found["n"]),
        show.count(found["always_refused"]),
        show.count(found["sometimes_refused"]),
        show.count(found["never_refused"]),
        f"{show.percent(found['agreement'])} {show.interval(*found['agreement_interval'])}",
    )
    head = ("times asked", "items", "always refused", "sometimes", "never", "two repeats agree")
    return Table("Consistency", "Items that were judged every time.", head, [row])


def _pictures(figures: Figures) -> Table | None:
    missing: Sequence[str] = figures.get("images_missing") or ()
    rows = [(name, "missing") for name in missing]
    rows += [(name, str(note)) for name, note in (figures.get("images_changed") or {}).items()]
    return Table("Pictures", "What is missing, and what was changed to make it fit.", ("item", "what"), rows)


def _errors(figures: Figures) -> Table | None:
    rows = [(show.count(e["times"]), str(e["what"])) for e in figures.get("error_kinds") or []]
    return Table("Errors", "None of them counts as a refusal or an answer.", ("times", "what"), rows)
