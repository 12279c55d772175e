"""`rare`: planted rates are covered, a stopped run goes on, and what cannot be split is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.rare.rare_parts import LABELS, TRUTH, Deep, Spaced, Unspaced

from weakspot import rare
from weakspot.core import Hypothesis, Output, Scores, WeakspotError
from weakspot.judges import LabelJudge
from weakspot.sources.generate import TextToImage
from weakspot.store import Run
from weakspot.studies.rare.parts import Margins
from weakspot.study.lifecycle import resume
from weakspot.study.reports import html, summary, write


def result(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.ledger.fact("result")
    return found


def measure(tmp_path: Path, *, target: Any = None, source: Any = None, **more: Any) -> Run:
    options: dict[str, Any] = {"label": "fly", "budget": "images=8000", "out": tmp_path / "run"} | more
    return rare(target or Deep(), source=source or Spaced(), **options)


def test_a_rate_of_one_in_ten_thousand_is_covered(tmp_path: Path) -> None:
    """Plain sampling would see less than one failure in 8,000 images."""
    covered = sharp = 0
    for seed in range(5):
        with measure(tmp_path, seed=seed, out=tmp_path / str(seed)) as run:
            found = result(run)
            assert run.state == "finished"
            assert found["method"] == "splitting"
            assert run.ledger.spend()["images"] <= 8000
            sharp += found["low"] > TRUTH / 8
            covered += found["low"] <= TRUTH <= found["high"]
    assert covered >= 4
    assert sharp >= 4


def test_the_failures_found_are_failures_and_are_told(tmp_path: Path) -> None:
    with measure(tmp_path) as run:
        found = result(run)
        moved = next(h for h in run.ledger.hypotheses() if h.id == found["hypothesis"])
        for example in found["examples"]:
            trial = run.ledger.trial(moved, example["index"])
            assert trial is not None
            assert trial.failed
            assert trial.answer == "bee"
            assert "flower" in trial.caption
        assert found["answers"] == [["bee", 1.0]]
        assert found["common"][0]["words"] == "it is on a flower."
        assert found["common"][0]["failing"] == 1.0
        assert found["common"][0]["usual"] < 0.01
        # Moved cases are no draws from the words, and are not counted with them.
        (plain,) = run.baselines
        assert run.ledger.tallies()[plain.id].failures == 0
        assert found["independent"]["failures"] <= 5 < found["found"]


def test_a_target_label_counts_its_answers_only(tmp_path: Path) -> None:
    with measure(tmp_path, target_label="bee", out=tmp_path / "bee") as run:
        assert result(run)["low"] <= TRUTH <= result(run)["high"] * 1.5
    with measure(tmp_path, target_label="cat", budget="images=2500", out=tmp_path / "cat") as run:
        assert result(run)["rate"] == 0
        assert result(run)["high"] > 0


@pytest.mark.parametrize("stop_at", [30, 3000])
def test_a_stopped_run_goes_on_as_if_it_never_was(tmp_path: Path, stop_at: int) -> None:
    with measure(tmp_path, out=tmp_path / "whole") as run:
        whole = result(run)
    with pytest.raises(KeyboardInterrupt):
        measure(tmp_path, target=Deep(stop_at=stop_at))
    with Run.read(tmp_path / "run") as run:
        recorded = int(run.ledger.spend().get("images", 0))
        write(run)  # a report of an unfinished run
        assert summary(run)["result"] is None
    rest = Deep()
    with resume(tmp_path / "run", target=rest, source=Spaced()) as run:
        assert run.state == "finished"
        assert result(run) == whole
        assert len(rest.asked) == run.ledger.spend()["images"] - recorded


def test_a_limit_of_time_can_be_raised_but_not_the_images(tmp_path: Path) -> None:
    run = measure(tmp_path, budget="images=8000,seconds=0.0001")
    run.close()
    assert run.folder.is_dir()
    with Run.read(run.folder) as stopped:
        assert stopped.state == "stopped: the seconds budget of 0.0001 is spent"
    parts: dict[str, Any] = {"target": Deep(), "source": Spaced()}
    with pytest.raises(WeakspotError, match="laid out for 8,000 images"):
        resume(run.folder, budget="images=9000", **parts)
    with resume(run.folder, budget="images=8000", **parts) as done:
        assert done.state == "finished"
        assert result(done)["method"] == "splitting"


@pytest.mark.parametrize(
    ("target", "source", "why"),
    [
        (Deep(scores=False, beyond=2.5), Spaced(), "gives no scores"),
        (Deep(beyond=2.5), Unspaced(), "has no space to move in"),
        (Deep(beyond=1.0), Spaced(), "not rare"),
    ],
)
def test_what_cannot_be_split_is_counted(tmp_path: Path, target: Deep, source: Spaced, why: str) -> None:
    with measure(tmp_path, target=target, source=source, budget="images=3000") as run:
        found, (tally,) = result(run), run.ledger.tallies().values()
    truth = 0.0062 if target.beyond == 2.5 else 0.1587
    assert found["method"] == "plain"
    assert why in found["note"]
    assert (tally.n, tally.failures) == (3000, found["found"])
    assert found["low"] <= truth <= found["high"]
    assert found["rate"] == tally.failures / 3000


def test_errors_are_no_failures(tmp_path: Path) -> None:
    class Flaky(Deep):
        def _one(self, x: float) -> Output:
            if -0.1 < x < 0.0:
                raise TimeoutError("no answer")
            return super()._one(x)

    with measure(tmp_path, target=Flaky()) as run:
        found = result(run)
        errors = sum(t.errors for t in run.ledger.tallies().values())
    assert errors > 20
    assert "ended in an error" in found["note"]
    assert found["low"] <= TRUTH <= found["high"]


def test_a_broken_target_is_told_and_can_be_mended(tmp_path: Path) -> None:
    class Broken(Deep):
        def answer(self, cases: Any) -> list[Output]:
            raise ConnectionError("the server is gone")

    with pytest.raises(WeakspotError, match="the server is gone"):
        measure(tmp_path, target=Broken())
    with resume(tmp_path / "run", target=Deep(), source=Spaced()) as run:
        assert run.state == "finished"
        assert result(run)["low"] <= TRUTH <= result(run)["high"]


def test_the_report_shows_it(tmp_path: Path) -> None:
    with measure(tmp_path) as run:
        path = write(run)
        told = json.loads(path.with_name("report.json").read_text())
        assert told["result"]["rate"] == result(run)["rate"]
        assert "about once in" in told["conclusion"]
        assert "per million" in path.with_name("report.md").read_text()
        assert "it is on a flower." in html(run)


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"label": "fyl"}, "has no label 'fyl'"),
        ({"target_label": "dog"}, "has no label 'dog'"),
        ({"target_label": "fly"}, "the target label is the right label"),
        ({"budget": "images=100"}, "too few"),
        ({"budget": "seconds=10"}, "no number of images"),
        ({"budget": "pictures=10"}, "no budget is called"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    tmp_path: Path, settings: dict[str, Any], what: str
) -> None:
    with pytest.raises(WeakspotError, match=what):
        measure(tmp_path, **settings)
    assert not (tmp_path / "run").exists()


def test_words_that_cannot_be_drawn_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError):
        rare("world:classifier", label="fly", words="it is on a quasar.", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("target", [None, "bee"])
def test_the_margin_is_negative_exactly_where_the_judge_sees_a_failure(target: str | None) -> None:
    rng, judge = np.random.default_rng(0), LabelJudge(target=target)
    margins = Margins(judge, "fly", Hypothesis("moved"))
    case = Spaced().draw(Hypothesis("plain"), [0], seed=0)[0]
    for _ in range(200):
        values = rng.dirichlet([0.3, 0.3, 0.3]).astype(np.float32)
        scores = Scores(LABELS, values)
        (verdict,) = judge.judge([case], [Output(scores.top(1)[0][0], scores)])
        assert (margins.margin(scores) < 0) == verdict.failed


def test_a_generators_noise_is_a_space() -> None:
    class Generator:
        noise_shape = (2, 3)

        def noise(self, seeds: Any) -> Any:
            return np.stack([np.random.default_rng(s).standard_normal((2, 3)) for s in seeds])

        def generate(self, prompts: Any, seeds: Any) -> Any:
            return self.generate_from(prompts, self.noise(seeds))

        def generate_from(self, prompts: Any, latents: Any) -> Any:
            assert prompts[0] == "a photo, a fly"
            return [np.full((4, 4, 3), 100 + 20 * row[0, 0], np.uint8) for row in latents]

    source = TextToImage(Generator(), expected="fly", template="a photo, {text}")
    space = source.space(Hypothesis("a fly"))
    assert space is not None
    states = space.draw(np.random.default_rng(0), 5)
    assert states.shape == (5, 2, 3)
    cases, again = space.to_cases(states, range(5)), space.to_cases(states[1:3], [1, 2])
    assert [c.seed for c in cases[1:3]] == [c.seed for c in again]
    assert np.array_equal(cases[2].input, again[1].input)
    assert {c.expected for c in cases} == {"fly"}

    class Seeded:
        def generate(self, prompts: Any, seeds: Any) -> Any:
            return [np.zeros((4, 4, 3), np.uint8) for _ in seeds]

    assert TextToImage(Seeded(), expected="fly").space(Hypothesis("a fly")) is None
