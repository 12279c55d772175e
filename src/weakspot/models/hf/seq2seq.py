"""Summarisers of transformers that read a text and write another: BART, T5, Pegasus. See `hf`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Unpack

from weakspot.core import Case, Output
from weakspot.models import options
from weakspot.models.compute.gate import computing
from weakspot.models.hf.files import quiet, read_config
from weakspot.models.hf.loading import FolderModel, How, load_tokenizer
from weakspot.models.summarise import said, text_of

#: Texts at once, tokens of a summary, and of a text where the model does not say what it can read.
BATCH, WRITTEN, READ = 8, 128, 1024
#: Beams, so that the same text gives the same summary: nothing is sampled.
BEAMS: Final = 4


class Seq2Seq(FolderModel):
    """See `weakspot.core.Target`. Texts longer than the model reads are cut.

    Args:
        prefix: What the model wants before a text; by default what its configuration says of summaries.
    """

    def __init__(
        self,
        folder: Path,
        *,
        prefix: str | None = None,
        tokens: int = WRITTEN,
        beams: int = BEAMS,
        **how: Unpack[How],
    ) -> None:
        super().__init__(folder, usual=BATCH, **how)
        config = read_config(folder)
        self.prefix = _prefix(config) if prefix is None else prefix
        self._model = self._network("AutoModelForSeq2SeqLM")
        self._tokenizer: Any = load_tokenizer(folder, trust=self.trust)
        places = int(config.get("max_position_embeddings") or config.get("n_positions") or READ)
        self._longest = max(min(places, int(self._tokenizer.model_max_length), 1 << 14), 8)
        self._written = {"max_new_tokens": tokens, "num_beams": beams, "do_sample": False}
        self.digest += f"-{tokens}-{beams}-{self.prefix}"

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`. Texts of like length are read together, so that little is filled up."""
        texts = [self.prefix + text_of(case) for case in cases]
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        parts = self._batches.run([texts[i] for i in order], self._write)
        written = (text for part in parts for text in part)
        found = dict(zip(order, map(said, written), strict=True))
        return [found[i] for i in range(len(texts))]

    def _write(self, texts: Sequence[str]) -> list[str]:
        with quiet(), self._torch.inference_mode():
            read = self._tokenizer(
                list(texts), return_tensors="pt", padding=True, truncation=True, max_length=self._longest
            )
            given = {k: read[k].to(self.device) for k in ("input_ids", "attention_mask")}
            with computing(self.device):
                rows = self._model.generate(**given, **self._written, max_length=None).cpu()
            written: list[str] = self._tokenizer.batch_decode(rows, skip_special_tokens=True)
        return written


def _prefix(config: Mapping[str, Any]) -> str:
    """What a configuration wants before a text that is to be summarised: T5's "summarize: "."""
    known = config.get("task_specific_params") or {}
    said_of = known.get("summarization") if isinstance(known, Mapping) else None
    if isinstance(said_of, Mapping) and isinstance(said_of.get("prefix"), str):
        return str(said_of["prefix"])
    return "summarize: " if config.get("model_type") == "t5" else ""


def load_folder(
    folder: Path, *, prefix: str = "", tokens: str = "", beams: str = "", **how: Unpack[How]
) -> Seq2Seq:
    """`hf:FOLDER?prefix=summarize: &tokens=60&beams=1`."""
    return Seq2Seq(
        folder,
        prefix=prefix or None,
        tokens=options.whole("tokens", tokens, most=4096) or WRITTEN,
        beams=options.whole("beams", beams, most=64) or BEAMS,
        **how,
    )
