"""How a repair is told: what was to go, what went, what came instead; the landscape before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from weakspot.report import format as show
from weakspot.report import markdown, plots
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
from weakspot.report.plots import Axis
from weakspot.report.ranking import Failing
from weakspot.store import Run
from weakspot.studies.repair.figures import both, changes, landscapes, rounds, where
from weakspot.studies.repair.result import Bias, Change, Landscape, Proof, RepairResult, Shown, Training

_SAID: Final = {
    "repaired": "{who} fails at most half as often after the repair, and no more often elsewhere",
    "reduced": "{who} fails less often after the repair, and no more often elsewhere",
    "traded": "{who} traded one failure for another in the repair",
    "not reduced": "The repair of {who} did not reduce the failures, as far as these cases can tell",
    "worse": "{who} fails more often after the repair than before",
}
#: Inputs beside each row of what was to be repaired.
BESIDE: Final = 3


class RepairDocument(Document):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.result = RepairResult.of(run)
        self.proof = None if self.result is None else self.result.proof

    @property
    def verdict(self) -> str:
        return "" if self.proof is None else self.proof.verdict

    @property
    def who(self) -> str:
        """The model that was to be repaired."""
        named = "" if self.result is None else self.result.target
        return show.cut(str(self.run.config.settings.get("target") or named or "the model"), 80)

    @property
    def title(self) -> str:
        subject = show.shorten(self.run.config.subject, 120)
        return self.who if subject == self.who else f"{self.who} · {subject}"

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
        text = f"{_SAID[self.verdict].format(who=self.who)}: {where(first.words)}, {_moved(first)}. "
        if self.verdict == "traded":
            worse = [row for _, row in _stayed(self.proof) if row.increased]
            said = [f"{where(row.words)}, {_moved(row)}" for row in worse[:3]]
            text += f"It fails more often now {'; '.join(said)}. "
        return f"{text}For comparison, {where(self.proof.clean.words)}: {_moved(self.proof.clean)}."

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        proof = self.proof
        if proof is None or self.result is None:
            return
        repaired, stayed = _repaired(proof), _stayed(proof)
        scale = plots.axis([rate for _, row in [*repaired, *stayed] for rate in both(row)])
        table = partial(self._changes, scale=scale, allowance=allowance)
        yield Section("What was to be repaired", [table(repaired, "repaired")], _REPAIRED)
        if proof.bias is not None:
            yield Section("Bias in the repaired modes", [_bias(proof.bias)])
        yield self._changed(proof.shown, allowance)
        unseen = [] if len(stayed) > len(proof.others) + 1 else [Text(_UNSEEN)]
        bound = Text(_at_most(stayed))
        yield Section("What was looked at and not found", [bound, table(stayed, "stayed"), *unseen], _STAYED)
        if proof.landscape is not None:
            yield _landscape(proof.landscape)
        if self.result.training is not None:
            yield _training(self.result, self.result.training, lost=proof.errors)

    def _changes(
        self, some: Sequence[tuple[str, Change]], name: str, *, scale: Axis, allowance: Allowance
    ) -> Html:
        """Rates before and after, a row for each place; beside it inputs whose answer changed."""
        rows = []
        for label, row in some:
            before, after = both(row)
            shown = [] if name == "stayed" or self.proof is None else self.proof.shown
            own = [one for one in shown if one.words == row.words]
            own = [one for one in own if not one.made] or own
            rows.append(
                {
                    "name": label,
                    "where": where(row.words),
                    "before": before,
                    "after": after,
                    "bars": (scale.bar(before), scale.bar(after)),
                    "points": points(row),
                    "row": row,
                    "mended": bool(own) and not own[0].made,
                    "shown": [self._failing(one, allowance) for one in own[:BESIDE]],
                }
            )
        head = ("which", "where", "failed before", "failed after", "difference", "removed", "newly made", "p")
        text = markdown.table(head, [_row(*one) for one in some])
        figure = changes([row for _, row in some], name)
        return Html(f"{_HOME}:changes.html.j2", {"rows": rows, "axis": scale, "name": name}, text, [figure])

    def _failing(self, one: Shown, allowance: Allowance) -> Failing:
        uris = [picture(self.run, blob, allowance) for blob in (one.blob, one.now) if blob]
        note = f"should be {show.shorten(one.expected, 40)}: {_answer(one.before)} before, "
        note += f"{_answer(one.after)} after"
        if len(uris) == 2 and all(uris):
            return Failing(uri=uris[1], beside=uris[0], note=note)
        first, _, second = ("", "", "") if one.blob else one.text.partition(" | ")
        return Failing(uri="".join(uris[:1]), text=first, other=second, note=note, alt=note)

    def _changed(self, some: Iterable[Shown], allowance: Allowance) -> Section:
        """Inputs whose answer is another one now; of a generator, what it drew before and after."""
        texts, pictures = [], []
        for row in sorted(some, key=lambda one: one.made):
            uris = [picture(self.run, blob, allowance) for blob in (row.blob, row.now) if blob]
            if uris and all(uris):
                pictures.append({"uris": uris, **dict(row)})
            elif not uris or allowance.left <= 0:
                said = map(_answer, (row.before, row.after))
                which = "newly wrong" if row.made else "right now"
                texts.append(
                    (
                        which,
                        show.shorten(row.text, 400) or f"(picture) {row.expected}",
                        *said,
                        where(row.words),
                    )
                )
        blocks: list[Block] = []
        if pictures:
            blocks.append(Html(f"{_HOME}:changed.html.j2", {"rows": pictures}))
        if texts:
            blocks.append(Table("", "", ("which", "input", "before", "after", "where"), texts))
        note = "Of the cases of the proof: first some that are right now, then some that are wrong now."
        return Section("Inputs whose answer changed", blocks, note)

    def values(self) -> Mapping[str, Any]:
        plain = {} if self.result is None else self.result.plain()
        known = None if self.result is None else self.result.known
        return {"result": known, "training": plain.get("training"), "parts": plain.get("parts", {})}

    def lines(self, wide: int) -> Iterable[str]:
        proof, result = self.proof, self.result
        yield from show.folded(self.conclusion, wide)
        if result is not None and result.data is not None:
            yield f"data     {show.shell([result.data.folder])}"
        if proof is None or result is None:
            return
        rows = []
        for name, row in [*_repaired(proof), *_stayed(proof, rest="rest", new="new")]:
            before, after = both(row)
            moved = f"{points(row)} points {_ends(row)}"
            rates = (show.percent(before.value), show.percent(after.value))
            rows.append((name, where(row.words), *rates, moved, show.count(row.n)))
        head = ("", "", "before", "after", "difference", "of")
        yield from (line.removeprefix("  ") for line in show.grid(head, rows, wide, texts=(1,), lead=2))
        if landscape := proof.landscape:
            text = f"{landscape.removed:,} failures removed, {landscape.made:,} newly made "
            yield from show.wrapped("all", f"{text}in {show.count(landscape.n)} pairs over all cells", wide)
        if proof.errors:
            yield f"left out {show.plural(proof.errors, 'case')} without a verdict"
        yield f"model    {result.model or self.run.folder / 'model'}"

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


def _answer(said: str | None) -> str:
    """An answer; of an encoder, how alike two texts are to it."""
    text = show.shorten(str(said), 120)
    try:
        return f"similarity {float(text):.2f}"
    except ValueError:
        return text


def points(row: Change) -> str:
    """The difference of the rates, after minus before, in points."""
    return f"{100 * row.difference:+.1f}".replace("-", "−")


def _ends(row: Change) -> str:
    """The interval of the difference, in points."""
    return f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}]".replace("-", "−")


def _moved(row: Change) -> str:
    """Rates before and after; the bracket is the interval of the difference that it stands behind."""
    before, after = (show.percent(rate.value) for rate in both(row))
    return f"{before} before and {after} after ({points(row)} points {_ends(row)}, {show.count(row.n)} cases)"


def _at_most(stayed: Sequence[tuple[str, Change]]) -> str:
    """The largest rise that the cases allow."""
    worst = max((row for _, row in stayed), key=lambda row: row.high)
    risen = [row for _, row in stayed if row.increased]
    found = f"{show.plural(len(risen), 'place')} got worse beyond chance." if risen else ""
    found = found or "Nothing that was to stay got worse beyond chance."
    most = f"{100 * worst.high:.1f} points, {where(worst.words)}"
    return f"{found} The largest rise that these cases allow: {most}."


def _row(name: str, row: Change) -> tuple[str, ...]:
    before, after = both(row)
    return (
        name,
        where(row.words),
        f"{show.percent(before.value)} of {show.count(row.n)}",
        show.percent(after.value),
        f"{points(row)} points {_ends(row)}",
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
        "In the pictures, rates are averaged over the axes that are not shown. All share one scale: the "
        "stronger the colour, the worse."
    )
    above = f"Regions that fail at least {show.percent(found.above)} of the time (verification pictures)."
    head = ("where", "at the peak", "cells", "when")
    return Section(
        "The landscape",
        [
            *([Text(reading)] if figures else []),
            *figures,
            pairs(rows),
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
        ("rounds", f"{training.epochs}{each}; round {training.best} was kept"),
        ("seconds", f"{training.seconds:.0f}"),
        *_validated(training),
        *([("cases of the proof without a verdict, left out", show.count(lost))] if lost else []),
        ("model", show.shorten(result.model, 300)),
    ]
    blocks: list[Block] = [rounds(training.curve, training.best)] if training.curve else []
    return Section("How it was measured", [pairs(rows), *blocks], _TRAINED)


def _validated(training: Training) -> Iterable[tuple[str, str]]:
    """Validation before and after, as far as the training had rounds."""
    if not training.curve:
        return
    first = training.curve[0]
    kept = next((row for row in training.curve if row["epoch"] == training.best), first)
    for when, row in (("before", first), ("after", kept)):
        rates = zip(("transformed", "plain"), training.watched, strict=True)
        yield f"validation {when}", ", ".join(f"{show.percent(row[key])} {words}" for key, words in rates)


_HOME: Final = "weakspot.studies.repair"
_REPAIRED: Final = (
    "The same cases before and after, each picture once; none was used to search or to train. The difference "
    "has Tango's 95 % interval, the p-value is McNemar's, adjusted over the rows (Holm)."
)
_STAYED: Final = (
    "Other weak spots of the run, the inputs as they are, all cells of the landscape that were not to be "
    "repaired (counted by picture), and places that look like new modes, on inputs that did not help to find "
    "them. A rise beyond chance is called a trade."
)
_UNSEEN: Final = "The rest of the landscape was not measured, so nothing is known about it."
_TRAINED: Final = "Validation inputs are a part of the repair inputs that took no part in training."
