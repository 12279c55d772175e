"""How a repair is told: what was to go, what went, what came instead; the landscape before and after."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.cells import Axis, axis_figure, heat_figure
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
from weakspot.report.plots import Figure, Lanes, Mark
from weakspot.stats import wilson
from weakspot.store import Run
from weakspot.studies.repair.result import Bias, Change, Landscape, Proof, RepairResult, Shown, Training

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
        self.proof = None if self.result is None else self.result.proof

    @property
    def verdict(self) -> str:
        return "" if self.proof is None else self.proof.verdict

    @property
    def conclusion(self) -> str:
        if self.result is not None and (made := self.result.data) is not None:
            many = f"{show.count(made.pictures)} {made.kind}"
            return (
                f"A data set of {many} was written, for a trainer of your own. Nothing was trained or proved."
            )
        if self.proof is None:
            return "The repair is not finished."
        first = self.proof.chosen[0]
        text = f"{_SAID[self.verdict]} {show.shorten(first.words, 120)}: {_change(first)}. "
        text += f"As they are: {_change(self.proof.clean)}."
        if self.verdict == "traded":
            worse = [row for _, row in _stayed(self.proof) if row.increased]
            said = [f"{show.shorten(row.words, 80)} {_change(row)}" for row in worse[:3]]
            text += f" Worse now: {'; '.join(said)}."
        return text

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        proof = self.proof
        if proof is None or self.result is None:
            return
        first = "which", "where", "failed before", "failed after"
        head = (*first, "difference in points", "removed", "newly made", "p")
        repaired, stayed = _repaired(proof), _stayed(proof)
        measured = len(stayed) > len(proof.others) + 1
        unseen = "" if measured else " The rest of the landscape was not measured: nothing is known of it."
        shown = [row for _, row in [*repaired, *stayed] if row not in proof.new]
        yield Section("Before and after", [changes(shown)])
        yield Section(
            "What was to be repaired",
            [Table("", "", head, [_row(*one) for one in repaired])],
            "The same cases before and after, each picture once; none was used to search or to train. "
            "The interval is Tango's for 95 %, the p-value McNemar's, adjusted over the rows (Holm).",
        )
        yield Section(
            "What was to stay",
            [Table("", "", head, [_row(*one) for one in stayed])],
            "Other weak spots of the run, the inputs as they are, all cells of the landscape that were not "
            "to be repaired (counted by picture), and places that look like new modes, on inputs that did "
            f"not help to find them. A rise here beyond chance is a trade.{unseen}",
        )
        if proof.landscape is not None:
            yield _landscape(proof.landscape)
        if proof.bias is not None:
            yield Section("Bias in the repaired modes", [_bias(proof.bias)])
        if self.result.training is not None:
            yield _training(self.result, self.result.training, lost=proof.errors)
        yield self._changed(proof.shown, allowance)

    def _changed(self, some: Iterable[Shown], allowance: Allowance) -> Section:
        """Inputs whose answer is another one now; of a generator, what it drew before and after."""
        texts, pictures = [], []
        for row in some:
            uris = [picture(self.run, blob, allowance) for blob in (row.blob, row.now) if blob]
            if uris and all(uris):
                pictures.append({"uris": uris, **dict(row)})
            elif not uris:
                said = (show.shorten(str(answer), 120) for answer in (row.before, row.after))
                which = "newly wrong" if row.made else "right now"
                texts.append((which, show.shorten(row.text, 400), *said, show.shorten(row.words, 80)))
        blocks: list[Block] = []
        if texts:
            blocks.append(Table("", "", ("which", "input", "before", "after", "where"), texts))
        if pictures:
            blocks.append(Html("weakspot.studies.repair:changed.html.j2", {"rows": pictures}))
        note = "Of the verification part: some that are right now, and some that are wrong now."
        return Section("Inputs whose answer changed", blocks, note)

    def values(self) -> Mapping[str, Any]:
        plain = {} if self.result is None else self.result.plain()
        known = None if self.result is None else self.result.known
        return {"result": known, "training": plain.get("training"), "parts": plain.get("parts", {})}

    def lines(self, wide: int) -> Iterable[str]:
        proof, result = self.proof, self.result
        yield cut(self.conclusion, 3 * wide)
        if result is not None and result.data is not None:
            yield f"data     {show.shell([result.data.folder])}"
        if proof is None or result is None:
            return
        for name, row in [*_repaired(proof), *_stayed(proof, rest="rest", new="new")]:
            yield f"{name:<8} {_change(row)}  {cut(row.words, max(wide - 60, 20))}"
        if landscape := proof.landscape:
            yield (
                f"landscape {landscape.removed:,} failures removed, {landscape.made:,} newly made "
                f"in {landscape.n:,} pairs · moved by W₁ = {landscape.distance:.3f}"
            )
        if proof.errors:
            yield f"left out {proof.errors:,} cases without a verdict"
        yield cut(f"model    {result.model or self.run.folder / 'model'}", 3 * wide)

    def ending(self) -> Ending:
        """3 when failures were not reduced, or traded."""
        finished = self.result is not None and (self.result.data or self.proof)
        good = finished and self.verdict not in ("traded", "not reduced", "worse")
        return Ending(0 if good else 3, ("report", str(self.run.folder), "--open"))


def _repaired(proof: Proof) -> list[tuple[str, Change]]:
    return [(f"mode {row.number}", row) for row in proof.chosen]


def _stayed(proof: Proof, *, rest: str = "elsewhere", new: str = "new mode?") -> list[tuple[str, Change]]:
    """All that was to stay as it is: other modes, the inputs as they are, what the landscape says."""
    found: list[tuple[str, Change]] = [(f"other {row.number or ''}".strip(), row) for row in proof.others]
    found.append(("clean", proof.clean))
    if proof.elsewhere is not None:
        found.append((rest, proof.elsewhere))
    return [*found, *((new, row) for row in proof.new)]


def _ends(row: Change) -> str:
    return f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}]".replace("-", "−")


def _change(row: Change) -> str:
    """Rates before and after with the interval of their difference, in points."""
    before, after = (show.percent(failed / max(row.n, 1)) for failed in (row.before, row.after))
    return f"{before} → {after} {_ends(row)} of {show.count(row.n)}"


def _row(name: str, row: Change) -> tuple[str, ...]:
    before, after = (show.percent(failed / max(row.n, 1)) for failed in (row.before, row.after))
    points = f"{100 * row.difference:+.1f}".replace("-", "−")
    return (
        name,
        show.shorten(row.words, 200),
        f"{before} of {show.count(row.n)}",
        after,
        f"{points} {_ends(row)}",
        show.count(row.removed),
        show.count(row.made),
        f"{row.p:.2g}",
    )


def _bias(bias: Bias) -> Table:
    """How often each value of the attribute was seen in the repaired modes, and how far from wanted."""
    total, both = sum(bias.wanted) or 1.0, (bias.before, bias.after)
    rows = []
    for i, value in enumerate(bias.attribute):
        shares = [show.percent(when.counts[i] / max(sum(when.counts), 1)) for when in both]
        rows.append((show.shorten(value, 80), show.percent(bias.wanted[i] / total), *shares))
    apart = [f"{when.apart:.2f} [{when.low:.2f}, {when.high:.2f}]" for when in both]
    return Table(
        "",
        "How often each value was seen in pictures of the same prompts and noise, against what is wanted. "
        "The last row is the total variation, 0 where the wanted shares are met.",
        ("value", "wanted", "before", "after"),
        [*rows, ("total variation", "0", *apart)],
    )


def _landscape(found: Landscape) -> Section:
    how = "over all axes" if found.exact else "the largest over single axes, as the space is large"
    rows = [
        ("pairs", show.count(found.n)),
        ("mean rate", f"{show.percent(found.rate_before)} → {show.percent(found.rate_after)}"),
        ("failures removed", show.count(found.removed)),
        ("failures newly made", show.count(found.made)),
        (f"Wasserstein distance, {how}", f"{found.distance:.4f}"),
        ("p of a distance this large by chance", "not computed" if found.p is None else f"{found.p:.2g}"),
        ("distance of the sorted rates, wherever they are", f"{found.unplaced:.5f}"),
    ]
    modes = [
        (show.shorten(mode.words, 200), show.percent(mode.rate), show.count(mode.cells), when)
        for when, some in (("before", found.modes_before), ("after", found.modes_after))
        for mode in some
    ]
    figures = landscapes(found)
    reading = (
        "In the pictures, rates are averaged over the axes that are not shown; two that stand side by side "
        "have one scale. The stronger the colour, the worse."
    )
    above = f"Regions that fail at least {show.percent(found.above)} of the time (verification pictures)."
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


def _training(result: RepairResult, training: Training, *, lost: int) -> Section:
    each = f" of {training.round}" if training.round else ""
    rows = [
        ("method", result.method),
        ("numbers trained", show.count(training.parameters)),
        ("last layer", training.layer or "(all)"),
        (training.kind, show.count(training.pictures)),
        ("rounds", f"{training.epochs}{each}, best: {training.best}"),
        ("seconds", f"{training.seconds:.0f}"),
        *_validated(training),
        *([("cases of the proof without a verdict, left out", show.count(lost))] if lost else []),
        ("model", show.shorten(result.model, 300)),
    ]
    blocks: list[Block] = [rounds(training.curve, training.best)] if training.curve else []
    note = "Validation inputs are a part of the repair inputs that took no part in training."
    return Section("Training", [*blocks, pairs(rows)], note)


def _validated(training: Training) -> Iterable[tuple[str, str]]:
    """Validation before and after, as far as the training had rounds."""
    if not training.curve:
        return
    first = training.curve[0]
    kept = next((row for row in training.curve if row["epoch"] == training.best), first)
    for when, row in (("before", first), ("after", kept)):
        rates = zip(("transformed", "plain"), training.watched, strict=True)
        yield f"validation {when}", ", ".join(f"{show.percent(row[key])} {words}" for key, words in rates)


# -- figures: rates and landscape before and after, the course of the training ----------------------


#: Pairs of axes that are shown.
PAIRS: Final = 10
BEFORE, AFTER = "before", "after"


def landscapes(landscape: Landscape) -> list[Figure]:
    """The landscape before and after; nothing of one that was not kept whole."""
    if landscape.before is None or landscape.after is None:
        return []
    axes = [Axis(axis.name, axis.values) for axis in landscape.axes]
    if len(axes) == 1:
        each = max(1, landscape.n // len(axes[0].values))
        rates = {
            when: [_rate(round(rate * each), each, rate) for rate in some]
            for when, some in ((AFTER, landscape.after), (BEFORE, landscape.before))
        }
        note = f"On the same cases, about {show.count(each)} of each value, with 95 % Wilson intervals."
        return [axis_figure(axes[0], rates, "axis-before-after", "Rate by {} before and after", note)]
    shape = [len(axis.values) for axis in axes]
    grids = [np.array(some).reshape(shape) for some in (landscape.before, landscape.after)]
    found: list[Figure] = []
    for a, b in list(itertools.combinations(range(len(axes)), 2))[:PAIRS]:
        rest = tuple(i for i in range(len(axes)) if i not in (a, b))
        means = [grid.mean(axis=rest) for grid in grids]
        top = float(max(mean.max() for mean in means))
        for when, mean in zip((BEFORE, AFTER), means, strict=True):
            found.append(heat_figure(axes, (a, b), mean.tolist(), top, when=when))
    return found


def changes(found: Sequence[Change]) -> Figure:
    marks, rows = [], []
    for i, row in enumerate(found, start=1):
        words = f"{i}. {show.shorten(row.words, 120)}"
        for series, failures in ((BEFORE, row.before), (AFTER, row.after)):
            rate = _rate(failures, row.n, failures / row.n if row.n else 0.0)
            marks.append(Mark(words, series, rate))
            rows.append((words, series, rate.value, rate.low, rate.high, rate.failures, rate.n))
    title = "Failure rates before and after the repair"
    columns = ("where", "when", "rate", "low", "high", "failures", "n")
    drawn = plots.lanes(Lanes(marks, (AFTER, BEFORE)), title)
    note = "On the same cases, with 95 % Wilson intervals."
    return Figure("before-after", title, columns, rows, drawn, note)


def rounds(curve: Sequence[Mapping[str, float]], best: int) -> Figure:
    series = ("transformed", "plain")
    rows = [(row["epoch"], key, row[key], row["epoch"] == best) for key in series for row in curve]
    lines = [plots.Curve(key, [(row["epoch"], row[key]) for row in curve], best) for key in series]
    drawn = plots.curves(lines, "validation failures against rounds", across="rounds", shares=True)
    columns = ("round", "pictures", "share failed", "kept")
    title, note = "Validation failures against rounds", "The round that was kept is marked."
    return Figure("rounds", title, columns, rows, drawn, note)


def _rate(failures: int, n: int, value: float) -> Rate:
    return Rate(value, *(wilson(failures, n) if n else (0.0, 1.0)), n, failures)
