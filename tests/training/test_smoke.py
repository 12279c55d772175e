"""Every training script runs from top to bottom on the CPU, tiny, and writes what it promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(script: str, *options: str) -> str:
    """What a script prints; its failure is the test's."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "training" / script), "--smoke", *options],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def outputs(path: Path, **feed: np.ndarray) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return list(session.run(None, feed))


@pytest.mark.parametrize("arch", ["resnet", "vit", "fair"])
def test_classifier(tmp_path: Path, arch: str) -> None:
    scenes = "balanced" if arch == "fair" else "natural"
    run("classifier.py", "--arch", arch, "--scenes", scenes, "--mirror", "--out", str(tmp_path / "c.onnx"))
    made = outputs(tmp_path / "c.onnx", image=np.zeros((3, 3, 64, 64), np.float32))
    assert made[0].shape == (3, 16)
    assert len(made) == (3 if arch == "fair" else 1)
    results = json.loads((tmp_path / "c.json").read_text())
    assert 0 <= results["held_out"] <= 1
    assert results["curve"]


def test_encoder(tmp_path: Path) -> None:
    run("encoder.py", "--out", str(tmp_path))
    (seen,) = outputs(tmp_path / "encoder-image.onnx", image=np.zeros((2, 3, 64, 64), np.float32))
    (read,) = outputs(tmp_path / "encoder-text.onnx", tokens=np.array([[1, 40, 50, 2, 0, 0]]))
    assert np.allclose(np.linalg.norm(np.concatenate([seen, read]), axis=1), 1, atol=1e-4)
    assert {"natural", "balanced"} <= set(json.loads((tmp_path / "encoder.json").read_text()))


def test_captioner(tmp_path: Path) -> None:
    run("captioner.py", "--out", str(tmp_path))
    (memory,) = outputs(tmp_path / "captioner-image.onnx", image=np.zeros((2, 3, 64, 64), np.float32))
    past = np.zeros((*memory.shape[:4], 0, memory.shape[5]), np.float32)
    tokens = np.array([[1, 40, 50], [1, 41, 51]])
    words = tmp_path / "captioner-words.onnx"
    logits, present = outputs(words, tokens=tokens, past=past, memory=memory)
    assert logits.shape[:2] == (2, 3)
    assert present.shape[4] == 3
    assert len(json.loads((tmp_path / "captioner.json").read_text())["per_attribute"]) == 16


def test_generator_and_its_measurement(tmp_path: Path, smoke_generator: Path) -> None:
    index = json.loads((smoke_generator / "model_index.json").read_text())
    assert index["_class_name"] == "StableDiffusionPipeline"
    assert list(smoke_generator.rglob("*.safetensors"))
    assert not list(smoke_generator.rglob("*.bin"))
    fair = str(tmp_path / "classifier-fair.onnx")
    run("classifier.py", "--arch", "fair", "--scenes", "balanced", "--out", fair)
    generated = ["--generator", str(smoke_generator), "--weights", str(tmp_path)]
    run("generated.py", *generated, "--out", str(tmp_path / "generated"))
    results = json.loads((tmp_path / "generated.json").read_text())
    assert {"fid", "kid", "by_guidance", "drawn"} <= set(results)


def test_truth_goes_on_where_it_stopped(tmp_path: Path) -> None:
    model = ROOT / "src" / "weakspot" / "world" / "weights" / "classifier.onnx"
    options = ["--models", str(model), "--workers", "1", "--out", str(tmp_path)]
    assert run("truth.py", *options).startswith("2 cells")
    whole = (tmp_path / "truth.csv").read_text()
    (tmp_path / "truth.csv").write_text("".join(whole.splitlines(keepends=True)[:2]))
    assert run("truth.py", *options).startswith("1 cells")
    assert (tmp_path / "truth.csv").read_text() == whole


def test_refusal(tmp_path: Path) -> None:
    from weakspot.judges.refusal_model import RefusalModel

    assert "accuracy" in run("refusal.py", "--out", str(tmp_path))
    model = RefusalModel.from_json(json.loads((tmp_path / "refusal.json").read_text()))
    assert sorted(model.without) == ["model-0", "model-1", "model-2"]
    assert len(model.seen) == 15
    listed = json.loads((tmp_path / "manifest.json").read_text())["files"]["refusal.json"]
    assert listed["bytes"] == (tmp_path / "refusal.json").stat().st_size
