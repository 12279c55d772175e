"""What a hunt excludes, in plain words: the same on the page, in Markdown and on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from weakspot.core import Tally
from weakspot.report import format as show
from weakspot.report.document import Table
from weakspot.store import rate
from weakspot.studies.hunt.listing import Listing
from weakspot.studies.hunt.result import Certified, TriedCaption

#: Captions in the table of the highest bounds.
LISTED: Final = 12
#: What is meant by it.
_TEXTS: Final = yaml.safe_load(Path(__file__).with_name("report_texts.yaml").read_bytes())


def told(hunt: Listing) -> list[str]:
    """What was tried and not found, in one or two sentences; [] where nothing was tried."""
    if (found := hunt.result.certified) is None:
        return []
    beyond = "beyond these, " if hunt.confirmed else ""
    none = f"none of the {show.plural(found.captions, 'caption')} that were tried fails"
    if found.captions == 1:
        none = "the one caption that was tried does not fail"
    at = f"at {show.level(found.level)}"
    nothing = "too few pictures were drawn to exclude anything"
    if found.limit is None and found.bound == 1:
        return [f"{nothing.capitalize()} of what was tried.", *_common(found), _why(hunt, found.tried[0])]
    if found.limit is None:
        text = f"{beyond}{none} more often than {show.at_most(found.bound)} of the time ({at})."
        return [f"{text[0].upper()}{text[1:]}", *_common(found), _why(hunt, found.tried[0])]
    limit = show.level(found.limit)
    if (worst := found.above) is not None:
        seen = show.rate(rate(Tally(worst.n, worst.failures)))
        return [f"Not certified below {limit}: {_words(hunt, worst)} fails {seen}."]
    if found.bound <= found.limit:
        return [f"Certified below {limit}: {beyond}{none} more often ({at})."]
    only = f"the pictures so far exclude only rates above {show.at_most(found.bound)} ({at})"
    short = f"Not certified below {limit}: {nothing if found.bound == 1 else only}."
    return [short, *_common(found), _why(hunt, found.tried[0])]


def lines(hunt: Listing, wide: int) -> Iterable[str]:
    """The same on a terminal."""
    for i, text in enumerate(told(hunt)):
        yield from show.wrapped("" if i else "excluded", text, wide)


def highest(hunt: Listing) -> Iterable[Table]:
    """The captions with the highest bounds, in a table."""
    if (found := hunt.result.certified) is None:
        return
    rows = [
        (
            _words(hunt, one),
            show.count(one.failures),
            show.count(one.n),
            "plain pictures that say so" if one.by_plain else "its own pictures",
            show.at_most(one.high),
        )
        for one in found.tried[:LISTED]
    ]
    head = ("caption", "failed", "of", "drawn as", "fails at most")
    more = found.captions - len(rows)
    yield Table(
        "The highest bounds",
        str(_TEXTS["excluded"]),
        head,
        rows,
        more,
        folded="The captions with the highest bounds",
    )


def _common(found: Certified) -> list[str]:
    """The bound of what is often said, where it is lower."""
    if not found.common or found.common_bound >= found.bound:
        return []
    which = f"Of the {found.common} that at least {show.level(found.common_share)} of plain pictures say"
    return [f"{which}, none fails more often than {show.at_most(found.common_bound)} of the time."]


def _why(hunt: Listing, one: TriedCaption) -> str:
    """Which caption decides the bound, and what was seen of it."""
    if not one.n:
        return f"Of {_words(hunt, one)}, for example, there was hardly a picture."
    pictures = "plain pictures that say so" if one.by_plain else "pictures"
    counts = f"{show.count(one.failures)} of {show.count(one.n)} {pictures} failed"
    return f"The bound is that of {_words(hunt, one)}: {counts}."


def _words(hunt: Listing, one: TriedCaption) -> str:
    label = next((b.label for b in hunt.bases if b.hypothesis.id == one.baseline), "") if hunt.labels else ""
    said = f"“{show.shorten(one.phrase.rstrip('.'), 160)}”"
    return f"{show.shorten(label, 60)}: {said}" if label else said
