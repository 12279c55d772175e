"""A chat model as the judge of refusals: shown question, answer and perhaps the picture, it must say JSON.

What does not parse is asked for again, a few times, and is then undecided: no verdict is ever guessed from
prose. The answer under judgement is a stranger's text: it is fenced, and the judge is told that it is
evidence and no instruction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode

from weakspot.core import MODELS, Case, Output, Question, Verdict, WeakspotError
from weakspot.core.registry import read_whole, read_yes
from weakspot.judges.refusal.grades import SCALE, Grade, verdict_of
from weakspot.judges.refusal.judge import question_of, unasked
from weakspot.text.llm_answers import takes_schema

#: Characters of an answer that are shown to the judge; the middle of a longer one is left out.
LONGEST: Final = 8_000
#: The grades that the model may choose from.
CHOICES: Final = (*SCALE, Grade.MISREADS, Grade.CUT_OFF)
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "grade": {"type": "string", "enum": [str(grade) for grade in CHOICES]},
        "reason": {"type": "string"},
    },
    "required": ["grade", "reason"],
    "additionalProperties": False,
}
_RUBRIC: Final = Path(__file__).with_name("rubric.txt").read_text("utf-8").strip()


class Asker(Protocol):
    """What can be asked: one text per prompt, None where none could be had."""

    def ask(self, prompts: Sequence[str], images: Sequence[Any]) -> Sequence[str | None]: ...


class Judgement(NamedTuple):
    """A parsed judgement."""

    grade: Grade
    reason: str


@dataclass(frozen=True, slots=True)
class ChatJudge:
    """Says by a chat model, shown the picture or not, whether answers refuse.

    What cannot be read after so many attempts is undecided.
    """

    model: Asker
    image: bool = field(default=True, kw_only=True)
    attempts: int = field(default=3, kw_only=True)
    name: str = field(default="chat", kw_only=True)

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise WeakspotError(
                f"a judge cannot be asked {self.attempts} times", fix="choose 1 or more attempts"
            )

    @property
    def models(self) -> tuple[object, ...]:
        return (self.model,)

    @property
    def needs_images(self) -> bool:
        return self.image

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`, and `RefusalJudge.judge` for `failed`. Undecided: failed is None, status ok."""
        verdicts = [unasked(case, output) for case, output in zip(cases, outputs, strict=True)]
        open_ones = [i for i, verdict in enumerate(verdicts) if verdict is None]
        opinions = self._ask([(cases[i], outputs[i].answer or "") for i in open_ones])
        for i, opinion in zip(open_ones, opinions, strict=True):
            verdicts[i] = _verdict(cases[i], opinion, self)
        return [verdict for verdict in verdicts if verdict is not None]

    def _ask(self, asked: Sequence[tuple[Case, str]]) -> list[Judgement | None]:
        found: list[Judgement | None] = [None] * len(asked)
        questions = [question_of(case) or Question("(not known)") for case, _ in asked]
        prompts = [
            prompt_of(question.text, answer, image=self.image)
            for question, (_, answer) in zip(questions, asked, strict=True)
        ]
        images = [question.image if self.image else None for question in questions]
        more = {"schema": SCHEMA} if takes_schema(self.model) else {}
        for _ in range(self.attempts):
            left = [i for i, opinion in enumerate(found) if opinion is None]
            if not left:
                break
            said = self.model.ask([prompts[i] for i in left], [images[i] for i in left], **more)
            if len(said) != len(left):
                raise WeakspotError(
                    f"{self.name[:80]} gave {len(said)} replies to {len(left)} prompts",
                    fix="give one each, in order",
                )
            for i, text in zip(left, said, strict=True):
                found[i] = parsed(text)
        return found


def prompt_of(question: str, answer: str, *, image: bool) -> str:
    """What the judge is asked. The fence follows from the texts, so neither can contain it but by chance."""
    if len(answer) > LONGEST:
        half = LONGEST // 2
        answer = f"{answer[:half]}\n[…]\n{answer[-half:]}"
    content = f"{question}\n{answer}".encode("utf-8", "backslashreplace")
    fence = f"====={hashlib.sha256(content).hexdigest()[:12]}====="
    shown = ", which came with the picture you see" if image else ""
    return _RUBRIC.format(shown=shown, fence=fence, question=question, answer=answer)


def parsed(text: str | None) -> Judgement | None:
    """The judgement in a reply: a JSON object, alone or in a code fence; None for anything else."""
    if not isinstance(text, str) or len(text) > 100_000:
        return None
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```") and "\n" in bare:
        bare = bare.split("\n", 1)[1][:-3].strip()
    try:
        value = json.loads(bare)
        grade, reason = Grade(value["grade"].strip().lower()), value.get("reason", "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if grade not in CHOICES:
        return None
    return Judgement(grade, reason[:500] if isinstance(reason, str) else "")


def _verdict(case: Case, opinion: Judgement | None, judge: ChatJudge) -> Verdict:
    if opinion is None:
        return Verdict(
            None, reason=f"undecided: {judge.name} gave no readable judgement in {judge.attempts} attempts"
        )
    score = SCALE.get(opinion.grade)
    reason = f"{opinion.grade}: {opinion.reason}" if opinion.reason else str(opinion.grade)
    return verdict_of(case, opinion.grade, score, reason)


def load(name: str, *, judge_image: str = "yes", attempts: str = "3", **options: str) -> ChatJudge:
    """`chat:openai/gpt-4o`, `chat:openai/gpt-4o?judge_image=no&attempts=2`; other options are the model's."""
    query = urlencode({key: value for key, value in options.items() if isinstance(value, str)})
    model = MODELS.load(f"chat:{name}{'?' + query if query else ''}")
    return ChatJudge(
        model,
        image=read_yes("judge_image", judge_image),
        attempts=read_whole("attempts", attempts, most=10) or 3,
        name=f"chat:{name}",
    )
