"""The race: samples go to the hypotheses whose decision is open; then fresh draws confirm the winners.

Two stages, two promises. `race` is a screen: each hypothesis is accepted when the sequential test shows
its rate above the baseline's, dropped when it shows less than `lift` times it, and those that look worst
for the model are drawn first. What it selects is biased by having been selected. `confirm` therefore
starts from nothing: fresh draws of the winners *and* of the baseline, evidence from these alone, and
e-BH, which bounds the false-discovery rate whatever the dependence between the hypotheses (they share the
baseline's draws) and whenever one stops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weakspot.core import Hypothesis, Stage
from weakspot.engine.budget import BudgetSpent
from weakspot.engine.engine import Engine, Want
from weakspot.engine.watch import Lane, State
from weakspot.stats import confidence_sequence, e_bh, log_evidence, log_evidence_below


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceSettings:
    """How the race is run.

    Attributes:
        alpha: Error rate of each accepting or dropping decision (a screen; see `confirm`).
        lift: A hypothesis is dropped when its rate is shown to be below this multiple of the baseline's.
        first: Draws every hypothesis gets.
        most: Draws after which an open hypothesis gets no more.
        share: The part of the run's budget at which the race ends with the rest still open.
        places: The race also ends when so many are ahead and no open hypothesis can still be worse for the
            model than the mildest of them.
    """

    alpha: float = 0.05
    lift: float = 2.0
    first: int = 32
    most: int = 768
    share: float = 0.6
    places: int = 8


def race(
    engine: Engine,
    hypotheses: Sequence[Hypothesis],
    *,
    against: Hypothesis,
    settings: RaceSettings | None = None,
) -> list[Lane]:
    """Race hypotheses against a baseline that has been tested already.

    Returns:
        One lane per hypothesis, in the given order: `AHEAD`, `BEHIND`, `UNDRAWN` or still `OPEN`.
    """
    settings = settings or RaceSettings()
    lanes = [Lane(h, engine.tally(h)) for h in hypotheses]
    wanted = {h.id: settings.first for h in hypotheses}
    while racing := [lane for lane in lanes if lane.state is State.OPEN and lane.tally.drawn < settings.most]:
        if engine.spending.share() >= settings.share or _settled(lanes, racing, settings.places):
            break
        entering = [lane for lane in racing if not lane.tally.drawn]
        for lane in racing:
            wanted[lane.hypothesis.id] = max(
                settings.first, min(2 * lane.tally.drawn, lane.tally.drawn + 256)
            )
        chosen = entering or sorted(racing, key=_promise, reverse=True)[: max(4, len(racing) // 2)]
        engine.draw([Want(lane.hypothesis, wanted[lane.hypothesis.id]) for lane in chosen])
        lanes = [_decided(engine, lane, against, settings) for lane in lanes]
        engine.watch.update("race", lanes, engine.spending.amounts)
    return lanes


def _settled(lanes: Sequence[Lane], racing: Sequence[Lane], places: int) -> bool:
    rates = sorted((lane.tally.rate for lane in lanes if lane.state is State.AHEAD), reverse=True)
    if len(rates) < places:
        return False
    return all(confidence_sequence(r.tally.failures, r.tally.n)[1] < rates[places - 1] for r in racing)


def _promise(lane: Lane) -> float:
    """The rate as it would be with one more trial and half a failure: unproven ones are not starved."""
    return (lane.tally.failures + 0.5) / (lane.tally.n + 1)


def _decided(engine: Engine, lane: Lane, against: Hypothesis, settings: RaceSettings) -> Lane:
    if lane.state is not State.OPEN:
        return lane
    tally, base, enough = engine.tally(lane.hypothesis), engine.tally(against), math.log(1 / settings.alpha)
    counts = (tally.failures, tally.n, base.failures, base.n)
    evidence = log_evidence(*counts)
    if not tally.n and tally.errors:
        state = State.UNDRAWN
    elif evidence >= enough:
        state = State.AHEAD
    elif log_evidence_below(*counts, factor=settings.lift) >= enough:
        state = State.BEHIND
    else:
        state = State.OPEN
    return Lane(lane.hypothesis, tally, state, evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmSettings:
    """How winners are confirmed.

    Attributes:
        fdr: Bound on the expected share of false findings in the list.
        least: Fresh draws of every candidate, so that its rate is worth showing.
        most: Fresh draws after which a candidate counts as not confirmed.
        baseline: Fresh draws of the baseline to begin with; they grow with the candidates', to twice as many.
    """

    fdr: float = 0.05
    least: int = 256
    most: int = 1024
    baseline: int = 1024


def confirm(
    engine: Engine,
    hypotheses: Sequence[Hypothesis],
    *,
    against: Hypothesis,
    settings: ConfirmSettings | None = None,
) -> tuple[list[Lane], BudgetSpent | None]:
    """Test the winners of a race on fresh draws.

    Returns:
        One lane per hypothesis, in the given order: `CONFIRMED` or still `AHEAD`; and the budget that
        left no room for the settings' first round, if one did. Stopping early costs power, never truth.
    """
    wanted = settings or ConfirmSettings()
    settings = _affordable(wanted, len(hypotheses), engine.spending.room())
    enough = math.log(max(len(hypotheses), 1) / settings.fdr)
    stopped: BudgetSpent | None = None
    n, base_n, still_open = settings.least, settings.baseline, list(hypotheses)
    try:
        while still_open:
            wants = [
                Want(h, size, Stage.CONFIRM) for h, size in [(against, base_n), *((h, n) for h in still_open)]
            ]
            if n > settings.least and engine.missing(wants) > engine.spending.room():
                break  # the rest of the budget buys no further round: those still open are not confirmed
            engine.draw(wants)
            lanes = _measured(engine, hypotheses, against)
            engine.watch.update("confirm", lanes, engine.spending.amounts)
            still_open = [lane.hypothesis for lane in lanes if lane.log_evidence < enough]
            if n >= settings.most:
                break
            n, base_n = min(2 * n, settings.most), min(2 * base_n, 2 * settings.baseline)
    except BudgetSpent as limit:
        stopped = limit
    if still_open and settings != wanted:
        stopped = stopped or BudgetSpent(*engine.spending.tightest())
    lanes = _measured(engine, hypotheses, against)
    held = e_bh([lane.log_evidence for lane in lanes], settings.fdr)
    lanes = [
        replace(lane, state=State.CONFIRMED if ok else State.AHEAD)
        for lane, ok in zip(lanes, held, strict=True)
    ]
    engine.watch.update("confirm", lanes, engine.spending.amounts)
    return lanes, stopped


def _affordable(settings: ConfirmSettings, candidates: int, room: int) -> ConfirmSettings:
    """With little budget left, a smaller first round for all instead of a full one for the baseline alone."""
    cost = settings.baseline + candidates * settings.least
    if not candidates or cost <= room:
        return settings
    scale = room / cost
    return replace(
        settings,
        baseline=max(int(settings.baseline * scale), 1),
        least=max(int(settings.least * scale), 1),
    )


def _measured(engine: Engine, hypotheses: Sequence[Hypothesis], against: Hypothesis) -> list[Lane]:
    base = engine.tally(against, Stage.CONFIRM)
    lanes = []
    for hypothesis in hypotheses:
        tally = engine.tally(hypothesis, Stage.CONFIRM)
        evidence = log_evidence(tally.failures, tally.n, base.failures, base.n)
        lanes.append(Lane(hypothesis, tally, State.AHEAD, evidence))
    return lanes
