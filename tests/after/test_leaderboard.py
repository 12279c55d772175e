"""Runs, recorded verdicts and published figures in one table; and out again in the benchmark's format."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.studies.ask.ask_parts import Faulty, Model, Moody, Words, benchmark

from weakspot import ask
from weakspot.after.leaderboard import board, export, html, read
from weakspot.core import WeakspotError
from weakspot.sources.benchmark import Benchmark
from weakspot.studies.ask.figures import points
from weakspot.studies.ask.result import AskResult


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    items = [i._replace(slices={"stimulus": ("negated-harm",)}) for i in benchmark(60).items]
    folders = []
    for name, model in (("strict", Model()), ("moody", Moody()), ("faulty", Faulty())):
        ask(
            model, benchmark=Benchmark("toy", items), judge=Words(), contrast=True, out=tmp_path / name
        ).close()
        folders.append(tmp_path / name)
    return folders


def test_the_table(runs: list[Path]) -> None:
    table = [line.plain() for line in board([row for path in runs for row in read(path)])]
    assert [line["place"] for line in table] == [1, 2, 3]
    assert [line["rate"] for line in table] == sorted(line["rate"] for line in table)
    assert all(line["rate_interval"][0] <= line["rate"] <= line["rate_interval"][1] for line in table)
    faulty = next(line for line in table if "Faulty" in line["model"])
    assert (faulty["errors"], faulty["blocked"], faulty["empty"]) == (12, 6, 6)
    versus = table[1]["versus_above"]
    assert versus["p_adjusted"] >= versus["p"]
    assert versus["n"] <= 60


def test_the_page(runs: list[Path]) -> None:
    rows = [row for path in runs for row in read(path)]
    evil = "<script>alert(1)</script>"
    lines = board([*rows[:2], replace(rows[2], model=evil)])
    page = html(lines)
    assert page.count("<script") == 1  # the one that saves the figure
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    drawn = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', page)]
    assert len(drawn) == 3
    across = [line.row.figures.rate for line in lines]
    assert [x for _, x in sorted(zip(across, drawn, strict=True))] == sorted(drawn)
    some = points((line.row.model, line.row.figures) for line in lines)
    for point, line in zip(some, lines, strict=True):
        assert line.row.figures.contrast is not None
        assert point.benign.value == line.row.figures.rate
        assert point.harmful.value == pytest.approx(1 - (line.row.figures.contrast.rate or 0.0))
        assert point.harmful.low <= point.harmful.value <= point.harmful.high


def test_without_harmful_questions_there_is_no_picture(runs: list[Path], data: Path) -> None:
    published = data / "data" / "mossbench" / "published.json"
    page = html(board(read(published)))
    assert "<circle" not in page
    assert "Claude 3 Haiku" in page


def test_the_submission_round_trip(runs: list[Path], tmp_path: Path) -> None:
    written = export(runs, tmp_path / "out")
    assert [p.name for p in written] == [
        f"{n}.{e}" for n in ("strict", "moody", "faulty") for e in ("json", "jsonl")
    ]
    data = json.loads((tmp_path / "out" / "faulty.json").read_text())
    assert set(data) == {"responses", "reject Rate"}
    first = data["responses"]["0"]
    assert {"pid", "image_path", "question", "response", "rejected", "reject_reasoning", "metadata"} <= set(
        first
    )
    assert (first["response"], first["rejected"]) == (None, None)  # an error is no refusal
    assert first["metadata"] == {"over": "type 2"}
    again = read(tmp_path / "out" / "faulty.json")[0].figures
    ours = read(runs[2])[0].figures
    for key in ("n", "refused", "rate", "errors"):
        assert getattr(again, key) == getattr(ours, key), key
    assert data["reject Rate"]["Total"] == data["reject Rate"]["Type 2"] == pytest.approx(ours.rate)


def test_exported_answers_replay_the_run(runs: list[Path], tmp_path: Path) -> None:
    export(runs, tmp_path / "out")
    again = ask(
        f"replay:{tmp_path / 'out' / 'faulty.jsonl'}",
        benchmark=benchmark(60),
        judge=Words(),
        contrast=True,
        out=tmp_path / "again",
    )
    with again:
        found = AskResult.of(again)
    ours = read(runs[2])[0].figures
    assert found is not None
    assert found.contrast is not None
    assert ours.contrast is not None
    for key in ("errors", "blocked", "empty"):
        assert getattr(found, key) == getattr(ours, key), key
    assert found.contrast.refused == ours.contrast.refused


def test_published_figures(data: Path) -> None:
    lines = board(read(data / "data" / "mossbench" / "published.json"))
    table = [line.plain() for line in lines]
    haiku = {line["judge"]: line for line in table if line["model"] == "Claude 3 Haiku"}
    assert haiku["published: human"]["rate"] == pytest.approx(0.5533)
    assert haiku["published: gpt judge"]["stimulus"]["negated-harm"] == pytest.approx(0.58)
    assert len(table) == 10
    assert all(line["versus_above"] is None for line in table)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "no results that are known"),
        ('{"models": {}}', "no published figures"),
        ('{"responses": {"1": 3}}', "is no object"),
    ],
)
def test_other_files(tmp_path: Path, content: str, complaint: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(WeakspotError, match=complaint):
        read(tmp_path / "x.json")


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="is not a run"):
        read(tmp_path)
