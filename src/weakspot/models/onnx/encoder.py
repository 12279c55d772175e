"""Encoders as ONNX graphs with a tokenizer in one folder: `onnx:DIR`, and how `onnx:` tells them from others.

The folder holds `tokenizer.json`, a graph for texts, and for pictures too if there is one. A graph of texts
takes `input_ids` (and `attention_mask`, `token_type_ids`) and gives one row each, or one a token, which are
then averaged. A graph of pictures takes uint8 as they are, or numbers scaled as `preprocessor_config.json`
says; without that file pictures are stretched to the graph's size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.core.registry import read_whole
from weakspot.models.onnx import classifier as onnx
from weakspot.models.onnx.graph import Graph, OfGraphs
from weakspot.models.preprocess import CONFIG, Preprocess, read_preprocess
from weakspot.models.vectors import of_one_length, unit

TEXT: Final = ("text.onnx", "text_model.onnx", "textual.onnx", "model.onnx")
IMAGE: Final = ("image.onnx", "vision_model.onnx", "visual.onnx")
TOKENIZER: Final = "tokenizer.json"
#: Tokens of the longest text, if neither the graph nor the tokenizer says it.
LONGEST: Final = 512
_KNOWN: Final = ("input_ids", "attention_mask", "token_type_ids")
#: Outputs that are rows of texts or pictures, best first.
_ROWS: Final = ("text_embedding", "text_embeds", "sentence_embedding", "image_embedding", "image_embeds",
                "pooler_output")  # fmt: skip


class OnnxTextEncoder(OfGraphs):
    """A text tower, in a folder with its tokenizer: the file of that name, or the first of `TEXT`.

    Texts of one length are read at a time: no row depends on what else is in the batch.
    """

    def __init__(self, folder: Path, *, text: str = "", **how: Any) -> None:
        self._text = Graph(_file(folder, text, TEXT, "texts"), **how)
        self._takes = [t.name for t in self._text.inputs]
        if "input_ids" not in self._takes or set(self._takes) - set(_KNOWN):
            raise WeakspotError(
                f"{self._text.path} takes {', '.join(self._takes)[:200]}; a text tower takes input_ids",
                fix="export the text tower alone, or name its file: ?text=…",
            )
        self._gives = _output(self._text)
        self._tokenizer, told = _tokenizer(folder / TOKENIZER)
        self._fixed = self._text.inputs[self._takes.index("input_ids")].shape[1]
        self.digest = hashlib.sha256(f"{self._text.digest} {told}".encode()).hexdigest()
        self._made_of(str(folder), self._text)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `TextEncoder`. Of a text that is too long the beginning is read."""
        rows = [e.ids for e in self._tokenizer.encode_batch([str(t) for t in texts])]
        out: NDArray[np.float32] | None = None
        for places in of_one_length(rows, batch=self._text.batch):
            found = self._embed([rows[i] for i in places])
            out = np.empty((len(rows), found.shape[1]), np.float32) if out is None else out
            out[places] = found
        if out is None:
            shape = next(t.shape for t in self._text.outputs if t.name == self._gives)
            return np.zeros((0, shape[-1] or 0 if shape else 0), np.float32)
        return unit(out, of=self.name)

    def _embed(self, rows: list[list[int]]) -> NDArray[np.float32]:
        ids = np.array(rows, np.int64).reshape(len(rows), -1)
        mask = np.ones_like(ids)
        if self._fixed is not None:  # the graph wants one length, so it is padded and knows its mask
            short = ((0, 0), (0, max(0, self._fixed - ids.shape[1])))
            ids, mask = (np.pad(x[:, : self._fixed], short) for x in (ids, mask))
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        [found] = self._text.run({name: values[name] for name in self._takes}, [self._gives])
        if found.ndim == 3:  # a row a token: their mean
            weights = mask[:, : found.shape[1], None].astype(np.float32)
            found = (found * weights).sum(1) / weights.sum(1)
        return np.asarray(found, np.float32)


class OnnxEncoder(OnnxTextEncoder):
    """A text tower and an image tower in one space; the latter's file is by default the first of `IMAGE`."""

    def __init__(self, folder: Path, *, image: str = "", text: str = "", **how: Any) -> None:
        super().__init__(folder, text=text, **how)
        self._image = Graph(_file(folder, image, IMAGE, "pictures"), **how)
        self._shows = _output(self._image)
        [first] = self._image.inputs[:1]
        if len(self._image.inputs) != 1 or len(first.shape) != 4 or first.shape[1] not in (3, None):
            raise WeakspotError(
                f"{self._image.path} does not take one batch of pictures (n, 3, height, width)",
                fix="export the image tower alone",
            )
        prepare = read_preprocess(folder)
        if prepare is None or first.dtype == np.uint8:
            height, width = first.shape[2:]
            if height is None or width is None:
                raise WeakspotError(
                    f"{self._image.path} does not say how large its pictures are",
                    fix=f"put {CONFIG} beside it, or export it with a fixed size",
                )
            prepare = Preprocess((height, width), scale=None if first.dtype == np.uint8 else 1 / 255)
        self._prepare = prepare
        self.digest = hashlib.sha256(f"{self.digest} {self._image.digest} {prepare}".encode()).hexdigest()
        self._graphs = (self._text, self._image)

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        parts = self._image.through(images, self._prepare, self._shows)
        if not parts:
            return np.zeros((0, self.embed_texts([]).shape[1]), np.float32)
        return unit(np.concatenate(parts), of=self.name)


def _file(folder: Path, name: str, names: Sequence[str], what: str) -> Path:
    for one in [name] if name else names:
        if Path(one).name == one and (folder / one).is_file():
            return folder / one
    raise WeakspotError(
        f"{folder} has no graph for {what}", fix=f"it is called {' or '.join([name] if name else names)}"
    )


def _output(graph: Graph) -> str:
    names = [t.name for t in graph.outputs if t.dtype is not None and np.dtype(t.dtype).kind == "f"]
    if not names:
        raise WeakspotError(f"{graph.path} gives no numbers", fix="check that it is the right file")
    return next((name for name in _ROWS if name in names), names[0])


def _tokenizer(path: Path) -> tuple[Any, str]:
    try:
        library: Any = import_module("tokenizers")
    except ImportError as error:
        raise WeakspotError(
            f"a text tower needs a library that is missing: {error}", fix="pip install tokenizers"
        ) from error
    try:
        content = path.read_bytes()
        tokenizer = library.Tokenizer.from_str(content.decode())
    except Exception as error:  # tokenizers raises plain Exception
        raise WeakspotError(
            f"the tokenizer {path} cannot be read: {error}", fix="put the model's tokenizer.json there"
        ) from error
    tokenizer.no_padding()
    if tokenizer.truncation is None:
        tokenizer.enable_truncation(LONGEST)
    return tokenizer, hashlib.sha256(content).hexdigest()


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # not ours to see, which is told when it is opened
        return False


def load(
    path: str,
    *,
    labels: str = "",
    mean: str = "",
    std: str = "",
    output: str = "",
    outputs: str = "",
    device: str = "auto",
    batch: str = "",
    threads: str = "0",
    size: str = "",
    text: str = "",
    image: str = "",
) -> onnx.OnnxClassifier | OnnxTextEncoder:
    """`onnx:model.onnx?labels=labels.txt` is a classifier, `onnx:DIR` an encoder."""
    folder, most = Path(path), read_whole("batch", batch, most=1 << 16)
    if not threads.isdecimal() or len(threads) > 6:
        raise WeakspotError(f"threads cannot be {threads[:80]!r}", fix="write a whole number from 0 on")
    how: dict[str, Any] = {"device": device, "batch": most, "threads": int(threads)}
    if not _is_folder(folder):
        graph = Graph(folder, **how)
        own = {"labels": labels, "mean": mean, "std": std, "output": output, "outputs": outputs}
        return onnx.load(path, graph=graph, size=size, **own)
    if labels or mean or std or output or outputs or size:
        raise WeakspotError(
            f"{path[:80]} is a folder, so an encoder, which has no labels, mean, std, output or size",
            fix="leave them out, or name the classifier's file",
        )
    if image or any((folder / name).is_file() for name in IMAGE):
        return OnnxEncoder(folder, image=image, text=text, **how)
    return OnnxTextEncoder(folder, text=text, **how)
