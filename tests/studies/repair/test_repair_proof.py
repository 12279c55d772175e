"""What the proof of a repair sees: the whole landscape, and pictures that a transformation destroys."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.repair.results import result_of
from tests.tuning import colours

import weakspot
from weakspot.core import Case, Output, Scores
from weakspot.store import Run, RunConfig
from weakspot.studies.repair.pairs import proof
from weakspot.studies.repair.parts import job_of
from weakspot.studies.repair.result import Proof
from weakspot.studies.repair.settings import RepairSettings

pytest.importorskip("torch")
SPACE = "image:darken,saturation"


@pytest.fixture(scope="module")
def pale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A map of colours, some of whose pictures are so pale that darkness leaves nothing of them."""
    folder = tmp_path_factory.mktemp("pale")
    shutil.copy(colours.__file__, folder / "pale_colours.py")
    sys.path.insert(0, str(folder))
    path = colours.write(folder)
    with np.load(path) as pack:
        kept = {key: pack[key] for key in pack.files}
    dim = (100 + np.indices((colours.SIDE, colours.SIDE)).sum(0) % 4).astype(np.uint8)
    kept["images"][::40] = dim[None, :, :, None] + np.arange(20, dtype=np.uint8)[:, None, None, None]
    np.savez(path, **kept)
    weakspot.map(
        f"torch:pale_colours:Colours?labels={folder / 'labels.txt'}&device=cpu",
        images=path, space=SPACE, budget="images=1200", seed=3, out=folder / "map", above=0.2,
    ).close()  # fmt: skip
    yield folder
    sys.path.remove(str(folder))


class Right:
    """Knows the right answer, but for some cases."""

    labels = colours.LABELS

    def __init__(self, wrong: Callable[[Case], bool]) -> None:
        self._wrong = wrong

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        found = []
        for case in cases:
            said = (self.labels.index(case.expected) + self._wrong(case)) % len(self.labels)
            row = np.where(np.arange(len(self.labels)) == said, 0.98, 0.01).astype(np.float32)
            found.append(Output(self.labels[said], Scores(self.labels, row)))
        return found


def proved(folder: Path, out: Path, after: Any, **given: Any) -> Proof:
    settings = RepairSettings(run=str(folder / "map"), modes="1", **{"draws": 1000, **given})
    config = RunConfig(study="repair", subject="x", settings={}, digests={})
    with Run.read(folder / "map") as mapped, Run.create(config, folder=out) as own:
        return proof(own, job_of(mapped, settings), after, settings, lambda *_: None)


def light(case: Case) -> bool:
    return dict(case.hypothesis.concepts).get("darken") == "0.1"


def test_failures_that_moved_elsewhere_are_a_trade(pale: Path, tmp_path: Path) -> None:
    """Right in the modes and on plain pictures, wrong in the light, where it was right."""
    found = proved(pale, tmp_path / "moved", Right(light))
    assert found.chosen[0].halved
    assert not found.clean.increased
    assert found.elsewhere is not None
    assert found.elsewhere.increased
    assert found.verdict == "traded"
    nowhere = proved(pale, tmp_path / "nowhere", Right(lambda _: False))
    assert nowhere.verdict == "repaired"
    assert nowhere.elsewhere is not None
    assert nowhere.elsewhere.made == 0
    unseen = proved(pale, tmp_path / "unseen", Right(light), draws=0)
    assert (unseen.verdict, unseen.elsewhere, unseen.landscape) == ("repaired", None, None)


def test_pictures_that_are_destroyed_are_no_pairs_and_are_counted(pale: Path, tmp_path: Path) -> None:
    found = proved(pale, tmp_path / "pairs", Right(lambda _: False))
    with Run.read(pale / "map") as past:
        job = job_of(past, RepairSettings(run=str(pale / "map"), modes="1"))
        whole = job.available(job.chosen[0].hypotheses[0])
    mode = found.chosen[0]
    assert 0 < whole - mode.n < 20
    assert found.clean.n == whole
    assert found.errors >= whole - mode.n


def test_nothing_is_learnt_from_what_is_left_of_a_destroyed_picture(pale: Path) -> None:
    with Run.read(pale / "map") as past:
        job = job_of(past, RepairSettings(run=str(pale / "map"), modes="1"))
    assert job.lessons is not None
    lessons = job.lessons(colours.LABELS)
    shown = lessons.show(range(len(lessons)), seed=[1], rate=1.0)
    faint = [i for i, image in enumerate(shown.plain) if image.std() < 2]
    assert faint
    assert all(image.std() >= 1 for image in shown.changed)
    assert any(np.array_equal(shown.changed[i], shown.plain[i]) for i in faint)
    assert not any(
        np.array_equal(*both) for both in zip(shown.changed, shown.plain, strict=True) if both[1].std() > 9
    )


def test_a_repair_with_destroyed_pictures_ends_and_says_so(pale: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"epochs": 2, "learning_rate": 0.1, "draws": 200, "device": "cpu"}
    with weakspot.repair(pale / "map", modes="1", out=tmp_path / "done", **given) as run:
        assert run.state == "finished"
        assert result_of(run)["errors"] > 0
        assert "without a verdict" in weakspot.write_report(run).read_text()
