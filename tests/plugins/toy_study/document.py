"""How the toy study is told."""

from collections.abc import Iterable, Mapping
from typing import Any

from toy_study.result import ToyResult
from weakspot.report import format as show
from weakspot.report.document import Allowance, Document, Section, Table
from weakspot.report.format import row
from weakspot.store import Run


class ToyDocument(Document):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        result = ToyResult.of(run)
        self.counted = result.counted if result is not None else ()

    @property
    def conclusion(self) -> str:
        if not self.counted:
            return "Nothing has been counted yet."
        worst = max(self.counted, key=lambda one: one.rate.value)
        return f"It fails most with ‘{worst.words}’: {show.rate(worst.rate)}."

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        rows = [(one.words, show.rate(one.rate)) for one in self.counted]
        yield Section("Counted", [Table("", "", ("words", "rate"), rows)] if rows else [])

    def values(self) -> Mapping[str, Any]:
        return {"counted": [{"words": one.words, **one.rate._asdict()} for one in self.counted]}

    def lines(self, wide: int) -> Iterable[str]:
        yield from (row(show.percent(one.rate.value), one.words, wide) for one in self.counted)
