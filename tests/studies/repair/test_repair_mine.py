"""A mine, the repair of what it found, and the proof on pairs that neither saw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.studies.repair.results import result_of

import weakspot
from weakspot.cli import run as command
from weakspot.core import WeakspotError
from weakspot.store import Run
from weakspot.studies.mine import repair_job as repair_mine
from weakspot.studies.mine.pair_source import pair_of
from weakspot.studies.repair.parts import job_of
from weakspot.studies.repair.settings import RepairSettings
from weakspot.text.plain import normal_form
from weakspot.tuning import encoder

pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """A tenth of the usual numbers."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {
            "CAPTIONS": 260, "LESSONS": 60, "PROVED": 50, "USUAL": 40, "RETRIEVED": 40, "SAME": 20
        }.items():  # fmt: skip
            patched.setattr(repair_mine, name, value)
        patched.setattr(encoder, "BATCH", 24)
        yield


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mined") / "run"
    weakspot.mine(
        "world:encoder",
        reference="world:scenes",
        corpus="world?texts=150",
        budget="pairs=1500",
        out=folder,
        cache=str(folder.parent / "cache"),
    ).close()
    return folder


def number_of(folder: Path, category: str) -> int:
    with Run.read(folder) as run:
        return next(i for i, f in enumerate(run.findings, start=1) if f.phrase == category)


def test_parts_share_no_text_and_none_that_the_mine_measured(mined: Path) -> None:
    number = number_of(mined, "negation")
    with Run.read(mined) as run:
        job = job_of(run, RepairSettings(run=str(mined), modes=str(number)))
        seen = {
            normal_form(text)
            for h in run.ledger.hypotheses()
            for t in run.ledger.trials(h)
            for text in pair_of(t)[:2]
        }
    hypothesis = job.chosen[0].hypotheses[0]
    cases = job.source.draw(hypothesis, range(job.available(hypothesis)), seed=job.seed)
    proof = {normal_form(text) for case in cases for text in case.input[:2]}
    assert job.write is not None
    written = job.write(mined.parent / "pairs")
    rows = [json.loads(line) for line in Path(written["folder"], "pairs.jsonl").read_text().splitlines()]
    learnt = {normal_form(row[key]) for row in rows for key in ("first", "second")}
    assert len(rows) == written["pictures"] > 20
    assert not learnt & proof
    assert not (learnt | proof) & seen


def test_the_encoder_tells_new_pairs_apart_and_still_finds_its_pictures(
    mined: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = mined.parent / "repaired"
    given = [
        "--modes",
        str(number_of(mined, "negation")),
        "--epochs",
        "8",
        "--learning-rate",
        "0.001",
        "--device",
        "cpu",
    ]
    assert command(["repair", str(mined), *given, "--out", str(out)]) == 0
    assert "clean" in capsys.readouterr().out
    with Run.read(out) as run:
        result: dict[str, Any] = result_of(run)
    assert result["chosen"][0]["reduced"]
    assert not result["clean"]["increased"]
    assert any("another order" in row["words"] for row in result["others"])
    assert "world:encoder?text=" in result["model"]
    assert "R@1" in (out / "model" / "README.md").read_text()
    assert "Inputs whose answer changed" in (out / "report.md").read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"modes": "99"}, "no finding 99"),
        ({"method": "last-layer"}, "text towers"),
        ({"target": "ngrams"}, "cannot be trained"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_there_is_a_run(
    mined: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(WeakspotError, match=said):
        weakspot.repair(mined, out=mined.parent / "refused", **given)
    assert not (mined.parent / "refused").exists()
