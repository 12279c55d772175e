"""How far a run of `ask` is: what was asked, and how much of it refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weakspot.report.format import clean, count, percent

if TYPE_CHECKING:
    from weakspot.engine import Lane

#: Arms or descriptions in one line.
MOST: Final = 4


def progress(_: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    """How far a run is, in one line."""
    begun = [lane for lane in lanes if lane.tally.drawn]
    if len(begun) > MOST:  # descriptions of scenarios: the worst
        begun = sorted(begun, key=lambda lane: -lane.tally.rate if lane.tally.n else 0.0)[:MOST]
    told = " · ".join(map(_lane, begun)) or "the first questions"
    cost = f" · ${spent['dollars']:,.2f}" if spent.get("dollars") else ""
    return f"asking   {told} · {count(spent['calls'])} calls so far{cost}"


def _lane(lane: Lane) -> str:
    concepts = dict(lane.hypothesis.concepts)
    name = concepts.get("kind") or concepts.get("stage") or concepts.get("set", "")
    system = concepts.get("system", "none")
    name += "" if system == "none" else f" ({system})"
    failing = "refused" if concepts.get("set") == "benign" else "answered"
    rate = f"{percent(lane.tally.rate)} {failing}" if lane.tally.n else "nothing judged"
    beside = f", {count(lane.tally.errors)} errors" if lane.tally.errors else ""
    return f"{clean(name[:40])} {count(lane.tally.drawn)}: {rate}{beside}"
