"""A language model beside a run: what it said is kept, and what it costs counts against the budget.

A run that is resumed goes on with the same words. So each answer is kept by the question, in the order in
which it came, and also that there was none: what the run decided without an answer it decides again without
one. A model that does not answer is not asked for ever, and does not end the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from weakspot.core import Output, Status, Usage
from weakspot.study.study import Value
from weakspot.text.llm_answers import LONGEST, LONGEST_ANSWER, Asked, one_line, takes_schema

if TYPE_CHECKING:  # who reads a result needs no engine
    from weakspot.engine.stop import Spending
    from weakspot.study.lifecycle import Context

#: After so many questions in a row without an answer nothing more is asked.
PATIENCE: Final = 2
_NOTE: Final = "language model"


@runtime_checkable
class Detailed(Protocol):
    """A language model that says of each answer what it cost, or why there is none."""

    def ask_detailed(
        self, prompts: Sequence[str], *, schema: Mapping[str, Any] | None = None
    ) -> list[Output]:
        """One output a prompt, in order."""


class Reply(NamedTuple):
    """What came of one question; no text where nothing came, and then why."""

    text: str | None
    why: str = ""
    tokens: int = 0
    dollars: float = 0.0


class LlmUse(Value):
    """What a language model did in a run.

    Attributes:
        calls: Questions sent to it, of which so many were answered.
        proposed: Conditions that it named.
        dropped: Of those, what could not be drawn or checked.
        errors: Why there was no answer, as far as known.
        silent: It was not asked any more, since it did not answer.
    """

    calls: int
    answered: int
    proposed: int
    dropped: int
    errors: tuple[str, ...] = ()
    silent: bool = False

    def __str__(self) -> str:
        text = f"asked {self.calls:,} times, answered {self.answered:,} of them"
        if self.proposed:
            text += f"; it proposed {self.proposed:,}, of which {self.dropped:,} could not be used"
        if self.errors:
            text += f"; it failed: {self.errors[0]}"
        return f"{text}; the run went on without it" if self.silent else text


class KeptAnswers:
    """A language model whose answers the run keeps.

    Args:
        spending: What the run may spend; without one only the ledger is told what the answers cost.
    """

    def __init__(self, llm: Asked, context: Context[Any, Any], *, spending: Spending | None = None) -> None:
        self._llm, self._context, self._spending = llm, context, spending
        noted: dict[str, list[list[Any]]] = context.noted(_NOTE, {})
        self._kept = {key: [Reply(*one) for one in replies] for key, replies in noted.items()}
        self._told: Counter[str] = Counter()
        self._silence = 0
        self.calls, self.answered = 0, 0
        self.errors: dict[str, None] = {}

    def ask(self, prompts: Sequence[str], *, schema: Mapping[str, Any] | None = None) -> list[Any]:
        """One answer a prompt; None where there is none."""
        return [self._one(prompt, schema) for prompt in prompts]

    def use(self, *, proposed: int, dropped: int) -> LlmUse:
        """What it did so far."""
        return LlmUse(
            calls=self.calls,
            answered=self.answered,
            proposed=proposed,
            dropped=dropped,
            errors=tuple(self.errors)[:3],
            silent=self._silence >= PATIENCE,
        )

    def _one(self, prompt: str, schema: Mapping[str, Any] | None) -> str | None:
        key = sha256(prompt.encode("utf-8", "backslashreplace")).hexdigest()[:24]
        kept, told = self._kept.setdefault(key, []), self._told[key]
        if told and kept[told - 1].text is not None:
            return kept[told - 1].text
        if self._silence >= PATIENCE:
            return None
        if self._spending is not None and not self._spending.affords_call():
            return None
        if told == len(kept):
            kept.append(reply := self._asked(prompt, schema))
            # The answer first: a run that is killed in between may forget what it cost, not what it said.
            self._context.note(_NOTE, {k: [list(one) for one in some] for k, some in self._kept.items()})
            spent = {"calls": 1.0, "tokens": float(reply.tokens), "dollars": reply.dollars}
            self._context.ledger.record([], spent)
        else:
            reply = kept[told]
        self._told[key] += 1
        self.calls += 1
        if self._spending is not None:
            self._spending.asked(Usage(reply.tokens, reply.dollars))
        if reply.text is None:
            self._silence += 1
            self.errors.setdefault(reply.why or "no answer came")
        else:
            self._silence = 0
            self.answered += 1
        return reply.text

    def _asked(self, prompt: str, schema: Mapping[str, Any] | None) -> Reply:
        held = {"schema": schema} if schema is not None and takes_schema(self._llm) else {}
        model: object = self._llm
        text: Any
        try:
            if isinstance(model, Detailed):
                (output,) = model.ask_detailed([prompt], **held)
                text = output.answer if output.status is not Status.ERROR else None
                why, usage = output.detail, output.usage
                if text is None and output.status in (Status.EMPTY, Status.BLOCKED):
                    text = ""  # it did answer, and will not say more next time
            else:
                (text,), why, usage = self._llm.ask([prompt], **held), "", Usage()
        except Exception as error:  # of somebody's client; it is quoted, and the run goes on
            text, why, usage = None, f"{type(error).__name__}: {error}", Usage()
        if text is not None and not isinstance(text, str):
            text, why = None, f"an answer of the type {type(text).__name__}"
        why = one_line(why)[:LONGEST] if text is None else ""
        return Reply(text and text[:LONGEST_ANSWER], why, usage.tokens, usage.dollars)
