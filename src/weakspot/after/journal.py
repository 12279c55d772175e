"""What was drawn outside a run, line by line in a file, so that a kill costs one batch and no more."""

from __future__ import annotations

import fcntl
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weakspot.after.panel import Asked
from weakspot.core import WeakspotError
from weakspot.store import Blobs, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A case that was drawn and asked about.

    Attributes:
        hypothesis: Its id.
        index: Of the case.
        failed: True, False, or None where that cannot be said.
        status: "ok", or what was wrong.
        detail: Why.
        expected: The right answer.
        answer: The model's.
        caption: What the source knows of the picture.
        seed: Of the case.
        score: The judge's.
        top: The most probable labels.
        blob: Digest of the picture, kept if it failed.
        tokens: What it cost.
        dollars: What it cost.
        seconds: What it took.
    """

    hypothesis: str
    index: int
    failed: bool | None
    status: str = "ok"
    detail: str = ""
    expected: str = ""
    answer: str | None = None
    caption: str = ""
    seed: int = 0
    score: float | None = None
    top: tuple[tuple[str, float], ...] = ()
    blob: str | None = None
    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0


class Journal:
    """A folder with a list of draws and the pictures that failed.

    Args:
        folder: Where; made if it is not there.
        about: What the draws depend on. A journal of something else is refused.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder, self.path = folder, folder / "journal.jsonl"
        self.blobs = Blobs(folder / "blobs")
        self._draws: dict[tuple[str, int], Draw] = {}
        head = json.dumps(about, sort_keys=True, default=str)
        lines = _whole_lines(self.path)
        if lines and lines[0] != head:
            raise WeakspotError(
                f"{folder} was left by an export with other settings",
                fix="remove that folder, or choose another --out",
            )
        for line in lines[1:]:
            row = json.loads(line)
            draw = Draw(**(row | {"top": tuple((label, p) for label, p in row["top"])}))
            self._draws[draw.hypothesis, draw.index] = draw
        if not lines:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.write_text(f"{head}\n", encoding="utf-8")

    def __len__(self) -> int:
        return len(self._draws)

    def get(self, hypothesis: str, index: int) -> Draw | None:
        """A draw of before."""
        return self._draws.get((hypothesis, index))

    def add(self, draws: Sequence[Draw]) -> None:
        """Write some down; their pictures must be there already."""
        text = "".join(f"{json.dumps(asdict(draw))}\n" for draw in draws)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
        self._draws |= {(d.hypothesis, d.index): d for d in draws}

    def draw_of(self, hypothesis: str, asked: Asked) -> Draw:
        """A draw from what one member of a panel said; a failing picture is kept."""
        if asked.case is None or not asked.said:
            return Draw(
                hypothesis=hypothesis, index=asked.index, failed=None, status="error", detail=asked.error,
                seconds=asked.seconds,
            )  # fmt: skip
        case, said = asked.case, asked.said[0]
        output, verdict = said.output, said.verdict
        status = "error" if said.error else output.status if output.status != "ok" else verdict.status
        blob = None
        if said.failed:
            content = encode(case.input)
            blob = None if content is None else self.blobs.put(content)
        return Draw(
            hypothesis=hypothesis,
            index=asked.index,
            failed=said.failed,
            status=str(status),
            detail=_storable(said.error or verdict.reason),
            expected=_storable(case.expected),
            answer=None if output.answer is None else _storable(output.answer),
            caption=_storable(case.caption),
            seed=case.seed,
            score=_finite(verdict.score),
            top=tuple((_storable(label), p) for label, p in output.scores.top(3)) if output.scores else (),
            blob=blob,
            tokens=output.usage.tokens,
            dollars=output.usage.dollars,
            seconds=asked.seconds,
        )


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep others out of a folder; the kernel frees it when the process ends, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("wb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise WeakspotError(
                f"another process is writing {folder}", fix="wait for it, or stop it"
            ) from None
        yield


def _whole_lines(path: Path) -> list[str]:
    """The lines of a file; a last one that was cut off by a kill is removed from it."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
    return whole.decode().splitlines()


def _storable(text: str) -> str:
    return text[:32_768].encode("utf-8", "backslashreplace").decode()


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
