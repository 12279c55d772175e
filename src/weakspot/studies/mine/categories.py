"""The categories of a run as people are told of them: rates, examples, figures, what two texts differ in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from weakspot.core import Finding, Hypothesis, Rate, Stage, Tally, Trial
from weakspot.report import plots
from weakspot.report.plots import Bins, Figure
from weakspot.store import Run, rate
from weakspot.studies.mine.pair_source import pair_of
from weakspot.studies.mine.result import Mined, MineResult

#: How the report explains its sections.
TEXTS: Final[Mapping[str, str]] = yaml.safe_load(Path(__file__).with_name("report_texts.yaml").read_bytes())
EXAMPLES: Final = 6  # pairs of a category that are shown
BINS: Final = 50  # bars of a histogram
#: Kinds of pairs that the others are compared with.
BASES: Final = ("replaced", "random")


class PairShown(NamedTuple):
    """Two texts and how alike they are: to the encoder, and to the reference where it was asked."""

    first: str
    second: str
    tested: float | None
    reference: float | None = None
    note: str = ""


def named(change: str) -> str:
    """A change of words as people say it: "added “next to a bird”"."""
    before, arrow, after = change.partition(" → ")
    if not arrow:
        return change
    if before == "∅":
        return f"added “{after}”"
    return f"left out “{before}”" if after == "∅" else f"“{before}” became “{after}”"


class Change(NamedTuple):
    """What became what in the pairs of a category, how often, and how often the two were confused."""

    change: str
    n: int
    alike: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryShown:
    """One category, or a baseline."""

    id: str
    name: str  # what people read first; `text` is the hypothesis' whole text
    text: str
    kind: str  # "edited", "written", "replaced" or "random": where its pairs come from
    mined: int  # pairs of the corpus that show it; `found` are some of them
    state: str  # how it stood in the race; "confirmed" after the confirmation
    rate: Rate  # of fresh pairs, where there are any (`fresh`); else of those of the race
    fresh: bool
    finding: Finding | None
    found: Sequence[PairShown]
    failing: Sequence[PairShown]  # new pairs that are confused
    passing: Sequence[PairShown]  # new pairs that are told apart
    changes: Sequence[Change]  # what was changed most often
    similarities: Sequence[int]  # of the pairs of the rate, in bins from -1 to 1
    confused: Sequence[int]  # of them, those that are confused
    relevance: Rate | None  # how much of it matters for the topic

    @property
    def confirmed(self) -> bool:
        return self.finding is not None and self.finding.confirmed

    def plain(self) -> dict[str, Any]:
        """As report.json has it."""
        same = ("id", "name", "text", "kind", "mined", "state", "fresh")
        examples = {"mined": self.found, "alike": self.failing, "told_apart": self.passing}
        return {name: getattr(self, name) for name in same} | {
            "rate": self.rate._asdict(),
            "relevance": None if self.relevance is None else self.relevance._asdict(),
            "changes": [change._asdict() for change in self.changes],
            "examples": {what: [pair._asdict() for pair in pairs] for what, pairs in examples.items()},
        }


def categories_of(run: Run, result: MineResult) -> tuple[list[CategoryShown], list[CategoryShown]]:
    """The categories, those that fail most first, and the baselines."""
    findings, cited = {f.hypothesis.id: f for f in run.findings}, _cited(result)
    rows = [_shown(run, h, result, findings.get(h.id), cited) for h in run.ledger.hypotheses()]
    found = [row for row in rows if row.kind not in BASES]
    found.sort(key=lambda row: (not row.confirmed, not row.fresh, -row.rate.value))
    bases = [row for row in rows if row.kind in BASES]
    return found, sorted(bases, key=lambda row: BASES.index(row.kind))


def _cited(result: MineResult) -> Mapping[str, list[PairShown]]:
    """The mined pairs by the category that they show; those of a language model's failures by its name."""
    found: dict[str, list[PairShown]] = defaultdict(list)
    mined = result.mined.pairs if result.mined else ()
    pairs = [PairShown(p.first, p.second, p.tested, p.reference, p.reason) for p in mined]
    for pair, shown in zip(mined, pairs, strict=True):
        found[pair.category].append(shown)
    for failure in result.named.failures if result.named else ():
        found[f"llm:{failure.name}"] = [pairs[i] for i in failure.cited if i < len(pairs)]
    return found


def _shown(
    run: Run,
    hypothesis: Hypothesis,
    result: MineResult,
    finding: Finding | None,
    cited: Mapping[str, list[PairShown]],
) -> CategoryShown:
    concepts = dict(hypothesis.concepts)
    kind = concepts.get("pairs", "")
    fresh, early = (run.ledger.tally(hypothesis, stage) for stage in (Stage.CONFIRM, Stage.EXPLORE))
    tally = early.plus(fresh) if kind in BASES else fresh if fresh.n else early
    trials = run.ledger.trials(hypothesis)
    late = [t for t in trials if Stage.of(t.index) is Stage.CONFIRM]
    shown = late or trials
    counted = trials if kind in BASES else shown  # the pairs that the rate is of
    own = cited.get(f"llm:{concepts.get('name')}" if kind == "written" else hypothesis.text, [])
    confirmed = finding is not None and finding.confirmed
    return CategoryShown(
        id=hypothesis.id,
        name=concepts.get("name", hypothesis.text),
        text=hypothesis.text,
        kind=kind,
        mined=0 if kind in BASES else len(own),
        state="confirmed" if confirmed else result.states.get(hypothesis.id, "open"),
        rate=finding.rate if finding is not None else rate(Tally(tally.n, tally.failures)),
        fresh=bool(fresh.n),
        finding=finding,
        found=own[:EXAMPLES],
        failing=_examples(shown, failed=True),
        passing=_examples(shown, failed=False),
        changes=_changes(counted),
        similarities=_histogram(counted),
        confused=_histogram([t for t in counted if t.failed]),
        relevance=result.scores.each.get(hypothesis.id) if result.scores else None,
    )


def _examples(trials: Sequence[Trial], *, failed: bool) -> list[PairShown]:
    """The nearest of the failing pairs, the farthest of the others; no change of words twice in a row."""
    some = [t for t in trials if t.failed is failed and t.score is not None]
    some.sort(key=lambda t: (-(t.score or 0.0) if failed else t.score or 0.0, t.index))
    seen: dict[str, int] = defaultdict(int)
    ranked: list[tuple[int, int, PairShown]] = []
    for trial in some:
        first, second, change = pair_of(trial)
        ranked.append((seen[change], len(ranked), PairShown(first, second, trial.score, None, change)))
        seen[change] += bool(change)
    return [pair for *_, pair in sorted(ranked, key=lambda row: row[:2])[:EXAMPLES]]


def _changes(trials: Sequence[Trial]) -> list[Change]:
    seen = [(pair_of(trial).change, trial.failed) for trial in trials if trial.failed is not None]
    every = Counter(change for change, _ in seen if change)
    alike = Counter(change for change, failed in seen if failed)
    rows = [Change(change, n, alike[change]) for change, n in every.items() if n > 2]
    return sorted(rows, key=lambda c: (-c.n, c.change))[:8]


def _histogram(trials: Sequence[Trial]) -> list[int]:
    places = (int((t.score + 1) / 2 * BINS) for t in trials if t.score is not None)
    counts = Counter(min(max(place, 0), BINS - 1) for place in places)
    return [counts[place] for place in range(BINS)]


# -- figures --------------------------------------------------------------------------------------------

HISTOGRAMS: Final = 12  # categories in a picture of histograms


def similarities(
    mined: Mined, rows: Sequence[CategoryShown], bases: Sequence[CategoryShown]
) -> Iterator[Figure]:
    """How alike pairs are to the encoder: random ones, the baseline, the first categories."""
    bins = [Bins("random pairs of the corpus", mined.random)]
    some = (*bases[:1], *rows[:HISTOGRAMS])
    bins += [Bins(row.name, row.similarities, row.confused) for row in some]
    bins = [one for one in bins if sum(one.counts)]
    if not bins:
        return
    first = min(next(i for i, n in enumerate(one.counts) if n) for one in bins)
    first -= first % 5  # to a round number: bins are 0.04 wide
    low, high, cut = 2 * first / BINS - 1, 1.0, mined.threshold.value
    shapes = [Bins(one.name, one.counts[first:], one.failed[first:]) for one in bins]
    counts = [(one.name, i, n) for one in shapes for i, n in enumerate(one.counts) if n]
    data = [(name, low + 2 * i / BINS, low + 2 * (i + 1) / BINS, n) for name, i, n in counts]
    title = "Similarities of pairs to the encoder"
    note = TEXTS["similarities"].format(cut=cut)
    yield Figure(
        "similarities", title, ("pairs", "from", "to", "count"), data,
        plots.histograms(shapes, low=low, high=high, cut=cut, title=title), note,
    )  # fmt: skip
