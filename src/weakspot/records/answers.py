"""Right answers and a model's answers, compared row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core.errors import WeakspotError
from weakspot.records.kinds import FLAGS, number_in
from weakspot.records.table import Column, Kind

#: The answers that a cell holds; one, unless it is a list. None where it is missing.
_Answers = tuple[str, ...] | None
Keys = list[_Answers]

_SEPARATORS: Final = tuple(re.compile(rf"\s*{mark}\s*") for mark in (r"[|;\n]", ","))


class Verdicts(NamedTuple):
    """What is known of each row.

    Attributes:
        failed: Whether the model failed.
        missing: Why there is no verdict; "" where there is one.
        rule: What a failure is, in words.
        used: The columns that say it.
        notes: What a reader should know of it.
    """

    failed: NDArray[np.bool_]
    missing: Sequence[str]
    rule: str
    used: frozenset[str]
    notes: Sequence[str] = ()


def compared(label: Column, prediction: Column, relabelled: Column | None) -> Verdicts:
    """A prediction fails if it is none of the right answers; case counts only where it tells labels apart."""
    if measured(label, prediction):
        raise WeakspotError(
            f"{prediction.name!r} and {label.name!r} are measurements: nothing says how far apart is wrong",
            fix=f"say it: --failed 'abs({prediction.name} - {label.name}) > 2'",
        )
    for column in (label, prediction):
        if column.kind is Kind.VECTOR:
            raise WeakspotError(
                f"column {column.name!r} holds vectors, not answers", fix="name another column"
            )
    truth = Kind.FLAG in (label.kind, prediction.kind)
    right, said = _keys(label, truth), _keys(prediction, truth)
    others = _others(relabelled, right) if relabelled else None
    both_lists = label.kind is prediction.kind is Kind.LIST
    failed, notes = _failures(right, said, others, both_lists), []
    labels = {key for keys in right if keys for key in keys}
    if len({key.casefold() for key in labels}) == len(labels):
        folded = _failures(_folded(right), _folded(said), others and _folded(others), both_lists)
        if (n := int((failed != folded).sum())) > 0:
            notes.append(f"upper and lower case count as the same, which matters in {n:,} row{'s' * (n > 1)}")
        failed = folded
    missing = [
        f"{label.name} is missing" if not a else "" if b else f"{prediction.name} is missing"
        for a, b in zip(right, said, strict=True)
    ]
    verb = "is not in" if label.kind is Kind.LIST and not both_lists else "differs from"
    rule = f"{prediction.name} {verb} {label.name}"
    used = {prediction.name}
    if relabelled:
        rule += f" and is not in {relabelled.name}"
        used.add(relabelled.name)
    if not labels & {key for keys in said if keys for key in keys} and failed.all():
        notes.append(f"no {prediction.name} is one of the labels: do both columns use the same names?")
    return Verdicts(failed, missing, rule, frozenset(used), notes)


def measured(label: Column, prediction: Column) -> bool:
    """Whether the answers are quantities, or probabilities: numbers with fractions that no label has."""
    if label.kind not in (Kind.NUMBER, Kind.FLAG) or prediction.kind is not Kind.NUMBER:
        return False
    values = prediction.values[prediction.present()]
    return bool((values % 1 != 0).any()) and not bool(np.isin(values, label.values).all())


def said_in(column: Column | None) -> list[str | None] | None:
    """Answers as people read them."""
    if column is None:
        return None
    texts = column.texts()
    return [{"1": "true", "0": "false"}.get(t or "", t) for t in texts] if column.kind is Kind.FLAG else texts


def answer_keys(values: Sequence[object] | NDArray[np.generic], *, truth: bool = False) -> list[str | None]:
    """Answers in the form in which equal ones are equal: "3", 3 and 3.0 are one answer.

    Args:
        truth: Yes and no are compared with truth values.
    """
    return [_key(value, truth) for value in values]


def _key(value: object, truth: bool) -> str | None:
    if value is None:
        return None
    if isinstance(value, tuple):
        return " | ".join(sorted(_key(one, truth) or "" for one in value))
    if isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    if isinstance(value, int | float | np.number):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    text = str(value).strip()
    if truth and text.lower() in FLAGS:
        return str(int(FLAGS[text.lower()]))
    found = number_in(text)
    return text if found is None else _key(found, truth)


def _keys(column: Column, truth: bool) -> Keys:
    if column.kind is Kind.LIST:
        return [
            None if not v else tuple(key for key in answer_keys(v, truth=truth) if key) for v in column.values
        ]
    keys = answer_keys(column.values, truth=truth)
    return [(key,) if key and there else None for key, there in zip(keys, column.present(), strict=True)]


def _failures(right: Keys, said: Keys, others: Keys | None, both_lists: bool) -> NDArray[np.bool_]:
    """The first of several predictions counts, but two lists must hold the same."""

    def failed(answers: _Answers, expected: _Answers, more: _Answers) -> bool:
        if not answers or not expected:
            return False
        if answers[0] in (more or ()):
            return False
        return set(answers) != set(expected) if both_lists else answers[0] not in expected

    rows = zip(said, right, others or [None] * len(right), strict=True)
    return np.array([failed(*row) for row in rows], bool)


def _folded(keys: Keys) -> Keys:
    return [None if key is None else tuple(one.casefold() for one in key) for key in keys]


def _others(column: Column, right: Keys) -> Keys:
    """Other answers that are right: a list, or parts of a text; spaces divide it if no label has one."""
    if column.kind is Kind.LIST:
        return _keys(column, False)
    texts = column.texts()
    labels = [key for keys in right if keys for key in keys]
    comma = any("," in label for label in labels)  # then a comma is part of an answer
    used = (mark for mark in _SEPARATORS[: 1 if comma else 2] if any(mark.search(t) for t in texts if t))
    if (mark := next(used, None)) is not None:
        parts: Iterator[list[str]] = (mark.split(text or "") for text in texts)
    elif comma or any(" " in label for label in labels):
        parts = ([text or ""] for text in texts)
    else:
        parts = ((text or "").split() for text in texts)
    return [tuple(key for key in answer_keys(row) if key) or None for row in parts]
