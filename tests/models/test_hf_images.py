"""Pictures as `hf:` prepares them, against the library's own processor of every family of classifiers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError
from weakspot.models.hf.model import is_classifier
from weakspot.models.preprocess import Preprocess, Processor, by_name, prepare_of, read_preprocess

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
auto = pytest.importorskip("transformers.models.auto.image_processing_auto")
families = pytest.importorskip("transformers.models.auto.modeling_auto")
FAMILIES = sorted(families.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES)
ODD = np.random.default_rng(3).integers(0, 256, (61, 97, 3), np.uint8)
#: Settings without which a family's processor does nothing, and smaller ones where the usual take seconds.
OWN: dict[str, dict[str, Any]] = {
    "imagegpt": {"clusters": [[-1.0] * 3, [0.0] * 3, [1.0] * 3], "size": {"height": 8, "width": 8}},
    "donut-swin": {"size": {"height": 80, "width": 60}},
}  # fmt: skip
#: Families whose processor lies elsewhere: with texts, or in a file of timm.
OTHERS = {"shieldgemma2", "timm_wrapper"}


def processor_of(family: str) -> Any:
    names = auto.IMAGE_PROCESSOR_MAPPING_NAMES.get(family)
    if not isinstance(names, dict) or family in OTHERS:
        return None
    kind = getattr(transformers, names.get("pil") or "", None)
    return None if kind is None else kind(**OWN.get(family, {}))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_prepared_as_the_library_does(family: str, tmp_path: Path) -> None:
    library = processor_of(family)
    if library is None:
        pytest.skip(f"{family} has no image processor of its own that needs only Pillow")
    library.save_pretrained(tmp_path)
    ours = prepare_of(tmp_path)
    assert ours is not None
    wanted = library(images=[ODD], return_tensors="np", input_data_format="channels_last")
    made = by_name(ours([ODD]))
    assert set(made) == set(wanted)
    for name, value in made.items():
        np.testing.assert_allclose(value, wanted[name], atol=2e-5, err_msg=f"{family} {name}")


def test_plain_families_take_the_fast_way_and_the_others_the_librarys(tmp_path: Path) -> None:
    fast = set()
    for family in FAMILIES:
        if (library := processor_of(family)) is not None:
            library.save_pretrained(tmp_path)
            if isinstance(prepare_of(tmp_path), Preprocess):
                fast.add(family)
    assert {"vit", "resnet", "convnext", "clip", "siglip", "beit", "mobilenet_v2", "dinov2"} <= fast
    assert not fast & {"mobilevit", "levit", "efficientnet", "donut-swin", "textnet", "deit", "perceiver"}


def test_a_file_without_the_library_is_read_exactly_or_refused_by_name(tmp_path: Path) -> None:
    """As for ONNX files, whose users may have no transformers."""
    for family in FAMILIES:
        if (library := processor_of(family)) is None:
            continue
        library.save_pretrained(tmp_path)
        wanted = library(images=[ODD], return_tensors="np", input_data_format="channels_last")
        if not isinstance(prepare_of(tmp_path), Preprocess):
            named = type(library).__name__.removesuffix("Pil")
            with pytest.raises(WeakspotError, match=f"weakspot does not know: .*{named}"):
                read_preprocess(tmp_path)
            continue
        ours = read_preprocess(tmp_path)
        assert ours is not None
        np.testing.assert_allclose(ours([ODD]), wanted["pixel_values"], atol=2e-5, err_msg=family)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"do_flip_channel_order": True}, "do_flip_channel_order"),
        ({"do_resize": False}, "without a resize"),
        ({"do_center_crop": True}, "cut after stretching"),
        ({"size": {"shortest_edge": 16}, "do_center_crop": False}, "no cut"),
        ({"size": {"longest_edge": 16}}, "longest_edge"),
        ({"image_processor_type": "MyImageProcessor"}, "MyImageProcessor"),
    ],
)
def test_settings_that_are_not_followed_are_no_plain_ones(
    change: dict[str, Any], why: str, tmp_path: Path
) -> None:
    plain = {
        "image_processor_type": "ViTImageProcessor",
        "size": {"height": 16, "width": 16},
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
    }
    file = tmp_path / "preprocessor_config.json"
    file.write_text(json.dumps(plain))
    assert read_preprocess(tmp_path) == prepare_of(tmp_path)
    file.write_text(json.dumps(plain | change))
    with pytest.raises(WeakspotError, match=why) as refused:
        read_preprocess(tmp_path)
    assert refused.value.fix
    if "image_processor_type" in change:
        with pytest.raises(WeakspotError, match="not known how to prepare pictures"):
            prepare_of(tmp_path)


def test_settings_that_are_not_said_are_those_of_the_family(tmp_path: Path) -> None:
    """Older files say little: google/vit-base-patch16-224 has no resample, which is bilinear for ViT."""
    said = {
        "do_normalize": True,
        "do_resize": True,
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
        "size": 16,
    }
    (tmp_path / "preprocessor_config.json").write_text(
        json.dumps(said | {"feature_extractor_type": "ViTFeatureExtractor"})
    )
    assert prepare_of(tmp_path) == read_preprocess(tmp_path)
    found = read_preprocess(tmp_path)
    assert found is not None
    assert (found.size, found.resample, found.shortest) == ((16, 16), "BILINEAR", None)


def test_classifiers_are_known_by_what_they_are_called() -> None:
    for names in families.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES.values():
        for name in (names,) if isinstance(names, str) else names:
            assert is_classifier({"architectures": [name]}), name
    assert not is_classifier({"architectures": ["ViTModel"]})


def save(folder: Path, model: Any, processor: Any) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)


def answered(folder: Path, model: Any, processor: Any) -> None:
    """The adapter's answer is what the library says of its own preparation."""
    ours = MODELS.load(f"hf:{folder}?device=cpu")
    assert isinstance(ours.prepare, Processor)
    [output] = ours.answer([Case(Hypothesis("a square."), 0, 0, ODD, "a")])
    given = processor(images=[ODD], return_tensors="pt", input_data_format="channels_last")
    with torch.inference_mode():
        wanted = torch.softmax(model(**given).logits, 1)[0].numpy()
    np.testing.assert_allclose(output.scores.values, wanted, atol=1e-5)


NAMES = {"id2label": {0: "a", 1: "b", 2: "c"}, "label2id": {"a": 0, "b": 1, "c": 2}}
TOWER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}


def test_deit_with_its_teacher(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = transformers.DeiTForImageClassificationWithTeacher(
        transformers.DeiTConfig(**TOWER, image_size=16, patch_size=8, **NAMES)
    )
    processor = transformers.DeiTImageProcessorPil(
        size={"height": 20, "width": 20}, crop_size={"height": 16, "width": 16}
    )
    save(tmp_path, model, processor)
    answered(tmp_path, model, processor)


def test_siglip2_with_patches_of_any_shape(tmp_path: Path) -> None:
    torch.manual_seed(1)
    vision = transformers.Siglip2VisionConfig(**TOWER, num_patches=16, patch_size=4)
    model = transformers.Siglip2ForImageClassification(
        transformers.Siglip2Config(vision_config=vision.to_dict(), **NAMES)
    )
    processor = transformers.Siglip2ImageProcessorPil(patch_size=4, max_num_patches=16)
    save(tmp_path, model, processor)
    answered(tmp_path, model, processor)
