"""`torch:` as a target: where it runs, its memory, and networks whose weights nobody gave."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
CASES = [Case(Hypothesis("a square."), i, 0, np.full((8, 8, 3), 80 * i, np.uint8), "a") for i in range(3)]
MODULE = """
import torch

class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Conv2d(3, 2, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())

def seeded():
    torch.manual_seed(1)
    return Net()

net = Net()
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "nets", raising=False)
    Path("nets.py").write_text(MODULE)
    Path("labels.txt").write_text("a\nb\n")


def test_random_weights_are_refused() -> None:
    with pytest.raises(WeakspotError, match="random weights") as error:
        MODELS.load("torch:nets:Net?labels=labels.txt")
    assert "weights=FILE.safetensors" in error.value.fix
    import nets  # type: ignore[import-not-found]

    safetensors.save_file(nets.net.state_dict(), "net.safetensors")
    for name in ("torch:nets:Net?weights=net.safetensors&", "torch:nets:seeded?", "torch:nets:net?"):
        assert len(MODELS.load(f"{name}labels=labels.txt").answer(CASES)) == 3


def test_it_says_where_it_runs_and_gives_its_memory_back() -> None:
    model = MODELS.load("torch:nets:seeded?labels=labels.txt&device=cpu&batch=4")
    assert model.about == "nets:seeded · cpu · float32 · batch 4"
    assert (model.device, model.dtype) == ("cpu", "float32")
    network = weakref.ref(model.module)
    model.release()
    gc.collect()
    assert network() is None
    with pytest.raises(WeakspotError, match="was released"):
        model.answer(CASES)
