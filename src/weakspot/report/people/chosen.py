"""Which pictures of a run people are asked about: those first on which a finding's rate hangs.

A finding's rate is corrected by labels of its own pictures alone (`corrected`), and its baseline's by labels
of the baseline's. So every finding gets enough to be corrected, in the order of the findings, then the
baselines do, then all of them get more. Pictures of other hypotheses change no rate; they are asked about
only where a run has no finding and no baseline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from weakspot.core import Hypothesis, Trial
from weakspot.report.people.corrected import stage_of
from weakspot.report.people.items import picture_of
from weakspot.store import Run

#: Failing and passing pictures in a finding's first helping, and findings whose helpings are mixed: nobody
#: who labels shall know whose a picture is, and whoever stops early shall have finished some.
HELPING: Final = (8, 4)
MIXED: Final = 3


class Chosen(NamedTuple):
    """A picture; those of an earlier round are asked about first."""

    hypothesis: Hypothesis
    trial: Trial
    round: int


def chosen(run: Run, most: int | None) -> list[Chosen]:
    """At most so many kept pictures; with None all that may ever have been asked about."""
    asked = {f.hypothesis.id: f.hypothesis for f in run.findings if f.confirmed and not f.answer}
    usual = {h.id: h for h in run.baselines if h.id not in asked}
    found = _helpings(run, [*asked.values()], [*usual.values()])
    if most is not None and found:
        return found[:most]
    last = max((one.round for one in found), default=0) + 1
    rest = [h for h in run.ledger.hypotheses() if h.id not in asked and h.id not in usual]
    others = [one for h in rest for one in _mixed(run, h, last)]
    if most is None:
        known = {(one.hypothesis.id, one.trial.index) for one in found}
        earlier = [t for h in (*asked.values(), *usual.values()) for t in _mixed(run, h, last, fresh=False)]
        others += [t for t in earlier if (t.hypothesis.id, t.trial.index) not in known]
        return found + others
    others.sort(key=lambda one: _place(one.hypothesis, one.trial))
    failing = [one for one in others if one.trial.failed][: most // 2]
    passing = [one for one in others if not one.trial.failed][: most - len(failing)]
    return [one for one in others if one.trial.failed][: most - len(passing)] + passing


def _helpings(run: Run, findings: list[Hypothesis], usual: list[Hypothesis]) -> list[Chosen]:
    """First helpings of the findings, a few findings to a round, then of the baselines, then all the rest."""
    left = {h.id: list(_mixed(run, h, 0)) for h in (*findings, *usual)}
    found: list[Chosen] = []
    number = 0
    for begin in range(0, len(findings), MIXED):
        for h in findings[begin : begin + MIXED]:
            found += _helped(left, h, number)
        number += 1
    for h in usual:
        found += _helped(left, h, number)
    number += 1
    for place in range(max(map(len, left.values()), default=0)):
        found += [some[place]._replace(round=number) for some in left.values() if place < len(some)]
    return found


def _helped(left: dict[str, list[Chosen]], hypothesis: Hypothesis, number: int) -> list[Chosen]:
    """A helping of what is left of a hypothesis, taken out."""
    some = left[hypothesis.id]
    taken = [
        one
        for failed, most in zip((True, False), HELPING, strict=True)
        for one in [one for one in some if bool(one.trial.failed) is failed][:most]
    ]
    left[hypothesis.id] = [one for one in some if one not in taken]
    return [one._replace(round=number) for one in taken]


def _mixed(run: Run, hypothesis: Hypothesis, number: int, *, fresh: bool = True) -> Iterator[Chosen]:
    """Its kept pictures in an order of chance, failing and passing ones in turn as far as there are both."""
    stage = stage_of(run, hypothesis) if fresh else None
    kept = []
    for failed in (True, False):
        trials = run.ledger.trials(hypothesis, stage=stage, failed=failed, kept=True, limit=1000)
        trials = [trial for trial in trials if picture_of(run, trial.blob)]
        kept.append(sorted(trials, key=lambda trial: _place(hypothesis, trial)))
    for place in range(max(map(len, kept))):
        yield from (Chosen(hypothesis, some[place], number) for some in kept if place < len(some))


def _place(hypothesis: Hypothesis, trial: Trial) -> bytes:
    return hashlib.sha256(f"{hypothesis.id}:{trial.index}:sample".encode()).digest()
