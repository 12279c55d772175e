"""A run of `mine` as rates and as a table of its pairs, also as csv as the published script writes it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from weakspot.core import Stage
from weakspot.report.format import neutral
from weakspot.studies.mine.pair_source import pair_of
from weakspot.studies.mine.result import MinedPair, MineResult
from weakspot.study.rates import Rates
from weakspot.study.rows import Rows


class MineRates(Rates):
    part = "category"

    @property
    def threshold(self) -> float | None:
        """Above which similarity two texts are alike."""
        found = MineResult.of(self.run)
        return found.mined.threshold.value if found is not None and found.mined is not None else None

    def notes(self, other: Rates) -> Iterator[str]:
        """Whether the same counts as alike in both."""
        theirs = other.threshold if isinstance(other, MineRates) else None
        own = self.threshold
        if own is not None and theirs is not None and own != theirs:
            yield f"Alike is above {own:.3g} in the first run and above {theirs:.3g} in the second."


#: Columns of the csv; like the original's, its header names the two texts only.
PUBLISHED: Final = {"Sample 1": "string", "Sample 2": "string", "similarity": "float64",
                    "reference": "float64", "difference": "float64"}  # fmt: skip


class MineRows(Rows):
    """See `Rows`: the mined pairs, then every new pair that was measured."""

    forms = ("csv", *Rows.forms)
    columns: ClassVar[Mapping[str, str]] = {
        "first": "string", "second": "string", "origin": "string", "category": "string",
        "similarity": "float64", "reference": "float64", "failed": "bool", "change": "string",
        "fresh": "bool", "confirmed": "bool", "reason": "string", "detail": "string",
    }  # fmt: skip
    title = "Pairs that {model} was asked about"
    about = (
        "Pairs of texts that differ in one thing. `failed` says that the encoder embeds the two alike "
        "although they differ; `origin` is `mined` for pairs of the corpus, and how they were made for the "
        "others. As csv: the mined pairs alone, the most alike first, as the published script writes them."
    )
    limits = (
        "Mined pairs were selected because the encoder embeds them alike: compute rates from the new pairs "
        "only, and from those with `fresh` for categories that a search picked."
    )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for pair in self._mined():
            plain = pair.plain()
            yield plain | {"origin": "mined", "similarity": plain.pop("tested")}
        confirmed = {f.hypothesis.id for f in self.run.findings if f.confirmed}
        for hypothesis in self.run.ledger.hypotheses():
            concepts = dict(hypothesis.concepts)
            for trial in self.run.ledger.trials(hypothesis):
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

    def as_csv(self) -> tuple[Mapping[str, str], str, int]:
        """As the published script writes it: the two texts, both similarities, their difference."""
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow([*PUBLISHED][:2])
        pairs = self._mined()
        for pair in pairs:
            numbers = (pair.tested, pair.reference, round(pair.tested - pair.reference, 6))
            writer.writerow([neutral(one) for one in (pair.first, pair.second, *numbers)])
        return PUBLISHED, file.getvalue(), len(pairs)

    def _mined(self) -> tuple[MinedPair, ...]:
        found = MineResult.of(self.run)
        return found.mined.pairs if found is not None and found.mined is not None else ()
