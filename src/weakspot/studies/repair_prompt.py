"""The job that a map of a text-to-image generator leaves: LoRA on its own better pictures, and the proof.

What is learnt from is drawn by the generator itself, under the prompts of the modes with seeds of their own.
Where an attribute and the wanted shares of its values are named (a bias), as many pictures of each value are
kept as are wanted; a value that hardly ever comes by itself is asked for in words, and learnt under the
prompt without them. Otherwise those pictures are kept that the judge lets pass. Other prompts of the space
are learnt as they are drawn, so that nothing else moves. The proof draws each prompt with the same noise
before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import numpy as np
from numpy.typing import NDArray

from weakspot.core import MODELS, Case, Hypothesis, Status, WeakspotError, case_seed
from weakspot.judges.picture import PictureJudge, Viewer
from weakspot.search.concepts import ConceptSpace
from weakspot.sources.prompted import PromptPictures, cell_of
from weakspot.stats.bias import total_variation
from weakspot.store import Run
from weakspot.studies.repair_parts import (
    Fitted,
    Job,
    Progress,
    RepairSettings,
    Spot,
    derived,
    modes_to_repair,
    with_target,
)

Image = NDArray[np.uint8]
#: Pictures of the weak spots that are learnt from; the published repair had about twenty.
EXAMPLES: Final = 48
#: Pictures that are drawn at most, per picture that is wanted.
TRIES: Final = 8
#: Pictures of each mode that the proof draws, at most.
PROVED: Final = 200
#: A picture of the clean measure failed if it matches its prompt worse than this share did before.
MATCHED: Final = 0.9
STEPS: Final = 600
#: Pictures that are asked for at once.
BATCH: Final = 16


def prompt_job(run: Run, settings: RepairSettings, *, target: Any = None) -> Job:
    """The modes of a map of a generator.

    Raises:
        WeakspotError: The method is not for generators, or the generator is no pipeline in a folder.
    """
    from weakspot.studies.map_parts import settings_of
    from weakspot.studies.map_tasks import prompt_parts

    mapped = settings_of(run)
    modes = modes_to_repair(run, settings, mapped.concept_space)
    if settings.method not in ("lora", "data"):
        raise WeakspotError(
            f"the method {settings.method!r} is not for generators", fix="use --method lora, or data"
        )
    name = settings.target or mapped.target
    wanted: Any = target if target is not None else name
    parts: Any = prompt_parts(with_target(mapped, settings), modes.space, target=wanted)
    made = parts.source.generator
    if settings.method == "lora":
        folder_of_pipeline(made, name)
    looker = _Looker(modes.space, parts.judge, parts.target, derived(settings.seed, "verification"))
    most = min(settings.most, PROVED)

    def shown(spot: Spot) -> Spot:
        hypothesis = spot.hypotheses[0]
        return Spot(spot.words, (), spot.number, lambda made: looker.failed(made, hypothesis, most))

    def examples() -> list[tuple[Image, str, str]]:
        chosen = [(spot.words, spot.hypotheses[0]) for spot in modes.chosen]
        return looker.examples(made, chosen, settings)

    def bias(before: Any, after: Any) -> dict[str, Any]:
        return {"bias": looker.bias(before, after, modes.chosen, most)}

    unmatched = looker.unmatched(made, most)
    biased = isinstance(parts.judge, PictureJudge) and bool(parts.judge.attribute)
    return Job(
        target=made,
        name=name,
        judge=parts.judge,
        chosen=tuple(map(shown, modes.chosen)),
        others=tuple(map(shown, modes.others)),
        clean=Spot("pictures that match their prompts worse than most did", failed=unmatched),
        source=parts.source,
        seed=looker.seed,
        samples=lambda rate, seed: examples(),  # noqa: ARG005 (both are in the settings)
        fit=lambda folder, told: _fit(folder, told, made, name, examples(), settings),
        also=bias if biased else None,
    )


def folder_of_pipeline(made: Any, name: str) -> Path:
    """Where a generator's pipeline is.

    Raises:
        WeakspotError: It is none of diffusers.
    """
    from weakspot.models.diffusers import DiffusersGenerator

    if not isinstance(made, DiffusersGenerator):
        raise WeakspotError(
            f"{name[:200]} cannot be trained here: it is no pipeline of diffusers",
            fix="name it as diffusers:FOLDER, or use --method data for a trainer of your own",
        )
    return made._folder


def name_of_kept(out: Path, *, was: str) -> str:
    """The name of a pipeline that was written, with the options of the one it was."""
    scheme, _, given = was.partition("?")
    options = dict(parse_qsl(given))
    if scheme.startswith("world:"):  # its usual options are not in its files
        from weakspot.world.generator import GUIDANCE, STEPS

        usual = str(GUIDANCE[scheme.removeprefix("world:")])
        options = {"steps": str(STEPS), "guidance": usual, "dtype": "float32"} | options
    options.pop("revision", None)
    return f"diffusers:{out}" + (f"?{urlencode(options)}" if options else "")


@dataclass
class _Looker:
    """Draws with a generator, looks at the pictures, and judges them.

    Attributes:
        space: Of the prompts.
        judge: Says what a failure is.
        viewer: Says which value of the attribute a picture shows.
        seed: Of the proof.
    """

    space: ConceptSpace
    judge: Any
    viewer: Viewer
    seed: int

    def drawn(self, made: Any, hypothesis: Hypothesis, indices: Sequence[int], seed: int) -> list[Case]:
        """Pictures of a region's prompts."""
        source = PromptPictures(made, space=self.space)
        return [
            case
            for at in range(0, len(indices), BATCH)
            for case in source.draw(hypothesis, indices[at : at + BATCH], seed=seed)
        ]

    def failed(self, made: Any, hypothesis: Hypothesis, n: int) -> list[bool | None]:
        """Of so many pictures."""
        cases = self.drawn(made, hypothesis, range(n), self.seed)
        return [verdict.failed for verdict in self.judge.judge(cases, self.viewer.answer(cases))]

    def unmatched(self, before: Any, n: int) -> Any:
        """Of pictures of any prompt, whether they match it worse than most did before."""
        encoder = getattr(self.judge, "encoder", None)
        if encoder is None:
            return lambda made: self.failed(made, self.space.outside(), n)
        match, limit = PictureJudge(encoder, measure="match"), list[float]()

        def failed(made: Any) -> list[bool | None]:
            cases = self.drawn(made, self.space.outside(), range(n), self.seed)
            deltas = match.deltas(cases)
            if not limit:
                own = deltas  # the model as it was is asked first
                if made is not before:
                    own = match.deltas(self.drawn(before, self.space.outside(), range(n), self.seed))
                limit.append(float(np.quantile(own, MATCHED)))
            return [delta > limit[0] if np.isfinite(delta) else None for delta in deltas]

        return failed

    def bias(self, before: Any, after: Any, spots: Sequence[Spot], n: int) -> dict[str, Any]:
        """How often each value is seen in the modes, and how far that is from what is wanted."""
        found: dict[str, Any] = {"attribute": list(self.judge.attribute), "wanted": list(self.judge.wanted)}
        for when, made in (("before", before), ("after", after)):
            counts = dict.fromkeys(self.judge.attribute, 0)
            for spot in spots:
                cases = self.drawn(made, spot.hypotheses[0], range(n), self.seed)
                for output in self.viewer.answer(cases):
                    if output.status is Status.OK and output.answer in counts:
                        counts[output.answer] += 1
            apart = total_variation(list(counts.values()), self.judge.wanted)
            found[when] = {
                "counts": list(counts.values()),
                "apart": apart.rate,
                "low": apart.low,
                "high": apart.high,
            }
        return found

    def examples(
        self, made: Any, chosen: Sequence[tuple[str, Hypothesis]], settings: RepairSettings
    ) -> list[tuple[Image, str, str]]:
        """Pictures to learn from with their prompts and what they are: of the modes, and of any prompt."""
        seed = derived(settings.seed, "repair")
        rows: list[tuple[Image, str, str]] = []
        for words, hypothesis in chosen:
            wanted = max(2, EXAMPLES // len(chosen))
            attribute = getattr(self.judge, "attribute", ())
            if attribute:
                rows += self._balanced(made, hypothesis, wanted, seed, words)
            else:
                rows += self._passing(made, hypothesis, wanted, seed, words)
        if len(rows) < 2:
            raise WeakspotError(
                "the generator drew hardly any picture of the modes that is as it should be",
                fix="name an attribute and the wanted shares in the map's judge, or use pictures of your own",
            )
        usual = max(1, round(len(rows) * (1 - settings.rate) / settings.rate))
        indices = self._elsewhere([hypothesis for _, hypothesis in chosen], usual, seed)
        cases = self.drawn(made, self.space.outside(), indices, seed)
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
        self, made: Any, hypothesis: Hypothesis, wanted: int, seed: int, words: str
    ) -> list[tuple[Image, str, str]]:
        rows: list[tuple[Image, str, str]] = []
        for at in range(0, TRIES * wanted, BATCH):
            cases = self.drawn(made, hypothesis, range(at, at + BATCH), seed)
            verdicts = self.judge.judge(cases, self.viewer.answer(cases))
            rows += [
                (case.input, case.expected, words)
                for case, verdict in zip(cases, verdicts, strict=True)
                if verdict.failed is False
            ]
            if len(rows) >= wanted:
                break
        return rows[:wanted]

    def _balanced(
        self, made: Any, hypothesis: Hypothesis, wanted: int, seed: int, words: str
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

        for at in range(0, TRIES * wanted // 2, BATCH):
            if any(left.values()):
                take(self.drawn(made, hypothesis, range(at, at + BATCH), seed))
        source = PromptPictures(made, space=self.space)
        for value in self.judge.attribute:
            for at in range(0, TRIES * wanted // 2, BATCH):
                if left[value] <= 0:
                    break
                plain = self._prompts(source, hypothesis, range(at, at + BATCH), derived(seed, value))
                pictures = made.generate([f"{p} {value}" for p, _ in plain], [s for _, s in plain])
                take(
                    [
                        Case(hypothesis, at + i, own, picture, prompt, prompt)
                        for i, ((prompt, own), picture) in enumerate(zip(plain, pictures, strict=True))
                    ]
                )
        return rows

    def _prompts(
        self, source: PromptPictures, hypothesis: Hypothesis, indices: Sequence[int], seed: int
    ) -> list[tuple[str, int]]:
        """Prompts of a region with the seeds of their noise."""
        region = self.space.read(hypothesis) or self.space.whole
        seeds = [case_seed(seed, hypothesis, i) for i in indices]
        return [(source.prompt(cell_of(self.space, region, own)), own) for own in seeds]


def _fit(
    folder: Path,
    told: Progress,
    made: Any,
    name: str,
    rows: Sequence[tuple[Image, str, str]],
    settings: RepairSettings,
) -> Fitted:
    from weakspot.repair.diffusion import fit_generator

    out = folder / "model"
    steps = settings.epochs or STEPS
    fitted = fit_generator(
        folder_of_pipeline(made, name),
        [(prompt, image) for image, prompt, _ in rows],
        out=out,
        steps=steps,
        learning_rate=settings.learning_rate,
        device=settings.device,
        seed=settings.seed,
        told=lambda step, of, loss: told(f"training: loss {loss:.4f}", step, of),
    )
    written = name_of_kept(out, was=name)
    learnt = {
        "curve": [],
        "best": steps,
        "epochs": steps,
        "parameters": fitted.parameters,
        "layer": "attention",
        "pictures": len(rows),
        "loss before": fitted.before,
        "loss after": fitted.after,
    }
    return Fitted(MODELS.load(written), written, learnt)
