"""The pairs of a run of `mine` as rows, and as csv in the way the published script writes it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from weakspot.core import Stage
from weakspot.report.dataset import neutral
from weakspot.store import Run
from weakspot.studies.mine.pair_source import pair_of
from weakspot.studies.mine.result import MinedPair, MineResult

#: Columns of the csv; like the original's, its header names the two texts only.
PUBLISHED: Final = {"Sample 1": "string", "Sample 2": "string", "similarity": "float64",
                    "reference": "float64", "difference": "float64"}  # fmt: skip


def mined_pairs(run: Run) -> Iterator[dict[str, Any]]:
    """The pairs of the corpus alone, the most alike first, with the columns of the csv."""
    for pair in _of_the_corpus(run):
        numbers = (pair.tested, pair.reference, round(pair.tested - pair.reference, 6))
        yield dict(zip(PUBLISHED, (pair.first, pair.second, *numbers), strict=True))


def all_pairs(run: Run) -> Iterator[dict[str, Any]]:
    """The mined pairs, then every new pair that was measured."""
    for pair in _of_the_corpus(run):
        plain = pair.plain()
        yield plain | {"origin": "mined", "similarity": plain.pop("tested")}
    yield from _new(run)


def published(rows: Iterable[Mapping[str, Any]]) -> str:
    """A csv as the published script writes it: the two texts, both similarities, their difference."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([*PUBLISHED][:2])
    for row in rows:
        writer.writerow([neutral(row[name]) for name in PUBLISHED])
    return file.getvalue()


def _of_the_corpus(run: Run) -> tuple[MinedPair, ...]:
    found = MineResult.of(run)
    return found.mined.pairs if found is not None and found.mined is not None else ()


def _new(run: Run) -> Iterator[dict[str, Any]]:
    confirmed = {f.hypothesis.id for f in run.findings if f.confirmed}
    for hypothesis in run.ledger.hypotheses():
        concepts = dict(hypothesis.concepts)
        for trial in run.ledger.trials(hypothesis):
            first, second, change = pair_of(trial)
            yield {
                "first": first,
                "second": second,
                "origin": concepts.get("pairs", ""),
                "category": concepts.get("name", hypothesis.text),
                "similarity": trial.score,
                "failed": trial.failed,
                "change": change,
                "fresh": Stage.of(trial.index) is Stage.CONFIRM,
                "confirmed": hypothesis.id in confirmed,
                "detail": trial.detail,
            }
