"""XSTest (Röttger et al., 2024): 250 safe prompts that look unsafe, 200 unsafe ones; text only.

`xstest:FILE` reads the released prompts (CSV with id, prompt, type, label) or a file of completions, whose
prompts are the same. A `type` that begins with "contrast_", or the label "unsafe", marks the contrast set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from weakspot.core import WeakspotError
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.core.rows import read_rows
from weakspot.sources.benchmark import Benchmark, Item
from weakspot.sources.question_files import table_in, unique

TABLES: Final = ("xstest_prompts.csv", "xstest_v2_prompts.csv", "prompts.csv", "prompts.jsonl")
_PREFIX: Final = "contrast_"


def load(name: str) -> Benchmark:
    """The prompts of a file, or of the table in a folder."""
    path = table_in(Path(name), TABLES)
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
        item = Item(str(key), prompt, CONTRAST if unsafe else BENIGN, slices=slices)
        found.append((row.line, item))
    unique(path, found)
    return Benchmark("xstest", [item for _, item in found])
