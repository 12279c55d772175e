"""`map` of a summariser and of a generator: planted weak spots are found and confirmed, bias is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.map.map_tasks_toy import Blank, Eye, NanEye, Painter, Reader, Silent

import weakspot
from weakspot.concepts.space import load_space
from weakspot.core import Output, WeakspotError
from weakspot.judges.picture import PictureJudge
from weakspot.store import Run
from weakspot.studies.map.parts import FEW_NOTE
from weakspot.studies.map.result import Landscape, MapResult
from weakspot.studies.map.settings import MapSettings
from weakspot.study.lifecycle import resume
from weakspot.study.reports import html, markdown, summary

VALUES = ("a man", "a woman")
SHARED_OUT = ("discovery", "confirmation", "repair", "verification")


def landscape_of(run: Run) -> Landscape:
    result = MapResult.of(run)
    assert result is not None
    assert result.landscape is not None
    return result.landscape


def texts(target: Any, out: Path, **more: Any) -> Run:
    options: dict[str, Any] = {"space": "text-16", "budget": "images=1200", "out": out}
    return weakspot.map(target, **(options | more))


def pictures(target: Any, out: Path, **more: Any) -> Run:
    judge = PictureJudge(Eye(), epsilon=0.4, attribute=VALUES)
    options: dict[str, Any] = {"space": "prompt-27", "judge": judge, "budget": "images=1500", "out": out}
    return weakspot.map(target, **(options | more))


def test_the_edit_that_a_summariser_cannot_read_is_found_and_confirmed(tmp_path: Path) -> None:
    with texts(Reader(), tmp_path / "run") as run:
        result = landscape_of(run)
        assert result.modes[0].words == "lower case"
        assert len(result.modes) == 1
        assert result.modes[0].low > 0.6
        assert [f.phrase for f in run.findings if f.confirmed] == ["lower case"]
        assert run.findings[0].baseline.failures == 0
        assert result.note.endswith(FEW_NOTE)
        assert summary(run)["parts"] == dict.fromkeys(SHARED_OUT, 5)
        assert "lower case" in markdown(run)
        assert "Move along." in html(run)  # what was said of the failing text
        before = sum(t.drawn for t in run.ledger.tallies().values())
    with resume(tmp_path / "run", target=Reader()) as again:
        assert sum(t.drawn for t in again.ledger.tallies().values()) == before
        assert landscape_of(again) == result


def test_a_chat_model_is_asked_for_summaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("inspect_ai")
    from tests.models.scripted_server import ScriptedServer

    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(latency=0.0) as server:
        name = f"chat:openai-api/local/qwen?base_url={server.url}"
        with texts(name, tmp_path / "run", budget="images=60") as run:
            assert sum(t.errors for t in run.ledger.tallies().values()) == 0
            assert run.ledger.spend()["tokens"] > 0
        assert all(call.text.startswith("Summarise the text between") for call in server.calls)


def test_the_same_seed_gives_the_same_landscape(tmp_path: Path) -> None:
    first, second = (texts("extract:2", tmp_path / name, budget="images=200", seed=5) for name in "ab")
    with first, second:
        assert MapResult.of(first) == MapResult.of(second)
        assert first.config.digests["target"] == "extract-1-2-centroid"


def test_a_summariser_that_returns_nothing_is_empty_and_never_a_failure(tmp_path: Path) -> None:
    with texts(Silent(), tmp_path / "run", budget="images=600") as run:
        lower = run.ledger.tallies()[load_space("text-16").hypothesis(2).id]
        assert lower.undecided == lower.drawn > 0
        assert sum(t.failures + t.errors for t in run.ledger.tallies().values()) == 0
        assert landscape_of(run).modes == ()
        assert "gave no verdict" in landscape_of(run).note
        assert run.state == "finished"
        told = summary(run)["unjudged"]
        assert [(row["status"], row["reason"]) for row in told] == [
            ("empty", "the summariser returned nothing")
        ]
        assert f"{told[0]['times']} of " in markdown(run).split("Without a verdict")[1]


class Mute:
    """Nothing at all; from the n-th text on."""

    def __init__(self, after: int = 0) -> None:
        self.left = after

    def answer(self, cases: Any) -> Any:
        said = []
        for case in cases:
            said.append(Output(case.expected if self.left > 0 else ""))
            self.left -= 1
        return said


@pytest.mark.parametrize("after", [0, 60])
def test_without_a_single_verdict_a_run_stops_and_says_why(tmp_path: Path, after: int) -> None:
    with pytest.raises(WeakspotError, match="could be judged") as error:
        texts(Mute(after), tmp_path / "run", budget="images=600")
    assert "empty: the summariser returned nothing" in error.value.what
    assert "map again" in str(error.value.fix)
    with Run.read(tmp_path / "run") as run:
        assert run.state.startswith("stopped: broken: not one answer to")
        assert MapResult.of(run) == MapResult(parts=dict.fromkeys(SHARED_OUT, 5))
        told = summary(run)
        assert "%" not in told["conclusion"]
        assert told["unjudged"][0]["reason"] == "the summariser returned nothing"
        assert "the summariser returned nothing" in html(run)
        assert ("None of 60 answers" in told["conclusion"]) == (after == 0)


def test_a_generator_that_draws_nothing_stops_too(tmp_path: Path) -> None:
    class White(Painter):
        def _one(self, prompt: str, seed: int) -> Any:
            return np.full((8, 8, 3), 255, np.uint8)

    with pytest.raises(WeakspotError, match="not one answer to the inputs as they are could be judged"):
        pictures(White(), tmp_path / "run")


def test_an_agent_among_prompts_sees_nothing_and_the_report_says_so(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    with pictures(Painter(), tmp_path / "run", search="ppo") as run:
        compared = landscape_of(run).compared
        assert compared is not None
        assert compared.paired  # the same noise for all three
        assert compared.sees == ""
        assert "The agent sees nothing of an input" in markdown(run)


def test_an_agent_is_compared_on_texts_that_it_has_not_seen(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    with texts(Reader(), tmp_path / "run", search="dqn", budget="images=1300") as run:
        compared = landscape_of(run).compared
        assert compared is not None
        assert compared.inputs == 2  # of five texts
        assert not compared.won  # two texts cannot tell
        shown: dict[str, set[str]] = {}
        for one in run.ledger.hypotheses():
            if policy := dict(one.concepts).get("policy"):
                shown.setdefault(policy, set()).update(t.caption for t in run.ledger.trials(one))
        assert not shown["dqn"] & shown["dqn trained"]


def test_the_prompt_that_a_generator_cannot_draw_is_found_and_its_bias_measured(tmp_path: Path) -> None:
    with pictures(Painter(), tmp_path / "run") as run:
        result = landscape_of(run)
        assert [f.phrase for f in run.findings if f.confirmed][:1] == ["engineer, in the kitchen"]
        assert result.sets[0].words == "engineer, in the kitchen"
        assert result.sets[0].rate == pytest.approx(0.8, abs=0.12)
        bias = summary(run)["bias"]
        rows = {row["where"]: row for row in bias["rows"]}
        assert bias["attribute"] == list(VALUES)
        assert bias["wanted"] == [0.5, 0.5]
        assert rows["profession engineer"]["low"] <= 0.4 <= rows["profession engineer"]["high"]
        assert rows["profession engineer"]["low"] > 0.1
        assert rows["profession doctor"]["low"] == 0.0
        assert rows["everywhere"]["low"] <= 0.4 / 3 <= rows["everywhere"]["high"]
        assert rows["everywhere"]["cells"] == 27
        assert "Bias" in markdown(run)
        assert "total variation" in html(run)
        assert run.config.digests == {"target": "painter-1"}


def test_bias_of_the_cells_that_were_asked(tmp_path: Path) -> None:
    with pictures(Painter(), tmp_path / "run", budget="images=50") as run:
        first = summary(run)["bias"]["rows"][0]
        assert 0 < first["cells"] < first["of"] == 27
        assert first["n"] % first["cells"] == 0  # every cell alike


def test_a_landscape_of_bias(tmp_path: Path) -> None:
    judge = PictureJudge(Eye(), measure="shows", attribute=VALUES, value="a man")
    with pictures(Painter(), tmp_path / "run", judge=judge, above=0.7) as run:
        [first, *_] = landscape_of(run).sets
        assert first.words == "engineer"
        assert first.rate == pytest.approx(0.9, abs=0.08)


def test_plain_pictures_count_neither_way_and_numbers_that_are_none_are_errors(tmp_path: Path) -> None:
    with pictures(Blank(), tmp_path / "blank", budget="images=400") as run:
        tallies = run.ledger.tallies().values()
        assert sum(t.undecided for t in tallies) > 50
        assert sum(t.errors for t in tallies) == 0
    with pictures(
        Painter(), tmp_path / "nan", judge=PictureJudge(NanEye(), epsilon=0.4), budget="images=400"
    ) as run:
        space, counted = load_space("prompt-27"), run.ledger.tallies()
        streets = [counted[h.id] for h in map(space.hypothesis, range(1, 27, 3)) if h.id in counted]
        assert sum(t.errors for t in streets) > 20
        assert sum(t.n + t.failures for t in streets) == 0
        assert any("not a finite number" in what for what, _ in run.ledger.errors())


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda out: texts("extract:3", out, documents="nowhere.jsonl"), "cannot be read"),
        (lambda out: texts("world:encoder", out), "is not a Target"),
        (lambda out: texts("extract:3", out, judge="sumary"), "no judge is called"),
        (lambda out: pictures("diffusers:nowhere", out, judge="discrepancy"), "no encoder is named"),
        (lambda out: pictures("world:classifier", out), "generates no pictures"),
        (lambda out: pictures("world:renderer", out), "friendly doctor in the office.' cannot be drawn"),
        (lambda out: texts("extract:3", out, task="txt"), "no task is called"),
        (lambda out: texts("extract:3", out, task="text", space="prompt-27"), "not of 'text'"),
        (lambda out: texts("extract:3", out, images="a"), "needs no pictures"),
        (lambda out: texts("extract:3", out, space="image-125", documents="a"), "needs no texts"),
        (lambda out: texts("extract:3", out, parts="discovery=1"), "give no share to 'confirmation'"),
    ],
)
def test_bad_input(tmp_path: Path, call: Any, what: str) -> None:
    with pytest.raises(WeakspotError, match=what):
        call(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_too_few_texts(tmp_path: Path) -> None:
    (tmp_path / "few.jsonl").write_text('{"text": "A.", "summary": "B."}\n' * 3)
    with pytest.raises(WeakspotError, match="3 texts are too few to split"):
        texts("extract:3", tmp_path / "run", documents=tmp_path / "few.jsonl")


@pytest.mark.parametrize(
    ("task", "space", "meant"),
    [
        ("", "image-5^2", "image-5^2"),
        ("image", "image-125", "image-125"),
        ("text", "image-125", "text-16"),
        ("generator", "image-125", "prompt-27"),
        ("generator", "prompt-world", "prompt-world"),
    ],
)
def test_tasks_have_spaces_of_their_own(task: str, space: str, meant: str) -> None:
    assert MapSettings(target="m", task=task, space=space).space_name == meant


def test_calls_are_queries_of_texts(tmp_path: Path) -> None:
    with weakspot.map("extract:2", space="text-16", budget="calls=60", out=tmp_path / "run") as run:
        assert landscape_of(run).queries
        assert 0 < sum(tally.drawn for tally in run.ledger.tallies().values()) <= 60
