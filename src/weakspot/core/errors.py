"""The one base error: its message says what is wrong, `fix` what to do. And how other errors become one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager


class WeakspotError(Exception):
    """Something a user can understand and mend. The CLI prints both lines and no traceback."""

    def __init__(self, what: str, *, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n{self.fix}" if self.fix else self.what


@contextmanager
def explained(
    what: str, *errors: type[Exception], fix: str, why: Callable[[Exception], str] = str
) -> Iterator[None]:
    """Turn errors of these kinds into ours: `what`, and why."""
    try:
        yield
    except errors as error:
        raise WeakspotError(f"{what}: {why(error)}", fix=fix) from error


def disk_errors(what: str, fix: str) -> AbstractContextManager[None]:
    """Turn an error of the disk into ours: `what` cannot be done, and why."""
    return explained(what, OSError, fix=fix, why=system_reason)


def system_reason(error: BaseException) -> str:
    """What the system says of a file, without its number and the path; of other errors all they say."""
    return str(getattr(error, "strerror", None) or error)


def kind_and_reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def first_line(error: BaseException, most: int = 200) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:most] if lines else "no reason was given"


def in_one_line(error: BaseException, *, most: int = 300) -> str:
    """The kind of an error and the first line of what it says."""
    return f"{type(error).__name__}: {first_line(error, most) if str(error).strip() else ''}"


def nearest(name: str, known: Iterable[str]) -> str:
    """' Did you mean …?' for the closest known name, or '' when nothing is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else ""


def check_known(name: str, known: Iterable[str], what: str, *, most: int | None = None) -> None:
    """Refuse a name that is not known: `what` says so, and the fix is the nearest one or all of them.

    They are listed in at most so many characters.
    """
    names = list(known)
    if name not in names:
        raise WeakspotError(what, fix=nearest(name, names) or f"choose from: {', '.join(names)[:most]}")
