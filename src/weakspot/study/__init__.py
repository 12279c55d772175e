"""The frame that every study shares: options, parts, a run's life, results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weakspot.study.options import Option, StudySettings
from weakspot.study.study import Result, Study

if TYPE_CHECKING:
    from weakspot.study.lifecycle import Context

__all__ = ["Context", "Option", "Result", "Study", "StudySettings"]


def __getattr__(name: str) -> Any:
    if name != "Context":  # it brings the engine, which the help of a command does without
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from weakspot.study.lifecycle import Context

    return Context
