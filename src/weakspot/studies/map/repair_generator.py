"""The job that a map of a text-to-image generator leaves: LoRA on its own better pictures, and the proof.

The generator draws what it learns from, under the prompts of the modes. Of an attribute whose shares are
wanted (a bias), as many pictures of each value are kept as are wanted, of any prompt too; a value that hardly
ever comes by itself is asked for in words, and learnt under the prompt without them. Otherwise pictures are
kept that the judge lets pass, and other prompts are learnt as they are drawn, so that nothing else moves.
Learning, the choice of a round and the proof have seeds of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import MODELS, Case, Hypothesis, Output, Status, WeakspotError, case_seed
from weakspot.judges.picture import PictureJudge, Viewer
from weakspot.sources.cells import cell_of
from weakspot.sources.generate import PromptPictures, prompt_of
from weakspot.stats.distances import total_variation
from weakspot.study.repairs import Answers, Fitted, Job, Pair, Progress, RepairTask, Spot, derived

if TYPE_CHECKING:
    from weakspot.studies.map.repair import Mapped

#: A picture, its prompt, and what it is.
Example = tuple[NDArray[np.uint8], str, str]
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
#: Pictures of each mode that the proof draws, at most.
PROVED: Final = 200
#: Pairs over the landscape, per picture of a mode.
LANDSCAPE: Final = 2
#: Pictures that say how a round does: of the modes, and as many of any prompt.
WATCHED: Final = 32
STEPS: Final = 600
#: What the two numbers of a round are.
WATCHED_WORDS: Final = ("off the wanted rate in the weak spots", "matching their prompts worse than most did")


def job(mapped: Mapped, settings: RepairTask) -> Job:
    """The job of a generator that is a pipeline in a folder; its method is lora, or only data."""
    if settings.method not in ("lora", "data"):
        raise WeakspotError(
            f"the method {settings.method!r} is not for generators", fix="use --method lora, or data"
        )
    parts, made = mapped.parts, mapped.parts.model
    if settings.method == "lora":
        folder_of_pipeline(made, mapped.name)
    looker = Looker(made, mapped.space, parts.judge, parts.target)
    most, seed = min(settings.most, PROVED), derived(settings.seed, "verification")

    def examples(progress: Progress = lambda *_: None) -> list[Example]:
        return looker.examples(
            [(spot.words, spot.hypotheses[0]) for spot in mapped.chosen],
            rate=settings.rate,
            seed=derived(settings.seed, "repair"),
            drawn=lambda n: progress("drawing pictures to learn from", n, n),
        )

    def pairs(after: Any, hypothesis: Hypothesis, indices: Sequence[int]) -> list[Pair]:
        both = [looker.judged(model, hypothesis, indices, seed) for model in (made, after)]
        return [Pair(*zip(old, new, strict=True)) for old, new in zip(*both, strict=True)]

    return mapped.job(
        target=made,
        clean=Spot(
            "pictures that match their prompts worse than most did",
            failed=lambda model: looker.unmatched(model, most, seed),
        ),
        source=parts.source,
        seed=seed,
        samples=lambda rate, seed: examples(),  # noqa: ARG005 (both are in the settings)
        fit=lambda folder, progress: _fit(folder, progress, looker, mapped, examples(progress), settings),
        draws=LANDSCAPE * most,
        most=most,
        batch=BATCH,
        pairs=pairs,
        wanted=looker.wanted,
        also=looker.bias if looker.biased else None,
    )


def folder_of_pipeline(made: Any, name: str) -> Path:
    """Where a generator's pipeline is; an error if it is none of diffusers."""
    from weakspot.models.diffusers.pipeline import DiffusersGenerator

    if not isinstance(made, DiffusersGenerator):
        raise WeakspotError(
            f"{name[:200]} cannot be trained here: it is not a pipeline of diffusers",
            fix="name it as diffusers:FOLDER, or use --method data for a trainer of your own",
        )
    return made._folder


def _fit(
    folder: Path,
    progress: Progress,
    looker: Looker,
    mapped: Mapped,
    rows: Sequence[Example],
    settings: RepairTask,
) -> Fitted:
    from weakspot.tuning.diffusion import fit_generator

    made, out = looker.made, folder / "model"
    seed = derived(settings.seed, "validation")
    chosen = [spot.hypotheses[0] for spot in mapped.chosen]
    watched = min(WATCHED, settings.most)

    def evaluate(pipe: Any) -> dict[str, float]:
        now = in_training(made, pipe)
        off = looker.off(now, chosen, watched, seed)
        worse = [failed for failed in looker.unmatched(now, watched, seed) if failed is not None]
        lost = float(np.mean(worse)) if worse else 1.0
        return {"validation": off + lost, "transformed": off, "plain": lost}

    def trained(done: int, of: int, row: dict[str, float]) -> None:
        off, lost = (100 * row[key] for key in ("transformed", "plain"))
        said = f"{off:.0f} points {WATCHED_WORDS[0]}, {lost:.0f} % {WATCHED_WORDS[1]} (validation)"
        progress(f"training: {said}", done, of)

    fitted = fit_generator(
        folder_of_pipeline(made, mapped.name),
        [(prompt, image) for image, prompt, _ in rows],
        out=out,
        steps=settings.epochs or STEPS,
        learning_rate=settings.learning_rate,
        device=settings.device,
        seed=settings.seed,
        evaluate=evaluate,
        watched=watched,
        checkpoints=folder,
        progress=trained,
    )
    options = made.options | dict(parse_qsl(mapped.name.partition("?")[2]))
    options.pop("revision", None)
    written = f"diffusers:{out}" + (f"?{urlencode(options)}" if options else "")
    learnt = {
        "curve": fitted.curve,
        "best": fitted.best,
        "epochs": fitted.rounds,
        "round": f"{fitted.steps} steps",
        "parameters": fitted.parameters,
        "layer": "attention",
        "pictures": len(rows),
        "kind": "pictures that it drew itself",
        "watched": list(WATCHED_WORDS),
        "loss before": fitted.before,
        "loss after": fitted.after,
    }
    return Fitted(MODELS.load(written), written, learnt)


def in_training(made: Any, pipe: Any) -> Any:
    """The generator with another pipeline in its place: the same sampler, steps, guidance and noise."""
    now, pipe = copy.copy(made), copy.copy(pipe)
    pipe.scheduler = made.network.scheduler
    now.network, now.dtype, now.device = pipe, "float32", str(pipe.device)
    return now


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
        source = PromptPictures(made, space=self.space)
        return [
            case
            for at in range(0, len(indices), BATCH)
            for case in source.draw(hypothesis, indices[at : at + BATCH], seed=seed)
        ]

    def judged(
        self, made: Any, hypothesis: Hypothesis, indices: Sequence[int], seed: int
    ) -> list[tuple[Case, Output, bool | None]]:
        cases = self.drawn(made, hypothesis, indices, seed)
        outputs = self.viewer.answer(cases)
        verdicts = self.judge.judge(cases, outputs)
        return [(c, o, v.failed) for c, o, v in zip(cases, outputs, verdicts, strict=True)]

    @property
    def biased(self) -> bool:
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
        drawn: Callable[[int], None],
    ) -> list[Example]:
        """Pictures to learn from: of the modes, which come with their words, and of any prompt.

        The modes get the share `rate` of the pictures.
        """
        rows: list[Example] = []
        take = self._balanced if self.biased else self._passing
        for words, hypothesis in chosen:
            rows += take(hypothesis, max(2, EXAMPLES // len(chosen)), seed, words)
            drawn(len(rows))
        if len(rows) < 2:
            raise WeakspotError(
                "hardly any picture that the generator drew of the modes is as it should be",
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

    def _passing(self, hypothesis: Hypothesis, wanted: int, seed: int, words: str) -> list[Example]:
        rows: list[Example] = []
        for at in range(0, TRIES * wanted, BATCH):
            judged = self.judged(self.made, hypothesis, range(at, at + BATCH), seed)
            rows += [(case.input, case.expected, words) for case, _, failed in judged if failed is False]
            if len(rows) >= wanted:
                break
        return rows[:wanted]

    def _balanced(self, hypothesis: Hypothesis, wanted: int, seed: int, words: str) -> list[Example]:
        """Of each value as many as are wanted: as they come, and then asked for in words."""
        total, shares = sum(self.judge.wanted), zip(self.judge.attribute, self.judge.wanted, strict=True)
        left = {value: round(wanted * share / total) for value, share in shares}
        rows: list[Example] = []

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
                if left[value] > 0:
                    take(self._asked_for(value, hypothesis, range(at, at + BATCH), derived(seed, value)))
        return rows

    def _asked_for(self, value: str, hypothesis: Hypothesis, indices: Sequence[int], seed: int) -> list[Case]:
        """Pictures of a region's prompts that are asked for with a value, and expect the prompt without."""
        region = self.space.read(hypothesis) or self.space.whole
        seeds = [case_seed(seed, hypothesis, i) for i in indices]
        prompts = [prompt_of(self.space, cell_of(self.space, region, own)) for own in seeds]
        pictures = self.made.generate([f"{prompt} {value}" for prompt in prompts], seeds)
        return [
            Case(hypothesis, i, own, picture, prompt, prompt)
            for i, own, picture, prompt in zip(indices, seeds, pictures, prompts, strict=True)
        ]
