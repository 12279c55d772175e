"""What people's labels say of a run, in tables: agreement, the judge's errors, rates that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from weakspot.core import Rate, WeakspotError
from weakspot.report import format as show
from weakspot.report.document import Table
from weakspot.report.people.corrected import PEOPLE
from weakspot.report.people.labels import Labels
from weakspot.report.people.refusals import EACH
from weakspot.report.people.score import score
from weakspot.report.people.tasks import ASPECTS, task_of
from weakspot.store import Run

Score = Mapping[str, Any]


def scores(run: Run) -> list[dict[str, Any]]:
    """The figures of every task that somebody has labelled, as `weakspot label score` has them."""
    labels, found = Labels(run.folder), []
    for name in ("images", "refusals", "questions", "pairs", "modes", "ratings"):
        if not labels.current(name):
            continue
        try:
            one = score(run, task_of(run, name, most=None, aspects=tuple(ASPECTS)))
        except WeakspotError:
            continue  # labels of a task that this run does not have
        if one["labels"]:
            found.append(one)
    return found


def people(run: Run) -> list[Table]:
    """The tables of what people say; [] if nobody has said anything."""
    found: list[Table] = []
    for one in scores(run):
        found.append(_agreement(one))
        make = _MORE.get(one["task"])
        if make is not None:
            found += make(run, one)
    return [table for table in found if table.rows]


def _agreement(score: Score) -> Table:
    who = ", ".join(f"{show.shorten(name, 40)} {show.count(n)}" for name, n in score["annotators"].items())
    said = ", ".join(f"{show.shorten(label, 40)} {show.count(n)}" for label, n in score["answers"].items())
    rows = [
        ("labels", f"{show.count(score['labels'])} on {show.plural(score['labelled'], 'item')}"),
        ("by", who),
        ("answers", said),
    ]
    for pair, one in score["kappa"].items():
        same = f"{show.count(one['same'])} of {show.count(one['n'])} the same"
        rows.append((f"Cohen's κ, {show.shorten(pair, 90)}", f"{_number(one['kappa'])}, {same}"))
    if score["overlap"]:
        ordinal = f", ordinal {_number(score['alpha_ordinal'])}" if "alpha_ordinal" in score else ""
        over = show.plural(score["overlap"], "item")
        rows.append(("Krippendorff's α", f"{_number(score['alpha'])}{ordinal}, on {over} of several people"))
    if score["split"]:
        rows.append(
            ("without a majority", f"{show.plural(score['split'], 'item')}, left out of what follows")
        )
    note = (
        "How well they agree: 1 is perfect, 0 is chance. If an item has several labels, the majority counts."
    )
    return Table(f"Labels of {score['task']}", note, ("what", "value"), rows)


def _refusals(_: Run, score: Score) -> list[Table]:
    judge = score["judge"]
    rows = _judged(judge)
    if judge["partial"]["n"]:
        partial = judge["partial"]
        told = f"{show.count(partial['refused'])} of {show.count(partial['n'])} refused to the judge"
        rows.append(("refusals in part", f"{told}; neither right nor wrong"))
    for name, one in judge["sets"].items():
        rows.append((f"{name} refused, by the judge", _share(one["rate"])))
        if (unsure := one["unsure"])["n"]:
            labelled = f"{show.count(unsure['labelled'])} of {show.count(unsure['n'])} labelled"
            rows.append((f"{name}, the judge is unsure of", labelled))
        rows.append((f"{name} refused, by people's labels", _corrected(one["corrected"])))
    note = (
        "Its verdicts against people's. Rates by people's labels use the labels wherever there are any, and "
        "the judge elsewhere (prediction-powered inference)."
    )
    return [Table("The judge against people", note, ("what", "value"), rows)]


def _pairs(_: Run, score: Score) -> list[Table]:
    found = score["downstream"]
    rows = [("pairs that fail", _share(found["failed"]))]
    rows += [
        (f"by {show.shorten(name, 40)} alone", _share(one)) for name, one in score["downstream_by"].items()
    ]
    rows += [("look the same", show.count(found["same"])), ("unfinished", show.count(found["unfinished"]))]
    rule = "A pair fails if a picture of it gets the wrong prompt, or neither (the published rule)."
    matcher = _judged(found["matcher"])
    return [
        Table("Downstream, by people", rule, ("what", "value"), rows),
        Table("The matcher against people", "On pictures, not pairs.", ("what", "value"), matcher),
    ]


def _images(_: Run, score: Score) -> list[Table]:
    found = score["pictures"]
    shows = [
        ("of the failing pictures", _share(found["valid_failing"])),
        ("of the passing ones", _share(found["valid_passing"])),
    ]
    shows += [
        (f"{aspect}, on average", f"{one['mean']:.2f} of {show.count(one['n'])}")
        for aspect, one in found["ratings"].items()
    ]
    rows = []
    for row in found["corrected"]:
        told = row["missing"] and f"needs {row['missing']}"
        if row["corrected"] is not None:
            told = f"{show.percent(row['corrected'])} {show.interval(row['low'], row['high'])}"
        rows.append(
            (
                show.shorten(row["phrase"], 200),
                show.percent(row["rate"]),
                told,
                *(_of(row[kind]) for kind in ("failing", "passing")),
            )
        )
    note = (
        "Failures per picture that shows what it should, by labels of each finding’s own pictures. The ends "
        "take the worst of three intervals at once, so they are rather too wide than too narrow."
    )
    head = ("words", "measured", "corrected", "failing that show it", "passing that show it")
    return [
        Table("Do the pictures show what they should?", "As people see them.", ("what", "value"), shows),
        Table("Each finding’s rate among such pictures", note, head, rows),
    ]


def _of(one: Score) -> str:
    return f"{show.count(one['failures'])} of {show.count(one['n'])}"


def _modes(run: Run, score: Score) -> list[Table]:
    from weakspot.report.people.preferences import Preferences, listed_modes

    words = [mode.words for mode in listed_modes(run)]
    pairs: Sequence[Sequence[int]] = score["preferences"]["pairs"]
    ranking = [mode for mode, _ in (Preferences.of(run) or Preferences()).ranking]
    order = sorted(
        {mode for pair in pairs for mode in pair},
        key=lambda mode: (
            ranking.index(mode) if mode in ranking else len(ranking),
            -sum(worse == mode for worse, _ in pairs),
            mode,
        ),
    )
    rows = [
        (
            str(mode),
            show.shorten(words[mode - 1], 200) if 0 < mode <= len(words) else "",
            show.count(sum(worse == mode for worse, _ in pairs)),
            show.count(sum(mode in pair for pair in pairs)),
        )
        for mode in order
    ]
    note = (
        f"{show.plural(len(pairs), 'comparison')}; {show.count(score['preferences']['same'])} said the same."
    )
    if not ranking:
        note += " Kept for repair by: weakspot label score RUN --apply."
    return [Table("Modes that people mind", note, ("mode", "where", "said to be worse", "of"), rows)]


def _ratings(_: Run, score: Score) -> list[Table]:
    found = score["ratings"]
    rows = [("all, on average", f"{found['mean']:.1f} over {show.plural(found['n'], 'output')}")]
    rows += [(show.shorten(name, 40), f"{mean:.1f}") for name, mean in found["by"].items()]
    note = "From 1, as it should be, to 10, as bad as can be. The mean of an output is what the judge takes."
    return [Table("Ratings", note, ("by", "rating"), rows)]


_MORE: Final[Mapping[str, Callable[[Run, Score], list[Table]]]] = {
    "refusals": _refusals,
    "pairs": _pairs,
    "images": _images,
    "modes": _modes,
    "ratings": _ratings,
}


def _judged(one: Score) -> list[tuple[str, ...]]:
    from weakspot.stats import wilson

    if not one["n"]:
        return [("compared", "nothing yet")]
    counts = [(one[f"true_{kind}"], one[kind]) for kind in ("positives", "negatives")]
    seen, passed = (
        show.rate(Rate(right / of if of else 0.0, *wilson(right, of), of, right)) for right, of in counts
    )
    return [
        ("failures that it sees (sensitivity)", seen),
        ("passes that it lets pass (specificity)", passed),
        ("Cohen's κ with people", f"{_number(one['kappa'])} on {show.count(one['n'])}"),
    ]


def _share(one: Score) -> str:
    if one["rate"] is None:
        return "none yet"
    return f"{show.percent(one['rate'])} {show.interval(one['low'], one['high'])} of {show.count(one['n'])}"


def _corrected(one: Score | None) -> str:
    if one is None:
        return f"needs {PEOPLE} people on {EACH} answers each"
    return f"{show.percent(one['rate'])} {show.interval(one['low'], one['high'])}"


def _number(value: float | None) -> str:
    return show.NONE if value is None else f"{value:.2f}"
