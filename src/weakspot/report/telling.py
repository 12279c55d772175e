"""A run in plain sentences and key figures, the same in every form of the report."""

from __future__ import annotations

from weakspot.report import format as show
from weakspot.report.facts import Facts


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
        return (
            f"{show.plural(len(facts.confirmed), 'weak spot')} confirmed: {when(best.phrase)}, "
            f"{show.percent(best.rate.value)} of {noun} {verb}, {lift}."
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
    if facts.state != "finished":
        usual = facts.baseline
        so_far = f": so far {show.percent(usual.value)} of plain {noun} {verb}" if usual and usual.n else ""
        return f"Stopped before any weak spot could be confirmed{so_far}."
    if facts.baseline is not None and facts.baseline.n and not facts.baseline.failures:
        return (
            f"No weak spot found: 0 of {show.count(facts.baseline.n)} plain {noun} {verb}, "
            f"so the usual rate is below {show.percent(facts.baseline.high)}."
        )
    if facts.baseline is not None and facts.baseline.n:
        return (
            f"No weak spot found: {show.percent(facts.baseline.value)} of plain {noun} {verb}, "
            "and no caption was shown to do worse."
        )
    return "No weak spot found."


def cases(facts: Facts) -> str:
    """What the trials of a study are, in the plural."""
    if facts.config.study != "hunt":
        return "cases"
    return f"{show.shorten(facts.setting('label', 'such'), 60)} pictures"


def misread(facts: Facts) -> str:
    """What failing means in a study."""
    if facts.config.study != "hunt":
        return "fail"
    wrong = facts.setting("target_label")
    return f"are taken for ‘{show.shorten(wrong, 60)}’" if wrong else "are misread"


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
    unit = "images" if facts.config.study == "hunt" else "trials"
    shown = [(unit, show.count(trials.drawn), f"{show.count(trials.failures)} failed")]
    if facts.baseline is not None and facts.baseline.n:
        usual = facts.baseline
        note = f"{show.interval(usual.low, usual.high)} of {show.count(usual.n)}"
        shown.append(("baseline", show.percent(usual.value), note))
    tried = f"of {show.plural(len(facts.lanes), 'caption')} raced" if facts.lanes else "nothing raced yet"
    shown.append(("confirmed", show.count(len(facts.confirmed)), tried))
    shown.append(("errors", show.count(trials.errors), "outside every rate"))
    if trials.undecided:
        shown.append(("undecided", show.count(trials.undecided), "outside every rate"))
    shown.append(("time", show.seconds(spend.get("seconds", 0.0)), "drawing and asking"))
    if spend.get("dollars"):
        shown.append(("cost", f"${spend['dollars']:,.2f}", f"{show.count(spend.get('tokens', 0))} tokens"))
    return shown
