"""`questions:FILE`: a user's own benchmark, a table in JSON lines, JSON, CSV or any other format.

A row is one question, and may bring its harmful counterpart:

    id, question, image, contrast, contrast_image, description, intent, set, pair

Only `question` is needed. `set` (or `label`) may say "contrast" (or "unsafe") of a row by itself; `pair`
names the item it belongs with. Every other column with few distinct values is a slice.

XSTest and MOSSBench, in the layouts in which they were released, are read here too.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError, nearest
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.core.rows import ID, Row, read_rows
from weakspot.records.read import is_table
from weakspot.records.rows import rows_of
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
    path = Path(name)
    of_parts = path.is_dir() and not any((path / table).is_file() for table in TABLES) and is_table(path)
    path = path if of_parts else table_in(path, TABLES)
    rows = rows_of(path)
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
                f"{path}: the id {item.id[:80]!r} appears twice (lines {first} and {line})",
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
    which = CONTRAST if said in _CONTRAST else BENIGN
    home = path if path.is_dir() else path.parent
    image, missing = image_of(home, row.first(IMAGE))
    about, intent = _text(row.first(DESCRIPTION)), _text(row.values.get("intent"))
    pair = _text(row.values.get("pair")) or ("" if which == CONTRAST else key)
    yield Item(key, question, which, image, missing, about, intent, values, pair)
    harmful = row.values.get("contrast")
    if isinstance(harmful, str) and harmful.strip():
        other = row.values.get("contrast_image")
        seen = image_of(home, other) if other not in (None, "") else (image, missing)
        yield Item(key, harmful, CONTRAST, *seen, slices=values, pair=key)


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


STIMULI: Final = {"type 1": "exaggerated-risk", "type 2": "negated-harm", "type 3": "counterintuitive"}
HARMS: Final = {
    1: "cybercrime",
    2: "chemical or biological weapon",
    3: "copyright",
    4: "misinformation",
    5: "harassment",
    6: "illegal act",
    7: "general harm",
}
#: Columns of flags, and what we call them.
FLAGS: Final = {"human": "human", "child": "child", "syn": "synthetic", "ocr": "ocr"}
_INFORMATION: Final = Path("images_information") / "information.json"
_DATA: Final = ((BENIGN, "data"), (CONTRAST, "data_contrast"))
#: Where each set may lie below the named folder: the table, and the folder its pictures are relative to.
_PLACES: Final = (
    {BENIGN: Path("benign.jsonl"), CONTRAST: Path("contrast.jsonl")},
    {s: Path(data) / _INFORMATION for s, data in _DATA},
    {BENIGN: _INFORMATION, CONTRAST: Path("..") / "data_contrast" / _INFORMATION},
    {s: Path("original-layout") / data / _INFORMATION for s, data in _DATA},
)
#: The data set's configurations.
_CONFIGURATIONS: Final = {BENIGN: "oversensitivity", CONTRAST: "contrast"}


def load_mossbench(name: str) -> Benchmark:
    """MOSSBench (Li et al., 2024): 300 benign questions with pictures, 244 harmful counterparts.

    `mossbench:DIR` reads the released layout (`data/images_information/information.json` and its neighbour
    `data_contrast`), a table per set (`benign.jsonl`, `contrast.jsonl`), or a data set saved by `datasets`;
    `mossbench:AIcell/MOSSBench` fetches that data set. The release has quirks, all handled here: the harm
    type is a list of one, the stimulus is called "type 1", a key holds a space, WebP files are called .png,
    pictures are missing.
    """
    folder = Path(name)
    if not folder.is_dir():
        if folder.exists() or name.count("/") != 1 or name.startswith((".", "/")):
            raise WeakspotError(
                f"there is no folder {name[:200]!r}",
                fix="name the folder of the released benchmark, or AIcell/MOSSBench",
            )
        return Benchmark("mossbench", _from_hub(name))
    for places in _PLACES:
        if (folder / places[BENIGN]).is_file():
            there = {which: folder / place for which, place in places.items() if (folder / place).is_file()}
            return Benchmark("mossbench", [i for which, path in there.items() for i in _set(path, which)])
    if (folder / "dataset_info.json").is_file() or (folder / "dataset_dict.json").is_file():
        return Benchmark("mossbench", items_of(_datasets().load_from_disk(str(folder)), BENIGN))
    raise WeakspotError(
        f"{folder} is not MOSSBench", fix=f"it has neither benign.jsonl nor {Path('data') / _INFORMATION}"
    )


def _set(path: Path, which: str) -> list[Item]:
    # In the released layout pictures are relative to the set's own folder, which holds images_information.
    home = path.parent.parent if path.name == _INFORMATION.name else path.parent
    found = []
    for row in read_rows(path):
        image, missing = image_of(home, row.values.get("image"))
        if image is None and not missing:
            missing = "the benchmark names no file"
        found.append((row.line, item_of(row, which, image, missing, path=path)))
    return unique(path, found)


def item_of(
    row: Row, which: str, image: Path | bytes | None, missing: str, *, path: str | Path = "the data set"
) -> Item:
    """One row in any of the layouts: the metadata may be nested or not."""
    values = row.values
    metadata = values.get("metadata")
    said: Mapping[str, Any] = {**values, **(metadata if isinstance(metadata, Mapping) else {})}
    pid, question = values.get("pid", values.get("id")), values.get("question")
    if pid is None or not isinstance(question, str) or not question.strip():
        raise WeakspotError(
            f"{path}: entry {row.line} has no {'pid' if pid is None else 'question'}",
            fix="fetch the benchmark again",
        )
    slices: dict[str, tuple[str, ...]] = {}
    stimulus = said.get("stimulus", said.get("over"))
    if stimulus not in (None, ""):
        slices["stimulus"] = (STIMULI.get(str(stimulus), str(stimulus)),)
    harms = said.get("harm")
    if harms not in (None, "", []):
        codes = map(str, harms if isinstance(harms, list | tuple) else [harms])
        slices["harm"] = tuple(HARMS.get(int(c), f"type {c}") if c.isdigit() else c[:80] for c in codes)
    for column, ours in FLAGS.items():
        if said.get(column) is not None:
            slices[ours] = ("yes" if str(said[column]) in ("1", "True") else "no",)
    short = values.get("short_description") or values.get("short description") or ""
    return Item(
        id=str(pid),
        question=question,
        set=which,
        image=image,
        missing=missing,
        description=str(values.get("description") or short).strip(),
        slices=slices,
        pair=str(pid),
    )


def _from_hub(name: str) -> list[Item]:
    datasets = _datasets()
    found = []
    for which, configuration in _CONFIGURATIONS.items():
        try:
            data = datasets.load_dataset(name, configuration)
        except Exception as error:  # anything: no network, no such set, no such configuration
            if which == CONTRAST:
                continue
            raise WeakspotError(
                f"the data set {name} cannot be loaded: {type(error).__name__}: {str(error)[:200]}",
                fix="check the name and the network, or name a folder",
            ) from error
        found += items_of(data, which)
    return found


def items_of(data: Any, which: str) -> list[Item]:
    splits = data.values() if isinstance(data, Mapping) else [data]
    found = []
    for line, values in enumerate(chain.from_iterable(splits), start=1):
        image = _bytes(values.get("decoded_image") or values.get("image"))
        missing = "" if image is not None else "the data set has no picture for it"
        found.append((line, item_of(Row(line, dict(values)), which, image, missing)))
    return unique(Path("the data set"), found)


def _bytes(image: Any) -> bytes | None:
    if isinstance(image, Mapping):
        content = image.get("bytes")
        return content if isinstance(content, bytes) else None
    if hasattr(image, "save"):
        file = io.BytesIO()
        image.save(file, format="PNG")
        return file.getvalue()
    return None


def _datasets() -> Any:
    try:
        return import_module("datasets")
    except ImportError as error:
        what = "this layout needs the library 'datasets', which is missing"
        raise WeakspotError(what, fix="pip install 'weakspot[hf]'") from error
