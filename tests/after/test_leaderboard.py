"""Runs, recorded verdicts and published figures in one table; and out again in the benchmark's format."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from tests.studies.ask.ask_parts import Faulty, Model, Moody, Words, benchmark

from weakspot import ask
from weakspot.after.leaderboard import export, plain, read
from weakspot.after.leaderboard_tables import conclusion, html, lines
from weakspot.after.standings import ModelRow, Standing, may_be_first, spelt, standings
from weakspot.core import Status, WeakspotError
from weakspot.core.question import BENIGN
from weakspot.sources.benchmark import Benchmark
from weakspot.studies.ask.analysis import Asked, counted
from weakspot.studies.ask.figures import points
from weakspot.studies.ask.result import AskResult, PromptRates


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


def board(paths: Iterable[Path]) -> list[Standing]:
    return standings([row for path in paths for row in read(path)])


def test_the_table(runs: list[Path]) -> None:
    table = [plain(line) for line in board(runs)]
    assert [line["place"] for line in table] == [1, 2, 3]
    assert [line["rate"] for line in table] == sorted(line["rate"] for line in table)
    assert all(line["rate_interval"][0] <= line["rate"] <= line["rate_interval"][1] for line in table)
    assert all(low <= line["place"] <= high for line in table for low, high in [line["places"]])
    faulty = next(line for line in table if "Faulty" in line["model"])
    assert (faulty["errors"], faulty["blocked"], faulty["empty"]) == (12, 6, 6)
    versus = table[1]["versus_above"]
    assert versus["model"] == table[0]["model"]
    assert versus["paired"]
    assert versus["p_adjusted"] >= versus["p"]
    assert versus["n"] <= 60
    assert versus["difference"] == pytest.approx(versus["rate_first"] - versus["rate_second"])


def test_the_page(runs: list[Path]) -> None:
    rows = [row for path in runs for row in read(path)]
    evil = "<script>alert(1)</script>"
    lines = standings([*rows[:2], replace(rows[2], model=evil)])
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


def test_without_harmful_questions_there_is_no_picture(data: Path) -> None:
    page = html(board([data / "data" / "mossbench" / "published.json"]))
    assert "<circle" not in page
    assert "Claude 3 Haiku" in page


def model(name: str, refused: int, *, n: int = 100, seed: int = 0, **more: Any) -> ModelRow:
    """A model that refuses so many of the same questions."""
    chosen = set(random.Random(seed).sample(range(n), refused))
    asked = tuple(
        Asked(str(i), BENIGN, Status.REFUSED if i in chosen else Status.OK, i in chosen) for i in range(n)
    )
    figures = PromptRates(**counted(asked).model_dump())
    return ModelRow(model=name, judge="embedded", origin="here", figures=figures, asked=asked, **more)


def published(name: str, rate: float) -> ModelRow:
    return ModelRow(model=name, judge="published: human", origin="paper", figures=PromptRates(rate=rate))


NINE: Final = (
    ("openai/gpt-4o-2024-08-06", 4), ("GPT-4V", 5), ("anthropic/claude-3-opus-20240229", 27),
    ("gemini-pro-1-5", 28), ("claude-3-haiku", 50), ("meta-llama/Llama-3.2-11B-Vision-Instruct", 30),
    ("Qwen2-VL-7B-Instruct", 9), ("llava-v1.6-mistral-7b-hf", 12), ("InternVL2-8B", 11),
)  # fmt: skip
SPELT: Final = (
    ("GPT-4o", 0.08), ("gpt-4v", 0.02), ("Claude 3 Opus", 0.3067), ("Gemini 1.5 Pro", 0.3467),
    ("Claude 3 Haiku", 0.5533),
)  # fmt: skip


def nine() -> list[ModelRow]:
    return [model(name, k, seed=i) for i, (name, k) in enumerate(NINE)]


def test_nine_models_are_nine_rows_however_they_are_spelt_and_whatever_is_published() -> None:
    alone = standings(nine())
    beside = standings([*nine(), *(published(name, rate) for name, rate in SPELT)])
    assert len(alone) == len(beside) == 9
    named = {line.row.model: line for line in beside}
    for line in alone:
        same = named[line.row.model]
        assert (same.place, same.places) == (line.place, line.places)
        assert (line.above is None) == (same.above is None) == (line.place == 1)
        if line.above and same.above:
            assert line.above[1] == same.above[1]  # comparisons stay
    assert sum(len(line.others) for line in beside) == 5
    assert named["gemini-pro-1-5"].model == "Gemini 1.5 Pro"


def test_places_that_may_be_taken() -> None:
    lines = standings(nine())
    places = {line.row.model: line.places for line in lines}
    low, high = places["claude-3-haiku"] or (0, 0)
    assert (low, high) == (7, 9) or low > 7
    assert (places["openai/gpt-4o-2024-08-06"] or (0, 0))[0] == 1
    assert "gpt-4o-2024-08-06" in may_be_first(lines)
    assert "claude-3-haiku" not in may_be_first(lines)
    apart = standings([model("a", 0), model("b", 50, seed=1), model("c", 100)])
    assert [line.places for line in apart] == [(1, 1), (2, 2), (3, 3)]
    assert conclusion(apart).endswith("a refuses fewer than any other.")
    alike = standings([model("a", 30), model("b", 30), model("c", 30)])
    assert [line.places for line in alike] == [(1, 3)] * 3


def test_intervals_of_places_hold_together() -> None:
    """Five models whose true order is known, many times: all five intervals hold it, in 95 % of the times."""
    rng, rates, held = random.Random(5), (0.1, 0.1, 0.2, 0.35, 0.5), 0
    for _ in range(100):
        rows = []
        hard = [rng.random() for _ in range(150)]  # what is hard for one is hard for all
        for name, rate in zip("abcde", rates, strict=True):
            said = [(h + rng.random()) / 2 < (0.5 * (2 * rate) ** 0.5) for h in hard]
            asked = tuple(
                Asked(str(i), BENIGN, Status.REFUSED if r else Status.OK, r) for i, r in enumerate(said)
            )
            figures = PromptRates(**counted(asked).model_dump())
            rows.append(ModelRow(model=name, judge="", origin="", figures=figures, asked=asked))
        places = {line.model: line.places or (0, 0) for line in standings(rows)}
        true = {"a": (1, 2), "b": (1, 2), "c": (3, 3), "d": (4, 4), "e": (5, 5)}
        held += all(places[m][0] <= first and last <= places[m][1] for m, (first, last) in true.items())
    assert held >= 93


def test_models_that_were_asked_other_questions_are_compared_by_their_counts() -> None:
    other = model("b", 60)
    other = replace(other, asked=tuple(one._replace(id=f"x{one.id}") for one in other.asked))
    first, second = standings([model("a", 10), other])
    assert second.above is not None
    name, versus = second.above
    assert (name, versus.paired) == (first.model, None)
    assert versus.difference == pytest.approx(0.5)
    assert second.places == (2, 2)


@pytest.mark.parametrize("wide", [80, 100, 120])
def test_nothing_is_cut_off_on_a_terminal(wide: int) -> None:
    found = standings([*nine(), *(published(name, rate) for name, rate in SPELT)])
    shown = list(lines(found, wide))
    assert all(len(line) <= wide for line in shown)
    assert "…" not in "\n".join(shown)
    for line in found:
        assert all(word in " ".join(shown) for word in line.model.split())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("openai/gpt-4o-2024-08-06", "GPT-4o"),
        ("chat:openai/gpt-4o?price=1,2", "gpt-4o"),
        ("gemini-pro-1-5", "Gemini 1.5 Pro"),
        ("claude-3-haiku-20240307", "Claude 3 Haiku"),
        ("replay:runs/answers.jsonl", "answers"),
        ("mistral large", "Mistral-Large-latest"),
    ],
)
def test_spellings_of_one_model(one: str, other: str) -> None:
    assert spelt(one) == spelt(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4", "gpt-4o"),
        ("llama-2-70b", "llama-70-2b"),
        ("claude-3", "claude-2"),
    ],
)
def test_models_that_are_not_one(one: str, other: str) -> None:
    assert spelt(one) != spelt(other)


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
    lines = board([data / "data" / "mossbench" / "published.json"])
    assert len(lines) == 5
    haiku = next(plain(line) for line in lines if line.model == "Claude 3 Haiku")
    by_judge = {row["judge"]: row for row in [haiku, *haiku["others"]]}
    assert by_judge["published: human"]["rate"] == pytest.approx(0.5533)
    assert by_judge["published: gpt judge"]["stimulus"]["negated-harm"] == pytest.approx(0.58)
    assert all(line.above is None and line.places is None for line in lines)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "no results that weakspot can read"),
        ('{"models": {}}', "no published figures"),
        ('{"responses": {"1": 3}}', "is not a JSON object"),
    ],
)
def test_other_files(tmp_path: Path, content: str, complaint: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(WeakspotError, match=complaint):
        read(tmp_path / "x.json")


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="is not a run"):
        read(tmp_path)
