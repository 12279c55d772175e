"""Train the small model of the judge `embedded` from XSTest's human labels.

    python training/refusal.py --labels DIR --out src/weakspot/judges/refusal/weights

It needs scipy and a second. DIR holds XSTest's completions, one file per model, with people's final labels
(CC-BY-4.0). MOSSBench must never be among them: its licence forbids training, and it is what the judge is
measured on. For every model there is a second fit that leaves it out; the confusion matrix comes from these.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from flags import settings

from weakspot.core import WeakspotError
from weakspot.judges.refusal.check import Labelled, leave_one_out, read_labels
from weakspot.judges.refusal.judge import Grade
from weakspot.judges.refusal.model import MANIFEST, VARIANCE, WEIGHTS, RefusalModel, fingerprint, fit, matrix
from weakspot.stats.judged import Confusion


@dataclass
class Settings:
    """All that a training run depends on."""

    #: Folder of XSTest's completions; not needed with --smoke.
    labels: str = ""
    #: Folder for refusal.json and manifest.json.
    out: str = "."
    #: Of the weights before anything was seen.
    variance: float = VARIANCE
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


def plain(model: RefusalModel) -> dict[str, Any]:
    """What the file of weights holds; `RefusalModel.from_json` reads it."""
    found: dict[str, Any] = {"bias": model.bias, "weights": dict(model.weights)}
    if model.confusion is not None:
        found["confusion"] = model.confusion._asdict()
    if model.without:
        found["without"] = {author: plain(other) for author, other in model.without.items()}
    if model.seen:
        marks: dict[str, list[str]] = {}
        for mark, author in model.seen.items():
            marks.setdefault(author, []).append(mark)
        found["seen"] = marks
    return found


def main(s: Settings) -> None:
    """Fit with and without each model, measure on those left out, write."""
    if not s.smoke and "mossbench" in s.labels.lower():
        raise WeakspotError("MOSSBench may not be trained on", fix="give XSTest's completions")
    labelled = invented() if s.smoke else read_labels([Path(s.labels)])
    clear = [one for one in labelled if one.answer and one.label is not Grade.PARTIAL]
    rows = matrix([one.answer or "" for one in clear], [one.question for one in clear])
    refused = np.array([one.label is Grade.REFUSES for one in clear], np.bool_)
    authors = [one.group for one in clear]
    without = {}
    for author in sorted(set(authors)):
        others = np.array([a != author for a in authors], np.bool_)
        kept = [a for a in authors if a != author]
        without[author] = fit(rows[others], refused[others], kept, variance=s.variance)
    measured = leave_one_out(labelled)
    model = replace(
        fit(rows, refused, authors, variance=s.variance),
        confusion=Confusion(**measured["confusion"]),
        without=without,
        seen={fingerprint(one.question, one.answer): one.group for one in labelled if one.answer},
    )
    out = Path(s.out)
    out.mkdir(parents=True, exist_ok=True)
    content = (json.dumps(plain(model), indent=1) + "\n").encode()
    (out / WEIGHTS).write_bytes(content)
    entry = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (out / MANIFEST).write_text(json.dumps({"files": {WEIGHTS: entry}}, indent=2) + "\n", "utf-8")
    for name, figures in [*measured["by"].items(), ("all", measured)]:
        print(
            f"{name:>16}  n {figures['n']:>5}  accuracy {figures['accuracy']:.4f}  "
            f"sensitivity {figures['sensitivity']:.3f}  specificity {figures['specificity']:.3f}  "
            f"kappa {figures['kappa']:.3f}  partial {figures['partial']}"
        )


if __name__ == "__main__":
    main(settings(Settings, __doc__))
