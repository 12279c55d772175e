"""Draws with a generator and looks at its pictures: those to learn from, and those that say how it does.

What is learnt from is drawn by the generator itself, under the prompts of the modes with seeds of their own.
Where an attribute and the wanted shares of its values are named (a bias), as many pictures of each value are
kept as are wanted; a value that hardly ever comes by itself is asked for in words, and learnt under the
prompt without them. So are pictures of any prompt, since the shares are wanted of all. Otherwise those
pictures are kept that the judge lets pass, and other prompts of the space are learnt as they are drawn, so
that nothing else moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Output, Status, WeakspotError, case_seed
from weakspot.judges.picture import PictureJudge, Viewer
from weakspot.sources.cells import cell_of
from weakspot.sources.generate import PromptPictures
from weakspot.stats.distances import total_variation
from weakspot.study.repairs import Answers, derived

Image = NDArray[np.uint8]
#: Pictures of the weak spots that are learnt from; the published repair had about twenty.
EXAMPLES: Final = 48
#: Pictures that are drawn at most, per picture that is wanted.
TRIES: Final = 8
#: The same, before a value that does not come by itself is asked for in words.
NATURAL: Final = 2
#: A picture of the clean measure failed if it matches its prompt worse than this share did before.
MATCHED: Final = 0.9
#: Pictures that are asked for at once.
BATCH: Final = 16


@dataclass
class Looker:
    """Draws with a generator, looks at the pictures, and judges them.

    `made` is the generator as it was, and `viewer` says which value of the attribute a picture shows.
    """

    made: Any
    space: ConceptSpace
    judge: Any
    viewer: Viewer
    _limits: dict[tuple[int, int], float] = field(default_factory=dict)

    def drawn(self, made: Any, hypothesis: Hypothesis, indices: Sequence[int], seed: int) -> list[Case]:
        """Pictures of a region's prompts."""
        source = PromptPictures(made, space=self.space)
        return [
            case
            for at in range(0, len(indices), BATCH)
            for case in source.draw(hypothesis, indices[at : at + BATCH], seed=seed)
        ]

    def judged(
        self, made: Any, hypothesis: Hypothesis, indices: Sequence[int], seed: int
    ) -> list[tuple[Case, Output, bool | None]]:
        """Pictures of a region's prompts, what is seen in them, and whether they fail."""
        cases = self.drawn(made, hypothesis, indices, seed)
        outputs = self.viewer.answer(cases)
        verdicts = self.judge.judge(cases, outputs)
        return [(c, o, v.failed) for c, o, v in zip(cases, outputs, verdicts, strict=True)]

    @property
    def biased(self) -> bool:
        """Whether shares of an attribute's values are wanted."""
        return isinstance(self.judge, PictureJudge) and bool(self.judge.attribute)

    @property
    def wanted(self) -> float:
        """The rate of failures that is wanted: the share of the value, where showing it is the failure."""
        if not self.biased or self.judge.measure != "shows":
            return 0.0
        shares = dict(zip(self.judge.attribute, self.judge.wanted, strict=True))
        return float(shares[self.judge.value or self.judge.attribute[0]] / sum(self.judge.wanted))

    def off(self, made: Any, hypotheses: Sequence[Hypothesis], n: int, seed: int) -> float:
        """How far the rate of failures in some regions is from the wanted one, on n pictures."""
        each = max(1, n // len(hypotheses))
        rows = [row for h in hypotheses for row in self.judged(made, h, range(each), seed)]
        known = [failed for _, _, failed in rows if failed is not None]
        return abs(float(np.mean(known)) - self.wanted) if known else 1.0

    def unmatched(self, made: Any, n: int, seed: int) -> list[bool | None]:
        """Of pictures of any prompt, whether they match it worse than most did before."""
        anywhere = self.space.outside()
        if not isinstance(self.judge, PictureJudge):
            return [failed for _, _, failed in self.judged(made, anywhere, range(n), seed)]
        match = PictureJudge(self.judge.encoder, measure="match")
        deltas = match.deltas(self.drawn(made, anywhere, range(n), seed))
        if (n, seed) not in self._limits:
            own = deltas
            if made is not self.made:
                own = match.deltas(self.drawn(self.made, anywhere, range(n), seed))
            self._limits[n, seed] = float(np.quantile(own, MATCHED))
        return [delta > self._limits[n, seed] if np.isfinite(delta) else None for delta in deltas]

    def bias(self, answers: Answers) -> dict[str, Any]:
        """How often each value was seen in the modes, and how far that is from what is wanted."""
        found: dict[str, Any] = {"attribute": list(self.judge.attribute), "wanted": list(self.judge.wanted)}
        for side, when in enumerate(("before", "after")):
            seen = [both[side] for some in answers.values() for both in some]
            counts = [seen.count(value) for value in self.judge.attribute]
            apart = total_variation(counts, self.judge.wanted)
            found[when] = {"counts": counts, "apart": apart.rate, "low": apart.low, "high": apart.high}
        return {"bias": found}

    # -- what is learnt from ---------------------------------------------------------------------------

    def examples(
        self,
        chosen: Sequence[tuple[str, Hypothesis]],
        *,
        rate: float,
        seed: int,
        told: Callable[[int], None] = lambda _: None,
    ) -> list[tuple[Image, str, str]]:
        """Pictures to learn from, with their prompts and what they are: of the modes, and of any prompt.

        The modes come with their words and get the share `rate` of the pictures.
        """
        rows: list[tuple[Image, str, str]] = []
        for words, hypothesis in chosen:
            many = max(2, EXAMPLES // len(chosen))
            take = self._balanced if self.biased else self._passing
            rows += take(hypothesis, many, seed, words)
            told(len(rows))
        if len(rows) < 2:
            raise WeakspotError(
                "the generator drew hardly any picture of the modes that is as it should be",
                fix="name an attribute and the wanted shares in the map's judge, or use pictures of your own",
            )
        usual = max(1, round(len(rows) * (1 - rate) / rate))
        if self.biased:
            return rows + self._balanced(self.space.outside(), usual, seed, "any prompt")
        indices = self._elsewhere([hypothesis for _, hypothesis in chosen], usual, seed)
        cases = self.drawn(self.made, self.space.outside(), indices, seed)
        return rows + [(case.input, case.expected, "as it is") for case in cases]

    def _elsewhere(self, chosen: Sequence[Hypothesis], wanted: int, seed: int) -> list[int]:
        """Draws of any prompt that are of none of these regions; fewer where there is little else."""
        regions = [self.space.read(hypothesis) or self.space.whole for hypothesis in chosen]
        anywhere, found = self.space.outside(), list[int]()
        for i in range(TRIES * wanted):
            cell = self.space.cell(cell_of(self.space, self.space.whole, case_seed(seed, anywhere, i)))
            if not any(all(v in of for v, of in zip(cell, region, strict=True)) for region in regions):
                found.append(i)
        return found[:wanted]

    def _passing(
        self, hypothesis: Hypothesis, wanted: int, seed: int, words: str
    ) -> list[tuple[Image, str, str]]:
        rows: list[tuple[Image, str, str]] = []
        for at in range(0, TRIES * wanted, BATCH):
            judged = self.judged(self.made, hypothesis, range(at, at + BATCH), seed)
            rows += [(case.input, case.expected, words) for case, _, failed in judged if failed is False]
            if len(rows) >= wanted:
                break
        return rows[:wanted]

    def _balanced(
        self, hypothesis: Hypothesis, wanted: int, seed: int, words: str
    ) -> list[tuple[Image, str, str]]:
        """Of each value as many as are wanted: as they come, and then asked for in words."""
        total = sum(self.judge.wanted)
        left = {
            value: round(wanted * share / total)
            for value, share in zip(self.judge.attribute, self.judge.wanted, strict=True)
        }
        rows: list[tuple[Image, str, str]] = []

        def take(cases: Sequence[Case]) -> None:
            for case, output in zip(cases, self.viewer.answer(cases), strict=True):
                if output.status is Status.OK and left.get(str(output.answer), 0) > 0:
                    left[str(output.answer)] -= 1
                    rows.append((case.input, case.expected, f"{words}; {output.answer}"))

        for at in range(0, NATURAL * wanted, BATCH):
            if any(left.values()):
                take(self.drawn(self.made, hypothesis, range(at, at + BATCH), seed))
        for value in self.judge.attribute:
            for at in range(0, TRIES * wanted // 2, BATCH):
                if left[value] <= 0:
                    break
                plain = self._prompts(hypothesis, range(at, at + BATCH), derived(seed, value))
                pictures = self.made.generate([f"{p} {value}" for p, _ in plain], [s for _, s in plain])
                take(
                    [
                        Case(hypothesis, at + i, own, picture, prompt, prompt)
                        for i, ((prompt, own), picture) in enumerate(zip(plain, pictures, strict=True))
                    ]
                )
        return rows

    def _prompts(self, hypothesis: Hypothesis, indices: Sequence[int], seed: int) -> list[tuple[str, int]]:
        """Prompts of a region with the seeds of their noise."""
        source = PromptPictures(self.made, space=self.space)
        region = self.space.read(hypothesis) or self.space.whole
        seeds = [case_seed(seed, hypothesis, i) for i in indices]
        return [(source.prompt(cell_of(self.space, region, own)), own) for own in seeds]
