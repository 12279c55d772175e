"""The studies: each reads from top to bottom like the method in its paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError
from weakspot.store import Run
from weakspot.studies import hunt

__all__ = ["resume"]

_GO_ON = {"hunt": hunt.go_on}


def resume(folder: str | Path, **changes: Any) -> Run:
    """Go on with an interrupted run of any study.

    Args:
        folder: The run's.
        changes: A larger budget, a watch, or objects for parts without a name (target, source, judge).

    Returns:
        The run, open for reading.
    """
    with Run.open(Path(folder)) as run:
        study = _GO_ON.get(run.config.study)
        if study is None:
            raise WeakspotError(
                f"no study is called {run.config.study!r}", fix="was it made by a newer weakspot?"
            )
        if run.state != "finished":
            study(run, **changes)
    return Run.read(Path(folder))
