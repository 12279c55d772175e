"""Failure rates once people have looked: a finding's rate among the pictures that show what they should.

A model that misreads a picture of nothing in particular did nothing wrong. People say of some of a finding's
pictures whether they show what they should: a share v of those that failed does, a share w of those that
passed. Of the valid pictures then f v / (f v + (1 − f) w) failed, where f is the rate as it was measured.
Only labels of the finding's own pictures count, so that one finding's bad pictures move no other's rate.

A rate is corrected once two people have labelled `FAILING` of its failing pictures each, and `PASSING` of its
passing ones are decided (or all that were kept). Then it stands wherever the rate stood: `as_labelled`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Tally
from weakspot.report.format import percent
from weakspot.report.people.items import item_id
from weakspot.report.people.labels import Label, Labels
from weakspot.stats import wilson
from weakspot.store import Run, rate

#: People who must have labelled, failing pictures that each of them must have, and passing ones in all.
PEOPLE, FAILING, PASSING = 2, 5, 3
#: The task, and what its items end with that ask whether a picture shows what it should.
TASK, SHOWS = "images", ":shows"


class Valid(NamedTuple):
    """How many of some labelled pictures show what they should."""

    yes: int
    n: int


class Correction(NamedTuple):
    """A rate as it was measured, what people said of its pictures, and the rate that follows.

    `rate` is None as long as people have not labelled enough; `missing` then says what is, and `people`
    counts those who have labelled enough of its failing pictures.
    """

    measured: Rate
    rate: Rate | None
    people: int
    failing: Valid
    passing: Valid
    missing: str = ""


def among_valid(measured: Rate, failing: Valid, passing: Valid) -> Rate:
    """Failures per picture that shows what it should.

    The ends take the worst of all three 95 % intervals at once, so the interval errs on the wide side.
    Where nobody has labelled passing pictures, the rate takes them all to be valid; the ends do not.
    """
    v, w = wilson(*failing), wilson(*passing) if passing.n else (0.0, 1.0)

    def share(f: float, valid: float, others: float) -> float:
        hits = f * valid
        return hits / total if (total := hits + (1 - f) * others) else f

    value = share(measured.value, _share(failing, 0.0), _share(passing, 1.0))
    low, high = share(measured.low, v[0], w[1]), share(measured.high, v[1], w[0])
    return Rate(value, min(low, value), max(high, value), measured.n, measured.failures)


def corrections(run: Run, some: Iterable[tuple[Hypothesis, Rate]]) -> dict[str, Correction]:
    """What people said of the pictures of these hypotheses, by id; {} where nobody has said anything."""
    labels = [one for one in Labels(run.folder).current(TASK) if one.item.endswith(SHOWS)]
    if not labels:
        return {}
    by_item: dict[str, list[Label]] = {}
    for one in labels:
        by_item.setdefault(one.item, []).append(one)
    return {h.id: _correction(run, h, measured, by_item) for h, measured in some}


def findings(run: Run) -> list[Finding]:
    """The findings of a run as they stand now (`as_labelled`)."""
    return as_labelled(run, run.findings)[1]


def as_labelled(run: Run, some: Sequence[Finding]) -> tuple[dict[str, Correction], list[Finding]]:
    """What people said of a run's pictures, by hypothesis, and its findings with the rates that follow.

    A finding that is no worse than its baseline any more is not confirmed any more: the pictures failed, not
    the model. A claim about one wrong answer stays as it was measured.
    """
    bases = sorted(run.baselines, key=lambda h: -len(h.text))
    usual = [(h, rate(_whole(run, h))) for h in bases]
    known = corrections(run, [*((f.hypothesis, f.rate) for f in some if not f.answer), *usual])
    found = []
    for finding in some:
        own = known.get(finding.hypothesis.id)
        if own is None or own.rate is None or finding.answer:
            found.append(finding)
            continue
        base = next((known[h.id] for h in bases if finding.hypothesis.text.startswith(h.text)), None)
        against = (base.rate if base is not None else None) or finding.baseline
        held = finding.confirmed and own.rate.value > against.value
        found.append(replace(finding, rate=own.rate, baseline=against, confirmed=held))
    gone = {f.hypothesis.id for f, now in zip(some, found, strict=True) if f.confirmed and not now.confirmed}
    return known, [replace(f, under="") if f.under in gone else f for f in found]


def headline(known: Mapping[str, Correction], some: Sequence[Finding]) -> str:
    """What follows a sentence about the first finding if people corrected its rate; "" otherwise."""
    one = known.get(some[0].hypothesis.id) if some and not some[0].answer else None
    if one is None or one.rate is None:
        return ""
    return (
        f"That rate allows for pictures that do not show what they should, according to {one.people} "
        f"people; without this correction it was {percent(one.measured.value)}."
    )


def in_words(known: Mapping[str, Correction], some: Sequence[Finding]) -> str:
    """Which rates people's labels corrected, in a sentence; "" where they corrected none."""
    done = [known[f.hypothesis.id] for f in some if f.hypothesis.id in known and not f.answer]
    done = [one for one in done if one.rate is not None]
    if not done:
        return ""
    people = max(one.people for one in done)
    seen = sum(one.failing.n + one.passing.n for one in done)
    which = "The rate is" if len(some) == 1 else f"The rates of {len(done)} of {len(some)} findings are"
    return (
        f"{which} corrected by what {people} people said about {seen:,} pictures: only pictures that show "
        "what they should count."
    )


def refuted(known: Mapping[str, Correction], before: Sequence[Finding], now: Sequence[Finding]) -> str:
    """Which findings that fresh draws confirmed no longer stand, in a sentence; "" where all do."""
    gone = {(f.hypothesis.id, f.answer) for f in before if f.confirmed}
    gone &= {(f.hypothesis.id, f.answer) for f in now if known.get(f.hypothesis.id)}
    if not gone:
        return ""
    which = "One of them was" if len(gone) == 1 else f"{len(gone)} of them were"
    return (
        f"{which} confirmed on fresh draws, but people say that too many of the pictures do not show what "
        "they should. Among those that do, the model fails no more often than usual."
    )


def plain(one: Correction) -> dict[str, Any]:
    """For JSON."""
    done = None if one.rate is None else one.rate._asdict()
    counts = {"failing": one.failing._asdict(), "passing": one.passing._asdict()}
    measured = one.measured._asdict()
    return {"measured": measured, "corrected": done, "people": one.people, **counts, "missing": one.missing}


def stage_of(run: Run, hypothesis: Hypothesis) -> Stage | None:
    """Whose kept pictures people are asked about: fresh draws' where any were kept, else all."""
    fresh = run.ledger.trials(hypothesis, stage=Stage.CONFIRM, kept=True, limit=1)
    return Stage.CONFIRM if fresh else None


# -- inside ------------------------------------------------------------------------------------------


def _correction(
    run: Run, hypothesis: Hypothesis, measured: Rate, by_item: Mapping[str, Sequence[Label]]
) -> Correction:
    stage = stage_of(run, hypothesis)

    def looked(failed: bool) -> tuple[int, list[Sequence[Label]]]:
        trials = run.ledger.trials(hypothesis, stage=stage, failed=failed, kept=True)
        return len(trials), [by_item.get(f"{item_id(hypothesis, t.index)}{SHOWS}", ()) for t in trials]

    (failed, of_failing), (passed, of_passing) = looked(True), looked(False)
    failing, passing = _valid(of_failing), _valid(of_passing)
    each, rest = min(FAILING, failed or FAILING), min(PASSING, passed) - passing.n
    own = Counter(one.annotator for said in of_failing for one in said)
    people = sum(times >= each for times in own.values())
    lacking = []
    if people < PEOPLE or not failing.n:
        lacking.append(f"{PEOPLE} people on {each} failing pictures each")
    if rest > 0:
        lacking.append(f"{rest} more passing pictures")
    done = among_valid(measured, failing, passing) if not lacking and measured.n else None
    return Correction(measured, done, people, failing, passing, " and ".join(lacking))


def majority(labels: Iterable[str]) -> str | None:
    """What most said; None if as many said something else."""
    counted = Counter(labels).most_common(2)
    if not counted or (len(counted) > 1 and counted[0][1] == counted[1][1]):
        return None
    return counted[0][0]


def _valid(labelled: Iterable[Sequence[Label]]) -> Valid:
    """Of the pictures on which most said yes or no."""
    said = [majority(one.label for one in labels) for labels in labelled]
    return Valid(said.count("yes"), said.count("yes") + said.count("no"))


def _share(valid: Valid, unknown: float) -> float:
    return valid.yes / valid.n if valid.n else unknown


def _whole(run: Run, hypothesis: Hypothesis) -> Tally:
    total = Tally()
    for stage in Stage:
        total = total.plus(run.ledger.tally(hypothesis, stage))
    return total
