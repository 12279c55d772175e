"""Train the embedded judge of refusals.

    python training/refusal.py --labels DIR --out src/weakspot/judges/refusal/weights

It needs scipy, scikit-learn and two minutes. It learns from XSTest's completions with people's final labels
(DIR: one file per model; CC-BY-4.0), from answers of two small language models, labelled by hand
(`refusal_small_models.jsonl`), and from answers put together of sentences written for it
(`refusal_answers.yaml`). MOSSBench must never be among them: its licence forbids training, and it is what
the judge is measured on. Everything is split by model and by style: how the two opinions are joined, and
the band in which the judge is unsure, come from answers of groups that were left out.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from flags import settings
from refusal_answers import composed

from weakspot.core import WeakspotError
from weakspot.judges.refusal.grades import Grade
from weakspot.judges.refusal.labels import Labelled, read_labels
from weakspot.judges.refusal.learning import VARIANCE, Example, joined, learn_each
from weakspot.judges.refusal.model import MANIFEST, WEIGHTS, WORDING, RefusalModel, fingerprint

_HERE = Path(__file__).parent


@dataclass
class Settings:
    """All that a training run depends on."""

    #: Folder of XSTest's completions; not needed with --smoke.
    labels: str = ""
    #: Folder for refusal.json, wording.npz and manifest.json.
    out: str = "."
    #: Of the weights before anything was seen.
    variance: float = VARIANCE
    seed: int = 0
    smoke: bool = False


def invented() -> list[Labelled]:
    """A few answers of three imaginary models: enough to see that everything works."""
    said = {
        Grade.REFUSES: ("I'm sorry, but I can't help with that.", "I won't do this. It would be wrong."),
        Grade.COMPLIES: ("Sure! Mix flour and water.", "The sky is blue because of scattering."),
        Grade.PARTIAL: ("I can't tell who it is. However, I can describe the scene: two people at a table.",),
    }
    return [
        Labelled("How?", f"{answer} {'Thanks.' * i}", grade, f"model-{i}")
        for i in range(3)
        for grade, answers in said.items()
        for answer in answers
    ]


def examples_of(labelled: list[Labelled], *, composed: bool = False) -> Iterator[Example]:
    """What can be learnt from: answers that people call neither empty nor half."""
    for one in labelled:
        if one.answer and one.label is not Grade.PARTIAL:
            yield Example(one.question, one.answer, one.label is Grade.REFUSES, one.group, composed)


def save(model: RefusalModel, out: Path) -> None:
    values, tables = model.plain()
    packed = io.BytesIO()
    np.savez_compressed(packed, **tables)
    out.mkdir(parents=True, exist_ok=True)
    files = {WEIGHTS: (json.dumps(values, indent=1) + "\n").encode(), WORDING: packed.getvalue()}
    entries = {}
    for name, content in files.items():
        (out / name).write_bytes(content)
        entries[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (out / MANIFEST).write_text(json.dumps({"files": entries}, indent=2) + "\n", "utf-8")


def main(s: Settings) -> None:
    """Fit with and without each author, join, measure on those left out, write."""
    if not s.smoke and "mossbench" in s.labels.lower():
        raise WeakspotError("MOSSBench may not be trained on", fix="give XSTest's completions")
    labelled = invented() if s.smoke else read_labels([Path(s.labels)])
    examples = list(examples_of(labelled))
    if not s.smoke:
        examples += examples_of(read_labels([_HERE / "refusal_small_models.jsonl"]))
        examples += examples_of([one for _, one in composed(s.seed)], composed=True)
    authors = sorted({one.group for one in labelled})
    learnt, opinions = learn_each(examples, variance=s.variance, leave=authors)
    seen = {fingerprint(one.question, one.answer): one.group for one in labelled if one.answer}
    model = replace(joined(learnt, examples, opinions), seen=seen)
    save(model, Path(s.out))
    blend, band = model.blend, model.band()
    print(f"{len(examples)} answers of {len({one.group for one in examples})} models and styles")
    print(f"blend {blend}  unsure between {band.low:.3f} and {band.high:.3f} for an error of {band.error}")
    odds = blend.bias + blend.shape * opinions.shape + blend.wording * opinions.wording
    for group in dict.fromkeys(one.group for one in examples):
        own = np.array([one.group == group for one in examples])
        refused = np.array([one.refused for one in examples])[own]
        found = 1 / (1 + np.exp(-odds[own]))
        decided = (found <= band.low) | (found >= band.high)
        right = ((found >= 0.5) == refused)[decided]
        unsure = 1 - decided.mean()
        print(f"{group:>24}  n {own.sum():>5}  unsure {unsure:6.1%}  right among decided {right.mean():6.1%}")


if __name__ == "__main__":
    main(settings(Settings, __doc__))
