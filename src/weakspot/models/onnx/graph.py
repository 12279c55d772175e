"""An ONNX file as a graph that can be run: checked, on a device, in batches that fit into its memory."""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, disk_errors
from weakspot.core.errors import explained, first_line
from weakspot.models.compute import computing, log

#: The largest batch of one run unless said otherwise; beyond it nothing gets faster on a CPU.
BATCH: Final = 64
#: Lengths of axes; None where any will do.
Shape = tuple[int | None, ...]

_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
_DTYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
#: Endings of files that are pickles or hold some. `.bin` is how torch's are called on model hubs.
_PICKLED: Final = (".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt", ".joblib")
#: A zip archive (torch's own format) or a pickle of protocol 2 to 5; no ONNX file begins like this.
_PICKLE_START: Final = re.compile(rb"PK\x03\x04|\x80[\x02-\x05]")
#: TensorProto.external_data (field 13) with the key "location": the name of a file beside the model.
_LOCATION: Final = re.compile(rb"\x6a.{1,2}\x0a\x08location\x12", re.DOTALL)
#: What onnxruntime, CUDA and the C++ library say when memory is short; there is no class of error for it.
_NO_MEMORY: Final = re.compile(r"failed to allocate memory|out of memory|bad[ _]alloc|alloc_failed", re.I)
_EXPORT: Final = "export it: torch.onnx.export(model, torch.zeros(1, 3, 224, 224), 'model.onnx')"


class Tensor(NamedTuple):
    """An input or output of a graph."""

    name: str
    #: As onnxruntime says it, e.g. "tensor(float)".
    type: str
    #: Its axes; () where the graph does not say how many.
    shape: Shape

    @property
    def dtype(self) -> Any:
        """The type in numpy; None for what is no tensor of numbers that we know."""
        return _DTYPES.get(self.type)


class Graph:
    """An ONNX file, with weights that it keeps in files beside it, and the session that runs it.

    Args:
        digest: The SHA-256 the file must have, if it is to be checked.
        device: "auto" takes CUDA if onnxruntime offers it; "cpu"; "cuda".
        batch: The largest batch of one run. It halves itself, for good, when memory is short.
        threads: Of one run on the CPU; 0 lets onnxruntime choose.
    """

    def __init__(
        self,
        path: Path,
        *,
        digest: str | None = None,
        device: str = "auto",
        batch: int | None = None,
        threads: int = 0,
    ) -> None:
        self.path = path
        #: The digest is of the file, followed by the files with its weights if it has such.
        content, self.digest, in_pieces = _read(path)
        if digest is not None and digest != self.digest:
            raise WeakspotError(
                f"{path} is not the file it should be (its SHA-256 differs)", fix="reinstall it"
            )
        self.session: Any = _session(path, str(path) if in_pieces else content, device, threads)
        self.device = "cuda" if _CUDA in self.session.get_providers() else "cpu"
        self.inputs = tuple(map(_tensor, self.session.get_inputs()))
        self.outputs = tuple(map(_tensor, self.session.get_outputs()))
        self.metadata: dict[str, str] = dict(self.session.get_modelmeta().custom_metadata_map)
        self._fixed = next((t.shape[0] for t in self.inputs if t.shape and t.shape[0] is not None), None)
        if batch is not None and batch < (self._fixed or 1):
            raise WeakspotError(
                f"{path} cannot be run in batches of {batch}", fix=f"choose {self._fixed or 1} or more"
            )
        self.batch = self._fixed or batch or BATCH
        self._wanted: dict[str, Shape] = {}
        self._fix = "export it with one row of output for each row of input"

    def expect(
        self,
        inputs: Mapping[str, Shape],
        outputs: Mapping[str, Shape],
        *,
        fix: str = "check that it is the right file",
    ) -> None:
        """Check that the graph takes these inputs and gives at least these outputs, now and in every run."""
        for what, have, want in (("input", self.inputs, inputs), ("output", self.outputs, outputs)):
            shapes = {tensor.name: tensor.shape for tensor in have}
            if not set(want) <= set(shapes) or (what == "input" and set(want) != set(shapes)):
                raise WeakspotError(
                    f"{self.path.name} has the {what}s {', '.join(shapes)}; wanted: {', '.join(want)}",
                    fix=fix,
                )
            for name, shape in want.items():
                self._compare(name, shapes[name] or shape, shape, fix)
        self._wanted, self._fix = dict(outputs), fix

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str] = ()) -> list[NDArray[Any]]:
        """The named outputs (all by default) for inputs that share their first axis.

        Inputs are cast to what the graph takes; floating-point outputs come as float32. A row's values do
        not depend on the other rows beyond the noise of floating-point sums.
        """
        if self.session is None:
            raise WeakspotError(f"{self.path} was released", fix="load it again")
        [n] = {len(array) for array in inputs.values()}
        given = {t.name: t for t in self.outputs}
        names = list(outputs) or list(given)
        if n == 0:
            return [np.zeros((0, *(d or 0 for d in given[m].shape[1:])), np.float32) for m in names]
        parts: list[list[NDArray[Any]]] = []
        start = 0
        while start < n:
            rows = min(self.batch, n - start)
            feed = self._feed(inputs, start, rows)
            try:
                with computing(self.device):
                    values = self.session.run(names, feed)
            except Exception as error:  # onnxruntime's exceptions share no public base class
                self._shrink(error, rows)
                continue
            for name, value in zip(names, values, strict=True):
                wanted = self._wanted.get(name, value.shape)[1:]
                self._compare(name, value.shape, (self._fixed or rows, *wanted), self._fix)
            parts.append([v[:rows] if v.dtype.kind != "f" else v[:rows].astype(np.float32) for v in values])
            start += rows
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def through(
        self, items: Sequence[Any], prepare: Callable[[Sequence[Any]], NDArray[Any]], output: str
    ) -> list[NDArray[Any]]:
        """Rows of one output for items that are made ready a batch at a time, since floats are large."""
        parts: list[NDArray[Any]] = []
        while (start := sum(map(len, parts))) < len(items):  # the batch may have halved in between
            batch = prepare(items[start : start + self.batch])
            parts += self.run({self.inputs[0].name: batch}, [output])
        return parts

    def release(self) -> None:
        self.session = None
        gc.collect()

    def _feed(self, inputs: Mapping[str, NDArray[Any]], start: int, rows: int) -> dict[str, NDArray[Any]]:
        feed = {}
        for tensor in self.inputs:
            part = inputs[tensor.name][start : start + rows]
            if self._fixed is not None and rows < self._fixed:
                part = np.concatenate([part, np.repeat(part[-1:], self._fixed - rows, axis=0)])
            feed[tensor.name] = np.ascontiguousarray(part, tensor.dtype)
        return feed

    def _shrink(self, error: Exception, rows: int) -> None:
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(str(error)):
            raise WeakspotError(
                f"{self.path} could not be run: {first_line(error)}",
                fix="check the shape and type of what it is given",
            ) from error
        if self._fixed is not None or rows == 1:
            raise WeakspotError(
                f"{self.path} does not fit into memory, even with a batch of {self._fixed or 1}",
                fix="use device=cpu" if self.device == "cuda" else "use smaller images, or free some memory",
            ) from error
        self.batch = rows // 2
        log.warning("%s: out of memory; batches of %d from now on", self.path, self.batch)

    def _compare(self, name: str, have: Shape, want: Shape, fix: str) -> None:
        if len(have) != len(want) or any(
            None not in pair and pair[0] != pair[1] for pair in zip(have, want, strict=True)
        ):
            raise WeakspotError(
                f"{self.path.name}: {name!r} has the shape {_axes(have)}; wanted: {_axes(want)}", fix=fix
            )


class OfGraphs:
    """What models that are graphs have in common: where they run, and that they give their memory back.

    A subclass says `_made_of(name, graphs)` when it is made.
    """

    name: str
    _graphs: tuple[Graph, ...]

    def _made_of(self, name: str, *graphs: Graph) -> None:
        self.name, self._graphs = name, graphs
        log.info("%s", self.about)

    @property
    def device(self) -> str:
        return self._graphs[0].device

    @property
    def dtype(self) -> str:
        given = (t.dtype for t in self._graphs[0].outputs if t.dtype is not None)
        return next((np.dtype(one).name for one in given if np.dtype(one).kind == "f"), "")

    @property
    def about(self) -> str:
        batch = f"batch {self._graphs[0].batch}"
        return " · ".join(filter(None, (self.name, self.device, self.dtype, batch)))

    def release(self) -> None:
        for graph in self._graphs:
            graph.release()


def _read(path: Path) -> tuple[bytes, str, bool]:
    """The file, its digest, and whether weights lie in other files."""
    if path.suffix.lower() in _PICKLED:
        raise WeakspotError(f"{path} is a pickle by its name, and pickles are not loaded", fix=_EXPORT)
    if path.suffix.lower() == ".safetensors":
        raise WeakspotError(f"{path} has weights but no graph, so it cannot be run", fix=_EXPORT)
    with disk_errors(f"the model {path} cannot be read", "check the path"):
        content = path.read_bytes()
    if _PICKLE_START.match(content):
        raise WeakspotError(
            f"{path} is a pickle or an archive of one, and pickles are not loaded", fix=_EXPORT
        )
    digest = hashlib.sha256(content)
    pieces = sorted({_text(content, match.end()) for match in _LOCATION.finditer(content)})
    for name in pieces:
        beside = path.parent / name
        if Path(name).is_absolute() or ".." in Path(name).parts or not beside.is_file():
            raise WeakspotError(
                f"{path} keeps its weights in {name[:80]!r}, which is not beside it",
                fix="put that file into the same folder, or export the model as one file",
            )
        with beside.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return content, digest.hexdigest(), bool(pieces)


def _text(content: bytes, at: int) -> str:
    """A protobuf string: its length, seven bits a byte, then UTF-8."""
    length = shift = 0
    while at < len(content):
        byte = content[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return content[at : at + length].decode("utf-8", "replace")


def _session(path: Path, model: bytes | str, device: str, threads: int) -> Any:
    import onnxruntime

    if device not in ("auto", "cpu", "cuda"):
        raise WeakspotError(f"there is no device {device[:80]!r}", fix="choose auto, cpu or cuda")
    offered = _CUDA in onnxruntime.get_available_providers()
    if device == "cuda" and not offered:
        raise WeakspotError(
            "this onnxruntime cannot use CUDA", fix="install onnxruntime-gpu in its place, or use device=cpu"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what goes wrong is raised; it need not be printed as well
    session = None
    if offered and device != "cpu":
        try:
            session = onnxruntime.InferenceSession(model, options, providers=[_CUDA, _CPU])
        except Exception:  # without a driver some versions raise, others go on without CUDA
            session = None
        if device == "cuda" and (session is None or _CUDA not in session.get_providers()):
            raise WeakspotError(
                f"onnxruntime could not start {path} on CUDA",
                fix="check the driver and the CUDA libraries (or the model, with device=cpu)",
            )
    what, fix = f"{path} is not an ONNX model that can be run", "export it again; is the file complete?"
    with explained(what, Exception, fix=fix, why=first_line):  # its exceptions share no public base class
        return session or onnxruntime.InferenceSession(model, options, providers=[_CPU])


def _tensor(value: Any) -> Tensor:
    axes = tuple(d if isinstance(d, int) else None for d in value.shape or ())
    return Tensor(value.name, value.type, axes)


def _axes(shape: Shape) -> str:
    return f"({', '.join('any' if d is None else str(d) for d in shape)})"
