"""Which rows of a table failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from weakspot.core.errors import WeakspotError
from weakspot.records.answers import Rule, Verdicts, compared, measured, said_in
from weakspot.records.expression import evaluate
from weakspot.records.judged import Given, Judged, Roles
from weakspot.records.read import read_records
from weakspot.records.roles import answers_in, says, usual_columns
from weakspot.records.table import Column, Kind, LeftOut, Records

#: A column that nobody named keeps rows together if it has at least as many groups.
_FEWEST_GROUPS: Final = 10


def read_judged(given: Given, *, named: Roles | None = None, failed: str = "") -> Judged:
    """Read a table and say which rows failed.

    Args:
        named: Columns that a person named; the other roles are recognised by usual names.
        failed: An expression over columns that says what a failure is; by default the prediction differs
            from the label (and from the relabelled answers).
    """
    named = named or Roles()
    return settled(read_records(given, named=named), named, failed)[0]


def settled(records: Records, named: Roles, failed: str = "") -> tuple[Judged, Rule]:
    """The verdicts of these rows, and the rule that gives those of other rows of their table."""
    roles, notes = _roles(records, named)
    if failed.strip():
        verdicts = _by_expression(failed, records, roles, named)
    else:
        verdicts = _by_columns(records, roles, named)
    rows = [number for number, why in enumerate(verdicts.missing) if not why]
    if not rows:
        raise WeakspotError(
            f"no row of {records.origin} has a verdict: {verdicts.missing[0]}",
            fix="name other columns with --label and --prediction, or say what a failure is with --failed",
        )
    chosen = np.array(rows)
    lines = records.lines.tolist()
    left_out = [LeftOut(line, why) for line, why in zip(lines, verdicts.missing, strict=True) if why]
    kept = replace(records.rows(chosen, left_out=left_out), notes=[*records.notes, *notes, *verdicts.notes])
    outcomes = {
        name
        for name in records.columns
        if says(name, "prediction", "score", "correct", "failed", "outcome")
        or name.startswith("score_")  # as logs call what their scorers said
    }
    used = verdicts.used | {roles.prediction, roles.score, roles.relabelled} | outcomes
    inputs = {roles.label, roles.image, roles.group, roles.id, *roles.text} - verdicts.used
    found = {role for role, column in roles._asdict().items() if column and not getattr(named, role)}
    nothing: list[str | None] = [None] * len(rows)
    score = kept.columns[roles.score].values if roles.score else np.full(len(rows), np.nan)
    judged = Judged(
        kept,
        roles,
        verdicts.failed[chosen],
        verdicts.rule,
        said_in(kept.columns.get(roles.label)) or nothing,
        said_in(kept.columns.get(roles.prediction)) or nothing,
        score,
        frozenset(used - inputs - {""}),
        frozenset(found),
    )
    return judged, verdicts.again


def _roles(records: Records, named: Roles) -> tuple[Roles, list[str]]:
    """Who says what: a person first, then the format itself, then the usual names. And what to tell of it."""
    columns, notes = records.columns, []
    for name in (*named._replace(text=())[:4], *named.text, *named[5:]):
        if name:
            records.column(name)
    if named.score and columns[named.score].kind not in (Kind.NUMBER, Kind.FLAG):
        raise WeakspotError(
            f"column {named.score!r} cannot be the score: it holds {_example(columns[named.score])}",
            fix="name a column of numbers with --score",
        )
    says_itself = {role: name for role, name in records.roles.items() if name in columns}
    label, prediction = answers_in(
        (name for name in columns if name not in _flat(named)),
        label=named.label or says_itself.get("label", ""),
        prediction=named.prediction or says_itself.get("prediction", ""),
    )
    taken = {*_flat(named), *says_itself.values(), label, prediction}

    def usual(role: str, fits: Callable[[Column], bool]) -> str:
        free = (name for name in usual_columns(role, columns) if name not in taken and fits(columns[name]))
        own = says_itself.get(role, "")
        name = own if own and fits(columns[own]) else next(free, "")
        taken.add(name)
        return name

    def words(column: Column) -> bool:
        return column.kind in (Kind.TEXT, Kind.LIST)

    score = named.score or usual("score", _is_probability)
    image = named.image or usual("image", lambda column: column.kind is Kind.TEXT)
    group = named.group
    if not group:
        group = usual("group", lambda column: column.kind in (Kind.TEXT, Kind.NUMBER))
        if group and (few := len({*columns[group].texts()} - {None})) < _FEWEST_GROUPS:
            notes.append(f"rows with the same {group!r} may be split apart: it has only {few} values")
            group = ""
    identity = named.id or usual("id", lambda column: column.kind in (Kind.TEXT, Kind.NUMBER))
    text = named.text
    if not text and "text" in says_itself:
        text = (says_itself["text"],)
    elif not text:
        usually = usual_columns("text", columns)
        text = tuple(name for name in usually if name not in taken and words(columns[name]))
    return Roles(label, prediction, score, image, text, group, identity, named.relabelled), notes


def _flat(roles: Roles) -> set[str]:
    return {name for role in roles for name in ((role,) if isinstance(role, str) else role) if name}


def _is_probability(column: Column) -> bool:
    if column.kind is not Kind.NUMBER:
        return False
    there = column.values[column.present()]
    return bool(len(there) and there.min() >= 0 and there.max() <= 1)


def _example(column: Column) -> str:
    values = (text for text in column.texts() if text is not None)
    return f"{column.kind.value}s such as {next(values, '')[:40]!r}"


def _by_expression(failed: str, records: Records, roles: Roles, named: Roles) -> Verdicts:
    """A role that a person named has its name for itself; any other gives way to a column of that name."""
    by_role = {
        role: column
        for role in ("label", "prediction", "score")
        if (column := getattr(roles, role)) and (getattr(named, role) or role not in records.columns)
    }
    return _expressed(failed, by_role, records)


def _expressed(failed: str, by_role: Mapping[str, str], records: Records) -> Verdicts:
    answer = evaluate(failed, records, by_role)
    lacking = {name: ~records.columns[name].present() for name in sorted(answer.columns)}

    def why(row: int) -> str:
        return ", ".join(name for name, gone in lacking.items() if gone[row])

    missing = [
        "" if known else f"{why(row) or 'the result of a division'} is missing"
        for row, known in enumerate(answer.known.tolist())
    ]
    again = partial(_expressed, failed, by_role)
    return Verdicts(answer.true, missing, " ".join(failed.split()), answer.columns, again)


def _by_columns(records: Records, roles: Roles, named: Roles) -> Verdicts:
    """The verdict of the format itself, or label and prediction, or a column that says right or wrong."""
    both_named = bool(named.label and named.prediction)
    for role in ("correct", "failed"):
        if records.roles.get(role) in records.columns and not both_named:
            return _by_verdict(records, records.roles[role], role)
    known = {role: name for role in ("label", "prediction") if (name := getattr(roles, role))}
    verdict = next(_usual_verdicts(records, _flat(named)), None)
    if len(known) == 2 and (both_named or verdict is None or not measured(*_answers(records, roles))):
        found = compared(records, roles)
        return found._replace(notes=[*found.notes, *_contradicted(found, verdict)])
    if verdict is not None:
        return verdict
    so_far = "".join(f" ({role} is {name!r})" for role, name in known.items())
    raise WeakspotError(
        f"{records.origin} does not say what a failure is{so_far}; its columns are "
        f"{', '.join(records.columns)[:600]}",
        fix="name the right answers with --label and the model's with --prediction, or say what a failure "
        "is: --failed 'loss > 2'",
    )


def _answers(records: Records, roles: Roles) -> tuple[Column, Column]:
    return records.columns[roles.label], records.columns[roles.prediction]


def _usual_verdicts(records: Records, taken: set[str]) -> Iterator[Verdicts]:
    for role in ("correct", "failed"):
        for name in usual_columns(role, records.columns):
            if name not in taken and _is_verdict(records.columns[name]):
                yield _by_verdict(records, name, role)


def _contradicted(found: Verdicts, verdict: Verdicts | None) -> Iterator[str]:
    """What to tell where a column of verdicts says otherwise."""
    if verdict is not None:
        both = np.array([not (a or b) for a, b in zip(found.missing, verdict.missing, strict=True)])
        n = int((both & (found.failed != verdict.failed)).sum())
        if n:
            (name,) = verdict.used
            word = verdict.rule.rpartition(" ")[2]
            rows = f"{n:,} row{'s' * (n > 1)}"
            yield f"column {name!r} disagrees in {rows}: to follow it, use --failed '`{name}` == {word}'"


def _is_verdict(column: Column) -> bool:
    there = column.values[column.present()]
    return column.kind is Kind.FLAG or (
        column.kind is Kind.NUMBER and bool(len(there)) and bool(np.isin(there, (0.0, 1.0)).all())
    )


def _by_verdict(records: Records, name: str, role: str) -> Verdicts:
    column = records.columns[name]
    if not _is_verdict(column):
        raise WeakspotError(
            f"column {column.name!r} is not a verdict: it holds {_example(column)}",
            fix=f"say what a failure is: --failed '`{column.name}` < 0.5'",
        )
    says = 0 if role == "correct" else 1
    word = ("false", "true")[says] if column.kind is Kind.FLAG else says
    return _said(column.name, says, f"{column.name} is {word}", records)


def _said(name: str, says: int, rule: str, records: Records) -> Verdicts:
    column = records.columns[name]
    missing = ["" if there else f"{name} is missing" for there in column.present()]
    again = partial(_said, name, says, rule)
    return Verdicts(column.values == says, missing, rule, frozenset({name}), again)
