"""`export --format hf`: a folder that a loader of data sets reads without being told anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from tests.after.after_parts import OTHERS, hunted
from tests.studies.mine.mine_toy import listed

from weakspot.after.rows_export import export_rows
from weakspot.cli import run as cli
from weakspot.core import WeakspotError
from weakspot.core.vocabulary import Hypothesis
from weakspot.store import Run, RunConfig
from weakspot.studies.mine.result import MinedPair


@pytest.fixture
def over(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (toy / "others.py").write_text(OTHERS)
    monkeypatch.delitem(sys.modules, "others", raising=False)
    hunted(Path("run"))
    return toy


def card_of(folder: Path) -> tuple[dict[str, Any], str]:
    """The front matter, as a hub reads it, and the rest."""
    _, front, text = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(front), text


def loaded(folder: Path) -> Any:
    """What the card leads to, by the documented rules: configs, data_files, dataset_info.features."""
    front, _ = card_of(folder)
    [config] = front["configs"]
    [files] = config["data_files"]
    [path] = folder.glob(files["path"])
    table = pq.read_table(path)
    info = front["dataset_info"]
    assert config["config_name"] == "default"
    assert [feature["name"] for feature in info["features"]] == table.column_names
    inside = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    for feature in info["features"]:
        own = inside[feature["name"]]
        if feature.get("dtype") == "image":
            assert own == {"_type": "Image"}
        elif "list" in feature:
            assert [inner["name"] for inner in feature["list"]] == list(own[0])
        else:
            assert own == {"dtype": feature["dtype"], "_type": "Value"}
    [split] = info["splits"]
    assert (split["name"], split["num_examples"]) == (files["split"], table.num_rows)
    assert split["num_bytes"] == path.stat().st_size
    return table


def test_pictures_for_a_hub(over: Path, capsys: Any) -> None:
    assert cli(["export", "run", "--format", "hf", "--out", "hub", "--licence", "CC0-1.0"]) == 0
    assert cli(["export", "run", "--format", "parquet", "--out", "plain"]) == 0
    table = loaded(Path("hub"))
    assert table.num_rows > 10
    assert table.column("image")[0].as_py()["bytes"].startswith(b"\x89PNG")
    plain = pq.read_table("plain/data/test-00000-of-00001.parquet")
    assert plain.drop_columns("licence").equals(table.drop_columns("licence"))
    front, text = card_of(Path("hub"))
    assert front["license_name"] == "CC0-1.0"
    assert 'datasets.load_dataset("FOLDER", split="test")' in text
    assert "configs" not in card_of(Path("plain"))[0]
    assert Path("hub/provenance.json").is_file()


def test_a_real_loader_reads_it(over: Path) -> None:
    datasets = pytest.importorskip("datasets")
    assert cli(["export", "run", "--format", "hf", "--out", "hub"]) == 0
    found = datasets.load_dataset("hub", cache_dir="cache")
    assert found["test"].features["image"].__class__.__name__ == "Image"
    assert found["test"].num_rows == loaded(Path("hub")).num_rows


def test_questions_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--benchmark", "world:questions", "--limit", "9", "--contrast", "--out", "run"]
    assert cli(["ask", "world:guide", *asked]) == 0
    assert cli(["export", "run", "--format", "hf", "--licence", "CC0-1.0"]) == 0
    table = loaded(Path("run/export-hf")).to_pylist()
    with Run.read(Path("run")) as run:
        trials = [t for h in run.ledger.hypotheses() for t in run.ledger.trials(h)]
    assert [row["answer"] for row in table] == [trial.answer for trial in trials]
    assert [row["failed"] for row in table] == [trial.failed for trial in trials]
    assert {row["set"] for row in table} == {"benign", "contrast"}
    assert json.loads(table[0]["slices"])["kind"]
    assert "# Questions to world:guide, and its answers" in card_of(Path("run/export-hf"))[1]
    capsys.readouterr()
    assert cli(["export", "run", "--json"]) == 0  # without pictures JSON lines are the default
    assert json.loads(capsys.readouterr().out)["rows"] == len(table)
    rows = [json.loads(line) for line in Path("run/export-jsonl/test.jsonl").read_text().splitlines()]
    assert rows == table
    assert cli(["export", "run", "--format", "jsonl"]) == 1  # nothing is overwritten
    assert "already exists" in capsys.readouterr().err
    assert cli(["export", "run", "--format", "csv"]) == 1


def test_pairs_of_mine(tmp_path: Path) -> None:
    config = RunConfig(study="mine", subject="x", settings={"encoder": "world:encoder", "corpus": "x.txt"})
    pair = MinedPair(
        first="a | dog",
        second="no dog <b>",
        category="negation",
        tested=0.97,
        reference=0.2,
        reason="=1+1",
    )
    with Run.create(config, folder=tmp_path / "run") as run:
        with pytest.raises(WeakspotError, match="nothing to export yet"):
            export_rows(run, form="hf")
        run.ledger.add_hypotheses([Hypothesis("negation")])
        listed(pair).keep(run)
        _, rows = export_rows(run, form="hf", out=tmp_path / "out")
        with pytest.raises(WeakspotError, match="did you mean 'parquet'"):
            export_rows(run, form="parket")
    assert rows == 1
    [row] = loaded(tmp_path / "out").to_pylist()
    assert (row["first"], row["second"], row["origin"]) == ("a | dog", "no dog <b>", "mined")
    assert row["failed"] is None
    assert not [path for path in tmp_path.iterdir() if ".part" in path.name]


def test_queries_of_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    study = ["map", "world:classifier", "--images", "world:200", "--space", "image:rotate,darken"]
    assert cli([*study, "--budget", "images=120", "--seed", "3", "--out", "run"]) == 0
    assert cli(["export", "run", "--format", "hf"]) == 0
    table = loaded(Path("run/export-hf")).to_pylist()
    with Run.read(Path("run")) as run:
        hypotheses = {h.id: h for h in run.ledger.hypotheses()}
        trials = [t for h in hypotheses.values() for t in run.ledger.trials(h)]
        base = hypotheses[run.ledger.fact("base")]
        assert [row["discrepancy"] for row in table] == [trial.score for trial in trials]
        assert [row["failed"] for row in table] == [trial.failed for trial in trials]
        assert [row["cell"] for row in table] == [hypotheses[trial.hypothesis].text for trial in trials]
        kept = [row["picture"] for row in table if row["picture"]]
        assert kept
        assert all(run.blobs.get(one) for one in kept)
    assert {row["cell"] for row in table if row["baseline"]} == {base.text}
    assert {type(json.loads(row["concepts"])) for row in table} == {dict}
    assert "# Queries of world:classifier, by concepts" in card_of(Path("run/export-hf"))[1]
    assert "world:200" in card_of(Path("run/export-hf"))[1]
    assert cli(["export", "run"]) == 0  # without pictures of its own JSON lines are the default
    rows = [json.loads(line) for line in Path("run/export-jsonl/test.jsonl").read_text().splitlines()]
    assert rows == table
    capsys.readouterr()
    assert cli(["transfer", "run", "--target", "world:classifier-vit-1"]) == 1
    assert "weakspot compare RUN OTHER" in capsys.readouterr().err


def test_of_other_studies_every_trial_is_a_row(tmp_path: Path, capsys: Any) -> None:
    given = ["rare", "world:classifier", "--label", "fly", "--budget", "images=200"]
    assert cli([*given, "--out", str(tmp_path / "rare")]) == 0
    assert cli(["export", str(tmp_path / "rare")]) == 0
    lines = (tmp_path / "rare" / "export-jsonl" / "test.jsonl").read_text().splitlines()
    assert {json.loads(line)["expected"] for line in lines} == {"fly"}
    assert len(lines) == 200
    Run.create(RunConfig(study="rare", subject="x", settings={}), folder=tmp_path / "empty").close()
    capsys.readouterr()
    assert cli(["export", str(tmp_path / "empty")]) == 1
    assert "has nothing to export yet" in capsys.readouterr().err
