from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_parts import Clerk, content, engine, fails

from weakspot.core import Hypothesis, Stage
from weakspot.engine import ConfirmSettings, Engine, RaceSettings, State, confirm, race, stop
from weakspot.stats import closed_e_bh

BASE = fails(0.02, "base")
SETTINGS = RaceSettings(first=32, most=1024, share=0.9, places=8)


def with_baseline(folder: Path, n: int = 2000, **how: Any) -> Engine:
    one = engine(folder, **how)
    one.test(BASE, until=stop.drawn(n))
    return one


def test_samples_go_where_the_decision_is_open(tmp_path: Path) -> None:
    strong, near = [fails(0.6, str(i)) for i in range(3)], [fails(0.09, str(i)) for i in range(2)]
    hopeless = [fails(0.005, str(i)) for i in range(10)]
    words = [*hopeless, *strong, *near]
    with with_baseline(tmp_path) as one, one.run:
        lanes = {lane.hypothesis: lane for lane in race(one, words, against=BASE, settings=SETTINGS)}
        assert list(lanes) == words  # in the given order
        for h in strong:
            assert lanes[h].state is State.AHEAD
            assert lanes[h].tally.drawn == 32  # decided at once
            assert lanes[h].log_evidence >= math.log(20)
        for h in hopeless:
            assert lanes[h].state in (State.BEHIND, State.OPEN)
            assert lanes[h].tally.drawn <= 1024
        hopeless_mean = sum(lanes[h].tally.drawn for h in hopeless) / 10
        near_mean = sum(lanes[h].tally.drawn for h in near) / 2
        assert hopeless_mean < 400
        assert near_mean > hopeless_mean


def test_a_race_that_must_end_early_leaves_the_rest_open(tmp_path: Path) -> None:
    words = [fails(0.08, str(i)) for i in range(20)]
    with with_baseline(tmp_path, 500, budget="images=2000") as one, one.run:
        lanes = race(one, words, against=BASE, settings=RaceSettings(most=1024, share=0.45))
        assert 0.45 <= one.spending.share() < 0.8
        assert any(lane.state is State.OPEN for lane in lanes)


def test_a_race_is_settled_when_nobody_can_catch_up(tmp_path: Path) -> None:
    """The open one is decided by nothing yet, but it cannot reach the places any more."""
    strong, weak = [fails(0.9, str(i)) for i in range(2)], fails(0.03, "weak")
    with with_baseline(tmp_path) as one, one.run:
        lanes = race(one, [*strong, weak], against=BASE, settings=RaceSettings(places=2, share=1, most=1024))
        assert [lane.state for lane in lanes[:2]] == [State.AHEAD] * 2
        assert lanes[2].tally.drawn <= 64


def test_what_cannot_be_drawn_is_left_out_and_the_race_goes_on(tmp_path: Path) -> None:
    words = [Hypothesis("impossible"), fails(0.6), Hypothesis("nonsense"), Hypothesis("worse")]
    with with_baseline(tmp_path) as one, one.run:
        lanes = race(one, words, against=BASE, settings=SETTINGS)
        assert [lane.state for lane in lanes] == [State.UNDRAWN, State.AHEAD, State.UNDRAWN, State.UNDRAWN]
        assert lanes[0].tally.errors == 32


def test_a_race_of_nobody(tmp_path: Path) -> None:
    with with_baseline(tmp_path) as one, one.run:
        assert race(one, [], against=BASE) == []
        assert confirm(one, [], against=BASE) == ([], None)


def test_a_race_over_its_own_ledger_repeats_itself(tmp_path: Path) -> None:
    words = [fails(rate) for rate in (0.01, 0.05, 0.1, 0.6)]
    with with_baseline(tmp_path) as one, one.run:
        lanes = race(one, words, against=BASE, settings=SETTINGS)
        confirmed = confirm(one, words, against=BASE)
    before, target = content(tmp_path), Clerk()
    two = engine(tmp_path, again=True, target=target, batch=50)
    with two, two.run:
        two.test(BASE, until=stop.drawn(2000))
        assert race(two, words, against=BASE, settings=SETTINGS) == lanes
        assert confirm(two, words, against=BASE) == confirmed
    assert target.asked == []
    assert content(tmp_path) == before


SURE = ConfirmSettings(least=128, most=512, baseline=512)


def test_confirmation_uses_fresh_draws_only(tmp_path: Path) -> None:
    target, words = Clerk(), [fails(0.5), fails(0.02, "chance")]
    with with_baseline(tmp_path, target=target) as one, one.run:
        race(one, words, against=BASE, settings=SETTINGS)
        explored = dict(one.run.ledger.tallies())
        target.asked.clear()
        lanes, stopped = confirm(one, words, against=BASE, settings=SURE)
        assert stopped is None
        assert {Stage.of(index) for _, index in target.asked} == {Stage.CONFIRM}
        assert {text for text, _ in target.asked} == {BASE.text, *(h.text for h in words)}
        for lane in lanes:
            assert lane.tally == one.run.ledger.tally(lane.hypothesis, Stage.CONFIRM)
            indices = [t.index for t in one.run.ledger.trials(lane.hypothesis, stage=Stage.CONFIRM)]
            assert indices == list(range(Stage.CONFIRM.start, Stage.CONFIRM.start + lane.tally.drawn))
        for h in words:
            assert one.run.ledger.tally(h, Stage.EXPLORE) == explored[h.id]
        assert [lane.state for lane in lanes] == [State.CONFIRMED, State.AHEAD]
        assert lanes[0].tally.n == 128  # clear at once
        assert lanes[1].tally.n == 512  # given every chance


def test_the_confirmed_list_is_that_of_closed_e_bh(tmp_path: Path) -> None:
    words = [fails(rate) for rate in (0.9, 0.3, 0.09, 0.07, 0.05, 0.03, 0.02)]
    with with_baseline(tmp_path) as one, one.run:
        lanes, _ = confirm(one, words, against=BASE, settings=SURE)
        held = closed_e_bh([lane.log_evidence for lane in lanes], SURE.fdr)
        assert [lane.state is State.CONFIRMED for lane in lanes] == list(held)
        assert lanes[0].state is State.CONFIRMED
        assert lanes[-1].state is State.AHEAD


def test_drawing_ends_when_the_list_confirms_all(tmp_path: Path) -> None:
    """A list is confirmed as soon as it is decided; alone, each candidate needs evidence for itself."""
    words = [fails(0.9), fails(0.16, "a")]
    drawn = []
    for alone in (False, True):
        with with_baseline(tmp_path / str(alone), 1000) as one, one.run:
            lanes, _ = confirm(one, words, against=BASE, settings=replace(SURE, least=48, alone=alone))
            assert [lane.state for lane in lanes] == [State.CONFIRMED] * 2
            drawn.append(lanes[1].tally.n)
            assert (lanes[1].log_evidence >= math.log(2 / SURE.fdr)) is alone
    assert drawn == [48, 96]


def test_a_budget_that_ends_a_confirmation_is_told(tmp_path: Path) -> None:
    with with_baseline(tmp_path, 500, budget="tokens=600", target=Clerk(tokens=1)) as one, one.run:
        _, stopped = confirm(one, [fails(0.9)], against=BASE, settings=SURE)
        assert stopped is not None
        assert stopped.what == "tokens"
        # The rest of a batch, and the batches that were under way.
        assert 600 <= one.run.ledger.spend()["tokens"] <= 600 + 5 * 64


def test_little_budget_makes_a_smaller_confirmation(tmp_path: Path) -> None:
    with with_baseline(tmp_path, 500, budget="images=900") as one, one.run:
        lanes, stopped = confirm(one, [fails(0.9), fails(0.8)], against=BASE, settings=SURE)
        assert stopped is None
        assert one.run.ledger.spend()["images"] <= 900
        assert [lane.state for lane in lanes] == [State.CONFIRMED] * 2


def test_the_same_words_twice_are_drawn_once(tmp_path: Path) -> None:
    with with_baseline(tmp_path) as one, one.run:
        lanes = race(one, [fails(0.6), fails(0.6), BASE], against=BASE, settings=SETTINGS)
        assert lanes[0] == lanes[1]
        confirmed, _ = confirm(one, [fails(0.6), fails(0.6), BASE], against=BASE, settings=SURE)
        assert [lane.state for lane in confirmed] == [State.CONFIRMED, State.CONFIRMED, State.AHEAD]


@pytest.mark.long
def test_chance_alone_is_rarely_confirmed(tmp_path: Path) -> None:
    """Forty candidates that fail as often as the baseline: selected by a race, none should survive."""
    words = [fails(0.1, str(i)) for i in range(40)]
    base = fails(0.1, "base")
    with engine(tmp_path) as one, one.run:
        one.test(base, until=stop.drawn(1000))
        race(one, words, against=base, settings=SETTINGS)
        lanes, _ = confirm(one, words, against=base, settings=SURE)
        assert not any(lane.state is State.CONFIRMED for lane in lanes)
