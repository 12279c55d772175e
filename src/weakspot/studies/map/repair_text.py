"""The job that a map of a summariser leaves: edited texts of the repair part, and a proof on other texts.

Each text of the verification part is drawn once per mode, so that pairs are independent of each other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from weakspot.core import MODELS, Stage, WeakspotError
from weakspot.sources.documents import EditedTexts
from weakspot.sources.transform import Destroyed
from weakspot.studies.map.repair import Mapped
from weakspot.study.repairs import Fitted, Job, Progress, RepairTask, derived, row_words

#: Fewer texts teach and prove nothing.
LEAST: Final = 5
#: Pairs over the landscape at most: a summary takes its time.
DRAWS: Final = 2_000


class OnceEach(EditedTexts):
    """Draws every text once per hypothesis."""

    def rounds(self, stage: Stage) -> int:
        """One."""
        del stage
        return 1


def text_job(mapped: Mapped, settings: RepairTask) -> Job:
    """The modes of a map of a summariser, with the texts that the map had."""
    if settings.method == "last-layer":
        raise WeakspotError("a summariser has no last layer to train", fix="use --method full or lora")
    parts, space, documents = mapped.parts, mapped.space, mapped.parts.inputs
    if settings.method != "data":
        _trainable(parts.target, mapped.settings.target)
    own, fresh = (
        parts.kept(name, mapped.run.config.digests, least=LEAST) for name in ("repair", "verification")
    )
    source: EditedTexts = parts.source
    mine = OnceEach(documents, space=space, parts={Stage.EXPLORE: own})

    def edit(text: str, seed: int) -> str:
        rng = np.random.default_rng(seed)
        region = mapped.regions[int(rng.integers(len(mapped.regions)))]
        try:
            return source.edited(text, region, int(rng.integers(1 << 62)))
        except Destroyed:
            return text

    def learnt() -> list[tuple[str, str]]:
        return _lessons(mine, parts, len(own), settings, outside=space.outside())

    return Job(
        target=parts.target,
        name=mapped.settings.target,
        judge=parts.judge,
        chosen=mapped.chosen,
        others=mapped.others,
        clean=mapped.clean,
        source=OnceEach(documents, space=space, parts={Stage.EXPLORE: fresh}),
        seed=derived(mapped.settings.seed, "verification"),
        cluster=lambda case: case.caption,
        fit=lambda folder, told: _fit(
            folder, told, parts.target, learnt(), edit, settings, mapped.settings.target
        ),
        write=lambda folder: _write(folder, documents, own, edit, settings),
        space=space,
        draws=DRAWS,
        counts=parts.counts,
        digests=parts.digests,
    )


def _trainable(model: Any, name: str) -> None:
    """Refuse, before there is a run, what is no summariser of transformers."""
    from weakspot.models.summarise import Seq2Seq

    if not isinstance(model, Seq2Seq):
        raise WeakspotError(
            f"{name[:200]} cannot be trained here: it is no summariser of transformers",
            fix="name it as hf:FOLDER, or use --method data for a trainer of your own",
        )


def _lessons(
    source: OnceEach, parts: Any, count: int, settings: RepairTask, *, outside: Any
) -> list[tuple[str, str]]:
    """Each text of the repair part with the summary that is wanted: the model's own where it was good."""
    cases = source.draw(outside, range(count), seed=derived(settings.seed, "repair"))
    outputs = parts.target.answer(cases)
    verdicts = parts.judge.judge(cases, outputs)
    rng = np.random.default_rng([settings.seed, 65])
    rows = []
    for case, output, verdict in zip(cases, outputs, verdicts, strict=True):
        own = verdict.failed is False and rng.random() < settings.distil
        rows.append((str(case.input), str(output.answer) if own else case.expected))
    return rows


def _fit(
    folder: Path,
    told: Progress,
    target: Any,
    rows: Sequence[tuple[str, str]],
    edit: Any,
    settings: RepairTask,
    was: str,
) -> Fitted:
    from weakspot.tuning.summariser import Lesson, SummariserSettings, fit_summariser, name_of_kept

    out = folder / "model"
    trained = fit_summariser(
        target,
        [Lesson(*row) for row in rows],
        edit,
        SummariserSettings(
            method=settings.method,
            rate=settings.rate,
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            device=settings.device,
            seed=settings.seed,
        ),
        out=out,
        folder=folder,
        progress=lambda epoch, of, row: told(f"training: {row_words(row)}", epoch, of),
    )
    name = name_of_kept(out, was=was, target=target)
    after: Any = MODELS.load(name)
    return Fitted(after, name, {**trained._asdict(), "pictures": len(rows), "kind": "texts"})


def _write(
    folder: Path, documents: Any, mine: Sequence[int], edit: Any, settings: RepairTask
) -> dict[str, Any]:
    """Texts, some of them edited, with their reference summaries, as lines of JSON."""
    from weakspot.store import write_whole

    rng = np.random.default_rng([settings.seed, 31])
    lines = []
    for i in mine:
        changed, seed = rng.random() < settings.rate, int(rng.integers(1 << 62))
        text = edit(documents.texts[i], seed) if changed else documents.texts[i]
        row = {"text": text, "summary": documents.summaries[i], "edited": bool(changed)}
        lines.append(json.dumps(row, ensure_ascii=False))
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "texts.jsonl", ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
    return {"folder": str(folder), "pictures": len(lines), "kind": "texts"}
