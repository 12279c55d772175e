"""Image classifiers of transformers (ViT, ResNet, ConvNeXt, …), with their own labels. See `hf`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError
from weakspot.models.hf_files import folder_digest, read_config, revision_of
from weakspot.models.hf_load import NOTHING, Trust, load_model
from weakspot.models.onnx import read_labels
from weakspot.models.onnx_metadata import in_order
from weakspot.models.preprocess import CONFIG, read_preprocess
from weakspot.models.scores import columns
from weakspot.models.torch_classifier import ImageClassifier


def is_classifier(config: dict[str, Any]) -> bool:
    """Whether a config.json is an image classifier's."""
    return any(str(name).endswith("ForImageClassification") for name in config.get("architectures") or ())


def load_folder(
    folder: Path,
    *,
    device: str,
    dtype: str,
    batch: int | None,
    trust: Trust = NOTHING,
    labels: str = "",
) -> ImageClassifier:
    """`hf:FOLDER?labels=labels.txt`; by default the labels are those of config.json."""
    prepare = read_preprocess(folder)
    if prepare is None:
        raise WeakspotError(
            f"{folder} has no {CONFIG}, so nobody knows how its pictures are prepared",
            fix="copy that file from where the model came from",
        )
    config = read_config(folder)
    names = read_labels(Path(labels)) if labels else in_order(config.get("id2label") or {}, of=folder)
    model = load_model("AutoModelForImageClassification", folder, device=device, dtype=dtype, trust=trust)
    columns(int(model.config.num_labels), names, of=str(folder))
    return ImageClassifier(
        model,
        name=str(folder),
        labels=names,
        prepare=prepare,
        device=device,
        dtype=dtype,
        batch=batch,
        digest=f"{folder_digest(folder)}-{dtype}",
        revision=revision_of(folder),
    )
