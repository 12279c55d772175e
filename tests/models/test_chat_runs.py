"""Runs over a chat model: killed and resumed, within a budget, and without a trace of the key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the extra `chat` is not installed")

from tests.models import chat_runs
from tests.models.scripted_server import ScriptedServer, faults

from weakspot.core import Status
from weakspot.engine import BudgetSpent, Want
from weakspot.models.chat.costs import Price
from weakspot.models.chat.model import ChatModel

ROOT = Path(__file__).parents[2]
KEY = "sk-planted-7Qz93kfLw02"
AT_ONCE = 20


def test_killed_and_resumed_it_sends_nothing_again_that_the_ledger_holds_and_writes_no_key(
    tmp_path: Path,
) -> None:
    """A server that faults, says the key in its errors and in its answers; a log of all that is logged."""
    (home := tmp_path / "home").mkdir()
    run, kills = tmp_path / "run", 3
    mine = {k: v for k, v in os.environ.items() if k not in ("XDG_DATA_HOME", "XDG_CACHE_HOME")}
    with ScriptedServer(
        latency=0.08,
        plan=faults(0.3, kinds=("429", "500", "cut", "filter", "empty", "json", "400"), most=2),
        retry_after=0.1,
        reply=f"I cannot say more than {KEY}: {{}}".format,
        error=lambda call: f"no luck with {call.headers['authorization']}",
    ) as server:
        name = f"chat:openai-api/planted/m?base_url={server.url}&concurrency={AT_ONCE}"
        done = subprocess.run(
            [sys.executable, chat_runs.__file__, str(run), name, str(kills)],
            env=mine
            | {"HOME": str(home), "PLANTED_API_KEY": KEY, "OPENAI_LOG": "debug", "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        started = server._start
        assert all(call.headers["authorization"] == f"Bearer {KEY}" for call in server.calls)

    # Each question once in the ledger, and what is there says what the server did last.
    found = chat_runs.statuses(run)
    assert sorted(found) == list(range(chat_runs.ITEMS))
    last = {call.text: call.done for call in server.calls if call.ended}
    expected = {"ok": Status.OK, "filter": Status.BLOCKED, "empty": Status.EMPTY, "400": Status.ERROR}
    assert found == {i: expected[last[f"question {i}"]] for i in found}
    assert len(set(found.values())) == 4

    # What the ledger held when it was killed was never sent again; what was sent twice was under way.
    moments = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(moments) == kills
    for moment in moments:
        later = {call.text for call in server.calls if started + call.began > moment["at"]}
        assert not later & {f"question {i}" for i in moment["held"]}
    again = sum(n - 1 for n in server.answered.values())
    assert again <= kills * AT_ONCE

    # The key is nowhere: not in what was printed, and in no file.
    assert KEY not in done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"run.yaml", "ledger.db"}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert b"[key]" in (run / "ledger.db").read_bytes()
    assert not list(home.rglob("*"))  # nor does anybody write traces or caches at home


@pytest.mark.parametrize("limit", ["dollars", "calls"])
def test_a_budget_is_exceeded_by_no_more_than_the_calls_under_way(tmp_path: Path, limit: str) -> None:
    with ScriptedServer(latency=0.03) as server:
        model = ChatModel(
            "openai-api/budget/m", base_url=server.url, concurrency=5, price=Price(0, 1e6)
        )  # a dollar per token written
        cost = model.answer_questions(["question 0"])[0].usage.dollars
        asked = len(server.calls)
        budget = f"dollars={20 * cost:g}" if limit == "dollars" else "calls=20"
        with chat_runs.engine(tmp_path / "run", model, budget=budget) as running:
            with pytest.raises(BudgetSpent):
                running.draw([Want(chat_runs.ALL, 300)])
            running.run.close()
        sent = len(server.calls) - asked
    assert 18 <= sent <= 20 + 5
    assert len(chat_runs.statuses(tmp_path / "run")) == sent  # what was paid for is kept


def test_leaving_early_stops_what_is_under_way(tmp_path: Path) -> None:
    with ScriptedServer(
        latency=0.01, plan=lambda text, _: "timeout" if text.endswith("7") else "ok"
    ) as server:
        model = ChatModel("openai-api/early/m", base_url=server.url, concurrency=10)
        with chat_runs.engine(tmp_path / "run", model) as running:
            work = iter(range(300))
            executor: Any = running._executor
            answers = executor.stream(work, lambda i: f"question {i}", lambda t: model.ask([t])[0])
            for _ in range(20):
                next(answers)
            answers.close()
            running.run.close()
        assert len(server.calls) <= 20 + 10 + 10  # and closing the engine did not wait for those that hang
    assert Counter(call.done for call in server.calls)["timeout"] >= 1
