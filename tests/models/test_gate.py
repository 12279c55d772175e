"""One model at a time on a GPU, and nobody waits on a CPU; the GPU is one that is not there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from weakspot.core import Case, Hypothesis
from weakspot.models import compute as gate
from weakspot.models.compute import computing
from weakspot.models.preprocess import Preprocess

#: Long enough for what should happen; what should not is awaited for a moment only.
LONG, MOMENT = 20.0, 0.1
PICTURES = [np.full((8, 8, 3), i, np.uint8) for i in range(4)]
CASES = [Case(Hypothesis("a square."), i, 0, picture, "a") for i, picture in enumerate(PICTURES)]


def together(*devices: str) -> bool:
    """Whether threads can be inside at the same time, one for each device."""
    meeting = threading.Barrier(len(devices))
    met: list[bool] = []

    def compute(device: str) -> None:
        with computing(device):
            try:
                meeting.wait(LONG if expected else MOMENT)
                met.append(True)
            except threading.BrokenBarrierError:
                met.append(False)

    expected = len(set(devices)) == len(devices) or devices[0] == "cpu"
    threads = [threading.Thread(target=compute, args=(device,)) for device in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not any(thread.is_alive() for thread in threads)
    return all(met)


def test_one_at_a_time_on_a_gpu() -> None:
    assert not together("cuda:0", "cuda:0")
    assert not together("mps", "mps")


def test_a_gpu_without_a_number_is_the_first() -> None:
    assert computing("cuda") is computing("cuda:0")
    assert computing("cuda") is not computing("cuda:1")


def test_other_gpus_and_processors_do_not_wait() -> None:
    assert together("cuda:0", "cuda:1", "cpu")
    assert together("cpu", "cpu", "cpu")


def test_many_models_never_overlap_and_all_are_served() -> None:
    inside, most, served = 0, 0, []

    def model(name: int) -> None:
        nonlocal inside, most
        for _ in range(50):
            with computing("cuda:3"), computing("cuda:3"):  # a part of a model is no other model
                inside += 1
                most = max(most, inside)
                threading.Event().wait(0.0001)
                inside -= 1
        served.append(name)

    threads = [threading.Thread(target=model, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert most == 1
    assert sorted(served) == [0, 1, 2, 3]


def test_what_fails_lets_the_next_one_in() -> None:
    with suppress(RuntimeError), computing("cuda:4"):
        raise RuntimeError("CUDA error: out of memory")
    assert together("cuda:4")


class Watched:
    """A network that tells when it computes."""

    def __init__(self, module: Any) -> None:
        self.module, self.computes = module, threading.Event()

    def eval(self) -> Watched:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.computes.set()
        return self.module(*args, **kwargs)


def classifier(monkeypatch: pytest.MonkeyPatch) -> tuple[Watched, threading.Event, Callable[[], Any]]:
    torch = pytest.importorskip("torch")
    from weakspot.models.torch.classifier import ImageClassifier

    monkeypatch.setattr("weakspot.models.torch.classifier.computing", as_gpu)
    module = Watched(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2)))
    prepared = threading.Event()

    class Told(Preprocess):
        def __call__(self, images: Any) -> Any:
            prepared.set()
            return super().__call__(images)

    model = ImageClassifier(module, name="m", labels=("a", "b"), prepare=Told((8, 8)))
    return module, prepared, lambda: model.answer(CASES)


def as_gpu(device: str) -> AbstractContextManager[object]:
    assert device == "cpu"
    return gate.computing("cuda:5")


def test_a_classifier_prepares_while_another_model_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    module, prepared, answer = classifier(monkeypatch)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(answer()))
    with computing("cuda:5"):
        thread.start()
        assert prepared.wait(LONG)  # host work goes on
        assert not module.computes.wait(MOMENT)  # but the network waits
    thread.join(LONG)
    assert module.computes.is_set()
    assert len(found[0]) == len(CASES)


@pytest.mark.parametrize("which", ["torch:", "hf: sentences", "diffusers:", "onnx:"])
def test_other_models_compute_inside_too(which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is asked while the gate is another's has not begun; then it goes on."""
    torch = pytest.importorskip("torch")
    work: Callable[[], Any]
    if which == "torch:":
        from weakspot.tuning.torch_model import TorchClassifier

        monkeypatch.setattr("weakspot.tuning.network.computing", as_gpu)
        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2))
        made = TorchClassifier(network, labels=("a", "b"), device="cpu")
        watched = Watched(network)
        made._network.compiled = watched  # type: ignore[assignment]
        work = lambda: made.answer(CASES)  # noqa: E731
    elif which == "hf: sentences":
        pytest.importorskip("transformers")
        from tests.models.test_hf_sentences import TEXTS, plain

        from weakspot.models.hf.encoders import HfSentences

        monkeypatch.setattr("weakspot.models.hf.encoders.computing", as_gpu)
        encoder = HfSentences(plain(tmp_path))
        watched = Watched(encoder.network)
        encoder.network = watched
        work = lambda: encoder.embed_texts(TEXTS)  # noqa: E731
    elif which == "onnx:":
        from tests.models.test_onnx import build as graph

        from weakspot.models.onnx.models import OnnxClassifier

        monkeypatch.setattr("weakspot.models.onnx.graph.computing", as_gpu)
        model = OnnxClassifier(graph(tmp_path / "m.onnx"), labels=("r", "g", "b"), device="cpu")
        watched = Watched(model.graph.session.run)
        model.graph.session = SimpleNamespace(run=watched)
        work = lambda: model.answer(CASES)  # noqa: E731
    else:
        pytest.importorskip("diffusers")
        from tests.models.test_diffusers import build

        from weakspot.models.diffusers.pipeline import DiffusersGenerator

        monkeypatch.setattr("weakspot.models.diffusers.pipeline.computing", as_gpu)
        generator = DiffusersGenerator(build(tmp_path / "sd"), device="cpu", steps=1, guidance=1.0)
        watched = Watched(generator.network)
        generator.network = watched
        work = lambda: generator.generate(["a fly"], [1])  # noqa: E731
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    with computing("cuda:5"):
        thread.start()
        assert not watched.computes.wait(3 * MOMENT)
    thread.join(LONG)
    assert watched.computes.is_set()
    assert len(found[0]) > 0
