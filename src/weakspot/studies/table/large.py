"""A table that does not fit into memory: a sample of its rows suggests, and all its other rows test.

The table is read twice, piece by piece, in as many processes as there are. First the sample is taken: which
rows are in it follows from a hash of their number. Of a table with groups, a fifth of the groups may suggest,
and the sample is of their rows. Then every row is counted by which of the suggested statements it is of, and
whether it failed. Only the counts are kept, so the memory that is needed does not grow with the table, and
every test is made with them. Groups are counted in a few thousand parts, each with whole groups: a test
that needs only these parts to be independent holds, and is a little more careful than one by groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.columns import Concept, free_columns, holds, sources_of, texts_of
from weakspot.concepts.finite.confirm import broader, confirmed
from weakspot.concepts.finite.counts import Counts
from weakspot.concepts.finite.propose import Statement, members, propose
from weakspot.concepts.finite.spots import joined as one_for_each
from weakspot.core import WeakspotError
from weakspot.engine import Cluster, LocalExecutor
from weakspot.records import Kind
from weakspot.records.answers import Rule, answer_keys
from weakspot.records.batches import Piece, Pieces, joined, sheets
from weakspot.records.read import records_like, records_of
from weakspot.records.sheet import Sheet
from weakspot.records.suspicion import suspicion
from weakspot.records.table import LeftOut, coded
from weakspot.records.verdicts import settled
from weakspot.studies.table.evidence import Evidence, Measured
from weakspot.studies.table.parts import TableParts, said_of
from weakspot.studies.table.settings import TableSettings
from weakspot.studies.table.suggested import asked_about, asks
from weakspot.study import Context

#: The sample is at most this share of the rows: others must be left to test.
MOST: Final = 0.5
#: The share of the groups whose rows may suggest.
GROUPS: Final = 0.2
#: Groups are counted in so many parts.
PARTS: Final = 4096
#: Rows left out that are kept with their reason.
LISTED: Final = 50

R = TypeVar("R")
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Sides:
    """Which rows may suggest, and which of them are in the sample; the same in every process.

    Attributes:
        group: The column whose values keep rows on one side; "" where every row stands for itself.
        share: Of the rows that are in the sample.
    """

    seed: int
    group: str
    share: float

    def suggest(self, rows: Keys, groups: Keys | None) -> NDArray[np.bool_]:
        """The rows that may suggest; no other test."""
        if groups is None:
            return _chance(rows, self.seed) < self.share
        return _chance(groups, self.seed) < GROUPS

    def sampled(self, rows: Keys, some: Callable[[str], Sheet]) -> NDArray[np.bool_]:
        """The rows of the sample."""
        groups = self.groups(rows, some(self.group)) if self.group else None
        found = self.suggest(rows, groups)
        if groups is not None:
            found &= _chance(rows, self.seed + 1) < self.share / GROUPS
        return found

    def groups(self, rows: Keys, sheet: Sheet) -> Keys | None:
        """A number for the group of each row; a row without one is its own."""
        if not self.group:
            return None
        column = records_like(sheet, {self.group: Kind.TEXT}, ()).columns[self.group]
        codes, names = coded(answer_keys(column.values))
        numbers = [0 if name is None else _number(name) for name in names]
        lacking = np.array([name is None for name in names], bool)[codes]
        return np.where(lacking, rows, np.array(numbers, np.uint64)[codes])


@dataclass(frozen=True)
class Plan:
    """What is counted: all that a process needs to know.

    Attributes:
        columns: Those that are read, with their kinds.
        texts: Those whose words are taken.
    """

    sides: Sides
    rule: Rule
    columns: Mapping[str, Kind]
    answers: tuple[str, ...]
    texts: tuple[str, ...]
    concepts: tuple[Concept, ...]
    statements: tuple[Statement, ...]
    classes: Mapping[str, Sequence[str]]


class Part(NamedTuple):
    """What was counted in a piece; rows that may suggest have the bit after those of the statements."""

    counts: Counts
    left_out: int
    first: list[LeftOut]


def in_pieces(context: Context[TableSettings, Any], pieces: Pieces) -> Measured:
    """Suggest by a sample, test by all other rows."""
    settings = context.settings
    parts, rule, sides = sample_of(context, pieces)
    judged, asked = parts.judged, None
    if (llm := asks(context)) is not None:
        asked = asked_about(settings, parts, llm, [np.ones(len(judged), bool)])
        parts = asked.parts
    concepts = parts.concepts
    dear = np.array([concept.dear for concept in concepts.concepts])
    if asked is None:
        statements = propose(concepts.rows, judged.failed, longest=settings.sentences, dear=dear)
    else:
        statements = list(asked.suggest(0))
    broad = broader(statements)
    every = [*statements, *broad]
    counting = partial(count, plan_of(parts, rule, sides, every, pieces))
    counted = _added(spread(context, pieces, counting, "rows counted"))
    whole = counted.counts
    others = whole.where(~whole.inside(len(every)))
    tested = confirmed(others, statements, broad, fdr=settings.fdr)
    spots = one_for_each(
        concepts.rows, judged.failed, [(one, True) for one in tested], dear=dear, doubts=suspicion(judged)
    )
    evidence = []
    for spot in spots:
        i = every.index(spot.statement)
        shown = np.zeros(len(judged), bool)
        shown[members(concepts.rows, [spot.statement]).indices] = True
        inside = others.inside(i)
        evidence.append(
            Evidence(
                whole.where(whole.inside(i)).total,
                others.where(inside).rate(picked=True),
                others.where(~inside).rate(),
                others.total.k,
                shown,
            )
        )
    return Measured(
        parts,
        spots,
        evidence,
        whole.rate(),
        counted.left_out,
        counted.first,
        sampled=len(judged),
        tested=others.total.n,
        llm=None if asked is None else asked.use,
    )


def sample_of(context: Context[TableSettings, Any], pieces: Pieces) -> tuple[TableParts, Rule, Sides]:
    """The sample as a table of its own, the rule that gave its verdicts, and who is in it."""
    settings = context.settings
    share = min(settings.sample / max(pieces.rows, 1), MOST)
    named = settings.roles
    while True:
        sides = Sides(settings.seed, named.group, share)
        taking = partial(take, sides, pieces.classes)
        found = [sheet for sheet in spread(context, pieces, taking, "rows read") if sheet is not None]
        if not found:
            raise WeakspotError(f"the sample of {pieces.origin} is empty", fix="choose a larger --sample")
        records = records_of(joined(found), pieces.origin, named, folder=pieces.folder)
        judged, rule = settled(replace(records, digest=pieces.digest), named, settings.failed)
        if judged.roles.group == named.group:
            return said_of(judged, settings), rule, sides
        # Only now is it known that rows come in groups: then whole groups must be on one side.
        named = named._replace(group=judged.roles.group)


def take(sides: Sides, classes: Mapping[str, Sequence[str]], piece: Piece) -> Sheet | None:
    """The rows of a piece that are in the sample."""
    found = [sheet for _, sheet in sheets(piece, keep=sides.sampled, classes=classes) if len(sheet.lines)]
    return replace(joined(found), left_out=()) if found else None


def plan_of(
    parts: TableParts, rule: Rule, sides: Sides, statements: Sequence[Statement], pieces: Pieces
) -> Plan:
    """What must be read and counted so that these statements can be tested."""
    judged, concepts = parts.judged, parts.concepts.concepts
    records, roles = judged.records, judged.roles
    wanted = tuple(dict.fromkeys(i for statement in statements for i in statement))
    said = tuple(concepts[i] for i in wanted)
    texts = (
        tuple(free_columns(judged, ignored=parts.ignored)) if any(c.test == "mentions" for c in said) else ()
    )
    used = rule(records.rows(np.arange(1))).used
    needed = {*used, roles.label, *sources_of(said), *texts}
    return Plan(
        sides,
        rule,
        {name: records.columns[name].kind for name in records.columns if name in needed},
        (roles.label, roles.prediction, roles.relabelled),
        texts,
        said,
        tuple(tuple(wanted.index(i) for i in statement) for statement in statements),
        pieces.classes,
    )


def count(plan: Plan, piece: Piece) -> Part:
    """Count the rows of a piece."""
    parts: list[Part] = []
    columns = {*plan.columns, plan.sides.group} - {""}
    for keys, sheet in sheets(piece, columns=columns, classes=plan.classes):
        groups = plan.sides.groups(keys, sheet)
        records = records_like(sheet, plan.columns, plan.answers)
        verdicts = plan.rule(records)
        known = np.array([not why for why in verdicts.missing], bool)
        left = [LeftOut(int(records.lines[i]), verdicts.missing[i]) for i in np.flatnonzero(~known)[:LISTED]]
        part = None if groups is None else (_mixed(groups, 2) % np.uint64(PARTS)).astype(np.int64)[known]
        of = holds(plan.concepts, records, texts_of(records, plan.texts) if plan.texts else ())
        pattern = np.zeros(len(records), np.int64)
        for i, statement in enumerate(plan.statements):
            pattern |= of[:, list(statement)].all(axis=1).astype(np.int64) << i
        pattern |= plan.sides.suggest(keys, groups).astype(np.int64) << len(plan.statements)
        counts = Counts.of(pattern[known], verdicts.failed[known], part)
        lost = int((~known).sum()) + len(sheet.left_out)
        parts.append(Part(counts, lost, [*sheet.left_out[:LISTED], *left]))
    return _added(parts)


def spread(context: Context[Any, Any], pieces: Pieces, do: Callable[[Piece], R], words: str) -> Iterator[R]:
    """What is done with each piece, in their order, here or wherever the run is."""
    with ExitStack() as stack:
        executor = context.executor
        if executor is None or isinstance(executor, Cluster):  # whose workers have models, and no tables
            executor = stack.enter_context(_local(len(pieces.pieces)))
        for number, found in enumerate(executor.stream(pieces.pieces, do, _as_it_is), 1):
            context.watch.progress(words, number, len(pieces.pieces))
            yield found


def _local(pieces: int) -> LocalExecutor:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return LocalExecutor(processes=min(cores, 8, pieces) if min(cores, pieces) > 1 else 0)


def _as_it_is(found: R) -> R:
    return found


def _added(parts: Any) -> Part:
    """All parts as one, added up as they come."""
    whole: Part | None = None
    for part in parts:
        if whole is None:
            whole = part
        else:
            first = [*whole.first, *part.first][:LISTED]
            counts = Counts.together([whole.counts, part.counts])
            whole = Part(counts, whole.left_out + part.left_out, first)
    return whole or Part(Counts(*np.zeros((3, 0), np.int64)), 0, [])


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _mixed(keys: Keys, seed: int) -> Keys:
    """Numbers without any order, one for each key (the finisher of SplitMix64)."""
    with np.errstate(over="ignore"):
        found = keys + np.uint64(0x9E3779B97F4A7C15) * np.uint64(2 * (seed % (1 << 31)) + 1)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def _chance(keys: Keys, seed: int) -> NDArray[np.float64]:
    """A number from 0 to 1 for each key."""
    found: NDArray[np.float64] = (_mixed(keys, seed) >> np.uint64(11)).astype(np.float64) / (1 << 53)
    return found
