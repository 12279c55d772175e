"""The last lines of a hunt on a terminal: the baseline, the findings, what it cost, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weakspot.cli.screen import cut, program
from weakspot.core import Finding
from weakspot.engine.budget import Budget
from weakspot.report.facts import Facts
from weakspot.report.format import (
    clean,
    count,
    interval,
    level,
    percent,
    plural,
    rate,
    seconds,
    shell,
    times,
)


def lines(facts: Facts, wide: int) -> Iterator[str]:
    """The result of a hunt in lines of at most `wide` columns."""
    spent, errors = facts.spend, facts.trials.errors
    yield from _usual(facts, wide)
    shown = rows(facts.confirmed, wide, [facts.label_of(f) for f in facts.confirmed])
    yield "─" * min(wide, max((len(row) for row in shown), default=80))
    yield from shown
    held = f"{plural(len(facts.confirmed), 'finding')} confirmed on fresh images"
    yield f"{held} (false-discovery rate ≤ {level(float(facts.config.settings.get('fdr', 0.05)))})"
    yield from _validity(facts, wide)
    if facts.state.startswith("stopped"):
        yield cut(f"{facts.state}; a larger budget may find more", wide)
    costs = [f"{count(spent.get('images', 0))} images", plural(errors, "error")]
    if spent.get("tokens") or spent.get("dollars"):
        costs += [f"{count(spent.get('tokens', 0))} tokens", f"${spent.get('dollars', 0.0):,.2f}"]
    yield f"trials   {' · '.join([*costs, seconds(spent.get('seconds', 0.0))])}"
    for name, why in facts.skipped[:3]:
        yield f"skipped  {cut(f'{name}: {why}', wide - 9)}"
    if len(facts.skipped) > 3:
        yield f"         and {plural(len(facts.skipped) - 3, 'other file')} (see the report)"
    for what, how_often in facts.errors[:3]:
        yield f"error    {cut(f'{count(how_often)}× {what}', wide - 9)}"
    if len(facts.errors) > 3:
        yield f"         and {plural(len(facts.errors) - 3, 'other kind')} of error (see the report)"


def _usual(facts: Facts, wide: int) -> Iterator[str]:
    """The baseline's rate and words, or the rates of several labels."""
    if facts.base is not None and facts.baseline is not None and facts.baseline.n:
        usual = f"baseline {rate(facts.baseline)}"
        yield f"{usual}: {cut(facts.base.text, max(wide - len(usual) - 2, 20))}"
    known = sorted((b for b in facts.bases if b.tally.n), key=lambda b: -b.rate.value)
    if facts.labels and known:
        worst = "; ".join(f"{cut(b.label, 30)} {rate(b.rate)}" for b in known[:3])
        rest = f" … {percent(known[-1].rate.value)}" if len(known) > 3 else ""
        several = plural(len(facts.labels), "label")
        yield f"baseline {cut(f'{several}: {worst}{rest}', wide - 9)}"


def _validity(facts: Facts, wide: int) -> Iterator[str]:
    """How the source errs, and the rates without the second opinion."""
    own = facts.invalid
    if own is None:
        return
    whole = [rate(f.unchecked or f.rate) for f in facts.confirmed[:3]]
    base = facts.bases[0].unchecked if len(facts.bases) == 1 else None
    parts = [f"baseline {rate(base)}"] if base is not None else []
    parts += [f"findings {', '.join(whole)}{' …' if len(facts.confirmed) > 3 else ''}"] if whole else []
    doubt = "plain images do not show the label, says the second opinion"
    yield f"checked  {cut(f'{rate(own)} {doubt}', wide - 9)}"
    if parts:
        yield f"         {cut('without the check: ' + '; '.join(parts), wide - 9)}"


def rows(found: Sequence[Finding], wide: int, labels: Sequence[str] = ()) -> list[str]:
    """The findings as lines of at most `wide` columns, the words cut where they must be."""
    from rich.cells import cell_len, set_cell_size

    room = 0
    named = labels or [""] * len(found)
    phrases = [f"{n}: {f.phrase}" if n else f.phrase for n, f in zip(named, found, strict=True)]
    for word, most in ((" baseline", 20), ("", 20), ("", 10)):  # what goes first where there is little room
        cells = [
            (
                percent(f.rate.value),
                interval(f.rate.low, f.rate.high),
                f"of {count(f.rate.n)}",
                f"{times(f.lift)}{word}",
                _instead(f, most),
            )
            for f in found
        ]
        widths = [max((cell_len(row[i]) for row in cells), default=0) for i in range(5)]
        room = wide - 4 - sum(widths) - 2 * len(widths)
        if room >= min(max((cell_len(cut(p, 60)) for p in phrases), default=0), 24):
            break
    room = max(room, 20)
    words = [cut(phrase, min(room, 60)) for phrase in phrases]
    longest = max(map(cell_len, words), default=0)
    lines = []
    for rank, (phrase, (share, ends, n, lift, said)) in enumerate(zip(words, cells, strict=True), start=1):
        numbers = f"{share:>{widths[0]}}  {ends:<{widths[1]}}  {n:>{widths[2]}}  {lift:>{widths[3]}}"
        lines.append(f"{rank:>2}  {set_cell_size(phrase, longest)}  {numbers}  {said}".rstrip())
    return lines


def _instead(finding: Finding, most: int) -> str:
    if finding.answer:
        return f"→ {cut(finding.answer, most)} only"
    said = finding.confusions[0] if finding.confusions else None
    return f"→ {cut(said[0], most)} {percent(said[1])}" if said else ""


def next_step(facts: Facts) -> str:
    """The command that takes the reader further."""
    settings: Mapping[str, Any] = facts.config.settings
    if facts.state.startswith("stopped"):
        budget = Budget.parse(facts.budget or settings["budget"])
        larger = Budget(tuple((kind, 2 * limit) for kind, limit in budget.limits))
        return shell([program(), "resume", str(facts.folder), "--budget", str(larger)])
    edited = [(f, rung) for f in facts.confirmed for rung in facts.rungs(f)]
    edited.sort(key=lambda pair: pair[1].kind in ("negate", "drop"))  # something else says more than nothing
    for finding, rung in edited:  # few images were drawn of it, so there is more to learn
        if len(rung.phrase) <= 120 and clean(rung.phrase) == rung.phrase and rung.rate.n:
            label = facts.label_of(finding)
            which = ["--label", label] if label else []
            return shell([program(), "try", str(facts.folder), rung.phrase, *which])
    return shell([program(), "report", str(facts.folder), "--open"])
