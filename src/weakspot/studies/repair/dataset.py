"""The repair data set for a trainer of one's own: a folder per label, and a table of what each picture is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.store.blobs import png, write_whole


def write_folder(
    folder: Path, rows: Sequence[tuple[NDArray[np.uint8], str, str]], *, spots: Sequence[str], model: str
) -> dict[str, Any]:
    """Write pictures as an image folder (`train/LABEL/00001.png`) with `metadata.jsonl` and a card.

    A row is a picture, its label, and what was done to it.
    """
    names: dict[str, str] = {}
    for _, label, _ in rows:
        if label not in names:
            safe = re.sub(r"[^\w.-]+", "_", label)[:60].strip(".") or "label"
            names[label] = safe if safe not in names.values() else f"{safe}_{len(names)}"
    counts: dict[str, int] = {}
    lines = []
    try:
        for label, safe in names.items():
            (folder / "train" / safe).mkdir(parents=True, exist_ok=True)
            counts[label] = 0
        for i, (image, label, why) in enumerate(rows):
            path = Path("train") / names[label] / f"{i:06d}.png"
            write_whole(folder / path, png(image))
            counts[label] += 1
            lines.append(
                json.dumps({"file_name": path.as_posix(), "label": label, "what": why}, ensure_ascii=False)
            )
        write_whole(folder / "metadata.jsonl", ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
        write_whole(folder / "README.md", _card(spots, model, counts).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise WeakspotError(
            f"the data set cannot be written to {folder}: {error.strerror}",
            fix="free some space, or name another --out",
        ) from error
    return {"folder": str(folder), "pictures": len(rows), "labels": counts}


def _card(spots: Sequence[str], model: str, counts: dict[str, int]) -> str:
    listed = "\n".join(f"- {' '.join(words.split())[:300]}" for words in spots)
    return (
        "# Repair data\n\n"
        f"Pictures to train a classifier on whose weak spots (of {' '.join(model.split())[:200]}) "
        f"these are:\n\n{listed}\n\n{sum(counts.values()):,} pictures of {len(counts)} labels: some as the "
        "weak spots say, the others as they are; metadata.jsonl says which. None of them was used to find "
        "the weak spots, and none may be used to verify the repair.\n"
    )
