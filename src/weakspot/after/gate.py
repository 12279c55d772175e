"""A gate: may this model go out? Limits on rates and on what became worse, decided by intervals.

By default a limit is broken when it is shown to be: the lower end of the interval lies above it. Strict, it
is broken unless the contrary is shown: the upper end must not lie above it. Without strictness the intervals
of all checks hold together (each at 1 − 0.05 / checks), so that a model which keeps every limit is stopped by
luck at most once in twenty; with it each holds by itself (95 %), so that a model which breaks some limit
slips through at most once in twenty (Berger 1982: all must be shown, so none needs adjusting).
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, NamedTuple

from weakspot.after.compared import compare, model_of
from weakspot.core import Tally, WeakspotError
from weakspot.report import format as show
from weakspot.report.markdown import escape, table
from weakspot.store import Run
from weakspot.study.lifecycle import UNDONE
from weakspot.study.rates import OVERALL, Excluded, rates_of
from weakspot.text.clauses import legible

ALPHA: Final = 0.05
#: What a check is about.
RATE, PART, INCREASE, FINDINGS = "rate", "rate of a part", "increase", "findings"
CERTIFIED = "certified"
#: Of these the certificate itself says with which certainty.
_CERTAIN: Final = "--certified passes only if the run shows it (at 95 %), with --strict or without"
_NONE: Final = "no certificate: the run does not say how often anything else may fail"


class CannotSay(WeakspotError):
    """It cannot be decided whether a limit is broken."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run must keep; None where there is no such limit."""

    rate: float | None = None  # of the overall rates: the baseline of a hunt, the questions of a benchmark
    part_rate: float | None = None  # of every finding, slice, cell, category
    findings: int | None = None  # confirmed findings
    certified: float | None = None  # of what was tried and not found: the bound that the run certifies
    increase: float | None = None  # of every rate above the other run's, as a share (0.02 is two points)
    errors: float = 0.1  # share of trials that may end in an error before nothing can be said
    strict: bool = False  # a limit counts as broken unless it is shown to be kept
    # patterns of the words of what is looked at, * for anything; everything if there are none
    only: tuple[str, ...] = ()


class Check(NamedTuple):
    """One limit and what was seen."""

    what: str
    words: str
    value: float
    low: float
    high: float
    n: int
    limit: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The verdict."""

    run: str  # its folder
    against: str  # the other run's folder; "" without one
    model: str  # under test
    checks: tuple[Check, ...]  # those that failed first
    level: float  # of the intervals
    strict: bool  # see `Limits`
    notes: tuple[str, ...]  # what else is to be known

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]


def gate(run: Run, limits: Limits, *, against: Run | None = None) -> Gate:
    """Decide whether a run keeps its limits, or say why that cannot be decided.

    Rates are compared with those of a run of the same study, `against`, if there is one; an increase of 0 is
    then the limit unless one is given.
    """
    check_limits(limits, against=against is not None)
    notes: list[str] = []
    for one in (run,) if against is None else (run, against):
        notes += _whole(one, limits.errors)
    most = (limits.increase or 0.0) if against is not None else None
    # Twice: first to know how many intervals there are.
    once = _checks(run, against, limits, most, level=1 - ALPHA)
    n = sum(check.what not in (FINDINGS, CERTIFIED) for check in once)
    level = 1 - ALPHA if limits.strict else 1 - ALPHA / max(n, 1)
    checks = _checks(run, against, limits, most, level=level)
    if not checks:
        raise WeakspotError(
            "none of these limits applies to anything that was measured",
            fix="correct --only" if limits.only else f"see: weakspot report {run.folder}",
        )
    if against is not None:
        notes += [note for note in compare(against, run).notes if "is not finished" not in note]
    if limits.certified is not None:
        notes.append(_CERTAIN)
    return Gate(
        run=str(run.folder),
        against="" if against is None else str(against.folder),
        model=model_of(run.config),
        checks=tuple(sorted(checks, key=lambda check: check.passed)),
        level=level,
        strict=limits.strict,
        notes=tuple(dict.fromkeys(notes)),
    )


def check_limits(limits: Limits, *, against: bool) -> None:
    """Refuse limits that cannot be meant, or that there are none."""
    if not against and limits.increase is not None:
        raise WeakspotError(
            "a limit on increases needs a run to compare with", fix="name the other run: --against RUN"
        )
    if not against and not limited(limits):
        raise WeakspotError("there is no limit to check", fix="add --max-rate 0.05, or --against RUN")
    for name, value, most, fix in (
        ("--max-rate", limits.rate, 1, "write a share, e.g. 0.05 for 5 %"),
        ("--max-part-rate", limits.part_rate, 1, "write a share, e.g. 0.05 for 5 %"),
        ("--certified", limits.certified, 1, "write a share, e.g. 0.08 for 8 %"),
        ("--max-increase", limits.increase, 1, "write a share, e.g. 0.02 for two points"),
        ("--max-findings", limits.findings, math.inf, "write 0 or more"),
        ("--max-errors", limits.errors, 1, "write a share, e.g. 0.1"),
    ):
        if value is not None and not 0 <= value <= most:
            raise WeakspotError(f"{name} cannot be {value}", fix=fix)


def limited(limits: Limits) -> bool:
    """Whether there is a limit that needs no other run."""
    which = (limits.rate, limits.part_rate, limits.findings, limits.certified)
    return any(limit is not None for limit in which)


def _whole(run: Run, most: float) -> list[str]:
    """Refuse a run of which nothing can be said; notes on one that was cut short."""
    rates_of(run)  # refused where it has none
    state = run.state
    if state == "running" or state.startswith(UNDONE):
        raise WeakspotError(f"{run.folder} is not finished ({state})", fix=f"weakspot resume {run.folder}")
    total = reduce(Tally.plus, run.ledger.tallies().values(), Tally())
    if total.drawn and total.errors > most * total.drawn:
        raise WeakspotError(
            f"{show.percent(total.errors / total.drawn)} of the trials in {run.folder} ended in an error",
            fix=f"correct what fails, then: weakspot resume {run.folder}; or raise --max-errors",
        )
    return [] if state == "finished" else [f"{run.folder} was {state}."]


def _checks(
    run: Run, against: Run | None, limits: Limits, increase: float | None, *, level: float
) -> list[Check]:
    found = []
    rates = rates_of(run)
    for measure in rates.measures():
        limit = limits.rate if measure.kind == OVERALL else limits.part_rate
        if limit is None or not wanted(measure.words, limits.only):
            continue
        sample = rates.sample(measure)
        rate = None if sample is None else sample.rate(level)
        if rate is None or not rate.n:
            if measure.kind == OVERALL:
                raise WeakspotError(
                    f"nothing was measured for ‘{measure.words[:100]}’ in {run.folder}", fix="run it again"
                )
            continue
        what = RATE if measure.kind == OVERALL else PART
        kept = passed(rate.low, rate.high, limit, limits.strict)
        found.append(Check(what, measure.words, *rate[:4], limit, kept))
    if limits.findings is not None:
        n = sum(finding.confirmed for finding in run.findings)
        found.append(Check(FINDINGS, "confirmed findings", n, n, n, n, limits.findings, n <= limits.findings))
    if limits.certified is not None:
        found.append(_certified(rates.excluded(), limits.certified))
    if against is not None and increase is not None:
        for row in compare(against, run, level=level).rows:
            if row.contrast is not None and wanted(row.measure.words, limits.only):
                d = row.contrast
                kept = passed(d.low, d.high, increase, limits.strict)
                words = f"{row.measure.words}{'' if row.paired else ' (separate cases)'}"
                found.append(Check(INCREASE, words, d.difference, d.low, d.high, d.n, increase, kept))
    return found


def _certified(excluded: Excluded | None, limit: float) -> Check:
    """Whether a run shows that nothing else fails more often than the limit."""
    if excluded is None:
        return Check(CERTIFIED, _NONE, 1.0, 0.0, 1.0, 0, limit, False)
    words, of, bound = excluded
    return Check(CERTIFIED, words, bound, 0.0, bound, of, limit, bound <= limit)


def passed(low: float, high: float, limit: float, strict: bool) -> bool:
    return high <= limit if strict else low <= limit


def wanted(words: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatch.fnmatch(words.lower(), f"*{pattern.lower()}*") for pattern in only)


def rule(found: Gate) -> str:
    """How it was decided, in a sentence."""
    level = f"{100 * found.level:.6g} %"
    if found.strict:
        return f"strict: passes only if the upper end of every {level} interval is within its limit"
    return f"fails only if the lower end of an interval ({level} each, 95 % together) is above its limit"


def conclusion(found: Gate) -> str:
    n, bad = len(found.checks), found.failed
    if not bad:
        return f"passed: {show.plural(n, 'check')}"
    which = ", ".join(f"‘{show.shorten(legible(check.words), 80)}’" for check in bad[:3])
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    return f"failed: {len(bad)} of {show.plural(n, 'check')}: {which}{more}"


def cells(check: Check) -> tuple[str, str]:
    if check.what == FINDINGS:
        return f"{check.value:.0f}", f"{check.limit:.0f}"
    if check.what == CERTIFIED:
        return f"at most {show.at_most(check.high)} (of {show.count(check.n)})", show.level(check.limit)
    if check.what == INCREASE:
        wide = check.high - check.low
        d = 0 if wide >= 0.2 else 1 if wide >= 0.02 else 2 if wide >= 0.002 else 4
        seen = f"{100 * check.value:+.{d}f} points [{100 * check.low:.{d}f}, {100 * check.high:.{d}f}]"
        return f"{seen} of {show.count(check.n)}", f"{100 * check.limit:+.6g} points"
    seen = f"{show.percent(check.value)} {show.interval(check.low, check.high)} of {show.count(check.n)}"
    return seen, show.level(check.limit)


def markdown(found: Gate) -> str:
    """The verdict as Markdown, for the summary of a job."""
    about = f"{escape(found.model, 120)}: `{found.run.replace('`', '')}`"
    other = f" against `{found.against.replace('`', '')}`" if found.against else ""
    verdict = "❌ failed" if found.failed else "✅ passed"
    rows = [
        ("✅" if one.passed else "❌", show.shorten(legible(one.words), 160), *cells(one))
        for one in found.checks
    ]
    blocks = [
        f"## weakspot gate: {verdict}",
        f"{about}{other}",
        table(("", "what", "seen", "limit"), rows[:50]),
        *([f"and {len(rows) - 50} more with the same verdict"] if len(rows) > 50 else []),
        f"It {rule(found)}." if not found.strict else f"{rule(found).capitalize()}.",
        *(escape(note, 500) for note in found.notes),
    ]
    return "\n\n".join(blocks) + "\n"


def to_json(found: Gate) -> dict[str, Any]:
    return {
        "format": 1,
        "passed": not found.failed,
        "run": found.run,
        "against": found.against or None,
        "model": found.model,
        "strict": found.strict,
        "level": found.level,
        "rule": rule(found),
        "summary": conclusion(found),
        "checks": [check._asdict() for check in found.checks],
        "notes": list(found.notes),
    }
