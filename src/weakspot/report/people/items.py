"""What a label is about: a trial's id among items, and whether its input is a picture."""

from __future__ import annotations

from weakspot.core import Hypothesis, Stage, WeakspotError
from weakspot.store import Run, Unreachable


def item_id(hypothesis: Hypothesis, index: int) -> str:
    return f"{hypothesis.id}:{int(Stage.of(index))}:{index - Stage.of(index).start}"


def trial_of(item: str) -> tuple[str, int]:
    """The hypothesis' id and the index of a trial's item; the inverse of `item_id`."""
    hypothesis, stage, index, *_ = item.split(":")
    return hypothesis, Stage(int(stage)).start + int(index)


def picture_of(run: Run, blob: str | None) -> str:
    """A digest, if what lies there is a picture; "" otherwise."""
    try:
        head = run.blobs.head(blob, 12) if blob else b""
    except Unreachable:
        raise
    except (WeakspotError, OSError):
        return ""
    fine = head.startswith((b"\x89PNG", b"\xff\xd8")) or head[8:12] == b"WEBP"
    return blob if blob and fine else ""


def text_of(run: Run, blob: str | None, *, most: int = 2_000) -> str:
    """The text that lies there; "" if it is none."""
    if not blob or picture_of(run, blob):
        return ""
    try:
        return run.blobs.head(blob, most).decode(errors="ignore")
    except Unreachable:
        raise
    except (WeakspotError, OSError):
        return ""
