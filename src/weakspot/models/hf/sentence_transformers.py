"""Text encoders of the sentence-transformers library: `st:all-mpnet-base-v2`, or `st:FOLDER`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models import options
from weakspot.models.compute.batches import Batched, Batches
from weakspot.models.compute.device import autocast, choose_device, choose_dtype
from weakspot.models.compute.gate import computing
from weakspot.models.hf.files import (
    find_folder,
    folder_digest,
    quiet,
    refuse_pickles,
    revision_of,
    unloadable,
)
from weakspot.models.hf.loading import NOTHING, Trust
from weakspot.models.vectors import in_batches, unit

OWNER: Final = "sentence-transformers"
BATCH: Final = 64


class SentenceEncoder(Batched):
    """See `weakspot.core.TextEncoder`. Texts longer than the model reads are cut.

    Args:
        folder: With modules.json, as the library saves it.
        device: Where it runs.
        dtype: The number format it multiplies in.
        batch: Texts at once; halved by itself when memory is short.
        trust: What is allowed beyond safetensors and the library's own parts.

    Attributes:
        digest: SHA-256 of the folder's files.
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
        library: Any = import_module("sentence_transformers")
        self.name, self.device, self.revision = str(folder), device, revision_of(folder)
        self.dtype = dtype
        _check_modules(folder, trust)
        if not trust.pickle:
            refuse_pickles(folder)
        safe = not trust.pickle or any(folder.glob("*.safetensors"))
        with quiet():
            try:
                self._model = library.SentenceTransformer(
                    str(folder),
                    device=device,
                    trust_remote_code=trust.code,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True if safe else None},
                )
            except ImportError:
                raise
            except Exception as error:  # of the files
                raise unloadable(folder, error) from error
        self._model.eval()
        self._batches = Batches(str(folder), batch or BATCH, device=device, dtype=dtype)
        self.digest = folder_digest(folder) + ("" if dtype == "float32" else f"-{dtype}")

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `TextEncoder`."""
        rows = in_batches([str(t) for t in texts], self._embed, batch=self._batches, width=self._width())
        return unit(rows, of=self.name)

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        with computing(self.device), autocast(self.device, self.dtype):
            rows = self._model.encode(
                texts, batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(rows, np.float32)

    def _width(self) -> int:
        known = getattr(self._model, "get_embedding_dimension", None)
        known = known or self._model.get_sentence_embedding_dimension  # its name before version 5
        return int(known() or 0)


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
    trust = Trust(options.yes("pickle", pickle), options.yes("code", code))
    folder = find_folder(path, revision=revision or None, owner=OWNER, also=trust.fetched)
    size = options.whole("batch", batch, most=1 << 16)
    place = choose_device(device)
    number = choose_dtype(dtype, place)
    return SentenceEncoder(folder, device=place, dtype=number, batch=size, trust=trust)
