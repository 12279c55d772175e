"""A run in plain sentences and key figures, the same in every form of the report."""

from __future__ import annotations

from typing import Final

from weakspot.core import Finding
from weakspot.report import format as show
from weakspot.report.facts import Facts
from weakspot.report.measured import Rung

#: What an edit did, for people.
KINDS: Final = {"negate": "denied", "drop": "left out", "plain": "plainer", "rewrite": "reworded"}


def conclusion(facts: Facts) -> str:
    """The run in one or two plain sentences."""
    noun, verb = cases(facts), misread(facts)
    if not facts.trials.drawn:
        return "Nothing has been drawn yet."
    if facts.confirmed:
        best = facts.confirmed[0]
        if best.baseline.value > 0:
            lift = f"{show.times(best.lift).rstrip('×')} times the usual rate"
        else:
            lift = f"while the baseline never failed in {show.count(best.baseline.n)} trials"
        hurt = len({facts.label_of(f) for f in facts.confirmed})
        where = f", in {show.count(hurt)} of {show.count(len(facts.labels))} labels" if facts.labels else ""
        return (
            f"{show.plural(len(facts.confirmed), 'weak spot')} confirmed{where}: {when(best.phrase)}, "
            f"{show.percent(best.rate.value)} of {cases(facts, best)} {misread(facts, best)}, {lift}."
        )
    if facts.state == "running":
        return f"Still at work: {show.count(facts.trials.drawn)} trials so far, no finding confirmed yet."
    if not facts.trials.n:
        return "No trial could be judged, so nothing can be said about the model."
    if facts.candidates:
        held = "it did not hold" if len(facts.candidates) == 1 else "none of them held"
        return (
            f"No weak spot confirmed: the race put {show.plural(len(facts.candidates), 'candidate')} ahead, "
            f"and {held} on fresh draws."
        )
    usual = _usual(facts)
    if facts.state != "finished":
        so_far = f": so far {usual} of plain {noun} {verb}" if usual else ""
        return f"Stopped before any weak spot could be confirmed{so_far}."
    if facts.baseline is not None and facts.baseline.n and not facts.baseline.failures:
        return (
            f"No weak spot found: 0 of {show.count(facts.baseline.n)} plain {noun} {verb}, "
            f"so the usual rate is below {show.percent(facts.baseline.high)}."
        )
    if usual:
        return f"No weak spot found: {usual} of plain {noun} {verb}, and no caption was shown to do worse."
    return "No weak spot found."


def cases(facts: Facts, finding: Finding | None = None) -> str:
    """What the trials of a study, or those of a finding, are, in the plural."""
    if facts.config.study != "hunt":
        return "cases"
    label = facts.label_of(finding) if finding is not None and facts.labels else facts.setting("label")
    if label:
        return f"{show.shorten(label, 60)} pictures"
    return f"pictures of {show.plural(len(facts.labels), 'label')}" if facts.labels else "such pictures"


def misread(facts: Facts, finding: Finding | None = None) -> str:
    """What failing means in a study, or in a finding that is about one wrong answer."""
    if facts.config.study != "hunt":
        return "fail"
    wrong = (finding.answer if finding is not None else "") or facts.setting("target_label")
    return f"are taken for ‘{show.shorten(wrong, 60)}’" if wrong else "are misread"


def instead(finding: Finding) -> str:
    """What was said instead: "bee 98 %", or "bee only" where the finding is about this answer alone."""
    if finding.answer:
        return f"{show.shorten(finding.answer, 60)} only"
    if not finding.confusions:
        return ""
    answer, share = finding.confusions[0]
    return f"{show.shorten(answer, 60) or '(nothing)'} {show.percent(share)}"


def titled(facts: Facts, finding: Finding) -> str:
    """The words of a finding, after its label where there are several."""
    label = facts.label_of(finding)
    return f"{show.shorten(label, 60)}: {finding.phrase}" if label else finding.phrase


def changed(rung: Rung) -> tuple[str, str]:
    """What an edit did, and to which words: ("colour", "yellow → blue")."""
    kind = KINDS.get(rung.kind, rung.kind)
    before, after = (show.shorten(words, 160) for words in (rung.before, rung.after))
    if not after:
        return kind, f"without “{before}”"
    if rung.kind in ("negate", "plain", "rewrite"):
        return kind, f"“{after}”"
    return kind, f"{before} → {after}"


def _usual(facts: Facts) -> str:
    """The baseline's rate, or the lowest and the highest of several; "" before anything was judged."""
    values = [base.rate.value for base in facts.bases if base.tally.n]
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


def figures(facts: Facts) -> list[tuple[str, str, str]]:
    """The key figures: name, number, what else belongs to it."""
    spend, trials = facts.spend, facts.trials
    unit, noun = ("images", "pictures") if facts.config.study == "hunt" else ("trials", "cases")
    shown = [(unit, show.count(trials.drawn), f"{show.count(trials.failures)} failed")]
    if facts.baseline is not None and facts.baseline.n:
        usual = facts.baseline
        note = f"{show.interval(usual.low, usual.high)} of {show.count(usual.n)}"
        shown.append(("baseline", show.percent(usual.value), note))
    elif facts.labels:
        shown.append(("labels", show.count(len(facts.labels)), f"usual rates {_usual(facts) or 'unknown'}"))
    if (own := facts.invalid) is not None:
        note = f"{show.interval(own.low, own.high)} of {show.count(own.n)} plain {noun}"
        shown.append(("wrongly drawn", show.percent(own.value), note))
    tried = f"of {show.plural(len(facts.lanes), 'caption')} raced" if facts.lanes else "nothing raced yet"
    shown.append(("confirmed", show.count(len(facts.confirmed)), tried))
    shown.append(("errors", show.count(trials.errors), "outside every rate"))
    if trials.undecided:
        shown.append(("undecided", show.count(trials.undecided), "outside every rate"))
    shown.append(("time", show.seconds(spend.get("seconds", 0.0)), "drawing and asking"))
    if spend.get("dollars"):
        shown.append(("cost", f"${spend['dollars']:,.2f}", f"{show.count(spend.get('tokens', 0))} tokens"))
    return shown
