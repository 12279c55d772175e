"""The search over scenarios: what the target refuses more is found, on fresh scenarios, and nothing else."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.ask.ask_parts import ANSWER, REFUSAL, Words

from weakspot import ask, resume
from weakspot.core import Case, Output, WeakspotError
from weakspot.store import Run
from weakspot.studies.ask.result import AskResult
from weakspot.study.reports import html, markdown, summary

KINDS = ("knives", "bees", "fireworks", "children", "medicine", "locks")
FINE = json.dumps({"benign": True, "fits": True, "contrast_harmful": True})


class Writer:
    """A language model that writes scenarios about its kinds; every tenth is not harmless."""

    def __init__(self, *, scene: str = "a photo of a {}.") -> None:
        self.calls, self.scene, self._lock, self._n = Counter[str](), scene, threading.Lock(), 0

    def ask(self, prompts: Sequence[str]) -> list[str]:
        return [self.one(prompt) for prompt in prompts]

    def one(self, prompt: str) -> str:
        if prompt.rstrip().endswith('[{"description": "…"}, …]'):
            self.calls["propose"] += 1
            return json.dumps([{"description": f"asking about {kind}"} for kind in KINDS])
        if "Judge one test item" in prompt:
            self.calls["judge"] += 1
            return FINE.replace("true", "false", 1) if re.search(r"number \d*0\b", prompt) else FINE
        self.calls["write"] += 1
        kind = re.search(r"of this kind: asking about (\w+)", prompt)
        rows = []
        for _ in range(8):
            with self._lock:
                self._n += 1
                n = self._n
            about = kind[1] if kind else KINDS[n % len(KINDS)]
            rows.append(
                {
                    "scene": self.scene.format("fly" if n % 2 else "bee"),
                    "question": f"What about {about}, number {n}?",
                    "contrast": f"Something harmful about {about}, number {n}!",
                }
            )
        return json.dumps(rows)


class Wary:
    """Refuses what is about fireworks, one in ten of the others, and half of what is harmful."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.pictures: list[Any] = []
        self.stop_after = 1 << 30

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [self.one(case) for case in cases]

    def one(self, case: Case) -> Output:
        if self.asked.total() >= self.stop_after:
            raise KeyboardInterrupt
        text = case.input.text
        self.asked[text] += 1
        self.pictures.append(case.input.image)
        number = int(re.search(r"number (\d+)", text)[1])  # type: ignore[index]
        if "harmful" in text:
            return Output(REFUSAL if number % 2 else ANSWER)
        wary = number % 10 < 8 if "fireworks" in text else number % 10 == 3
        return Output(REFUSAL if wary else ANSWER)


def found(run: Run) -> Any:
    result = AskResult.of(run)
    assert result is not None
    return result.plain()["scenarios"]


def test_the_kind_that_is_refused_most_is_found_and_confirmed(tmp_path: Path) -> None:
    target, writer = Wary(), Writer()
    with ask(
        target,
        llm=writer,
        stimulus="exaggerated-risk",
        scenarios=300,
        source="world:renderer?size=32",
        judge=Words(),
        contrast=True,
        out=tmp_path / "run",
    ) as run:
        rows, findings, page = found(run)["descriptions"], run.findings, html(run)
        text, values = markdown(run), summary(run)
        assert run.state == "finished"
    assert [row["description"] for row in rows if row["confirmed"]] == ["asking about fireworks"]
    assert [f.phrase for f in findings if f.confirmed] == ["asking about fireworks"]
    best = rows[0]
    assert best["fresh"]
    assert 0.6 < best["rate"] < 0.95
    assert values["rate"] < 0.4  # of any kind
    assert 0.2 < best["contrast"]["rate"] < 0.8
    # Each question once; none that was found not to be harmless; all with pictures of their scenes.
    assert set(target.asked.values()) == {1}
    assert not [q for q in target.asked if "harmful" not in q and re.search(r"number \d*0\?", q)]
    assert sum("harmful" not in q for q in target.asked) <= 300
    assert all(isinstance(p, np.ndarray) and p.shape == (32, 32, 3) for p in target.pictures)
    assert found_rejected(values) == {"the question is not harmless"}
    for shown in (page, text):
        assert "asking about fireworks" in shown
        assert "a photo of a" in shown
    json.dumps(values, allow_nan=False)


def found_rejected(values: Any) -> set[str]:
    return set(values["scenarios"]["rejected"])


def test_where_nothing_is_refused_more_nothing_is_found(tmp_path: Path) -> None:
    class Even(Wary):
        def one(self, case: Case) -> Output:
            self.asked[case.input.text] += 1
            number = int(re.search(r"number (\d+)", case.input.text)[1])  # type: ignore[index]
            return Output(REFUSAL if number * 2654435761 % 97 < 30 else ANSWER)

    with ask(
        Even(), llm=Writer(), stimulus="my own type", scenarios=200, judge=Words(), out=tmp_path / "run"
    ) as run:
        assert not [f for f in run.findings if f.confirmed]
        assert "refuses none of 6 kinds of harmless questions" in summary(run)["conclusion"]


def test_an_interrupted_search_goes_on_with_the_same_scenarios(tmp_path: Path) -> None:
    target, writer = Wary(), Writer()
    target.stop_after = 90
    with pytest.raises(KeyboardInterrupt):
        ask(target, llm=writer, stimulus="negated-harm", scenarios=240, judge=Words(), out=tmp_path / "run")
    target.stop_after, proposed = 1 << 30, writer.calls["propose"]
    with resume(tmp_path / "run", target=target, judge=Words(), llm=writer) as run:
        rows = found(run)["descriptions"]
    assert writer.calls["propose"] == proposed
    assert [row["description"] for row in rows if row["confirmed"]] == ["asking about fireworks"]
    assert sum(n - 1 for n in target.asked.values()) <= 16  # a batch may have been under way


def test_scenes_that_cannot_be_drawn_are_not_asked(tmp_path: Path) -> None:
    with ask(
        Wary(),
        llm=Writer(scene="a zebra reads {} to an accountant"),
        stimulus="negated-harm",
        scenarios=60,
        source="world:renderer",
        judge=Words(),
        out=tmp_path / "run",
    ) as run:
        assert set(found(run)["rejected"]) >= {"the scene cannot be drawn"}
        assert summary(run)["n"] == 0


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"scenarios": 5}, "5 scenarios are too few to show anything"),
        ({"stimulus": " "}, "no stimulus is named"),
        ({"fdr": 2.0}, "makes no sense"),
        ({"llm": "replay:nowhere.jsonl"}, "cannot be read"),
        ({"source": "wrold:renderer"}, "did you mean"),
    ],
)
def test_misuse(tmp_path: Path, more: dict[str, Any], complaint: str) -> None:
    given: dict[str, Any] = {
        "scenarios": 300,
        "llm": Writer(),
        "stimulus": "negated-harm",
        "judge": Words(),
    } | more
    with pytest.raises(WeakspotError) as caught:
        ask(Wary(), **given, out=tmp_path / "run")
    assert complaint in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_model_that_proposes_nothing(tmp_path: Path) -> None:
    class Mute:
        def ask(self, prompts: Sequence[str]) -> list[str]:
            return ["I'm sorry, I can't help with that."] * len(prompts)

    with pytest.raises(WeakspotError, match="proposed nothing that can be read"):
        ask(Wary(), scenarios=300, llm=Mute(), stimulus="negated-harm", judge=Words(), out=tmp_path / "run")


@pytest.mark.filterwarnings("ignore")
def test_the_command_with_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Target and writer behind one scripted server; the embedded judge; pictures of the world."""
    pytest.importorskip("inspect_ai")
    from tests.models.scripted_server import ScriptedServer

    from weakspot.cli import run

    writer = Writer()

    def reply(text: str) -> str:
        if "You help to test whether assistants" in text:
            return writer.one(text)
        number = int(re.search(r"number (\d+)", text)[1])  # type: ignore[index]
        wary = "fireworks" in text and number % 10 < 8
        return REFUSAL if wary else "Of course: put it on the shelf, and keep the door closed."

    with ScriptedServer(latency=0.01, reply=reply) as server:
        name = f"chat:openai-api/test/m?base_url={server.url}&concurrency=8&price=1,1"
        words = ["--scenarios", "150", "--stimulus", "exaggerated-risk", "--llm", name]
        where = ["--source", "world:renderer?size=32", "--out", str(tmp_path / "run"), "--json"]
        code = run(["ask", name, *words, *where, "--budget", "dollars=100"])
        values = json.loads(capsys.readouterr().out)
        asked = [call for call in server.calls if "You help to test" not in call.text]
        assert all(call.images[0].startswith("data:image/png") for call in asked)
        assert run(["report", str(tmp_path / "run"), "--json"]) == 0
        capsys.readouterr()
        assert run(["ask", name, *words, "--benchmark", "questions:q.jsonl"]) == 1
        assert "benchmark does not go with scenarios" in capsys.readouterr().err
        assert run(["ask", name, "--scenarios", "90", "--stimulus", "x"]) == 1
        assert "scenarios need llm" in capsys.readouterr().err
        assert run(["ask", name, "--llm", name]) == 1
        assert "llm belongs to scenarios" in capsys.readouterr().err
        assert run(["ask", name]) == 1
        assert "no questions are named" in capsys.readouterr().err
    assert code == 0
    confirmed = [r["description"] for r in values["scenarios"]["descriptions"] if r["confirmed"]]
    assert confirmed == ["asking about fireworks"]
    assert values["scenarios"]["llm"]["dollars"] > 0
