"""Encoders of sentences in transformers (BERT, MiniLM, MPNet, RoBERTa, …): tokens are averaged. See `hf`.

A folder that sentence-transformers saved says in modules.json what is done with the tokens, and is followed
where that is an average or the first token; the library itself is not needed. Without such a file, tokens
are averaged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.compute.gate import computing
from weakspot.models.hf.files import read_config
from weakspot.models.hf.loading import How, TextTower, load_tokenizer

MODULES: Final = "modules.json"
#: Texts at once, and tokens of a text where the model does not say what it can read.
BATCH, LONGEST = 64, 512
_POOLING: Final = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
#: Their first places belong to the padding.
_SHIFTED: Final = ("roberta", "xlm-roberta", "camembert", "mpnet")


class Reading(NamedTuple):
    """How a sentence becomes one row.

    Attributes:
        pooling: "mean" of all tokens, or "cls", the first.
        longest: Tokens that are read; None where it is not said.
        lower: Texts are put into lower case first.
    """

    pooling: str = "mean"
    longest: int | None = None
    lower: bool = False


def is_text_encoder(config: Mapping[str, Any]) -> bool:
    """Whether a config.json is that of a network that reads texts and does nothing else."""
    names = [str(name) for name in config.get("architectures") or ()]
    reads = any(n.endswith("ForMaskedLM") or (n.endswith("Model") and "Head" not in n) for n in names)
    strange = config.get("is_encoder_decoder") or "vision_config" in config
    return (
        reads and "vocab_size" in config and not strange and "clip" not in str(config.get("model_type", ""))
    )


def read_modules(folder: Path) -> Reading:
    """What a folder says of how a sentence becomes a row; the mean where it says nothing.

    Raises:
        WeakspotError: It asks for something that is not done here, or cannot be read.
    """
    if not (folder / MODULES).is_file():
        return Reading()
    try:
        modules = [(str(m["type"]).rpartition(".")[2], str(m["path"])) for m in _json(folder, MODULES, list)]
        kinds = [kind for kind, _ in modules]
        if kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) - {"Normalize"}:
            raise _beyond(folder, f"is made of {', '.join(kinds)[:200]}")
        if modules[0][1] not in ("", "."):
            raise _beyond(folder, f"has its network in {modules[0][1][:80]!r}")
        inside = Path(modules[1][1])
        if inside.is_absolute() or ".." in inside.parts:
            raise _beyond(folder, "names a folder outside")
        pooling = _pooled(_json(folder, str(inside / "config.json"), dict), folder)
        told = "sentence_bert_config.json"
        said = _json(folder, told, dict) if (folder / told).is_file() else {}
        told = "config_sentence_transformers.json"
        if (folder / told).is_file() and _json(folder, told, dict).get("default_prompt_name"):
            raise _beyond(folder, "puts words of its own before every text")
        longest = said.get("max_seq_length")
        return Reading(pooling, None if longest is None else int(longest), bool(said.get("do_lower_case")))
    except (KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        said = getattr(error, "strerror", None) or error
        raise WeakspotError(
            f"{folder / MODULES} or a file it names cannot be read: {said}", fix="copy the folder again"
        ) from error


def _json(folder: Path, name: str, kind: type) -> Any:
    content = json.loads((folder / name).read_bytes())
    if not isinstance(content, kind):
        raise TypeError(f"{name} is no {kind.__name__}")
    return content


def _pooled(said: Mapping[str, Any], folder: Path) -> str:
    told = said.get("pooling_mode")
    if told is None:
        told = [_POOLING.get(k, k) for k, on in said.items() if k.startswith("pooling_mode_") and on]
    modes: list[str] = [told] if isinstance(told, str) else [str(mode) for mode in told] or ["mean"]
    if len(modes) != 1 or modes[0] not in _POOLING.values():
        raise _beyond(folder, f"pools its tokens by {', '.join(modes)[:200]}")
    return modes[0]


def _beyond(folder: Path, what: str) -> WeakspotError:
    return WeakspotError(f"{folder} {what}, which hf: does not do", fix=f"write st:{folder}")


class HfSentences(TextTower):
    """A folder as transformers or sentence-transformers saves it: config, safetensors, tokenizer."""

    def __init__(self, folder: Path, **how: Unpack[How]) -> None:
        super().__init__(folder, usual=BATCH, **how)
        self.reading, config = read_modules(folder), read_config(folder)
        self._model = self._network("AutoModel", unused="pooler.")
        self._tokenizer: Any = load_tokenizer(folder, trust=self.trust)
        self._tokenizer.padding_side = "right"
        places = int(config.get("max_position_embeddings") or LONGEST)
        places -= 2 if config.get("model_type") in _SHIFTED else 0
        self._longest = max(1, min(places, self.reading.longest or int(self._tokenizer.model_max_length)))
        self._width = int(config.get("hidden_size") or config.get("dim") or 0) or None

    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        texts = [text.lower() for text in texts] if self.reading.lower else texts
        read = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
        )
        given = {name: value.to(self.device) for name, value in read.items()}
        with self._torch.inference_mode(), computing(self.device):
            tokens = self._model(**given).last_hidden_state.float()
            if self.reading.pooling == "cls":
                rows = tokens[:, 0]
            else:
                counts = given["attention_mask"][..., None].float()
                rows = (tokens * counts).sum(1) / counts.sum(1).clamp(min=1)
            return np.asarray(rows.cpu().numpy(), np.float32)
