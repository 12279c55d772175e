"""Folders that hold a table: data sets of Hugging Face, and pictures with predictions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np

from weakspot.core.errors import WeakspotError, disk_errors
from weakspot.records.arrow import class_names, read_arrow
from weakspot.records.content import ending, first_bytes
from weakspot.records.files import BINARY, DELIMITED, JSON, column_names_of, read_file
from weakspot.records.roles import answers_in, usual_column
from weakspot.records.sheet import Sheet, free_name

#: Bytes of the largest description of a data set that is read.
_LARGEST_NOTE: Final = 1 << 24
_MOST_PICTURES: Final = 5_000_000
_SHARD: Final = re.compile(r"(.+?)-[0-9]{5}-of-[0-9]{5}\..*")
DATA_SET: Final = "Hugging Face data set"
#: Tables beside pictures, the likeliest first.
_BESIDE: Final = ("predictions", "prediction", "preds", "results", "metadata")


def is_table_folder(folder: Path) -> bool:
    """Whether a folder holds a data set of Hugging Face, or pictures with predictions."""
    return _table_beside_pictures(folder) is not None or bool(_splits(folder))


def files_by_split(folder: Path) -> dict[str, list[Path]]:
    """The files of a data set, by split; {} where the folder holds none."""
    return {} if _table_beside_pictures(folder) else _splits(folder)


def read_folder(folder: Path) -> tuple[Sheet, Sequence[Path]]:
    """The table of a folder, and the files that it was read from."""
    with disk_errors(f"{folder} cannot be read", "check the permissions"):
        table = _table_beside_pictures(folder)
        splits = files_by_split(folder)
        if splits:
            return _dataset(folder, splits), [path for paths in splits.values() for path in paths]
        if table is None:
            raise WeakspotError(
                f"{folder} holds no table of predictions",
                fix="name a table, or put predictions.csv with the columns file and prediction into it",
            )
        sheet = read_file(table)
        return _labelled_by_folder(folder, replace(sheet, form=f"pictures with {table.name}")), [table]


def _splits(folder: Path) -> dict[str, list[Path]]:
    """The files of a data set of Hugging Face, by split."""
    named = _note(folder / "dataset_dict.json").get("splits")
    if isinstance(named, list):
        return {part.name: files for part in _inside(folder, named) if (files := _saved(part))}
    files = _saved(folder)
    for pattern in ("*.parquet", "data/*.parquet", "*/*.parquet", "*.arrow"):
        files = files or sorted(folder.glob(pattern))
    splits: dict[str, list[Path]] = {}
    for path in files:
        shard = _SHARD.fullmatch(path.name)
        splits.setdefault(shard.group(1) if shard else "", []).append(path)
    return splits


def _saved(folder: Path) -> list[Path]:
    """The files of what `save_to_disk` wrote, none from outside its folder."""
    listed = _note(folder / "state.json").get("_data_files")
    entries = listed if isinstance(listed, list) else []
    return _inside(folder, [entry.get("filename") for entry in entries if isinstance(entry, Mapping)])


def _inside(folder: Path, names: Sequence[object]) -> list[Path]:
    return [
        folder / name
        for name in names
        if isinstance(name, str) and Path(name).name == name and name not in ("", "..")
    ]


def _dataset(folder: Path, splits: Mapping[str, Sequence[Path]]) -> Sheet:
    """All rows; of several splits, with a column that names them."""
    parts = {name: read_arrow(paths) for name, paths in splits.items()}
    if len(parts) > 1:
        sheet = read_arrow([path for paths in splits.values() for path in paths])
        split = np.repeat(np.array(list(parts), object), [len(part.lines) for part in parts.values()])
        sheet = replace(sheet, columns={**sheet.columns, free_name("split", sheet.columns): split})
    else:
        (sheet,) = parts.values()
    return replace(sheet, form=DATA_SET, classes={**class_names_in(folder), **sheet.classes})


def class_names_in(folder: Path) -> dict[str, Sequence[str]]:
    """Names of classes that a data set has beside its files."""
    written: dict[str, Sequence[str]] = {}
    for name in ("dataset_info.json", "dataset_infos.json"):
        note = _note(folder / name)
        for info in (note, *note.values()):
            written.update(class_names(info))
    return written


def _note(path: Path) -> dict[str, Any]:
    """A JSON file that describes a data set; {} where there is none."""
    try:
        value = json.loads(first_bytes(path, _LARGEST_NOTE))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _table_beside_pictures(folder: Path) -> Path | None:
    """The table that says of the pictures in a folder what a model answered."""
    names = {path.name.lower(): path for path in sorted(folder.iterdir())} if folder.is_dir() else {}
    for stem in _BESIDE:
        for lower, path in names.items():
            if lower.partition(".")[0] == stem and ending(path) in (*DELIMITED, *JSON, *BINARY):
                columns = column_names_of(path)
                verdict = any(usual_column(role, columns) for role in ("prediction", "correct", "failed"))
                if usual_column("image", columns) and (verdict or all(answers_in(columns))):
                    return path
    return None


def _labelled_by_folder(folder: Path, sheet: Sheet) -> Sheet:
    """With the name of each picture's folder as its label, where no column has the labels."""
    image = usual_column("image", sheet.columns)
    label, _ = answers_in(sheet.columns)
    if label or not image:
        return sheet
    classes: dict[str, str | None] = {}
    for place, _, files in os.walk(folder):
        inside = Path(place).relative_to(folder)
        for file in files if inside.parts else ():
            classes[(inside / file).as_posix()] = inside.name
            classes[file] = None if classes.get(file, inside.name) != inside.name else inside.name
        if len(classes) > _MOST_PICTURES:
            raise WeakspotError(f"{folder} has too many files", fix="give the table a column of labels")
    named = [PurePosixPath(str(cell).replace("\\", "/")) for cell in sheet.columns[image]]
    labels = [classes.get(path.as_posix()) or classes.get(path.name) for path in named]
    if not any(labels):
        return sheet
    return replace(sheet, columns={**sheet.columns, free_name("label", sheet.columns): labels})
