"""Image classifiers of torchvision: `torchvision:resnet50?pickle=yes`, or with weights of one's own.

The library publishes its weights as pickles. They are read only on the user's word, with torch's restricted
reader and with their checksum; `weights=FILE.safetensors` needs no such word. Labels and the preparation of
pictures are those that the library tells of its weights.
"""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError, nearest
from weakspot.models import options
from weakspot.models.hf.files import offline, quiet
from weakspot.models.hf.loading import on_device, read_options
from weakspot.models.onnx.classifier import read_labels
from weakspot.models.preprocess import Preprocess
from weakspot.models.torch.classifier import ImageClassifier
from weakspot.models.torch.safetensors_file import fill, read_weights


def weights_of(models: Any, name: str, version: str) -> Any:
    """The library's entry of a model's weights, e.g. "IMAGENET1K_V2".

    Raises:
        WeakspotError: There is no such model, or no such weights; the nearest name is said.
    """
    known = models.list_models(module=models)
    if name not in known:
        raise WeakspotError(
            f"torchvision has no classifier {name[:80]!r}",
            fix=nearest(name, known) or f"choose one of: {', '.join(known)[:300]}",
        )
    every = models.get_model_weights(name)
    names = list(every.__members__)
    if version not in names:
        raise WeakspotError(
            f"torchvision has no weights {version[:80]!r} of {name}",
            fix=nearest(version, names) or f"choose one of: {', '.join(names)}",
        )
    return every[version]


def preprocess(told: Any) -> Preprocess:
    """How pictures are prepared, from the library's preset."""
    [crop], [shortest] = told.crop_size, told.resize_size
    return Preprocess(
        size=(int(crop), int(crop)),
        shortest=int(shortest),
        resample=told.interpolation.name.upper(),
        mean=tuple(map(float, told.mean)),
        std=tuple(map(float, told.std)),
    )


def load(
    name: str,
    *,
    weights: str = "DEFAULT",
    labels: str = "",
    pickle: str = "no",
    device: str = "auto",
    dtype: str = "auto",
    batch: str = "",
    compile: str = "no",
) -> ImageClassifier:
    """`torchvision:alexnet?pickle=yes`, `torchvision:resnet50?weights=FILE.safetensors&labels=labels.txt`."""
    models: Any = import_module("torchvision.models")
    own = weights.endswith(".safetensors")
    entry = weights_of(models, name, "DEFAULT" if own else weights)
    if not own and not options.yes("pickle", pickle):
        raise WeakspotError(
            f"torchvision publishes the weights of {name} as a pickle, which can run code",
            fix="add ?pickle=yes where you trust it, or ?weights=FILE.safetensors",
        )
    names = read_labels(Path(labels)) if labels else list(entry.meta.get("categories") or ())
    how = read_options(device=device, dtype=dtype, batch=batch)
    fast = options.yes("compile", compile)
    with quiet():
        made = models.get_model(name, weights=None, num_classes=len(names) or 1000)
        if own:
            read_weights(made, Path(weights))
        else:
            fill(made, _fetched(entry, name), of=f"{name} {weights}")
    digest = hashlib.sha256()
    for key, value in sorted(made.state_dict().items()):
        digest.update(key.encode() + value.detach().cpu().contiguous().numpy().tobytes())
    return ImageClassifier(
        on_device(made, how["device"], of=name),
        name=f"torchvision:{name}",
        labels=names,
        prepare=preprocess(entry.transforms()),
        device=how["device"],
        dtype=how["dtype"],
        batch=how["batch"],
        compile=fast,
        digest=f"{digest.hexdigest()}-{how['dtype']}",
    )


def _fetched(entry: Any, name: str) -> Any:
    kept = (
        Path(import_module("torch").hub.get_dir())
        / "checkpoints"
        / str(getattr(entry, "url", "")).rpartition("/")[2]
    )
    if (known := offline()) and not kept.is_file():
        raise WeakspotError(
            f"the weights of {name} are not in torch's cache, and {known} is set, so nothing is fetched",
            fix=f"unset {known} to fetch them once, or give ?weights=FILE.safetensors",
        )
    try:
        return entry.get_state_dict(progress=True, check_hash=True, weights_only=True, map_location="cpu")
    except Exception as error:  # of the network, the cache or the file
        said = (str(error).strip().splitlines() or [""])[0][:300]
        raise WeakspotError(
            f"the weights of {name} could not be had: {type(error).__name__}: {said}",
            fix="check the network, or give ?weights=FILE.safetensors",
        ) from error
