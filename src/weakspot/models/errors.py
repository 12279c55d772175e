"""Errors of files and libraries, told in one line with a way out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from weakspot.core import WeakspotError, nearest


def system_reason(error: BaseException) -> str:
    """What the system says of a file, without its number and the path; of other errors all they say."""
    return str(getattr(error, "strerror", None) or error)


def kind_and_reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def in_one_line(error: BaseException, *, most: int = 300) -> str:
    """The kind of an error and the first line of what it says."""
    said = (str(error).strip().splitlines() or [""])[0][:most]
    return f"{type(error).__name__}: {said}"


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "no reason was given"


@contextmanager
def explained(
    what: str, *errors: type[Exception], fix: str, why: Callable[[Exception], str] = str
) -> Iterator[None]:
    """Turn errors of these kinds into ours: `what`, and why."""
    try:
        yield
    except errors as error:
        raise WeakspotError(f"{what}: {why(error)}", fix=fix) from error


def check_choice(name: str, known: Collection[str], what: str, *, most: int | None = None) -> None:
    """Refuse a name that is not known; the names are listed in at most so many characters."""
    if name not in known:
        raise WeakspotError(what, fix=nearest(name, known) or f"choose one of: {', '.join(known)[:most]}")
