"""`questions:FILE`: a user's own benchmark, a table in JSON lines, JSON or CSV.

A row is one question, and may bring its harmful counterpart:

    id, question, image, contrast, contrast_image, description, intent, set, pair

Only `question` is needed. `set` (or `label`) may say "contrast" (or "unsafe") of a row by itself; `pair`
names the item it belongs with. Every other column with few distinct values is a slice.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError, nearest
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.core.rows import ID, Row, read_rows
from weakspot.sources.benchmark import Benchmark, Item

#: What a column may be called; in lower case, the first that is there counts.
QUESTION: Final = ("question", "prompt", "query", "text")
IMAGE: Final = ("image", "image_path", "file", "file_name", "filename", "path")
DESCRIPTION: Final = ("description", "short_description", "short description", "caption")
SET: Final = ("set", "label")
#: Words for the two sets.
_CONTRAST: Final = frozenset({"contrast", "unsafe", "harmful", "1", "true"})
_BENIGN: Final = frozenset({"benign", "safe", "harmless", "", "0", "false"})
_KNOWN: Final = frozenset(
    {*ID, *QUESTION, *IMAGE, *DESCRIPTION, *SET, "contrast", "contrast_image", "intent", "pair", "note"}
)
#: A column with more distinct values than this is free text, not a slice.
MOST_VALUES: Final = 40
#: Names a folder's table may have.
TABLES: Final = ("questions.jsonl", "questions.csv", "questions.json", "metadata.jsonl", "metadata.csv")


def load(name: str, *, slices: str = "") -> Benchmark:
    """A benchmark from a table of questions, or from a folder with one in it.

    Columns that are slices are separated by commas; by default these are all with few distinct values.
    """
    path = table_in(Path(name), TABLES)
    rows = read_rows(path)
    rows = [Row(row.line, {k.strip().lower(): v for k, v in row.values.items()}) for row in rows]
    chosen = _slices(path, rows, [s.strip().lower() for s in slices.split(",") if s.strip()])
    found = (
        (row.line, item)
        for number, row in enumerate(rows, start=1)
        for item in _items(path, row, number, chosen)
    )
    name = path.stem if path.name not in TABLES else path.parent.resolve().name
    return Benchmark(name, unique(path, found))


def table_in(path: Path, names: Iterable[str]) -> Path:
    if not path.is_dir():
        if not path.exists():
            raise WeakspotError(f"there is no {str(path)[:200]}", fix="name a file, or a folder with one")
        return path
    found = next((path / name for name in names if (path / name).is_file()), None)
    if found is None:
        raise WeakspotError(f"no table of questions is in {path}", fix=f"call it {' or '.join(names)}")
    return found


def unique(path: Path, items: Iterable[tuple[int, Item]]) -> list[Item]:
    """Items that come with their lines; a table in which two items of a set have one id is refused."""
    lines: dict[tuple[str, str], int] = {}
    found = []
    for line, item in items:
        found.append(item)
        first = lines.setdefault((item.set, item.id), line)
        if first != line:
            raise WeakspotError(
                f"{path}: the id {item.id[:80]!r} is there twice (lines {first} and {line})",
                fix="give every question an id of its own",
            )
    return found


def _items(path: Path, row: Row, number: int, slices: list[str]) -> Iterable[Item]:
    question = row.first(QUESTION)
    if not isinstance(question, str) or not question.strip():
        hint = nearest("question", row.values)
        raise WeakspotError(
            f"{path}: line {row.line} has no question", fix=hint or f"call the column {QUESTION[0]}"
        )
    given = row.first(ID)
    key = str(number if given is None or given == "" else given)
    said = str(row.first(SET) or "").strip().lower()
    if said not in _CONTRAST | _BENIGN:
        raise WeakspotError(
            f"{path}: line {row.line}: the set {said[:40]!r} is not known", fix="write benign or contrast"
        )
    values = {s: tuple(_values(row.values.get(s))) for s in slices if row.values.get(s) not in (None, "")}
    image, missing = image_of(path.parent, row.first(IMAGE))
    item = Item(
        id=key,
        question=question,
        set=CONTRAST if said in _CONTRAST else BENIGN,
        image=image,
        missing=missing,
        description=_text(row.first(DESCRIPTION)),
        intent=_text(row.values.get("intent")),
        slices=values,
        pair=_text(row.values.get("pair")),
    )
    yield item if item.pair or item.set == CONTRAST else item._replace(pair=key)
    harmful = row.values.get("contrast")
    if isinstance(harmful, str) and harmful.strip():
        other = row.values.get("contrast_image")
        seen = image_of(path.parent, other) if other not in (None, "") else (image, missing)
        yield Item(
            id=key, question=harmful, set=CONTRAST, image=seen[0], missing=seen[1], slices=values, pair=key
        )


def image_of(folder: Path, said: Any) -> tuple[Path | None, str]:
    """Where the picture of a row lies, and what is wrong if it does not."""
    if said is None or said == "":
        return None, ""
    if not isinstance(said, str) or "\x00" in said:
        return None, f"{str(said)[:80]!r} names no file"
    path = folder / said
    try:
        there = path.is_file()
    except OSError:
        there = False
    return (path, "") if there else (None, f"{said[:200]} is not there")


def _slices(path: Path, rows: list[Row], wanted: list[str]) -> list[str]:
    columns = list(dict.fromkeys(key for row in rows for key in row.values))
    for name in wanted:
        if name not in columns:
            raise WeakspotError(
                f"{path} has no column {name!r}",
                fix=nearest(name, columns) or f"it has: {', '.join(columns)}",
            )
    if wanted:
        return wanted
    most = min(MOST_VALUES, max(2, len(rows) // 2))
    values = {c: {v for row in rows for v in _values(row.values.get(c))} for c in columns if c not in _KNOWN}
    return [column for column, found in values.items() if 1 <= len(found) <= most]


def _values(said: Any) -> list[str]:
    """A cell as slice values: of a list each entry is one, of flags yes and no."""
    entries = said if isinstance(said, list) else [said]
    return [
        ("yes" if e else "no") if isinstance(e, bool) else str(e)[:80]
        for e in entries
        if e is not None and e != "" and not isinstance(e, dict | list)
    ]


def _text(said: Any) -> str:
    return said.strip() if isinstance(said, str) else "" if said is None else str(said)


#: XSTest's tables, and what its harmful types begin with.
XSTEST_TABLES: Final = ("xstest_prompts.csv", "xstest_v2_prompts.csv", "prompts.csv", "prompts.jsonl")
_PREFIX: Final = "contrast_"


def load_xstest(name: str) -> Benchmark:
    """XSTest (Röttger et al., 2024): 250 safe prompts that look unsafe, 200 unsafe ones; text only.

    `xstest:FILE` reads the released prompts (CSV with id, prompt, type, label), or a folder with them, or a
    file of completions, whose prompts are the same. A `type` that begins with "contrast_", or the label
    "unsafe", marks the contrast set.
    """
    path = table_in(Path(name), XSTEST_TABLES)
    found = []
    for row in read_rows(path):
        key, prompt, kind = (row.values.get(column) for column in ("id", "prompt", "type"))
        if key is None or not isinstance(prompt, str) or not prompt.strip():
            raise WeakspotError(
                f"{path}: line {row.line} has no {'id' if key is None else 'prompt'}",
                fix="XSTest has the columns id, prompt and type",
            )
        kind = str(kind or "")
        unsafe = kind.startswith(_PREFIX) or str(row.values.get("label", "")).lower() == "unsafe"
        slices = {"type": (kind.removeprefix(_PREFIX),)} if kind else {}
        found.append((row.line, Item(str(key), prompt, CONTRAST if unsafe else BENIGN, slices=slices)))
    return Benchmark("xstest", unique(path, found))
