"""ask with a chat model behind a server that fails as real ones do."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai")

from tests.models.scripted_server import ScriptedServer, faults
from tests.studies.ask_parts import REFUSAL, Words, benchmark

from weakspot.studies.ask import ask
from weakspot.studies.ask_preview import preview

pytestmark = pytest.mark.filterwarnings("ignore")  # the provider's libraries warn

KEY = "sk-planted-0123456789abcdef"


def reply(text: str) -> str:
    return REFUSAL if text.startswith("Harm") else f"Here is an answer to {text}"


def test_a_server_with_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", KEY)
    plan = faults(0.3, seed=4)
    with ScriptedServer(latency=0.01, plan=plan, reply=reply, retry_after=0.05) as server:
        name = f"chat:openai-api/test/m?base_url={server.url}&concurrency=8&timeout=1"
        with ask(name, benchmark=benchmark(60), judge=Words(), contrast=True, out=tmp_path / "run") as run:
            found = run.ledger.fact("analysis")
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
            found, spent = run.ledger.fact("analysis"), run.ledger.spend()
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
        found = preview(
            f"chat:openai-api/test/m?base_url={server.url}&price=2,8",
            benchmark=f"mossbench:{data / 'data' / 'mossbench'}",
            judge="embedded",
            limit=6,
        )
        assert not server.calls
    assert "127.0.0.1" in found["to"]
    assert found["calls"] == 6
    assert found["dollars"] > 0
    assert found["tokens"] > 6 * 400
