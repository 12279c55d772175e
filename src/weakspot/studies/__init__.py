"""The studies: each reads from top to bottom like the method in its paper."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError
from weakspot.core.studies import study_names
from weakspot.store import Run
from weakspot.study.executors import check_executor

__all__ = ["resume", "settings_of"]

_STUDIES = ("map",)


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
        framed = run.config.study in study_names()
    if framed:
        from weakspot.study import lifecycle

        return lifecycle.resume(folder, **changes)
    with Run.open(Path(folder)) as run:
        study = _study(run)
        check_executor(changes.get("executor"))
        if run.state != "finished":
            study.go_on(run, **changes)
    return Run.read(Path(folder))


def settings_of(run: Run, *, budget: str | None = None) -> Any:
    """What a run was asked to do, checked; with another budget, if one is given."""
    if run.config.study in study_names():
        from weakspot.study import lifecycle

        return lifecycle.settings_of(run, budget=budget)
    return _study(run).settings_of(run, budget=budget)


def _study(run: Run) -> Any:
    if run.config.study not in _STUDIES:
        raise WeakspotError(
            f"no study is called {run.config.study[:80]!r}", fix="was it made by a newer weakspot?"
        )
    return import_module(f"weakspot.studies.{run.config.study}.method")
