"""What a text must contain for a pattern to be found in it: a cheap look that spares most searches.

Most sentences meet none of the hundred patterns, and looking for a word is ten times as quick as looking
for a pattern. Of every pattern the words are taken of which one must be there, whatever else matches.
"""

from __future__ import annotations

import re
from re import _parser as parser  # type: ignore[attr-defined]  # the parser of `re` has no public name
from typing import Any, Final

#: More words than these cost as much as the pattern itself.
_MOST: Final = 48

Needles = tuple[str, ...]


def needles_of(pattern: re.Pattern[str]) -> Needles:
    """Texts of which one is in every text that the pattern is found in; empty if none are known."""
    if pattern.flags & re.IGNORECASE:
        return ()
    found = _best(_required(parser.parse(pattern.pattern, pattern.flags)))
    return tuple(sorted(found, key=len)) if len(found) <= _MOST else ()


def may_be_in(needles: Needles, text: str) -> bool:
    """Whether it is worth looking."""
    if not needles:
        return True
    for needle in needles:
        if needle in text:
            break
    else:
        return False
    return True


def _required(sequence: Any) -> list[frozenset[str]]:
    """Sets of texts of which each has one that must occur."""
    found: list[frozenset[str]] = []
    run = ""
    for op, value in sequence:
        name = str(op)
        if name == "LITERAL":
            run += chr(value)
            continue
        if run:
            found.append(frozenset({run}))
            run = ""
        if name == "SUBPATTERN":
            found += _required(value[-1])
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
            found += _required(value[2])
        elif name == "BRANCH":
            parts = [_best(_required(branch)) for branch in value[1]]
            if all(parts):
                found.append(frozenset().union(*parts))
    if run:
        found.append(frozenset({run}))
    return found


def _best(found: list[frozenset[str]]) -> frozenset[str]:
    """The set that is seldom met: of long texts, and few of them."""
    useful = [one for one in found if all(text.strip() for text in one)]
    return max(useful, key=lambda one: min(map(len, one)) - len(one) / 12, default=frozenset())
