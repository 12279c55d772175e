"""The report of a run of `mine`: systematic failures with examples, the encoder's scale, the mined pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from weakspot.report import format as show
from weakspot.report.chart import axis
from weakspot.report.mine_facts import Example, Mined, Row, gather
from weakspot.report.mine_figures import mine_figures
from weakspot.report.people.tables import people
from weakspot.report.plain import _plain
from weakspot.report.shell import ALONE, Part, Place
from weakspot.report.shell import part as shell_part
from weakspot.report.words import _table, escape
from weakspot.store import Run
from weakspot.text.llm_answers import Answers

#: Mined pairs in the table.
LISTED: Final = 40
#: What the kinds of pairs are called.
KINDS: Final = {"edited": "captions edited by rule", "written": "written by the language model"}


class Table(NamedTuple):
    """A table of the report."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def summary(run: Run) -> dict[str, Any]:
    """Plain values under stable keys: what report.json holds and `--json` prints."""
    told, config = gather(run), run.config
    tallies = run.ledger.tallies().values()
    values = {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(run.folder),
        "state": run.state,
        "created": config.created,
        "conclusion": conclusion(told),
        "settings": dict(config.settings),
        "threshold": told.mined.get("threshold"),
        "baselines": [_plain_row(row) for row in told.bases],
        "findings": [f.to_json() for f in run.findings],
        "categories": [_plain_row(row) for row in told.rows],
        "measures": told.facts["scores"],
        "mined": {k: v for k, v in told.mined.items() if k != "threshold"} or None,
        "language_model": _model(told),
        "grounded": told.facts["grounded"],
        "downstream": told.facts["downstream"],
        "unmeasured": told.facts["unmeasured"] or {},
        "note": told.facts["note"] or "",
        "trials": {"drawn": sum(t.drawn for t in tallies), "errors": sum(t.errors for t in tallies)},
        "errors": [{"what": what, "times": times} for what, times in run.ledger.errors()],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in run.ledger.spend().items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }
    plain: dict[str, Any] = _plain(values)
    return plain


def _plain_row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "text": row.text,
        "kind": row.kind,
        "mined": row.mined,
        "state": row.state,
        "rate": row.rate._asdict(),
        "fresh": row.fresh,
        "relevance": None if row.relevance is None else row.relevance._asdict(),
        "changes": [change._asdict() for change in row.changes],
        "examples": {
            "mined": [e._asdict() for e in row.found],
            "alike": [e._asdict() for e in row.failing],
            "told_apart": [e._asdict() for e in row.passing],
        },
    }


def _model(told: Mined) -> dict[str, Any] | None:
    """What was had of the language model, and what was not."""
    if not told.run.config.settings.get("llm"):
        return None
    named, written = told.facts["named"] or {}, told.facts["written"] or {}
    naming = Answers(**named["answers"]) if named.get("answers") else Answers()
    rows = [
        {
            "name": row["name"],
            "pairs": len(row["pairs"]),
            "dropped": row["dropped"],
            "answers": row["answers"],
        }
        for row in written.values()
    ]
    calls = {
        k: sum(r["answers"][k] for r in rows)
        for k in ("calls", "read", "refused", "empty", "unreadable", "failed")
    }
    return {
        "named": len(named.get("failures", [])),
        "naming": str(naming) if naming.calls else "",
        "errors": [*naming.errors, *(e for r in rows for e in r["answers"]["errors"])][:5],
        "note": named.get("note", ""),
        "writing": calls,
        "written": rows,
    }


def conclusion(told: Mined) -> str:
    """The result in a few sentences."""
    settings = told.run.config.settings
    who = show.shorten(str(settings.get("encoder")), 80)
    if not told.mined:
        return f"{who} has not been looked at yet."
    mined = told.mined
    text = (
        f"{show.plural(len(mined['pairs']), 'pair')} that it takes for alike and the reference tells apart "
        f"were mined from {show.count(mined['texts'])} texts."
    )
    if told.facts["note"]:
        return f"{who} cannot embed new texts, so nothing was measured on new pairs. {text}"
    if not told.confirmed:
        return f"No systematic failure of {who} was confirmed on new pairs. {text}"
    named = ", ".join(
        f"{show.shorten(r.name, 60)} ({show.percent(r.rate.value)})" for r in told.confirmed[:5]
    )
    more = f" and {len(told.confirmed) - 5} more" if len(told.confirmed) > 5 else ""
    base = f", against {show.percent(told.bases[0].rate.value)} of edits at random" if told.bases else ""
    failures = show.plural(len(told.confirmed), "systematic failure")
    return f"{failures} of {who}, confirmed on new pairs: {named}{more} are taken for alike{base}. {text}"


def tables(told: Mined) -> list[Table]:
    """The tables, as far as there is anything."""
    found = [_categories(told)] if told.rows or told.bases else []
    for name in (_measures, _listed, _scale, _asked, _grounded, _downstream):
        table = name(told)
        if table is not None:
            found.append(table)
    return found


def _categories(told: Mined) -> Table:
    rows = [
        (
            show.shorten(row.name, 120),
            KINDS.get(row.kind, "baseline"),
            show.rate(row.rate),
            show.times(row.finding.lift) if row.finding is not None else show.NONE,
            row.state if row.kind in KINDS else "",
            show.count(row.mined) if row.kind in KINDS else "",
        )
        for row in (*told.rows, *told.bases)
    ]
    missing = [
        (show.shorten(str(name), 120), "", str(why), "", "not measured", "")
        for name, why in (told.facts["unmeasured"] or {}).items()
    ]
    note = (
        "How often new pairs are taken for alike although they differ. Confirmed: more often than captions "
        "with any word replaced, and than captions at random, on pairs that took no part in finding it."
    )
    head = ("the two texts differ in", "pairs", "taken for alike", "× baseline", "state", "mined pairs")
    return Table("Categories", note, head, rows + missing)


def _measures(told: Mined) -> Table | None:
    measures = told.facts["scores"]
    if not measures:
        return None
    rows = [("quantity", show.plural(measures["quantity"], "systematic failure"))]
    if measures["success"] is not None:
        rows.append(("success", f"{show.percent(measures['success'])} of new pairs, the mean over failures"))
    if measures["relevance"] is not None:
        share = measures["relevance"]
        ends = show.interval(share["low"], share["high"])
        by = show.shorten(str(measures["by"]), 80)
        rows.append(
            ("relevance", f"{show.percent(share['value'])} {ends} of {share['n']:,} new pairs, by {by}")
        )
    return Table("Quantity, success, relevance", "As the published method has them.", ("what", "value"), rows)


def _listed(told: Mined) -> Table | None:
    pairs = told.mined.get("pairs", [])
    if not pairs:
        return None
    rows = [
        (
            show.shorten(p["first"], 200),
            show.shorten(p["second"], 200),
            f"{p['tested']:.3f}",
            f"{p['reference']:.3f}",
            p["category"],
        )
        for p in pairs[:LISTED]
    ]
    struck = ", ".join(f"{show.count(n)} {why}" for why, n in told.mined["struck"].items() if n)
    note = f"The most alike first; {len(pairs):,} of {told.mined['candidates']:,} candidates."
    note += f" Passed over: {struck}." if struck else ""
    return Table("Mined pairs", note, ("text", "text", "encoder", "reference", "category"), rows)


def _scale(told: Mined) -> Table | None:
    if not told.mined:
        return None
    how, rule = told.mined["threshold"], told.mined["rule"]
    rows = [("alike is above", f"{how['value']:.4f} ({how['how']})")]
    if how["how"] == "calibrated":
        rows.append(("random pairs", f"{show.level(how['share'])} are below {how['random']:.4f}"))
        if how["reworded"] is not None:
            rows.append(("captions reworded", f"95 % are above {how['reworded']:.4f}"))
    apart = (
        f"below {rule['below']:.4f}" if rule["below"] is not None else f"lower by more than {rule['gap']:g}"
    )
    rows.append(("mined above", f"{rule['above']:.4f}"))
    rows.append(("told apart by the reference", apart))
    note = "Calibrated: nearer than nearly all random pairs, and as near as captions that were only reworded."
    return Table("Threshold", note, ("what", "value"), rows)


def _asked(told: Mined) -> Table | None:
    model = _model(told)
    if model is None:
        return None
    rows = [("failures named", f"{model['named']}; {model['naming'] or 'no answers'}")]
    rows += [(show.shorten(row["name"], 80), f"{row['pairs']} pairs written") for row in model["written"]]
    counts = ", ".join(f"{n} {what}" for what, n in model["writing"].items() if n)
    rows += [("calls for pairs", counts or "none")]
    rows += [
        ("could not be had", show.shorten(text, 300)) for text in (model["note"], *model["errors"]) if text
    ]
    return Table("Language model", "What it gave, and what it did not.", ("what", "value"), rows)


def _grounded(told: Mined) -> Table | None:
    found = told.facts["grounded"]
    if not found:
        return None
    rows = [
        (
            show.shorten(row["name"], 60),
            row["category"],
            f"{show.percent(row['rate'])} {show.interval(row['low'], row['high'])}",
            show.count(row["pairs"]),
            row["sight"],
        )
        for row in found["rows"]
    ]
    note = (
        "How often the picture is nearer its own caption than the changed one; 50 % is blind. This needs no "
        f"reference. {show.count(found['images'])} pictures; the caption of another picture is told apart "
        f"{show.percent(found['control']['rate'])} of the time."
    )
    return Table("With pictures", note, ("change", "category", "prefers its caption", "pairs", "sight"), rows)


def _downstream(told: Mined) -> Table | None:
    found = told.facts["downstream"]
    if not found or not found["n"]:
        return None
    ends = show.interval(found["low"], found["high"])
    rows = [("pairs that fail", f"{show.percent(found['rate'])} {ends} of {found['n']:,}")]
    note = "Both texts of failing pairs were drawn; a pair fails if a picture shows the other text, or none."
    return Table("Downstream", note, ("what", "value"), rows)


def markdown(run: Run) -> str:
    """The report as Markdown."""
    told = gather(run)
    blocks = [
        f"# mine · {escape(run.config.subject, 160)}",
        f"**{escape(conclusion(told), 1500)}**",
        f"{escape(run.state)} · begun {escape(show.date(run.config.created))}",
    ]
    for table in tables(told):
        blocks += [f"## {table.title}", escape(table.note, 500), _table(table.head, table.rows)]
    for row in told.confirmed:
        blocks += [
            f"## {escape(row.name, 120)}",
            _table(("taken for alike", "", "similarity"), _pairs(row.failing)),
        ]
    return "\n\n".join(blocks) + "\n"


def _pairs(examples: Sequence[Example]) -> list[tuple[str, ...]]:
    return [
        (
            show.shorten(e.first, 200),
            show.shorten(e.second, 200),
            "" if e.tested is None else f"{e.tested:.3f}",
        )
        for e in examples
    ]


def part(run: Run, *, place: Place = ALONE) -> Part:
    """The part of a page."""
    told = gather(run)
    scale = axis([row.rate for row in (*told.rows, *told.bases)])
    return shell_part(
        "mine.html.j2",
        place=place,
        people=people(run),
        plots=mine_figures(told),
        config=run.config,
        folder=str(run.folder),
        title=str(run.config.settings.get("encoder", "")),
        conclusion=conclusion(told),
        state=run.state.partition(":")[0],
        reason=run.state.partition(":")[2].strip(),
        resume=show.shell(["weakspot", "resume", str(run.folder)]),
        note=told.facts["note"] or "",
        scale=scale,
        base=scale.bar(told.bases[0].rate) if told.bases else None,
        rows=[(row, scale.bar(row.rate)) for row in told.rows],
        tables=tables(told),
        settings=list(run.config.settings.items()),
    )
