"""What a run of `mine` has to say, read once from its folder."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Tally, Trial
from weakspot.report.format import shorten
from weakspot.store import Run, rate
from weakspot.studies.mine.result import MineResult

#: Pairs of a category that are shown, and bars of a histogram.
EXAMPLES: Final = 6
BINS: Final = 50
#: Characters of a text that are shown.
LONGEST: Final = 300
#: Kinds of pairs that the others are compared with.
BASES: Final = ("replaced", "random")
_TOKENS: Final = re.compile(r"\w+\s*|[^\w\s]\s*")


class Example(NamedTuple):
    """Two texts and how alike they are: to the encoder, and to the reference where it was asked."""

    first: str
    second: str
    tested: float | None
    reference: float | None = None
    note: str = ""


class Stretch(NamedTuple):
    """Some words of a text: whether the other text has others there, and whether a space follows."""

    words: str
    changed: bool
    gap: bool


def apart(pair: Example) -> tuple[list[Stretch], list[Stretch]]:
    """Both texts of a pair in stretches that they share and that they do not."""
    first, second = (_TOKENS.findall(shorten(text, LONGEST)) for text in (pair.first, pair.second))
    bare = [[token.strip() for token in tokens] for tokens in (first, second)]
    steps = SequenceMatcher(a=bare[0], b=bare[1], autojunk=False).get_opcodes()

    def stretch(tokens: Sequence[str], *, changed: bool) -> Stretch:
        text = "".join(tokens)
        return Stretch(text.strip(), changed, text != text.rstrip())

    return (
        [stretch(first[a:b], changed=tag != "equal") for tag, a, b, _, _ in steps if a < b],
        [stretch(second[a:b], changed=tag != "equal") for tag, _, _, a, b in steps if a < b],
    )


class Change(NamedTuple):
    """What became what in the pairs of a category, how often, and how often that was taken for alike."""

    change: str
    n: int
    alike: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One category, or a baseline.

    Attributes:
        name: What people read first.
        text: The hypothesis' whole text.
        kind: "edited", "written", "replaced" or "random": where its pairs come from.
        mined: Pairs of the corpus that show it.
        state: How it stood in the race; "confirmed" after the confirmation.
        rate: Fresh pairs, where there are any; else those of the race.
        fresh: Whether the rate is of fresh pairs.
        finding: If it came so far.
        found: Pairs of the corpus.
        failing: New pairs that are taken for alike.
        passing: New pairs that are told apart.
        changes: What was changed most often.
        similarities: Of all its pairs, in bins from -1 to 1.
        relevance: How much of it matters for the topic.
    """

    id: str
    name: str
    text: str
    kind: str
    mined: int
    state: str
    rate: Rate
    fresh: bool
    finding: Finding | None
    found: tuple[Example, ...]
    failing: tuple[Example, ...]
    passing: tuple[Example, ...]
    changes: tuple[Change, ...]
    similarities: tuple[int, ...]
    relevance: Rate | None

    @property
    def confirmed(self) -> bool:
        """Whether fresh pairs confirmed it."""
        return self.finding is not None and self.finding.confirmed


@dataclass(frozen=True, slots=True)
class Mined:
    """A run: its facts, the categories (worst first), the baselines."""

    run: Run
    facts: dict[str, Any]
    rows: tuple[Row, ...]
    bases: tuple[Row, ...]

    @property
    def mined(self) -> dict[str, Any]:
        """The mined list; {} before there is one."""
        return dict(self.facts.get("mined") or {})

    @property
    def threshold(self) -> float | None:
        """Above this two texts are alike."""
        return self.mined["threshold"]["value"] if self.mined else None

    @property
    def confirmed(self) -> list[Row]:
        """The systematic failures."""
        return [row for row in self.rows if row.confirmed]


def gather(run: Run) -> Mined:
    """Read a run: finished, stopped, still running or just created."""
    ledger, result = run.ledger, MineResult.of(run) or MineResult()
    facts, states = result.plain(), result.states
    findings = {f.hypothesis.id: f for f in run.findings}
    cited: dict[str, list[Example]] = defaultdict(list)
    pairs = [
        Example(p["first"], p["second"], p["tested"], p["reference"], p["reason"])
        for p in (facts["mined"] or {}).get("pairs", [])
    ]
    for example, pair in zip(pairs, (facts["mined"] or {}).get("pairs", []), strict=True):
        cited[pair["category"]].append(example)
    for row in (facts["named"] or {}).get("failures", []):
        cited[f"llm:{row['name']}"] = [pairs[i] for i in row["cited"] if i < len(pairs)]
    relevance = (facts["scores"] or {}).get("each", {})
    rows = []
    for hypothesis in ledger.hypotheses():
        state = states.get(hypothesis.id, "open")
        rows.append(_row(run, hypothesis, state, findings.get(hypothesis.id), cited, relevance))
    found = [row for row in rows if row.kind not in BASES]
    found.sort(key=lambda row: (not row.confirmed, not row.fresh, -row.rate.value))
    order = sorted((row for row in rows if row.kind in BASES), key=lambda row: BASES.index(row.kind))
    return Mined(run, facts, tuple(found), tuple(order))


def _row(
    run: Run,
    hypothesis: Hypothesis,
    state: str,
    finding: Finding | None,
    cited: dict[str, list[Example]],
    relevance: dict[str, Any],
) -> Row:
    concepts = dict(hypothesis.concepts)
    kind, base = concepts.get("pairs", ""), hypothesis.origin == "baseline"
    fresh, early = (run.ledger.tally(hypothesis, stage) for stage in (Stage.CONFIRM, Stage.EXPLORE))
    trials = run.ledger.trials(hypothesis)
    shown = [t for t in trials if Stage.of(t.index) is Stage.CONFIRM] or trials
    tally = early.plus(fresh) if base else fresh if fresh.n else early
    own = cited.get(f"llm:{concepts.get('name')}" if kind == "written" else hypothesis.text, [])
    return Row(
        id=hypothesis.id,
        name=concepts.get("name", hypothesis.text),
        text=hypothesis.text,
        kind=kind,
        mined=0 if base else len(own),
        state="confirmed" if finding is not None and finding.confirmed else state,
        rate=finding.rate if finding is not None else rate(Tally(tally.n, tally.failures)),
        fresh=bool(fresh.n),
        finding=finding,
        found=tuple(own[:EXAMPLES]),
        failing=_examples(shown, failed=True),
        passing=_examples(shown, failed=False),
        changes=_changes(trials),
        similarities=_histogram(trials),
        relevance=Rate(**relevance[hypothesis.id]) if hypothesis.id in relevance else None,
    )


def pair_of(trial: Trial) -> tuple[str, str, str]:
    """The two texts of a trial, and what was changed."""
    try:
        first, second, change = json.loads(trial.caption)
        return str(first), str(second), str(change)
    except (ValueError, TypeError):
        return "", "", ""


def _examples(trials: Sequence[Trial], *, failed: bool) -> tuple[Example, ...]:
    """The nearest of the failing pairs, the farthest of the others; no change of words twice in a row."""
    some = [t for t in trials if t.failed is failed and t.score is not None]
    some.sort(key=lambda t: (-(t.score or 0.0) if failed else t.score or 0.0, t.index))
    seen: dict[str, int] = defaultdict(int)
    ranked: list[tuple[int, int, Example]] = []
    for trial in some:
        first, second, change = pair_of(trial)
        ranked.append((seen[change], len(ranked), Example(first, second, trial.score, None, change)))
        seen[change] += bool(change)
    return tuple(example for *_, example in sorted(ranked, key=lambda r: r[:2])[:EXAMPLES])


def _changes(trials: Sequence[Trial]) -> tuple[Change, ...]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for trial in trials:
        change = pair_of(trial)[2]
        if change and trial.failed is not None:
            counts[change][0] += 1
            counts[change][1] += trial.failed
    rows = [Change(change, n, alike) for change, (n, alike) in counts.items() if n > 2]
    return tuple(sorted(rows, key=lambda c: (-c.n, c.change))[:8])


def _histogram(trials: Sequence[Trial]) -> tuple[int, ...]:
    bins = [0] * BINS
    for trial in trials:
        if trial.score is not None:
            bins[min(max(int((trial.score + 1) / 2 * BINS), 0), BINS - 1)] += 1
    return tuple(bins)
