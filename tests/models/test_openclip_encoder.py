"""`openclip:`: what can be said without the library; the rest where it is installed with torchvision."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, WeakspotError
from weakspot.models.hf.encoders import openclip_preprocess as preprocess
from weakspot.models.preprocess import Preprocess
from weakspot.testing import check_encoder

THERE = all(importlib.util.find_spec(name) for name in ("open_clip", "torchvision"))


@pytest.mark.skipif(THERE, reason="open_clip is installed")
def test_a_missing_library_is_said() -> None:
    with pytest.raises(WeakspotError, match="needs a library that is missing") as error:
        MODELS.load("openclip:ViT-B-32/openai")
    assert error.value.fix == "pip install 'weakspot[vision]'"


def test_pictures_are_prepared_as_the_configuration_says() -> None:
    plain: dict[str, Any] = {"size": (8, 8), "mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}
    assert preprocess({}, plain) == Preprocess((8, 8), 8, "BICUBIC", 1 / 255, (0.5,) * 3, (0.25,) * 3)
    said = {"size": 16, "resize_mode": "squash", "interpolation": "bilinear", "mean": None}
    made = preprocess(said, plain)
    assert (made.size, made.shortest, made.resample, made.mean) == ((16, 16), None, "BILINEAR", (0.5,) * 3)
    with pytest.raises(WeakspotError, match="'longest'"):
        preprocess({"resize_mode": "longest"}, plain)


@pytest.mark.skipif(not THERE, reason="open_clip or torchvision is not installed")
def test_a_tiny_model_keeps_the_contract(tmp_path: Path) -> None:
    import open_clip  # type: ignore[import-not-found, unused-ignore]
    from safetensors.torch import save_file

    config = {
        "embed_dim": 8,
        "vision_cfg": {"image_size": 16, "layers": 1, "width": 64, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
    }
    (tmp_path / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": config, "preprocess_cfg": {"size": 16}})
    )
    made = open_clip.model.CLIP(**config)
    save_file(made.state_dict(), tmp_path / "open_clip_model.safetensors")
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (20, 30, 3), dtype=np.uint8) for _ in range(2)]
    encoder = MODELS.load(f"openclip:{tmp_path}?device=cpu")
    assert check_encoder(encoder, ["a dog", "two cats on a sofa"], images).shape == (2, 8)
