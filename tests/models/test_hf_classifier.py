"""`hf:` on image classifiers made here, tiny and untrained: against the library itself, and refusals."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, Case, Classifier, Hypothesis, WeakspotError
from weakspot.models.hf import loading as hf_files
from weakspot.models.preprocess import read_preprocess
from weakspot.models.torch.classifier import ImageClassifier
from weakspot.testing import check_target

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
LABELS = ("tench, Tinca tinca", "crane", "crane", "tabby, tabby cat")
DISTINCT = ("tench, Tinca tinca", "crane", "crane #2", "tabby, tabby cat")
CASES = [
    Case(Hypothesis("a square."), i, 0, np.random.default_rng(i).integers(0, 256, size, np.uint8), "crane")
    for i, size in enumerate([(20, 20, 3), (30, 24, 3), (24, 40, 3), (20, 20, 3), (64, 18, 3)])
]
PREPARED: dict[str, dict[str, Any]] = {
    "vit": {
        "image_processor_type": "ViTImageProcessor",
        "size": {"height": 16, "width": 16},
        "resample": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    },
    "resnet": {
        "image_processor_type": "ConvNextImageProcessor",
        "size": {"shortest_edge": 14},
        "crop_pct": 0.875,
        "resample": 3,
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
    },
}


def make(folder: Path, kind: str) -> Any:
    names = {"id2label": dict(enumerate(LABELS)), "label2id": {}}
    torch.manual_seed(1)
    if kind == "vit":
        config = transformers.ViTConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, image_size=16,
            patch_size=8, **names,
        )  # fmt: skip
        model = transformers.ViTForImageClassification(config)
    else:
        config = transformers.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", **names
        )
        model = transformers.ResNetForImageClassification(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    model.eval().save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPARED[kind]))
    return model


@pytest.fixture(scope="module", params=["vit", "resnet"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, str]:
    folder = tmp_path_factory.mktemp(request.param)
    return folder, make(folder, request.param), request.param


@pytest.fixture
def copy(made: tuple[Path, Any, str], tmp_path: Path) -> Path:
    shutil.copytree(made[0], tmp_path / "copy")
    return tmp_path / "copy"


def test_it_keeps_the_contract(made: tuple[Path, Any, str], caplog: pytest.LogCaptureFixture) -> None:
    folder, _, _ = made
    with caplog.at_level(logging.INFO, "weakspot"):
        model = MODELS.load(f"hf:{folder}?device=cpu&batch=2")
    assert isinstance(model, Classifier)
    assert isinstance(model, ImageClassifier)
    assert "cpu · float32 · batch 2" in caplog.text
    assert model.labels == DISTINCT
    check_target(model, CASES)
    assert model.answer([]) == []
    assert model.digest == MODELS.load(f"hf:{folder}?dtype=float32").digest
    check_target(MODELS.load(f"hf:{folder}"), CASES)


@pytest.mark.parametrize(("options", "near"), [("?device=cpu", 2e-3), ("", 0.02)])
def test_answers_are_those_of_the_library(made: tuple[Path, Any, str], options: str, near: float) -> None:
    """With the library's own processor, which knows nothing of ours; by default, a GPU rounds to bfloat16."""
    folder, library, kind = made
    processors = {"vit": "ViTImageProcessorPil", "resnet": "ConvNextImageProcessorPil"}
    if not hasattr(transformers, processors[kind]):
        pytest.skip("this version of transformers has no processors without torchvision")
    processor = getattr(transformers, processors[kind]).from_pretrained(folder)
    ours = MODELS.load(f"hf:{folder}{options}").answer(CASES)
    for case, output in zip(CASES, ours, strict=True):
        pixels = processor(case.input, return_tensors="pt")["pixel_values"]
        with torch.inference_mode():
            wanted = torch.softmax(library(pixel_values=pixels.float()).logits, 1)[0].numpy()
        np.testing.assert_allclose(output.scores.values, wanted, atol=near)


def test_convnext_crops_what_is_small_and_squashes_what_is_large(tmp_path: Path) -> None:
    for side, shortest in ((14, 16), (384, None)):
        content = PREPARED["resnet"] | {"size": {"shortest_edge": side}}
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(content))
        found = read_preprocess(tmp_path)
        assert found is not None
        assert (found.size, found.shortest) == ((side, side), shortest)


def test_a_labels_file_goes_first(made: tuple[Path, Any, str], tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    file.write_text("a\nb\nc\nd\n")
    assert MODELS.load(f"hf:{made[0]}?labels={file}").labels == ("a", "b", "c", "d")
    file.write_text("a\nb\nc\n")
    with pytest.raises(WeakspotError, match="4 outputs, and there are 3 labels"):
        MODELS.load(f"hf:{made[0]}?labels={file}")


def test_half_precision_and_compile_change_no_answer(
    made: tuple[Path, Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", lambda module: module)
    usual = MODELS.load(f"hf:{made[0]}?device=cpu")
    fast = MODELS.load(f"hf:{made[0]}?device=cpu&dtype=bfloat16&compile=yes")
    assert fast.digest == usual.digest.replace("float32", "bfloat16")
    for one, other in zip(usual.answer(CASES), fast.answer(CASES), strict=True):
        np.testing.assert_allclose(one.scores.values, other.scores.values, atol=0.05)


def test_out_of_memory_halves_the_batch_and_goes_on(
    made: tuple[Path, Any, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = MODELS.load(f"hf:{made[0]}?batch=8")
    wanted = model.answer(CASES)
    real, sizes = model.network, []

    def tight(pixels: Any) -> Any:
        sizes.append(len(pixels))
        if len(pixels) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real(pixels)

    monkeypatch.setattr(model, "network", tight)
    found = model.answer(CASES)
    assert sizes == [5, 2, 2, 1]
    assert model.batch == 2
    assert "out of memory; batches of 2 from now on" in caplog.text
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(one.scores.values, other.scores.values, atol=1e-5)

    def full(pixels: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(model, "network", full)
    with pytest.raises(WeakspotError, match="even with a batch of 1"):
        model.answer(CASES)

    def broken(pixels: Any) -> Any:
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(model, "network", broken)
    with pytest.raises(RuntimeError, match="multiplied"):
        model.answer(CASES)


def test_it_gives_its_memory_back(made: tuple[Path, Any, str]) -> None:
    import gc
    import weakref

    model = MODELS.load(f"hf:{made[0]}")
    network = weakref.ref(model.network)
    model.release()
    gc.collect()
    assert network() is None
    with pytest.raises(WeakspotError, match="was released"):
        model.answer(CASES)


def refused(name: str, what: str) -> WeakspotError:
    with pytest.raises(WeakspotError, match=what) as error:
        MODELS.load(name)
    assert error.value.fix
    assert "\n" not in error.value.what
    return error.value


def test_what_cannot_be_loaded_is_said(copy: Path) -> None:
    refused(f"hf:{copy}?tokens=4", "an image classifier has no option 'tokens'")
    refused(f"hf:{copy}?pickle=perhaps", "pickle cannot be")
    content = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(content | {"id2label": {"0": "a", "2": "b"}}))
    refused(f"hf:{copy}", "not numbered from 0")
    (copy / "config.json").write_text(json.dumps(content | {"id2label": {"0": "a", "1": " "}}))
    refused(f"hf:{copy}", "a label without a name")
    (copy / "config.json").write_text(json.dumps(content))
    (copy / "preprocessor_config.json").unlink()
    refused(f"hf:{copy}", r"has no preprocessor_config\.json")


def test_a_folder_of_timm_is_sent_to_its_own_adapter(tmp_path: Path) -> None:
    timm = {"architecture": "resnet18", "num_classes": 10, "pretrained_cfg": {"input_size": [3, 224, 224]}}
    wrapped = {"model_type": "timm_wrapper", "architectures": ["TimmWrapperForImageClassification"]}
    for content in (timm, timm | wrapped):
        (tmp_path / "config.json").write_text(json.dumps(content))
        assert refused(f"hf:{tmp_path}", "'a model of timm'").fix == f"write timm:{tmp_path}"


def test_pickles_are_read_on_the_users_word_alone(copy: Path, made: tuple[Path, Any, str]) -> None:
    torch.save(made[1].state_dict(), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    assert "add pickle=yes" in refused(f"hf:{copy}", "only as a pickle").fix
    model = MODELS.load(f"hf:{copy}?pickle=yes")
    same = MODELS.load(f"hf:{made[0]}").answer(CASES)
    for one, other in zip(model.answer(CASES), same, strict=True):
        np.testing.assert_allclose(one.scores.values, other.scores.values, atol=1e-6)
    before = model.digest
    torch.save({k: v + 1 for k, v in made[1].state_dict().items()}, copy / "pytorch_model.bin")
    assert MODELS.load(f"hf:{copy}?pickle=yes").digest != before  # what is read is what is kept track of


def test_a_name_on_the_hub_with_pickles_alone_says_how_to_allow_them(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    cached = tmp_path / "snapshots" / ("0123456789" * 4)
    shutil.copytree(copy, cached)
    (cached / "model.safetensors").unlink()
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(cached))
    assert "add pickle=yes" in refused("hf:someone/net", "no weights as safetensors").fix


def test_code_of_its_own_says_how_to_allow_it(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    own = {"AutoConfig": "net.MyConfig", "AutoModelForImageClassification": "net.MyNet"}
    (copy / "config.json").write_text(json.dumps(config | {"model_type": "mynet", "auto_map": own}))
    (copy / "net.py").write_text("raise SystemExit('code of the model was run')")
    error = refused(f"hf:{copy}", "brings code of its own")
    assert "add code=yes" in error.fix


def test_code_of_the_model_is_run_on_the_users_word_alone(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = transformers.AutoModelForImageClassification.from_pretrained

    def watched(*args: Any, **how: Any) -> Any:
        seen.append(how["trust_remote_code"])
        return real(*args, **how)

    monkeypatch.setattr(transformers.AutoModelForImageClassification, "from_pretrained", watched)
    MODELS.load(f"hf:{copy}")
    MODELS.load(f"hf:{copy}?code=yes")
    assert seen == [False, True]


def test_the_hub(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fetched, which revision it is, and one line for a name that is not there or no network."""
    import huggingface_hub

    commit = "0123456789abcdef" * 2 + "01234567"
    cached = tmp_path / "snapshots" / commit
    shutil.copytree(copy, cached)
    asked: list[Any] = []

    def snapshot(name: str, **how: Any) -> str:
        asked.append((name, how["allow_patterns"]))
        return str(cached)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert MODELS.load("hf:someone/net").revision == commit
    assert MODELS.load(f"hf:{copy}").revision == ""
    MODELS.load("hf:someone/net?pickle=yes&code=yes")
    assert asked[0] == ("someone/net", list(hf_files.FETCHED))
    assert {"*.bin", "*.py"} == {*asked[1][1]} - {*hf_files.FETCHED}

    def gone(name: str, **how: Any) -> str:
        raise huggingface_hub.errors.RepositoryNotFoundError(
            "404 Client Error.\n\nRepository Not Found",
            response=type("R", (), {"headers": {}, "request": None})(),
        )

    monkeypatch.setattr(huggingface_hub, "snapshot_download", gone)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert "check the name" in refused("hf:someone/nothing", "the model hub did not give it").fix
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
    error = refused("hf:someone/nothing", "TRANSFORMERS_OFFLINE is set and it is not in the cache")
    assert "unset TRANSFORMERS_OFFLINE" in error.fix
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE" in refused("hf:someone/nothing", "there is no folder someone/nothing").fix
