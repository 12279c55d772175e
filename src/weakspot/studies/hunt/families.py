"""Weak spots of one kind: behind a fence, behind a net, behind bars. A person hears of them as one.

Each member is a claim of its own, confirmed by itself; a family takes one place in the list of findings.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from weakspot.concepts.rules import Sentences
from weakspot.text.frames import framed

#: Members of a family, at most; what would be one more is left out.
SIZE: Final = 8

#: What members of a family share: the frame of one sentence, all other sentences, and of what they are.
_Key = tuple[tuple[str, str, str], Sentences, Hashable]


class Member(NamedTuple):
    """What a claim says, and of what: claims about other labels or answers are of another family."""

    words: Sentences
    of: Hashable = ""


def families(members: Sequence[Member], *, size: int = SIZE) -> list[list[int]]:
    """Which claims go together, in the order in which each family began.

    Args:
        members: All claims; the first of a family is the one that begins it.
        size: One that would be a further member of a full family is in none. With 1, each is a family.
    """
    found: list[tuple[frozenset[_Key], list[int]]] = []
    for i, member in enumerate(members):
        own = _keys(member) if size > 1 else frozenset[_Key]()
        at = next((j for j, (keys, _) in enumerate(found) if keys & own), None)
        if at is None:
            found.append((own, [i]))
        elif len(found[at][1]) < size:
            found[at] = found[at][0] & own, [*found[at][1], i]
    return [several for _, several in found]


def _keys(member: Member) -> frozenset[_Key]:
    cut = [(framed(sentence), member.words - {sentence}) for sentence in member.words]
    return frozenset((one.frame, rest, member.of) for one, rest in cut if one is not None)
