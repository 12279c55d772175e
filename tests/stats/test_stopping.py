"""Lists of findings when each candidate stops by what it sees of all others (see docs/concepts.md).

All candidates that are counted as false fail exactly as often as the baseline, whose draws they share. An
adversary who sees every e-value decides after every round who is drawn on, whether the baseline is, and when
the list is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from weakspot.stats import closed_e_bh, e_bh, log_evidences

FDR = 0.05
#: Candidates, how many of them are real, and how often those fail where the baseline fails in a tenth.
MANY, P0, REAL_RATE = 8, 0.1, 0.6

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Seen(NamedTuple):
    """What an adversary sees, one row a simulation: log e-values, the baseline's rate, its false list."""

    logs: Floats
    usual: Floats
    falsely: NDArray[np.int_]
    round: int


class Move(NamedTuple):
    """Who is drawn on, whether the baseline is, and where the list is taken as it is."""

    draw: Bools
    base: Bools
    stop: Bools


Adversary = Callable[[Seen], Move]


def together(seen: Seen) -> Move:
    """All are drawn on until something false is in the list."""
    rows = len(seen.logs)
    return Move(np.ones_like(seen.logs, np.bool_), np.ones(rows, np.bool_), seen.falsely > 0)


def frozen_at_the_bar(seen: Seen) -> Move:
    """Each stops where it would do as the next of the list, and waits for the others to come up to it."""
    bars = np.log(MANY / FDR / np.arange(1, MANY + 1))
    rank = np.argsort(np.argsort(-seen.logs, axis=1), axis=1)
    waiting = seen.logs >= bars[np.minimum(rank + 1, MANY - 1)]
    return Move(~waiting, np.zeros(len(waiting), np.bool_), seen.falsely > 0)


def peaks(seen: Seen) -> Move:
    """Those above the mean of the others stop there; the rest are drawn on, to help them into the list."""
    values = np.exp(np.minimum(seen.logs, 10.0))
    others = (values.sum(axis=1, keepdims=True) - values) / (MANY - 1)
    high = (values > 3.0) & (values > others)
    return Move(~high, np.zeros(len(high), np.bool_), seen.falsely > 0)


def flattering(seen: Seen) -> Move:
    """The baseline is drawn while it fails too often to help, and rests when it looks better than it is."""
    low = seen.usual < 0.95 * P0
    return Move(np.broadcast_to(low[:, None], seen.logs.shape), ~low, seen.falsely > 0)


def patient(seen: Seen) -> Move:
    """The list is taken when it is longest for its age: later, it must have more that is false."""
    rows = len(seen.logs)
    enough = 1 + (seen.round < 20) * 2
    return Move(seen.logs < np.log(20 * MANY), np.ones(rows, np.bool_), seen.falsely >= enough)


ADVERSARIES = (together, frozen_at_the_bar, peaks, flattering, patient)
Rule = Callable[[list[float], float], list[bool]]


def false_share(
    rule: Rule, adversary: Adversary, *, real: int, size: int, rounds: int = 40, step: int = 16, seed: int = 1
) -> float:
    """The mean share of false findings in the lists that an adversary takes."""
    rng = np.random.default_rng(seed)
    rate = np.where(np.arange(MANY) < real, REAL_RATE, P0)
    n0 = np.full(size, 300)
    f, n, f0 = np.zeros((size, MANY), int), np.zeros((size, MANY), int), rng.binomial(n0, P0)
    shares, going = np.zeros(size), np.arange(size)
    draw, base = np.ones((size, MANY), np.bool_), np.zeros(size, np.bool_)
    for turn in range(rounds):
        more, more0 = step * draw, 4 * step * base
        n[going], f[going] = n[going] + more, f[going] + rng.binomial(more, rate)
        n0[going], f0[going] = n0[going] + more0, f0[going] + rng.binomial(more0, P0)
        logs = log_evidences(f[going], n[going], f0[going, None], n0[going, None])
        lists = np.array([_listed(rule, row) for row in logs])
        falsely = lists[:, real:].sum(axis=1)
        shares[going] = falsely / np.maximum(lists.sum(axis=1), 1)
        draw, base, stop = adversary(Seen(logs, f0[going] / n0[going], falsely, turn))
        going, draw, base = going[~stop], draw[~stop], base[~stop]
        if not going.size:
            break
    return float(shares.mean())


def _listed(rule: Rule, logs: Floats) -> list[bool]:
    if logs.max() < np.log(1 / FDR):  # the largest of any list is at least this
        return [False] * logs.size
    return rule(logs.tolist(), FDR)


def foreseen(rule: Rule, *, size: int, steps: int = 40, step: int = 16) -> float:
    """As above with nothing real, where the adversary knows all future draws: each stops at its peak.

    So it would be if other captions had shown the very same pictures before.
    """
    rng = np.random.default_rng(2)
    f0 = rng.binomial(1000, P0, size)
    f = np.cumsum(rng.binomial(step, P0, (steps, size, MANY)), axis=0)
    n = step * np.arange(1, steps + 1)[:, None, None]
    best = log_evidences(f, n, f0[:, None], 1000).max(axis=0)
    return float(np.mean([any(_listed(rule, row)) for row in best]))


def chosen_baselines(rule: Rule, *, size: int, labels: int, seen: int, fresh: int) -> float:
    """As above where each has a baseline of its own: those that failed least so far, of many labels.

    So a hunt for many labels may choose, since candidates of such labels look worst. The chosen baselines are
    drawn `fresh` more times.
    """
    rng = np.random.default_rng(3)
    f0 = np.sort(rng.binomial(seen, P0, (size, labels)), axis=1)[:, :MANY]
    f0 = f0 + rng.binomial(fresh, P0, f0.shape)
    best, f = np.full((size, MANY), -np.inf), np.zeros((size, MANY), int)
    for turn in range(1, 41):
        f += rng.binomial(16, P0, f.shape)
        logs = log_evidences(f, 16 * turn, f0, seen + fresh)
        best = np.where(best >= np.log(1 / FDR), best, logs)  # each stops when it is worth something
    return float(np.mean([any(_listed(rule, row)) for row in best]))


@pytest.mark.parametrize("rule", [e_bh, closed_e_bh])
def test_lists_hold_when_each_stops_by_all_others(rule: Rule) -> None:
    for adversary in (frozen_at_the_bar, flattering):
        assert false_share(rule, adversary, real=2, size=150, rounds=20) <= FDR


@pytest.mark.long
@pytest.mark.parametrize("real", [0, 2, 6])
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("rule", [e_bh, closed_e_bh])
def test_lists_hold_against_adversaries(rule: Rule, adversary: Adversary, real: int) -> None:
    share = false_share(rule, adversary, real=real, size=2000)
    print(f"{rule.__name__}, {adversary.__name__}, {real} of {MANY} real: {share:.4f}")
    assert share <= FDR


@pytest.mark.long
@pytest.mark.parametrize("rule", [e_bh, closed_e_bh])
def test_what_it_costs_to_know_the_future(rule: Rule) -> None:
    """Theory promises less: to e-BH 2.7 times the level (Benjamini and Yekutieli), for eight candidates."""
    share = foreseen(rule, size=4000)
    print(f"{rule.__name__}, all stopped at their peaks: {share:.4f}")
    assert share <= FDR


@pytest.mark.long
@pytest.mark.parametrize(("labels", "seen", "fresh"), [(100, 50, 0), (1000, 200, 0), (1000, 50, 974)])
@pytest.mark.parametrize("rule", [e_bh, closed_e_bh])
def test_what_it_costs_to_choose_among_baselines(rule: Rule, labels: int, seen: int, fresh: int) -> None:
    """No promise of the theory, which is of baselines that nobody chose.

    With 1,000 labels of 50 draws and no fresh ones it is too much: 5 % of e-BH's lists are false, 13 % of
    closed e-BH's. `confirm` draws a baseline 1,024 times where the budget allows.
    """
    share = chosen_baselines(rule, size=3000, labels=labels, seen=seen, fresh=fresh)
    print(f"{rule.__name__}, the luckiest of {labels} baselines, {seen} + {fresh} draws: {share:.4f}")
    assert share <= FDR
