"""The small language of `--failed`: an expression over columns, worked out for all rows at once.

Nothing is evaluated by Python. The words are parsed, each part must be one of those below, and each works on
arrays that know where a value is missing. A row has no verdict if the expression needs a value that it lacks;
"or" does not need its other side where one side is true.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from weakspot.core.errors import WeakspotError, nearest
from weakspot.records.answers import answer_keys
from weakspot.records.kinds import date_in
from weakspot.records.table import Column, Kind, Records

#: Characters of the longest expression.
LONGEST: Final = 1_000
ALLOWED: Final = (
    "it may use names of columns (`in backticks` if they have spaces), numbers, 'words', + - * /, == != < <= "
    '> >=, in, and, or, not, abs, min, max, len and missing: "abs(prediction - label) > 2"'
)

#: Words in quotation marks stay; names in backticks, and those that mean something to Python, are replaced.
_TOKENS: Final = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?P<name>[^`]*)`|(?P<word>(?<![\w.])[^\W\d]\w*)"""
)
_OURS: Final = ("and", "or", "not", "in", "True", "False")
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_ORDER: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CONSTANTS: Final = {"true": True, "false": False}


@dataclass(frozen=True, eq=False)
class _Value:
    """What a part of the expression is in each row; where it is not known, the value means nothing."""

    kind: Literal["number", "truth", "text", "list", "date"]
    values: NDArray[Any]
    known: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answer:
    """What an expression says of each row, whether it could, and which columns it looks at."""

    true: NDArray[np.bool_]
    known: NDArray[np.bool_]
    columns: frozenset[str]


def evaluate(expression: str, records: Records, roles: Mapping[str, str]) -> Answer:
    """Work out an expression for every row.

    Args:
        roles: Columns that may also be called by their role, such as "label".
    """
    if len(expression) > LONGEST:
        raise WeakspotError(f"the expression has more than {LONGEST:,} characters", fix=ALLOWED)
    reader = _Reader(expression, records, roles)
    try:
        value = reader.truth(reader.parsed())
    except RecursionError as error:
        raise reader.refused("it is nested too deeply") from error
    if not reader.columns:
        raise reader.refused("it names no column")
    return Answer(value.values & value.known, value.known, frozenset(reader.columns))


class _Reader:
    """Works out the parts of one expression over one table."""

    def __init__(self, expression: str, records: Records, roles: Mapping[str, str]) -> None:
        self.expression, self.records, self.roles = expression, records, roles
        self.columns: set[str] = set()
        self.quoted: dict[str, str] = {}
        self.all = np.ones(len(records), bool)

    def refused(self, why: str, fix: str = ALLOWED) -> WeakspotError:
        return WeakspotError(f"--failed {self.expression[:200]!r} cannot be worked out: {why}", fix=fix)

    def parsed(self) -> ast.expr:
        def kept(found: re.Match[str]) -> str:
            word = found["word"]
            of_python = word is not None and iskeyword(word) and word not in _OURS
            if found["name"] is None and not (of_python and word in self.records.columns):
                return found.group()
            stand_in = f"column_in_backticks_{len(self.quoted)}"
            self.quoted[stand_in] = word or found["name"].strip()
            return stand_in

        source = _TOKENS.sub(kept, self.expression).strip()
        try:
            return ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError, MemoryError) as error:
            why = "it is incomplete, or has one sign too many" if source else "it is empty"
            raise self.refused(why) from error

    def value(self, node: ast.expr) -> _Value:
        match node:
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute() if self.is_dotted(node):
                return self.name(ast.unparse(node))
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                truth = self.truth(inner)
                return _Value("truth", ~truth.values, truth.known)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                number = self.number(inner)
                values = -number.values if isinstance(sign, ast.USub) else number.values
                return _Value("number", values, number.known)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return self.calculated(_ARITHMETIC[type(op)], self.number(left), self.number(right))
            case ast.BoolOp(op=op, values=parts):
                return self.joined(isinstance(op, ast.And), [self.truth(part) for part in parts])
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                steps = [self.compared(a, op, b) for a, op, b in zip(sides, ops, sides[1:], strict=False)]
                return self.joined(True, steps)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.called(name, arguments)
        raise self.refused(f"{self.words(node)} is not allowed")

    def name(self, name: str) -> _Value:
        name = self.quoted.get(name, name)
        column = self.roles.get(name) or name
        if column not in self.records.columns:
            if name.lower() in _CONSTANTS:
                return self.constant(_CONSTANTS[name.lower()])
            known = [*self.records.columns, *self.roles]
            fix = nearest(name, known) or f"choose from: {', '.join(known)[:400]}"
            raise self.refused(f"there is no column {name[:80]!r}", fix)
        self.columns.add(column)
        return self.of_column(self.records.columns[column])

    def is_dotted(self, node: ast.expr) -> bool:
        """Whether this is the name of a column such as parameters.distance."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name)

    def of_column(self, column: Column) -> _Value:
        known = column.present()
        if column.kind is Kind.NUMBER:
            return _Value("number", column.values, known)
        if column.kind is Kind.FLAG:
            return _Value("truth", column.values == 1, known)
        if column.kind is Kind.DATE:
            return _Value("date", column.values, known)
        if column.kind is Kind.VECTOR:
            raise self.refused(f"column {column.name!r} holds vectors", "use a column of numbers or words")
        return _Value("list" if column.kind is Kind.LIST else "text", column.values, known)

    def constant(self, value: object) -> _Value:
        if isinstance(value, bool):
            return _Value("truth", np.full(len(self.all), value), self.all)
        if isinstance(value, int | float):
            number = float(value) if abs(value) < 1e300 else np.inf
            return _Value("number", np.full(len(self.all), number), self.all)
        if isinstance(value, str):
            return _Value("text", np.full(len(self.all), value, object), self.all)
        raise self.refused(f"{str(value)[:80]!r} is not allowed")

    def number(self, node: ast.expr) -> _Value:
        value = self.value(node)
        if value.kind == "truth":
            return _Value("number", value.values.astype(float), value.known)
        if value.kind != "number":
            raise self.refused(f"{self.words(node)} is not a number")
        return value

    def truth(self, node: ast.expr) -> _Value:
        value = self.value(node)
        if value.kind == "number" and np.isin(value.values[value.known], (0.0, 1.0)).all():
            return _Value("truth", value.values == 1, value.known)
        if value.kind != "truth":
            raise self.refused(f"{self.words(node)} is neither true nor false", 'compare it: "loss > 2"')
        return value

    def words(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        for stand_in, name in self.quoted.items():
            text = text.replace(stand_in, f"`{name}`")
        return repr(text[:80])

    def calculated(self, do: Callable[[Any, Any], Any], left: _Value, right: _Value) -> _Value:
        with np.errstate(all="ignore"):
            values = do(left.values, right.values)
        return _Value("number", values, left.known & right.known & ~np.isnan(values))

    def joined(self, every: bool, parts: list[_Value]) -> _Value:
        """All of them, or any; one that decides makes up for others that are not known."""
        deciding = np.any([part.known & (part.values != every) for part in parts], axis=0)
        known = deciding | np.all([part.known for part in parts], axis=0)
        return _Value("truth", ~deciding if every else deciding, known)

    def called(self, name: str, arguments: list[ast.expr]) -> _Value:
        if name in ("min", "max") and len(arguments) > 1:
            numbers = [self.number(argument) for argument in arguments]
            values = (np.minimum if name == "min" else np.maximum).reduce([n.values for n in numbers])
            return _Value("number", values, np.all([n.known for n in numbers], axis=0))
        if name == "abs" and len(arguments) == 1:
            number = self.number(arguments[0])
            return _Value("number", np.abs(number.values), number.known)
        if name == "missing" and len(arguments) == 1:
            return _Value("truth", ~self.value(arguments[0]).known, self.all)
        if name == "len" and len(arguments) == 1:
            value = self.value(arguments[0])
            if value.kind not in ("text", "list"):
                raise self.refused(f"{self.words(arguments[0])} has no length", "use len with words or lists")
            lengths = [len(v) if there else 0 for v, there in zip(value.values, value.known, strict=True)]
            return _Value("number", np.array(lengths, float), value.known)
        raise self.refused(f"{name[:40]}() with {len(arguments)} value(s) is not allowed")

    def compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> _Value:
        if isinstance(op, ast.In | ast.NotIn):
            found = self.contained(left, right)
            return _Value("truth", found.values ^ isinstance(op, ast.NotIn), found.known)
        if isinstance(op, ast.Is | ast.IsNot):
            raise self.refused("'is' is not allowed", "ask whether a value is missing with missing(loss)")
        a, b = self.value(left), self.value(right)
        if isinstance(op, ast.Eq | ast.NotEq):
            equal = self.equal(a, b)
            return _Value("truth", equal.values ^ isinstance(op, ast.NotEq), equal.known)
        a, b = self.as_dates(a, b)
        if a.kind != b.kind or a.kind not in ("number", "date"):
            raise self.refused(
                f"{self.words(left)} and {self.words(right)} cannot be put in order",
                "compare numbers with numbers and dates with dates such as '2024-12-31'",
            )
        return _Value("truth", _ORDER[type(op)](a.values, b.values), a.known & b.known)

    def equal(self, a: _Value, b: _Value) -> _Value:
        known = a.known & b.known
        a, b = self.as_dates(a, b)
        if a.kind == b.kind == "number" or a.kind == b.kind == "date":
            return _Value("truth", a.values == b.values, known)
        if "list" in (a.kind, b.kind) and a.kind != b.kind:
            raise self.refused("a list cannot equal a single value", 'use in: "prediction not in labels"')
        truth = "truth" in (a.kind, b.kind)
        pairs = zip(answer_keys(a.values, truth=truth), answer_keys(b.values, truth=truth), strict=True)
        return _Value("truth", np.fromiter((x == y for x, y in pairs), bool, len(known)), known)

    def as_dates(self, a: _Value, b: _Value) -> tuple[_Value, _Value]:
        """Words beside a date are a date."""
        if {a.kind, b.kind} != {"date", "text"}:
            return a, b
        one, other = (a, b) if a.kind == "text" else (b, a)
        read = {text: date_in(text) for text in set(one.values[one.known])}
        dates = np.array([read.get(text) for text in one.values], "datetime64[s]")
        one = _Value("date", dates, one.known & ~np.isnat(dates))
        return (one, other) if a.kind == "text" else (other, one)

    def contained(self, left: ast.expr, right: ast.expr) -> _Value:
        """Whether a value is one of several, a word is in a text, or an answer is in a list."""
        if isinstance(right, ast.Tuple | ast.List | ast.Set):
            one = self.value(left)
            found = np.zeros(len(self.all), bool)
            for entry in right.elts:
                if not isinstance(entry, ast.Constant):
                    raise self.refused(f"{self.words(entry)} is not a number or word")
                found |= self.equal(one, self.constant(entry.value)).values
            return _Value("truth", found, one.known)
        one, many = self.value(left), self.value(right)
        if many.kind == "list":
            items = [
                {*answer_keys(items)} if there else ()
                for items, there in zip(many.values, many.known, strict=True)
            ]
            pairs: Any = zip(answer_keys(one.values), items, strict=True)
        elif many.kind == one.kind == "text":
            pairs = zip(one.values, [text or "" for text in many.values], strict=True)
        else:
            raise self.refused(
                f"nothing can be in {self.words(right)}", "use in with words in a text, or with a list"
            )
        known = one.known & many.known
        inside = [there and a in b for (a, b), there in zip(pairs, known, strict=True)]
        return _Value("truth", np.array(inside, bool), known)
