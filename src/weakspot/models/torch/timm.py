"""Image classifiers of timm: `timm:resnet50`, `timm:resnet50.a1_in1k`, `timm:owner/name`, or `timm:FOLDER`.

Weights are read as safetensors (a pickle with `pickle=yes`) from the hub's folder of the model, whose
config.json says how pictures are prepared. ImageNet heads have WordNet's ids in their labels ("n02085620
Chihuahua"), so that labels are joined to WordNet. The library itself imports torchvision, which must be
installed with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError, nearest
from weakspot.models import options
from weakspot.models.hf.files import (
    find_folder,
    folder_digest,
    quiet,
    read_config,
    refuse_pickles,
    revision_of,
)
from weakspot.models.hf.loading import Trust, on_device, read_options
from weakspot.models.onnx.classifier import read_labels
from weakspot.models.onnx.metadata import in_order
from weakspot.models.preprocess import Preprocess
from weakspot.models.scores import columns
from weakspot.models.torch.classifier import ImageClassifier
from weakspot.models.torch.safetensors_file import read_weights

WEIGHTS, PICKLED = "model.safetensors", "pytorch_model.bin"
OWNER: Final = "timm"
_RESAMPLE: Final = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")


def hub_name(library: Any, path: str) -> str:
    """Where the hub has a model that the library knows by a short name.

    Raises:
        WeakspotError: The library does not know it; the nearest name is said.
    """
    architecture = path.partition(".")[0]
    if not library.is_model(architecture):
        raise WeakspotError(
            f"timm has no model {path[:80]!r}",
            fix=nearest(architecture, library.list_models()) or "see timm.list_models(pretrained=True)",
        )
    found = library.get_pretrained_cfg(path) if "." in path else library.get_pretrained_cfg(architecture)
    hub = str(getattr(found, "hf_hub_id", None) or "").strip("/")
    if not hub:
        raise WeakspotError(f"timm has no weights of {path[:80]!r} on the hub", fix="choose another tag")
    tag = str(getattr(found, "tag", None) or "")
    # "timm/" alone stands for the name of the architecture with its tag, in that owner's place.
    return hub if "/" in hub else f"{hub}/{architecture}{'.' if tag else ''}{tag}"


def preprocess(said: Mapping[str, Any]) -> Preprocess:
    """How pictures are prepared, from a pretrained_cfg.

    Raises:
        WeakspotError: It asks for something that is not known here.
    """
    try:
        channels, height, width = map(int, said.get("input_size") or (3, 224, 224))
        part = float(said.get("crop_pct") or 0.875)
        how, mode = str(said.get("interpolation") or "bicubic"), str(said.get("crop_mode") or "center")
        if channels != 3 or how not in _RESAMPLE or mode not in ("center", "squash") or not 0 < part <= 1:
            raise ValueError(f"{channels} channels, {how}, {mode}, {part}")
        return Preprocess(
            size=(height, width),
            shortest=int(min(height, width) / part) if mode == "center" else None,
            resample=how.upper(),
            mean=tuple(map(float, said.get("mean") or (0.485, 0.456, 0.406))),
            std=tuple(map(float, said.get("std") or (0.229, 0.224, 0.225))),
        )
    except (TypeError, ValueError) as error:
        raise WeakspotError(
            f"pictures are prepared in a way not known here: {error}", fix="use another model"
        ) from error


def weights_in(folder: Path, trust: Trust) -> Path:
    """The file with the weights: safetensors, or a pickle where that is all there is and it is allowed."""
    safe, pickled = folder / WEIGHTS, folder / PICKLED
    return pickled if trust.pickle and not safe.is_file() and pickled.is_file() else safe


def label_names(config: Mapping[str, Any], head: int, *, of: str) -> Sequence[str]:
    """The labels of a head: as its configuration has them, else ImageNet's."""
    settings = config.get("pretrained_cfg") or {}
    names = config.get("label_names") or settings.get("label_names")
    told = config.get("label_descriptions") or settings.get("label_descriptions") or {}
    if names:
        row = list(in_order(names, of=of)) if isinstance(names, Mapping) else list(map(str, names))
        return [f"{name} {told[name]}" if told.get(name) else name for name in row]
    data: Any = import_module("timm.data")
    subset = data.infer_imagenet_subset({"num_classes": head})
    if not subset:
        raise WeakspotError(f"{of} does not say what its {head} labels are", fix="add ?labels=labels.txt")
    info = data.ImageNetInfo(subset)
    return [f"{id} {info.label_name_to_description(id)}" for id in info.label_names()]


def load(
    path: str,
    *,
    labels: str = "",
    device: str = "auto",
    dtype: str = "auto",
    batch: str = "",
    compile: str = "no",
    revision: str = "",
    pickle: str = "no",
) -> ImageClassifier:
    """`timm:resnet50.a1_in1k?device=cuda&dtype=bfloat16&batch=256`."""
    library: Any = import_module("timm")
    short = "/" not in path and not Path(path).exists()
    how = read_options(device=device, dtype=dtype, batch=batch, pickle=pickle)
    trust, fast = how["trust"], options.yes("compile", compile)
    name = hub_name(library, path) if short else path
    folder = find_folder(name, revision=revision or None, also=trust.fetched)
    config = read_config(folder)
    if not trust.pickle:
        refuse_pickles(folder)
    architecture, settings = str(config.get("architecture", "")), config.get("pretrained_cfg") or {}
    if not library.is_model(architecture):
        raise WeakspotError(
            f"{folder / 'config.json'} names {architecture[:80]!r}, which is no architecture of timm",
            fix="update timm, or name a folder that timm saved",
        )
    head = int(config.get("num_classes") or settings.get("num_classes") or 1000)
    with quiet():
        made = library.create_model(
            architecture, pretrained=False, num_classes=head, **(config.get("model_args") or {})
        )
    read_weights(made, weights_in(folder, trust), pickle=trust.pickle)
    names = read_labels(Path(labels)) if labels else label_names(config, head, of=str(folder))
    columns(head, names, of=str(folder))
    return ImageClassifier(
        on_device(made, how["device"], of=path),
        name=f"timm:{path}",
        labels=names,
        prepare=preprocess(settings),
        device=how["device"],
        dtype=how["dtype"],
        batch=how["batch"],
        compile=fast,
        digest=f"{folder_digest(folder)}-{how['dtype']}",
        revision=revision_of(folder),
        folder=folder,
    )
