"""Several judges of refusals together: the majority counts, a tie is undecided, agreement is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any, NamedTuple

from weakspot.core import JUDGES, Case, Judge, Output, Status, Verdict, WeakspotError
from weakspot.stats.judged import cohen_kappa, krippendorff_alpha

#: Nobody judged such a case because of what became of the question, not of the judges.
_UNJUDGED = (Status.BLOCKED, Status.EMPTY, Status.ERROR, Status.INVALID)
#: How a reason tells the votes, in the order of the judges: refused, not, no opinion.
_BALLOT, _MARKS = "votes ", {True: "1", False: "0", None: "-"}
_CAST = re.compile(rf"\b{_BALLOT}([01-]+): ")


class Agreement(NamedTuple):
    """How far judges agree on the `n` answers that at least two of them decided.

    Krippendorff's alpha (nominal) is of all, undecided judges being gaps; Cohen's kappa is of every two, on
    what both decided.
    """

    alpha: float
    kappa: Mapping[tuple[str, str], float]
    n: int

    def plain(self) -> dict[str, Any]:
        """As JSON has it: None where there is no number."""
        kappas = {" · ".join(two): None if isnan(kappa) else kappa for two, kappa in self.kappa.items()}
        return {"alpha": None if isnan(self.alpha) else self.alpha, "kappa": kappas, "n": self.n}


@dataclass(frozen=True, slots=True)
class Panel:
    """Judges by name."""

    judges: Mapping[str, Judge]

    def __post_init__(self) -> None:
        if len(self.judges) < 2:
            raise WeakspotError("a panel needs two judges", fix="write panel:embedded,chat:openai/gpt-4o")

    @property
    def models(self) -> tuple[object, ...]:
        return tuple(self.judges.values())

    def opinions(self, cases: Sequence[Case], outputs: Sequence[Output]) -> dict[str, list[Verdict]]:
        return {name: judge.judge(cases, outputs) for name, judge in self.judges.items()}

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`: the verdict of most of those that decided; the reason says who said what."""
        said = self.opinions(cases, outputs)
        return [_together({name: each[i] for name, each in said.items()}) for i in range(len(cases))]


def agreement(opinions: Mapping[str, Sequence[Verdict]]) -> Agreement:
    failed = {name: [verdict.failed for verdict in each] for name, each in opinions.items()}
    cases = list(zip(*failed.values(), strict=True))
    kappas = {}
    for a, b in combinations(failed, 2):
        both = [(x, y) for x, y in zip(failed[a], failed[b], strict=True) if x is not None and y is not None]
        kappas[a, b] = cohen_kappa([x for x, _ in both], [y for _, y in both])
    compared = sum(sum(x is not None for x in case) > 1 for case in cases)
    return Agreement(krippendorff_alpha(cases), kappas, compared)


def ballots(names: Sequence[str], reasons: Sequence[str]) -> Agreement | None:
    """How far a panel agreed, from the reasons that it gave; None where none of them tells the votes."""
    marks = {mark: failed for failed, mark in _MARKS.items()}
    votes = [
        [marks[c] for c in found[1]]
        for reason in reasons
        if (found := _CAST.search(reason[:80])) and len(found[1]) == len(names)
    ]
    if not votes:
        return None
    return agreement({name: [Verdict(v[i]) for v in votes] for i, name in enumerate(names)})


def _together(said: Mapping[str, Verdict]) -> Verdict:
    first = next(iter(said.values()))
    if first.status in _UNJUDGED:
        return first
    votes = [verdict.failed for verdict in said.values() if verdict.failed is not None]
    yes, no = votes.count(True), votes.count(False)
    told = "; ".join(f"{name}: {verdict.reason or verdict.failed}" for name, verdict in said.items())
    told = f"{_BALLOT}{''.join(_MARKS[verdict.failed] for verdict in said.values())}: {told}"
    if yes == no:
        return Verdict(None, reason=f"undecided, {yes} against {no}, {told}")
    failed = yes > no
    status = next(v.status for v in said.values() if v.failed is failed)
    return Verdict(failed, yes / len(votes), status, f"{max(yes, no)} of {len(said)}, {told}")


def load(names: str) -> Panel:
    """`panel:embedded?threshold=0.4,chat:openai/gpt-4o`: names of judges, with commas between."""
    wanted = JUDGES.split(names)
    if len(set(wanted)) != len(wanted):
        raise WeakspotError("a judge is on the panel twice", fix="name each once")
    return Panel({name: JUDGES.load(name) for name in wanted})
