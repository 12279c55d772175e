"""The one base error. Its message says what is wrong; `fix` says what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class WeakspotError(Exception):
    """Something a user can understand and mend. The CLI prints both lines and no traceback."""

    def __init__(self, what: str, *, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n{self.fix}" if self.fix else self.what


@contextmanager
def disk_errors(what: str, fix: str) -> Iterator[None]:
    """Turn an error of the disk into ours: `what` cannot be done, and why."""
    try:
        yield
    except OSError as error:
        raise WeakspotError(f"{what}: {error.strerror}", fix=fix) from error


def nearest(name: str, known: Iterable[str]) -> str:
    """' Did you mean …?' for the closest known name, or '' when nothing is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else ""


def check_known(name: str, known: Iterable[str], what: str) -> None:
    """Refuse a name that is not known: `what` says so, and the fix is the nearest one or all of them."""
    names = list(known)
    if name not in names:
        raise WeakspotError(what, fix=nearest(name, names) or f"choose from: {', '.join(names)}")
