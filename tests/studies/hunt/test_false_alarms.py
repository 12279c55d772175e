"""Whether whole hunts keep their two promises, in worlds where the truth is known."""

from __future__ import annotations

import pytest
from benchmarks.certified import LIMIT, Outcome, told, with_planted_failures, without_weak_spot


def broken(outcomes: list[Outcome]) -> int:
    """Hunts that say something of what they tried that is not true."""
    return sum(not o.covered or o.broken > 0 or bool(o.certified and o.worst > LIMIT) for o in outcomes)


def test_a_few_hunts_keep_their_promises() -> None:
    dull = [without_weak_spot(seed, budget=2000) for seed in range(3)]
    planted = [with_planted_failures(seed, budget=2000) for seed in range(2)]
    assert sum(o.confirmed > 0 for o in dull) == broken(dull) == broken(planted) == 0
    assert all(o.captions > 20 and o.bound < 1 for o in planted)
    assert any("allowed 5 %" in line for line in told(dull, planted))


@pytest.mark.long
def test_classifiers_without_a_weak_spot_are_rarely_accused() -> None:
    outcomes = [without_weak_spot(seed, budget=5000) for seed in range(200)]
    accused = sum(o.confirmed > 0 for o in outcomes)
    print(f"{accused} of {len(outcomes)} hunts confirm something; in {broken(outcomes)} a bound is broken")
    assert accused <= 0.05 * len(outcomes)
    assert broken(outcomes) <= 0.05 * len(outcomes)


@pytest.mark.long
def test_bounds_cover_the_true_worst_rate() -> None:
    outcomes = [with_planted_failures(seed, budget=5000) for seed in range(200)]
    print(f"in {broken(outcomes)} of {len(outcomes)} hunts a bound is broken")
    assert broken(outcomes) <= 0.05 * len(outcomes)
    # And the bounds are worth something: most limits that hold are certified.
    true = [o for o in outcomes if o.certified is not None and o.worst <= LIMIT]
    assert sum(bool(o.certified) for o in true) >= 0.5 * len(true)
