"""The interval for a rate in a population of which a part was looked at: what it promises, by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.stats import finite_population, wilson


@pytest.mark.parametrize(("population", "n"), [(30, 12), (60, 30), (500, 250), (2_000, 150)])
@pytest.mark.parametrize("rate", [0.02, 0.2, 0.8])
def test_it_covers_the_rate_of_the_population(population: int, n: int, rate: float) -> None:
    failing = round(rate * population)
    seen = np.random.default_rng(population + n).hypergeometric(failing, population - failing, n, size=2_000)
    ends = {int(x): finite_population(int(x), n, population) for x in np.unique(seen)}
    covered = [ends[int(x)].low <= failing / population <= ends[int(x)].high for x in seen]
    assert np.mean(covered) >= 0.94  # 95 % is promised; 2,000 repeats vary by half a point


def test_of_a_large_population_it_is_the_usual_interval() -> None:
    ours, usual = finite_population(20, 100, 10**6), wilson(20, 100)
    assert ours.low == pytest.approx(usual.low, abs=0.012)
    assert ours.high == pytest.approx(usual.high, abs=0.012)


def test_it_narrows_as_more_was_looked_at_until_the_rate_is_known() -> None:
    wide = [finite_population(n // 5, n, 100) for n in (10, 40, 80, 100)]
    widths = [one.high - one.low for one in wide]
    assert widths == sorted(widths, reverse=True)
    assert tuple(wide[-1]) == (0.2, 0.2)
    assert tuple(finite_population(0, 0, 100)) == (0.0, 1.0)


def test_more_than_there_are_cannot_be_looked_at() -> None:
    with pytest.raises(ValueError, match="cannot have been looked at"):
        finite_population(1, 11, 10)
