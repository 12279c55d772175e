"""A gate for a table of results or a log: limits on failure rates, and on what became worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from weakspot.after.gate import ALPHA, INCREASE, PART, RATE, Check, Gate, Limits, check_limits, passed, wanted
from weakspot.after.table_compare import ALL, compare_tabled, models_of, rate_of
from weakspot.after.table_pairs import Tabled, cases_of, categories, read_tabled
from weakspot.core import WeakspotError
from weakspot.records import Roles
from weakspot.records.judged import Given
from weakspot.report import format as show

#: What strictness says of rows without a verdict.
_WORST: Final = (
    "strict: rows without a verdict count as failures ({here:,}), those of the other table as successes "
    "({there:,})"
)


def gate_tables(
    table: Given,
    limits: Limits,
    *,
    against: Given | None = None,
    by: Sequence[str] = (),
    named: Roles | None = None,
    failed: str = "",
) -> Gate:
    """Decide whether a table keeps its limits; as `weakspot.after.gate.gate` does of a run.

    Rows without a verdict are neither successes nor failures. With too many of them nothing is decided;
    strictly, the worst is thought of them.
    """
    check_limits(limits, against=against is not None)
    if limits.findings is not None:
        raise WeakspotError("a table has no findings to limit", fix="leave out --max-findings")
    if limits.certified is not None:
        raise WeakspotError(
            "a table alone cannot certify anything",
            fix="weakspot hunt TABLE, then gate that run with --certified",
        )
    if (limits.part_rate is not None) and not by:
        raise WeakspotError(
            "it is not said which parts to limit",
            fix="name a column whose values are categories: --by COLUMN",
        )
    one = read_tabled(table, named=named, failed=failed)
    other = None if against is None else read_tabled(against, named=named, failed=failed)
    gone = [_missing(side, limits.errors) for side in (one, other) if side is not None]
    notes = []
    if any(gone) and limits.strict:
        one, other = _filled(one, 1.0), None if other is None else _filled(other, 0.0)
        notes.append(_WORST.format(here=gone[0], there=sum(gone[1:])))
    elif any(gone):
        notes.append(f"rows without a verdict are left out: {' and '.join(f'{n:,}' for n in gone)}")
    once = _checks(one, other, limits, by, level=1 - ALPHA)
    if not once:
        raise WeakspotError(
            "none of these limits applies to anything that was measured", fix="correct --only"
        )
    level = 1 - ALPHA if limits.strict else 1 - ALPHA / len(once)
    checks = _checks(one, other, limits, by, level=level)
    if other is not None:
        notes += compare_tabled(other, one, by=()).notes
    return Gate(
        run=one.records.origin,
        against="" if other is None else other.records.origin,
        model=models_of(one),
        checks=tuple(sorted(checks, key=lambda check: check.passed)),
        level=level,
        strict=limits.strict,
        notes=tuple(dict.fromkeys(notes)),
    )


def _missing(table: Tabled, most: float) -> int:
    """Rows without a verdict, those included that could not be read; refused if they are too many."""
    gone = int(np.isnan(table.failed).sum()) + len(table.records.left_out)
    share = gone / max(len(table.failed) + len(table.records.left_out), 1)
    if share > most:
        raise WeakspotError(
            f"{show.percent(share)} of the rows of {table.records.origin} have no verdict",
            fix="run what failed again, or raise --max-errors",
        )
    return gone


def _filled(table: Tabled, value: float) -> Tabled:
    return table._replace(failed=np.where(np.isnan(table.failed), value, table.failed))


def _checks(
    table: Tabled, other: Tabled | None, limits: Limits, by: Sequence[str], *, level: float
) -> list[Check]:
    found = []
    cases = cases_of(table)
    parts = [(RATE, ALL, cases, limits.rate)]
    for name in by if limits.part_rate is not None else ():
        for value, chosen in categories(table, cases, name):
            parts.append((PART, f"{name}: {value}", cases.only(chosen), limits.part_rate))
    for what, words, part, limit in parts:
        rate = rate_of(part, 0, level)
        if limit is not None and rate is not None and wanted(words, limits.only):
            keeps = passed(rate.low, rate.high, limit, limits.strict)
            found.append(Check(what, words, *rate[:4], limit, keeps))
    if other is not None:
        most = limits.increase or 0.0
        for row in compare_tabled(other, table, by=by, level=level).rows:
            if row.contrast is not None and wanted(row.measure.words, limits.only):
                d = row.contrast
                keeps = passed(d.low, d.high, most, limits.strict)
                found.append(
                    Check(INCREASE, row.measure.words, d.difference, d.low, d.high, d.n, most, keeps)
                )
    return found
