"""Right answers and a model's answers, compared row by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core.errors import WeakspotError
from weakspot.records.judged import Roles
from weakspot.records.kinds import FLAGS, number_in
from weakspot.records.table import Column, Kind, Records, coded

#: The answers that a cell holds; one, unless it is a list. None where it is missing.
_Answers = tuple[str, ...] | None

#: What may divide other answers that are right.
_BETWEEN: Final = {
    "marks": re.compile(r"\s*[|;\n]\s*"),
    "commas": re.compile(r"\s*,\s*"),
    "spaces": re.compile(r"\s+"),
}


class _Keys(NamedTuple):
    """The answers of the different cells of a column, and by row the number of its cell among them."""

    codes: NDArray[np.int64]
    keys: list[_Answers]


class Verdicts(NamedTuple):
    """What is known of each row.

    Attributes:
        failed: Whether the model failed.
        missing: Why there is no verdict; "" where there is one.
        rule: What a failure is, in words.
        used: The columns that say it.
        again: Gives the verdicts of other rows of the same table; it can be pickled.
        notes: What a reader should know of it.
    """

    failed: NDArray[np.bool_]
    missing: Sequence[str]
    rule: str
    used: frozenset[str]
    again: Rule
    notes: Sequence[str] = ()


#: The verdicts of rows.
Rule = Callable[[Records], Verdicts]


@dataclass(frozen=True)
class Comparison:
    """How predictions are compared with labels: settled by some rows, and the same for others of their table.

    Attributes:
        truth: Yes and no are compared with truth values.
        in_list: The labels are lists, and a prediction is one of them.
        lists: Both columns hold lists, which must hold the same.
        folded: Case does not count, since it tells no two labels apart.
        between: What divides the other answers that are right (a key of `_BETWEEN`); "" where nothing does.
    """

    label: str
    prediction: str
    relabelled: str = ""
    truth: bool = False
    in_list: bool = False
    lists: bool = False
    folded: bool = False
    between: str = ""

    @classmethod
    def settled(cls, label: Column, prediction: Column, relabelled: Column | None) -> Comparison:
        """The comparison that suits these rows."""
        truth = Kind.FLAG in (label.kind, prediction.kind)
        labels = _labels(_keys(label, truth))
        return cls(
            label.name,
            prediction.name,
            relabelled.name if relabelled else "",
            truth,
            label.kind is Kind.LIST is not prediction.kind,
            label.kind is prediction.kind is Kind.LIST,
            len({key.casefold() for key in labels}) == len(labels),
            _between(relabelled, labels) if relabelled else "",
        )

    @property
    def used(self) -> frozenset[str]:
        return frozenset({self.prediction, self.relabelled} - {""})

    def __str__(self) -> str:
        verb = "is not in" if self.in_list else "differs from"
        other = f" and is not in {self.relabelled}" if self.relabelled else ""
        return f"{self.prediction} {verb} {self.label}{other}"

    def of(self, records: Records) -> Verdicts:
        """Which rows failed, and why some have no verdict."""
        columns = records.columns
        right, said = _keys(columns[self.label], self.truth), _keys(columns[self.prediction], self.truth)
        others = self._others(columns[self.relabelled]) if self.relabelled else None
        if self.folded:
            right, said, others = _folded(right), _folded(said), others and _folded(others)
        reasons = np.array([f"{self.label} is missing", f"{self.prediction} is missing", ""], object)
        known = [np.array([bool(key) for key in one.keys], bool)[one.codes] for one in (right, said)]
        missing = reasons[np.where(known[0], np.where(known[1], 2, 1), 0)].tolist()
        return Verdicts(_failures(right, said, others, self.lists), missing, str(self), self.used, self.of)

    def _others(self, column: Column) -> _Keys:
        if column.kind is Kind.LIST:
            return _keys(column, False)
        codes, texts = coded(column.texts())
        mark = _BETWEEN.get(self.between)
        parts = [[text or ""] if mark is None else mark.split(text or "") for text in texts]
        return _Keys(codes, [tuple(key for key in answer_keys(row) if key) or None for row in parts])


def compared(records: Records, roles: Roles) -> Verdicts:
    """A prediction fails if it is none of the right answers; case counts only where it tells labels apart."""
    label, prediction = records.columns[roles.label], records.columns[roles.prediction]
    relabelled = records.columns.get(roles.relabelled)
    if measured(label, prediction):
        raise WeakspotError(
            f"{prediction.name!r} and {label.name!r} are measurements, and it is not said how far "
            f"apart is wrong",
            fix=f"say it: --failed 'abs({prediction.name} - {label.name}) > 2'",
        )
    for column in (label, prediction):
        if column.kind is Kind.VECTOR:
            raise WeakspotError(
                f"column {column.name!r} holds vectors, not answers", fix="name another column"
            )
    comparison, notes = Comparison.settled(label, prediction, relabelled), []
    found = comparison.of(records)
    if comparison.folded:
        n = int((found.failed != replace(comparison, folded=False).of(records).failed).sum())
        if n:
            notes.append(f"upper and lower case count as the same, which matters in {n:,} row{'s' * (n > 1)}")
    labels = _labels(_keys(label, comparison.truth))
    if not labels & _labels(_keys(prediction, comparison.truth)) and found.failed.all():
        notes.append(f"no {prediction.name} is one of the labels: do both columns use the same names?")
    return found._replace(notes=notes)


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


def answer_keys(values: Sequence[Any] | NDArray[Any], *, truth: bool = False) -> list[str | None]:
    """Answers in the form in which equal ones are equal: "3", 3 and 3.0 are one answer.

    Args:
        truth: Yes and no are compared with truth values.
    """
    codes, distinct = coded(values.tolist() if isinstance(values, np.ndarray) else values)
    keys = [_key(value, truth) for value in distinct]
    return [keys[code] for code in codes.tolist()]


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


def _keys(column: Column, truth: bool) -> _Keys:
    there = column.present()
    codes, distinct = coded(np.where(there, column.values.astype(object), np.array(None, object)).tolist())
    if column.kind is Kind.LIST:
        lists = ([key for key in answer_keys(one or (), truth=truth) if key] for one in distinct)
        return _Keys(codes, [tuple(one) or None for one in lists])
    return _Keys(codes, [(key,) if key else None for key in answer_keys(distinct, truth=truth)])


def _labels(keys: _Keys) -> set[str]:
    return {key for some in keys.keys for key in some or ()}


def _failures(right: _Keys, said: _Keys, others: _Keys | None, both_lists: bool) -> NDArray[np.bool_]:
    """The first of several predictions counts, but two lists must hold the same."""

    def failed(answers: _Answers, expected: _Answers, more: _Answers) -> bool:
        if not answers or not expected:
            return False
        if answers[0] in (more or ()):
            return False
        return set(answers) != set(expected) if both_lists else answers[0] not in expected

    # Most tables have few different pairs of answers, and each is looked at once.
    more = others or _Keys(np.zeros(len(said.codes), np.int64), [None])
    pairs, place = np.unique(said.codes * len(right.keys) + right.codes, return_inverse=True)
    rows, place = np.unique(place * len(more.keys) + more.codes, return_inverse=True)
    pair, other = pairs[rows // len(more.keys)], rows % len(more.keys)
    cells = zip((pair // len(right.keys)).tolist(), (pair % len(right.keys)).tolist(), other, strict=True)
    found = np.array([failed(said.keys[a], right.keys[b], more.keys[c]) for a, b, c in cells], bool)
    return found[place]


def _folded(keys: _Keys) -> _Keys:
    folded = [None if key is None else tuple(one.casefold() for one in key) for key in keys.keys]
    return keys._replace(keys=folded)


def _between(column: Column, labels: set[str]) -> str:
    """What divides a text of other answers that are right; spaces do if no label has one."""
    texts = {*column.texts()} - {None}
    comma = any("," in label for label in labels)  # then a comma is part of an answer
    for between in ("marks",) if comma else ("marks", "commas"):
        if any(_BETWEEN[between].search(text or "") for text in texts):
            return between
    return "" if comma or any(" " in label for label in labels) else "spaces"
