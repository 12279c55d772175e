"""Image classifiers that are modules of torch: TorchScript, timm (`timm:resnet50`) and torchvision
(`torchvision:resnet50?pickle=yes`), and their weights from a file.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, WeakspotError, disk_errors, nearest
from weakspot.core.errors import check_known, explained, first_line, in_one_line
from weakspot.core.registry import read_size, read_three, read_yes
from weakspot.models.compute import (
    Batched,
    Batches,
    Compiled,
    autocast,
    channels_last,
    computing,
    pictures_at_once,
)
from weakspot.models.hf import loading
from weakspot.models.pictures import answers, columns, distinct, in_order, read_labels, to_probabilities
from weakspot.models.preprocess import Prepare, Preprocess, by_name

#: Pictures at once where the device does not tell its memory: on a CPU more make nothing faster.
BATCH: Final = 32


class ImageClassifier(Batched):
    """See `weakspot.core.Classifier`. Every output is read as logits, as these libraries promise.

    The module is on its device and in float32; it goes from what is prepared, mostly (n, 3, height, width),
    to logits, or to something with `.logits`. It is given as many pictures at once as the free memory will
    do for, unless `batch` says how many. Where its files are in a folder, digest and revision are theirs.
    """

    def __init__(
        self,
        module: Any,
        *,
        name: str,
        labels: Sequence[Any],
        prepare: Prepare,
        device: str = "cpu",
        dtype: str = "float32",
        batch: int | None = None,
        compile: bool = False,
        digest: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name, self.device, self.dtype, self.prepare = name, device, dtype, prepare
        self.labels = distinct(labels, of=name)
        self.parents: Mapping[str, str] = {}
        self.digest = f"{loading.folder_digest(folder)}-{dtype}" if folder else digest
        self.folder, self.revision = folder, loading.revision_of(folder) if folder else ""
        self._torch: Any = import_module("torch")
        self.network = channels_last(module.eval(), device)
        if compile:
            self.network = Compiled(self.network, name=name)
        size = batch or pictures_at_once(device, size=prepare.size, dtype=dtype, otherwise=BATCH)
        self._batches = Batches(name, size, device=device, dtype=dtype)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        if not cases:
            return []
        rows = np.concatenate(self._batches.run([case.input for case in cases], self._logits))
        return answers(to_probabilities(rows, len(self.labels), outputs="logits"), self.labels)

    def _logits(self, images: Sequence[Any]) -> NDArray[np.float32]:
        prepared = self.prepare(images)
        several = isinstance(prepared, Mapping)
        shown = {name: self._moved(value) for name, value in by_name(prepared).items()}
        with self._torch.inference_mode(), computing(self.device), autocast(self.device, self.dtype):
            given = self.network(**shown) if several else self.network(shown["pixel_values"])
            rows = np.asarray(getattr(given, "logits", given).float().cpu().numpy(), np.float32)
        if rows.ndim == 2:
            columns(rows.shape[1], self.labels, of=self.name)
        return rows

    def _moved(self, values: NDArray[Any]) -> Any:
        """On the device; whole numbers, such as a mask, stay whole."""
        torch = self._torch
        made = torch.from_numpy(values)
        if values.dtype.kind not in "fu":
            return made.to(self.device)
        if self.device.startswith("cuda"):
            made = made.pin_memory().to(self.device, non_blocking=True)
            if made.ndim == 4:
                made = made.contiguous(memory_format=torch.channels_last)
        return made.to(self.device, torch.float32)


def read_weights(module: Any, path: Path, *, pickle: bool = False) -> None:
    """Fill a module from a file of safetensors, or of another kind where `pickle` allows it."""
    weights = f"the weights {str(path)[:200]}"
    if path.suffix == ".safetensors":
        broken = import_module("safetensors").SafetensorError
        with explained(f"{weights} cannot be read", OSError, broken, fix="check the file"):
            tensors = import_module("safetensors.torch").load_file(str(path))
    elif pickle:
        fix = "check the file; if you trust it, convert it to safetensors"
        short = partial(in_one_line, most=200)
        with explained(f"{weights} are not a pickle of tensors only", Exception, fix=fix, why=short):
            tensors = import_module("torch").load(path, map_location="cpu", weights_only=True)
    else:
        raise WeakspotError(
            f"{str(path)[:200]} is not a safetensors file",
            fix="convert it; pickles can run code and are not read",
        )
    fill(module, tensors, of=str(path))


def fill(module: Any, tensors: Any, *, of: str) -> None:
    """Fill a module with tensors by name; one that lacks or is left over is an error."""
    what, fix = f"the weights {of[:200]} do not fit", "name the network they were made with"
    with explained(what, RuntimeError, fix=fix, why=_last_line):  # shapes differ
        lacking, strange = module.load_state_dict(tensors, strict=False)
    lacking = [key for key in lacking if not key.endswith("num_batches_tracked")]
    if lacking or strange:
        which = f"{lacking[0]} is missing" if lacking else f"{strange[0]} is not the network's"
        raise WeakspotError(f"{what}: {which}", fix=fix)


def _last_line(error: BaseException) -> str:
    return str(error).splitlines()[-1].strip()[:200]


def load_torchscript(
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
    names, side = read_labels(Path(labels)), read_size(size)
    if not read_yes("code", code):
        raise WeakspotError(
            f"{path[:200]} is a program (TorchScript), which runs only if you ask for it",
            fix="if you trust it, add &code=yes; or export it as ONNX, or as safetensors with torch:…",
        )
    torch: Any = import_module("torch")
    how, _ = loading.read_options(device=device, dtype=dtype, batch=batch)
    fix = "make it with torch.jit.save; a plain .pt is a pickle, and is not read"
    with (
        disk_errors(f"{path[:200]} cannot be read", "check the path"),
        explained(f"{path[:200]} is not a TorchScript file", RuntimeError, fix=fix, why=first_line),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # newer versions advise against the format
        content = Path(path).read_bytes()
        module = torch.jit.load(path, map_location=how["device"])
    half = "" if how["dtype"] == "float32" else f"-{how['dtype']}"
    assert side is not None  # noqa: S101 (it has a default)
    return ImageClassifier(
        module,
        name=f"torchscript:{path}",
        labels=names,
        prepare=Preprocess(
            side, resample="BILINEAR", mean=tuple(read_three(mean)), std=tuple(read_three(std, above=0.0))
        ),
        digest=hashlib.sha256(content).hexdigest() + half,
        **how,
    )


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
    what, fix = "pictures are prepared in a way weakspot does not know", "use another model"
    with explained(what, TypeError, ValueError, fix=fix):
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
    how, trust = loading.read_options(device=device, dtype=dtype, batch=batch, pickle=pickle)
    fast = read_yes("compile", compile)
    name = hub_name(library, path) if short else path
    folder = loading.find_folder(name, revision=revision or None, also=trust.fetched)
    config = loading.read_config(folder)
    if not trust.pickle:
        loading.refuse_pickles(folder)
    architecture, settings = str(config.get("architecture", "")), config.get("pretrained_cfg") or {}
    if not library.is_model(architecture):
        raise WeakspotError(
            f"{folder / 'config.json'} names {architecture[:80]!r}, which is not an architecture of timm",
            fix="update timm, or name a folder that timm saved",
        )
    head = int(config.get("num_classes") or settings.get("num_classes") or 1000)
    with loading.quiet():
        made = library.create_model(
            architecture, pretrained=False, num_classes=head, **(config.get("model_args") or {})
        )
    safe, pickled = folder / WEIGHTS, folder / PICKLED
    needed = trust.pickle and not safe.is_file() and pickled.is_file()  # where it is all there is
    read_weights(made, pickled if needed else safe, pickle=trust.pickle)
    names = read_labels(Path(labels)) if labels else label_names(config, head, of=str(folder))
    columns(head, names, of=str(folder))
    return ImageClassifier(
        loading.on_device(made, how["device"], of=path),
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
    check_known(name, known, f"torchvision has no classifier {name[:80]!r}", most=300)
    every = models.get_model_weights(name)
    check_known(version, list(every.__members__), f"torchvision has no weights {version[:80]!r} of {name}")
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
            fix="if you trust it, add ?pickle=yes, or ?weights=FILE.safetensors",
        )
    names = read_labels(Path(labels)) if labels else list(entry.meta.get("categories") or ())
    how, _ = loading.read_options(device=device, dtype=dtype, batch=batch)
    fast = read_yes("compile", compile)
    with loading.quiet():
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
        loading.on_device(made, how["device"], of=name),
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
    if (known := loading.offline()) and not kept.is_file():
        raise WeakspotError(
            f"the weights of {name} are not in torch's cache, and {known} is set, so nothing is fetched",
            fix=f"unset {known} to fetch them once, or give ?weights=FILE.safetensors",
        )
    fix = "check the network, or give ?weights=FILE.safetensors"
    with explained(
        f"the weights of {name} could not be fetched", Exception, fix=fix, why=in_one_line
    ):  # of the network, the cache or the file
        return entry.get_state_dict(progress=True, check_hash=True, weights_only=True, map_location="cpu")
