"""LoRA of a transformer of the transformers library, and of a tiny diffusers pipeline."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.tuning.colours import LABELS, pictures

from weakspot.core import MODELS, WeakspotError
from weakspot.tuning.lessons import TransformedLessons
from weakspot.tuning.torch_model import TorchClassifier
from weakspot.tuning.train import TrainSettings, train

pytest.importorskip("peft")
pytest.importorskip("diffusers")


def test_a_classifier_of_transformers_learns_by_an_adapter_that_is_merged_at_the_end() -> None:
    transformers: Any = import_module("transformers")

    torch.manual_seed(0)
    module = transformers.ViTForImageClassification(
        transformers.ViTConfig(
            image_size=12, patch_size=6, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, num_labels=3,
        )
    )  # fmt: skip
    names = set(module.state_dict())
    network = TorchClassifier(module, labels=LABELS, device="cpu").network("vit")
    images, labels = pictures(120)
    lessons = TransformedLessons(list(images), labels.tolist(), change=lambda some, *_: some, modes=1)
    given = TrainSettings(
        method="lora", epochs=6, learning_rate=0.02, device="cpu", distil=0.0, rank=4, validation=0.1
    )
    found = train(network, lessons, given)
    assert found.parameters < sum(p.numel() for p in module.parameters())
    assert min(row["validation"] for row in found.curve) < found.curve[0]["validation"]
    assert set(network.module.state_dict()) == names


def test_a_pipeline_learns_pictures_under_prompts_and_is_a_generator_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.models.test_diffusers import build

    from weakspot.tuning import diffusion

    monkeypatch.setattr(diffusion, "ROUND", 5)
    build(tmp_path / "tiny")
    red = np.zeros((32, 32, 3), np.uint8) + np.array([220, 20, 20], np.uint8)
    examples = [("a photo of a fly.", red), ("a photo of a bee.", 255 - red)] * 3
    given: dict[str, Any] = {"steps": 25, "learning_rate": 0.01, "device": "cpu"}
    told: list[int] = []
    fitted = diffusion.fit_generator(
        tmp_path / "tiny", examples, out=tmp_path / "fitted", progress=lambda n, *_: told.append(n), **given
    )
    assert fitted.after < fitted.before
    assert told == [1, 2, 3, 4, 5]
    assert fitted.best > 0
    assert fitted.curve[fitted.best]["validation"] < fitted.curve[0]["validation"]
    generator = MODELS.load(f"diffusers:{tmp_path / 'fitted'}?steps=2&device=cpu")
    assert generator.generate(["a photo of a fly."], seeds=[1])[0].shape == (32, 32, 3)
    with pytest.raises(WeakspotError, match="too few"):
        diffusion.fit_generator(tmp_path / "tiny", examples[:1], out=tmp_path / "no")

    def stop(n: int, *_: Any) -> None:
        if n == 3:
            raise KeyboardInterrupt

    checked: dict[str, Any] = {"out": tmp_path / "again", "checkpoints": tmp_path, **given}
    with pytest.raises(KeyboardInterrupt):
        diffusion.fit_generator(tmp_path / "tiny", examples, progress=stop, **checked)
    again = diffusion.fit_generator(tmp_path / "tiny", examples, **checked)
    assert again.curve == fitted.curve
    adapters = [(tmp_path / name / diffusion.ADAPTER).read_bytes() for name in ("fitted", "again")]
    assert adapters[0] == adapters[1]


def test_a_pipeline_that_no_round_makes_better_stays_as_it_was(tmp_path: Path) -> None:
    from tests.models.test_diffusers import build

    from weakspot.tuning.diffusion import fit_generator

    build(tmp_path / "tiny")
    seen: list[Any] = []

    def evaluate(pipe: Any) -> dict[str, float]:
        seen.append(pipe.unet)
        return {"validation": float(len(seen)), "transformed": 0.0, "plain": 0.0}

    red = np.zeros((32, 32, 3), np.uint8) + np.array([220, 20, 20], np.uint8)
    fitted = fit_generator(
        tmp_path / "tiny", [("a fly.", red)] * 4, out=tmp_path / "same", steps=4, device="cpu",
        evaluate=evaluate, watched=8,
    )  # fmt: skip
    assert len(seen) == 2
    assert fitted.best == 0
    assert fitted.after == fitted.before
