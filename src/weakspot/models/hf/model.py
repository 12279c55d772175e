"""Models of the transformers library: `hf:owner/name` or `hf:FOLDER`. Its config.json says what it is.

Each kind of model has its own function `load_folder(folder, **how)`; a new kind is a line in `KINDS`. Weights
are read from safetensors, and code that comes with a model is not run, unless the name says `pickle=yes` or
`code=yes`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

from weakspot.core import WeakspotError
from weakspot.core.registry import read_yes
from weakspot.models.hf import loading
from weakspot.models.hf.captioner import is_captioner
from weakspot.models.hf.encoders import is_text_encoder
from weakspot.models.pictures import columns, in_order, read_labels
from weakspot.models.preprocess import prepare_of, prepared_by
from weakspot.models.torch.classifier import ImageClassifier


def is_classifier(config: dict[str, Any]) -> bool:
    return any("ForImageClassification" in str(name) for name in config.get("architectures") or ())


def load_classifier(
    folder: Path,
    *,
    trust: loading.Trust,
    labels: str = "",
    compile: str = "",
    **how: Unpack[loading.Placement],
) -> ImageClassifier:
    """`hf:FOLDER?labels=labels.txt&compile=yes`; by default the labels are those of config.json."""
    fast = read_yes("compile", compile or "no")
    prepare = prepared_by(prepare_of(folder, trust=trust), of=folder)
    config = loading.read_config(folder)
    names = read_labels(Path(labels)) if labels else in_order(config.get("id2label") or {}, of=folder)
    kind = "AutoModelForImageClassification"
    model = loading.load_model(kind, folder, device=how["device"], dtype="float32", trust=trust)
    columns(int(model.config.num_labels), names, of=str(folder))
    return ImageClassifier(
        model,
        name=str(folder),
        labels=names,
        prepare=prepare,
        compile=fast,
        folder=folder,
        **how,
    )


class ModelKind(NamedTuple):
    """A kind of model: what it is called, how its configuration tells it, who loads it, its own options."""

    name: str
    fits: Callable[[dict[str, Any]], bool]
    target: str
    options: tuple[str, ...] = ()


def _of_timm(config: dict[str, Any]) -> bool:
    return config.get("model_type") == "timm_wrapper" or {"architecture", "pretrained_cfg"} <= config.keys()


_TWO_TOWERS: Final = ("clip", "siglip", "siglip2", "altclip", "chinese_clip", "metaclip_2")
KINDS: Final = (
    ModelKind(
        "an image classifier",
        lambda config: is_classifier(config) and not _of_timm(config),
        "weakspot.models.hf.model:load_classifier",
        ("labels", "compile"),
    ),
    ModelKind(
        "a captioner of pictures",
        is_captioner,
        "weakspot.models.hf.captioner:load_folder",
        ("prompt", "tokens", "beams"),
    ),
    ModelKind(
        "an encoder of texts and pictures",
        lambda config: config.get("model_type") in _TWO_TOWERS,
        "weakspot.models.hf.encoders:HfClip",
    ),
    ModelKind(
        "a summariser (BART, T5, Pegasus)",
        lambda c: bool(c.get("is_encoder_decoder")) and c.get("model_type") != "vision-encoder-decoder",
        "weakspot.models.summarise:load_folder",
        ("prefix", "tokens", "beams"),
    ),
    ModelKind(
        "an encoder of sentences (BERT, MiniLM, MPNet)",
        is_text_encoder,
        "weakspot.models.hf.encoders:HfSentences",
    ),
)


def load(
    path: str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    batch: str = "",
    revision: str = "",
    prefix: str = "",
    tokens: str = "",
    beams: str = "",
    labels: str = "",
    prompt: str = "",
    compile: str = "",
    pickle: str = "no",
    code: str = "no",
) -> Any:
    """`hf:microsoft/resnet-50`, `hf:openai/clip-vit-large-patch14?device=cuda`, `hf:FOLDER`."""
    import_module("transformers")  # a missing library is told before anything is fetched
    how, trust = loading.read_options(device=device, dtype=dtype, batch=batch, pickle=pickle, code=code)
    folder = loading.find_folder(path, revision=revision or None, also=trust.fetched)
    config = loading.read_config(folder)
    kind = next((kind for kind in KINDS if kind.fits(config)), None)
    if kind is None:
        said = str(config.get("model_type") or "a model of no known type")
        fix = f"there is: {'; '.join(kind.name for kind in KINDS)}"
        if (folder / "modules.json").is_file():  # as sentence-transformers saves its models
            fix = f"it is an encoder of sentences: write st:{path[:200]}"
        elif _of_timm(config):
            said, fix = "a model of timm", f"write timm:{path[:200]}"
        raise WeakspotError(f"hf:{path[:200]} is {said[:80]!r}, which cannot be used here yet", fix=fix)
    own = {
        "prefix": prefix, "tokens": tokens, "beams": beams, "labels": labels, "prompt": prompt,
        "compile": compile,
    }  # fmt: skip
    strange = [name for name, value in own.items() if value and name not in kind.options]
    if strange:
        raise WeakspotError(f"{kind.name} has no option {strange[0]!r}", fix="leave it out")
    if not trust.pickle:
        loading.refuse_pickles(folder)
    module, _, attribute = kind.target.partition(":")
    loader: Callable[..., Any] = getattr(import_module(module), attribute)
    return loader(folder, **how, trust=trust, **{name: own[name] for name in kind.options})
