"""Labels as a CSV file and back. What goes into a cell is text to a spreadsheet, never a formula."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError, disk_errors
from weakspot.report.format import clean, neutral, shorten
from weakspot.report.people.labels import Labels, annotator_name
from weakspot.report.people.tasks import Item, Task
from weakspot.store import write_whole

COLUMNS: Final = ("task", "item", "annotator", "label", "at", "question", "shown")
#: Bytes of a file that is read.
LARGEST: Final = 64 * 1024 * 1024


def write_csv(folder: Path, task: Task, path: Path) -> int:
    """Write what holds now, one row per answer; how many."""
    items = {item.id: item for item in task.items}
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    labels = Labels(folder).current(task.name)
    for one in labels:
        item = items.get(one.item)
        about = (item.question, _shown(item)) if item is not None else ("", "")
        row = (one.task, one.item, one.annotator, one.label, one.at, *about)
        writer.writerow([neutral(clean(value)) for value in row])
    with disk_errors(f"{path} cannot be written", "choose another --out"):
        write_whole(path, file.getvalue().encode())
    return len(labels)


def read_csv(folder: Path, task: Task, path: Path) -> tuple[int, int]:
    """Add the labels of a file; how many were new, and how many were there already.

    Needs the columns item, annotator and label. A row that does not fit stops it before anything is kept.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise WeakspotError(f"{path} is larger than {LARGEST >> 20} MB", fix="split it into parts")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise WeakspotError(f"{path} cannot be read: {why}", fix="name a CSV file in UTF-8") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    lacking = [name for name in ("item", "annotator", "label") if name not in (reader.fieldnames or ())]
    if lacking:
        raise WeakspotError(
            f"{path} has no column {lacking[0]}", fix="export labels to see how it should look"
        )
    labels, items = Labels(folder), {item.id: item for item in task.items}
    held = {(one.annotator, one.item): one.label for one in labels.current(task.name)}
    rows: list[dict[str, Any]] = []
    known = 0
    for row in reader:
        if (row.get("task") or task.name) != task.name:
            continue
        item, label = _plain(row["item"]), _plain(row["label"])
        where = f"{path}, line {reader.line_num}"
        if item not in items or label not in [choice.value for choice in items[item].choices]:
            what = f"the item {item[:60]!r}" if item not in items else f"{label[:60]!r}"
            raise WeakspotError(
                f"{where}: {what} is not one of this task", fix="import it into the run it came from"
            )
        name = annotator_name(_plain(row["annotator"]))
        if held.get((name, item)) == label:
            known += 1
            continue
        held[name, item] = label
        at = _plain(row.get("at") or "")[:40]
        rows.append({"task": task.name, "item": item, "annotator": name, "label": label, "at": at})
    if rows:
        labels.add_many(rows)
    return len(rows), known


def _shown(item: Item) -> str:
    texts = [text for _, text in item.texts] or [choice.words for choice in item.choices[:2]]
    return shorten(" | ".join(texts), 2_000)


def _plain(value: str | None) -> str:
    """A cell as it was before it was made safe for spreadsheets."""
    text = (value or "").strip()
    bare = text.removeprefix("'")
    return bare if bare != text and neutral(bare) == text else text
