"""Fine-tuning a summariser of transformers on edited texts, to write what it wrote of the plain ones.

What is wanted of a text, edited or not, is the summary that the model itself wrote of it as it is, where that
was good (Kim and Rush, 2016), and the reference otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

import numpy as np
import torch

from weakspot.core import WeakspotError, check_known
from weakspot.models.compute import choose_device
from weakspot.models.hf.loading import quiet
from weakspot.models.summarise import Seq2Seq
from weakspot.tuning.network import adapted, merged, need_peft
from weakspot.tuning.rounds import Progress, rounds
from weakspot.tuning.train import Trained

METHODS: Final = ("full", "lora")
RATES: Final = {"full": 5e-5, "lora": 1e-3}
EPOCHS: Final = 6
BATCH: Final = 8
#: Share of the texts that take no part in training.
VALIDATION: Final = 0.2
#: Tokens of a summary at most.
WRITTEN: Final = 128
#: Labels that count for nothing.
_NOTHING: Final = -100


class Lesson(NamedTuple):
    text: str
    wanted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariserSettings:
    """How a summariser is trained; numbers that are 0 are the method's own."""

    method: str = "full"
    rate: float = 0.5
    epochs: int = 0
    learning_rate: float = 0.0
    rank: int = 8
    patience: int = 4
    device: str = "auto"
    seed: int = 0


def fit_summariser(
    target: Seq2Seq,
    lessons: Sequence[Lesson],
    edit: Callable[[str, int], str],
    settings: SummariserSettings,
    *,
    out: Path,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train a copy of a summariser and write it to `out` as transformers reads it; `edit` is given a seed."""
    check_known(settings.method, METHODS, f"the method {settings.method[:60]!r} is not for summarisers")
    if settings.method == "lora":
        need_peft()
    if len(lessons) < 5:
        raise WeakspotError(f"{len(lessons)} texts are too few to learn from", fix="map with more texts")
    work = _Work(target, lessons, edit, settings)
    state = rounds(
        work.parameters,
        loss_at=work.loss,
        evaluate=work.evaluate,
        held=len(work.held),
        steps=-(-len(work.own) // BATCH),
        epochs=settings.epochs or EPOCHS,
        peak=settings.learning_rate or RATES[settings.method],
        patience=settings.patience,
        settings=asdict(settings) | {"texts": len(lessons)},
        folder=folder,
        progress=progress,
    )
    count = sum(p.numel() for p in work.parameters)
    model: Any = merged(work.model) if settings.method == "lora" else work.model
    with quiet():
        model.to("cpu").eval().save_pretrained(out)
        target._tokenizer.save_pretrained(out)
    return Trained(state.curve, state.best, state.epoch, count, "")


def name_of_kept(out: Path, *, was: str, target: Seq2Seq) -> str:
    options = dict(parse_qsl(was.partition("?")[2])) | {"prefix": target.prefix}
    given = {key: value for key, value in options.items() if value}
    return f"hf:{out}" + (f"?{urlencode(given)}" if given else "")


class _Work:
    def __init__(
        self,
        target: Seq2Seq,
        lessons: Sequence[Lesson],
        edit: Callable[[str, int], str],
        s: SummariserSettings,
    ) -> None:
        self.s, self.lessons, self.edit, self.target = s, list(lessons), edit, target
        self.device = choose_device(s.device)
        torch.manual_seed(s.seed)
        self.model: Any = copy.deepcopy(target.network).float()
        if s.method == "lora":
            self.model = adapted(self.model, rank=s.rank, but=self.model.get_output_embeddings())
        else:
            for p in self.model.parameters():
                p.requires_grad_(True)
        self.model.to(self.device)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        order = np.random.default_rng([s.seed, 61]).permutation(len(self.lessons))
        held = max(1, round(VALIDATION * len(order)))
        self.held, self.own = order[:held], order[held:]
        seeds = np.random.default_rng([s.seed, 62]).integers(0, 1 << 62, held).tolist()
        kept = [self.lessons[i] for i in self.held]
        changed = [row._replace(text=edit(row.text, seed)) for row, seed in zip(kept, seeds, strict=True)]
        self._exam = {"transformed": changed, "plain": kept}

    def loss(self, epoch: int, step: int) -> torch.Tensor:
        """Of the wanted summaries of some texts, a share of them edited."""
        order = np.random.default_rng([self.s.seed, 63, epoch]).permutation(self.own)
        rng = np.random.default_rng([self.s.seed, 64, epoch, step])
        rows = []
        for i in order[step * BATCH : (step + 1) * BATCH]:
            row, changed, seed = self.lessons[i], rng.random() < self.s.rate, int(rng.integers(1 << 62))
            rows.append(row._replace(text=self.edit(row.text, seed)) if changed else row)
        torch.manual_seed(int(rng.integers(1 << 31)))  # dropout is the same after an interruption
        self.model.train()
        found: torch.Tensor = self.model(**self._given(rows)).loss
        return found

    def evaluate(self) -> dict[str, float]:
        """The loss, and the share of the wanted words that the model would not have written next."""
        self.model.eval()
        found: dict[str, float] = {}
        losses = []
        with torch.no_grad():
            for name, rows in self._exam.items():
                wrong = words = total = 0.0
                for at in range(0, len(rows), BATCH):
                    given = self._given(rows[at : at + BATCH])
                    said = self.model(**given)
                    counts = given["labels"] != _NOTHING
                    wrong += float(((said.logits.argmax(-1) != given["labels"]) & counts).sum())
                    words += float(counts.sum())
                    total += float(said.loss) * float(counts.sum())
                found[name] = wrong / max(words, 1)
                losses.append(total / max(words, 1))
        return {"validation": float(np.mean(losses)), **found}

    def _given(self, rows: Sequence[Lesson]) -> dict[str, torch.Tensor]:
        tokens, fit = self.target._tokenizer, {"return_tensors": "pt", "padding": True, "truncation": True}
        texts, longest = [self.target.prefix + row.text for row in rows], self.target._longest
        with quiet():
            read = tokens(texts, **fit, max_length=longest)
            wanted = tokens(text_target=[row.wanted for row in rows], **fit, max_length=WRITTEN)
        labels = wanted["input_ids"].masked_fill(wanted["attention_mask"] == 0, _NOTHING)
        given = {"input_ids": read["input_ids"], "attention_mask": read["attention_mask"], "labels": labels}
        return {key: value.to(self.device) for key, value in given.items()}
