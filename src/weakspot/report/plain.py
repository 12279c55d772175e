"""The report as plain values, for machines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from weakspot.report.facts import Facts
from weakspot.report.telling import conclusion


def summary(facts: Facts) -> dict[str, Any]:
    """Plain values under stable keys: what report.json holds and `--json` prints."""
    config, trials = facts.config, facts.trials
    return {
        "format": 1,
        "study": config.study,
        "subject": config.subject,
        "folder": str(facts.folder),
        "state": facts.state,
        "created": config.created,
        "conclusion": conclusion(facts),
        "settings": _plain(config.settings),
        "baseline": None
        if facts.base is None or facts.baseline is None
        else {"id": facts.base.id, "text": facts.base.text, **facts.baseline._asdict()},
        "findings": _plain([f.to_json() for f in facts.findings]),
        "race": [lane._asdict() for lane in facts.lanes],
        "trials": {"drawn": trials.drawn, **trials._asdict()},
        "errors": [{"what": what, "times": times} for what, times in facts.errors],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in facts.spend.items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }


def _plain(value: Any) -> Any:
    """Only what JSON knows: numbers that are not finite become null, strangers their text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    return str(value)
