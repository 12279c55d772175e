"""repair: change a model where it fails, and prove what moved (after Sagar, Taparia and Senanayake, 2024).

The weak spots that a map or a hunt found, as far as people mind them, are learnt away on inputs of the
repair part: the last layer alone (as published), all layers, or an adapter. Then the same cases of the
verification part, which neither the search nor the training saw, are shown to the model before and after,
in pairs. What was removed, what was newly made, the inputs as they are and the whole landscape are counted,
and a paired test decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from weakspot.core import MODELS, Target, WeakspotError
from weakspot.engine import Watch
from weakspot.store import Run, RunConfig
from weakspot.studies.repair.pairs import proof
from weakspot.studies.repair.parts import (
    Fitted,
    Job,
    Progress,
    RepairSettings,
    Spot,
    folder_of,
    job_of,
    own_rate,
    row_words,
)
from weakspot.study.loading import name_of
from weakspot.study.paths import anchored

__all__ = ["RepairSettings", "conduct", "go_on", "repair", "settings_of"]


def repair(
    run: str | Path | Run,
    *,
    modes: str | Sequence[int] = "preferred",
    method: str = "full",
    target: str | Target | None = None,
    layer: str = "",
    rate: float | None = None,
    epochs: int = 0,
    learning_rate: float = 0.0,
    distil: float = 1.0,
    mirror: bool = True,
    reset_head: bool = False,
    draws: int = 10_000,
    most: int = 2_000,
    device: str = "auto",
    seed: int = 0,
    out: str | Path | None = None,
    progress: Progress | None = None,
    began: Callable[[Path], None] | None = None,
) -> Run:
    """Repair weak spots of a model and prove it.

    Args:
        run: A run of map or hunt.
        modes: Numbers of its modes (or findings), or "preferred": those people chose, the worst otherwise.
        method: last-layer, full, lora; data writes only the data set, for a trainer of your own.
        target: The model, if it is not to be the one of the run, or has no name.
        layer: Name of the last layer, where it cannot be found.
        rate: Share of the pictures that are transformed in training; None takes the method's own.
        epochs: At most; 0 takes the method's own number.
        learning_rate: 0 takes the method's own.
        distil: How much of the wanted answer is the model's former one to the plain picture.
        mirror: Whether a mirrored picture means the same.
        reset_head: The last layer begins anew.
        draws: Pairs over the whole landscape.
        most: Cases of each mode at most.
        device: "auto", "cpu", "cuda".
        seed: The same seed gives the same repair.
        out: The new run's folder; one below runs/ by default.
        progress: Who is told of the progress.
        began: Told the new run's folder.

    Returns:
        A run of its own, open for reading; its ledger's fact "repair" has the result, `model/` the model.
    """
    folder, here = folder_of(run).absolute(), str(Path.cwd())
    settings = RepairSettings(
        run=str(folder),
        modes=modes if isinstance(modes, str) else ",".join(map(str, modes)),
        method=method,
        target="" if target is None else anchored(name_of(target), here),
        layer=layer,
        rate=own_rate(method) if rate is None else rate,
        epochs=epochs,
        learning_rate=learning_rate,
        distil=distil,
        mirror=mirror,
        reset_head=reset_head,
        draws=draws,
        most=most,
        device=device,
        seed=seed,
        here=here,
    )
    settings.check()
    given = None if target is None or isinstance(target, str) else target
    with Run.read(folder) as past:
        job = job_of(past, settings, target=given)
        network = _network(job, settings)
        digests = dict(job.digests)
        if digest := getattr(job.target, "digest", None):
            digests["target"] = str(digest)
        subject = past.config.subject
        config = RunConfig(study="repair", subject=subject, settings=asdict(settings), digests=digests)
        with Run.create(config, folder=None if out is None else Path(out)) as own:
            if began is not None:
                began(own.folder)
            conduct(own, settings, job, network, progress)
    return Run.read(own.folder)


def go_on(
    run: Run, *, budget: str | None = None, watch: Watch | None = None, target: Target | None = None
) -> None:
    """Go on with an interrupted repair, from its last checkpoint."""
    del budget
    settings = settings_of(run)

    def told(words: str, done: int, of: int) -> None:
        if watch is not None and hasattr(watch, "say"):
            watch.say(f"{words} · {done:,} of {of:,}")

    with Run.read(Path(settings.run)) as past:
        job = job_of(past, settings, target=target)
        conduct(run, settings, job, _network(job, settings), told)


def settings_of(run: Run, *, budget: str | None = None) -> RepairSettings:
    """The settings of a run as its run.yaml has them."""
    del budget
    given = dict(run.config.settings)
    wrong = [*(set(given) - {f.name for f in fields(RepairSettings)}), *({"run"} - set(given))]
    if wrong:
        raise WeakspotError(
            f"the settings in {run.folder / 'run.yaml'} do not fit repair: {wrong[0][:80]!r}",
            fix="restore the file from a copy",
        )
    settings = RepairSettings(**given)
    settings.check()
    return settings


def conduct(
    run: Run, settings: RepairSettings, job: Job, network: Any, progress: Progress | None = None
) -> None:
    """The method: the data set or the training, the model kept with its card, the proof."""
    told, ledger, folder = progress or (lambda *_: None), run.ledger, run.folder.absolute()
    ledger.set_fact("state", "running")
    ledger.set_fact("parts", dict(job.counts))
    if settings.method == "data":
        written = _written(folder / "data", job, settings)
        ledger.set_fact(
            "repair", {"method": "data", "data": written, "verdict": "", "chosen": _words(job.chosen)}
        )
        ledger.set_fact("state", "finished")
        return
    from weakspot.studies.repair.keep import write_card

    began = time.monotonic()
    fitted = _trained(folder, job, network, settings, told) if job.fit is None else job.fit(folder, told)
    learnt = fitted.learnt | {"seconds": round(time.monotonic() - began, 1)}
    ledger.set_fact("training", learnt)
    result = proof(run, job, fitted.target, settings, told)
    known = {"method": settings.method, "training": learnt, "model": fitted.name, "target": job.name}
    ledger.set_fact("repair", result | known)
    ledger.set_fact("state", "finished")
    write_card(
        folder / "model",
        was=job.name,
        name=fitted.name,
        spots=_words(job.chosen),
        settings=asdict(settings),
        trained=learnt,
        result=result,
    )


def _trained(folder: Path, job: Job, network: Any, settings: RepairSettings, told: Progress) -> Fitted:
    """Train a classifier and write it down; what is proved is what was written."""
    from weakspot.tuning.train import train

    assert job.lessons is not None  # noqa: S101 (a job without has a `fit`)
    lessons = job.lessons(network.labels)
    trained = train(
        network,
        lessons,
        _training(settings),
        folder=folder,
        told=lambda epoch, of, row: told(f"training: {row_words(row)}", epoch, of),
    )
    model = folder / "model"
    model.mkdir(parents=True, exist_ok=True)
    name = network.keep(network.module.to("cpu").eval(), model)
    network.module.to(network.device)
    after: Target = MODELS.load(name) if name else network
    return Fitted(after, name, {**trained._asdict(), "pictures": len(lessons)})


def _written(folder: Path, job: Job, settings: RepairSettings) -> dict[str, Any]:
    """The data set alone."""
    from weakspot.studies.repair.dataset import write_folder

    if job.write is not None:
        return job.write(folder)
    assert job.samples is not None  # noqa: S101 (a job without has a `write`)
    rows = job.samples(settings.rate, settings.seed)
    return write_folder(folder, rows, spots=_words(job.chosen), model=job.name)


def _network(job: Job, settings: RepairSettings) -> Any:
    """What is trained: the model behind the target; nothing where only data is wanted."""
    if settings.method == "data" or job.fit is not None:
        return None
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise WeakspotError(
            f"training needs a library that is missing: {error}",
            fix="pip install 'weakspot[torch]', or --method data for a trainer of your own",
        ) from error
    from weakspot.tuning.network import network_of

    network = network_of(job.target, name=job.name)
    if settings.method == "last-layer" or settings.reset_head or settings.layer:  # before there is a run
        from weakspot.tuning.head import last_layer

        case = job.source.draw(job.clean.hypotheses[0], [0], seed=job.seed)[0]
        sample = network.prepare([case.input] * 2).to(network.device)
        last_layer(network.module, sample, labels=len(network.labels), name=settings.layer)
    if settings.method == "lora":
        from weakspot.tuning.lora import need_peft

        need_peft()
    if job.target is network or getattr(job.target, "module", None) is network.module:
        import copy

        network.module = copy.deepcopy(network.module)  # the target must stay as it was
    return network


def _training(settings: RepairSettings) -> Any:
    from weakspot.tuning.train import TrainSettings

    same = (
        "method",
        "layer",
        "rate",
        "epochs",
        "learning_rate",
        "distil",
        "mirror",
        "reset_head",
        "device",
        "seed",
    )
    return TrainSettings(**{name: getattr(settings, name) for name in same})


def _words(spots: Sequence[Spot]) -> list[str]:
    return [spot.words for spot in spots]
