"""The report as plain values, for machines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from weakspot.core import Finding
from weakspot.report.facts import Facts
from weakspot.report.measured import Base, Tried
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
        "baselines": [_base(facts, base) for base in facts.bases],
        "validity": _validity(facts),
        "findings": _plain([_finding(facts, f) for f in facts.findings]),
        "tries": [_tried(tried) for tried in facts.tries],
        "race": [lane._asdict() for lane in facts.lanes],
        "trials": {"drawn": trials.drawn, **trials._asdict()},
        "errors": [{"what": what, "times": times} for what, times in facts.errors],
        "skipped": [{"file": name, "why": why} for name, why in facts.skipped],
        "spend": {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in facts.spend.items()},
        "digests": dict(config.digests),
        "versions": dict(config.versions),
    }


def _base(facts: Facts, base: Base) -> dict[str, Any]:
    """A label's baseline; with the rate as it would be without the check, where there was one."""
    checked = facts.verifiers and base.tally.invalid
    return {
        "label": base.label,
        "id": base.hypothesis.id,
        "text": base.hypothesis.text,
        **base.rate._asdict(),
        "unchecked": base.unchecked._asdict() if checked else None,
    }


def _validity(facts: Facts) -> dict[str, Any] | None:
    """Who was asked whether the cases are valid, and the source's own error rate on plain cases."""
    own = facts.invalid
    if own is None:
        return None
    return {
        "verify": list(facts.verifiers),
        "invalid": own.failures,
        "n": own.n,
        "value": own.value,
        "low": own.low,
        "high": own.high,
    }


def _finding(facts: Facts, finding: Finding) -> dict[str, Any]:
    base = facts.base_of(finding)
    return {
        **finding.to_json(),
        "label": base.label if base is not None else facts.setting("label"),
        "edits": [
            {
                "id": rung.hypothesis.id,
                "text": rung.hypothesis.text,
                "phrase": rung.phrase,
                "kind": rung.kind,
                "before": rung.before,
                "after": rung.after,
                "rate": rung.rate._asdict(),
            }
            for rung in facts.rungs(finding)
        ],
    }


def _tried(tried: Tried) -> dict[str, Any]:
    return {
        "id": tried.hypothesis.id,
        "text": tried.hypothesis.text,
        "phrase": tried.phrase,
        "label": tried.label,
        "verdict": tried.verdict,
        "rate": tried.rate._asdict(),
        "baseline": tried.baseline._asdict(),
        "confusions": [list(pair) for pair in tried.answers],
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
