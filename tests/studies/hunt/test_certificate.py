"""What a hunt excludes: the bound, the draws that lower it, and how both are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.studies.hunt.dull import Dull, dull

from weakspot import hunt, resume
from weakspot.core import WeakspotError
from weakspot.report.format import at_most
from weakspot.store import Run
from weakspot.studies.hunt.document import HuntDocument
from weakspot.studies.hunt.result import Certified, HuntResult
from weakspot.study.reports import summary, write
from weakspot.world.planted import PlantedClassifier, WordsOnly, plant


def certified(run: Run) -> Certified:
    result = HuntResult.of(run)
    assert result is not None
    assert result.certified is not None
    return result.certified


def on_screen(run: Run) -> str:
    return "\n".join(HuntDocument(run).lines(200))


def test_every_hunt_says_what_it_excludes(tmp_path: Path) -> None:
    world = plant(1)
    with hunt(
        PlantedClassifier(world),
        label=world.label,
        source=WordsOnly(),
        budget="images=6000",
        seed=1,
        out=tmp_path / "run",
    ) as run:
        found, said = certified(run), [f.phrase for f in run.findings if f.confirmed]
        assert said == ["it is tilted to the left."]
        assert found.limit is None
        assert found.passed is None
        assert found.captions == len(found.tried) > 20
        assert found.bound == found.tried[0].high == max(one.high for one in found.tried)
        assert not any("tilted to the left" in one.phrase for one in found.tried)  # nor what is narrower
        base = run.baselines[0].text
        truth = {one.phrase: world.truth(f"{base} {one.phrase}").rate for one in found.tried}
        assert all(one.low <= truth[one.phrase] <= one.high for one in found.tried)
        # Single sentences are bounded by plain pictures, what was raced by its own.
        assert {one.by_plain for one in found.tried} == {True, False}
        write(run)
        screen, page = on_screen(run), (run.folder / "report.md").read_text("utf-8")
        told = f"Beyond these, none of the {found.captions} captions that were tried fails more often than "
        often = f"Of the {found.common} that at least 5 % of plain pictures say, none fails more often than "
        assert f"         {often}{at_most(found.common_bound)} of the time." in screen
        assert found.common_bound < 0.5 * found.bound
        assert f"excluded {told}{at_most(found.bound)} of the time (at 95 %)." in screen
        assert told in page
        assert "What was looked at and not found" in page
        values = summary(run)["certified"]
        assert (values["captions"], values["passed"]) == (found.captions, None)
        assert json.loads(json.dumps(values)) == values


def test_it_draws_until_all_is_below_the_limit(tmp_path: Path) -> None:
    with dull(0.02, tmp_path / "plain", budget=30_000) as run:
        before = certified(run)
        assert before.bound > 0.15
        spent = run.ledger.spend()["images"]
    with dull(0.02, tmp_path / "run", budget=30_000, certify=0.15) as run:
        found = certified(run)
        assert found.passed
        assert found.bound <= 0.15
        assert run.state == "finished"
        assert run.ledger.spend()["images"] < spent + 150 * found.captions
        assert "Certified below 15 %: none of the " in on_screen(run)
        sentences = [h for h in run.ledger.hypotheses() if h.origin in ("sentence", "swept")]
        assert sentences  # they were drawn by themselves, where plain pictures were too few


def test_it_ends_where_something_is_shown_to_fail_more_often(tmp_path: Path) -> None:
    with dull(0.3, tmp_path / "run", budget=60_000, certify=0.1) as run:
        found = certified(run)
        assert found.passed is False
        assert found.above is not None
        assert found.above.low > 0.1
        assert run.ledger.spend()["images"] < 30_000
        assert run.state == "finished"
        said = f"Not certified below 10 %: “{found.above.phrase.rstrip('.')}” fails "
        assert said in on_screen(run)


def test_a_budget_that_is_too_small_is_told_and_can_be_raised(tmp_path: Path) -> None:
    target = Dull(0.02)
    with dull(0.02, tmp_path / "run", budget=3000, certify=0.1) as run:
        found = certified(run)
        assert found.passed is False
        assert found.above is None
        assert run.state.startswith("stopped")
        assert "Not certified below 10 %: the pictures so far exclude only rates above " in on_screen(run)
        assert HuntDocument(run).ending().code == 3
    with resume(tmp_path / "run", target=target, source=WordsOnly(), budget="images=60000") as run:
        assert certified(run).passed
        assert target.asked == run.ledger.spend()["images"] - 3000


def test_a_resumed_run_excludes_the_same_and_draws_nothing(tmp_path: Path) -> None:
    with dull(0.02, tmp_path / "run", budget=30_000, certify=0.15) as run:
        before = certified(run)
    target = Dull(0.02)
    with resume(tmp_path / "run", target=target, source=WordsOnly()) as run:
        assert certified(run) == before
    assert target.asked == 0


def test_hardly_any_pictures_exclude_nothing(tmp_path: Path) -> None:
    for name, limit in (("a", None), ("b", 0.1)):
        with dull(0.02, tmp_path / name, budget=1, certify=limit) as run:
            assert certified(run).bound == 1
            assert "too few pictures were drawn to exclude anything" in on_screen(run).lower()
            assert "100 %" not in on_screen(run)


def test_what_cannot_be_certified_is_refused(tmp_path: Path) -> None:
    for rate in (0.0, 1.0, -0.1):
        with pytest.raises(WeakspotError, match="cannot be certified"):
            dull(0.02, tmp_path / "run", certify=rate)
