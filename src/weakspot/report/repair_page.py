"""The report of a repair: what was to go, what went, what came instead; the landscape before and after."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from weakspot.core import WeakspotError
from weakspot.report import format as show
from weakspot.report import map_charts as charts
from weakspot.report.map_figures import repair_figures
from weakspot.report.people.tables import people
from weakspot.report.rare_page import Table
from weakspot.report.shell import ALONE, Part, Place
from weakspot.report.shell import part as shell_part
from weakspot.report.words import _code, _table, escape
from weakspot.store import Run, Unreachable
from weakspot.studies.repair.result import RepairResult

_KEYS: Final = ("transformed", "plain")
_SAID: Final = {
    "repaired": "The chosen weak spots fail at most half as often now; nothing else got worse beyond chance.",
    "reduced": "The chosen weak spots fail less often than before; nothing else got worse beyond chance.",
    "traded": "One failure was traded for another: something that was to stay fails more often now.",
    "not reduced": "The chosen weak spots do not fail less often, as far as these cases can tell.",
    "worse": "A chosen weak spot fails more often than before.",
}


def summary(run: Run) -> dict[str, Any]:
    """Plain values under stable keys: what report.json holds and `--json` prints."""
    config, known = run.config, RepairResult.of(run)
    return {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(run.folder),
        "state": run.state,
        "created": config.created,
        "conclusion": conclusion(run),
        "settings": dict(config.settings),
        "result": _told(run),
        "training": None if known is None else known.training,
        "parts": {} if known is None else known.parts,
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }


def _told(run: Run) -> dict[str, Any] | None:
    known = RepairResult.of(run)
    return None if known is None else known.told


def conclusion(run: Run) -> str:
    """The result in a few sentences."""
    result = _told(run)
    if result is None:
        return "The repair is not finished."
    if result["method"] == "data":
        made = result["data"]
        many = f"{show.count(made['pictures'])} {made.get('kind', 'pictures')}"
        return f"A data set of {many} was written, for a trainer of your own. Nothing was trained or proved."
    first = result["chosen"][0]
    text = f"{_SAID[result['verdict']]} "
    text += f"{show.shorten(first['words'], 120)}: {told_change(first)}. "
    text += f"As they are: {told_change(result['clean'])}."
    if result["verdict"] == "traded":
        worse = [row for row in stayed(result) if row["increased"]]
        text += (
            " Worse now: "
            + "; ".join(f"{show.shorten(row['words'], 80)} {told_change(row)}" for row in worse[:3])
            + "."
        )
    return text


def stayed(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All that was to stay as it is: other modes, the inputs as they are, what the landscape says."""
    found = [*result["others"], result["clean"], result.get("elsewhere"), *result.get("new", [])]
    return [row for row in found if row is not None]


def told_change(row: Mapping[str, Any]) -> str:
    """Rates before and after with the interval of their difference, in points."""
    n = max(row["n"], 1)
    ends = f"[{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]".replace("-", "−")
    rates = f"{show.percent(row['before'] / n)} → {show.percent(row['after'] / n)}"
    return f"{rates} {ends} of {show.count(row['n'])}"


def tables(run: Run) -> list[Table]:
    """The tables, as far as there is a result."""
    result = _told(run)
    if result is None or result["method"] == "data":
        return []
    head = (
        "which",
        "where",
        "failed before",
        "failed after",
        "difference in points",
        "removed",
        "newly made",
        "p",
    )
    rows = [_row(f"mode {row['number']}", row) for row in result["chosen"]]
    others = [_row(f"other {row['number'] or ''}".strip(), row) for row in result["others"]]
    more = [_row("elsewhere", row) for row in [result.get("elsewhere")] if row is not None]
    more += [_row("new mode?", row) for row in result.get("new", [])]
    unseen = "" if more else " The rest of the landscape was not measured: nothing is known of it."
    found = [
        Table(
            "What was to be repaired",
            "The same cases before and after, each picture once; none was used to search or to train. "
            "The interval is Tango's for 95 %, the p-value McNemar's, adjusted over the rows (Holm).",
            head,
            rows,
        ),
        Table(
            "What was to stay",
            "Other weak spots of the run, the inputs as they are, all cells of the landscape that were not "
            "to be repaired (counted by picture), and places that look like new modes, on inputs that did "
            f"not help to find them. A rise here beyond chance is a trade.{unseen}",
            head,
            [*others, _row("clean", result["clean"]), *more],
        ),
    ]
    if landscape := result["landscape"]:
        found += _landscape(landscape)
    if bias := result.get("bias"):
        found.append(_bias(bias))
    training = result["training"]
    found.append(
        Table(
            "Training",
            "Validation inputs are a part of the repair inputs that took no part in training.",
            ("what", "value"),
            [
                ("method", str(result["method"])),
                ("numbers trained", show.count(training["parameters"])),
                ("last layer", training["layer"] or "(all)"),
                (str(training.get("kind", "pictures")), show.count(training["pictures"])),
                ("rounds", _rounds(training)),
                ("seconds", f"{training['seconds']:.0f}"),
                *_validated(training),
                *_lost(result),
                ("model", show.shorten(str(result["model"]), 300)),
            ],
        )
    )
    texts = [row for row in result.get("shown", []) if "text" in row]
    if texts:
        found.append(
            Table(
                "Inputs whose answer changed",
                "Of the verification part: some that are right now, and some that are wrong now.",
                ("which", "input", "before", "after", "where"),
                [
                    (
                        "newly wrong" if row["made"] else "right now",
                        show.shorten(row["text"], 400),
                        show.shorten(str(row["before"]), 120),
                        show.shorten(str(row["after"]), 120),
                        show.shorten(row["words"], 80),
                    )
                    for row in texts
                ],
            )
        )
    return found


def _bias(bias: Mapping[str, Any]) -> Table:
    """How often each value of the attribute was seen in the repaired modes, and how far from wanted."""
    total = sum(bias["wanted"]) or 1.0
    rows = []
    for i, value in enumerate(bias["attribute"]):
        shares = [
            show.percent(bias[when]["counts"][i] / max(sum(bias[when]["counts"]), 1))
            for when in ("before", "after")
        ]
        rows.append((show.shorten(value, 80), show.percent(bias["wanted"][i] / total), *shares))
    apart = [
        f"{bias[when]['apart']:.2f} [{bias[when]['low']:.2f}, {bias[when]['high']:.2f}]"
        for when in ("before", "after")
    ]
    return Table(
        "Bias in the repaired modes",
        "How often each value was seen in pictures of the same prompts and noise, against what is wanted. "
        "The last row is the total variation, 0 where the wanted shares are met.",
        ("value", "wanted", "before", "after"),
        [*rows, ("total variation", "0", *apart)],
    )


def _rounds(training: Mapping[str, Any]) -> str:
    each = f" of {training['round']}" if "round" in training else ""
    return f"{training['epochs']}{each}, best: {training['best']}"


def _validated(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Validation before and after, as far as the training had rounds."""
    curve, words = training["curve"], training.get("watched", ("transformed", "as they are"))
    if not curve:
        return []
    kept = next((row for row in curve if row["epoch"] == training["best"]), curve[0])
    return [
        (
            f"validation {when}",
            ", ".join(f"{show.percent(row[k])} {w}" for k, w in zip(_KEYS, words, strict=True)),
        )
        for when, row in (("before", curve[0]), ("after", kept))
    ]


def _lost(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Cases that are no pairs, as where a transformation leaves nothing of a picture."""
    lost = result.get("errors", 0)
    return [("cases of the proof without a verdict, left out", show.count(lost))] if lost else []


def _landscape(found: Mapping[str, Any]) -> list[Table]:
    how = "over all axes" if found["exact"] else "the largest over single axes, as the space is large"
    rows = [
        ("pairs", show.count(found["n"])),
        ("mean rate", f"{show.percent(found['rate_before'])} → {show.percent(found['rate_after'])}"),
        ("failures removed", show.count(found["removed"])),
        ("failures newly made", show.count(found["made"])),
        (f"Wasserstein distance, {how}", f"{found['distance']:.4f}"),
        (
            "p of a distance this large by chance",
            "not computed" if found["p"] is None else f"{found['p']:.2g}",
        ),
        ("distance of the sorted rates, wherever they are", f"{found['unplaced']:.5f}"),
    ]
    modes = [
        (show.shorten(mode["words"], 200), show.percent(mode["rate"]), show.count(mode["cells"]), when)
        for when, key in (("before", "modes_before"), ("after", "modes_after"))
        for mode in found[key]
    ]
    return [
        Table(
            "The landscape",
            "The same draws of all cells before and after. The distance is between the two distributions "
            "of failures: how far they moved over the concepts (an axis is 1 long), not how many are left.",
            ("what", "value"),
            rows,
        ),
        Table(
            "Modes before and after",
            f"Regions that fail at least {show.percent(found['above'])} of the time (verification pictures).",
            ("where", "at the peak", "cells", "when"),
            modes or [("none", "", "", "")],
        ),
    ]


def _row(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    n = max(row["n"], 1)
    return (
        name,
        show.shorten(row["words"], 200),
        f"{show.percent(row['before'] / n)} of {show.count(row['n'])}",
        show.percent(row["after"] / n),
        f"{100 * row['difference']:+.1f} [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]".replace(
            "-", "−"
        ),
        show.count(row["removed"]),
        show.count(row["made"]),
        f"{row['p']:.2g}",
    )


def markdown(run: Run) -> str:
    """The report as Markdown."""
    blocks = [
        f"# repair · {escape(run.config.subject, 160)}",
        f"**{escape(conclusion(run), 1200)}**",
        f"{escape(run.state)} · begun {escape(show.date(run.config.created))} · {_code(str(run.folder))}",
    ]
    for table in tables(run):
        blocks += [f"## {table.title}", escape(table.note, 500), _table(table.head, table.rows)]
    return "\n\n".join(blocks) + "\n"


def part(run: Run, *, place: Place = ALONE) -> Part:
    """The part of a page."""
    result = _told(run)
    return shell_part(
        "repair.html.j2",
        place=place,
        people=people(run),
        plots=[] if result is None else repair_figures(result),
        config=run.config,
        folder=str(run.folder),
        title=f"repair · {run.config.subject}",
        conclusion=conclusion(run),
        verdict="" if result is None else result["verdict"],
        state=run.state.partition(":")[0],
        reason=run.state.partition(":")[2].strip(),
        resume=show.shell(["weakspot", "resume", str(run.folder)]),
        tables=tables(run),
        shown=[] if result is None else _pictures(run, result),
        settings=list(run.config.settings.items()),
    )


def learning(curve: Sequence[Mapping[str, float]], best: int) -> Markup:
    """Validation failures per round, transformed and as they are; the round that was kept is marked."""
    wide, high, left, foot = 460, 200, 56, 30
    last = max(1, int(curve[-1]["epoch"]))
    most = max(max(row["transformed"], row["plain"]) for row in curve) or 1.0

    def at(row: Mapping[str, float], key: str) -> tuple[float, float]:
        x = left + (wide - left - 10) * row["epoch"] / last
        return x, high - foot - (high - foot - 18) * row[key] / most

    parts = []
    for key, ink in (("transformed", "#a81c24"), ("plain", "#2f6f9f")):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(row, key) for row in curve))
        parts.append(
            Markup('<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>').format(points, ink)
        )
        x, y = at(curve[-1], key)
        parts.append(charts._text(x, y - 5, key, "end", ink))
        chosen = next((row for row in curve if row["epoch"] == best), curve[0])
        x, y = at(chosen, key)
        parts.append(Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"/>').format(x, y, ink))
    parts += [
        charts._text(left - 6, 22, show.percent(most), "end"),
        charts._text(left - 6, high - foot + 4, "0", "end"),
        charts._text(wide - 10, high - 12, f"{last} rounds", "end"),
    ]
    return charts._svg(wide, high, "validation failures against rounds", parts)


def _pictures(run: Run, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Kept pictures whose answer changed; of a generator, what it drew before and after."""
    rows = []
    for row in result.get("shown", []):
        if "blob" not in row:
            continue
        try:
            uris = [_small(run, row[key]) for key in ("blob", "now") if key in row]
        except Unreachable:
            raise
        except (WeakspotError, OSError, ValueError):
            continue
        rows.append({**row, "uris": uris})
    return rows


def _small(run: Run, blob: str) -> str:
    """A kept picture as a small one that a page can hold."""
    import base64

    from PIL import Image

    image = Image.open(io.BytesIO(run.blobs.get(blob))).convert("RGB")
    image.thumbnail((160, 160))
    file = io.BytesIO()
    image.save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
