"""Logs that inspect_ai itself writes, and what tests of all logs need."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from weakspot.records import Records

MADE = Path(__file__).parent / "made"


def cells(records: Records, name: str) -> list[str | None]:
    return records.columns[name].texts()


def inspect_log(
    folder: Path, form: Literal["eval", "json"], *, answers: Mapping[Any, Sequence[str]], **more: Any
) -> Path:
    """A log of a data set with one sample for each id, each answered so in each epoch; "!" is an error.

    The right answer is "yes". A sample whose answer is "-" gets no score.
    """
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageUser, ContentText, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, Target, accuracy, match, mean, scorer
    from inspect_ai.solver import Generate, TaskState, solver

    def output(text: str) -> ModelOutput:
        reply = ModelOutput.from_content("mockllm/model", text)
        reply.usage = ModelUsage(input_tokens=1, output_tokens=2, total_tokens=3)
        return reply

    def reply(messages: Any, *_: Any) -> ModelOutput:
        key, epoch = messages[-1].metadata["case"]
        return output(answers[key][epoch - 1])

    @solver
    def asked() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            if answers[state.sample_id][state.epoch - 1] == "!":
                raise ValueError(f"no answer to {state.sample_id}")
            state.messages[-1].metadata = {"case": (state.sample_id, state.epoch)}
            return await generate(state)

        return solve

    @scorer(metrics=[accuracy()])
    def exact() -> Any:
        inner = match(location="exact")

        async def score(state: TaskState, target: Target) -> Score | None:
            return None if state.output.completion == "-" else await inner(state, target)

        return score

    @scorer(metrics={"*": [mean()]})
    def parts() -> Any:
        async def score(state: TaskState, target: Target) -> Score:
            return Score(value={"length": len(state.output.completion), "style": 0.5})

        return score

    samples = [
        Sample(
            id=key,
            input=[ChatMessageUser(content=[ContentText(text=f"Is {key} a number? {'Say yes. ' * 30}")])]
            if i % 2
            else f"Is {key} a number?",
            target=["yes", "yep"] if i == 0 else "yes",
            metadata={"level": "easy" if i % 2 else "hard", "of": {"set": i}},
        )
        for i, key in enumerate(answers)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it leaves streams of failed samples to the garbage collector
        (log,) = inspect_ai.eval(
            inspect_ai.Task(dataset=samples, solver=asked(), scorer=[exact(), parts()], name="numbers"),
            model=get_model("mockllm/model", custom_outputs=reply),
            epochs=len(next(iter(answers.values()))),
            log_dir=str(folder),
            log_format=form,
            fail_on_error=False,
            display="none",
            **more,
        )
        gc.collect()
    return Path(log.location.removeprefix("file://"))
