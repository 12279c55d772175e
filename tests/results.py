"""Results of studies as tests need them."""

from __future__ import annotations

from typing import Any

from weakspot.studies.rare.result import Counted, RareResult


def rare_result(rate: float, low: float, high: float, **more: Any) -> RareResult:
    """A rate with its interval."""
    values: dict[str, Any] = {
        "ceiling": high, "images": 20_000, "found": 9, "method": "plain", "agree": True, "note": "",
        "independent": Counted(n=4000, failures=0), "repeats": (), "ladder": (), "roots": 1.0,
        "hypothesis": "none", "answers": (), "common": (), "examples": (),
    }  # fmt: skip
    return RareResult(rate=rate, low=low, high=high, **(values | more))
