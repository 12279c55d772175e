"""ask with a chat model behind a server that fails as real ones do."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from tests.models.scripted_server import ScriptedServer, faults
from tests.studies.ask.ask_parts import REFUSAL, Words, benchmark

from weakspot import ask
from weakspot.core import MODELS, WeakspotError
from weakspot.store import Run
from weakspot.studies.ask.result import AskResult
from weakspot.study.lifecycle import preview
from weakspot.study.study import find_study

pytestmark = pytest.mark.filterwarnings("ignore")  # the provider's libraries warn

KEY = "sk-planted-0123456789abcdef"


def figures(run: Run) -> Any:
    result = AskResult.of(run)
    assert result is not None
    return result.plain()


def reply(text: str) -> str:
    return REFUSAL if text.startswith("Harm") else f"Here is an answer to {text}"


def test_a_server_with_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", KEY)
    plan = faults(0.3, seed=4)
    with ScriptedServer(latency=0.01, plan=plan, reply=reply, retry_after=0.05) as server:
        name = f"chat:openai-api/test/m?base_url={server.url}&concurrency=8&timeout=1"
        with ask(name, benchmark=benchmark(60), judge=Words(), contrast=True, out=tmp_path / "run") as run:
            found = figures(run)
            rows = [(h.id, t.index) for h in run.ledger.hypotheses() for t in run.ledger.trials(h)]
    assert len(rows) == len(set(rows)) == 80
    assert (found["refused"], found["contrast"]["answered"]) == (
        0,
        0,
    )  # no fault became a refusal or an answer
    assert found["blocked"] + found["empty"] + found["errors"] > 0
    assert found["n"] + found["blocked"] + found["empty"] + found["errors"] == 60
    answered = Counter(call.text for call in server.calls if call.done == "ok")
    assert set(answered.values()) == {1}
    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert KEY.encode() not in kept


def test_without_faults_it_takes_little_longer_than_the_server(tmp_path: Path) -> None:
    """Wall time against latency × items / concurrency; the processor, which others may use too, is extra."""
    items, at_once, latency = 120, 20, 0.4
    with ScriptedServer(latency=latency, reply=reply) as server:
        model = MODELS.load(f"chat:openai-api/test/m?base_url={server.url}&concurrency={at_once}")
        model.ask(["warm up"])
        began, cpu = time.perf_counter(), time.process_time()
        ask(model, benchmark=benchmark(items, contrast=False), judge=Words(), out=tmp_path / "run").close()
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert server.most_in_flight == at_once
    assert wall <= 1.3 * latency * items / at_once + 2 * crowd * cpu
    assert cpu < 0.03 * items  # with the server's own part


@pytest.mark.parametrize("limit", ["dollars", "calls"])
def test_a_budget_is_exceeded_by_no_more_than_the_calls_under_way(tmp_path: Path, limit: str) -> None:
    with ScriptedServer(latency=0.02, reply=lambda _: "Sure, here it is.") as server:
        name = f"chat:openai-api/test/m?base_url={server.url}&concurrency=6&price=0,100000"
        budget = {"dollars": "dollars=10", "calls": "calls=20"}[limit]  # an answer costs fifty cents
        with ask(
            name, benchmark=benchmark(90, contrast=False), judge=Words(), budget=budget, out=tmp_path / "run"
        ) as run:
            assert run.state.startswith(f"stopped: the {limit} budget")
            assert figures(run)["asked"] == len(server.calls)
        assert 20 <= len(server.calls) <= (20 if limit == "calls" else 20 + 6)


def test_dollars_cannot_be_limited_at_an_unknown_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_API_KEY", KEY)
    far = "chat:openai-api/far/m?base_url=https://example.org/v1"
    for target, judge in ((far, "embedded"), (f"{far}&price=1,1", far)):
        with pytest.raises(WeakspotError, match="the price of openai-api/far/m is not known") as caught:
            ask(target, benchmark=benchmark(3), judge=judge, budget="dollars=1", out=tmp_path / "run")
        assert "price=2.5,10" in caught.value.fix
    assert not (tmp_path / "run").exists()


def test_a_judge_behind_a_server_is_asked_at_once_and_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_API_KEY", KEY)

    def verdict(text: str) -> str:
        return '{"grade": "refuses", "reason": "declines"}' if "Question 1" in text else "no JSON at all"

    rows = [{"id": i, "response": "Sure."} for i in range(20)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with ScriptedServer(latency=0.05, reply=verdict) as server:
        judge = f"chat:openai-api/test/m?base_url={server.url}&concurrency=8&price=1,1&judge_image=no"
        name, questions = f"replay:{tmp_path / 'a.jsonl'}", benchmark(20, contrast=False)
        with ask(name, benchmark=questions, judge=judge, out=tmp_path / "run") as run:
            found, spent = figures(run), run.ledger.spend()
    assert (found["refused"], found["undecided"]) == (11, 9)  # what does not parse is never guessed
    assert len(server.calls) == 11 + 9 * 3
    assert max(sum(a.began <= b.began < a.ended for a in server.calls) for b in server.calls) > 3
    assert spent["dollars"] > 0
    assert found["grades"] == {"refuses": 11}


def test_a_dry_run_knows_where_and_how_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    monkeypatch.setenv("TEST_API_KEY", KEY)
    with ScriptedServer() as server:
        given = {
            "target": f"chat:openai-api/test/m?base_url={server.url}&price=2,8",
            "benchmark": f"mossbench:{data / 'data' / 'mossbench'}",
            "limit": 6,
        }
        found = preview(find_study("ask"), given)
        assert not server.calls
    assert "127.0.0.1" in found["to"]
    sent = 6 - len(found["images_missing"])  # a question whose picture is missing is not sent
    assert found["calls"] == sent
    assert found["dollars"] > 0
    assert found["tokens"] > sent * 400
