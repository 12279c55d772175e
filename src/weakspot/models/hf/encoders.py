"""Encoders of transformers (see `weakspot.models.hf.model`), of sentence-transformers and of open_clip."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, nearest
from weakspot.core.errors import explained, system_reason
from weakspot.models.compute import autocast, computing
from weakspot.models.hf import loading
from weakspot.models.preprocess import Preprocess, by_name, prepare_of, prepared_by
from weakspot.models.vectors import in_batches, unit


class TextTower(loading.FolderModel, ABC):
    """See `weakspot.core.TextEncoder`. Texts longer than the model reads are cut."""

    _width: int | None = None

    @abstractmethod
    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        """One row for each of some texts, of any length."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = in_batches([str(t) for t in texts], self._texts, batch=self._batches, width=self._width)
        return unit(rows, of=self.name)


class TwoTowers(TextTower):
    """See `weakspot.core.Encoder`."""

    @abstractmethod
    def _pictures(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One row for each of some pictures, of any length."""

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        parts = self._batches.run(images, self._pictures)
        return unit(np.concatenate(parts) if parts else np.zeros((0, self._width or 0)), of=self.name)


#: Texts or pictures at once, and tokens of a text where the model does not say what it can read.
BATCH, LONGEST = 64, 512
#: They were trained with every text filled up to one length, and read differently otherwise.
_PADDED: Final = ("siglip", "siglip2")


class HfClip(TwoTowers):
    """A folder with config, safetensors, tokenizer and, for pictures, preprocessor_config.json."""

    def __init__(self, folder: Path, **how: Unpack[loading.How]) -> None:
        super().__init__(folder, usual=BATCH, **how)
        config = loading.read_config(folder)
        self._prepare = prepare_of(folder, trust=self.trust)
        self.network = self._network("AutoModel")
        self._tokenizer: Any = loading.load_beside("AutoTokenizer", folder, trust=self.trust)
        settings = self.network.config
        said = int(config.get("text_config", {}).get("max_position_embeddings", 0))
        self._longest = said or int(settings.text_config.max_position_embeddings)
        self._padding: Any = "max_length" if config.get("model_type") in _PADDED else True
        self._dtype: Any = getattr(self._torch, self.dtype)
        self._width = int(getattr(settings, "projection_dim", 0) or 0) or None

    def _pictures(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        prepared = by_name(prepared_by(self._prepare, of=self.name)(images))
        shown = {name: self._torch.from_numpy(value) for name, value in prepared.items()}
        return self._run(
            self.network.get_image_features,
            **{n: v.to(self._dtype) if v.is_floating_point() else v for n, v in shown.items()},
        )

    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        tokens = self._tokenizer(
            texts, padding=self._padding, truncation=True, max_length=self._longest, return_tensors="pt"
        )
        takes = {"input_ids": tokens["input_ids"]}
        if self._padding is True:
            takes["attention_mask"] = tokens["attention_mask"]
        return self._run(self.network.get_text_features, **takes)

    def _run(self, features: Any, **inputs: Any) -> NDArray[np.float32]:
        moved = {name: value.to(self.device) for name, value in inputs.items()}
        with self._torch.inference_mode(), computing(self.device):
            out = features(**moved)
            rows = getattr(out, "pooler_output", out)  # since version 5 the features come in an object
            return np.asarray(rows.float().cpu().numpy(), np.float32)


MODULES: Final = "modules.json"
#: What comes of reading a file that is not as it should be.
_BROKEN: Final = (OSError, ValueError, KeyError, TypeError, RecursionError)
_POOLING: Final = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
#: Their first places belong to the padding.
_SHIFTED: Final = ("roberta", "xlm-roberta", "camembert", "mpnet")


class Reading(NamedTuple):
    """How a sentence becomes one row."""

    #: "mean" of all tokens, or "cls", the first.
    pooling: str = "mean"
    #: Tokens that are read; None where it is not said.
    longest: int | None = None
    #: Texts are put into lower case first.
    lower: bool = False


def is_text_encoder(config: Mapping[str, Any]) -> bool:
    names = [str(name) for name in config.get("architectures") or ()]
    reads = any(n.endswith("ForMaskedLM") or (n.endswith("Model") and "Head" not in n) for n in names)
    strange = config.get("is_encoder_decoder") or "vision_config" in config
    return (
        reads and "vocab_size" in config and not strange and "clip" not in str(config.get("model_type", ""))
    )


def read_modules(folder: Path) -> Reading:
    """What a folder says of how a sentence becomes a row; the mean where it says nothing."""
    if not (folder / MODULES).is_file():
        return Reading()
    what = f"{folder / MODULES} or a file it names cannot be read"
    with explained(what, *_BROKEN, fix="copy the folder again", why=system_reason):
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

    def __init__(self, folder: Path, **how: Unpack[loading.How]) -> None:
        super().__init__(folder, usual=BATCH, **how)
        self.reading, config = read_modules(folder), loading.read_config(folder)
        self.network = self._network("AutoModel", unused="pooler.")
        self._tokenizer: Any = loading.load_beside("AutoTokenizer", folder, trust=self.trust)
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
            tokens = self.network(**given).last_hidden_state.float()
            if self.reading.pooling == "cls":
                rows = tokens[:, 0]
            else:
                counts = given["attention_mask"][..., None].float()
                rows = (tokens * counts).sum(1) / counts.sum(1).clamp(min=1)
            return np.asarray(rows.cpu().numpy(), np.float32)


OWNER: Final = "sentence-transformers"


class SentenceEncoder(TextTower):
    """A folder with modules.json, as the library saves it."""

    def __init__(self, folder: Path, **how: Unpack[loading.How]) -> None:
        library: Any = import_module("sentence_transformers")
        super().__init__(folder, usual=BATCH, **how)
        _check_modules(folder, self.trust)
        if not self.trust.pickle:
            loading.refuse_pickles(folder)
        safe = not self.trust.pickle or any(folder.glob("*.safetensors"))
        with loading.reading(folder):
            self.network = library.SentenceTransformer(
                str(folder),
                device=self.device,
                trust_remote_code=self.trust.code,
                local_files_only=True,
                model_kwargs={"use_safetensors": True if safe else None},
            )
        self.network.eval()
        known = getattr(self.network, "get_embedding_dimension", None)
        known = known or self.network.get_sentence_embedding_dimension  # its name before version 5
        self._width = int(known() or 0)

    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        with computing(self.device), autocast(self.device, self.dtype):
            rows = self.network.encode(
                texts, batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(rows, np.float32)


def _check_modules(folder: Path, trust: loading.Trust) -> None:
    """The library would import whatever modules.json names; its own parts alone are let through unasked."""
    path = folder / "modules.json"
    fix = "name a folder that sentence-transformers saved; for CLIP write hf:…"
    with explained(f"{path} cannot be read", *_BROKEN, fix=fix, why=system_reason):
        kinds = [str(row["type"]) for row in json.loads(path.read_bytes())]
    strange = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    if strange and not trust.code:
        raise WeakspotError(
            f"{path} names code of its own ({strange[0][:80]}), which runs only if you ask for it",
            fix="if you trust it: add code=yes to the name",
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
    how, trust = loading.read_options(device=device, dtype=dtype, batch=batch, pickle=pickle, code=code)
    folder = loading.find_folder(path, revision=revision or None, owner=OWNER, also=trust.fetched)
    return SentenceEncoder(folder, **how, trust=trust)


OPEN_CLIP: Final = "open_clip_config.json"
NO_PICKLES: Final = (
    "openclip: has no pickle=yes, because not every version of open_clip reads pickles safely: choose a tag "
    "with safetensors, or hf:NAME?pickle=yes"
)


class OpenClip(TwoTowers):
    """Of open_clip: a folder with its configuration, safetensors and, if it has one, its tokenizer."""

    def __init__(self, folder: Path, **how: Unpack[loading.How]) -> None:
        library: Any = import_module("open_clip")
        super().__init__(folder, usual=BATCH, **how)
        config = loading.read_config(folder, OPEN_CLIP)
        loading.refuse_pickles(folder, fix=NO_PICKLES)
        source = f"local-dir:{folder}"
        with loading.reading(folder):
            made = library.create_model(source, device=self.device, require_pretrained=True)
            self.network = made.eval()
            self._tokenizer: Any = library.get_tokenizer(source)
        usual = library.get_model_preprocess_cfg(self.network)
        self._prepare = openclip_preprocess(config.get("preprocess_cfg") or usual, usual)

    def _pictures(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return self._run(self.network.encode_image, self._torch.from_numpy(self._prepare(images)))

    def _texts(self, texts: list[str]) -> NDArray[np.float32]:
        return self._run(self.network.encode_text, self._tokenizer(texts))

    def _run(self, encode: Any, values: Any) -> NDArray[np.float32]:
        values = values.to(self.device)
        with self._torch.inference_mode(), computing(self.device), autocast(self.device, self.dtype):
            return np.asarray(encode(values).float().cpu().numpy(), np.float32)


def openclip_preprocess(said: Mapping[str, Any], otherwise: Mapping[str, Any]) -> Preprocess:
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


def load_openclip(
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
            raise WeakspotError(f"the weights {tag!r} of {model} exist only as a pickle", fix=NO_PICKLES)
    how, _ = loading.read_options(device=device, dtype=dtype, batch=batch)
    return OpenClip(loading.find_folder(name, revision=revision or None), **how)
