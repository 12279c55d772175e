from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.engine_parts import engine, fails

from weakspot.core import Stage, Tally, Usage
from weakspot.engine import Budget, Spending, StopRule, stop
from weakspot.stats import confidence_sequence, exceeds, log_evidence_below

NOTHING = Spending(Budget())


def width(w: float, *, level: float = 0.95) -> StopRule:
    """A rule of one's own: until the anytime-valid interval of the rate is at most `w` wide."""

    def met(tally: Tally, _: Spending) -> bool:
        low, high = confidence_sequence(tally.failures, tally.n, level)
        return high - low <= w

    return StopRule(f"an interval {w:.3g} wide", met)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1024, 1500])
@pytest.mark.parametrize("batch", [7, 64])
def test_a_fixed_number_is_met_exactly(tmp_path: Path, n: int, batch: int) -> None:
    with engine(tmp_path, batch=batch) as one, one.run:
        assert one.test(fails(0.3), until=stop.drawn(n)).drawn == n
        assert one.run.ledger.count(fails(0.3), Stage.EXPLORE) == n


def test_until_so_many_failures(tmp_path: Path) -> None:
    with engine(tmp_path) as one, one.run:
        tally = one.test(fails(0.05), until=stop.failures(60))
        assert tally.failures >= 60
        assert one.test(fails(0.05), until=stop.failures(60)) == tally  # met: nothing more is drawn
        assert tally.drawn <= 2048


def test_until_the_interval_is_narrow(tmp_path: Path) -> None:
    with engine(tmp_path) as one, one.run:
        tally = one.test(fails(0.5), until=width(0.1))
        low, high = confidence_sequence(tally.failures, tally.n)
        assert high - low <= 0.1
        wide = one.test(fails(0.5, "other"), until=width(0.1, level=0.5))
        assert wide.n <= tally.n


@pytest.mark.parametrize(("rate", "worse"), [(0.4, True), (0.1, False)])
def test_until_decided_against_a_baseline(tmp_path: Path, rate: float, worse: bool) -> None:
    base = Tally(4000, 400)
    with engine(tmp_path) as one, one.run:
        tally = one.test(fails(rate), until=stop.decided(base))
        assert exceeds(tally.failures, tally.n, 400, 4000) == worse
        assert (log_evidence_below(tally.failures, tally.n, 400, 4000, factor=2) >= 2.99) != worse


def test_until_a_share_is_spent(tmp_path: Path) -> None:
    with engine(tmp_path, budget="images=1001") as one, one.run:
        assert one.test(fails(0.1), until=stop.spent(0.3)).drawn == 301
        assert one.test(fails(0.2), until=stop.spent(0.5)).drawn == 501 - 301


def test_rules_look_at_counts_and_spending() -> None:
    gone = Spending(Budget.parse("images=10"))
    for _ in range(5):
        gone.add(Usage())
    rules: list[tuple[StopRule, Tally, bool]] = [
        (stop.drawn(3), Tally(2), False),
        (stop.drawn(3), Tally(1, 0, 1, 1), True),  # errors too are drawn
        (stop.failures(2), Tally(9, 1, errors=9), False),
        (stop.failures(2), Tally(9, 2), True),
        (width(0.5), Tally(0), False),
        (stop.spent(0.5), Tally(), True),
        (stop.spent(0.6), Tally(), False),
    ]
    for rule, tally, met in rules:
        assert rule.met(tally, gone) == met, rule.words


def test_rules_are_joined() -> None:
    either, both = stop.drawn(10) | stop.failures(3), stop.drawn(10) & stop.failures(3)
    for tally, one, two in [
        (Tally(5, 1), False, False),
        (Tally(10, 1), True, False),
        (Tally(5, 3), True, False),
        (Tally(10, 3), True, True),
    ]:
        assert either.met(tally, NOTHING) == one
        assert both.met(tally, NOTHING) == two
    assert either.room(Tally(4), NOTHING) == 6
    assert both.room(Tally(4), NOTHING) == 32  # what failures need: at least so many at a time
    assert stop.failures(20).room(Tally(99, 9), NOTHING) == 110  # eleven more at one in ten
    assert (stop.drawn(10) & stop.drawn(20)).room(Tally(4), NOTHING) == 16
    assert either.words == "10 trials, or 3 failures"
    assert both.words == "10 trials and 3 failures"
    assert stop.spent(0.3).words == "30% of the budget"
    assert (either | both).met(Tally(10, 0), NOTHING)


def test_joined_rules_in_an_engine(tmp_path: Path) -> None:
    with engine(tmp_path) as one, one.run:
        assert one.test(fails(0.0), until=stop.failures(1) | stop.drawn(777)).drawn == 777
        tally = one.test(fails(0.01), until=stop.failures(15) & stop.drawn(300))
        assert tally.failures >= 15
        assert tally.drawn >= 300
