"""A TorchScript file: `torchscript:model.pt?labels=labels.txt&code=yes`.

Such a file is a program, not just numbers, so it is run only on the user's word. Prefer safetensors with
`torch:package.module:attr`, or ONNX.
"""

from __future__ import annotations

import hashlib
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError
from weakspot.models import options
from weakspot.models.hf.loading import read_options
from weakspot.models.onnx.classifier import read_labels, three
from weakspot.models.preprocess import Preprocess
from weakspot.models.torch.classifier import ImageClassifier


def load(
    path: str,
    *,
    labels: str,
    size: str = "224",
    mean: str = "0,0,0",
    std: str = "1,1,1",
    code: str = "no",
    device: str = "auto",
    dtype: str = "float32",
    batch: str = "",
) -> ImageClassifier:
    """`torchscript:model.pt?labels=labels.txt&size=224&mean=0.485,0.456,0.406&std=0.229,0.224,0.225&code=yes`."""
    names, side = read_labels(Path(labels)), options.size(size)
    if not options.yes("code", code):
        raise WeakspotError(
            f"{path[:200]} is a program (TorchScript), which is not run unasked",
            fix="add &code=yes where you trust it; or export it as ONNX, or as safetensors with torch:…",
        )
    torch: Any = import_module("torch")
    how = read_options(device=device, dtype=dtype, batch=batch)
    place, number = how["device"], how["dtype"]
    try:
        content = Path(path).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions advise against the format
            module = torch.jit.load(path, map_location=place)
    except OSError as error:
        raise WeakspotError(f"{path[:200]} cannot be read: {error.strerror}", fix="check the path") from error
    except RuntimeError as error:
        raise WeakspotError(
            f"{path[:200]} is no TorchScript file: {str(error).strip().splitlines()[0][:200]}",
            fix="make it with torch.jit.save; a plain .pt is a pickle, and is not read",
        ) from error
    assert side is not None  # noqa: S101 (it has a default)
    return ImageClassifier(
        module,
        name=f"torchscript:{path}",
        labels=names,
        prepare=Preprocess(
            side, resample="BILINEAR", mean=tuple(three(mean)), std=tuple(three(std, above=0.0))
        ),
        device=place,
        dtype=number,
        batch=how["batch"],
        digest=hashlib.sha256(content).hexdigest() + ("" if number == "float32" else f"-{number}"),
    )
