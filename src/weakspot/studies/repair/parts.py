"""What `repair` is made with: the run whose weak spots it repairs, the job that run leaves, the network."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weakspot.core import Target, WeakspotError
from weakspot.core.ports import digest_of
from weakspot.store import Run
from weakspot.studies.repair.settings import RepairSettings
from weakspot.study.repairs import Job
from weakspot.study.study import find_study


@dataclass(frozen=True, slots=True)
class RepairParts:
    """The run whose weak spots are repaired, open for reading, the job that it leaves, the network to train.

    There is no network where only data is wanted, or the job trains its model itself.
    """

    before: Run
    job: Job
    network: Any
    digests: Mapping[str, str] = field(default_factory=dict)

    def close(self) -> None:
        self.before.close()


def load(settings: RepairSettings, *, target: Target | None = None) -> RepairParts:
    run = Run.read(Path(settings.run))
    try:
        job = job_of(run, settings, target=target)
        network = _network(job, settings)
        digest = digest_of(job.target)
    except BaseException:
        run.close()
        raise
    return RepairParts(run, job, network, {**job.digests, **({"target": digest} if digest else {})})


def job_of(run: Run, settings: RepairSettings, *, target: Target | None = None) -> Job:
    """The job that a run leaves, if its study leaves any."""
    build = find_study(run.config.study).find("repair")
    if build is None:
        raise WeakspotError(
            f"{run.folder} is a run of {run.config.study[:60]}, which repair cannot use",
            fix="name a run of map, hunt or mine",
        )
    job: Job = build(run, settings, target=target)
    return job


def subject(_: RepairSettings, parts: RepairParts) -> str:
    return parts.before.config.subject


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
    from weakspot.tuning.network import Network, last_layer, need_peft, network_of
    from weakspot.tuning.torch_model import TorchClassifier

    network = network_of(job.target, name=job.name)
    if settings.method == "last-layer" or settings.reset_head or settings.layer:  # before there is a run
        case = job.source.draw(job.clean.hypotheses[0], [0], seed=job.seed)[0]
        sample = network.prepare([case.input] * 2).to(network.device)
        last_layer(network.module, sample, labels=len(network.labels), name=settings.layer)
    if settings.method == "lora":
        need_peft()
    held = job.target.module if isinstance(job.target, Network | TorchClassifier) else None
    if held is network.module:
        network.module = copy.deepcopy(network.module)  # the target must stay as it was
    return network
