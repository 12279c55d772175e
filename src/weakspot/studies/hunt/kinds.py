"""How findings of one kind are told: the first with its place, the others after it, "or a net", "or bars"."""

from __future__ import annotations

from weakspot.core import Finding
from weakspot.report import format as show
from weakspot.studies.hunt.listing import Listing
from weakspot.text.clauses import listed
from weakspot.text.frames import framed
from weakspot.text.sentences import sentences


def counted(hunt: Listing) -> str:
    """How many are confirmed: "8 weak spots, 5 more of the same kind and 2 worse within them"."""
    return listed([show.plural(len(hunt.tops), "weak spot"), *_shared(hunt)])


def further(hunt: Listing) -> str:
    """How many share a place with others: "5 more of the same kind"; "" if none do."""
    return listed(_shared(hunt))


def _shared(hunt: Listing) -> list[str]:
    kin = sum(bool(finding.beside) for finding in hunt.confirmed)
    worse = sum(bool(finding.under) for finding in hunt.confirmed)
    return [
        *([f"{show.count(kin)} more of the same kind"] if kin else []),
        *([f"{show.count(worse)} worse within them"] if worse else []),
    ]


def likewise(hunt: Listing, finding: Finding) -> str:
    """How it differs from the first of its kind: "or a net" after "behind a fence"; "" of any other."""
    first, base = hunt.known.get(finding.beside), hunt.base_of(finding.hypothesis)
    if first is None or base is None:
        return ""
    known = sentences(first.beyond(base.hypothesis))
    names = [framed(sentence) for sentence in sentences(finding.phrase) if sentence not in known]
    return f"or {names[0].named}" if len(names) == 1 and names[0] is not None else ""
