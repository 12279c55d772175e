"""CLIP, SigLIP and their kin in transformers: two towers, texts and pictures in one space. See `hf`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.models.compute.gate import computing
from weakspot.models.hf.files import read_config
from weakspot.models.hf.images import by_name, prepare_of, unprepared
from weakspot.models.hf.loading import How, TwoTowers, load_tokenizer

#: Texts or pictures at once.
BATCH: Final = 64
#: They were trained with every text filled up to one length, and read differently otherwise.
_PADDED: Final = ("siglip", "siglip2")


class HfClip(TwoTowers):
    """A folder with config, safetensors, tokenizer and, for pictures, preprocessor_config.json."""

    def __init__(self, folder: Path, **how: Unpack[How]) -> None:
        super().__init__(folder, usual=BATCH, **how)
        config = read_config(folder)
        self._prepare = prepare_of(folder, trust=self.trust)
        self._model = self._network("AutoModel")
        self._tokenizer: Any = load_tokenizer(folder, trust=self.trust)
        settings = self._model.config
        said = int(config.get("text_config", {}).get("max_position_embeddings", 0))
        self._longest = said or int(settings.text_config.max_position_embeddings)
        self._padding: Any = "max_length" if config.get("model_type") in _PADDED else True
        self._dtype: Any = getattr(self._torch, self.dtype)
        self._width = int(getattr(settings, "projection_dim", 0) or 0) or None

    def _pictures(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        if self._prepare is None:
            raise unprepared(self.name)
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
