"""`map`: the planted landscape is found, said, confirmed; a stopped run goes on; bad input is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.map.map_toy import SPACE, Dim, write_pictures

import weakspot
from weakspot.concepts.space import load_space
from weakspot.core import Stage, WeakspotError
from weakspot.report.format import percent
from weakspot.report.people.preferences import (
    Preferences,
    minded,
    modes_of,
    prefer,
    preferred,
    ranking,
    samples_of,
)
from weakspot.sources.labelled import labelled_images, split
from weakspot.store import Run
from weakspot.studies.map import figures
from weakspot.studies.map.document import joined
from weakspot.studies.map.result import Landscape, MapResult
from weakspot.studies.repair.figures import landscapes
from weakspot.studies.repair.result import AxisValues
from weakspot.studies.repair.result import Landscape as RepairedLandscape
from weakspot.study.lifecycle import resume
from weakspot.study.reports import html, markdown, summary, write


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map")
    write_pictures(folder / "pictures")
    (folder / "dim.yaml").write_text(SPACE)
    return folder


def result_of(run: Run) -> MapResult:
    found = MapResult.of(run)
    assert found is not None
    return found


def landscape_of(run: Run) -> Landscape:
    found = result_of(run).landscape
    assert found is not None
    return found


def mapped(world: Path, out: Path, *, target: Any = None, **more: Any) -> Run:
    options: dict[str, Any] = {"images": world / "pictures", "space": str(world / "dim.yaml")}
    options |= {"budget": "images=900", "out": out, "seed": 1} | more
    return weakspot.map(target or Dim(), **options)


@pytest.fixture(scope="module")
def finished(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "whole"
    mapped(world, out).close()
    return out


def exhaustive(world: Path) -> np.ndarray:
    """The truth, by asking every picture of the discovery part in every cell."""
    from weakspot.sources.transform import TransformedImages

    images = labelled_images(str(world / "pictures"))
    space = load_space(str(world / "dim.yaml"))
    parts = split(images, seed=1)
    source = TransformedImages(images, space=space, parts={Stage.EXPLORE: parts["discovery"]})
    target, n = Dim(), len(parts["discovery"])
    rates = []
    for cell in range(space.size):
        cases = source.draw(space.hypothesis(cell), range(n), seed=1)
        outputs = target.answer(cases)
        rates.append(np.mean([o.answer != c.expected for c, o in zip(cases, outputs, strict=True)]))
    return np.array(rates)


def test_the_landscape_is_found_said_and_confirmed(world: Path, finished: Path) -> None:
    truth = exhaustive(world)
    with Run.read(finished) as run:
        assert run.state == "finished"
        assert run.ledger.spend()["images"] <= 900
        result, whole = landscape_of(run), result_of(run).every_cell
        assert whole is not None
        low, high = np.array(whole.low), np.array(whole.high)
        assert ((low <= truth) & (truth <= high)).mean() >= 0.95
        assert truth[result.worst[0].cell] >= truth.max() - 0.1
        assert "darkened 60 %" in result.modes[0].words
        assert result.sets[0].words == "darkened 60 %"  # turning and colour do not matter
        confirmed = [f for f in run.findings if f.confirmed]
        assert any("darkened" in f.phrase for f in confirmed)
        assert all(f.rate.value > f.baseline.value for f in confirmed)
        assert 0 <= result.entropy <= 1
        assert result.coverage.asked == 1.0
        assert result.missed <= 0.2


def test_parts_share_no_picture(world: Path, finished: Path) -> None:
    parts = split(labelled_images(str(world / "pictures")), seed=1)
    images = labelled_images(str(world / "pictures"))
    names = {name: {images.names[i] for i in some} for name, some in parts.items()}
    with Run.read(finished) as run:
        assert result_of(run).parts == {name: len(some) for name, some in parts.items()}
        assert {f"images for {name}" for name in parts} <= set(run.config.digests)
        shown: dict[Stage, set[str]] = {stage: set() for stage in Stage}
        for hypothesis in run.ledger.hypotheses():
            for trial in run.ledger.trials(hypothesis):
                shown[Stage.of(trial.index)].add(trial.caption.removeprefix("picture "))
    assert shown[Stage.EXPLORE] <= names["discovery"]
    assert shown[Stage.CONFIRM] <= names["confirmation"]


@pytest.mark.parametrize("stop_at", [40, 500, 700])
def test_a_stopped_run_goes_on_as_if_it_never_was(
    world: Path, finished: Path, tmp_path: Path, stop_at: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        mapped(world, tmp_path / "run", target=Dim(stop_at=stop_at))
    with Run.read(tmp_path / "run") as run:
        recorded = int(run.ledger.spend().get("images", 0))
        write(run)
    rest = Dim()
    with resume(tmp_path / "run", target=rest) as run, Run.read(finished) as whole:
        assert run.state == "finished"
        assert result_of(run) == result_of(whole)
        assert [f.to_json() for f in run.findings] == [f.to_json() for f in whole.findings]
        assert rest.asked == run.ledger.spend()["images"] - recorded


def test_a_discrepancy_that_is_not_finite_is_an_error_and_no_failure(world: Path, tmp_path: Path) -> None:
    with mapped(world, tmp_path / "run", target=Dim(broken=0.1)) as run:
        tallies = run.ledger.tallies().values()
        assert sum(t.errors for t in tallies) > 30
        assert "gave no verdict" in landscape_of(run).note
        assert any("not a finite number" in what for what, _ in run.ledger.errors())
        told = summary(run)["unjudged"]
        assert [row["status"] for row in told] == ["error"]
        assert told[0]["times"] == sum(t.errors for t in tallies)
        for page in (markdown(run), html(run)):
            assert "Without a verdict" in page
            assert "the discrepancy margin is nan, which is not a finite number" in page
        base = next(h for h in run.ledger.hypotheses() if h.id == run.ledger.fact("base"))
        assert run.ledger.tallies()[base.id].rate < 0.3


def test_a_learned_search_says_whether_it_learned(world: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    with mapped(world, tmp_path / "run", search="dqn", budget="images=1600") as run:
        compared = landscape_of(run).compared
        assert compared is not None
        assert compared.agent == "dqn"
        assert compared.inputs == 24  # four tenths of the discovery part
        assert compared.trained > compared.random
        rate = compared.rates["trained"]
        assert (rate.n, rate.value) == (24, compared.trained)
        assert rate.low < rate.value <= rate.high
        told = markdown(run)
        assert ("won against both" in told) == compared.won
        assert "the same 24 inputs, which no training saw, each once" in told
        assert "the agent sees a thumbnail of the picture, and its label" in told
        policies = {dict(h.concepts).get("policy") for h in run.ledger.hypotheses()}
        assert policies == {None, "dqn", "dqn trained", "dqn untrained", "random"}
        shown: dict[str, list[str]] = {}
        for one in run.ledger.hypotheses():
            if policy := dict(one.concepts).get("policy"):
                shown.setdefault(policy, []).extend(t.caption for t in run.ledger.trials(one))
        assert sorted(shown["dqn trained"]) == sorted(set(shown["dqn untrained"])) == sorted(shown["random"])
        assert not set(shown["dqn trained"]) & set(shown["dqn"])
        assert run.ledger.spend()["images"] <= 1600


def test_an_agent_needs_a_budget_that_is_told_before_anything_is_written(world: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    with pytest.raises(WeakspotError, match="900 queries are too few for dqn") as error:
        mapped(world, tmp_path / "run", search="dqn", budget="images=900")
    assert "images=1220" in str(error.value.fix)
    assert not (tmp_path / "run").exists()
    with pytest.raises(WeakspotError, match="too few for ppo-micro"):
        mapped(world, tmp_path / "run", search="ppo-micro", budget="images=1219")
    with mapped(world, tmp_path / "run", search="ppo-micro", budget="images=1220") as run:
        compared = landscape_of(run).compared
        assert compared is not None
        assert compared.rates["random"].n >= compared.inputs > 5


def test_an_agent_in_the_world_sees_the_subject_and_all_are_shown_the_same_scenes(tmp_path: Path) -> None:
    """One half of the subjects fails on flowers, the other on rocks: who sees the subject finds both."""
    pytest.importorskip("stable_baselines3")
    from weakspot.core import Output
    from weakspot.world.scene import SUBJECTS

    half = set(SUBJECTS[::2])

    class Choosy:
        labels = ()

        def answer(self, cases: Any) -> Any:
            wrong = {True: " flower.", False: " rock."}
            return [Output("x" if wrong[c.expected in half] in c.caption else c.expected) for c in cases]

    space = load_space("world")
    small = weakspot.ConceptSpace("small", space.axes[:1], task="world")
    judge = "discrepancy?measure=wrong"
    options: dict[str, Any] = {"space": small, "judge": judge, "search": "dqn", "budget": "images=3000"}
    with weakspot.map(Choosy(), **options, out=tmp_path / "run") as run:
        compared = landscape_of(run).compared
        assert compared is not None
        assert compared.paired
        assert compared.sees == "the subject of the scene"
        assert compared.trained > 0.8  # one cell alone would find half
        assert compared.won
        subjects: dict[str, list[str]] = {}
        for one in run.ledger.hypotheses():
            if policy := dict(one.concepts).get("policy"):
                subjects.setdefault(policy, []).extend(t.expected for t in run.ledger.trials(one))
        assert sorted(subjects["dqn trained"]) == sorted(subjects["random"])


def test_a_source_that_cannot_place_inputs_is_said_to_draw_them_anew(world: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    from weakspot.core import Case, case_seed

    class Own:
        inputs = 400

        def draw(self, hypothesis: Any, indices: Any, *, seed: int) -> list[Case]:
            picture = np.full((8, 8, 3), 90, np.uint8)
            return [
                Case(hypothesis, i, case_seed(seed, hypothesis, i), picture + i % 90, "cat") for i in indices
            ]

    with mapped(world, tmp_path / "run", source=Own(), search="ppo", budget="images=1300") as run:
        compared = landscape_of(run).compared
        assert compared is not None
        assert not compared.paired
        told = markdown(run)
        assert "newly drawn for each of the three" in told
        assert "same inputs" not in told
        assert "The agent sees nothing of an input" in told


def test_rates_have_counts_and_intervals(world: Path, finished: Path) -> None:
    truth = exhaustive(world)
    space = load_space(str(world / "dim.yaml"))
    with Run.read(finished) as run:
        result, told = landscape_of(run), markdown(run)
        for one in [result.whole, *result.sets, *result.modes]:
            assert one.low <= one.rate <= one.high
            assert 0 <= one.failures <= one.n
        assert result.whole.low <= truth.mean() <= result.whole.high
        for failing in result.sets:
            cells = space.cells(failing.region)
            assert failing.low <= truth[cells].mean() <= failing.high
        assert f"({result.whole.n} queries at random inputs)" in summary(run)["conclusion"]
        assert "at most" not in told
        if result.missed == 0:
            assert "\\< 0.5 %" in told


def test_scenes_of_the_world_can_be_mapped(tmp_path: Path) -> None:
    class Fenced(Dim):
        labels = ()

        def answer(self, cases: Any) -> Any:
            from weakspot.core import Output

            return [Output("fence" if "behind a fence" in c.caption else c.expected) for c in cases]

    judge = "discrepancy?measure=wrong"
    with weakspot.map(Fenced(), space="world", judge=judge, budget="images=400", out=tmp_path / "w") as run:
        result = landscape_of(run)
        assert "1,5" not in result.note
        assert "cells have answers; the rates of the others are inferred" in result.note
        assert "behind a fence" in result.sets[0].words


def test_the_report_shows_it(finished: Path) -> None:
    with Run.read(finished) as run:
        path = write(run)
        told = json.loads(path.with_name("report.json").read_text())
        text = path.with_name("report.md").read_text().replace("\\", "")
        assert joined(told["result"]["modes"][0]["words"]) in text
        page = html(run)
        titles = re.findall(r"<h2[^>]*>([^<]+)</h2>", page)
        assert titles[0] == "Weak spots"
        assert titles[-3:] == [
            "What was looked at and not found",
            "How it was measured",
            "How to run it again",
        ]
        assert page.index("Failures found as the search went on") > page.index("How it was measured")
        assert page.count('role="img" aria-label="failure rate by') == 3  # pairs of axes


def test_the_worst_finding_is_named_first_and_its_pictures_stand_beside_the_originals(finished: Path) -> None:
    with Run.read(finished) as run:
        worst = max((f for f in run.findings if f.confirmed), key=lambda f: f.rate.value)
        assert f"fails most where {joined(worst.phrase)}: " in summary(run)["conclusion"]
        [first, *_] = re.findall(r'<tr class="">(.*?)</tr>', html(run), re.S)
        assert joined(worst.phrase) in first
        assert first.count('alt="the picture as it was"') == 3
        assert first.count("should be") == first.count("said <b>") == 3
        assert len(result_of(run).originals) == sum(
            min(6, len(f.failing)) for f in run.findings if f.confirmed
        )


def test_heat_maps_share_one_scale(finished: Path) -> None:
    with Run.read(finished) as run:
        landscape = landscape_of(run)
        maps = [f for f in figures.landscapes(landscape, None) if "rate-" in f.name]
        top = percent(max(rate for heat in landscape.heat for row in heat.rates for rate in row if rate))
        assert len(maps) == 3
        assert all(
            f">{top}</text>" in one.picture.replace(" font-size", "").replace("\xa0", " ") for one in maps
        )


def test_a_large_landscape_keeps_its_worst_cells(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weakspot.studies.map.landscape.KEPT_WHOLE", 10)
    monkeypatch.setattr("weakspot.studies.map.landscape.KEPT_WORST", 5)
    with mapped(world, tmp_path / "run", budget="images=300") as run:
        result = landscape_of(run)
        assert result_of(run).every_cell is None
        assert [cell for cell, _ in result.top] == [c.cell for c in result.worst[:5]]
        assert "Worst cells" in html(run)


def test_one_axis_is_shown_as_bars_with_intervals(world: Path, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("axes: [{name: darken, values: [0, 0.2, 0.4, 0.6], plain: 0}]")
    with mapped(world, tmp_path / "run", space=str(tmp_path / "one.yaml"), budget="images=200") as run:
        [bars] = figures.landscapes(landscape_of(run), result_of(run).every_cell)
        assert bars.title == "Rate by darken"
        assert [row[0] for row in bars.rows] == ["0", "0.2", "0.4", "0.6"]
        assert all(low <= rate <= high and n for _, _, rate, low, high, _, n in bars.rows)
        assert "Rate by darken" in html(run)
    axis = AxisValues(name="darken", values=("0", "0.6"))
    landscape = RepairedLandscape.model_construct(axes=(axis,), n=41, before=(0.1, 0.8), after=(0.1, 0.2))
    [changed] = landscapes(landscape)
    assert [(row[0], row[1], row[-1]) for row in changed.rows] == [
        ("0", "before", 20), ("0", "after", 20), ("0.6", "before", 20), ("0.6", "after", 20),
    ]  # fmt: skip
    assert "about 20 of each value" in changed.note


def test_preferences_are_kept(finished: Path) -> None:
    with Run.read(finished) as run:
        count = len(modes_of(run))
        assert preferred(run) == list(range(1, min(3, count) + 1))
    prefer(finished, ratings={1: 9})
    prefer(finished, chosen=[1])
    with Run.read(finished) as run:
        assert preferred(run) == [1]
        kept = Preferences.of(run)
        assert kept is not None
        assert kept.ratings == ((1, 9.0),)
        assert "★" in markdown(run)
    wrong: dict[str, Any]
    for wrong in ({"chosen": [99]}, {"pairs": [(1, 1)]}, {"ratings": {1: 11}}):
        with pytest.raises(WeakspotError):
            prefer(finished, **wrong)
    assert prefer(finished, clear=True).chosen == ()


def test_a_mode_that_does_not_matter_is_not_preferred(finished: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(finished, own)
    with Run.open(own) as run:
        result, landscape = result_of(run), landscape_of(run)
        four = landscape.model_copy(update={"modes": (landscape.modes[0],) * 4})
        result.model_copy(update={"landscape": four}).keep(run)
    prefer(own, ratings={1: 0})
    with Run.read(own) as run:
        assert minded(run) == []
        with pytest.raises(WeakspotError, match="nobody minds any mode") as error:
            preferred(run)
        assert error.value.fix
    prefer(own, ratings={3: 8}, pairs=[(4, 1)])
    with Run.read(own) as run:
        assert sorted(preferred(run)) == [3, 4]
        assert preferred(run)[0] == 3


def test_samples_of_a_mode_are_kept_pictures(finished: Path) -> None:
    with Run.read(finished) as run:
        found = samples_of(run, 1)
        assert 1 <= len(found) <= 2
        assert all(Path(path).read_bytes().startswith(b"\x89PNG") for path in found)


def test_a_ranking_follows_few_answers() -> None:
    assert [m for m, _ in ranking(4, [], [])] == [1, 2, 3, 4]
    assert [m for m, _ in ranking(3, [(3, 1), (1, 2)], [])] == [3, 1, 2]
    assert next(m for m, _ in ranking(3, [], [(2, 9), (1, 2)])) == 2


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"space": "image-152"}, "no concept space is called"),
        ({"space": "text-16"}, "needs no pictures"),
        ({"search": "dqnn"}, "no search is called"),
        ({"seed": -3}, "a seed cannot be -3"),
        ({"budget": "images=30"}, "too few to map"),
        ({"budget": "seconds=5"}, "no number of images"),
        ({"images": ""}, "no pictures are named"),
        ({"images": "nowhere"}, "no folder"),
        ({"above": 2.0}, "a rate cannot be"),
        ({"space": "image-5^5", "search": "exhaustive"}, "more than the search has queries"),
        (
            {"parts": {"discovery": 1, "confirmation": 0.001, "repair": 1, "verification": 1}},
            "too few to split",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    world: Path, tmp_path: Path, more: dict[str, Any], what: str
) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        mapped(world, tmp_path / "run", **more)
    assert error.value.fix
    assert not (tmp_path / "run").exists()


def test_a_value_that_destroys_every_picture_is_refused(world: Path, tmp_path: Path) -> None:
    (tmp_path / "black.yaml").write_text("axes: [{name: darken, values: [0, 1]}]")
    with pytest.raises(WeakspotError, match="leaves nothing of the pictures"):
        mapped(world, tmp_path / "run", space=str(tmp_path / "black.yaml"))


def test_other_pictures_are_not_gone_on_with(world: Path, tmp_path: Path) -> None:
    write_pictures(tmp_path / "own", 150)
    with pytest.raises(KeyboardInterrupt):
        mapped(world, tmp_path / "run", target=Dim(stop_at=50), images=tmp_path / "own")
    next((tmp_path / "own" / "cat").iterdir()).unlink()
    with pytest.raises(WeakspotError, match="not the one this run began with"):
        resume(tmp_path / "run", target=Dim())
