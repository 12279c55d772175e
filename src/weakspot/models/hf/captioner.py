"""Captioners of transformers: image-to-text models (BLIP, GIT, ViT-GPT2) and vision-language ones. See `hf`.

A caption is what the model finds likeliest, word by word or by beams; nothing is sampled. A sentence's
log-probability is the sum over its own tokens, given the picture and what was said before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.special import log_softmax

from weakspot.core import WeakspotError
from weakspot.core.registry import read_whole
from weakspot.models.compute import Batched, Batches, computing
from weakspot.models.hf import loading
from weakspot.models.hf.loading import How, Trust
from weakspot.models.pictures import stack_images
from weakspot.models.preprocess import Prepare, by_name, prepare_of, prepared_by

PROMPT: Final = "Say in short sentences what is in the picture."
#: A text in tokens: those of its prefix, and its own.
_Text = tuple[list[int], list[int]]
#: Tokens of the longest text, if the model does not say it.
LONGEST: Final = 512


class Speaker(ABC):
    """A model and its tokenizer; with a token to fill up with."""

    #: Pictures take different numbers of places, so that they cannot be batched.
    one_by_one = False

    def __init__(self, model: Any, tokenizer: Any, *, device: str, dtype: str, longest: int) -> None:
        self.model, self.tokenizer, self.device, self.dtype = model, tokenizer, device, dtype
        self.longest = longest
        self.torch: Any = import_module("torch")
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
        self.pad = next(int(token) for token in known if token is not None)

    @abstractmethod
    def write(self, images: Sequence[Any], begun: list[int], **how: Any) -> list[list[int]]:
        """The tokens of a text on each picture that begins with these."""

    @abstractmethod
    def inputs(self, images: Sequence[Any], rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        """What the model is called with for a text on each picture, or for several on one."""

    def read(self, image: NDArray[np.uint8], rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """What each text on a picture foretells: at place i, logits of its token i (texts, tokens, words)."""
        inputs = self.inputs([image], rows)
        with self.torch.inference_mode(), computing(self.device):
            logits = self.model(**inputs).logits[:, -len(rows[0]) - 1 : -1]
            found: NDArray[np.float64] = logits.double().cpu().numpy()
        if not np.isfinite(found).all():
            raise WeakspotError("the captioner gave numbers that are not finite", fix="try dtype=float32")
        return found


class Captions(Speaker):
    """Models of pixels and tokens alone: BLIP, GIT, and an encoder with a decoder such as ViT-GPT2."""

    def __init__(self, *args: Any, kind: str, prepare: Prepare, start: int, **more: Any) -> None:
        super().__init__(*args, **more)
        self.kind, self.prepare, self.start = kind, prepare, start
        self._ids = "decoder_input_ids" if kind == "vision-encoder-decoder" else "input_ids"

    def inputs(self, images: Sequence[Any], rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        made = by_name(self.prepare(images))["pixel_values"]
        pixels = self.torch.from_numpy(made).to(getattr(self.torch, self.dtype))
        ids = self.torch.tensor([[self.start, *row] for row in rows])
        if len(images) < len(rows):
            pixels = pixels.expand(len(rows), *pixels.shape[1:])
        return {"pixel_values": pixels.to(self.device), self._ids: ids.to(self.device)}

    def write(self, images: Sequence[Any], begun: list[int], **how: Any) -> list[list[int]]:
        # BLIP takes a text that is whole and drops the token at its end.
        given = [[*begun, self.pad] if self.kind == "blip" else begun] * len(images)
        inputs = self.inputs(images, given)
        with self.torch.inference_mode(), computing(self.device):
            rows = self.model.generate(**inputs, **how, max_length=None).tolist()
        return [row[1:] for row in rows]


class Converses(Speaker):
    """A vision-language model: it is asked to describe the picture, and its reply is the text."""

    one_by_one = True

    def __init__(self, *args: Any, processor: Any, question: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.processor, self.question = processor, question

    def inputs(self, images: Sequence[Any], rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        picture = Image.fromarray(stack_images(images)[0])
        asked = self.processor(text=self.question, images=picture, return_tensors="pt")
        torch, found = self.torch, dict(asked)
        own = torch.tensor([list(row) for row in rows], dtype=torch.long).reshape(len(rows), -1)
        first = found.pop("input_ids").shape[1]
        ids = torch.cat([asked["input_ids"].expand(len(rows), first), own], 1)
        found["attention_mask"] = torch.ones_like(ids)
        for key, value in found.items():
            if key == "attention_mask":
                continue
            if key in ("token_type_ids", "mm_token_type_ids"):
                value = torch.cat([value, value.new_zeros(1, own.shape[1])], 1)
            repeated = [len(rows), *[1] * (value.dim() - 1)] if hasattr(value, "dim") else None
            found[key] = value.repeat(repeated) if repeated else value
        format = getattr(torch, self.dtype)
        return {
            key: (value.to(format) if value.is_floating_point() else value).to(self.device)
            for key, value in {"input_ids": ids, **found}.items()
        }

    def write(self, images: Sequence[Any], begun: list[int], **how: Any) -> list[list[int]]:
        rows = []
        for image in images:
            given = self.inputs([image], [begun])
            with self.torch.inference_mode(), computing(self.device):
                [row] = self.model.generate(**given, **how, max_length=None).tolist()
            rows.append(row[given["input_ids"].shape[1] - len(begun) :])
        return rows


#: Models of pixels and tokens alone, by type: their class, the part of their configuration that is of texts,
#: and what the token is called that texts begin with.
_PLAIN: Final = {
    "vision-encoder-decoder": ("VisionEncoderDecoderModel", "decoder", "decoder_start_token_id"),
    "blip": ("BlipForConditionalGeneration", "text_config", "bos_token_id"),
    "git": ("GitForCausalLM", "", "cls_token_id"),
}


def speaker_of(
    folder: Path, config: Mapping[str, Any], *, device: str, dtype: str, trust: Trust, prompt: str
) -> Speaker:
    kind = str(config.get("model_type", ""))
    how: dict[str, Any] = {"device": device, "dtype": dtype}
    if kind not in _PLAIN:
        processor = loading.load_beside("AutoProcessor", folder, trust=trust)
        model = loading.load_model("AutoModelForImageTextToText", folder, trust=trust, **how)
        if getattr(processor, "chat_template", None):
            said = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": prompt}]}]
            question = processor.apply_chat_template(said, add_generation_prompt=True)
        else:
            question = f"{getattr(processor, 'image_token', '') or ''}{prompt} "
        how |= {"processor": processor, "question": question, "longest": LONGEST}
        return Converses(model, processor.tokenizer, **how)
    prepare = prepared_by(prepare_of(folder, trust=trust), of=folder)
    tokenizer = loading.load_beside("AutoTokenizer", folder, trust=trust)
    name, text, first = _PLAIN[kind]
    model = loading.load_model(name, folder, trust=trust, **how)
    inner = getattr(model.config, text) if text else model.config
    says = {"vision-encoder-decoder": model.config, "blip": inner, "git": tokenizer}[kind]
    known = (getattr(says, first, None), tokenizer.bos_token_id)
    start = next((int(token) for token in known if token is not None), None)
    if start is None:
        raise WeakspotError(f"{folder} does not say what its texts begin with", fix="copy the folder again")
    longest = int(getattr(inner, "max_position_embeddings", 0) or getattr(inner, "n_positions", 0) or LONGEST)
    return Captions(model, tokenizer, kind=kind, prepare=prepare, start=start, longest=longest, **how)


#: Pictures at once, and tokens of a caption beyond its prefix.
BATCH, TOKENS = 16, 40
#: Sentences of one picture that are scored at once.
SENTENCES: Final = 32
_KINDS: Final = ("vision-encoder-decoder", "git")


def is_captioner(config: dict[str, Any]) -> bool:
    writes = any(str(name).endswith("ForConditionalGeneration") for name in config.get("architectures") or ())
    return config.get("model_type") in _KINDS or (writes and "vision_config" in config)


class HfCaptioner(Batched):
    """See `weakspot.core.Captioner`. A caption has at most so many tokens beyond its prefix."""

    def __init__(
        self, folder: Path, *, prompt: str = "", tokens: int = TOKENS, beams: int = 1, **how: Unpack[How]
    ) -> None:
        self.name, self.revision, self.device = str(folder), loading.revision_of(folder), how["device"]
        place: dict[str, Any] = {"device": self.device, "dtype": how["dtype"]}
        config, asked = loading.read_config(folder), prompt or PROMPT
        speaker = speaker_of(folder, config, trust=how["trust"], prompt=asked, **place)
        self.digest = f"{loading.folder_digest(folder)}-{how['dtype']}-{tokens}-{beams}-{prompt}"
        self.network, self._tokens, self._beams = speaker, tokens, beams
        self._batches = Batches(self.name, 1 if speaker.one_by_one else how["batch"] or BATCH, **place)

    def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
        prefix = " ".join(prefix.split())
        begun = self._words(prefix)
        shown = len(self._decoded(begun))
        how = {"max_new_tokens": self._tokens, "num_beams": self._beams, "do_sample": False}
        with loading.quiet():
            rows = self._batches.run(images, lambda some: self.network.write(some, begun, **how))
        return [prefix + self._decoded(row)[shown:].rstrip() for some in rows for row in some]

    def log_probabilities(
        self, images: Sequence[NDArray[np.uint8]], sentences: Sequence[str], *, prefix: str = ""
    ) -> NDArray[np.float64]:
        texts = [self._tokens_of(" ".join(prefix.split()), " ".join(s.split())) for s in sentences]
        table = np.zeros((len(images), len(sentences)))
        order = sorted((i for i, (_, own) in enumerate(texts) if own), key=lambda i: len(texts[i][1]))
        with loading.quiet():
            for row, image in zip(table, images, strict=True):
                together = Batches("", SENTENCES, device=self.device)
                parts = together.run([texts[i] for i in order], partial(self._score, image))
                row[order] = np.concatenate([*parts, np.zeros(0)])
        return table

    def _score(self, image: NDArray[np.uint8], texts: Sequence[_Text]) -> NDArray[np.float64]:
        rows = [before + own for before, own in texts]
        longest = max(map(len, rows))
        filled = [row + [self.network.pad] * (longest - len(row)) for row in rows]  # last, so nobody sees it
        each = log_softmax(self.network.read(image, filled), axis=-1)  # (texts, start + tokens, words)
        sums = []
        for table, (before, own) in zip(each, texts, strict=True):
            # The token at place i is foretold at place i of the start's row.
            places = np.arange(len(before), len(before) + len(own))
            sums.append(table[places, own].sum())
        return np.array(sums, np.float64)

    def _words(self, text: str) -> list[int]:
        found: list[int] = self.network.tokenizer(text, add_special_tokens=False)["input_ids"] if text else []
        if len(found) + 1 >= self.network.longest:
            raise WeakspotError(
                f"{text[:60]!r} has {len(found)} tokens",
                fix=f"{self.name} reads {self.network.longest} at most",
            )
        return found

    def _tokens_of(self, prefix: str, sentence: str) -> _Text:
        before = self._words(prefix)
        both = self._words(f"{prefix} {sentence}".strip())
        if both[: len(before)] == before:
            return before, both[len(before) :]
        return before, self._words(f" {sentence}" if prefix else sentence)

    def _decoded(self, ids: Sequence[int]) -> str:
        text: str = self.network.tokenizer.decode(list(ids), skip_special_tokens=True)
        return " ".join(text.split())


def load_folder(
    folder: Path, *, prompt: str = "", tokens: str = "", beams: str = "", **how: Unpack[How]
) -> HfCaptioner:
    """`hf:FOLDER?prompt=…&tokens=40&beams=1`; the prompt is for vision-language models."""
    most, width = read_whole("tokens", tokens, most=1024), read_whole("beams", beams, most=64)
    return HfCaptioner(folder, prompt=prompt, tokens=most or TOKENS, beams=width or 1, **how)
