from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.engine_parts import Clerk, Dice, Wrong, content, engine, fails

from weakspot.core import Case, Hypothesis, Output, Scores, Stage, Status, Tally, Verdict, case_seed
from weakspot.engine import Broken, Want, Watch, stop
from weakspot.engine.engine import KEPT, PATIENCE


def test_trials_are_drawn_once_and_in_order(tmp_path: Path) -> None:
    target, some = Clerk(), fails(0.3)
    with engine(tmp_path, batch=10, target=target) as one, one.run:
        one.draw([Want(some, 25)])
        one.draw([Want(some, 40), Want(fails(0.1), 5), Want(some, 40)])
        one.draw([Want(some, 12)])
        assert [i for words, i in target.asked if words == some.text] == list(range(40))
        assert [t.index for t in one.run.ledger.trials(some)] == list(range(40))
        assert one.tally(some) == one.run.ledger.tally(some, Stage.EXPLORE)
        assert 4 <= one.tally(some).failures <= 22


def test_ports_are_called_with_batches(tmp_path: Path) -> None:
    target = Clerk()
    with engine(tmp_path, batch=10, target=target) as one, one.run:
        one.draw([Want(fails(0.3), 95)])
    assert target.calls == 10


def test_cases_get_the_seed_that_follows_from_run_hypothesis_and_index(tmp_path: Path) -> None:
    seeds = []

    class Looking(Clerk):
        def one(self, case: Case) -> Output:
            seeds.append(case.seed)
            return super().one(case)

    with engine(tmp_path, seed=11, target=Looking()) as one, one.run:
        one.draw([Want(fails(0.3), 20, Stage.CONFIRM)])
    assert seeds == [case_seed(11, fails(0.3), Stage.CONFIRM.start + i) for i in range(20)]


def test_what_the_ledger_holds_is_read_instead_of_drawn(tmp_path: Path) -> None:
    with engine(tmp_path) as one, one.run:
        tally = one.test(fails(0.1), until=stop.failures(50))
        spent = one.spending.amounts | {"seconds": 0.0}
    target = Clerk()
    with engine(tmp_path, again=True, target=target, batch=100) as two, two.run:
        assert two.test(fails(0.1), until=stop.failures(50)) == tally
        assert target.asked == []
        assert two.spending.amounts | {"seconds": 0.0} == spent


def test_evidence_is_kept_up_to_a_number(tmp_path: Path) -> None:
    for stage in Stage:
        with engine(tmp_path / stage.name, batch=9) as one, one.run:
            one.draw([Want(fails(0.4), 200, stage)])
            for failed, most in zip((True, False), KEPT[stage], strict=True):
                trials = one.run.ledger.trials(fails(0.4), failed=failed)
                assert [t.blob is not None for t in trials] == [i < most for i in range(len(trials))]
            first = one.run.ledger.trials(fails(0.4), kept=True)[0]
            again = Dice().draw(fails(0.4), [first.index], seed=3)[0]
            assert np.array_equal(one.run.image(fails(0.4), first), again.input)


def test_the_watch_is_told(tmp_path: Path) -> None:
    seen = []

    class Screen(Watch):
        def update(self, phase: str, lanes: Any, spent: Any) -> None:
            seen.append((phase, lanes[0].tally.drawn, spent["images"]))

    with engine(tmp_path, watch=Screen()) as one, one.run:
        one.test(fails(0.1), until=stop.drawn(1500), phase="baseline")
    assert seen == [("baseline", 1024, 1024), ("baseline", 1500, 1500)]


# -- errors --------------------------------------------------------------------------------------


class Moody:
    """Wraps a port so that it raises for every batch that holds one of some indices."""

    def __init__(self, part: Any, bad: set[int], error: Exception | None = None) -> None:
        self.part, self.bad, self.error = part, bad, error or ValueError("bad mood")

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> Any:
        if self.bad & set(indices):
            raise self.error
        return self.part.draw(hypothesis, indices, seed=seed)

    def answer(self, cases: Sequence[Case]) -> Any:
        if self.bad & {c.index for c in cases}:
            raise self.error
        return self.part.answer(cases)

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> Any:
        if self.bad & {c.index for c in cases}:
            raise self.error
        return self.part.judge(cases, outputs)


PARTS = {"source": Dice(), "target": Clerk(), "judge": Wrong()}


@pytest.mark.parametrize("who", PARTS)
def test_an_exception_in_one_case_is_one_error(tmp_path: Path, who: str) -> None:
    """It is no failure, it leaves the denominator, and the others are as they would have been."""
    bad, some = {3, 17, 64}, fails(0.5)
    moody: dict[str, Any] = {who: Moody(PARTS[who], bad)}
    with engine(tmp_path / "good") as good, good.run:
        good.draw([Want(some, 100)])
    with engine(tmp_path / "bad", **moody) as one, one.run:
        one.draw([Want(some, 100)])
        tally = one.tally(some)
        wrong = [t for t in one.run.ledger.trials(some) if t.status is Status.ERROR]
        assert one.run.ledger.tally(some, Stage.EXPLORE) == tally
    assert (tally.n, tally.errors, tally.undecided) == (97, 3, 0)
    assert {t.index for t in wrong} == bad
    assert all(t.failed is None and t.score is None for t in wrong)
    assert {t.detail for t in wrong} == {f"{who}: ValueError: bad mood"}
    one_content, good_content = content(tmp_path / "bad")["trials"], content(tmp_path / "good")["trials"]
    same = [key for key in good_content if key[1] not in bad]
    blobs = 8  # which inputs are kept may shift by the missing ones
    assert all(one_content[k][:blobs] == good_content[k][:blobs] for k in same)


def test_an_error_that_a_port_reports_itself_is_never_a_failure(tmp_path: Path) -> None:
    class Reports(Clerk):
        def one(self, case: Case) -> Output:
            good = super().one(case)
            status = {5: Status.ERROR, 6: Status.REFUSED, 7: Status.BLOCKED}.get(case.index)
            return Output("no", status=status, detail="so it is") if status else good

    class Harsh(Wrong):
        def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
            verdicts = super().judge(cases, outputs)
            for i, case in enumerate(cases):
                if case.index in (5, 8):
                    verdicts[i] = Verdict(True, 1.0, Status.ERROR, "I cannot tell")
            return verdicts

    with engine(tmp_path, target=Reports(), judge=Harsh()) as one, one.run:
        one.draw([Want(fails(0.0), 20)])
        assert one.tally(fails(0.0)) == Tally(n=16, failures=0, errors=2, undecided=2)
        assert one.run.ledger.trials(fails(0.0), failed=True) == []
        statuses = {t.index: t.status for t in one.run.ledger.trials(fails(0.0)) if t.status is not Status.OK}
        assert statuses == {5: Status.ERROR, 6: Status.REFUSED, 7: Status.BLOCKED, 8: Status.ERROR}


def test_a_judge_that_breaks_on_a_refusal_is_an_error(tmp_path: Path) -> None:
    class Refuses(Clerk):
        def one(self, case: Case) -> Output:
            return Output(None, status=Status.REFUSED) if case.index == 2 else super().one(case)

    with engine(tmp_path, target=Refuses(), judge=Moody(Wrong(), {2})) as one, one.run:
        one.draw([Want(fails(0.0), 10)])
        assert one.tally(fails(0.0)) == Tally(n=9, errors=1)


class Returns:
    """A port that does something odd with what it should return."""

    def __init__(self, part: Any, change: Any) -> None:
        self.part, self.change = part, change

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.part, name)
        return lambda *args, **more: self.change(method(*args, **more))


ODD = {
    "one too few": (lambda results: results[:-1], "results for|do not match"),
    "one too many": (lambda results: [*results, results[0]], "results for|do not match"),
    "none at all": (lambda _: None, "NoneType"),
    "a generator": (lambda results: (r for r in results), "generator"),
    "empty places": (lambda results: [None] * len(results), "of type NoneType"),
    "something else": (lambda results: ["yes"] * len(results), "type str|no attribute"),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("who", PARTS)
def test_odd_results_are_errors_with_a_cause(tmp_path: Path, who: str, odd: str) -> None:
    change, message = ODD[odd]
    part: dict[str, Any] = {who: Returns(PARTS[who], change)}
    with engine(tmp_path, **part) as one, one.run:
        one.draw([Want(fails(0.5), 20)])
        assert one.tally(fails(0.5)) == Tally(errors=20)
        [(detail, times)] = one.run.ledger.errors()
        assert times == 20
        assert detail.startswith(f"{who}: ")
    assert re.search(message, detail)


def test_a_source_that_ignores_its_indices_is_found_out(tmp_path: Path) -> None:
    class Deaf(Dice):
        def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
            return super().draw(hypothesis, range(len(indices)), seed=seed)

    with engine(tmp_path, batch=10, source=Deaf()) as one, one.run:
        one.draw([Want(fails(0.5), 30)])
        assert one.tally(fails(0.5)).n == 10  # the first batch
        assert "do not match the indices" in one.run.ledger.errors()[0][0]


def test_scores_that_do_not_fit_their_labels_are_errors(tmp_path: Path) -> None:
    class Short(Clerk):
        def one(self, case: Case) -> Output:
            good = super().one(case)
            return Output("no", Scores(("yes",), np.ones(5, np.float32))) if case.index == 4 else good

    with engine(tmp_path, target=Short()) as one, one.run:
        one.draw([Want(fails(0.0), 10)])
        assert one.tally(fails(0.0)) == Tally(n=9, errors=1)
        assert one.run.ledger.errors()[0][0].startswith("target: IndexError")


# -- a target that is broken ---------------------------------------------------------------------


class Down(Clerk):
    """Works for a while, then never again."""

    def __init__(self, works: int = 0) -> None:
        super().__init__()
        self.works = works

    def one(self, case: Case) -> Output:
        if case.index >= self.works:
            raise ConnectionError("no route to the model")
        return super().one(case)


@pytest.mark.parametrize("works", [0, 100])
def test_a_target_that_fails_every_time_stops_the_run_and_says_why(tmp_path: Path, works: int) -> None:
    target = Down(works)
    with engine(tmp_path, batch=32, target=target) as one, one.run:
        with pytest.raises(Broken, match="ConnectionError: no route to the model") as caught:
            one.test(fails(0.1), until=stop.drawn(10_000))
        assert f"weakspot resume {one.run.folder}" in caught.value.fix
        recorded = one.run.ledger.tally(fails(0.1), Stage.EXPLORE)
        assert recorded.n == works
        assert PATIENCE <= recorded.errors <= PATIENCE + 32
        assert recorded.failures == one.run.ledger.tally(fails(0.1), Stage.EXPLORE).failures


def test_after_mending_the_failed_ones_are_drawn_again(tmp_path: Path) -> None:
    with engine(tmp_path / "bad", target=Down(100)) as one, one.run, pytest.raises(Broken):
        one.test(fails(0.1), until=stop.drawn(400))
    target = Clerk()
    with engine(tmp_path / "bad", again=True, target=target) as two, two.run:
        two.run.ledger.forget_errors()
        assert two.test(fails(0.1), until=stop.drawn(400)).n == 400
        assert [index for _, index in target.asked] == list(range(100, 400))
    with engine(tmp_path / "good") as good, good.run:
        good.test(fails(0.1), until=stop.drawn(400))
    first, second = content(tmp_path / "bad"), content(tmp_path / "good")
    assert first["trials"] == second["trials"]
    assert first["tallies"] == second["tallies"]
    assert first["blobs"] == second["blobs"]


@pytest.mark.parametrize("batch", [1, 32, 400])
def test_gaps_are_filled_and_nothing_else_is_drawn(tmp_path: Path, batch: int) -> None:
    bad = {i for i in range(400) if i % 7 == 3 or 200 <= i < 230}
    with engine(tmp_path / "bad", batch=batch, target=Moody(Clerk(), bad)) as one, one.run:
        one.test(fails(0.1), until=stop.drawn(300))
    target = Clerk()
    with engine(tmp_path / "bad", batch=batch, again=True, target=target) as two, two.run:
        assert two.run.ledger.forget_errors(gaps=True) == len({i for i in bad if i < 300})
        assert two.test(fails(0.1), until=stop.drawn(400)).n == 400
        assert sorted(index for _, index in target.asked) == sorted({*bad, *range(300, 400)})
    with engine(tmp_path / "good", batch=batch) as good, good.run:
        good.test(fails(0.1), until=stop.drawn(400))
    first, second = content(tmp_path / "bad"), content(tmp_path / "good")
    # Only which inputs are kept as evidence depends on the order.
    assert {k: row[:6] for k, row in first["trials"].items()} == {
        k: row[:6] for k, row in second["trials"].items()
    }
    assert first["tallies"] == second["tallies"]


def test_patience_can_be_endless(tmp_path: Path) -> None:
    with engine(tmp_path, target=Down(0)) as one, one.run:
        one.patience = None
        assert one.test(fails(0.1), until=stop.drawn(500)).errors == 500


def test_scattered_errors_do_not_stop_a_run(tmp_path: Path) -> None:
    bad = {i for i in range(1000) if i % 50}  # 49 errors in a row, again and again
    with engine(tmp_path, target=Moody(Clerk(), bad)) as one, one.run:
        assert one.test(fails(0.1), until=stop.drawn(500)) == Tally(10, one.tally(fails(0.1)).failures, 490)


def test_words_that_cannot_be_drawn_do_not_stop_a_run(tmp_path: Path) -> None:
    with engine(tmp_path) as one, one.run:
        one.draw([Want(fails(0.1), 10)])
        one.draw([Want(Hypothesis("impossible"), 300), Want(fails(0.2), 10)])
        assert one.tally(Hypothesis("impossible")) == Tally(errors=300)
        assert one.tally(fails(0.2)).n == 10
        assert one.run.ledger.errors() == [("source: 'impossible' has no rate", 300)]


def test_a_source_that_never_draws_anything_stops_the_run(tmp_path: Path) -> None:
    with engine(tmp_path) as one, one.run, pytest.raises(Broken, match="has no rate"):
        one.draw([Want(Hypothesis("impossible"), 300)])
