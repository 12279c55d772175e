"""CLIP, SigLIP and their kin in transformers: two towers, texts and pictures in one space. See `hf`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.models.compute.batches import Batched, Batches
from weakspot.models.compute.gate import computing
from weakspot.models.hf.files import folder_digest, read_config, revision_of
from weakspot.models.hf.images import by_name, prepare_of, unprepared
from weakspot.models.hf.loading import NOTHING, How, Trust, load_model, load_tokenizer
from weakspot.models.vectors import in_batches, unit

#: Texts or pictures at once.
BATCH: Final = 64
#: They were trained with every text filled up to one length, and read differently otherwise.
_PADDED: Final = ("siglip", "siglip2")


class HfClip(Batched):
    """See `weakspot.core.Encoder`. Texts longer than the tower reads are cut.

    Args:
        folder: As `save_pretrained` writes it: config, safetensors, tokenizer, preprocessor_config.json.
        device: Where it runs.
        dtype: The number format: "float32", "float16" or "bfloat16".
        batch: Texts or pictures at once; halved by itself when memory is short.
        trust: What is read beyond safetensors.

    Attributes:
        digest: SHA-256 of the folder's files and the number format.
        revision: The commit on the hub, where it came from there.
    """

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        batch: int | None = None,
        trust: Trust = NOTHING,
    ) -> None:
        torch = import_module("torch")
        self.name, self.device, self.revision = str(folder), device, revision_of(folder)
        self._torch: Any = torch
        config = read_config(folder)
        self._prepare = prepare_of(folder, trust=trust)
        model = load_model("AutoModel", folder, device=device, dtype=dtype, trust=trust)
        self._model = model
        self._tokenizer: Any = load_tokenizer(folder, trust=trust)
        self._batches = Batches(str(folder), batch or BATCH, device=device, dtype=dtype)
        self._longest = int(config.get("text_config", {}).get("max_position_embeddings", 0)) or int(
            model.config.text_config.max_position_embeddings
        )
        self._padding: Any = "max_length" if config.get("model_type") in _PADDED else True
        self._dtype: Any = getattr(torch, dtype)
        self._width = int(getattr(model.config, "projection_dim", 0) or 0) or None
        self.dtype = dtype
        self.digest = f"{folder_digest(folder)}-{dtype}"

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `TextEncoder`."""
        rows = in_batches([str(t) for t in texts], self._texts, batch=self._batches, width=self._width)
        return unit(rows, of=self.name)

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """See `Encoder`."""
        if self._prepare is None:
            raise unprepared(self.name)
        parts = self._batches.run(images, self._pictures)
        return unit(np.concatenate(parts) if parts else np.zeros((0, self._width or 0)), of=self.name)

    def _pictures(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        assert self._prepare is not None  # noqa: S101
        shown = {
            name: self._torch.from_numpy(value) for name, value in by_name(self._prepare(images)).items()
        }
        return self._run(
            self._model.get_image_features,
            **{n: v.to(self._dtype) if v.is_floating_point() else v for n, v in shown.items()},
        )

    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        tokens = self._tokenizer(
            texts, padding=self._padding, truncation=True, max_length=self._longest, return_tensors="pt"
        )
        takes = {"input_ids": tokens["input_ids"]}
        if self._padding is True:
            takes["attention_mask"] = tokens["attention_mask"]
        return self._run(self._model.get_text_features, **takes)

    def _run(self, features: Any, **inputs: Any) -> NDArray[np.float32]:
        moved = {name: value.to(self.device) for name, value in inputs.items()}
        with self._torch.inference_mode(), computing(self.device):
            out = features(**moved)
            rows = getattr(out, "pooler_output", out)  # since version 5 the features come in an object
            return np.asarray(rows.float().cpu().numpy(), np.float32)


def load_folder(folder: Path, **how: Unpack[How]) -> HfClip:
    """For `hf:`."""
    return HfClip(folder, **how)
