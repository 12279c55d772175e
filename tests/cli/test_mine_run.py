"""`weakspot mine ENCODER` as a person uses it, and what it says to input that cannot be meant."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.studies.mine.mine_toy import Bag, Blind, captions, mined_of

import weakspot as ws
from weakspot.cli import run as cli

TOY = "python:tests.studies.mine.mine_toy:"
HOSTILE = "A <script>alert(1)</script> dog \x1b[31m under a tree."


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a corpus in it; the user's cache is elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = [*captions(70), "=1+1 dog under a tree.", "=1+1 dog behind a tree.", HOSTILE]
    (tmp_path / "c.txt").write_text("\n".join(lines))
    return tmp_path


def mine(
    *more: str, encoder: str = f"{TOY}Blind", reference: str = f"{TOY}Reader", corpus: str = "c.txt"
) -> int:
    return cli(["mine", encoder, "--reference", reference, "--corpus", corpus, *more])


def test_a_person_sees_the_findings_and_a_machine_gets_them_all(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mine("--out", "run", "--seed", "3", "--threshold", "0.9", "--gap", "0.02") == 0
    out, err = capsys.readouterr()
    assert "spatial relation" in out
    assert "confirmed on fresh pairs (false-discovery rate ≤ 5 %)" in out
    assert "next     weakspot export run --format csv" in out
    assert "up to 20,000 pairs · seed 3" in err
    assert cli(["report", "run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["study"] == "mine"
    assert {row["name"] for row in told["categories"] if row["state"] == "confirmed"} >= {"spatial relation"}
    assert told["mined"]["pairs"]

    page = (place / "run/report.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert 'class="cut"' in page  # the threshold in the histograms
    assert "spatial relation" in page

    assert cli(["export", "run", "--format", "csv"]) == 0
    assert {"README.md", "provenance.json"} <= {path.name for path in (place / "run/export-csv").iterdir()}
    with (place / "run/export-csv/pairs.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["Sample 1", "Sample 2"]
    assert len(rows) == len(told["mined"]["pairs"])
    assert not any(cell.startswith("=") for row in rows for cell in row)
    for first, second, tested, reference, difference in rows:
        assert first != second
        assert float(difference) == pytest.approx(float(tested) - float(reference), abs=2e-6)
    assert cli(["export", "run", "--format", "jsonl", "--out", "all"]) == 0
    lines = [json.loads(line) for line in (place / "all/test.jsonl").read_text().splitlines()]
    assert len(lines) == len(rows) + told["trials"]["drawn"]
    assert {"README.md", "provenance.json"} <= {path.name for path in (place / "all").iterdir()}
    assert cli(["export", "run", "--format", "jsonl", "--out", "all"]) == 1
    capsys.readouterr()
    assert cli(["export", "run", "--format", "imagefolder"]) == 1
    assert "a run of mine cannot be written as 'imagefolder'" in capsys.readouterr().err
    assert cli(["export", "run", "--out", "usual", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "csv"
    assert (place / "usual/pairs.csv").read_bytes() == (place / "run/export-csv/pairs.csv").read_bytes()


def test_a_spent_budget_says_how_to_go_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mine("--out", "run", "--budget", "pairs=30") == 3
    out = capsys.readouterr().out
    assert "next     weakspot resume run --budget pairs=60" in out
    assert cli(["resume", "run", "--budget", "pairs=4000"]) == 0
    with ws.open_run("run") as run:
        assert run.state == "finished"


def test_the_other_commands_of_mine_are_still_reached(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["mine", "categorise", "--help"]) == 0
    assert cli(["mine", "--help"]) == 0
    assert "categorise" in capsys.readouterr().out


# -- bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "has no texts"),
        (b"\n\n  \n", "has no texts"),
        (b"one dog\n", "has one text"),
        (b"one dog\n" + b"a cat " * 1_800_000, "has one text (0 blank, 1 too long"),
        (bytes(range(256)) * 40, "is not text"),
    ],
    ids=["empty", "blank", "one line", "a line of 10 MB", "binary"],
)
def test_a_corpus_that_is_none(
    place: Path, content: bytes, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "bad").write_bytes(content)
    assert mine("--out", "run", corpus="bad") == 1
    err = capsys.readouterr().err
    assert complaint in err
    assert "fix:" in err
    assert not (place / "run").exists()


def test_a_giant_line_among_others_is_left_out(place: Path) -> None:
    with (place / "c.txt").open("a") as file:
        file.write("\n" + "a cat " * 1_800_000)
    assert mine("--out", "run", "--budget", "pairs=8") == 3
    with ws.open_run("run") as run:
        assert mined_of(run).left_out.long == 1


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"reference": f"{TOY}Blind"}, "give the same embeddings"),
        ({"encoder": f"{TOY}Zero"}, "only zeros"),
        ({"encoder": f"{TOY}NotFinite"}, "not finite"),
        ({"encoder": f"{TOY}Fewer"}, "an encoder gives one row for each text"),
        ({"encoder": "npz:matrix.npz"}, "texts are not in npz:matrix.npz"),
        ({"reference": "npz:nan.npz"}, "not finite"),
        ({"reference": "npz:zero.npz"}, "nothing but zeros"),
        ({"reference": "npz:flat.npz"}, "not one row of numbers per text"),
        ({"reference": "npz:short.npz"}, "rows and"),
        ({"encoder": "world:encoderr"}, "did you mean 'world:encoder'"),
        ({"encoder": "world:classifier"}, "is not a TextEncoder"),
        ({"corpus": "nothing.txt"}, "cannot be read"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value.values()),
)
def test_encoders_that_do_not_fit(
    place: Path, more: dict[str, str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = (place / "c.txt").read_text().splitlines()
    rows = Bag().embed_texts(texts)
    wrong = rows.copy()
    wrong[5] = np.nan
    zero = rows.copy()
    zero[5] = 0
    np.savez("matrix.npz", embeddings=rows[:50], captions=np.array(texts[:50]))
    np.savez("nan.npz", embeddings=wrong, captions=np.array(texts))
    np.savez("zero.npz", embeddings=zero, captions=np.array(texts))
    np.savez("flat.npz", embeddings=rows[:, 0], captions=np.array(texts))
    np.savez("short.npz", embeddings=rows[:-1], captions=np.array(texts))
    assert mine("--out", "run", **more) == 1
    err = capsys.readouterr().err
    assert complaint in err
    assert "fix:" in err
    assert "Traceback" not in err


def test_a_copy_of_the_encoder_under_another_name_is_found_out(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = (place / "c.txt").read_text().splitlines()
    np.savez("same.npz", embeddings=3 * Blind().embed_texts(texts), captions=np.array(texts))
    assert mine("--out", "run", reference="npz:same.npz") == 1
    assert "give the same embeddings, so they cannot disagree" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--pairs", "0"], "pairs cannot be 0"),
        (["--threshold", "1.5"], "threshold cannot be 1.5"),
        (["--threshold", "nan"], "threshold cannot be nan"),
        (["--threshold", "0.9", "--calibrate", "0.99"], "a fixed threshold is not calibrated"),
        (["--calibrate", "0.2"], "calibrate cannot be 0.2"),
        (["--gap", "-1"], "the gap cannot be -1"),
        (["--budget", "pears=3"], "no budget is called"),
        (["--validity", "ruls"], "rules"),
        (["--llm", "chat:nobody/none"], "nobody"),
        (["--images", "nowhere"], "only texts"),
        (["--downstream", "diffusers:x"], "which text a drawn picture shows"),
        (["--noise", "nowhere.txt"], "cannot be read"),
        (["--fdr", "0"], "a false-discovery rate of 0.0 makes no sense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_settings_that_cannot_be_meant(
    place: Path, args: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mine("--out", "run", *args) in (1, 2)
    err = capsys.readouterr().err
    assert complaint in err
    assert "Traceback" not in err
    assert not (place / "run").exists()
