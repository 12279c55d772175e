"""The answers of an earlier run of `ask`, to be judged or analysed again at no cost."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from weakspot.core import Status, WeakspotError
from weakspot.store import Run

if TYPE_CHECKING:
    from weakspot.models.recorded.replay import Key, Recorded


def answers_of(folder: Path) -> tuple[dict[Key, Recorded], str, str]:
    """The answers of a run with the model's name and a digest of them.

    Answers are as the ledger keeps them: beyond 32,768 characters they were cut.
    """
    from weakspot.models.recorded.replay import Key, Recorded

    found: dict[Key, Recorded] = {}
    with Run.read(folder) as run:
        if run.config.study != "ask":
            raise WeakspotError(
                f"{folder} is a run of {run.config.study}, not of ask", fix="name a run of ask"
            )
        for hypothesis in run.ledger.hypotheses():
            concepts = dict(hypothesis.concepts)
            items: list[str] = run.ledger.fact(f"items {hypothesis.id}", [])
            for trial in run.ledger.trials(hypothesis) if items else []:
                repeat, place = divmod(trial.index, len(items))
                key = Key(
                    concepts["set"],
                    items[place],
                    concepts.get("system", "none"),
                    concepts.get("stage", ""),
                    repeat,
                )
                # Whether an answer refuses the judge says anew; without one the provider has said it.
                judged = trial.status is Status.REFUSED and trial.answer is not None
                status = Status.OK if judged else trial.status
                found[key] = Recorded(trial.answer, status, trial.detail if status is not Status.OK else "")
        model = str(run.config.settings.get("target", ""))
    if not found:
        raise WeakspotError(f"{folder} holds no answers", fix="finish the run first: weakspot resume")
    rows = [[*key, recorded.text, recorded.status] for key, recorded in found.items()]
    return found, model, hashlib.sha256(json.dumps(rows).encode("utf-8", "backslashreplace")).hexdigest()
