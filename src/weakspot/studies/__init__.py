"""The studies: each reads from top to bottom like the method in its paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError
from weakspot.store import Run
from weakspot.studies.ask import method as ask
from weakspot.studies.ask.settings import AskSettings
from weakspot.studies.hunt import method as hunt
from weakspot.studies.map import method as map_
from weakspot.studies.mine import method as mine
from weakspot.studies.rare import method as rare
from weakspot.studies.repair import method as repair_
from weakspot.study.executors import SPREAD, check_executor, check_spread

__all__ = ["resume", "settings_of"]

_STUDIES = {"ask": ask, "hunt": hunt, "map": map_, "mine": mine, "rare": rare, "repair": repair_}
Settings = (
    hunt.HuntSettings
    | AskSettings
    | rare.RareSettings
    | mine.MineSettings
    | map_.MapSettings
    | repair_.RepairSettings
)


def resume(folder: str | Path, **changes: Any) -> Run:
    """Go on with an interrupted run of any study.

    Args:
        folder: The run's.
        changes: A larger budget, a watch, an executor (of a hunt or a map), or objects for parts without a
            name (target, source, judge).

    Returns:
        The run, open for reading.
    """
    with Run.open(Path(folder)) as run:
        study = _study(run)
        check_spread(run.config.study, changes.get("executor"))
        check_executor(changes.get("executor"))
        if run.config.study not in SPREAD:
            changes.pop("executor", None)
        if run.state != "finished":
            study.go_on(run, **changes)
    return Run.read(Path(folder))


def settings_of(run: Run, *, budget: str | None = None) -> Settings:
    """What a run was asked to do, checked; with another budget, if one is given."""
    settings: Settings = _study(run).settings_of(run, budget=budget)
    return settings


def _study(run: Run) -> Any:
    study = _STUDIES.get(run.config.study)
    if study is None:
        raise WeakspotError(
            f"no study is called {run.config.study[:80]!r}", fix="was it made by a newer weakspot?"
        )
    return study
