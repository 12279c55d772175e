"""Encoders of the open_clip library: `openclip:ViT-L-14/openai`, or a folder with open_clip_config.json.

Weights are read as safetensors alone; tags whose weights are there as a pickle only are refused. The library
itself imports torchvision, which must be installed with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, nearest
from weakspot.models.compute import autocast, computing
from weakspot.models.hf.encoders import TwoTowers
from weakspot.models.hf.loading import (
    How,
    find_folder,
    quiet,
    read_config,
    read_options,
    refuse_pickles,
    unloadable,
)
from weakspot.models.preprocess import Preprocess

CONFIG: Final = "open_clip_config.json"
BATCH: Final = 64
NO_PICKLES: Final = (
    "openclip: has no pickle=yes, since not every version of open_clip reads them restrictedly: choose a tag "
    "with safetensors, or hf:NAME?pickle=yes"
)


class OpenClip(TwoTowers):
    """A folder with open_clip_config.json, open_clip_model.safetensors and, if it has one, its tokenizer."""

    def __init__(self, folder: Path, **how: Unpack[How]) -> None:
        library: Any = import_module("open_clip")
        super().__init__(folder, usual=BATCH, **how)
        config = read_config(folder, CONFIG)
        refuse_pickles(folder, fix=NO_PICKLES)
        source = f"local-dir:{folder}"
        with quiet():
            try:
                made = library.create_model(source, device=self.device, require_pretrained=True)
                self._model = made.eval()
                self._tokenizer: Any = library.get_tokenizer(source)
            except ImportError:
                raise
            except Exception as error:  # of the files
                raise unloadable(folder, error) from error
        usual = library.get_model_preprocess_cfg(self._model)
        self._prepare = preprocess(config.get("preprocess_cfg") or usual, usual)

    def _pictures(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return self._run(self._model.encode_image, self._torch.from_numpy(self._prepare(images)))

    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        return self._run(self._model.encode_text, self._tokenizer(texts))

    def _run(self, encode: Any, values: Any) -> NDArray[np.float32]:
        values = values.to(self.device)
        with self._torch.inference_mode(), computing(self.device), autocast(self.device, self.dtype):
            return np.asarray(encode(values).float().cpu().numpy(), np.float32)


def preprocess(said: Mapping[str, Any], otherwise: Mapping[str, Any]) -> Preprocess:
    """How pictures are prepared, from the library's settings; what one mapping lacks the other says."""
    both = {**otherwise, **{key: value for key, value in said.items() if value is not None}}
    size = both["size"]
    height, width = (size, size) if isinstance(size, int) else (int(size[0]), int(size[-1]))
    mode = both.get("resize_mode", "shortest")
    if mode not in ("shortest", "squash"):
        raise WeakspotError(f"pictures are prepared by {mode!r}, which is not known", fix="use another model")
    return Preprocess(
        size=(height, width),
        shortest=min(height, width) if mode == "shortest" else None,
        resample=str(both.get("interpolation", "bicubic")).upper(),
        mean=tuple(map(float, both["mean"])),
        std=tuple(map(float, both["std"])),
    )


def load(
    path: str, *, device: str = "auto", dtype: str = "float32", batch: str = "", revision: str = ""
) -> OpenClip:
    """`openclip:ViT-L-14/openai?device=cuda`; `openclip:FOLDER`; `openclip:owner/name` on the hub."""
    library: Any = import_module("open_clip")
    model, _, tag = path.partition("/")
    name = path
    if not Path(path).exists() and model in library.list_models():
        known = library.list_pretrained_tags_by_model(model)
        settings = library.get_pretrained_cfg(model, tag)
        if not settings:
            raise WeakspotError(
                f"open_clip has no weights {tag[:80]!r} for {model}",
                fix=nearest(tag, known) or f"choose one of: {', '.join(known)[:300]}",
            )
        name = str(settings.get("hf_hub", "")).strip("/")
        name = "/".join(name.split("/")[:2])
        if not name:
            raise WeakspotError(f"the weights {tag!r} of {model} are there as a pickle only", fix=NO_PICKLES)
    how = read_options(device=device, dtype=dtype, batch=batch)
    return OpenClip(find_folder(name, revision=revision or None), **how)
