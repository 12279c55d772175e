"""What confirmed lanes say: findings, all of whose numbers come from draws that the search never saw."""

from __future__ import annotations

from collections.abc import Sequence

from weakspot.core import Finding, Stage
from weakspot.engine.engine import Engine
from weakspot.engine.watch import Lane, State
from weakspot.store import rate


def findings(engine: Engine, lanes: Sequence[Lane]) -> list[Finding]:
    """Findings, the confirmed ones first, then by rate; all numbers of a hypothesis from fresh draws."""
    ledger = engine.run.ledger
    found = []
    for lane in lanes:
        base = lane.against or lane.hypothesis
        stages = (Stage.EXPLORE, Stage.CONFIRM)
        usual, usual_fresh = (engine.tally(base, stage, answer=lane.answer) for stage in stages)
        answers = engine.wrong_answers(lane.hypothesis, Stage.CONFIRM)
        failures = sum(answers.values())
        kept = {
            failed: tuple(
                t.index
                for t in ledger.trials(lane.hypothesis, stage=Stage.CONFIRM, failed=failed, kept=True)
                if not (failed and lane.answer) or t.answer == lane.answer
            )
            for failed in (True, False)
        }
        found.append(
            Finding(
                hypothesis=lane.hypothesis,
                phrase=lane.hypothesis.beyond(base),
                rate=rate(lane.tally),
                baseline=rate(usual.plus(usual_fresh)),
                log_evidence=lane.log_evidence,
                confirmed=lane.state is State.CONFIRMED,
                confusions=tuple((answer, k / failures) for answer, k in answers.most_common()),
                failing=kept[True],
                passing=kept[False],
                answer=lane.answer,
                unchecked=rate(lane.tally.unchecked) if lane.tally.invalid else None,
            )
        )
    return sorted(found, key=lambda f: (not f.confirmed, -f.rate.value))
