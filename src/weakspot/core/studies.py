"""The names of the studies: those that come with weakspot, and those of other packages.

The entry points of the latter are in the group `weakspot.studies`. Nothing of a study is imported here; see
`weakspot.study.registry` for that.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from weakspot.core.builtin import STUDIES
from weakspot.core.entry import Entry
from weakspot.core.errors import WeakspotError


@cache
def study_entries() -> dict[str, Entry]:
    """Every study by name; two owners of one name are an error."""
    found = {entry.name: entry for entry in STUDIES}
    for point in entry_points(group="weakspot.studies"):
        origin = point.dist.name if point.dist else "an unknown package"
        if point.name in found and found[point.name].target != point.value:
            raise WeakspotError(
                f"the study {point.name!r} is registered twice: by {found[point.name].origin} and {origin}",
                fix="uninstall one of the two, or rename its entry point",
            )
        found.setdefault(point.name, Entry(point.name, point.value, origin=origin))
    return found


def study_names() -> tuple[str, ...]:
    """The names of all studies."""
    return tuple(study_entries())
