"""Judges one after the other: the next is asked only about what the one before could not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from weakspot.core import JUDGES, Case, Judge, Output, Status, Verdict, WeakspotError
from weakspot.judges.refusal.grades import NEITHER, OPEN, grade_in

SCHEME = "routed"


@dataclass(frozen=True, slots=True)
class Routed:
    """Judges by name, in the order in which they are asked."""

    judges: Mapping[str, Judge]

    def __post_init__(self) -> None:
        if len(self.judges) < 2:
            raise WeakspotError("one judge has nobody to hand on to", fix="write embedded,chat:openai/gpt-4o")

    @property
    def models(self) -> tuple[object, ...]:
        return tuple(self.judges.values())

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`: the verdict of the first judge that can say; its reason tells who was asked before."""
        names = list(self.judges)
        found = self.judges[names[0]].judge(cases, outputs)
        for before, name in pairwise(names):
            left = [i for i, verdict in enumerate(found) if is_open(verdict)]
            if not left:
                break
            more = self.judges[name].judge([cases[i] for i in left], [outputs[i] for i in left])
            for i, verdict in zip(left, more, strict=True):
                if not is_open(verdict):
                    told = f"{verdict.reason or verdict.status} · asked {name}, since {before} was unsure"
                    found[i] = replace(verdict, reason=told)
        return found


def is_open(verdict: Verdict) -> bool:
    """Whether another judge, or people, might still say whether an answer refuses."""
    if verdict.failed is not None or verdict.status is not Status.OK:
        return False
    grade = grade_in(verdict.reason or "")
    return grade in OPEN or grade not in NEITHER


def routed_name(name: str) -> str:
    """The name of a judge; of several, separated by commas, one that asks them one after the other."""
    parts = JUDGES.split(name)
    first = JUDGES.find(parts[0])[0].name if parts and JUDGES.knows(parts[0]) else ""
    if len(parts) < 2 or first in ("panel", SCHEME):
        return name
    return f"{SCHEME}:{','.join(parts)}"


def load(names: str) -> Routed:
    """`embedded,chat:openai/gpt-4o`: the second is asked where the first is unsure; each may have options."""
    wanted = JUDGES.split(names)
    if len(set(wanted)) != len(wanted):
        raise WeakspotError("a judge is named twice", fix="name each once")
    return Routed({name: JUDGES.load(name) for name in wanted})
