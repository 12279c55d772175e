"""Finds a study by its name, and imports it."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from weakspot.core import WeakspotError, nearest
from weakspot.core.studies import study_entries
from weakspot.study.study import Study


@cache
def find_study(name: str) -> Study:
    """A study by its name; a wrong name is an error that says the nearest right one."""
    entry = study_entries().get(name)
    if entry is None:
        hint = nearest(name, study_entries()) or f"choose from: {', '.join(study_entries())}"
        raise WeakspotError(f"no study is called {name[:80]!r}", fix=hint)
    module, _, attribute = entry.target.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise WeakspotError(
            f"the study {name!r} of {entry.origin} cannot be imported: {error}",
            fix=f"reinstall {entry.origin}",
        ) from error
    if not isinstance(found, Study):
        raise WeakspotError(
            f"the study {name!r} of {entry.origin} is a {type(found).__name__}, not a Study",
            fix=f"ask the authors of {entry.origin}",
        )
    return found
