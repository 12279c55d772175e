"""The last lines of a hunt on a terminal: the baseline, the findings, what it cost; and what to try next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weakspot.core import Finding
from weakspot.report.format import (
    clean,
    count,
    cut,
    interval,
    level,
    percent,
    plural,
    rate,
    seconds,
    times,
)
from weakspot.studies.hunt.listing import Listing


def lines(hunt: Listing, errors: Sequence[tuple[str, int]], wide: int) -> Iterator[str]:
    """The result of a hunt in lines of at most `wide` columns."""
    spent, state, skipped = hunt.run.ledger.spend(), hunt.run.state, hunt.result.skipped
    yield from _usual(hunt, wide)
    shown = rows(hunt.confirmed, wide, [hunt.label_of(f) for f in hunt.confirmed])
    yield "─" * min(wide, max((len(row) for row in shown), default=80))
    yield from shown
    held = f"{plural(len(hunt.confirmed), 'finding')} confirmed on fresh images"
    yield f"{held} (false-discovery rate ≤ {level(float(hunt.settings.get('fdr', 0.05)))})"
    yield from _validity(hunt, wide)
    if state.startswith("stopped"):
        yield cut(f"{state}; a larger budget may find more", wide)
    costs = [f"{count(spent.get('images', 0))} images", plural(hunt.trials.errors, "error")]
    if spent.get("tokens") or spent.get("dollars"):
        costs += [f"{count(spent.get('tokens', 0))} tokens", f"${spent.get('dollars', 0.0):,.2f}"]
    yield f"trials   {' · '.join([*costs, seconds(spent.get('seconds', 0.0))])}"
    for one in skipped[:3]:
        yield f"skipped  {cut(f'{one.name}: {one.reason}', wide - 9)}"
    if len(skipped) > 3:
        yield f"         and {plural(len(skipped) - 3, 'other file')} (see the report)"
    for what, how_often in errors[:3]:
        yield f"error    {cut(f'{count(how_often)}× {what}', wide - 9)}"
    if len(errors) > 3:
        yield f"         and {plural(len(errors) - 3, 'other kind')} of error (see the report)"


def _usual(hunt: Listing, wide: int) -> Iterator[str]:
    """The baseline's rate and words, or the rates of several labels."""
    if hunt.base is not None and hunt.base.rate.n:
        usual = f"baseline {rate(hunt.base.rate)}"
        yield f"{usual}: {cut(hunt.base.hypothesis.text, max(wide - len(usual) - 2, 20))}"
    known = sorted((b for b in hunt.bases if b.tally.n), key=lambda b: -b.rate.value)
    if hunt.labels and known:
        worst = "; ".join(f"{cut(b.label, 30)} {rate(b.rate)}" for b in known[:3])
        rest = f" … {percent(known[-1].rate.value)}" if len(known) > 3 else ""
        several = plural(len(hunt.labels), "label")
        yield f"baseline {cut(f'{several}: {worst}{rest}', wide - 9)}"


def _validity(hunt: Listing, wide: int) -> Iterator[str]:
    """How the source errs, and the rates without the second opinion."""
    own = hunt.invalid
    if own is None:
        return
    whole = [rate(f.unchecked or f.rate) for f in hunt.confirmed[:3]]
    base = hunt.bases[0].unchecked if len(hunt.bases) == 1 else None
    parts = [f"baseline {rate(base)}"] if base is not None else []
    parts += [f"findings {', '.join(whole)}{' …' if len(hunt.confirmed) > 3 else ''}"] if whole else []
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


def words_to_try(hunt: Listing) -> tuple[str, ...]:
    """The command that tries an edit of a finding: few images were drawn of it, so there is more to learn."""
    edited = [(f, edit) for f in hunt.confirmed for edit in hunt.edits(f)]
    edited.sort(key=lambda pair: pair[1].kind in ("negate", "drop"))  # something else says more than nothing
    for finding, edit in edited:
        if len(edit.phrase) <= 120 and clean(edit.phrase) == edit.phrase and edit.rate.n:
            label = hunt.label_of(finding)
            which = ("--label", label) if label else ()
            return ("try", str(hunt.run.folder), edit.phrase, *which)
    return ()
