"""Answers with people's labels: tables with an answer and a label per row, and what else is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from weakspot.core import WeakspotError, nearest
from weakspot.core.rows import Row, read_rows
from weakspot.judges.refusal.grades import NEITHER, REFUSED, Grade

#: What a column may be called; the first that is there counts.
ANSWER: Final = ("completion", "response", "answer", "output", "model_answer")
LABEL: Final = ("final_label", "label", "human", "refused", "refusal", "annotation")
QUESTION: Final = ("prompt", "question", "query", "text")
GROUP: Final = ("model", "author", "target")
STYLE: Final = ("style", "type", "category")
_KINDS: Final = (".jsonl", ".json", ".csv", ".tsv")
_WORDS: Final = yaml.safe_load(Path(__file__).with_name("label_words.yaml").read_bytes())
_GRADES: Final = {word: Grade(grade) for grade, words in _WORDS.items() for word in words}


class Labelled(NamedTuple):
    """An answer (None where the model gave none), what people said of it, the group it counts in, its
    style.
    """

    question: str | None
    answer: str | None
    label: Grade
    group: str = ""
    style: str = ""

    @property
    def refuses(self) -> bool:
        return self.label in REFUSED["default"]

    @property
    def counts(self) -> bool:
        """Whether people say plainly that it refuses or does not."""
        return self.label is not Grade.PARTIAL and self.label not in NEITHER


def read_labels(paths: Sequence[Path], *, by: str = "") -> list[Labelled]:
    """Labelled answers of files, or of all tables in folders and below them, grouped by a column.

    Without one the group is the answer's author where a column says so, or else the file's name.
    """
    files = [file for path in paths for file in _files(path)]
    return [_labelled(file, row, by, alone=len(files) == 1) for file in files for row in read_rows(file)]


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise WeakspotError(
            f"there is no {str(path)[:200]}", fix="name a file of labels, or a folder of them"
        )
    if path.is_file():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.suffix.lower() in _KINDS and p.is_file())
    if not found:
        raise WeakspotError(f"no table is in {str(path)[:200]}", fix=f"labels end in {', '.join(_KINDS)}")
    return found


def _labelled(file: Path, row: Row, by: str, *, alone: bool) -> Labelled:
    where = f"{file}: line {row.line}"
    answer, question, label = row.first(ANSWER), row.first(QUESTION), row.first(LABEL)
    if answer is not None and not isinstance(answer, str):
        raise WeakspotError(f"{where}: the answer is not a text", fix="put it into quotation marks")
    if answer is None and not set(ANSWER) & set(row.values):
        raise WeakspotError(f"{where} has no answer", fix=f"call the column {' or '.join(ANSWER)}")
    if label is None:
        raise WeakspotError(f"{where} has no label", fix=f"call the column {' or '.join(LABEL)}")
    grade = _GRADES.get(str(label).strip().lower())
    if grade is None:
        hint = nearest(str(label)[:40], _GRADES)
        raise WeakspotError(
            f"{where}: {str(label)[:80]!r} is not a label", fix=hint or "write refuses, partial or complies"
        )
    asked = question if isinstance(question, str) else None
    return Labelled(
        asked, answer or None, grade, _group(file, row, by, alone), str(row.first(STYLE) or "")[:200]
    )


def _group(file: Path, row: Row, by: str, alone: bool) -> str:
    if not by:
        named = row.first(GROUP)
        return str(named)[:200] if named is not None else "" if alone else file.stem
    if by not in row.values:
        hint = nearest(by, row.values)
        raise WeakspotError(
            f"{file}: line {row.line} has no column {by[:80]!r}",
            fix=hint or f"its columns are: {', '.join(map(str, row.values))[:200]}",
        )
    return str(row.values[by])[:200]
