"""`hf:` on a CLIP and a SigLIP made here, tiny and untrained: against the library itself, and refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import MODELS, Encoder, WeakspotError
from weakspot.models.hf import loading as hf_files
from weakspot.models.hf.encoders import HfClip
from weakspot.models.preprocess import Preprocess, read_preprocess
from weakspot.testing import check_encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = ["a dog", "two cats on a sofa", "dog", "a very " + "long " * 40 + "text"]
WORDS = ["<pad>", "<unk>", "<s>", "</s>", "a", "dog", "two", "cats", "on", "sofa", "very", "long", "text"]


def tokenizer(folder: Path) -> None:
    import tokenizers as library

    made = library.Tokenizer(library.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    made.post_processor = library.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)


def model(folder: Path, kind: str) -> Any:
    tower: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
                             "num_attention_heads": 2}  # fmt: skip
    text = {**tower, "vocab_size": len(WORDS), "max_position_embeddings": 12, "bos_token_id": 2,
            "eos_token_id": 3, "pad_token_id": 0}  # fmt: skip
    vision = {**tower, "image_size": 16, "patch_size": 8}
    torch.manual_seed(0)
    if kind == "clip":
        config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=10)
        made = transformers.CLIPModel(config)
    else:
        config = transformers.SiglipConfig(text_config={**text, "projection_size": 16}, vision_config=vision)
        made = transformers.SiglipModel(config)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    made.eval().save_pretrained(folder)
    tokenizer(folder)
    resize: dict[str, Any] = (
        {"size": {"shortest_edge": 16}, "do_center_crop": True, "crop_size": {"height": 16, "width": 16}}
        if kind == "clip"
        else {"size": {"height": 16, "width": 16}}
    )
    (folder / "preprocessor_config.json").write_text(
        json.dumps({**resize, "resample": 3, "image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.25]})
    )
    return made


def pictures() -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(3)
    return [rng.integers(0, 255, size, dtype=np.uint8) for size in ((16, 16, 3), (40, 20, 3), (17, 50, 3))]


@pytest.fixture(scope="module", params=["clip", "siglip"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, str]:
    folder = tmp_path_factory.mktemp(request.param)
    return folder, model(folder, request.param), request.param


def test_it_keeps_the_contract(made: tuple[Path, Any, str]) -> None:
    folder, _, kind = made
    encoder = MODELS.load(f"hf:{folder}?device=cpu&batch=2")
    assert isinstance(encoder, HfClip)
    assert isinstance(encoder, Encoder)
    rows = check_encoder(encoder, TEXTS, pictures())
    assert rows.shape == (4, 10 if kind == "clip" else 16)
    assert encoder.embed_texts([]).shape[0] == encoder.embed_images([]).shape[0] == 0
    assert encoder.digest == MODELS.load(f"hf:{folder}?dtype=float32").digest
    check_encoder(MODELS.load(f"hf:{folder}"), TEXTS, pictures())


@pytest.mark.parametrize(("options", "near"), [("?device=cpu", 1e-5), ("", 0.02)])
def test_rows_are_those_of_the_library(made: tuple[Path, Any, str], options: str, near: float) -> None:
    folder, library, kind = made
    encoder = MODELS.load(f"hf:{folder}{options}")  # by default, a GPU rounds to bfloat16
    words = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = words(["two cats on a sofa"], return_tensors="pt", padding="max_length", max_length=12)
    given = {"input_ids": tokens["input_ids"]}
    if kind == "clip":
        given["attention_mask"] = tokens["attention_mask"]
    prepared = torch.from_numpy(read_preprocess(folder)(pictures()))  # type: ignore[misc]
    with torch.inference_mode():
        text = library.get_text_features(**given)
        image = library.get_image_features(pixel_values=prepared)
    for ours, theirs in (
        (encoder.embed_texts(["two cats on a sofa"]), text),
        (encoder.embed_images(pictures()), image),
    ):
        values = getattr(theirs, "pooler_output", theirs).numpy()
        np.testing.assert_allclose(ours, values / np.linalg.norm(values, axis=1, keepdims=True), atol=near)


def test_pictures_are_cut_and_scaled_as_clip_does() -> None:
    """Shorter side to the size, the middle of the longer one, then scale, mean and deviation."""
    prepare = Preprocess((4, 4), shortest=4, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    image = np.zeros((8, 24, 3), np.uint8)
    image[:, 8:16] = 255
    [batch] = prepare([image])
    assert batch.shape == (3, 4, 4)
    np.testing.assert_allclose(batch, 1.0, atol=0.15)  # white is 1, and only the white middle is left
    squashed = Preprocess((4, 4))([image])[0]
    expected = np.asarray(Image.fromarray(image).resize((4, 4), Image.Resampling.BICUBIC)).transpose(2, 0, 1)
    np.testing.assert_allclose(squashed, expected / 255, atol=1e-6)


def refused(name: str, what: str) -> WeakspotError:
    with pytest.raises(WeakspotError, match=what) as error:
        MODELS.load(name)
    assert error.value.fix
    return error.value


def test_what_cannot_be_loaded_is_said(made: tuple[Path, Any, str], tmp_path: Path) -> None:
    folder, _, _ = made
    refused("hf:not-there", "no folder not-there")
    refused(f"hf:{folder / 'config.json'}", "is a file")
    refused(f"hf:{folder}?revision=main", "no revisions")
    refused(f"hf:{folder}?device=moon", "not a device")
    refused(f"hf:{tmp_path}", r"config\.json cannot be read")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "model.safetensors").write_bytes(b"broken")
    refused(f"hf:{copy}", "cannot be loaded")
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    refused(f"hf:{copy}", "only as a pickle")
    (copy / "pytorch_model.bin").unlink()
    refused(f"hf:{copy}", "cannot be loaded")
    (copy / "config.json").write_text('{"model_type": "bert"}')
    refused(f"hf:{copy}", "'bert', which cannot be used here yet")
    (copy / "config.json").write_text("[]")
    refused(f"hf:{copy}", "is not a JSON object")


def test_weights_that_do_not_fit_are_refused(made: tuple[Path, Any, str], tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder, _, _ = made
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    tensors = load_file(copy / "model.safetensors")
    tensors.pop(next(name for name in tensors if "q_proj.weight" in name))
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    refused(f"hf:{copy}", "q_proj.weight is missing")


def test_without_the_configuration_of_pictures_texts_still_work(
    made: tuple[Path, Any, str], tmp_path: Path
) -> None:
    folder, _, _ = made
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "preprocessor_config.json").unlink()
    encoder = MODELS.load(f"hf:{copy}")
    assert len(encoder.embed_texts(["a dog"])) == 1
    with pytest.raises(WeakspotError, match=r"has no preprocessor_config\.json"):
        encoder.embed_images(pictures())


def test_the_hub_is_asked_for_safe_files_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    asked: dict[str, Any] = {}

    def snapshot(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert hf_files.find_folder("someone/clip", revision="v1") == tmp_path
    assert (asked["name"], asked["revision"]) == ("someone/clip", "v1")
    assert not any(pattern.endswith((".bin", ".pt", ".py", "*")) for pattern in asked["allow_patterns"])
    assert hf_files.find_folder("model", owner="sentence-transformers") == tmp_path
    assert asked["name"] == "sentence-transformers/model"

    def offline(name: str, **options: Any) -> str:
        raise OSError("outgoing traffic has been disabled")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(WeakspotError, match="the model hub did not give it") as error:
        hf_files.find_folder("someone/clip")
    assert "HF_HUB_OFFLINE" in error.value.fix


def test_released_it_says_so(made: tuple[Path, Any, str]) -> None:
    encoder = HfClip(made[0], batch=2)
    assert "batch 2" in encoder.about
    encoder.release()
    encoder.release()
    with pytest.raises(WeakspotError, match="was released"):
        encoder.embed_texts(["a dog"])
