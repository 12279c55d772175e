"""What a repair writes for people and other trainers: the card of the model, and the data set alone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.store.blobs import png, write_whole
from weakspot.studies.repair.result import Proof, RepairResult, Training


def write_card(folder: Path, known: RepairResult, *, rate: float) -> None:
    """Write what is to be known of the model, as Markdown, beside its weights (ONNX or safetensors)."""
    write_whole(folder / "README.md", "".join(f"{line}\n" for line in _card(folder, known, rate)).encode())


def _card(folder: Path, known: RepairResult, rate: float) -> Iterator[str]:
    yield from ("# Repaired model", "")
    made = f"Made by weakspot repair from `{_plain(known.target)}`."
    yield f"{made} Weights are data (ONNX or safetensors), no code."
    yield from ("", "## What was to be repaired", "")
    yield from (f"- {_plain(words)}" for words in known.chosen)
    yield from ("", "## How", "")
    if known.training is not None:
        yield from _trained(known.training, known.method, rate)
    if known.proof is not None:
        yield from _proved(known.proof)
    yield from ("## Files", "")
    for path in sorted(folder.iterdir()):
        if path.name != "README.md" and path.is_file():
            yield f"- `{path.name}`, SHA-256 `{hashlib.sha256(path.read_bytes()).hexdigest()}`"
    if known.model:
        yield from ("", f"As a target: `{_plain(known.model)}`")


def _trained(trained: Training, method: str, rate: float) -> Iterator[str]:
    each = f" of {trained.round}" if trained.round else ""
    yield (
        f"Method {method}: {trained.parameters:,} numbers trained on {trained.pictures:,} "
        f"{trained.kind}, {100 * rate:.0f} % of them as the weak spots say; "
        f"{trained.epochs} rounds{each}, of which round {trained.best} was kept (0: none was "
        "better than the old weights on validation inputs)."
    )
    if places := trained.guard:  # how far the weights were moved was chosen
        old = next(place.plain for place in places if place.way == 0)
        yield (
            f"The weights lie {100 * trained.way:.0f} % of the way from the old ones to that round's. On "
            f"{trained.guards:,} pictures that neither training nor proof saw, plain ones failed "
            f"{100 * old:.1f} % before and {100 * places[-1].plain:.1f} % there."
        )
    yield ""


def _proved(proof: Proof) -> Iterator[str]:
    yield from ("## What was proved", "")
    yield from (f"Verdict: **{proof.verdict}**, on inputs that neither search nor training saw.", "")
    yield "| where | cases | failed before | failed after | removed | newly made |"
    yield "|---|---|---|---|---|---|"
    for row in [*proof.chosen, *proof.others, proof.clean, *proof.more]:
        yield (
            f"| {_plain(row.words)} | {row.n:,} | {_share(row.before, row.n)} | "
            f"{_share(row.after, row.n)} | {row.removed:,} | {row.made:,} |"
        )
    yield ""


def _plain(text: str) -> str:
    """Words of others, in one line and without marks that Markdown or HTML would read."""
    shown = "".join(c if c.isprintable() else " " for c in text[:300])
    return shown.translate(str.maketrans("|`<>", "/'‹›"))


def _share(failures: int, n: int) -> str:
    return f"{100 * failures / n:.1f} % ({failures:,})" if n else "0"


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
    counts = dict.fromkeys(names, 0)
    lines = []
    try:
        for safe in names.values():
            (folder / "train" / safe).mkdir(parents=True, exist_ok=True)
        for i, (image, label, why) in enumerate(rows):
            path = Path("train") / names[label] / f"{i:06d}.png"
            write_whole(folder / path, png(image))
            counts[label] += 1
            row = {"file_name": path.as_posix(), "label": label, "what": why}
            lines.append(json.dumps(row, ensure_ascii=False))
        for name, text in (("metadata.jsonl", "\n".join(lines)), ("README.md", _about(spots, model, counts))):
            write_whole(folder / name, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise WeakspotError(
            f"the data set cannot be written to {folder}: {error.strerror}",
            fix="free some space, or name another --out",
        ) from error
    return {"folder": str(folder), "pictures": len(rows), "labels": counts}


def _about(spots: Sequence[str], model: str, counts: dict[str, int]) -> str:
    listed = "\n".join(f"- {' '.join(words.split())[:300]}" for words in spots)
    return (
        "# Repair data\n\n"
        f"Pictures to train a classifier on whose weak spots (of {' '.join(model.split())[:200]}) "
        f"these are:\n\n{listed}\n\n{sum(counts.values()):,} pictures of {len(counts)} labels: some as the "
        "weak spots say, the others as they are; metadata.jsonl says which. None of them was used to find "
        "the weak spots, and none may be used to verify the repair."
    )
