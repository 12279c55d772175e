"""Models in ONNX files, run by onnxruntime: `onnx:model.onnx?labels=labels.txt`, or an encoder, `onnx:DIR`.

An encoder's folder holds `tokenizer.json`, a graph for texts, and for pictures too if there is one. A graph
of texts takes `input_ids` (and `attention_mask`, `token_type_ids`) and gives one row each, or one a token,
which are then averaged. Without `preprocessor_config.json` pictures are stretched to the graph's size.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, WeakspotError, nearest
from weakspot.core.errors import explained
from weakspot.core.registry import read_size, read_three, read_whole
from weakspot.models.onnx.graph import Graph, OfGraphs, Tensor
from weakspot.models.pictures import (
    Reading,
    columns,
    distinct,
    in_order,
    label_names,
    read_labels,
    stack_images,
)
from weakspot.models.preprocess import CONFIG, Preprocess, read_preprocess
from weakspot.models.vectors import of_one_length, unit


def _of_config(path: Path) -> tuple[str, ...]:
    try:
        names = json.loads(path.read_bytes()).get("id2label")
    except (OSError, ValueError, AttributeError, RecursionError):
        return ()
    return in_order(names, of=path) if isinstance(names, Mapping) and names else ()


class OnnxPictures(OfGraphs):
    """A graph that maps pictures to rows of numbers.

    The pictures are (n, 3, height, width) or (n, height, width, 3), whichever the graph says; floating-point
    ones are scaled to [0, 1] and normalised, uint8 ones are given as they are. A size or a batch that the
    graph fixes is kept to.

    Args:
        output: Which of its outputs is meant; by default the first.
        mean: Subtracted from pixels in [0, 1], per channel.
        cut: How pictures of another size are resized and cut; by default they are stretched.
        size: Height and width that pictures are stretched to, for a graph that takes any.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        output: str = "",
        mean: Sequence[float] = (0.0, 0.0, 0.0),
        std: Sequence[float] = (1.0, 1.0, 1.0),
        cut: Preprocess | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        self.graph, self._cut, self.digest = graph, cut, graph.digest
        self._takes = _Input.of(graph)
        self._size = self._takes.size or size
        if size not in (None, self._size):
            raise WeakspotError(
                f"{graph.path} takes pictures of {self._size} pixels, not of {size}", fix="leave size out"
            )
        self._gives = _scores(graph, output)
        if self._takes.dtype == np.uint8 and (any(mean) or set(std) != {1.0}):
            raise WeakspotError(
                f"{graph.path} takes pixels as they are, so mean and std mean nothing", fix="leave them out"
            )
        self._scale = (1 / (255 * np.asarray(std, np.float32))).reshape(3, 1, 1)
        self._shift = (np.asarray(mean, np.float32) / np.asarray(std, np.float32)).reshape(3, 1, 1)

    def rows(self, images: Sequence[Any]) -> NDArray[np.float32]:
        """What the graph gives for each picture; at least one is needed."""
        fitting = images if self._cut is None else [self._cut.fit(image) for image in images]
        pixels: Any = stack_images(fitting, self._size)
        return np.concatenate(self.graph.through(pixels, self._prepare, self._gives.name))

    def _prepare(self, images: Any) -> NDArray[Any]:
        batch: NDArray[Any] = images.transpose(0, 3, 1, 2)
        if self._takes.dtype != np.uint8:
            batch = np.ascontiguousarray(batch, np.float32) * self._scale - self._shift
        return batch.transpose(0, 2, 3, 1) if self._takes.channels_last else batch


class OnnxClassifier(OnnxPictures):
    """A classifier whose graph gives logits or probabilities (n, labels): `outputs` says which, or "auto".

    Where a `graph` is given, which is the file already open, options of `Graph` mean nothing.
    """

    def __init__(
        self,
        path: Path,
        *,
        labels: Sequence[str],
        parents: Mapping[str, str] | None = None,
        outputs: str = "auto",
        device: str = "auto",
        batch: int | None = None,
        threads: int = 0,
        digest: str | None = None,
        graph: Graph | None = None,
        name: str = "",
        **pictures: Any,
    ) -> None:
        self._read = Reading(labels, outputs=outputs, of=str(path))
        graph = graph or Graph(path, digest=digest, device=device, batch=batch, threads=threads)
        super().__init__(graph, **pictures)
        self.labels = tuple(labels)
        self.parents: Mapping[str, str] = parents or {}
        head = self._gives.shape[-1] if self._gives.shape else None
        if head is not None:
            columns(head, self.labels, of=str(path))
        self._made_of(name or str(path), graph)

    @property
    def doubt(self) -> str:
        return self._read.doubt

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return self._read(self.rows([case.input for case in cases])) if cases else []


class _Input(NamedTuple):
    """What a graph wants to be given; `size` is None where it takes any."""

    dtype: Any
    channels_last: bool
    size: tuple[int, int] | None

    @classmethod
    def of(cls, graph: Graph) -> _Input:
        """Read it off the graph; an error if it is not one batch of RGB images."""
        first = graph.inputs[0]
        shape = first.shape
        last = len(shape) == 4 and shape[3] == 3 and shape[1] != 3
        takes = first.dtype is not None and np.dtype(first.dtype).kind in "fu"
        images = len(graph.inputs) == 1 and len(shape) == 4 and takes
        if not images or shape[3 if last else 1] not in (3, None):
            raise WeakspotError(
                f"{graph.path} does not take one batch of RGB images but {first.type} {list(shape)}",
                fix="export it with the input (n, 3, height, width) or (n, height, width, 3)",
            )
        height, width = shape[1:3] if last else shape[2:4]
        size = (height, width) if height is not None and width is not None else None
        return cls(first.dtype, last, size)


def _scores(graph: Graph, name: str) -> Tensor:
    names = [tensor.name for tensor in graph.outputs]
    if name and name not in names:
        raise WeakspotError(
            f"{graph.path} has no output {name[:80]!r}",
            fix=nearest(name, names) or f"its outputs are: {', '.join(names)}",
        )
    chosen = graph.outputs[names.index(name) if name else 0]
    if chosen.dtype is None or np.dtype(chosen.dtype).kind != "f":
        raise WeakspotError(
            f"the output {chosen.name!r} of {graph.path} is {chosen.type}, not one score per label",
            fix=f"name another one with output=… (there are: {', '.join(names)})",
        )
    return chosen


def load_classifier(
    path: str, *, labels: str, mean: str, std: str, output: str, outputs: str, graph: Graph, size: str
) -> OnnxClassifier:
    """For `onnx:`; what is not given is read from the file's metadata and from the files beside it."""
    file, said, names = Path(path), graph.metadata, read_labels(Path(labels)) if labels else []
    given = (read_three(mean) if mean else None, read_three(std, above=0.0) if std else None)
    own = label_names(said.get("labels") or said.get("names") or "", of=file)
    own = own or _of_config(file.parent / "config.json")
    # `[0.5, 0.5, 0.5]` as an option is written: `0.5,0.5,0.5`.
    own_mean, own_std = (said.get(k, "").strip().strip("[]()").replace(" ", "") for k in ("mean", "std"))
    cut = None if any(given) or own_mean or own_std else read_preprocess(file.parent)
    if not (names or own):
        raise WeakspotError(
            f"'onnx:{path[:80]}' is a classifier, so its labels must be given", fix="add ?labels=labels.txt"
        )
    if cut is not None and graph.inputs[0].dtype != np.uint8:
        unit = 255 * (cut.scale or 1.0)  # mean and std are of pixels in [0, 1] here
        given = ([m / unit for m in cut.mean], [s / unit for s in cut.std])
    return OnnxClassifier(
        file,
        labels=distinct(names, of=path) if names else own,
        mean=given[0] or read_three(own_mean or "0,0,0"),
        std=given[1] or read_three(own_std or "1,1,1", above=0.0),
        output=output,
        outputs=outputs or said.get("outputs") or "auto",
        cut=cut,
        size=read_size(size),
        graph=graph,
    )


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
        self._prepare: Any = prepare
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
    missing, broken = "a text tower needs a library that is missing", f"the tokenizer {path} cannot be read"
    with explained(missing, ImportError, fix="pip install tokenizers"):
        library: Any = import_module("tokenizers")
    with explained(broken, Exception, fix="put the model's tokenizer.json there"):
        content = path.read_bytes()
        tokenizer = library.Tokenizer.from_str(content.decode())
    tokenizer.no_padding()
    if tokenizer.truncation is None:
        tokenizer.enable_truncation(LONGEST)
    return tokenizer, hashlib.sha256(content).hexdigest()


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
) -> OnnxClassifier | OnnxTextEncoder:
    """`onnx:model.onnx?labels=labels.txt` is a classifier, `onnx:DIR` an encoder."""
    folder, most = Path(path), read_whole("batch", batch, most=1 << 16)
    if not threads.isdecimal() or len(threads) > 6:
        raise WeakspotError(f"threads cannot be {threads[:80]!r}", fix="write a whole number, 0 or more")
    how: dict[str, Any] = {"device": device, "batch": most, "threads": int(threads)}
    encodes = False
    with suppress(OSError):  # not ours to see, which is told when it is opened
        encodes = folder.is_dir()
    if not encodes:
        graph = Graph(folder, **how)
        own = {"labels": labels, "mean": mean, "std": std, "output": output, "outputs": outputs}
        return load_classifier(path, graph=graph, size=size, **own)
    if labels or mean or std or output or outputs or size:
        raise WeakspotError(
            f"{path[:80]} is a folder, so an encoder, which has no labels, mean, std, output or size",
            fix="leave them out, or name the classifier's file",
        )
    if image or any((folder / name).is_file() for name in IMAGE):
        return OnnxEncoder(folder, image=image, text=text, **how)
    return OnnxTextEncoder(folder, text=text, **how)
