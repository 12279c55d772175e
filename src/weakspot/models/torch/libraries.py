"""Image classifiers of timm (`timm:resnet50`) and of torchvision (`torchvision:resnet50?pickle=yes`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError, nearest
from weakspot.core.registry import read_yes
from weakspot.models.compute import in_one_line
from weakspot.models.hf.loading import (
    find_folder,
    offline,
    on_device,
    quiet,
    read_config,
    read_options,
    refuse_pickles,
)
from weakspot.models.pictures import columns, in_order, read_labels
from weakspot.models.preprocess import Preprocess
from weakspot.models.torch.classifier import ImageClassifier, fill, read_weights

WEIGHTS, PICKLED = "model.safetensors", "pytorch_model.bin"
OWNER: Final = "timm"
_RESAMPLE: Final = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")


def hub_name(library: Any, path: str) -> str:
    """Where the hub has a model that the library knows by a short name."""
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


def timm_preprocess(said: Mapping[str, Any]) -> Preprocess:
    """How pictures are prepared, from a pretrained_cfg."""
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


def load_timm(
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
    how, trust = read_options(device=device, dtype=dtype, batch=batch, pickle=pickle)
    fast = read_yes("compile", compile)
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
    safe, pickled = folder / WEIGHTS, folder / PICKLED
    needed = trust.pickle and not safe.is_file() and pickled.is_file()  # where it is all there is
    read_weights(made, pickled if needed else safe, pickle=trust.pickle)
    names = read_labels(Path(labels)) if labels else label_names(config, head, of=str(folder))
    columns(head, names, of=str(folder))
    return ImageClassifier(
        on_device(made, how["device"], of=path),
        name=f"timm:{path}",
        labels=names,
        prepare=timm_preprocess(settings),
        compile=fast,
        folder=folder,
        **how,
    )


def weights_of(models: Any, name: str, version: str) -> Any:
    """The library's entry of a model's weights, e.g. "IMAGENET1K_V2"."""
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


def load_torchvision(
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
    if not own and not read_yes("pickle", pickle):
        raise WeakspotError(
            f"torchvision publishes the weights of {name} as a pickle, which can run code",
            fix="add ?pickle=yes where you trust it, or ?weights=FILE.safetensors",
        )
    names = read_labels(Path(labels)) if labels else list(entry.meta.get("categories") or ())
    how, _ = read_options(device=device, dtype=dtype, batch=batch)
    fast = read_yes("compile", compile)
    with quiet():
        made = models.get_model(name, weights=None, num_classes=len(names) or 1000)
        if own:
            read_weights(made, Path(weights))
        else:
            fill(made, _fetched(entry, name), of=f"{name} {weights}")
    preset = entry.transforms()
    [crop], [shortest] = preset.crop_size, preset.resize_size
    digest = hashlib.sha256()
    for key, value in sorted(made.state_dict().items()):
        digest.update(key.encode() + value.detach().cpu().contiguous().numpy().tobytes())
    return ImageClassifier(
        on_device(made, how["device"], of=name),
        name=f"torchvision:{name}",
        labels=names,
        prepare=Preprocess(
            size=(int(crop), int(crop)),
            shortest=int(shortest),
            resample=preset.interpolation.name.upper(),
            mean=tuple(map(float, preset.mean)),
            std=tuple(map(float, preset.std)),
        ),
        compile=fast,
        digest=f"{digest.hexdigest()}-{how['dtype']}",
        **how,
    )


def _fetched(entry: Any, name: str) -> Any:
    file = str(getattr(entry, "url", "")).rpartition("/")[2]
    kept = Path(import_module("torch").hub.get_dir(), "checkpoints", file)
    if (known := offline()) and not kept.is_file():
        raise WeakspotError(
            f"the weights of {name} are not in torch's cache, and {known} is set, so nothing is fetched",
            fix=f"unset {known} to fetch them once, or give ?weights=FILE.safetensors",
        )
    try:
        return entry.get_state_dict(progress=True, check_hash=True, weights_only=True, map_location="cpu")
    except Exception as error:  # of the network, the cache or the file
        raise WeakspotError(
            f"the weights of {name} could not be had: {in_one_line(error)}",
            fix="check the network, or give ?weights=FILE.safetensors",
        ) from error
