"""What an ONNX file, or the files beside it, say of labels and pictures, so that nobody need repeat it.

Read are the file's own metadata (`labels`, `mean`, `std`, `outputs`), and of a folder as exporters of
transformers write it `config.json` (id2label) and `preprocessor_config.json`. Options of a name go first.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from weakspot.core import WeakspotError
from weakspot.models.preprocess import Preprocess, read_preprocess
from weakspot.models.scores import distinct

#: Longer metadata are not read, in characters.
LONGEST = 4_000_000


class Metadata(NamedTuple):
    """What is known; () , "" or None where nothing is said."""

    labels: tuple[str, ...] = ()
    mean: str = ""
    std: str = ""
    outputs: str = ""
    prepare: Preprocess | None = None


def read_metadata(path: Path, said: Mapping[str, str], *, prepared: bool = False) -> Metadata:
    """Of one file.

    Args:
        path: The ONNX file.
        said: Its own metadata.
        prepared: The user said how pictures are prepared, so that nothing of it is read.
    """
    labels = label_names(said.get("labels") or said.get("names") or "", of=path)
    mean, std = (_numbers(said.get(key, "")) for key in ("mean", "std"))
    prepare = None if prepared or mean or std else read_preprocess(path.parent)
    if not labels and (config := path.parent / "config.json").is_file():
        labels = _of_config(config)
    return Metadata(labels, mean, std, said.get("outputs", ""), prepare)


def label_names(text: str, *, of: object) -> tuple[str, ...]:
    """Labels written as a JSON list, a mapping from numbers to names, or one a line."""
    if not text.strip() or len(text) > LONGEST:
        return ()
    found: Any = None
    for read in (json.loads, ast.literal_eval):  # literals alone: nothing is run
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        break
    if isinstance(found, Mapping):
        return in_order(found, of=of)
    return distinct(found if isinstance(found, list) else text.splitlines(), of=str(of))


def in_order(names: Mapping[Any, Any], *, of: object) -> tuple[str, ...]:
    """A mapping from numbers (or numerals) to names, as a row.

    Raises:
        WeakspotError: A number is missing, or is none.
    """
    try:
        by_number = {int(key): value for key, value in names.items()}
        return distinct([by_number[i] for i in range(len(by_number))], of=str(of))
    except (KeyError, TypeError, ValueError):
        raise WeakspotError(
            f"the labels of {str(of)[:200]} are not numbered from 0 on", fix="give them: ?labels=labels.txt"
        ) from None


def _of_config(path: Path) -> tuple[str, ...]:
    try:
        names = json.loads(path.read_bytes()).get("id2label")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ()
    return in_order(names, of=path) if isinstance(names, Mapping) and names else ()


def _numbers(text: str) -> str:
    """`[0.5, 0.5, 0.5]` as an option is written: `0.5,0.5,0.5`."""
    return text.strip().strip("[]()").replace(" ", "")
