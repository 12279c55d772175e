"""Pictures with what is known of them as a data set: a folder per label, JSON lines, Parquet, or for a hub.

All hold the same fields. Labels and captions are anybody's text: folder names are made harmless, and
what goes into a CSV file is text to a spreadsheet too, never a formula.
"""

from __future__ import annotations

import csv
import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError
from weakspot.report.document import plain
from weakspot.report.format import neutral

#: The split that all pictures are in, as loaders of data sets call it: they are there to test with.
SPLIT: Final = "test"
#: Characters of a folder's name at most.
LONGEST: Final = 80
#: Pictures of one group of rows in a Parquet file; bounds the memory.
_GROUP: Final = 64
_RESERVED: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A picture and its fields, in the order in which they are written."""

    label: str  # what it shows: the right answer
    predicted: str | None  # what the model answered
    phrase: str  # the finding's words beyond the baseline's
    caption: str  # what the source knows to be true of the picture; "" if it knows nothing
    prompt: str  # the hypothesis' whole text
    hypothesis: str  # its id
    finding: int  # rank of the finding, from 1
    confirmed: bool  # whether fresh draws confirmed the finding
    index: int  # of the case; with the run's seed and the hypothesis it can be drawn again
    seed: int  # of the case
    origin: str  # "kept" by the run as evidence, or "drawn" for this data set
    score: float | None  # the judge's; larger is worse
    top: tuple[tuple[str, float], ...]  # the most probable labels with their probabilities
    target: str  # name of the model that misread it
    source: str  # name of what drew it
    judge: str  # what counted as a failure
    run: str  # name of the run
    run_seed: int  # of the run
    licence: str  # of the picture, as far as the user said
    sha256: str  # of the PNG file

    def values(self) -> dict[str, Any]:
        """Plain values: numbers that are not finite are None, the labels of `top` are named."""
        top = [{"label": label, "probability": p} for label, p in self.top]
        found: dict[str, Any] = plain({f.name: getattr(self, f.name) for f in fields(self)} | {"top": top})
        return found


#: The bytes of a record's PNG file.
Content = Callable[[Record], bytes]


def write_imagefolder(folder: Path, records: Sequence[Record], content: Content) -> None:
    """`test/<label>/<picture>.png` and `test/metadata.csv`, as common loaders of image folders want them."""
    root = folder / SPLIT
    rows = []
    for record, name in zip(records, file_names(records), strict=True):
        _put(root / name, content(record))
        row = record.values()
        row["top"] = json.dumps(row["top"], ensure_ascii=False)
        rows.append({"file_name": name, **{k: neutral(v) for k, v in row.items()}})
    with (root / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["file_name", *(f.name for f in fields(Record))], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_jsonl(folder: Path, records: Sequence[Record], content: Content) -> None:
    """`test.jsonl`, whose `image` is a path below the folder, and the pictures in `images/`."""
    lines = []
    for record, name in zip(records, file_names(records), strict=True):
        _put(folder / "images" / name, content(record))
        lines.append(json.dumps({"image": f"images/{name}", **record.values()}, ensure_ascii=False))
    (folder / f"{SPLIT}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_parquet(folder: Path, records: Sequence[Record], content: Content) -> None:
    """`data/test-00000-of-00001.parquet`, the pictures inside, in the way of Hugging Face datasets."""
    rows = (
        {"image": {"bytes": content(record), "path": name.rpartition("/")[2]}, **record.values()}
        for record, name in zip(records, file_names(records), strict=True)
    )
    write_table(folder, PICTURES, iter(lambda: list(islice(rows, _GROUP)), []))


def write_table(folder: Path, columns: Mapping[str, str], groups: Iterable[list[dict[str, Any]]]) -> Path:
    """Rows as a Parquet file, group by group; its path."""
    pa, pq = need_pyarrow()
    schema = schema_of(columns)
    path = folder / "data" / f"{SPLIT}-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, schema) as writer:
        for rows in groups:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return path


#: What the columns of pictures hold. "image" and "answers" (labels with probabilities) are structures.
PICTURES: Final[dict[str, str]] = {
    "image": "image",
    **{f.name: "string" for f in fields(Record)},
    **dict.fromkeys(("finding", "index", "run_seed"), "int64"),
    "seed": "uint64",
    "confirmed": "bool",
    "score": "float64",
    "top": "answers",
}
_ANSWERS: Final = {"label": "string", "probability": "float64"}


def schema_of(columns: Mapping[str, str]) -> Any:
    """The schema of a Parquet file, with what Hugging Face datasets keeps in it."""
    pa, _ = need_pyarrow()
    plain = {"int64": pa.int64(), "uint64": pa.uint64(), "bool": pa.bool_(), "float64": pa.float64()}
    kinds = plain | {
        "string": pa.string(),
        "image": pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
        "answers": pa.list_(pa.struct([("label", pa.string()), ("probability", pa.float64())])),
    }
    features: dict[str, Any] = {name: {"dtype": kind, "_type": "Value"} for name, kind in columns.items()}
    for name, kind in columns.items():
        if kind == "image":
            features[name] = {"_type": "Image"}
        elif kind == "answers":
            features[name] = [{key: {"dtype": of, "_type": "Value"} for key, of in _ANSWERS.items()}]
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.schema([(name, kinds[kind]) for name, kind in columns.items()], metadata=metadata)


def front_of(columns: Mapping[str, str], n: int, size: int) -> dict[str, Any]:
    """What the card of a Hugging Face data set says of `n` rows in files of `size` bytes: places and columns.

    With it `datasets.load_dataset("FOLDER")` needs no further word, also after the folder was uploaded.
    """
    inner = [{"name": key, "dtype": kind} for key, kind in _ANSWERS.items()]
    features = [
        {"name": name, "list": inner} if kind == "answers" else {"name": name, "dtype": kind}
        for name, kind in columns.items()
    ]
    files = [{"split": SPLIT, "path": f"data/{SPLIT}-*.parquet"}]
    return {
        "configs": [{"config_name": "default", "data_files": files}],
        "dataset_info": {
            "features": features,
            "splits": [{"name": SPLIT, "num_examples": n, "num_bytes": size}],
            "download_size": size,
            "dataset_size": size,
        },
    }


#: How each format is written.
FORMATS: Final[dict[str, Callable[[Path, Sequence[Record], Content], None]]] = {
    "imagefolder": write_imagefolder,
    "parquet": write_parquet,
    "jsonl": write_jsonl,
    "hf": write_parquet,
}


def need_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise WeakspotError(
            f"Parquet needs a library that is missing: {error}", fix="pip install 'weakspot[data]'"
        ) from error
    return pyarrow, pyarrow.parquet


def file_names(records: Iterable[Record]) -> list[str]:
    """`<folder of the label>/<hypothesis>-<index>.png` of each record, no two alike."""
    folders: dict[str, str] = {}
    taken: set[str] = set()
    names = []
    for record in records:
        if record.label not in folders:
            folder = folder_name(record.label)
            if _folded(folder) in taken:  # "Bee" and "bee" are one folder on many disks
                folder = f"{folder[: LONGEST - 9]}-{_digest(record.label)}"
            taken.add(_folded(folder))
            folders[record.label] = folder
        names.append(f"{folders[record.label]}/{record.hypothesis}-{record.index}.png")
    return names


def folder_name(label: str) -> str:
    """A label as the name of one folder on any system: no separators, dots in front, or reserved words."""
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in unicodedata.normalize("NFC", label))
    name = kept.strip("-_.")
    if len(name.encode()) > LONGEST:
        cut = name.encode()[: LONGEST - 9].decode(errors="ignore")
        name = f"{cut}-{_digest(label)}"
    if not name or name.partition(".")[0].lower() in _RESERVED:
        name = f"label-{_digest(label)}"
    return name


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
