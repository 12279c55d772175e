"""The race: samples go to the hypotheses whose decision is open; then fresh draws confirm the winners.

Two stages, two promises. `race` is a screen: each hypothesis is accepted when the sequential test shows
its rate above the baseline's, dropped when it shows less than `lift` times it, and those that look worst
for the model are drawn first. What it selects is biased by having been selected. `confirm` therefore
measures the winners on fresh draws, evidence from these alone, and closed e-BH, which bounds the
false-discovery rate whatever the dependence between the hypotheses (they share the baseline's draws) and
whenever one stops, for whichever of them and for whatever reason.

The baseline's own draws may be used again for that. It was not selected: whatever its draws suggested, a
hypothesis that is no worse than the baseline expects at most as much evidence, given the baseline's draws,
as one whose rate equals the baseline's, and that expectation, over the baseline's draws, is at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from weakspot.core import Finding, Hypothesis, Stage, Tally
from weakspot.engine.engine import Engine, Want
from weakspot.engine.stop import BudgetSpent
from weakspot.engine.watch import Lane, State
from weakspot.stats import closed_e_bh, confidence_sequence, log_evidence, log_evidence_below
from weakspot.store import rate


class Claim(NamedTuple):
    """A hypothesis is worse than its baseline, by all failures or by those with one wrong answer.

    Attributes:
        answer: If given, only failures with this answer count, here and in the baseline.
        within: A broader hypothesis; if given, the claim is to be worse than this one too.
    """

    hypothesis: Hypothesis
    against: Hypothesis
    answer: str = ""
    within: Hypothesis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceSettings:
    """How the race is run.

    Attributes:
        alpha: Error rate of each accepting or dropping decision (a screen; see `confirm`).
        lift: A hypothesis is dropped when its rate is shown to be below this multiple of the baseline's, and
            waits when it would be so even with two more failures. A baseline that fails often is not
            multiplied by so much: see `worth`.
        most: Draws after which an open hypothesis gets no more.
        share: The part of the run's budget at which the race ends with the rest still open.
        places: The race also ends when so many are ahead and no open hypothesis can still matter more than
            the one among them that matters least.
    """

    alpha: float = 0.05
    lift: float = 3.0
    first: int = 24
    most: int = 384
    share: float = 0.6
    places: int = 8


def race(
    engine: Engine,
    hypotheses: Sequence[Hypothesis | Claim],
    *,
    against: Hypothesis | None = None,
    settings: RaceSettings | None = None,
    share: Callable[[Lane], float] = lambda _: 1.0,
) -> list[Lane]:
    """Race hypotheses against a baseline that has been tested already.

    Args:
        hypotheses: What races; several claims may share a hypothesis, and then share its draws.
        against: The baseline of those that are not claims.
        share: Of which share of the baseline's cases a hypothesis speaks. The more, the more it matters.

    Returns:
        One lane per hypothesis, in the given order: `AHEAD`, `BEHIND`, `UNDRAWN` or still `OPEN`.
    """
    settings = settings or RaceSettings()
    lanes = [_decided(engine, lane, settings) for lane in _lanes(engine, hypotheses, against)]

    def matters(lane: Lane, rate: float) -> float:
        """Its share of all failures, up to a factor, times how far its rate is above the usual."""
        base = _base(engine, lane)
        return share(lane) * rate * max(rate - (base.failures + 0.5) / (base.n + 1), 0.0)

    while racing := [lane for lane in lanes if _goes_on(engine, lane, settings)]:
        bar = _bar(lanes, matters, settings.places)
        racing = [r for r in racing if matters(r, confidence_sequence(r.tally.failures, r.tally.n)[1]) >= bar]
        if engine.spending.share() >= settings.share or not racing:
            break
        entering = [lane for lane in racing if not lane.tally.drawn]
        promise = {lane.hypothesis.id: matters(lane, _hoped(lane)) for lane in racing}
        racing.sort(key=lambda lane: -promise[lane.hypothesis.id])
        chosen = entering or racing[: max(4, len(racing) // 2)]
        engine.draw([Want(lane.hypothesis, _next(lane.tally.drawn, settings)) for lane in chosen])
        lanes = [_decided(engine, lane, settings) for lane in lanes]
        engine.watch.update("race", lanes, engine.spending.amounts)
    return lanes


def _lanes(
    engine: Engine,
    hypotheses: Sequence[Hypothesis | Claim],
    against: Hypothesis | None,
    stage: Stage = Stage.EXPLORE,
) -> list[Lane]:
    lanes = []
    for one in hypotheses:
        if isinstance(one, Hypothesis):
            if against is None:
                raise ValueError("A hypothesis that is no claim needs `against`.")
            one = Claim(one, against)
        tally = engine.tally(one.hypothesis, stage, answer=one.answer)
        lanes.append(Lane(one.hypothesis, tally, answer=one.answer, against=one.against, within=one.within))
    return lanes


def _next(drawn: int, settings: RaceSettings) -> int:
    """How many draws a hypothesis has after its next turn: twice as many, up to 256 more."""
    return max(settings.first, min(2 * drawn, drawn + 256))


def _goes_on(engine: Engine, lane: Lane, settings: RaceSettings) -> bool:
    """Whether more draws of an open hypothesis are worth their cost."""
    most = min(settings.most, engine.reach(lane.hypothesis))
    if lane.state is not State.OPEN or lane.tally.drawn >= most:
        return False
    if not lane.tally.drawn:
        return True
    base = _base(engine, lane)
    hoped, usual = (lane.tally.failures + 2) / (lane.tally.n + 1), (base.failures + 0.5) / (base.n + 1)
    return hoped >= worth(usual, settings.lift) * usual


def worth(usual: float, lift: float) -> float:
    """The multiple of the usual rate that is worth looking for: `lift` where failures are rare, down to 1.

    Three times 1 % is a weak spot; three times 30 % is nearly always.
    """
    return 1.0 + (lift - 1.0) * (1.0 - min(usual, 1.0)) ** 4


def _bar(lanes: Sequence[Lane], matters: Callable[[Lane, float], float], places: int) -> float:
    """What a hypothesis must be able to reach to be among the first; below 0 while there is room for all."""
    ahead = sorted((matters(r, r.tally.rate) for r in lanes if r.state is State.AHEAD), reverse=True)
    return ahead[places - 1] if len(ahead) >= places else -1.0


def _hoped(lane: Lane) -> float:
    """The rate as it would be with one more trial and half a failure: unproven ones are not starved."""
    return (lane.tally.failures + 0.5) / (lane.tally.n + 1)


def _base(engine: Engine, lane: Lane, *stages: Stage) -> Tally:
    total = Tally()
    for stage in stages or (Stage.EXPLORE,):
        total = total.plus(engine.tally(lane.against or lane.hypothesis, stage, answer=lane.answer))
    return total


def _decided(engine: Engine, lane: Lane, settings: RaceSettings) -> Lane:
    if lane.state is not State.OPEN:
        return lane
    tally = engine.tally(lane.hypothesis, answer=lane.answer)
    base, enough = _base(engine, lane), math.log(1 / settings.alpha)
    factor = worth((base.failures + 0.5) / (base.n + 1), settings.lift)
    counts = (tally.failures, tally.n, base.failures, base.n)
    evidence = log_evidence(*counts)
    if not tally.n and tally.errors:
        state = State.UNDRAWN
    elif evidence >= enough:
        state = State.AHEAD
    elif log_evidence_below(*counts, factor=factor) >= enough:
        state = State.BEHIND
    else:
        state = State.OPEN
    return replace(lane, tally=tally, state=state, log_evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmSettings:
    """How winners are confirmed.

    Attributes:
        fdr: Bound on the expected share of false findings in the list.
        least: Fresh draws of every candidate, so that its rate is worth showing.
        most: Fresh draws after which a candidate counts as not confirmed.
        baseline: The baseline is drawn on until it has so many draws in all, and grows with the candidates',
            to four times as many.
        alone: A candidate is drawn on until its own evidence would do in any list of that length, for lists
            that are decided elsewhere; otherwise until this list confirms it, where others may help.
    """

    fdr: float = 0.05
    least: int = 128
    most: int = 512
    baseline: int = 1024
    alone: bool = False


def confirm(
    engine: Engine,
    hypotheses: Sequence[Hypothesis | Claim],
    *,
    against: Hypothesis | None = None,
    settings: ConfirmSettings | None = None,
) -> tuple[list[Lane], BudgetSpent | None]:
    """Test the winners of a race on fresh draws.

    Returns:
        One lane per hypothesis, in the given order: `CONFIRMED` or still `AHEAD`; and the budget that
        left no room for the settings' first round, if one did. Stopping early costs power, never truth.
    """
    wanted = settings or ConfirmSettings()
    claims = _lanes(engine, hypotheses, against, Stage.CONFIRM)
    bases = list({lane.against.id: lane.against for lane in claims if lane.against}.values())
    known = {base.id: engine.tally(base).drawn for base in bases}
    settings = _affordable(wanted, len(claims), [known[b.id] for b in bases], engine.spending.room())
    enough = math.log(max(len(claims), 1) / settings.fdr)

    def further(lanes: Sequence[Lane], n: int, base_n: int) -> list[Want]:
        """So many draws of each, and so many of the baselines that they are compared with."""
        needed = {lane.against.id for lane in lanes if lane.against}
        return [
            *(Want(b, base_n - known[b.id], Stage.CONFIRM) for b in bases if b.id in needed),
            *(Want(lane.hypothesis, n, Stage.CONFIRM) for lane in lanes),
        ]

    stopped: BudgetSpent | None = None
    given_up = False
    n, base_n, still_open = settings.least, settings.baseline, claims
    try:
        while still_open:
            wants = further(still_open, n, base_n)
            while n > settings.least and engine.missing(wants) > engine.spending.room() and still_open:
                # The rest of the budget buys no further round for all: those go on that are nearest to it.
                still_open = sorted(still_open, key=lambda lane: -lane.log_evidence)[:-1]
                given_up = True
                wants = further(still_open, n, base_n)
            if not still_open:
                break
            engine.draw(wants)
            claims = _decided_together(engine, claims, settings.fdr)
            engine.watch.update("confirm", claims, engine.spending.amounts)
            still_open = [
                lane
                for lane in claims
                if (lane.log_evidence < enough if settings.alone else lane.state is not State.CONFIRMED)
            ]
            if n >= settings.most:
                break
            n, base_n = min(2 * n, settings.most), min(2 * base_n, 4 * settings.baseline)
    except BudgetSpent as limit:
        stopped = limit
    if (still_open or (given_up and any(lane.state is not State.CONFIRMED for lane in claims))) and (
        settings != wanted
    ):
        stopped = stopped or BudgetSpent(*engine.spending.tightest())
    claims = _decided_together(engine, claims, settings.fdr)
    engine.watch.update("confirm", claims, engine.spending.amounts)
    return claims, stopped


def _affordable(
    settings: ConfirmSettings, candidates: int, known: Sequence[int], room: int
) -> ConfirmSettings:
    """With little budget left, a smaller first round for all instead of a full one for the baseline alone."""
    bases = sum(max(settings.baseline - drawn, 0) for drawn in known)
    cost = bases + candidates * settings.least
    if not candidates or cost <= room:
        return settings
    least = min(settings.least, room // (2 * candidates))
    left = (room - candidates * least) // max(len(known), 1)
    return replace(settings, least=max(least, 1), baseline=max(left + min(known, default=0), 1))


def _decided_together(engine: Engine, lanes: Sequence[Lane], fdr: float) -> list[Lane]:
    """The lanes by their fresh draws so far, and which of them the whole list confirms."""
    found = []
    for lane in lanes:
        tally = engine.tally(lane.hypothesis, Stage.CONFIRM, answer=lane.answer)
        base = _base(engine, lane, Stage.EXPLORE, Stage.CONFIRM)
        evidence = log_evidence(tally.failures, tally.n, base.failures, base.n)
        if lane.within is not None:
            # The broader one was selected, so only its fresh draws say how often it fails. The smaller of two
            # e-values is one against "no worse than the baseline, or no worse than the broader one".
            broad = engine.tally(lane.within, Stage.CONFIRM, answer=lane.answer)
            more = log_evidence(tally.failures, tally.n, broad.failures, broad.n)
            evidence = min(evidence, more)
        found.append(replace(lane, tally=tally, log_evidence=evidence))
    held = closed_e_bh([lane.log_evidence for lane in found], fdr)
    return [
        replace(lane, state=State.CONFIRMED if ok else State.AHEAD)
        for lane, ok in zip(found, held, strict=True)
    ]


def findings(engine: Engine, lanes: Sequence[Lane]) -> list[Finding]:
    """Findings, the confirmed ones first, then by rate; all numbers of a hypothesis from fresh draws."""
    ledger = engine.run.ledger
    held = {lane.hypothesis.id for lane in lanes if lane.state is State.CONFIRMED and lane.within is None}
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
                under=lane.within.id if lane.within is not None and lane.within.id in held else "",
            )
        )
    return sorted(found, key=lambda f: (not f.confirmed, -f.rate.value))
