"""Image classifiers in ONNX files, run by onnxruntime: `onnx:model.onnx?labels=labels.txt`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, WeakspotError, nearest
from weakspot.core.registry import read_size, read_three
from weakspot.models.onnx.graph import Graph, OfGraphs, Tensor
from weakspot.models.pictures import Reading, distinct, in_order, label_names, read_labels, stack_images
from weakspot.models.preprocess import Preprocess, read_preprocess


class Metadata(NamedTuple):
    """What is known; () , "" or None where nothing is said."""

    labels: tuple[str, ...] = ()
    mean: str = ""
    std: str = ""
    outputs: str = ""
    prepare: Preprocess | None = None


def read_metadata(path: Path, said: Mapping[str, str], *, prepared: bool = False) -> Metadata:
    """Of an ONNX file and what it says; nothing of how pictures are prepared where the user says that."""
    labels = label_names(said.get("labels") or said.get("names") or "", of=path)
    # `[0.5, 0.5, 0.5]` as an option is written: `0.5,0.5,0.5`.
    mean, std = (said.get(key, "").strip().strip("[]()").replace(" ", "") for key in ("mean", "std"))
    prepare = None if prepared or mean or std else read_preprocess(path.parent)
    if not labels and (config := path.parent / "config.json").is_file():
        labels = _of_config(config)
    return Metadata(labels, mean, std, said.get("outputs", ""), prepare)


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
        self._graph, self._cut, self.digest = graph, cut, graph.digest
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
        return np.concatenate(self._graph.through(pixels, self._prepare, self._gives.name))

    def _prepare(self, images: Any) -> NDArray[Any]:
        batch: NDArray[Any] = images.transpose(0, 3, 1, 2)
        if self._takes.dtype != np.uint8:
            batch = np.ascontiguousarray(batch, np.float32) * self._scale - self._shift
        return batch.transpose(0, 2, 3, 1) if self._takes.channels_last else batch


class OnnxClassifier(OnnxPictures):
    """A classifier whose graph gives logits or probabilities (n, labels).

    Args:
        outputs: "probabilities", "logits", or "auto" to tell them apart; see `weakspot.models.pictures`.
        device: "auto" takes CUDA if onnxruntime offers it; "cpu"; "cuda".
        batch: The largest batch of one run; halved by itself when memory is short.
        threads: Of onnxruntime for one batch; 0 lets it choose.
        digest: The SHA-256 the file must have, if it is to be checked.
        graph: The file, if it is open already; device, batch, threads and digest then mean nothing.
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
        columns = self._gives.shape[-1] if self._gives.shape else None
        if columns is not None and columns != len(self.labels):
            raise WeakspotError(
                f"{path} has {columns} outputs, and there are {len(self.labels)} labels",
                fix="check the labels file: one label a line, in the model's order",
            )
        self._made_of(name or str(path), graph)

    @property
    def doubt(self) -> str:
        return self._read.doubt

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return self._read(self.rows([case.input for case in cases])) if cases else []


class _Input(NamedTuple):
    """What a graph wants to be given; `size` is None where it takes any."""

    name: str
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
        return cls(first.name, first.dtype, last, size)


def _scores(graph: Graph, name: str) -> Tensor:
    """The output with the scores; an error if there is none of that name, or if it has no scores."""
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


def load(
    path: str, *, labels: str, mean: str, std: str, output: str, outputs: str, graph: Graph, size: str
) -> OnnxClassifier:
    """For `onnx:`; what is not given is read from the file's metadata and from the files beside it."""
    file, names = Path(path), read_labels(Path(labels)) if labels else []
    given = (read_three(mean) if mean else None, read_three(std, above=0.0) if std else None)
    own = read_metadata(file, graph.metadata, prepared=any(given))
    if not (names or own.labels):
        raise WeakspotError(
            f"'onnx:{path[:80]}' is a classifier, so its labels must be given", fix="add ?labels=labels.txt"
        )
    cut = own.prepare
    if cut is not None and graph.inputs[0].dtype != np.uint8:
        unit = 255 * (cut.scale or 1.0)  # mean and std are of pixels in [0, 1] here
        given = ([m / unit for m in cut.mean], [s / unit for s in cut.std])
    return OnnxClassifier(
        file,
        labels=distinct(names, of=path) if names else own.labels,
        mean=given[0] or read_three(own.mean or "0,0,0"),
        std=given[1] or read_three(own.std or "1,1,1", above=0.0),
        output=output,
        outputs=outputs or own.outputs or "auto",
        cut=cut,
        size=read_size(size),
        graph=graph,
    )
