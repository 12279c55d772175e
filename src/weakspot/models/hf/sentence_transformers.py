"""Text encoders of the sentence-transformers library: `st:all-mpnet-base-v2`, or `st:FOLDER`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.compute.device import autocast
from weakspot.models.compute.gate import computing
from weakspot.models.hf.files import find_folder, quiet, refuse_pickles, unloadable
from weakspot.models.hf.loading import How, TextTower, Trust, read_options

OWNER: Final = "sentence-transformers"
BATCH: Final = 64


class SentenceEncoder(TextTower):
    """A folder with modules.json, as the library saves it."""

    def __init__(self, folder: Path, **how: Unpack[How]) -> None:
        library: Any = import_module("sentence_transformers")
        super().__init__(folder, usual=BATCH, **how)
        _check_modules(folder, self.trust)
        if not self.trust.pickle:
            refuse_pickles(folder)
        safe = not self.trust.pickle or any(folder.glob("*.safetensors"))
        with quiet():
            try:
                self._model = library.SentenceTransformer(
                    str(folder),
                    device=self.device,
                    trust_remote_code=self.trust.code,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True if safe else None},
                )
            except ImportError:
                raise
            except Exception as error:  # of the files
                raise unloadable(folder, error) from error
        self._model.eval()
        known = getattr(self._model, "get_embedding_dimension", None)
        known = known or self._model.get_sentence_embedding_dimension  # its name before version 5
        self._width = int(known() or 0)

    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        with computing(self.device), autocast(self.device, self.dtype):
            rows = self._model.encode(
                texts, batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(rows, np.float32)


def _check_modules(folder: Path, trust: Trust) -> None:
    """The library would import whatever modules.json names; its own parts alone are let through unasked."""
    path = folder / "modules.json"
    try:
        kinds = [str(row["type"]) for row in json.loads(path.read_bytes())]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise WeakspotError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}",
            fix="name a folder that sentence-transformers saved; for CLIP write hf:…",
        ) from error
    strange = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    if strange and not trust.code:
        raise WeakspotError(
            f"{path} names code of its own ({strange[0][:80]}), which is not run unasked",
            fix="where you trust it: add code=yes to the name",
        )


def load(
    path: str,
    *,
    device: str = "auto",
    dtype: str = "float32",
    batch: str = "",
    revision: str = "",
    pickle: str = "no",
    code: str = "no",
) -> SentenceEncoder:
    """`st:all-mpnet-base-v2?device=cuda&batch=256`; names without an owner are the library's own models."""
    import_module("sentence_transformers")  # a missing library is told before anything is fetched
    how = read_options(device=device, dtype=dtype, batch=batch, pickle=pickle, code=code)
    folder = find_folder(path, revision=revision or None, owner=OWNER, also=how["trust"].fetched)
    return SentenceEncoder(folder, **how)
