"""A hunt as the study leaves it in the ledger, made by hand so that every number is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Trial
from weakspot.stats import confidence_sequence
from weakspot.store import Run, RunConfig, png
from weakspot.studies.hunt.result import Edited, HuntResult, Raced, TriedWords, Tries

BASE = Hypothesis("a realistic photograph of a fly (insect).", origin="baseline")
SETTINGS: dict[str, Any] = {
    "target": "world:classifier",
    "label": "fly",
    "target_label": None,
    "source": "world:renderer",
    "judge": None,
    "budget": "images=20000",
    "seed": 7,
    "fdr": 0.05,
    "prompt": "a realistic photograph of a {label} ({parent}).",
}


def picture(seed: int, size: int = 8) -> bytes:
    return png(np.random.default_rng(seed).integers(0, 255, (size, size, 3), dtype=np.uint8))


def rate(failures: int, n: int) -> Rate:
    return Rate(failures / n if n else 0.0, *confidence_sequence(failures, n), n, failures)


class Builder:
    """Writes a run step by step, as an engine would."""

    picture = staticmethod(picture)

    def __init__(self, folder: Path, **changes: Any) -> None:
        settings = SETTINGS | changes
        subject = settings["label"] or f"{len(settings['labels'])} labels"
        config = RunConfig(study="hunt", subject=subject, settings=settings, digests={"target": "ab" * 32})
        self.run = Run.create(config, folder=folder)
        self.base, self.race, self.found = BASE, list[tuple[str, str]](), list[Finding]()
        self.edits: list[Edited] = []

    def draw(
        self,
        hypothesis: Hypothesis,
        failures: int,
        n: int,
        *,
        stage: Stage = Stage.EXPLORE,
        wrong: str = "bee",
        caption: str = "a caption.",
        content: Callable[[int], bytes] = picture,
        errors: int = 0,
        detail: str = "target: TimeoutError",
        kept: int = 40,
        invalid: int = 0,
        doubted: int = 0,
    ) -> tuple[int, ...]:
        """Record n judged trials, the first ones failing, some errors and some invalid cases; the indices."""
        self.run.ledger.add_hypotheses([hypothesis])
        trials = []
        for i in range(n):
            failed = i < failures
            said = wrong if failed else "fly"
            keep = i < kept or failures <= i < failures + kept
            trials.append(
                Trial(
                    hypothesis.id,
                    stage.start + i,
                    Status.OK,
                    failed,
                    0.9,
                    "fly",
                    said,
                    top=((said, 0.98), ("crab", 0.02)),
                    caption=caption,
                    blob=self.run.blobs.put(content(i)) if keep else None,
                )
            )
        trials += [
            Trial(hypothesis.id, stage.start + n + i, Status.ERROR, None, None, "fly", None, detail=detail)
            for i in range(errors)
        ]
        at = stage.start + n + errors
        trials += [
            Trial(
                hypothesis.id,
                at + i,
                Status.INVALID,
                i < doubted,
                0.9,
                "fly",
                wrong if i < doubted else "fly",
            )
            for i in range(invalid)
        ]
        self.run.ledger.record(trials, {"images": len(trials), "seconds": 0.5})
        return tuple(t.index for t in trials)

    def baseline(self, failures: int = 11, n: int = 1000, **more: Any) -> None:
        self.run.ledger.set_fact("state", "running")
        self.draw(self.base, failures, n, **more)

    def lane(self, phrase: str, failures: int, n: int, state: str, **more: Any) -> Hypothesis:
        hypothesis = Hypothesis(f"{self.base.text} {phrase}", origin="caption", parent=self.base.id)
        self.draw(hypothesis, failures, n, **more)
        self.race.append((hypothesis.id, state))
        return hypothesis

    def finding(
        self,
        phrase: str,
        failures: int,
        n: int,
        *,
        confirmed: bool = True,
        wrong: str = "bee",
        answer: str = "",
        **more: Any,
    ) -> Finding:
        """A lane that was ahead, and its fresh draws."""
        hypothesis = self.lane(phrase, max(1, failures // 4), max(1, n // 4), "ahead", kept=0)
        indices = self.draw(hypothesis, failures, n, stage=Stage.CONFIRM, wrong=wrong, **more)
        usual = self.run.ledger.tally(self.base, Stage.EXPLORE)
        fresh = self.run.ledger.tally(hypothesis, Stage.CONFIRM)
        whole = fresh.unchecked
        found = Finding(
            hypothesis,
            phrase,
            rate(failures, n),
            rate(usual.failures, usual.n),
            12.5,
            confirmed,
            ((wrong, 1.0),),
            indices[:failures],
            indices[failures:n],
            answer=answer,
            unchecked=rate(whole.failures, whole.n) if fresh.invalid else None,
        )
        self.found.append(found)
        return found

    def edit(
        self, found: Finding, kind: str, before: str, after: str, phrase: str, failures: int, n: int = 48
    ) -> None:
        """A measured edit of a finding."""
        text = f"{self.base.text} {phrase}"
        hypothesis = Hypothesis(text, origin="edit", parent=found.hypothesis.id)
        self.draw(hypothesis, failures, n, kept=0)
        self.edits.append(
            Edited(
                finding=found.hypothesis.id,
                hypothesis=hypothesis.id,
                kind=kind,
                before=before,
                after=after,
            )
        )

    def tried(self, phrase: str, failures: int, n: int, verdict: str) -> None:
        """Words that a person brought."""
        hypothesis = Hypothesis(f"{self.base.text} {phrase}", origin="person", parent=self.base.id)
        self.draw(hypothesis, failures, n, kept=4)
        rows = (Tries.of(self.run) or Tries()).rows
        row = TriedWords(hypothesis=hypothesis.id, baseline=self.base.id, verdict=verdict)
        Tries(rows=(*rows, row)).keep(self.run)

    def finish(self, state: str = "finished") -> Run:
        ledger = self.run.ledger
        ledger.set_findings(self.found)
        race = tuple(Raced(hypothesis=key, state=how) for key, how in self.race)
        HuntResult(race=race, edits=tuple(self.edits)).keep(self.run)
        ledger.set_fact("state", state)
        return self.run


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., Builder]]:
    made: list[Builder] = []

    def start(**changes: Any) -> Builder:
        made.append(Builder(tmp_path / f"run{len(made)}", **changes))
        return made[-1]

    yield start
    for builder in made:
        builder.run.close()


@pytest.fixture
def hunted(build: Callable[..., Builder]) -> Run:
    """A finished hunt: two findings, one candidate, three other lanes, errors."""
    builder = build()
    builder.baseline()
    builder.finding("it is on a flower.", 63, 100)
    builder.finding("it is behind a net.", 20, 100, wrong="fence")
    builder.finding("it is purple.", 3, 100, confirmed=False, wrong="butterfly")
    builder.lane("it is on a leaf.", 1, 120, "behind", errors=3)
    builder.lane("it is small.", 2, 60, "open")
    builder.lane(
        "it is beside itself.", 0, 0, "could not be drawn", errors=5, detail="source: a contradiction"
    )
    return builder.finish()
