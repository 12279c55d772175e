from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.engine_parts import Clerk, engine, fails

from weakspot.core import Stage, Usage, WeakspotError
from weakspot.engine import Budget, BudgetSpent, Spending, Want, stop
from weakspot.engine.stop import FAR


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("images=20000", {"images": 20_000}),
        ("images=20k", {"images": 20_000}),
        ("images=2e4", {"images": 20_000}),
        ("images=20_000", {"images": 20_000}),
        ("images=1.5k", {"images": 1_500}),
        ("images=1M", {"images": 1_000_000}),
        ("images=5,seconds=0.5", {"images": 5, "seconds": 0.5}),
        ("  dollars=.25   tokens=1e6 ", {"tokens": 1e6, "dollars": 0.25}),
        ("calls=1, images=2", {"images": 2, "calls": 1}),
    ],
)
def test_budgets_are_read(text: str, limits: dict[str, float]) -> None:
    budget = Budget.parse(text)
    assert dict(budget.limits) == limits
    assert Budget.parse(str(budget)) == budget
    assert budget["images"] == limits.get("images", float("inf"))


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("", "empty", "images=20000"),
        ("   ", "empty", "images=20000"),
        ("20000", "not a budget", "images=20000"),
        ("images", "not a budget", "images=20000"),
        ("images=", "not an amount", "images=20000"),
        ("images=0", "not an amount", "images=20000"),
        ("images=-5", "not an amount", "images=20000"),
        ("images=many", "not an amount", "images=20000"),
        ("images=nan", "not an amount", "images=20000"),
        ("images=inf", "not an amount", "images=20000"),
        ("images=1e400", "not an amount", "images=20000"),
        ("images=2.5", "not an amount", "images=20000"),
        ("calls=1e-3", "not an amount", "images=20000"),
        ("images=_._", "not an amount", "images=20000"),
        ("images=_e5", "not an amount", "images=20000"),
        ("images=5g", "not an amount", "images=20000"),
        ("images=٥", "not an amount", "images=20000"),
        ("imges=5", "no budget is called 'imges'", "did you mean 'images'?"),
        ("Images=5", "no budget is called 'Images'", "did you mean 'images'?"),
        ("parsecs=5", "no budget is called", ""),
        ("qqq=5", "no budget is called", "choose from: images, calls, tokens, dollars, seconds"),
        ("images=5,images=6", "given twice", "once"),
        ("images=5,", "empty", "images=20000"),
    ],
)
def test_what_is_no_budget_is_explained(text: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError, match=what) as caught:
        Budget.parse(text)
    assert fix in caught.value.fix


@settings(deadline=None)
@given(st.text("0123456789._-+ekm=imagescal, ", max_size=20))
def test_any_text_is_a_budget_or_explained(text: str) -> None:
    with suppress(WeakspotError):
        assert all(0 < amount < 1e15 for _, amount in Budget.parse(text).limits)


def test_spending_counts() -> None:
    spending = Spending(Budget.parse("images=10,dollars=1"))
    assert (spending.room(), spending.share()) == (10, 0)
    for _ in range(4):
        spending.add(Usage(5, 0.2))
    assert (spending.room(), spending.room(0.5), spending.room(0.3)) == (6, 1, 0)
    assert spending.share() == pytest.approx(0.8)
    spending.check()
    spending.add(Usage(5, 0.2))
    with pytest.raises(BudgetSpent, match="dollars budget of 1 is spent"):
        spending.check()
    assert Spending(Budget()).room() == FAR


def test_costs_known_only_afterwards_are_forecast() -> None:
    spending = Spending(Budget.parse("dollars=10"))
    assert spending.forecast(0.3) == 64  # nothing is known yet: a few, to see
    for _ in range(10):
        spending.add(Usage(0, 0.1))
    assert spending.forecast(0.3) == 20
    assert spending.forecast(0.1) == 1
    assert Spending(Budget.parse("images=10")).forecast(0.3) == FAR


# -- in an engine --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["images", "calls"])
@pytest.mark.parametrize(("limit", "batch"), [(1, 64), (63, 64), (64, 64), (157, 10), (200, 7)])
def test_counts_are_never_exceeded_by_even_one(tmp_path: Path, kind: str, limit: int, batch: int) -> None:
    target, rates = Clerk(), [fails(0.2), fails(0.3)]
    with engine(tmp_path, budget=f"{kind}={limit}", batch=batch, target=target) as one, one.run:
        with pytest.raises(BudgetSpent, match=f"{kind} budget of {limit} is spent") as caught:
            one.draw([Want(h, 150) for h in rates])
        assert caught.value.what == kind
        assert len(target.asked) == limit
        assert one.run.ledger.spend()[kind] == limit
        assert one.tally(rates[0]).drawn == min(limit, 150)  # what could be drawn was
        with pytest.raises(BudgetSpent):
            one.draw([Want(rates[1], 150)])
        assert len(target.asked) == limit


@pytest.mark.parametrize(("kind", "limit"), [("tokens", 1005), ("dollars", 2.51)])
def test_tokens_and_dollars_stop_with_what_is_under_way(tmp_path: Path, kind: str, limit: float) -> None:
    target, batch, each = Clerk(tokens=10, dollars=0.025), 16, {"tokens": 10, "dollars": 0.025}[kind]
    with engine(tmp_path, budget=f"{kind}={limit}", batch=batch, target=target) as one, one.run:
        with pytest.raises(BudgetSpent, match=f"{kind} budget of"):
            one.test(fails(0.1), until=stop.drawn(100_000))
        spent = one.run.ledger.spend()[kind]
        one.close()
        assert len(target.asked) * each == pytest.approx(spent)  # what was paid for is recorded
        assert limit <= spent < limit + 6 * batch * each  # the rest of a batch, and what was under way


def test_seconds_stop(tmp_path: Path) -> None:
    began = time.monotonic()
    with engine(tmp_path, budget="seconds=0.4", batch=4, target=Clerk(nap=0.03)) as one, one.run:
        with pytest.raises(BudgetSpent, match=r"seconds budget of 0.4 is spent"):
            one.test(fails(0.1), until=stop.drawn(100_000))
        assert one.run.ledger.spend()["seconds"] >= 0.4
        assert one.tally(fails(0.1)).n < 200
    assert time.monotonic() - began < 5


def test_seconds_belong_to_the_run_not_the_process(tmp_path: Path) -> None:
    with engine(tmp_path, target=Clerk(nap=0.05)) as one, one.run:
        one.draw([Want(fails(0.1), 128)])
        spent = one.run.ledger.spend()["seconds"]
    with engine(tmp_path, again=True, budget=f"seconds={spent / 2}") as two, two.run:
        with pytest.raises(BudgetSpent, match="seconds"):
            two.draw([Want(fails(0.1), 1000)])
        assert two.spending.amounts["seconds"] == pytest.approx(spent)
        assert two.run.ledger.count(fails(0.1), Stage.EXPLORE) == 128  # nothing new was begun


@pytest.mark.parametrize("kind", ["seconds", "tokens"])
def test_a_replay_spends_as_the_first_time_did(tmp_path: Path, kind: str) -> None:
    """Or a resumed run would decide otherwise: a share of the budget must be gone at the same trial."""
    budget = {"seconds": "seconds=0.5", "tokens": "tokens=3000"}[kind]
    seen = []
    for again in (False, True):
        with engine(tmp_path, again=again, budget=budget, target=Clerk(nap=0.01, tokens=10)) as one, one.run:
            half = one.test(fails(0.1), until=stop.spent(0.5))
            with pytest.raises(BudgetSpent, match=kind):
                one.test(fails(0.2), until=stop.drawn(100_000))
            seen.append((half, one.tally(fails(0.2)), dict(one.spending.amounts)))
    assert seen[0][0].n > 0
    assert seen[0] == seen[1]


@pytest.mark.parametrize("budget", ["images=1000", "dollars=10", "tokens=10000"])
def test_a_share_of_any_budget_leaves_the_rest(tmp_path: Path, budget: str) -> None:
    """A rule that ends at a third of the budget must not find it all gone."""
    with engine(tmp_path, budget=budget, target=Clerk(tokens=10, dollars=0.01)) as one, one.run:
        one.test(fails(0.1), until=stop.spent(0.3))
        assert 0.3 <= one.spending.share() < 0.31
        assert 300 <= one.tally(fails(0.1)).n <= 301


def test_a_larger_budget_goes_on(tmp_path: Path) -> None:
    with engine(tmp_path, budget="images=100") as one, one.run, pytest.raises(BudgetSpent):
        one.draw([Want(fails(0.1), 300)])
    target = Clerk()
    with engine(tmp_path, again=True, budget="images=1000", target=target) as two, two.run:
        two.draw([Want(fails(0.1), 300)])
        assert [index for _, index in target.asked] == list(range(100, 300))
