"""The proof of a repair: the same cases, shown to the model as it was and as it is.

A case that a transformation leaves nothing of, or that has no verdict, is no pair: it is counted and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from weakspot.concepts.modes import Mode, modes
from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Target
from weakspot.sources.transform import Destroyed
from weakspot.store import Run
from weakspot.store.blobs import png
from weakspot.studies.repair.proof import (
    Bools,
    Drawn,
    adjusted,
    become,
    change,
    confirmed,
    halfway,
    moved,
    rest,
    verdict,
)
from weakspot.studies.repair.result import AxisValues, Change, Landscape, Peak, Proof, Shown
from weakspot.studies.repair.settings import RepairSettings
from weakspot.study.repairs import Job, Pair, Progress, Spot

#: Inputs kept for people, of each kind, and the letters of one that is a text.
KEPT, SAID = 6, 400
#: Modes of the landscape that are listed, and cells of one that is kept whole.
MODES: Final = 8
KEPT_WHOLE: Final = 20_000


def proof(run: Run, job: Job, after: Target, settings: RepairSettings, progress: Progress) -> Proof:
    """Show the same cases to both models, and say what moved."""
    pairs = Pairs(run, job, after, progress)
    spots, most = [*job.chosen, *job.others, job.clean], min(settings.most, job.most)
    counted = []
    for i, spot in enumerate(spots):
        before, now = pairs.of(spot, most, chosen=spot in job.chosen, keep=spot not in job.others)
        progress(f"proof: {spot.words}", i + 1, len(spots))
        wanted = 0.0 if spot is job.clean else job.wanted
        counted.append(change(spot.words, before, now, wanted=wanted))
    drawn: Drawn | None = None
    elsewhere: Change | None = None
    more: list[Change] = []
    if job.space is not None and settings.draws:
        drawn = pairs.over(job.space, min(settings.draws, job.draws), seed=settings.seed)
        own = _cells(job, job.chosen)
        elsewhere = rest(drawn, own, wanted=job.wanted)
        new = become(job.space, drawn, own | _cells(job, job.others))
        more = [confirmed(mode, *pairs.anew(mode, most), wanted=job.wanted) for mode in new]
        more = [elsewhere, *more] if elsewhere else more
    many = len(job.chosen)
    chosen, stayed = adjusted(counted[:many]), adjusted([*counted[many:], *more])
    others, clean, more = stayed[: len(job.others)], stayed[len(job.others)], stayed[len(job.others) + 1 :]
    return Proof(
        verdict=verdict(chosen, stayed),
        chosen=_numbered(chosen, job.chosen),
        others=_numbered(others, job.others),
        clean=clean,
        elsewhere=more.pop(0) if elsewhere else None,
        new=tuple(more),
        landscape=_landscape(job.space, drawn, settings) if job.space and drawn and len(drawn) else None,
        errors=pairs.lost,
        shown=tuple(pairs.shown),
        **({} if job.also is None else job.also(pairs.answers)),
    )


def _numbered(changes: Sequence[Change], spots: Sequence[Spot]) -> tuple[Change, ...]:
    both = zip(changes, spots, strict=True)
    return tuple(change.model_copy(update={"number": spot.number}) for change, spot in both)


def _cells(job: Job, spots: Sequence[Spot]) -> set[int]:
    if job.space is None:
        return set()
    regions = [job.space.read(hypothesis) for spot in spots for hypothesis in spot.hypotheses]
    return {int(cell) for region in regions if region is not None for cell in job.space.cells(region)}


def _landscape(space: ConceptSpace, drawn: Drawn, settings: RepairSettings) -> Landscape:
    found = moved(space.distances(), drawn.cells, drawn.before, drawn.after, seed=settings.seed)
    above = halfway(found.before)
    kept, peaks = [], []
    for rates in (found.before, found.after):
        kept.append(np.round(rates, 4).tolist() if space.size <= KEPT_WHOLE else None)
        some = modes(space, rates, above=above)[:MODES]
        peaks.append(tuple(Peak(words=m.words, rate=m.rate, cells=len(m.cells)) for m in some))
    return Landscape(
        axes=tuple(AxisValues(name=axis.name, values=axis.values) for axis in space.axes),
        n=len(drawn),
        rate_before=float(drawn.before.mean()),
        rate_after=float(drawn.after.mean()),
        removed=int((drawn.before & ~drawn.after).sum()),
        made=int((drawn.after & ~drawn.before).sum()),
        above=above,
        modes_before=peaks[0],
        modes_after=peaks[1],
        **found._asdict() | {"before": kept[0], "after": kept[1]},
    )


class Pairs:
    """The same cases, before and after.

    Counts the cases without a verdict on either side (`lost`), and keeps inputs whose verdict changed
    (`shown`) and the answers to the cases of the chosen spots.
    """

    def __init__(self, run: Run, job: Job, after: Target, progress: Progress) -> None:
        self._run, self._job, self._after, self._progress = run, job, after, progress
        self._each = 1
        self.lost = 0
        self.shown: list[Shown] = []
        self.answers: dict[str, list[tuple[str | None, str | None]]] = {}

    def of(self, spot: Spot, most: int, *, chosen: bool, keep: bool) -> tuple[Bools, Bools]:
        """Failures of a spot's cases; those without a verdict on either side are left out."""
        rows: list[tuple[bool | None, bool | None]] = []
        if spot.failed is not None:
            flags = list(zip(spot.failed(self._job.target), spot.failed(self._after), strict=True))
            rows += [both for both in flags if None not in both]
            self.lost += len(flags) - len(rows)
        each = max(1, most // max(len(spot.hypotheses), 1))
        for hypothesis in spot.hypotheses:
            n = min(each, self._job.available(hypothesis))
            for pair in self._asked(hypothesis, range(n)):
                rows.append(_both(pair))
                if chosen:
                    old, new = pair.said
                    self.answers.setdefault(spot.words, []).append((old.answer, new.answer))
                if keep:
                    self._keep(pair, spot.words)
        both = np.array(rows, bool).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def over(self, space: ConceptSpace, draws: int, *, seed: int) -> Drawn:
        """All cells alike, or as many of them as there are draws."""
        cells = np.arange(space.size)
        if space.size > draws:
            cells = np.sort(np.random.default_rng([seed, 32]).choice(space.size, draws, replace=False))
        self._each = max(1, draws // len(cells))
        where: list[int] = []
        parts = []
        for i, cell in enumerate(cells.tolist()):
            hypothesis = space.hypothesis(cell)
            n = min(self._each, self._job.available(hypothesis))
            parts.append(self._counted(hypothesis, range(n)))
            where += [cell] * len(parts[-1][0])
            if i % 10 == 0:
                self._progress("the landscape before and after", len(where), self._each * len(cells))
        both = np.concatenate([rows for rows, _ in parts])
        names = None if self._job.cluster is None else tuple(name for _, some in parts for name in some)
        return Drawn(np.array(where, np.int64), both[:, 0], both[:, 1], names)

    def anew(self, mode: Mode, most: int) -> tuple[Bools, Bools, tuple[str, ...] | None]:
        """New pairs of a place: each picture once; of independent draws others than the landscape's."""
        space = self._job.space
        assert space is not None  # noqa: S101 (there is a mode)
        hypothesis = space.hypothesis(mode.region, origin="mode")
        first = 0 if self._job.cluster is not None else self._each
        n = min(most, self._job.available(hypothesis) - first)
        self._progress(f"proof: {mode.words}", 0, n)
        both, names = self._counted(hypothesis, range(first, first + n))
        return both[:, 0], both[:, 1], None if self._job.cluster is None else tuple(names)

    def _counted(self, hypothesis: Hypothesis, indices: range) -> tuple[Bools, list[str]]:
        """Failures before and after, and what each pair is of."""
        name = self._job.cluster or (lambda _: "")
        rows = [(_both(pair), name(pair.cases[0])) for pair in self._asked(hypothesis, indices)]
        return np.array([both for both, _ in rows], bool).reshape(-1, 2), [of for _, of in rows]

    def _asked(self, hypothesis: Hypothesis, indices: range) -> Iterator[Pair]:
        """Pairs that have a verdict on both sides; the others are counted."""
        for at in range(0, len(indices), self._job.batch):
            some = indices[at : at + self._job.batch]
            if self._job.pairs is not None:
                rows = self._job.pairs(self._after, hypothesis, some)
            else:
                rows = self._answered(self._drawn(hypothesis, some))
            sound = [pair for pair in rows if None not in pair.failed]
            self.lost += len(some) - len(sound)
            yield from sound

    def _drawn(self, hypothesis: Hypothesis, indices: Sequence[int]) -> list[Case]:
        """Cases, without those of which a transformation leaves nothing."""
        try:
            return self._job.source.draw(hypothesis, indices, seed=self._job.seed)
        except Destroyed:
            if len(indices) == 1:
                return []
        half = len(indices) // 2
        return self._drawn(hypothesis, indices[:half]) + self._drawn(hypothesis, indices[half:])

    def _answered(self, cases: Sequence[Case]) -> list[Pair]:
        if not cases:
            return []
        old, new = (target.answer(cases) for target in (self._job.target, self._after))
        before, after = (self._job.judge.judge(cases, said) for said in (old, new))
        rows = zip(cases, old, new, before, after, strict=True)
        return [Pair((case, case), (a, b), (v.failed, w.failed)) for case, a, b, v, w in rows]

    def _keep(self, pair: Pair, words: str) -> None:
        before, made = _both(pair)
        if before == made or sum(r.made == made and r.words == words for r in self.shown) >= KEPT:
            return
        old, new = pair.cases
        seen = {"text": str(old.caption)[:SAID]}
        if isinstance(old.input, np.ndarray):
            seen = {"blob": self._blob(old)} | ({} if new is old else {"now": self._blob(new)})
        first, then = (said.answer for said in pair.said)
        self.shown.append(
            Shown(words=words, made=made, **seen, expected=old.expected, before=first, after=then)
        )

    def _blob(self, case: Case) -> str:
        return self._run.blobs.put(png(case.input))


def _both(pair: Pair) -> tuple[bool, bool]:
    return bool(pair.failed[0]), bool(pair.failed[1])
