"""Chat models against a server that faults by plan: statuses, patience, limits, keys, costs."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="the extra `chat` is not installed")

from tests.models.scripted_server import FAULTS, ScriptedServer, faults

from weakspot.core import MODELS, Case, Hypothesis, Question, Status, WeakspotError
from weakspot.models.chat.calls import LONGEST_ANSWER
from weakspot.models.chat.costs import Price, price_of
from weakspot.models.chat.model import ChatModel
from weakspot.testing import check_target


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def steady() -> Iterator[ScriptedServer]:
    """Does what the question says: "ok", the name of a fault, an HTTP status; whatever follows is ignored."""
    with ScriptedServer(plan=lambda text, _: text.split()[0]) as server:
        yield server


def chat(server: ScriptedServer, **more: Any) -> ChatModel:
    return ChatModel("openai-api/local/qwen", base_url=server.url, **more)


# -- faults ----------------------------------------------------------------------------------------


def test_three_hundred_questions_survive_thirty_percent_of_faults() -> None:
    plan = faults(0.3, seed=3)
    texts = [f"question {i}" for i in range(300)]
    with ScriptedServer(latency=0.01, plan=plan) as server:
        outputs = chat(server, concurrency=20, timeout=1.0).answer_questions(texts)
        sent, answered = server.sent, server.answered
    assert {call.done for call in server.calls} == {"ok", *FAULTS}
    for text, output in zip(texts, outputs, strict=True):
        # The first reply that is a reply decides: text, a block, or silence.
        last = next(d for d in (plan(text, a) for a in range(9)) if d in ("ok", "filter", "empty"))
        assert output.status is {"ok": Status.OK, "filter": Status.BLOCKED, "empty": Status.EMPTY}[last]
        assert output.answer == (f"Here is an answer to: {text}" if last == "ok" else None)
        assert bool(output.detail) is (last != "ok")
    assert max(answered.values()) == 1
    assert set(sent) == set(texts)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("429", "HTTP 429: scripted 429 (2 attempts)"),
        ("500", "HTTP 500: scripted 500 (2 attempts)"),
        ("503", "HTTP 503: scripted 503 (2 attempts)"),
        ("timeout", "no answer within 0.3 s (2 attempts)"),
        ("cut", "the connection failed: "),
        ("json", "not the JSON it should be (2 attempts)"),
        ("html", "(2 attempts)"),
        ("nothing", "the reply holds no answer (2 attempts)"),
        ("400", "HTTP 400: scripted 400"),
        ("413", "HTTP 413: scripted 413"),
    ],
)
def test_what_stays_broken_is_an_error_that_says_why_and_never_text(
    steady: ScriptedServer, fault: str, said: str
) -> None:
    steady.retry_after = 0.05
    before = len(steady.calls)
    (output,) = chat(steady, attempts=2, timeout=0.3).answer_questions([f"{fault} now"])
    assert (output.status, output.answer) == (Status.ERROR, None)
    assert said in output.detail
    assert len(steady.calls) - before == (1 if fault in ("400", "413") else 2)


def test_half_of_the_calls_failing_leaves_the_other_half(steady: ScriptedServer) -> None:
    prompts = [f"{'ok' if i % 2 else '500'} {i}" for i in range(20)]
    model = chat(steady, attempts=2)
    assert [answer is not None for answer in model.ask(prompts)] == [bool(i % 2) for i in range(20)]
    detailed = model.ask_detailed(prompts[:2])
    assert [o.status for o in detailed] == [Status.ERROR, Status.OK]
    assert "HTTP 500" in detailed[0].detail


def test_retry_after_is_waited_for() -> None:
    with ScriptedServer(plan=lambda _, attempt: "429" if attempt == 0 else "ok", retry_after=1.5) as server:
        assert chat(server).ask(["hello"]) == ["Here is an answer to: hello"]
        first, second = server.calls
    assert second.began - first.ended >= 1.5


def test_a_provider_that_asks_for_an_hour_is_not_waited_for() -> None:
    with ScriptedServer(plan=lambda *_: "429", retry_after=3600) as server:
        (output,) = chat(server).ask_detailed(["hello"])
    assert output.status is Status.ERROR
    assert "asks to wait 3600 s" in output.detail
    assert len(server.calls) == 1


def test_one_question_that_is_not_found_does_not_end_the_others(steady: ScriptedServer) -> None:
    model = chat(steady, attempts=1, concurrency=1)
    outputs = model.ask_detailed(["ok 1", "404 now", "ok 2"])
    assert [o.status for o in outputs] == [Status.OK, Status.ERROR, Status.OK]


@pytest.mark.parametrize("fault", ["401", "402", "404"])
def test_what_no_question_can_mend_stops_all_calls(fault: str) -> None:
    with ScriptedServer(latency=0.01, plan=lambda *_: fault, error=lambda c: "sk-pa****ly hidden") as server:
        model = chat(server, concurrency=3)
        outputs = model.answer_questions([f"question {i}" for i in range(50)])
        assert {o.status for o in outputs} == {Status.ERROR}
        assert len(server.calls) <= 3
        with pytest.raises(WeakspotError, match="does not answer"):
            model.probe()
    assert all(("key" in o.detail) == (fault == "401") for o in outputs)
    assert fault != "401" or not any("sk-pa" in o.detail for o in outputs)


def test_a_server_that_is_not_there_is_an_error() -> None:
    model = ChatModel("openai-api/local/gone", base_url="http://127.0.0.1:9/v1", attempts=1)
    (output,) = model.ask_detailed(["hello"])
    assert output.status is Status.ERROR
    assert "the connection failed" in output.detail


# -- statuses and hostile answers ------------------------------------------------------------------


def test_blocks_and_silence_are_neither_answers_nor_errors(steady: ScriptedServer) -> None:
    blocked, empty, cut = chat(steady, max_tokens=77).answer_questions(["filter", "empty", "length"])
    assert [o.status for o in (blocked, empty, cut)] == [Status.BLOCKED, Status.EMPTY, Status.EMPTY]
    assert [o.answer for o in (blocked, empty, cut)] == [None] * 3
    assert "limit of 77 tokens" in cut.detail
    assert blocked.usage.tokens > 0


@pytest.mark.parametrize(
    ("body", "said", "tries"),
    [
        ({"error": {"message": "the model is still loading", "code": None}}, "the model is still loading", 2),
        ({"error": "CUDA out of memory"}, "CUDA out of memory", 2),
        ({"detail": "the queue is full"}, "the queue is full", 2),
        ({"object": "error", "message": "the context has 10 tokens", "code": 400}, "has 10 tokens", 1),
        ({"choices": None, "error": {"message": "the upstream broke", "code": 502}}, "the upstream broke", 2),
        ({"unknown": 3}, "", 2),
    ],
)
def test_an_error_that_comes_as_a_success_is_told_in_the_servers_words(
    body: dict[str, Any], said: str, tries: int
) -> None:
    with ScriptedServer(plan=lambda *_: f"200 {json.dumps(body)}") as server:
        (output,) = chat(server, attempts=2).answer_questions(["?"])
        assert len(server.calls) == tries
    assert output.status is Status.ERROR
    assert said in output.detail
    assert said == "" or "the server says: " in output.detail


def test_an_answer_that_the_limit_of_tokens_ended_says_so() -> None:
    with ScriptedServer(plan=lambda *_: "half") as server:
        (output,) = chat(server, max_tokens=7).answer_questions(["?"])
    assert (output.status, output.detail) == (Status.OK, "cut off at the limit of 7 tokens")
    assert output.answer


def test_an_answer_of_a_megabyte_is_cut_and_says_so_and_half_a_character_does_no_harm() -> None:
    with ScriptedServer(reply=lambda text: "\ud800" if "half" in text else "x" * 2**20) as server:
        long, half = chat(server).answer_questions(["long", "half \ud800"])
    assert long.answer == "x" * LONGEST_ANSWER
    assert "1,048,576" in long.detail
    assert half.answer == "\\ud800"


def test_it_keeps_the_contract_of_targets(steady: ScriptedServer) -> None:
    hypothesis = Hypothesis("questions")
    inputs: list[Any] = ["ok", {"text": "ok map"}, "500", 17, "filter", np.zeros((4, 4, 3), np.uint8)]
    cases = [Case(hypothesis, i, i, value, "answer") for i, value in enumerate(inputs)]
    outputs = check_target(chat(steady, attempts=1), cases, deterministic=False)
    want = [Status.OK, Status.OK, Status.ERROR, Status.ERROR, Status.BLOCKED, Status.ERROR]
    assert [o.status for o in outputs] == want
    assert "int is not a question" in outputs[3].detail
    assert chat(steady).answer([]) == []


# -- what is sent ----------------------------------------------------------------------------------


@dataclass
class Shown:
    content: bytes
    note: str = "resized from 9,000 × 6,700"


@dataclass
class Asked:
    text: str
    image: Shown | None
    system: str
    other: int = 3


def test_questions_of_any_make_are_sent_with_picture_and_system_prompt(
    steady: ScriptedServer, tmp_path: Path
) -> None:
    from tests.models.test_chat_images import picture

    (tmp_path / "photo.png").write_bytes(picture("WEBP"))  # as the benchmark has them
    model = chat(steady, system="Be brief.")
    outputs = model.answer_questions(
        [
            "ok 1",
            Question("ok 2", image=np.zeros((5, 6, 3), np.uint8), system=""),
            {"text": "ok 3", "image": picture("JPEG"), "system": "Be kind."},
            Asked("ok 4", Shown(picture("PNG")), "Be kind."),
            Question("ok 5", image=tmp_path / "photo.png"),
            Question("ok 6", image=b"no picture"),
            Question("ok 7", image=tmp_path / "absent.png"),
        ]
    )
    sent = {call.text: call for call in steady.calls[-5:]}
    systems = [sent[f"ok {i}"].system for i in range(1, 6)]
    assert systems == ["Be brief.", "", "Be kind.", "Be kind.", "Be brief."]
    kinds = [[uri.split(";")[0] for uri in sent[f"ok {i}"].images] for i in range(1, 6)]
    assert kinds == [[], ["data:image/png"], ["data:image/jpeg"], ["data:image/png"], ["data:image/png"]]
    assert [o.status for o in outputs] == [Status.OK] * 5 + [Status.ERROR] * 2
    assert outputs[3].detail == "resized from 9,000 × 6,700"
    assert outputs[4].detail == "image 40×30 WEBP sent as 40×30 PNG"
    assert "cannot be read" in outputs[5].detail
    assert "No such file" in outputs[6].detail


def test_settings_and_a_schema_reach_the_server(steady: ScriptedServer) -> None:
    model: ChatModel = MODELS.load(
        f"chat:openai-api/local/qwen?base_url={steady.url}&max_tokens=24&temperature=0&seed=5"
    )
    schema = {"type": "object", "properties": {"refusal": {"type": "boolean"}}, "required": ["refusal"]}
    model.ask(["ok"], schema=schema)
    body = steady.calls[-1].body
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"]) == ("qwen", 24, 0, 5)
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["refusal"]
    with pytest.raises(WeakspotError, match="2 prompts and 1 images"):
        model.ask(["a", "b"], [None])


def test_anthropics_own_format(monkeypatch: pytest.MonkeyPatch, steady: ScriptedServer) -> None:
    pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted-3141")
    base_url = steady.url.removesuffix("/v1")
    model = ChatModel("anthropic/claude-3-haiku-20240307", base_url=base_url, attempts=1)
    image = np.zeros((5, 6, 3), np.uint8)
    kinds = ("ok", "filter", "empty", "500")
    outputs = model.answer_questions([Question(f"{kind} a", image) for kind in kinds])
    assert [o.status for o in outputs] == [Status.OK, Status.BLOCKED, Status.EMPTY, Status.ERROR]
    assert steady.calls[-1].images == ["data:image/png;base64,"]
    assert "sk-ant-planted-3141" in str(steady.calls[-1].headers)
    written = len("Here is an answer to: ok a") // 4 + 1
    used = outputs[0].usage
    assert used.dollars == pytest.approx((0.25 * (used.tokens - written) + 1.25 * written) / 1e6)


# -- how much at once ------------------------------------------------------------------------------


def test_without_faults_all_slots_are_used_all_the_time() -> None:
    """Wall time against latency × items / concurrency; what the processor needs is extra."""
    items, at_once, latency = 80, 20, 0.4
    with ScriptedServer(latency=latency) as server:
        model = chat(server, concurrency=at_once)
        model.ask(["warm up"])
        began, cpu = time.perf_counter(), time.process_time()
        answers = model.ask([f"question {i}" for i in range(items)])
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    ideal = latency * items / at_once
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert all(answers)
    assert server.most_in_flight == at_once
    assert wall <= 1.3 * ideal + 2 * crowd * cpu
    assert cpu < 0.02 * items


def test_it_finds_out_how_much_a_provider_stands() -> None:
    server = ScriptedServer(latency=0.05, retry_after=0.1)
    server.plan = lambda *_: "429" if server.in_flight > 12 else "ok"
    with server:
        model = chat(server)
        model._gate.most = 64  # as with a provider far away
        answers = model.ask([f"question {i}" for i in range(150)])
    assert all(answers)
    busy = Counter(call.done for call in server.calls)["429"]
    assert 1 <= busy < 75
    assert server.most_in_flight > 12


# -- names, keys, limits, costs --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY is not set", "export OPENAI_API_KEY"),
        ("anthropic/claude-3-haiku-20240307", "ANTHROPIC_API_KEY is not set", ""),
        ("google/gemini-2.5-flash", "GOOGLE_API_KEY or GEMINI_API_KEY", ""),
        ("openai-api/my-host/m?base_url=https://example.org/v1", "MY_HOST_API_KEY is not set", ""),
        ("openai-api/my-host/m", "needs the address", "MY_HOST_BASE_URL"),
        ("openai-api/m?base_url=http://127.0.0.1:1/v1", "which service", ""),
        ("opnai/gpt-4o", "no provider is called 'opnai'", "'openai'"),
        ("gpt-4o", "not a provider and its model", "chat:openai/gpt-4o"),
        ("openai-api/a/b?base_url=http://me:secret@127.0.0.1/v1", "carries a user", ""),
        ("openai-api/a/b?base_url=127.0.0.1", "cannot be read", ""),
        ("ollama/llava?api_key=sk-1", "a key must not be in a name", ""),
        ("ollama/llava?concurrency=0", "concurrency cannot be '0'", ""),
        ("ollama/llava?price=cheap", "a price cannot be 'cheap'", ""),
        ("mistral/x?max_dollars=3", "MISTRAL_API_KEY", ""),
    ],
)
def test_a_name_that_cannot_work_says_so_before_any_call(name: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError) as caught:
        MODELS.load(f"chat:{name}")
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert "secret" not in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_limits_hold_to_within_the_calls_under_way() -> None:
    with ScriptedServer(latency=0.01) as server:
        prompts = [f"question {i}" for i in range(60)]
        few = chat(server, concurrency=4, max_calls=10)
        assert sum(a is not None for a in few.ask(prompts)) == 10 == len(server.calls)
        assert "limit of 10 calls" in few.ask_detailed(["more"])[0].detail
        server.calls.clear()
        cheap = chat(server, concurrency=4, price=Price(1e6, 1e6), max_dollars=200.0)
        outputs = cheap.ask_detailed(prompts)
        dear = max(o.usage.dollars for o in outputs)
        assert 200 <= cheap.spent.dollars <= 200 + 4 * dear
        assert sum(o.usage.dollars for o in outputs) == pytest.approx(cheap.spent.dollars)
        assert len(server.calls) == sum(o.status is Status.OK for o in outputs) < 60


def test_an_estimate_sends_nothing(monkeypatch: pytest.MonkeyPatch, steady: ScriptedServer) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-2718")
    model = ChatModel("openai/gpt-4o-2024-08-06", base_url=steady.url, max_tokens=1000)
    before = len(steady.calls)
    big = Question("x" * 4000, image=np.zeros((100, 4000, 3), np.uint8))
    found = model.estimate([big, "y" * 400, Question("z", image=b"broken")])
    assert len(steady.calls) == before
    assert (found.calls, found.images, found.resized, found.unreadable) == (3, 2, 1, 1)
    assert found.where == f"127.0.0.1:{steady.port}"
    assert found.dollars == pytest.approx((found.read * 2.5 + 1200 * 10) / 1e6)
    assert found.at_most == pytest.approx((found.read * 2.5 + 3000 * 10) / 1e6)
    assert 1100 < found.read < 2500
    assert "at most $0.03" in str(found)
    assert "sk-planted" not in repr(model) + str(found)


def test_prices_are_those_of_the_very_model() -> None:
    assert price_of("openai/gpt-4o") == price_of("openai/gpt-4o-2024-08-06") == Price(2.5, 10)
    assert price_of("openai/gpt-4o-mini") == Price(0.15, 0.6)
    assert price_of("anthropic/claude-3-haiku-20240307") == Price(0.25, 1.25)
    assert price_of("openai/gpt-4o-audio-preview") is None
    assert price_of("google/gemini-9") is None


def test_dollars_cannot_be_limited_at_an_unknown_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-2718")
    with pytest.raises(WeakspotError, match="price of chat:openai/gpt-99 is not known"):
        MODELS.load("chat:openai/gpt-99?max_dollars=5")
    assert MODELS.load("chat:openai/gpt-99?max_dollars=5&price=1,2").price == Price(1, 2)
    assert "price not known" in MODELS.load("chat:openai/gpt-99").about


def test_progress_is_told(steady: ScriptedServer) -> None:
    told: list[tuple[int, int]] = []
    chat(steady, on_progress=lambda done, all_: told.append((done, all_))).ask(["ok"] * 5)
    assert told == [(i, 5) for i in range(1, 6)]


def test_nothing_of_a_request_is_kept_for_ever(steady: ScriptedServer) -> None:
    """inspect-ai keeps transcripts; asked in this way it must not."""
    import gc

    model = chat(steady)
    mark = "planted " * 5
    model.ask([f"ok {mark}{i}" for i in range(10)])
    gc.collect()
    kept = [o for o in gc.get_objects() if type(o).__name__ in ("ModelEvent", "ChatMessageUser")]
    assert not [o for o in kept if mark in json.dumps(str(o))]
