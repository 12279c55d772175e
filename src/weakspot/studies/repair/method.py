"""repair: change a model where it fails, and prove what moved (after Sagar, Taparia and Senanayake, 2024).

The weak spots that a map or a hunt found are learnt away on inputs of the repair part: the last layer alone
(as published), all layers, or an adapter. The same cases of the verification part, which neither the search
nor the training saw, are then shown to the model before and after, in pairs, and a paired test decides.
"""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from weakspot.core import MODELS, Target
from weakspot.studies.repair.files import write_card, write_folder
from weakspot.studies.repair.pairs import proof
from weakspot.studies.repair.parts import RepairParts
from weakspot.studies.repair.result import DataSet, RepairResult, Training
from weakspot.studies.repair.settings import RepairSettings
from weakspot.study import Context
from weakspot.study.repairs import Fitted, Job, Progress, row_words


def repair(context: Context[RepairSettings, RepairParts]) -> RepairResult:
    """The data set or the training, the model kept with its card, the proof."""
    settings, job, progress = context.settings, context.parts.job, context.watch.progress
    folder = context.run.folder.absolute()
    chosen = tuple(spot.words for spot in job.chosen)
    known = RepairResult(method=settings.method, parts=dict(job.counts), chosen=chosen, target=job.name)
    context.publish(known)
    if settings.method == "data":
        if job.write is not None:
            written = job.write(folder / "data")
        else:
            assert job.samples is not None  # noqa: S101 (a job without has a `write`)
            rows = job.samples(settings.rate, settings.seed)
            written = write_folder(folder / "data", rows, spots=chosen, model=job.name)
        return known.model_copy(update={"data": DataSet.model_validate(written)})
    began = time.monotonic()
    if job.fit is None:
        fitted = _trained(folder, job, context.parts.network, settings, progress)
    else:
        fitted = job.fit(folder, progress)
    training = Training(**fitted.history | {"seconds": round(time.monotonic() - began, 1)})
    known = known.model_copy(update={"training": training, "model": fitted.name})
    context.publish(known)
    proved = proof(context.run, job, fitted.target, settings, progress)
    known = known.model_copy(update={"proof": proved})
    write_card(folder / "model", known, rate=settings.rate)
    return known


def _trained(folder: Path, job: Job, network: Any, settings: RepairSettings, progress: Progress) -> Fitted:
    """Train a classifier and write it down; what is proved is what was written."""
    from weakspot.tuning.train import TrainSettings, train

    assert job.lessons is not None  # noqa: S101 (a job without has a `fit`)
    lessons = job.lessons(network.labels)
    same = {field.name for field in fields(TrainSettings)} & set(RepairSettings.model_fields)
    trained = train(
        network,
        lessons,
        TrainSettings(**{name: getattr(settings, name) for name in same}),
        folder=folder,
        progress=lambda epoch, of, row: progress(f"training: {row_words(row)}", epoch, of),
    )
    model = folder / "model"
    model.mkdir(parents=True, exist_ok=True)
    name = network.keep(network.module.to("cpu").eval(), model)
    network.module.to(network.device)
    after: Target = MODELS.load(name) if name else network
    return Fitted(after, name, {**trained._asdict(), "pictures": len(lessons)})
