"""Captioners of transformers: image-to-text models (BLIP, GIT, ViT-GPT2) and vision-language ones. See `hf`.

A caption is what the model finds likeliest, word by word or by beams; nothing is sampled. A sentence's
log-probability is the sum over its own tokens, given the picture and what was said before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models import options
from weakspot.models.compute.batches import Batched, Batches
from weakspot.models.hf.files import folder_digest, quiet, read_config, revision_of
from weakspot.models.hf.loading import How
from weakspot.models.hf.speakers import PROMPT, Speaker, speaker_of

#: Pictures at once, and tokens of a caption beyond its prefix.
BATCH, TOKENS = 16, 40
#: Sentences of one picture that are scored at once.
SENTENCES: Final = 32
_KINDS: Final = ("vision-encoder-decoder", "git")


def is_captioner(config: dict[str, Any]) -> bool:
    """Whether a config.json is that of a model that writes about pictures."""
    writes = any(str(name).endswith("ForConditionalGeneration") for name in config.get("architectures") or ())
    return config.get("model_type") in _KINDS or (writes and "vision_config" in config)


class _Told(NamedTuple):
    """A text in tokens: those before, and its own."""

    before: list[int]
    own: list[int]


class HfCaptioner(Batched):
    """See `weakspot.core.Captioner`.

    Args:
        speaker: The model and how it is asked.
        tokens: Of a caption at most, beyond its prefix.
    """

    def __init__(
        self,
        speaker: Speaker,
        *,
        name: str,
        batch: int | None = None,
        tokens: int = TOKENS,
        beams: int = 1,
        digest: str | None = None,
        revision: str = "",
    ) -> None:
        self.name, self.digest, self.revision = name, digest, revision
        self._model = speaker
        self._tokens, self._beams, self.device = tokens, beams, speaker.device
        size = 1 if speaker.one_by_one else batch or BATCH
        self._batches = Batches(name, size, device=speaker.device, dtype=speaker.dtype)

    def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
        """See `Captioner`."""
        prefix = " ".join(prefix.split())
        begun = self._words(prefix)
        shown = len(self._decoded(begun))
        how = {"max_new_tokens": self._tokens, "num_beams": self._beams, "do_sample": False}
        with quiet():
            rows = self._batches.run(images, lambda some: self._model.write(some, begun, **how))
        return [prefix + self._decoded(row)[shown:].rstrip() for some in rows for row in some]

    def log_probabilities(
        self, images: Sequence[NDArray[np.uint8]], sentences: Sequence[str], *, prefix: str = ""
    ) -> NDArray[np.float64]:
        """See `Captioner`."""
        told = [self._told(" ".join(prefix.split()), " ".join(s.split())) for s in sentences]
        table = np.zeros((len(images), len(sentences)))
        order = sorted((i for i, one in enumerate(told) if one.own), key=lambda i: len(told[i].own))
        with quiet():
            for row, image in zip(table, images, strict=True):
                together = Batches("", SENTENCES, device=self.device)
                score = partial(self._score_some, image, told)
                row[order] = np.concatenate([*together.run(order, score), np.zeros(0)])
        return table

    def _score_some(
        self, image: NDArray[np.uint8], all_told: Sequence[_Told], which: Sequence[int]
    ) -> NDArray[np.float64]:
        """log P of some texts about one picture."""
        told = [all_told[i] for i in which]
        rows = [one.before + one.own for one in told]
        longest = max(map(len, rows))
        filled = [row + [self._model.pad] * (longest - len(row)) for row in rows]  # last, so nobody sees it
        logits = self._model.read(image, filled)  # (texts, start + tokens, words)
        each = logits - logits.max(-1, keepdims=True)
        each -= np.log(np.exp(each).sum(-1, keepdims=True))
        sums = []
        for table, one in zip(each, told, strict=True):
            first = len(one.before)  # the token at place i is foretold at place i of the start's row
            places = np.arange(first, first + len(one.own))
            sums.append(table[places, one.own].sum())
        return np.array(sums, np.float64)

    # -- words and tokens -----------------------------------------------------------------------------

    def _words(self, text: str) -> list[int]:
        found: list[int] = self._model.tokenizer(text, add_special_tokens=False)["input_ids"] if text else []
        if len(found) + 1 >= self._model.longest:
            raise WeakspotError(
                f"{text[:60]!r} has {len(found)} tokens",
                fix=f"{self.name} reads {self._model.longest} at most",
            )
        return found

    def _told(self, prefix: str, sentence: str) -> _Told:
        before = self._words(prefix)
        both = self._words(f"{prefix} {sentence}".strip())
        if both[: len(before)] == before:
            return _Told(before, both[len(before) :])
        return _Told(before, self._words(f" {sentence}" if prefix else sentence))

    def _decoded(self, ids: Sequence[int]) -> str:
        text: str = self._model.tokenizer.decode(list(ids), skip_special_tokens=True)
        return " ".join(text.split())


def load_folder(
    folder: Path, *, prompt: str = "", tokens: str = "", beams: str = "", **how: Unpack[How]
) -> HfCaptioner:
    """`hf:FOLDER?prompt=…&tokens=40&beams=1`; the prompt is for vision-language models."""
    dtype, config = how["dtype"], read_config(folder)
    speaker = speaker_of(
        folder, config, device=how["device"], dtype=dtype, trust=how["trust"], prompt=prompt or PROMPT
    )
    most = options.whole("tokens", tokens, most=1024) or TOKENS
    return HfCaptioner(
        speaker,
        name=str(folder),
        batch=how["batch"],
        tokens=most,
        beams=options.whole("beams", beams, most=64) or 1,
        digest=f"{folder_digest(folder)}-{dtype}-{most}-{beams or 1}-{prompt}",
        revision=revision_of(folder),
    )
