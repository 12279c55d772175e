"""Why questions are refused: what a placebo does as well is no cause, and what is a cause is found."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.ask.ask_parts import ANSWER, REFUSAL, Model, Words, benchmark

from weakspot import ask
from weakspot.core import Case, Output, Status
from weakspot.core.question import BENIGN
from weakspot.sources.benchmark import Benchmark
from weakspot.studies.ask.analysis import Asked
from weakspot.studies.ask.arms import filler
from weakspot.studies.ask.result import AskResult, Stages
from weakspot.studies.ask.stages import ASKED_AGAIN, attributed
from weakspot.study.reports import html, markdown

CAUSES = ("perception", "intent", "decision")


def one(i: int, refused: bool | None, stage: str = "") -> Asked:
    status = Status.ERROR if refused is None else Status.REFUSED if refused else Status.OK
    return Asked(str(i), BENIGN, status, refused, stage=stage)


def world(
    rng: np.random.Generator, n: int, shares: tuple[float, float, float], rate: float
) -> tuple[list[Asked], dict[str, float]]:
    """Questions that are always refused for a cause, in these shares of all, and others refused at random.

    Gives what became of them, and the true shares among those refused at first.
    """
    kind = rng.choice(4, size=n, p=[*shares, 1 - sum(shares)])
    asked, refused = [], Counter[int]()
    for i in range(n):
        chance = rng.random(1 + len(ASKED_AGAIN)) < rate
        if kind[i] == 3:
            said = list(chance)
        else:  # at first, again, filler, description, intent
            said = [True, True, True, kind[i] != 0, kind[i] == 2]
        asked += [one(i, bool(said[0]))]
        if said[0]:
            refused[int(kind[i])] += 1
            asked += [one(i, bool(s), stage) for s, stage in zip(said[1:], ASKED_AGAIN, strict=True)]
    return asked, {name: refused[k] / refused.total() for k, name in enumerate((*CAUSES, "chance"))}


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5, 0.8])
def test_where_refusing_is_chance_there_is_nothing_to_attribute(rate: float) -> None:
    rng = np.random.default_rng(int(100 * rate))
    wrong, chance = 0, []
    for _ in range(120):
        found = attributed(world(rng, 200, (0, 0, 0), rate)[0], {})
        wrong += any(getattr(found, cause).found for cause in CAUSES)
        low, high = found.chance.interval or (1, 0)
        chance.append(low <= 1.0 <= high + 1e-9)
    assert wrong <= 10  # 5 % of 120, and what chance may add
    assert np.mean(chance) >= 0.95


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_what_is_a_cause_is_found_and_its_share_is_in_the_interval(rate: float) -> None:
    rng = np.random.default_rng(7 + int(100 * rate))
    covered, seen = Counter[str](), Counter[str]()
    for _ in range(80):
        asked, truth = world(rng, 300, (0.1, 0.08, 0.12), rate)
        found = attributed(asked, {})
        for cause in (*CAUSES, "chance"):
            low, high = getattr(found, cause).interval
            covered[cause] += low - 1e-9 <= truth[cause] <= high + 1e-9
            seen[cause] += getattr(found, cause).found
    assert all(covered[cause] >= 0.94 * 80 for cause in (*CAUSES, "chance"))
    if rate < 0.3:
        assert all(seen[cause] >= 0.9 * 80 for cause in CAUSES)


def test_a_model_that_never_wavers_is_told_to_the_question() -> None:
    rows = [(True, True, True, False, False)] * 15 + [(True, True, True, True, False)] * 15
    rows += [(True, True, True, True, True)] * 15 + [(False, False, False, False, False)] * 45
    asked = [
        one(i, said, stage)
        for i, row in enumerate(rows)
        for said, stage in zip(row, ("", *ASKED_AGAIN), strict=True)
        if row[0] or not stage
    ]
    found = attributed(asked, {})
    assert [getattr(found, cause).share for cause in CAUSES] == pytest.approx([1 / 3] * 3)
    assert [getattr(found, cause).count for cause in CAUSES] == [15] * 3
    assert all(getattr(found, cause).found for cause in CAUSES)
    assert found.chance.share == 0.0


@given(st.lists(st.tuples(st.booleans(), *[st.sampled_from([True, False, None])] * 4), max_size=20))
@settings(deadline=None, max_examples=60)
def test_every_refusal_has_one_cause(rows: list[tuple[bool | None, ...]]) -> None:
    asked = [
        one(i, said, stage)
        for i, row in enumerate(rows)
        for said, stage in zip(row, ("", *ASKED_AGAIN), strict=True)
    ]
    found = attributed(asked, {})
    causes = sum(getattr(found, cause).count for cause in (*CAUSES, "chance")) + found.unknown
    assert causes == found.refused == sum(bool(first) for first, *_ in rows)


class Dice(Model):
    """Refuses a fifth of all calls, whatever is said in them."""

    needs_images = False

    def reply(self, case: Case) -> Output:
        q = case.input
        dice = hashlib.sha256(f"{q.id} {q.stage} {q.repeat}".encode()).digest()[0]
        return Output(REFUSAL if dice < 51 else ANSWER)


def test_a_server_that_refuses_at_random_has_nothing_to_attribute(tmp_path: Path) -> None:
    items = [i._replace(image=b"") for i in benchmark(240, contrast=False).items]
    with ask(
        Dice(), benchmark=Benchmark("toy", items), judge=Words(), stages=True, out=tmp_path / "run"
    ) as run:
        result, page, text = AskResult.of(run), html(run), markdown(run)
    assert result is not None
    found: Any = result.stages
    assert isinstance(found, Stages)
    assert found.refused > 30
    assert not any(getattr(found, cause).found for cause in CAUSES)
    assert "No cause was found" in page
    assert "No cause was found" in text


def test_filler_is_as_long_as_what_it_stands_for() -> None:
    assert filler(0)
    for length in (50, 300, 2000):
        assert length <= len(filler(length)) < length + 80
