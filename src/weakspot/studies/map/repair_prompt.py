"""The job that a map of a text-to-image generator leaves: LoRA on its own better pictures, and the proof.

What is learnt from, what says which round is kept, and what proves it are drawn with seeds of their own. The
proof draws each prompt with the same noise before and after.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import numpy as np

from weakspot.core import MODELS, Hypothesis, WeakspotError
from weakspot.studies.map.repair import Mapped
from weakspot.studies.map.repair_looker import BATCH, Image, Looker
from weakspot.study.repairs import Fitted, Job, Pair, Progress, RepairTask, Spot, derived

#: Pictures of each mode that the proof draws, at most.
PROVED: Final = 200
#: Pairs over the landscape, per picture of a mode.
LANDSCAPE: Final = 2
#: Pictures that say how a round does: of the modes, and as many of any prompt.
WATCHED: Final = 32
STEPS: Final = 600
#: What the two numbers of a round are.
WATCHED_WORDS: Final = ("off the wanted rate in the weak spots", "matching their prompts worse than most did")


def prompt_job(mapped: Mapped, settings: RepairTask) -> Job:
    """The modes of a map of a generator that is a pipeline in a folder; its method is lora, or only data."""
    if settings.method not in ("lora", "data"):
        raise WeakspotError(
            f"the method {settings.method!r} is not for generators", fix="use --method lora, or data"
        )
    name, parts, made = mapped.settings.target, mapped.parts, mapped.parts.model
    if settings.method == "lora":
        folder_of_pipeline(made, name)
    looker = Looker(made, mapped.space, parts.judge, parts.target)
    most, seed = min(settings.most, PROVED), derived(settings.seed, "verification")

    def examples(told: Progress = lambda *_: None) -> list[tuple[Image, str, str]]:
        return looker.examples(
            [(spot.words, spot.hypotheses[0]) for spot in mapped.chosen],
            rate=settings.rate,
            seed=derived(settings.seed, "repair"),
            told=lambda n: told("drawing pictures to learn from", n, n),
        )

    def pairs(after: Any, hypothesis: Hypothesis, indices: Sequence[int]) -> list[Pair]:
        both = [looker.judged(model, hypothesis, indices, seed) for model in (made, after)]
        return [
            Pair((old, new), (saw, sees), (failed, fails))
            for (old, saw, failed), (new, sees, fails) in zip(*both, strict=True)
        ]

    return Job(
        target=made,
        name=name,
        judge=parts.judge,
        chosen=mapped.chosen,
        others=mapped.others,
        clean=Spot(
            "pictures that match their prompts worse than most did",
            failed=lambda model: looker.unmatched(model, most, seed),
        ),
        source=parts.source,
        seed=seed,
        samples=lambda rate, seed: examples(),  # noqa: ARG005 (both are in the settings)
        fit=lambda folder, told: _fit(folder, told, looker, mapped, examples(told), settings),
        space=mapped.space,
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
            f"{name[:200]} cannot be trained here: it is no pipeline of diffusers",
            fix="name it as diffusers:FOLDER, or use --method data for a trainer of your own",
        )
    return made._folder


def name_of_kept(out: Path, *, was: str, made: Any) -> str:
    """The name of a pipeline that was written, with the options of the one it was."""
    options = made.options | dict(parse_qsl(was.partition("?")[2]))
    options.pop("revision", None)
    return f"diffusers:{out}" + (f"?{urlencode(options)}" if options else "")


def _fit(
    folder: Path,
    told: Progress,
    looker: Looker,
    mapped: Mapped,
    rows: Sequence[tuple[Image, str, str]],
    settings: RepairTask,
) -> Fitted:
    from weakspot.tuning.diffusion import fit_generator

    made, name, out = looker.made, mapped.settings.target, folder / "model"
    seed = derived(settings.seed, "validation")
    chosen = [spot.hypotheses[0] for spot in mapped.chosen]
    watched = min(WATCHED, settings.most)

    def evaluate(pipe: Any) -> dict[str, float]:
        now = in_training(made, pipe)
        off = looker.off(now, chosen, watched, seed)
        worse = [failed for failed in looker.unmatched(now, watched, seed) if failed is not None]
        lost = float(np.mean(worse)) if worse else 1.0
        return {"validation": off + lost, "transformed": off, "plain": lost}

    fitted = fit_generator(
        folder_of_pipeline(made, name),
        [(prompt, image) for image, prompt, _ in rows],
        out=out,
        steps=settings.epochs or STEPS,
        learning_rate=settings.learning_rate,
        device=settings.device,
        seed=settings.seed,
        evaluate=evaluate,
        watched=watched,
        checkpoints=folder,
        progress=lambda done, of, row: told(f"training: {_words(row)}", done, of),
    )
    written = name_of_kept(out, was=name, made=made)
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
    now = copy.copy(made)
    pipe = copy.copy(pipe)
    pipe.scheduler = made._model.scheduler
    now._model, now.dtype, now.device = pipe, "float32", str(pipe.device)
    return now


def _words(row: dict[str, float]) -> str:
    return (
        f"{100 * row['transformed']:.0f} points {WATCHED_WORDS[0]}, "
        f"{100 * row['plain']:.0f} % {WATCHED_WORDS[1]} (validation)"
    )
