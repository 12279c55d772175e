"""A hunt in plain words, the same on the page, in Markdown and on the terminal; and the last lines there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from weakspot.core import Finding
from weakspot.report import format as show
from weakspot.studies.hunt.listing import Edit, Listing

#: What an edit did, for people.
KINDS: Final = {"negate": "denied", "drop": "left out", "plain": "plainer", "rewrite": "reworded"}


def conclusion(hunt: Listing) -> str:
    """The run in one or two plain sentences."""
    noun, verb, state = cases(hunt), misread(hunt), hunt.run.state
    if not hunt.trials.drawn:
        return "Nothing has been drawn yet."
    if hunt.confirmed:
        best = hunt.confirmed[0]
        if best.baseline.value > 0:
            lift = f"{show.times(best.lift).rstrip('×')} times the usual rate"
        else:
            lift = f"while the baseline never failed in {show.count(best.baseline.n)} trials"
        hurt = len({hunt.label_of(f) for f in hunt.confirmed})
        where = f", in {show.count(hurt)} of {show.count(len(hunt.labels))} labels" if hunt.labels else ""
        return (
            f"{show.plural(len(hunt.confirmed), 'weak spot')} confirmed{where}: {when(best.phrase)}, "
            f"{show.percent(best.rate.value)} of {cases(hunt, best)} {misread(hunt, best)}, {lift}."
        )
    if state == "running":
        return f"Still at work: {show.count(hunt.trials.drawn)} trials so far, no finding confirmed yet."
    if not hunt.trials.n:
        return "No trial could be judged, so nothing can be said about the model."
    if hunt.candidates:
        held = "it did not hold" if len(hunt.candidates) == 1 else "none of them held"
        return (
            f"No weak spot confirmed: the race put {show.plural(len(hunt.candidates), 'candidate')} ahead, "
            f"and {held} on fresh draws."
        )
    usual = usual_rates(hunt)
    if state != "finished":
        so_far = f": so far {usual} of plain {noun} {verb}" if usual else ""
        return f"Stopped before any weak spot could be confirmed{so_far}."
    if hunt.base is not None and hunt.base.rate.n and not hunt.base.rate.failures:
        return (
            f"No weak spot found: 0 of {show.count(hunt.base.rate.n)} plain {noun} {verb}, "
            f"so the usual rate is below {show.percent(hunt.base.rate.high)}."
        )
    if usual:
        return f"No weak spot found: {usual} of plain {noun} {verb}, and no caption was shown to do worse."
    return "No weak spot found."


def cases(hunt: Listing, finding: Finding | None = None) -> str:
    """What the trials of a hunt, or those of a finding, are, in the plural."""
    label = hunt.label_of(finding) if finding is not None and hunt.labels else hunt.setting("label")
    if label:
        return f"{show.shorten(label, 60)} pictures"
    return f"pictures of {show.plural(len(hunt.labels), 'label')}" if hunt.labels else "such pictures"


def misread(hunt: Listing, finding: Finding | None = None) -> str:
    """What failing means, also in a finding that is about one wrong answer."""
    wrong = (finding.answer if finding is not None else "") or hunt.setting("target_label")
    return f"are taken for ‘{show.shorten(wrong, 60)}’" if wrong else "are misread"


def instead(finding: Finding) -> str:
    """What was said instead: "bee 98 %", or "bee only" where the finding is about this answer alone."""
    if finding.answer:
        return f"{show.shorten(finding.answer, 60)} only"
    return answered(*finding.confusions[0]) if finding.confusions else ""


def answered(answer: str, share: float) -> str:
    """An answer and its share of the failures."""
    return f"{show.shorten(answer, 60) or '(nothing)'} {show.percent(share)}"


def titled(hunt: Listing, finding: Finding) -> str:
    """The words of a finding, after its label where there are several."""
    label = hunt.label_of(finding)
    return f"{show.shorten(label, 60)}: {finding.phrase}" if label else finding.phrase


def changed(edit: Edit) -> tuple[str, str]:
    """What an edit did, and to which words: ("colour", "yellow → blue")."""
    kind = KINDS.get(edit.kind, edit.kind)
    before, after = (show.shorten(words, 160) for words in (edit.before, edit.after))
    if not after:
        return kind, f"without “{before}”"
    if edit.kind in ("negate", "plain", "rewrite"):
        return kind, f"“{after}”"
    return kind, f"{before} → {after}"


def usual_rates(hunt: Listing) -> str:
    """The baseline's rate, or the lowest and the highest of several; "" before anything was judged."""
    values = [base.rate.value for base in hunt.bases if base.tally.n]
    if not values:
        return ""
    low, high = show.percent(min(values)), show.percent(max(values))
    return low if low == high else f"{low} to {high}"


def when(phrase: str) -> str:
    """A phrase as a clause: "it is on a flower." becomes "when it is on a flower"."""
    words = show.shorten(phrase, 160).strip()
    sentence = words.rstrip(".").replace(". ", " and ")
    if sentence.split(" ")[0].lower() in ("it", "its", "there", "the", "they", "their"):
        return f"when {sentence[0].lower()}{sentence[1:]}"
    return f"given “{words}”"


# -- on a terminal -----------------------------------------------------------------------------------


def lines(hunt: Listing, errors: Sequence[tuple[str, int]], wide: int) -> Iterator[str]:
    """The result of a hunt in lines of at most `wide` columns: baseline, findings, what it cost."""
    spent, state, skipped = hunt.run.ledger.spend(), hunt.run.state, hunt.result.skipped
    yield from _usual(hunt, wide)
    shown = rows(hunt.confirmed, wide, [hunt.label_of(f) for f in hunt.confirmed])
    yield "─" * min(wide, max((len(row) for row in shown), default=80))
    yield from shown
    held = f"{show.plural(len(hunt.confirmed), 'finding')} confirmed on fresh images"
    yield f"{held} (false-discovery rate ≤ {show.level(float(hunt.settings.get('fdr', 0.05)))})"
    yield from _validity(hunt, wide)
    if state.startswith("stopped"):
        yield show.cut(f"{state}; a larger budget may find more", wide)
    costs = [f"{show.count(spent.get('images', 0))} images", show.plural(hunt.trials.errors, "error")]
    if spent.get("tokens") or spent.get("dollars"):
        costs += [f"{show.count(spent.get('tokens', 0))} tokens", f"${spent.get('dollars', 0.0):,.2f}"]
    yield f"trials   {' · '.join([*costs, show.seconds(spent.get('seconds', 0.0))])}"
    for one in skipped[:3]:
        yield f"skipped  {show.cut(f'{one.name}: {one.reason}', wide - 9)}"
    if len(skipped) > 3:
        yield f"         and {show.plural(len(skipped) - 3, 'other file')} (see the report)"
    for what, how_often in errors[:3]:
        yield f"error    {show.cut(f'{show.count(how_often)}× {what}', wide - 9)}"
    if len(errors) > 3:
        yield f"         and {show.plural(len(errors) - 3, 'other kind')} of error (see the report)"


def _usual(hunt: Listing, wide: int) -> Iterator[str]:
    """The baseline's rate and words, or the rates of several labels."""
    if hunt.base is not None and hunt.base.rate.n:
        usual = f"baseline {show.rate(hunt.base.rate)}"
        yield f"{usual}: {show.cut(hunt.base.hypothesis.text, max(wide - len(usual) - 2, 20))}"
    known = sorted((b for b in hunt.bases if b.tally.n), key=lambda b: -b.rate.value)
    if hunt.labels and known:
        worst = "; ".join(f"{show.cut(b.label, 30)} {show.rate(b.rate)}" for b in known[:3])
        rest = f" … {show.percent(known[-1].rate.value)}" if len(known) > 3 else ""
        several = show.plural(len(hunt.labels), "label")
        yield f"baseline {show.cut(f'{several}: {worst}{rest}', wide - 9)}"


def _validity(hunt: Listing, wide: int) -> Iterator[str]:
    """How the source errs, and the rates without the second opinion."""
    own = hunt.invalid
    if own is None:
        return
    whole = [show.rate(f.unchecked or f.rate) for f in hunt.confirmed[:3]]
    base = hunt.bases[0].unchecked if len(hunt.bases) == 1 else None
    parts = [f"baseline {show.rate(base)}"] if base is not None else []
    parts += [f"findings {', '.join(whole)}{' …' if len(hunt.confirmed) > 3 else ''}"] if whole else []
    doubt = "plain images do not show the label, says the second opinion"
    yield f"checked  {show.cut(f'{show.rate(own)} {doubt}', wide - 9)}"
    if parts:
        yield f"         {show.cut('without the check: ' + '; '.join(parts), wide - 9)}"


def rows(found: Sequence[Finding], wide: int, labels: Sequence[str] = ()) -> list[str]:
    """The findings as lines of at most `wide` columns, the words cut where they must be."""
    from rich.cells import cell_len, set_cell_size

    room = 0
    named = labels or [""] * len(found)
    phrases = [f"{n}: {f.phrase}" if n else f.phrase for n, f in zip(named, found, strict=True)]
    for word, most in ((" baseline", 20), ("", 20), ("", 10)):  # what goes first where there is little room
        cells = [
            (
                show.percent(f.rate.value),
                show.interval(f.rate.low, f.rate.high),
                f"of {show.count(f.rate.n)}",
                f"{show.times(f.lift)}{word}",
                _instead(f, most),
            )
            for f in found
        ]
        widths = [max((cell_len(row[i]) for row in cells), default=0) for i in range(5)]
        room = wide - 4 - sum(widths) - 2 * len(widths)
        if room >= min(max((cell_len(show.cut(p, 60)) for p in phrases), default=0), 24):
            break
    room = max(room, 20)
    words = [show.cut(phrase, min(room, 60)) for phrase in phrases]
    longest = max(map(cell_len, words), default=0)
    lines = []
    for rank, (phrase, (share, ends, n, lift, said)) in enumerate(zip(words, cells, strict=True), start=1):
        numbers = f"{share:>{widths[0]}}  {ends:<{widths[1]}}  {n:>{widths[2]}}  {lift:>{widths[3]}}"
        lines.append(f"{rank:>2}  {set_cell_size(phrase, longest)}  {numbers}  {said}".rstrip())
    return lines


def _instead(finding: Finding, most: int) -> str:
    if finding.answer:
        return f"→ {show.cut(finding.answer, most)} only"
    said = finding.confusions[0] if finding.confusions else None
    return f"→ {show.cut(said[0], most)} {show.percent(said[1])}" if said else ""


def words_to_try(hunt: Listing) -> tuple[str, ...]:
    """The command that tries an edit of a finding: few images were drawn of it, so there is more to learn."""
    edited = [(f, edit) for f in hunt.confirmed for edit in hunt.edits(f)]
    edited.sort(key=lambda pair: pair[1].kind in ("negate", "drop"))  # something else says more than nothing
    for finding, edit in edited:
        if len(edit.phrase) <= 120 and show.clean(edit.phrase) == edit.phrase and edit.rate.n:
            label = hunt.label_of(finding)
            which = ("--label", label) if label else ()
            return ("try", str(hunt.run.folder), edit.phrase, *which)
    return ()
