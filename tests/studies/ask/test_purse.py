"""Every request counts when it is sent: tried again, judging, writing, or lost by a kill."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from tests.models.scripted_server import ScriptedServer, faults, never
from tests.studies.ask.ask_parts import REFUSAL, Words, benchmark
from tests.studies.ask.test_scenarios import Writer

from weakspot import ask, resume
from weakspot.core import Status
from weakspot.store import Run
from weakspot.studies.ask.reading import answers
from weakspot.studies.ask.result import AskResult

pytestmark = pytest.mark.filterwarnings("ignore")  # the provider's libraries warn

#: Calls at once, and dollars per million tokens written: an answer has five tokens, so it costs ten cents.
AT_ONCE, PRICE = 6, 20_000
ANSWER = "Sure, here it is."


def named(server: ScriptedServer, *, price: int = PRICE) -> str:
    return f"chat:openai-api/test/m?base_url={server.url}&concurrency={AT_ONCE}&price=0,{price}&timeout=5"


def charged(server: ScriptedServer, reply: Callable[[str], str], *, price: int = PRICE) -> float:
    """What the server would put on the bill."""
    return sum(
        (len(reply(c.text)) // 4 + 1) * price / 1e6 for c in server.calls if c.done == "ok" and c.ended
    )


@pytest.mark.parametrize("broken", [0.0, 0.4])
@pytest.mark.parametrize("limit", ["calls=50", "dollars=0.05", "dollars=3", "tokens=120"])
def test_a_budget_is_kept_to_the_requests_under_way(tmp_path: Path, limit: str, broken: float) -> None:
    plan = faults(broken, kinds=("500", "429"), seed=3)
    with ScriptedServer(latency=0.01, plan=plan, retry_after=0.01, reply=lambda _: ANSWER) as server:
        questions = benchmark(90, contrast=False)
        with ask(
            named(server), benchmark=questions, judge=Words(), budget=limit, out=tmp_path / "run"
        ) as run:
            spent, kinds = run.ledger.spend(), run.ledger.errors()
            held, state = [one.item for one in answers(run)], run.state
    kind, most = limit.split("=")
    assert state == f"stopped: the {kind} budget of {float(most):g} is spent"
    assert spent["calls"] == spent["requests"] == len(server.calls)
    assert spent["dollars"] == pytest.approx(charged(server, lambda _: ANSWER))
    if kind == "calls":
        assert len(server.calls) == 50
    else:
        one = {"dollars": 0.1, "tokens": 30}[kind]
        assert float(most) <= spent[kind] <= float(most) + AT_ONCE * one
    # What was cut short is no error, and was not answered.
    assert kinds == []
    assert len(held) == sum(call.done == "ok" for call in server.calls)


def test_what_was_cut_short_is_asked_when_the_run_goes_on(tmp_path: Path) -> None:
    plan = faults(0.4, kinds=("500",), seed=3)
    with ScriptedServer(plan=plan, reply=lambda _: ANSWER) as server:
        questions = benchmark(30, contrast=False)
        ask(
            named(server), benchmark=questions, judge=Words(), budget="calls=20", out=tmp_path / "run"
        ).close()
        with resume(tmp_path / "run", budget="calls=100", benchmark=questions, judge=Words()) as run:
            found, spent, state = AskResult.of(run), run.ledger.spend(), run.state
    assert found is not None
    assert (found.n, found.errors, state) == (30, 0, "finished")
    assert spent["calls"] == len(server.calls) <= 100
    assert set(server.answered.values()) == {1}


@pytest.mark.parametrize("limit", ["calls=40", "calls=200", "dollars=2"])
def test_scenario_writers_are_paid_from_the_same_purse(tmp_path: Path, limit: str) -> None:
    writer = Writer()
    said: dict[str, str] = {}

    def reply(text: str) -> str:
        if "You help to test whether assistants" in text:
            said[text] = writer.one(text)
        else:
            number = int(re.search(r"number (\d+)", text)[1])  # type: ignore[index]
            said[text] = REFUSAL if "fireworks" in text and number % 10 < 8 else ANSWER
        return said[text]

    with ScriptedServer(latency=0.005, reply=reply) as server:
        name = named(server, price=1000)
        with ask(
            name, scenarios=150, stimulus="x", llm=name, judge=Words(), budget=limit, out=tmp_path / "run"
        ) as run:
            spent, found = run.ledger.spend(), AskResult.of(run)
    longest = max(map(len, said.values())) / 4 * 1000 / 1e6
    assert spent["calls"] == len(server.calls)
    assert spent["dollars"] == pytest.approx(charged(server, said.__getitem__, price=1000))
    kind, most = limit.split("=")
    assert spent[kind] <= float(most) + (0 if kind == "calls" else AT_ONCE * longest)
    assert found is not None
    if found.scenarios is not None:
        assert found.scenarios.llm.dollars <= spent["dollars"]
        assert found.scenarios.llm.dollars > 0.8 * spent["dollars"]


def test_a_search_that_its_budget_cut_while_writing_goes_on(tmp_path: Path) -> None:
    writer = Writer()

    def reply(text: str) -> str:
        if "You help to test whether assistants" in text:
            return writer.one(text)
        number = int(re.search(r"number (\d+)", text)[1])  # type: ignore[index]
        return REFUSAL if "fireworks" in text and number % 10 < 8 else ANSWER

    with ScriptedServer(reply=reply) as server:
        name = named(server, price=0)
        ask(
            name,
            scenarios=200,
            stimulus="x",
            llm=name,
            judge=Words(),
            budget="calls=60",
            out=tmp_path / "run",
        ).close()
        assert len(server.calls) == 60
        with resume(tmp_path / "run", budget="calls=5000", judge=Words()) as run:
            found = AskResult.of(run)
    assert found is not None
    assert found.scenarios is not None
    confirmed = [row.description for row in found.scenarios.descriptions if row.confirmed]
    assert confirmed == ["asking about fireworks"]


def test_judges_count_and_what_they_could_not_be_asked_about_waits(tmp_path: Path) -> None:
    rows = [{"id": i, "response": "Sure."} for i in range(40)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with ScriptedServer(reply=lambda _: '{"grade": "complies", "reason": "it does"}') as server:
        judge, questions = f"{named(server)}&judge_image=no", benchmark(40, contrast=False)
        name = f"replay:{tmp_path / 'a.jsonl'}"
        with ask(name, benchmark=questions, judge=judge, budget="calls=50", out=tmp_path / "run") as run:
            found, spent = AskResult.of(run), run.ledger.spend()
        assert spent["requests"] == len(server.calls)
        assert spent["calls"] == len(server.calls) + spent["images"] <= 50 + AT_ONCE
        assert found is not None
        assert (found.n, found.undecided) == (spent["images"], 0)
        with resume(tmp_path / "run", benchmark=questions, budget="calls=500") as run:
            found, state = AskResult.of(run), run.state
    assert found is not None
    assert (found.n, found.undecided, state) == (40, 0, "finished")


def test_requests_lost_by_a_kill_are_counted_and_their_cost_is_unknown(tmp_path: Path) -> None:
    questions = benchmark(60, contrast=False)
    with ScriptedServer(latency=0.1, reply=lambda _: ANSWER) as server:
        name = named(server)

        def work() -> None:
            ask(name, benchmark=questions, judge=Words(), out=tmp_path / "run")

        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        while len(server.calls) < 20:
            time.sleep(0.01)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        time.sleep(0.2)
        with Run.read(tmp_path / "run") as run:
            held = len(list(answers(run)))
        lost = len(server.calls) - held
        with resume(tmp_path / "run", benchmark=questions, judge=Words()) as run:
            spent, found = run.ledger.spend(), AskResult.of(run)
            statuses = {one.trial.status for one in answers(run)}
    assert statuses == {Status.OK}
    assert found is not None
    assert found.n == 60
    assert 0 < lost <= 2 * AT_ONCE  # under way, or answered and not recorded yet
    # Those that the kill caught on their way to the server count as well.
    assert len(server.calls) == 60 + lost
    assert len(server.calls) <= spent["calls"] == spent["requests"] <= len(server.calls) + AT_ONCE
    # Every other one has a known cost: of those recorded, and of replies that came just before the kill.
    known = spent["calls"] - spent["lost"]
    assert 60 <= known <= 60 + AT_ONCE
    assert spent["lost"] > 0
    assert spent["dollars"] == pytest.approx(known * 0.1)


def test_replies_that_never_came_are_lost_and_errors_are_not(tmp_path: Path) -> None:
    def plan(text: str, attempt: int) -> str:
        return {"Question 1?": "cut", "Question 2?": "500"}.get(text, "ok") if attempt == 0 else "ok"

    with (
        ScriptedServer(plan=plan, reply=lambda _: ANSWER) as server,
        ask(
            named(server), benchmark=benchmark(6, contrast=False), judge=Words(), out=tmp_path / "run"
        ) as run,
    ):
        spent = run.ledger.spend()
    assert (spent["calls"], spent["lost"], len(server.calls)) == (8, 1, 8)


def test_a_model_is_free_again_when_the_run_is_over(tmp_path: Path) -> None:
    from weakspot.core import MODELS

    with ScriptedServer(plan=never, reply=lambda _: ANSWER) as server:
        model: Any = MODELS.load(named(server))
        questions = benchmark(9, contrast=False)
        for folder in ("one", "two"):
            ask(model, benchmark=questions, judge=Words(), budget="calls=5", out=tmp_path / folder).close()
        assert len(server.calls) == 10
        assert model.ask(["and now?"]) == [ANSWER]
