"""How a repair is told: what was to go, what went, what came instead; the landscape before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from weakspot.report import format as show
from weakspot.report.document import (
    Allowance,
    Block,
    Document,
    Ending,
    Html,
    Section,
    Table,
    Text,
    pairs,
    picture,
)
from weakspot.report.format import cut
from weakspot.store import Run
from weakspot.studies.repair.figures import changes, landscapes, rounds
from weakspot.studies.repair.result import RepairResult

_KEYS: Final = ("transformed", "plain")
_SAID: Final = {
    "repaired": "The chosen weak spots fail at most half as often now; nothing else got worse beyond chance.",
    "reduced": "The chosen weak spots fail less often than before; nothing else got worse beyond chance.",
    "traded": "One failure was traded for another: something that was to stay fails more often now.",
    "not reduced": "The chosen weak spots do not fail less often, as far as these cases can tell.",
    "worse": "A chosen weak spot fails more often than before.",
}


class RepairDocument(Document):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.result = RepairResult.of(run)
        self.known = None if self.result is None else self.result.known

    @property
    def verdict(self) -> str:
        return "" if self.known is None else str(self.known["verdict"])

    @property
    def conclusion(self) -> str:
        return _conclusion(self.known)

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        result = self.known
        if result is None or result["method"] == "data":
            return
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
        shown = [*result["chosen"], *result["others"], result["clean"], result.get("elsewhere")]
        yield Section("Before and after", [changes([row for row in shown if row])])
        yield Section(
            "What was to be repaired",
            [Table("", "", head, rows)],
            "The same cases before and after, each picture once; none was used to search or to train. "
            "The interval is Tango's for 95 %, the p-value McNemar's, adjusted over the rows (Holm).",
        )
        yield Section(
            "What was to stay",
            [Table("", "", head, [*others, _row("clean", result["clean"]), *more])],
            "Other weak spots of the run, the inputs as they are, all cells of the landscape that were not "
            "to be repaired (counted by picture), and places that look like new modes, on inputs that did "
            f"not help to find them. A rise here beyond chance is a trade.{unseen}",
        )
        if landscape := result["landscape"]:
            yield _landscape(landscape)
        if bias := result.get("bias"):
            yield Section("Bias in the repaired modes", [_bias(bias)])
        yield _training(result)
        yield from self._changed(result, allowance)

    def _changed(self, result: Mapping[str, Any], allowance: Allowance) -> Iterable[Section]:
        """Inputs whose answer is another one now."""
        some = result.get("shown", [])
        texts = [
            (
                "newly wrong" if row["made"] else "right now",
                show.shorten(row["text"], 400),
                show.shorten(str(row["before"]), 120),
                show.shorten(str(row["after"]), 120),
                show.shorten(row["words"], 80),
            )
            for row in some
            if "text" in row
        ]
        blocks: list[Block] = []
        if texts:
            blocks.append(Table("", "", ("which", "input", "before", "after", "where"), texts))
        if pictures := _pictures(self.run, some, allowance):
            blocks.append(Html("weakspot.studies.repair:changed.html.j2", {"rows": pictures}))
        note = "Of the verification part: some that are right now, and some that are wrong now."
        yield Section("Inputs whose answer changed", blocks, note)

    def values(self) -> Mapping[str, Any]:
        return {
            "result": self.known,
            "training": None if self.result is None else self.result.training,
            "parts": {} if self.result is None else self.result.parts,
        }

    def lines(self, wide: int) -> Iterable[str]:
        result = self.known
        yield cut(self.conclusion, 3 * wide)
        if result is None:
            return
        if result["method"] == "data":
            yield f"data     {show.shell([result['data']['folder']])}"
            return
        rows = [(f"mode {row['number']}", row) for row in result["chosen"]]
        rows += [(f"other {row['number'] or ''}".strip(), row) for row in result["others"]]
        rows += [("clean", result["clean"])]
        rows += [("rest", row) for row in [result.get("elsewhere")] if row is not None]
        rows += [("new", row) for row in result.get("new", [])]
        for name, row in rows:
            yield f"{name:<8} {change(row)}  {cut(row['words'], max(wide - 60, 20))}"
        if landscape := result["landscape"]:
            yield (
                f"landscape {landscape['removed']:,} failures removed, {landscape['made']:,} newly made "
                f"in {landscape['n']:,} pairs · moved by W₁ = {landscape['distance']:.3f}"
            )
        if result["errors"]:
            yield f"left out {result['errors']:,} cases without a verdict"
        yield cut(f"model    {result['model'] or self.run.folder / 'model'}", 3 * wide)

    def ending(self) -> Ending:
        """3 when failures were not reduced, or traded."""
        good = self.known is not None and self.verdict not in ("traded", "not reduced", "worse")
        return Ending(0 if good else 3, ("report", str(self.run.folder), "--open"))


def _conclusion(result: Mapping[str, Any] | None) -> str:
    """The result in a few sentences."""
    if result is None:
        return "The repair is not finished."
    if result["method"] == "data":
        made = result["data"]
        many = f"{show.count(made['pictures'])} {made.get('kind', 'pictures')}"
        return f"A data set of {many} was written, for a trainer of your own. Nothing was trained or proved."
    first = result["chosen"][0]
    text = f"{_SAID[result['verdict']]} "
    text += f"{show.shorten(first['words'], 120)}: {change(first)}. "
    text += f"As they are: {change(result['clean'])}."
    if result["verdict"] == "traded":
        worse = [row for row in stayed(result) if row["increased"]]
        text += (
            " Worse now: "
            + "; ".join(f"{show.shorten(row['words'], 80)} {change(row)}" for row in worse[:3])
            + "."
        )
    return text


def stayed(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All that was to stay as it is: other modes, the inputs as they are, what the landscape says."""
    found = [*result["others"], result["clean"], result.get("elsewhere"), *result.get("new", [])]
    return [row for row in found if row is not None]


def change(row: Mapping[str, Any]) -> str:
    """Rates before and after with the interval of their difference, in points."""
    n = max(row["n"], 1)
    ends = f"[{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]".replace("-", "−")
    rates = f"{show.percent(row['before'] / n)} → {show.percent(row['after'] / n)}"
    return f"{rates} {ends} of {show.count(row['n'])}"


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
        "",
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


def _landscape(found: Mapping[str, Any]) -> Section:
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
    modes: list[tuple[str, ...]] = [
        (show.shorten(mode["words"], 200), show.percent(mode["rate"]), show.count(mode["cells"]), when)
        for when, key in (("before", "modes_before"), ("after", "modes_after"))
        for mode in found[key]
    ]
    figures = landscapes(found)
    reading = (
        "In the pictures, rates are averaged over the axes that are not shown; two that stand side by side "
        "have one scale. The stronger the colour, the worse."
    )
    above = f"Regions that fail at least {show.percent(found['above'])} of the time (verification pictures)."
    head = ("where", "at the peak", "cells", "when")
    return Section(
        "The landscape",
        [
            pairs(rows),
            *([Text(reading)] if figures else []),
            *figures,
            Table("Modes before and after", above, head, modes or [("none", "", "", "")]),
        ],
        "The same draws of all cells before and after. The distance is between the two distributions "
        "of failures: how far they moved over the concepts (an axis is 1 long), not how many are left.",
    )


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


def _training(result: Mapping[str, Any]) -> Section:
    training = result["training"]
    rows = [
        ("method", str(result["method"])),
        ("numbers trained", show.count(training["parameters"])),
        ("last layer", training["layer"] or "(all)"),
        (str(training.get("kind", "pictures")), show.count(training["pictures"])),
        ("rounds", _rounds(training)),
        ("seconds", f"{training['seconds']:.0f}"),
        *_validated(training),
        *_lost(result),
        ("model", show.shorten(str(result["model"]), 300)),
    ]
    blocks: list[Block] = [rounds(training["curve"], training["best"])] if training["curve"] else []
    note = "Validation inputs are a part of the repair inputs that took no part in training."
    return Section("Training", [*blocks, pairs(rows)], note)


def _pictures(run: Run, some: Sequence[Mapping[str, Any]], allowance: Allowance) -> list[dict[str, Any]]:
    """Kept pictures whose answer changed; of a generator, what it drew before and after."""
    rows = []
    for row in some:
        uris = [picture(run, row[key], allowance) for key in ("blob", "now") if key in row]
        if uris and all(uris):
            rows.append({**row, "uris": uris})
    return rows
