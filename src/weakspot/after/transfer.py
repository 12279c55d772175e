"""Do the weak spots of one model trouble others, and do they show on pictures from elsewhere?

Fresh pictures of the baseline and of each finding are drawn once and shown to every model, so models are
compared on the very same pictures. With further sources (another generator, a folder of photographs) the
same is done with theirs. Three questions are answered, each with its uncertainty:

- does a model fail more often under a caption than on its own baseline (Fisher's test, Holm-adjusted);
- does it fail more or less often than the hunted model (Tango's interval and McNemar's test, Holm-adjusted);
- which share of the pictures that the hunted model misreads does it misread too (the published measure).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from weakspot.after import transfer_matrix as matrix
from weakspot.after.transfer_matrix import CaptionRow, Cell, Heard, Shared, Transfer, rate, verdict
from weakspot.core import (
    Case,
    Classifier,
    Hypothesis,
    Judge,
    Source,
    Stage,
    Status,
    Target,
    Trial,
    Usage,
    WeakspotError,
    case_seed,
    nearest,
)
from weakspot.core.ports import Collected, Finite, available
from weakspot.core.registry import name_of
from weakspot.engine.executor import Answered, Batch, answer_batch, draw_batch, judge_batch, local
from weakspot.engine.stop import FAR, Budget, BudgetSpent, Spending
from weakspot.store import Run
from weakspot.studies.hunt.finished import (
    FinishedHunt,
    Same,
    check_label,
    load_judge,
    load_opinions,
    load_source,
    load_target,
    read_hunt,
    same_for,
)
from weakspot.study.labels import ByLabel

__all__ = ["Transfer", "transfer"]

#: Cases per call of the ports.
BATCH: Final = 64
#: Told what is being done, how much of it is done, and of how much.
Progress = Callable[[str, int, int], None]
#: Other studies name their cases themselves: with the same seed another model is shown the same ones.
_OTHERWISE = "run that study on the other model with the same seed, then: weakspot compare RUN OTHER"


def transfer(
    run: Run,
    targets: Sequence[str | Target],
    *,
    sources: Sequence[str | Source] = (),
    n: int = 256,
    budget: str | None = None,
    same: Same | None = None,
    target: Target | None = None,
    source: Source | None = None,
    judge: Judge | None = None,
    progress: Progress | None = None,
) -> Transfer:
    """Measure other models, and pictures of other sources, on a hunt's findings.

    The hunted model is always measured with them, and the run's own source used first; they are given as
    objects (`target`, `source`) where the run was made with objects. From each source `n` fresh pictures of
    the baseline and of each finding are drawn; a budget of images or calls makes n smaller for all alike.
    `same` has, by hunted label, labels of other heads that are as right. A judge that is given judges all
    models instead of the run's.
    """
    hunt = read_hunt(run, otherwise=_OTHERWISE)
    if n < 1:
        raise WeakspotError(
            f"{n} pictures per caption are too few to measure anything", fix="choose e.g. --n 256"
        )
    rows = _rows(hunt)
    labels = {row.hypothesis.id: row.label for row in rows}
    members = _members(hunt, targets, target, judge, same, sorted({*labels.values()}))
    names = tuple(dict.fromkeys([hunt.settings.source, *map(name_of, sources)]))
    others = {name_of(s): s for s in sources}
    spending = Spending(Budget.parse(budget) if budget else Budget())
    each, limit = _affordable(spending, n, captions=len(labels) * len(names), models=len(members))
    measured = _Measured(hunt, rows, members, spending, each, each * len(labels) * len(names), progress)
    try:
        for name in names:
            given = others.get(name, name) if name != hunt.settings.source else source or name
            for label in sorted({*labels.values()}):
                loaded = load_source(given, label=label) if isinstance(given, str) else given
                if name == hunt.settings.source:
                    hunt.check_digest("source", loaded)
                if isinstance(loaded, Collected) and loaded.once and len(hunt.bases) > 1:
                    loaded = ByLabel(loaded, hunt.bases, hunt.settings.hunted)  # a finding may be about all
                words = [row.hypothesis for row in rows if row.label == label]
                measured.draw(name, loaded, list(dict.fromkeys(words)))
        measured.evidence()
    except BudgetSpent as spent:
        limit = f"the {spent}"
    return Transfer(
        folder=str(run.folder),
        targets=tuple(member.name for member in members),
        sources=names,
        rows=rows,
        cells=matrix.adjusted(list(measured.cells(names))),
        shared=tuple(measured.shared()),
        n=n,
        images=measured.images,
        errors=tuple(measured.errors.most_common()),
        limit=limit,
    )


def _rows(hunt: FinishedHunt) -> tuple[CaptionRow, ...]:
    """The baselines that the findings are measured against, then the findings."""
    bases = dict.fromkeys(base for f in hunt.findings for base in _bases_of(hunt, f.hypothesis))
    usual = []
    for base in bases:
        label = hunt.label_of(base)
        usual.append(CaptionRow(base, "baseline" if len(bases) == 1 else f"baseline of {label}", label, None))
    found = []
    for f in hunt.findings:
        phrase = f"{f.phrase} → {f.answer}" if f.answer else f.phrase
        found.append(CaptionRow(f.hypothesis, phrase, hunt.label_of(f.hypothesis), f, f.answer))
    return (*usual, *found)


def _bases_of(hunt: FinishedHunt, hypothesis: Hypothesis) -> Sequence[Hypothesis]:
    """The baseline of a caption; all of them where it is about all hunted labels."""
    if any(hypothesis.text.startswith(base.text) for base in hunt.bases):
        return [hunt.base_of(hypothesis)]
    return hunt.bases


def _affordable(spending: Spending, n: int, *, captions: int, models: int) -> tuple[int, str]:
    """How many pictures of each caption the budget allows, and the limit if that is less than wanted."""
    room = min(spending.budget["images"], spending.budget["calls"] // models, float(FAR))
    each = int(min(n, room // captions))
    if each < 1:
        raise WeakspotError(
            f"the budget allows less than one picture for each of {captions} captions",
            fix=f"images={n * captions} is what --n {n} takes",
        )
    return each, "" if each == n else f"the {BudgetSpent(*spending.tightest())}"


def _members(
    hunt: FinishedHunt,
    targets: Sequence[str | Target],
    own: Target | None,
    judge: Judge | None,
    same: Same | None,
    labels: Sequence[str],
) -> list[Member]:
    """The hunted model and the others, each checked to know the labels."""
    given: dict[str, str | Target] = {hunt.settings.target: own if own is not None else hunt.settings.target}
    for each in targets:
        given.setdefault(name_of(each), each)
    if len(given) < 2:
        raise WeakspotError(
            "there is no other model to compare with", fix="name one: --target world:classifier-vit-1"
        )
    loaded = {name: load_target(m) if isinstance(m, str) else m for name, m in given.items()}
    first = loaded[hunt.settings.target]
    hunt.check_digest("target", first)
    opinions = [] if judge else load_opinions(hunt, first, same=same_for(hunt, first, labels, same))
    members = []
    for name, model in loaded.items():
        right = same_for(hunt, model, labels, same) or None
        judged_by = judge or load_judge(hunt, model, same=right, opinions=opinions)
        for label in labels:
            check_label(name, model, judged_by, label, same=right)
        members.append(Member(name, model, judged_by))
    _check_same(same, labels, [m.labels if isinstance(m, Classifier) else () for m in loaded.values()])
    return members


def _check_same(same: Same | None, labels: Sequence[str], heads: Sequence[Sequence[str]]) -> None:
    """Refuse labels that were said to be the same and are nowhere."""
    known = {label for head in heads for label in head}
    for right, others in (same or {}).items():
        if right not in labels:
            raise WeakspotError(
                f"--same names {right[:80]!r}, which was not hunted", fix=f"the label is {labels[0]!r}"
            )
        wrong = [each for each in others if all(heads) and each not in known]
        if wrong:
            raise WeakspotError(
                f"none of the models has a label {wrong[0][:80]!r}",
                fix=nearest(wrong[0], known) or "correct --same",
            )


class Member(NamedTuple):
    """A model under the name people know it by, and who judges it."""

    name: str
    target: Target
    judge: Judge


def _asked(members: Sequence[Member], drawn: Answered) -> tuple[Batch, list[list[Trial]]]:
    """What the members make of the very same cases: by member, their trials."""
    none_kept = {True: 0, False: 0}
    return drawn.batch, [
        judge_batch(member.judge, none_kept, answer_batch(member.target, drawn)).trials for member in members
    ]


@dataclass
class _Measured:
    hunt: FinishedHunt
    rows: tuple[CaptionRow, ...]
    members: list[Member]
    spending: Spending
    n: int  # pictures of each caption from each source
    total: int  # pictures in all
    progress: Progress | None
    images: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    _clock: float = field(default_factory=time.monotonic)
    _heard: dict[tuple[str, str], list[tuple[Heard, ...]]] = field(default_factory=dict)
    #: Errors by source, hypothesis and member; and what all said where the hunted model failed, by case.
    _failed: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    _failing: dict[tuple[str, int], tuple[Heard, ...]] = field(default_factory=dict)

    def draw(self, name: str, source: Source, captions: Sequence[Hypothesis]) -> None:
        """Draw the pictures of some captions from one source and ask everybody."""
        own, dead = name == self.hunt.settings.source, set[str]()
        with local(source) as executor:
            work = self._work(source, captions, own, dead)
            seed = self.hunt.settings.seed
            draw, answer = partial(draw_batch, source, seed), partial(_asked, self.members)
            for batch, by_member in executor.stream(work, draw, answer):
                trials = list(zip(*by_member, strict=True))
                now = time.monotonic()
                seconds, self._clock = (now - self._clock) / len(trials), now
                for one in trials:
                    self._add(name, batch.hypothesis, one, seconds, own)
                undrawn = (t.status is Status.ERROR and t.detail.startswith("source:") for t, *_ in trials)
                if all(undrawn):
                    dead.add(batch.hypothesis.id)  # the source has no more of it, or cannot draw these words
                if self.progress is not None:
                    self.progress(f"asking about pictures of {name}", self.images, self.total)
                self.spending.check()

    def _work(
        self, source: Source, captions: Sequence[Hypothesis], own: bool, dead: set[str]
    ) -> Iterator[Batch]:
        """Batches in turn, so that all captions are measured alike wherever it ends."""
        there_once = self._there_once(source, captions, own)
        for at in range(0, self.n, BATCH):
            for hypothesis in captions:
                if hypothesis.id in dead:
                    continue
                start, size = Stage.CONFIRM.start, min(BATCH, self.n - at)
                if there_once is not None:
                    some = tuple(there_once[hypothesis.id][at : at + size])
                    if some:
                        yield Batch(hypothesis, Stage.of(some[0]), some[0], some[-1] + 1, only=some)
                    continue
                if isinstance(source, Finite):
                    # A folder ends: the pictures of the confirmation are the only ones the search never saw.
                    seed = self.hunt.settings.seed
                    there = available(source, hypothesis, seed=seed, stage=Stage.CONFIRM)
                    size = min(size, there - at)
                elif own:
                    start += self.hunt.run.ledger.count(hypothesis, Stage.CONFIRM)
                if size > 0:
                    yield Batch(hypothesis, Stage.CONFIRM, start + at, start + at + size)

    def _there_once(
        self, source: Source, captions: Sequence[Hypothesis], own: bool
    ) -> dict[str, Sequence[int]] | None:
        """By caption, the indices of its inputs in a collection, of which each is there once.

        In the run's own collection a finding is measured on the inputs that tested it, of which none had
        suggested it; in another one on all that its words are true of. None where inputs are drawn.
        """
        if not (isinstance(source, Collected) and source.once):
            return None
        seed, ledger = self.hunt.settings.seed, self.hunt.run.ledger
        if own:
            stages = {h.id: Stage.EXPLORE if h in self.hunt.bases else Stage.CONFIRM for h in captions}
            return {h.id: [t.index for t in ledger.trials(h, stage=stages[h.id])] for h in captions}
        return {h.id: range(available(source, h, seed=seed, stage=Stage.EXPLORE)) for h in captions}

    def _add(
        self, name: str, hypothesis: Hypothesis, trials: Sequence[Trial], seconds: float, own: bool
    ) -> None:
        """Count one case: a trial of each member."""
        self.images += 1
        heard = tuple(map(_heard, trials))
        self._heard.setdefault((name, hypothesis.id), []).append(heard)
        wrong = [trial.detail or "error" for trial in trials if trial.status is Status.ERROR]
        for i, trial in enumerate(trials):
            self._failed[name, hypothesis.id, i] += trial.status is Status.ERROR
        tokens, dollars = (sum(t.usage[i] for t in trials) for i in (0, 1))
        self.spending.add(Usage(int(tokens), dollars, seconds))
        self.errors.update(set(wrong))
        if own and heard[0][0]:
            self._failing[hypothesis.id, trials[0].index] = heard

    def evidence(self) -> None:
        """The misread pictures that the run kept, for the published measure: they are asked about as well."""
        run = self.hunt.run
        for hypothesis in dict.fromkeys(row.hypothesis for row in self.rows if row.finding is not None):
            trials = [
                trial
                for trial in run.ledger.trials(hypothesis, failed=True, kept=True)
                if (hypothesis.id, trial.index) not in self._failing
            ]
            for at in range(0, len(trials), BATCH):
                part = trials[at : at + BATCH]
                cases = [
                    Case(
                        hypothesis,
                        trial.index,
                        case_seed(self.hunt.settings.seed, hypothesis, trial.index),
                        run.image(hypothesis, trial),
                        trial.expected,
                        trial.caption,
                    )
                    for trial in part
                ]
                batch = Batch(hypothesis, Stage.CONFIRM, 0, len(part))
                _, others = _asked(self.members[1:], Answered(batch, cases, [None] * len(part)))
                for trial, *said in zip(part, *others, strict=True):
                    heard = ((True, trial.answer), *map(_heard, said))
                    self._failing[hypothesis.id, trial.index] = heard

    def cells(self, sources: Sequence[str]) -> Iterator[Cell]:
        for source in sources:
            for place, row in enumerate(self.rows):
                columns = self._columns(source, row.hypothesis, row.answer)
                usual = self._usual(source, row)
                for i, member in enumerate(self.members):
                    here, errors = rate(columns[i]), self._failed[source, row.hypothesis.id, i]
                    undecided = len(columns[i]) - here.n - errors
                    cell = Cell(place, source, member.name, here, errors, undecided)
                    if row.finding is not None:
                        lift, p = matrix.above(here, rate(usual[i]))
                        cell = cell._replace(lift=lift, p=p)
                    yield cell._replace(versus=matrix.versus(columns[0], columns[i])) if i else cell

    def _usual(self, source: str, row: CaptionRow) -> list[list[bool | None]]:
        """By member, its verdicts on what a caption is compared with."""
        bases = _bases_of(self.hunt, row.hypothesis)
        columns = [self._columns(source, base, row.answer) for base in bases]
        return [[one for some in by_base for one in some] for by_base in zip(*columns, strict=True)]

    def _columns(self, source: str, hypothesis: Hypothesis, answer: str) -> list[list[bool | None]]:
        """By member, its verdicts on the pictures of a caption."""
        heard = self._heard.get((source, hypothesis.id), [])
        return [[verdict(one[i], answer) for one in heard] for i in range(len(self.members))]

    def shared(self) -> Iterator[Shared]:
        """The share of the hunted model's failures that are others' too."""
        for i, member in enumerate(self.members[1:], start=1):
            every: dict[tuple[str, int], bool | None] = {}
            for place, row in enumerate(self.rows):
                if row.finding is None:
                    continue
                own = {
                    key: verdict(heard[i], row.answer)
                    for key, heard in self._failing.items()
                    if key[0] == row.hypothesis.id and verdict(heard[0], row.answer)
                }
                every |= own
                yield Shared(place, member.name, rate([*own.values()]))
            yield Shared(None, member.name, rate([*every.values()]))


def _heard(trial: Trial) -> Heard:
    """Whether the model failed, where that can be said of a valid case, and its answer."""
    return None if trial.status is Status.INVALID else trial.failed, trial.answer
