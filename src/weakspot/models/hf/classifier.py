"""Image classifiers of transformers (ViT, ResNet, ConvNeXt, …), with their own labels. See `hf`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from weakspot.models import options
from weakspot.models.hf.files import folder_digest, read_config, revision_of
from weakspot.models.hf.images import must_prepare
from weakspot.models.hf.loading import How, load_model
from weakspot.models.onnx.classifier import read_labels
from weakspot.models.onnx.metadata import in_order
from weakspot.models.scores import columns
from weakspot.models.torch.classifier import ImageClassifier


def is_classifier(config: dict[str, Any]) -> bool:
    """Whether a config.json is an image classifier's."""
    return any("ForImageClassification" in str(name) for name in config.get("architectures") or ())


def load_folder(folder: Path, *, labels: str = "", compile: str = "", **how: Unpack[How]) -> ImageClassifier:
    """`hf:FOLDER?labels=labels.txt&compile=yes`; by default the labels are those of config.json."""
    fast = options.yes("compile", compile or "no")
    prepare = must_prepare(folder, trust=how["trust"])
    config = read_config(folder)
    names = read_labels(Path(labels)) if labels else in_order(config.get("id2label") or {}, of=folder)
    device, dtype = how["device"], how["dtype"]
    kind = "AutoModelForImageClassification"
    model = load_model(kind, folder, device=device, dtype="float32", trust=how["trust"])
    columns(int(model.config.num_labels), names, of=str(folder))
    return ImageClassifier(
        model,
        name=str(folder),
        labels=names,
        prepare=prepare,
        device=device,
        dtype=dtype,
        batch=how["batch"],
        compile=fast,
        digest=f"{folder_digest(folder)}-{dtype}",
        revision=revision_of(folder),
        folder=folder,
    )
