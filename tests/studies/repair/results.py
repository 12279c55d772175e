"""What a repair found, as `--json` has it."""

from __future__ import annotations

from typing import Any

from weakspot.store import Run
from weakspot.study.reports import summary


def result_of(run: Run) -> dict[str, Any]:
    """The verdict, the changes, the training."""
    found: dict[str, Any] = summary(run)["result"]
    return found


def parts_of(run: Run) -> dict[str, int]:
    """Inputs per part."""
    found: dict[str, int] = summary(run)["parts"]
    return found
