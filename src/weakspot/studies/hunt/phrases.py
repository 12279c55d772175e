"""A hunt in plain words, the same on the page, in Markdown and on the terminal."""

from __future__ import annotations

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
