"""`weakspot mine grounded` on pictures of the world, as a person uses it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from PIL import Image

from weakspot.cli import run as cli
from weakspot.world.grammar import describe
from weakspot.world.nature import sample_uniform
from weakspot.world.render import render
from weakspot.world.scene import SceneSet


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    rng, rows = random.Random(0), []
    for i in range(30):
        subject = rng.choice(["dog", "cat"])
        scene = sample_uniform(SceneSet.of({"subject": [subject], "companion": ["nothing"]}), rng)
        Image.fromarray(render(scene, i, 64)).save(folder / f"{i}.png")
        rows.append({"file": f"{i}.png", "captions": [f"a photo of a {subject}.", describe(scene)]})
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def failed(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert cli(["mine", "grounded", *map(str, args), "--cache", "no"]) == 1
    what, fix = capsys.readouterr().err.strip().splitlines()[-2:]
    assert what.startswith("error: ")
    assert fix.startswith("  fix: ")
    return what + fix


def test_a_table_and_json(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["mine", "grounded", "world:encoder", "--images", str(photos), "--category", "dog ↔ cat"]
    args += ["--cache", str(tmp_path / "cache")]
    assert cli(args) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == [
        "change",
        "pairs",
        "own",
        "caption",
        "nearer",
        "elsewhere",
        "cosine",
    ]
    assert printed.splitlines()[1].strip().startswith("dog ↔ cat")
    assert "30 pictures" in printed
    assert cli([*args, "--judge", "rules", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    row = document["rows"][0]
    assert (row["name"], row["category"], row["sight"]) == ("dog ↔ cat", "subject", "above chance")
    assert 0.6 < row["rate"] < 1
    assert row["pairs"] >= 30
    assert document["control"]["rate"] > 0.6
    assert list((tmp_path / "cache").iterdir())


def test_only_some(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "some.txt").write_text("".join(f"{i}.png\n" for i in range(25)))
    args = ["mine", "grounded", "world:encoder", "--images", str(photos), "--cache", "no", "--json"]
    assert cli([*args, "--only", str(tmp_path / "some.txt"), "--category", "subject"]) == 0
    assert json.loads(capsys.readouterr().out)["images"] == 25


def test_bad_input(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bare").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "bare" / "1.png")
    (tmp_path / "empty.txt").write_text("\n")
    here = ("world:encoder", "--images", photos)
    assert "no captions" in failed(capsys, "world:encoder", "--images", tmp_path / "bare")
    assert "no folder" in failed(capsys, "world:encoder", "--images", tmp_path / "nowhere")
    assert "not a Encoder" in failed(capsys, "world:classifier", "--images", photos)
    assert "did you mean" in failed(capsys, "world:encodr", "--images", photos).lower()
    assert "no change of captions" in failed(capsys, *here, "--category", "colr")
    assert "names no picture" in failed(capsys, *here, "--only", tmp_path / "empty.txt")
    assert "none of the pictures" in failed(capsys, *here, "--only", photos / "captions.jsonl")
    assert "no judge" in failed(capsys, *here, "--judge", "rulez")
