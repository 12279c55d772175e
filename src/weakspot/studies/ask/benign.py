"""Benign by whom? What people, or another model, say of the questions themselves.

A question that passes for harmless need not be: then to refuse it is no fault. People say so with `weakspot
label RUN --questions`, a chat model with `--vet`. Rates are shown with and without what they doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from weakspot.core.ports import LanguageModel
from weakspot.core.question import BENIGN
from weakspot.engine import Engine
from weakspot.report.people.corrected import majority
from weakspot.report.people.labels import Labels, by_item
from weakspot.report.people.questions import HARMLESS, TASK
from weakspot.report.people.tasks import trial_of
from weakspot.sources.benchmark import Benchmark, Item
from weakspot.store import Run
from weakspot.studies.ask.analysis import Asked, counted
from weakspot.studies.ask.arms import PROMPTS
from weakspot.studies.ask.purse import Paying
from weakspot.studies.ask.result import AskResult, Counted
from weakspot.text.llm_answers import items as objects_in

#: Questions that a model is asked about at once, and how often where its reply cannot be read.
AT_ONCE, ATTEMPTS = 32, 2
_NOTE: Final = "note vetted"


def vet(engine: Engine, voter: LanguageModel, benchmark: Benchmark) -> None:
    """Have a model say of every item whether it is harmless; what it does not say readably is left out.

    What was said is noted at once, so that a resumed run goes on behind it.
    """
    ledger, said = engine.run.ledger, dict(vetted(engine.run))
    for _ in range(ATTEMPTS):
        left = [item for item in benchmark.of(BENIGN) if item.id not in said]
        for at in range(0, len(left), AT_ONCE):
            some = left[at : at + AT_ONCE]
            replies = voter.ask([_prompt(item) for item in some])
            for item, reply in zip(some, replies, strict=True):
                if (harmless := _read(reply)) is not None:
                    said[item.id] = harmless
            ledger.set_fact(_NOTE, said)
            if isinstance(engine, Paying):
                engine.settle()


def vetted(run: Run) -> dict[str, bool]:
    """What the model has said so far."""
    found: dict[str, bool] = run.ledger.fact(_NOTE, {})
    return found


def _prompt(item: Item) -> str:
    shown = f"The picture with it shows: {item.description}" if item.description else ""
    return str(PROMPTS["vet"]).format(question=item.question, shown=shown)


def _read(reply: Any) -> bool | None:
    for said in objects_in(reply) if isinstance(reply, str) else ():
        if isinstance(said.get("harmless"), bool):
            return bool(said["harmless"])
    return None


class Doubt(NamedTuple):
    """What somebody says of the questions: of how many, which they doubt, and the rate without these."""

    by: str
    voted: int
    doubtful: tuple[str, ...]
    rate: Counted

    def plain(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "voted": self.voted,
            "doubtful": list(self.doubtful),
            "without": self.rate.model_dump(mode="json"),
        }


def doubts(run: Run, result: AskResult) -> list[Doubt]:
    """What people say, by their majority (a tie is a doubt), and what the model that was asked says."""
    votes = dict(_people(run, result))
    found = [("people", votes)] if votes else []
    if result.vetted:
        found.append((result.vetted_by, dict(result.vetted)))
    if not found:
        return []
    asked = _asked(run, result)
    return [_doubt(by, said, asked) for by, said in found]


def _doubt(by: str, said: dict[str, bool], asked: Sequence[Asked]) -> Doubt:
    doubtful = tuple(sorted(key for key, harmless in said.items() if not harmless))
    return Doubt(by, len(said), doubtful, counted(one for one in asked if one.id not in doubtful))


def _people(run: Run, result: AskResult) -> Iterator[tuple[str, bool]]:
    """By item, whether most of those who labelled it call it harmless."""
    votes: dict[str, list[str]] = {}
    for key, said in by_item(Labels(run.folder).current(TASK)).items():
        hypothesis, index = trial_of(key)
        if order := result.order.get(hypothesis):
            votes.setdefault(order[index % len(order)], []).extend(said.values())
    for item, labels in votes.items():
        yield item, majority(labels) == HARMLESS


def _asked(run: Run, result: AskResult) -> list[Asked]:
    """The first answers to the harmless questions under the first system prompt."""
    from weakspot.studies.ask.reading import answers, outcome  # which reads much more

    first = next(iter(run.config.settings.get("prompts") or {"none": ""}))
    return [
        outcome(one, result.items[BENIGN][one.item])
        for one in answers(run, result.order)
        if one.set == BENIGN and one.system == first and not one.stage and not one.repeat
    ]


__all__ = ["Doubt", "doubts", "vet", "vetted"]
