"""The job that a mine leaves: pairs of texts that an encoder confuses are made anew and kept apart.

No pair, nor either of its texts, is both of repair and of verification. The clean measure is retrieval (R@1).
What says the same in another order must stay alike: an encoder that scatters all texts repairs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from weakspot.core import CORPORA, MODELS, Case, Hypothesis, Stage, WeakspotError, case_seed
from weakspot.core.ports import Selective
from weakspot.judges.differs.judge import SimilarityJudge, differs
from weakspot.sources.corpus import Renewable, gather, read_corpus
from weakspot.store import Run, write_whole
from weakspot.studies.mine.pair_source import Made, PairSimilarity, admitting, edited, pair_of
from weakspot.studies.mine.result import MineResult
from weakspot.study.lifecycle import settings_of
from weakspot.study.loading import rooted
from weakspot.study.repairs import Fitted, Job, Progress, RepairTask, Spot, chosen_of, derived, row_words
from weakspot.text.differences import Category
from weakspot.text.plain import normal_form

CAPTIONS: Final = 6_000  # fresh captions that are looked at for pairs in each part
LESSONS, PROVED = 600, 300  # pairs that a finding is unlearnt with, and proved on
USUAL, RETRIEVED = 800, 500  # captions with pictures: learnt from, and asked for retrieval
SAME: Final = 300  # pairs that say the same in another order
LEAST: Final = 20  # fewer pairs prove nothing
TOP: Final = 3  # findings that are repaired where nobody chose


def mine_job(run: Run, settings: RepairTask, *, target: Any = None) -> Job:
    """The findings of a mine."""
    from weakspot.tuning.encoder import tower_of

    mined, findings = rooted(settings_of(run), settings.here), run.findings
    if settings.method not in ("full", "data"):
        raise WeakspotError(
            f"the method {settings.method!r} is not for text towers", fix="use --method full, or data"
        )
    corpus = CORPORA.load(mined.corpus) if CORPORA.knows(mined.corpus) else None
    if not isinstance(corpus, Renewable):
        raise WeakspotError(
            f"new captions like those of {mined.corpus[:80]!r} cannot be made here",
            fix="mine with --corpus world; weakspot export gives the pairs of others",
        )
    best = [i for i, f in enumerate(findings, start=1) if f.confirmed] or list(range(1, len(findings) + 1))
    preferred = best[:TOP] if settings.numbers is None else None
    numbers = chosen_of(settings, preferred, len(findings), "finding")
    for number in numbers:
        if _category(findings[number - 1].hypothesis) is None:
            raise WeakspotError(
                f"new pairs of finding {number} cannot be made: a language model wrote them",
                fix="choose findings by category",
            )
    name = settings.target or mined.encoder
    encoder: Any = target if target is not None else MODELS.load(name)
    tower = None if settings.method == "data" else tower_of(encoder, name=name)
    result = MineResult.of(run)
    assert result is not None and result.mined is not None  # noqa: S101, PT018 (there are findings)
    alike = result.mined.threshold.value
    judge = None if mined.judged_by == "none" else differs(mined.judged_by)
    fits = judge.understands if isinstance(judge, Selective) else None
    fresh = FreshCaptions(run, settings, corpus, fits=fits)
    spots = [
        Spot(f.phrase, (f.hypothesis,), i)
        for i, f in enumerate(findings, start=1)
        if _category(f.hypothesis) is not None
    ]
    chosen = tuple(spot for spot in spots if spot.number in numbers)
    source = FreshPairs({s.hypotheses[0].id: fresh.pairs("verification", s, PROVED) for s in spots})
    for spot in chosen:
        if (count := source.available(spot.hypotheses[0])) < LEAST:
            raise WeakspotError(
                f"{count} new pairs of {spot.words[:60]!r} are too few to prove a repair",
                fix="choose another finding",
            )
    asked = fresh.captions["verification"][:RETRIEVED]
    pictures = Retrieval(asked, encoder, corpus, seed=derived(settings.seed, "seen"))

    def lessons() -> dict[str, list[Made]]:
        return {spot.words: fresh.pairs("repair", spot, LESSONS) for spot in chosen}

    return Job(
        target=PairSimilarity(encoder),
        name=name,
        judge=SimilarityJudge(alike, judge),
        chosen=chosen,
        others=(
            *(s for s in spots if s.number not in numbers and source.available(s.hypotheses[0]) >= LEAST),
            Spot("the same text in another order is taken for something else", failed=fresh.same(alike)),
        ),
        clean=Spot("pictures that are nearer to another caption (1 − R@1)", failed=pictures.missed),
        source=source,
        seed=derived(settings.seed, "verification"),
        fit=lambda folder, tell: _fit(folder, tell, tower, encoder, alike, lessons(), fresh, settings),
        write=lambda folder: _write(folder, lessons()),
        counts={"repair": len(fresh.captions["repair"]), "verification": len(fresh.captions["verification"])},
    )


def _category(hypothesis: Hypothesis) -> Category | None:
    concepts = dict(hypothesis.concepts)
    return Category(concepts["differ in"]) if concepts.get("pairs") == "edited" else None


class FreshCaptions:
    """Captions that the mine never saw, dealt to repair and verification by turns."""

    def __init__(
        self, run: Run, settings: RepairTask, corpus: Renewable, *, fits: Callable[[str], bool] | None
    ) -> None:
        mined = rooted(settings_of(run), settings.here)
        self._seed, self.corpus, self._fits = settings.seed, corpus, fits
        old = read_corpus(mined.corpus, limit=mined.texts)
        known = set(map(normal_form, old.texts))
        for hypothesis in run.ledger.hypotheses():
            for trial in run.ledger.trials(hypothesis):
                known |= {normal_form(text) for text in pair_of(trial)[:2]}
        more = corpus.more(f"repair: {settings.seed} {mined.corpus}", 2 * CAPTIONS)
        gathered = gather(more, name=f"fresh texts like those of {mined.corpus}")
        texts = [text for text in gathered.texts if normal_form(text) not in known]
        self.captions = {"repair": texts[::2], "verification": texts[1::2]}
        of_repair, of_proof = (known | set(map(normal_form, some)) for some in self.captions.values())
        self._known = {"repair": of_proof, "verification": of_repair}

    def pairs(self, part: str, spot: Spot, most: int) -> list[Made]:
        """New pairs of a category, of captions of a part; none of verification is one of repair."""
        category = _category(spot.hypotheses[0])
        assert category is not None  # noqa: S101 (asked before)
        rng = Random(f"{self._seed} {part} {spot.hypotheses[0].id}")  # noqa: S311
        admits = admitting(self._known[part], self._fits)
        rows = list(islice(edited(self.captions[part], admits, category=category, rng=rng), most))
        other = "verification" if part == "repair" else "repair"
        self._known[other] |= {normal_form(text) for row in rows for text in row[:2]}
        return rows

    def same(self, alike: float) -> Any:
        """Whether sentences in another order are still taken for the same, by a target of pairs."""
        rng = Random(f"{self._seed} same")  # noqa: S311
        rows = list(islice(_reordered(self.captions["verification"], self.corpus, rng), SAME))
        hypothesis = Hypothesis("the same in another order", (("pairs", "same"),))
        cases = [Case(hypothesis, i, 0, Made(*row), "alike", "") for i, row in enumerate(rows)]

        def failed(target: Any) -> list[bool | None]:
            return [float(output.answer or "nan") <= alike for output in target.answer(cases)]

        return failed


def _reordered(captions: Sequence[str], corpus: Renewable, rng: Random) -> Any:
    """Captions of several sentences, and the same with the later ones in another order."""
    for text in captions:
        first, *rest = [f"{s.strip()}." for s in text.split(".") if s.strip()]
        other = rest[:]
        rng.shuffle(other)
        if len(rest) < 2 or other == rest:
            continue
        two = " ".join([first, *rest]), " ".join([first, *other])
        if corpus.same(*two):
            yield two


@dataclass(frozen=True, slots=True)
class FreshPairs:
    """A source of pairs that were made beforehand, by the id of the hypothesis."""

    rows: Mapping[str, Sequence[Made]]

    def available(self, hypothesis: Hypothesis, *, seed: int = 0, stage: Stage = Stage.EXPLORE) -> int:
        del seed, stage
        return len(self.rows[hypothesis.id])

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        cases = []
        for i in indices:
            row, own = self.rows[hypothesis.id][i], case_seed(seed, hypothesis, i)
            cases.append(Case(hypothesis, i, own, row, "told apart", " | ".join(row[:2])))
        return cases


class Retrieval:
    """Whether pictures, seen by the image tower that no repair changes, are nearest to their own captions."""

    def __init__(self, captions: Sequence[str], encoder: Any, corpus: Renewable, *, seed: int) -> None:
        self.captions = list(captions)
        self.seen = encoder.embed_images(
            [corpus.picture(text, (), seed=seed + i) for i, text in enumerate(captions)]
        )

    def missed(self, target: Any) -> list[bool | None]:
        """Of each picture, whether another caption is nearer, by the text tower of a target of pairs."""
        import torch

        from weakspot.tuning.encoder import missed

        texts = torch.from_numpy(np.asarray(target.encoder.embed_texts(self.captions), np.float32))
        return list(missed(torch.from_numpy(self.seen), texts, self.captions))


def _fit(
    folder: Path,
    progress: Progress,
    tower: Any,
    encoder: Any,
    alike: float,
    lessons: dict[str, list[Made]],
    fresh: FreshCaptions,
    settings: RepairTask,
) -> Fitted:
    """Train the text tower, write it down, and load what was written."""
    from weakspot.tuning.encoder import Pair, TowerSettings, Usual, fit_tower

    seed = derived(settings.seed, "pictures")
    rows = [row for some in lessons.values() for row in some]
    progress("drawing pictures of the pairs", 0, len(rows))
    draw = fresh.corpus.picture
    both = [
        (draw(row.first, [row.second], seed=seed + i), draw(row.second, [row.first], seed=seed + i))
        for i, row in enumerate(rows)
    ]
    blank = np.zeros((64, 64, 3), np.uint8)
    seen = encoder.embed_images([blank if image is None else image for two in both for image in two])
    seen = np.asarray(seen, np.float32).reshape(len(rows), 2, -1)
    seen[[a is None or b is None for a, b in both]] = 0
    captions = fresh.captions["repair"][:USUAL]
    usual = Retrieval(captions, encoder, fresh.corpus, seed=seed)
    trained = fit_tower(
        tower,
        [Pair(row.first, row.second, vectors) for row, vectors in zip(rows, seen, strict=True)],
        [Usual(text, vector) for text, vector in zip(captions, usual.seen, strict=True)],
        TowerSettings(
            alike=alike,
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            device=settings.device,
            seed=settings.seed,
        ),
        folder=folder,
        progress=lambda epoch, of, row: progress(f"training: {row_words(row)}", epoch, of),
    )
    written = tower.keep(folder / "model")
    after: Any = MODELS.load(written)
    learnt_of = {**trained._asdict(), "pictures": len(rows), "kind": "pairs of texts"}
    return Fitted(PairSimilarity(after), written, learnt_of)


def _write(folder: Path, lessons: dict[str, list[Made]]) -> dict[str, Any]:
    lines = [
        json.dumps(row._asdict() | {"differ in": words}, ensure_ascii=False)
        for words, rows in lessons.items()
        for row in rows
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "pairs.jsonl", ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
    return {"folder": str(folder), "pictures": len(lines), "kind": "pairs of texts"}
