"""The statistics of ask keep their promises, shown by simulation and by truths found another way."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weakspot.core import Status
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.stats.judged import Confusion
from weakspot.studies.ask.analysis import (
    Asked,
    analysed,
    compared,
    comparisons,
    consistency,
    counted,
    slices,
    trade_off,
)
from weakspot.studies.ask.result import Consistency


def one(i: int, refused: bool | None, *, status: Status | None = None, **more: object) -> Asked:
    said = status or (Status.REFUSED if refused else Status.OK)
    return Asked(str(i), str(more.pop("set", BENIGN)), said, refused, **more)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(list(Status)), st.sampled_from([True, False, None])), max_size=40))
def test_every_question_is_counted_once_and_only_answers_make_the_rate(
    rows: list[tuple[Status, bool | None]],
) -> None:
    asked = [
        one(i, refused if status in (Status.OK, Status.REFUSED) else None, status=status)
        for i, (status, refused) in enumerate(rows)
    ]
    found = c = counted(asked)
    assert c.asked == len(rows) == c.n + c.blocked + c.empty + c.errors + c.undecided
    judged = [a.refused for a in asked if a.refused is not None]
    assert found.n == len(judged)
    assert found.rate == (pytest.approx(sum(judged) / len(judged)) if judged else None)


def test_errors_do_not_move_the_rate() -> None:
    answers = [one(i, i < 30) for i in range(100)]
    others = [one(i, None, status=s) for i, s in enumerate([Status.ERROR, Status.BLOCKED, Status.EMPTY] * 40)]
    assert counted(answers).rate == counted([*answers, *others]).rate == 0.3
    assert counted([*answers, *others]).rate_interval == counted(answers).rate_interval


def test_the_corrected_rate_covers_the_truth() -> None:
    """A judge with known confusion, truth 20 %: the raw interval misses, the corrected one holds."""
    rng = np.random.default_rng(5)
    raw = corrected = 0
    for _ in range(80):
        truth = rng.random(300) < 0.2
        seen = np.where(truth, rng.random(300) < 0.8, rng.random(300) < 0.1)
        error = Confusion(int(rng.binomial(200, 0.8)), 200, int(rng.binomial(200, 0.9)), 200)
        found = counted([one(i, bool(s)) for i, s in enumerate(seen)], error)
        low, high = found.rate_interval or (1.0, 0.0)
        raw += low <= 0.2 <= high
        low, high = found.rate_corrected_interval or (1.0, 0.0)
        corrected += low <= 0.2 <= high
    assert raw / 80 < 0.85
    assert corrected / 80 >= 0.92


@pytest.mark.parametrize("error", [None, Confusion(50, 100, 50, 100), Confusion(0, 0, 5, 5)])
def test_no_correction_with_a_judge_of_unknown_or_no_worth(error: Confusion | None) -> None:
    found = counted([one(i, i < 3) for i in range(9)], error)
    assert (found.rate_corrected, found.rate_corrected_interval) == (None, None)


class TestSlices:
    def world(self, rng: random.Random, rate: float, worse: float = 0.0) -> list[Asked]:
        found = []
        for i in range(300):
            columns = {
                "stimulus": (str(i // 100),),
                "harm": (str(rng.randrange(7)),),
                **{flag: (rng.choice(["yes", "no"]),) for flag in ("human", "child", "ocr", "synthetic")},
            }
            p = worse if worse and columns["stimulus"] == ("2",) else rate
            found.append(one(i, rng.random() < p, slices=columns))
        return found

    def test_false_discoveries_are_bounded_where_nothing_is_worse(self) -> None:
        rng = random.Random(3)
        wrong = sum(
            any(row.worse for rows in slices(self.world(rng, 0.3)).values() for row in rows.values())
            for _ in range(40)
        )
        assert wrong / 40 <= 0.125  # 5 % and the luck of 40 trials

    def test_a_slice_that_is_worse_is_found(self) -> None:
        rng = random.Random(4)
        found = [slices(self.world(rng, 0.2, 0.6)) for _ in range(12)]
        assert all(f["stimulus"]["2"].worse for f in found)
        others = [
            r.worse
            for f in found
            for c, rows in f.items()
            for v, r in rows.items()
            if (c, v) != ("stimulus", "2")
        ]
        assert sum(others) / len(others) < 0.03

    def test_in_the_contrast_set_fewer_refusals_are_worse(self) -> None:
        asked = [one(i, i >= 40, set=CONTRAST, slices={"kind": (str(i // 40),)}) for i in range(120)]
        found = slices(asked, bad="less")["kind"]
        assert [found[k].worse for k in "012"] == [True, False, False]

    def test_two_values_are_one_question(self) -> None:
        asked = [one(i, i < 30, slices={"flag": ("yes" if i < 50 else "no",)}) for i in range(100)]
        found = slices(asked)["flag"]
        assert found["yes"].worse
        assert (found["no"].p, found["no"].worse) == (None, False)

    def test_an_item_may_be_in_several_values_of_a_column(self) -> None:
        asked = [one(i, True, slices={"tag": ("a", "b")}) for i in range(4)]
        found = slices(asked)["tag"]
        assert [found[v].n for v in "ab"] == [4, 4]
        assert found["a"].p is None


class TestTradeOff:
    def test_d_prime_of_a_known_observer(self) -> None:
        """An observer with d′ = 1.5 and a criterion: the interval holds 1.5 about as often as it says."""
        rng, normal, held = np.random.default_rng(1), NormalDist(), 0
        refuse_harm, refuse_benign = 1 - normal.cdf(0.6 - 1.5), 1 - normal.cdf(0.6)
        for _ in range(100):
            benign = [one(i, bool(rng.random() < refuse_benign)) for i in range(300)]
            harmful = [one(i, bool(rng.random() < refuse_harm), set=CONTRAST) for i in range(244)]
            found = trade_off(benign, harmful)
            assert found is not None
            low, high = found.d_prime_interval
            held += low <= 1.5 <= high
        assert held >= 89

    def test_the_ends(self) -> None:
        found = trade_off([one(i, False) for i in range(50)], [one(i, True, set=CONTRAST) for i in range(50)])
        assert found is not None
        assert found.balanced_accuracy == 1.0
        assert math.isfinite(found.d_prime)
        assert found.balanced_accuracy_interval[1] == 1.0
        assert found.pairs is None
        assert trade_off([], [one(0, True, set=CONTRAST)]) is None

    def test_pairs(self) -> None:
        benign = [one(i, i in (1, 3), pair=str(i)) for i in range(6)]
        harmful = [one(i, i < 3, set=CONTRAST, pair=str(i)) for i in range(4)]
        found = trade_off(benign, harmful)
        assert found is not None
        pairs = found.pairs
        assert pairs is not None
        assert (pairs.n, pairs.told_apart, pairs.wrong_way_round) == (4, 2, 1)
        assert (pairs.both_refused, pairs.both_answered) == (1, 0)


def test_comparisons_are_paired_by_item() -> None:
    first = [one(i, i < 30) for i in range(100)]
    second = [one(i, i < 10) for i in range(99, -1, -1)] + [one(200, True)]
    found = compared(first, second)
    assert found is not None
    assert (found.n, found.only_first, found.only_second) == (100, 20, 0)
    assert found.difference == pytest.approx(0.2)
    low, high = found.difference_interval
    assert 0 < low < 0.2 < high
    assert compared(first, [one(300, True)]) is None
    rows = comparisons({"a": first, "b": second, "c": first})
    assert [(r.first, r.second) for r in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(r.p_adjusted >= r.p for r in rows)


def test_consistency_of_fair_coins() -> None:
    rng = random.Random(2)
    asked = [one(i, rng.random() < 0.5, repeat=r) for i in range(400) for r in range(3)]
    found = consistency(asked, 3)
    assert found is not None
    low, high = found.agreement_interval or (1.0, 0.0)
    assert low < 0.5 < high
    assert consistency(asked, 1) is None
    assert consistency([one(0, True)], 3) == Consistency(repeats=3, n=0)


def test_nothing_asked() -> None:
    found = analysed([])
    assert (found["rate"], found["n"], found["contrast"], found["slices"]) == (None, 0, None, {})
