"""Half precision, torch.compile and the first batch, on classifiers made here; the GPU is not there."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError
from weakspot.models.compute import Compiled, autocast, channels_last, pictures_at_once
from weakspot.models.preprocess import Preprocess
from weakspot.models.torch.classifier import BATCH, ImageClassifier

torch = pytest.importorskip("torch")
GB = 1 << 30
CASES = [
    Case(Hypothesis("a square."), i, 0, np.random.default_rng(i).integers(0, 256, (16, 16, 3), np.uint8), "a")
    for i in range(6)
]
LABELS = ("a", "b", "c", "d")


def network() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4),
    ).eval()  # fmt: skip


def classifier(**how: Any) -> ImageClassifier:
    return ImageClassifier(network(), name="small", labels=LABELS, prepare=Preprocess((16, 16)), **how)


def probabilities(model: Any) -> Any:
    return np.stack([output.scores.values for output in model.answer(CASES)])


# -- threads --------------------------------------------------------------------------------------------

#: Prints how threads wait at the moment when torch is first asked for, which is not loaded then.
WAITS = """
import os, sys

class Look:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print(os.environ.get("OMP_WAIT_POLICY"))
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Look())
from weakspot.core import MODELS, WeakspotError

for name in sys.argv[1:]:
    try:
        MODELS.load(name)
    except WeakspotError as error:
        assert "needs a library that is missing" in error.what, error
"""


@pytest.mark.parametrize(("own", "wanted"), [("", "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_that_wait_sleep_unless_told_otherwise(tmp_path: Path, own: str, wanted: str) -> None:
    """Read when torch is loaded, so it must be set by then, whichever adapter is the first."""
    names = ("world:generator", f"hf:{tmp_path}")
    environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    for name in names:
        done = subprocess.run(
            [sys.executable, "-c", WAITS, name],
            capture_output=True,
            text=True,
            check=False,
            env=environment | ({"OMP_WAIT_POLICY": own} if own else {}),
        )
        assert done.stdout.splitlines()[:1] == [wanted], (name, done.stderr)


# -- half precision -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_gives_the_same_to_tolerance(dtype: str) -> None:
    """Multiplied in half precision, which changes the last bits; weights stay as they are."""
    whole, half = probabilities(classifier()), classifier(dtype=dtype)
    found = probabilities(half)
    np.testing.assert_allclose(found, whole, atol=0.01)
    assert not np.array_equal(found, whole)
    assert {p.dtype for p in half.network.parameters()} == {torch.float32}
    assert f"cpu · {dtype}" in half.about


def test_autocast_reaches_the_network_and_ends_with_it() -> None:
    linear = torch.nn.Linear(4, 4)
    with torch.inference_mode(), autocast("cpu", "bfloat16"):
        assert linear(torch.ones(1, 4)).dtype == torch.bfloat16
    with torch.inference_mode(), autocast("cpu", "float32"):
        assert linear(torch.ones(1, 4)).dtype == torch.float32
    assert not torch.is_autocast_enabled("cpu")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A user's module with its weights: the name it has."""
    from safetensors.torch import save_file

    (tmp_path / "my_network.py").write_text("from tests.models.test_compute import network\n")
    monkeypatch.syspath_prepend(tmp_path)
    save_file(network().state_dict(), tmp_path / "w.safetensors")
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    where = f"weights={tmp_path / 'w.safetensors'}&labels={tmp_path / 'labels.txt'}"
    return f"torch:my_network:network?{where}&size=16&device=cpu"


@pytest.fixture
def script(tmp_path: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(network(), torch.zeros(1, 3, 16, 16)), tmp_path / "m.pt")
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    return f"torchscript:{tmp_path / 'm.pt'}?labels={tmp_path / 'labels.txt'}&size=16&code=yes&device=cpu"


@pytest.mark.parametrize("which", ["own", "script"])
def test_options_of_a_users_module_and_of_torchscript(which: str, request: pytest.FixtureRequest) -> None:
    name = request.getfixturevalue(which)
    usual = MODELS.load(name)
    assert np.allclose(probabilities(usual), probabilities(classifier()), atol=1e-5)
    for dtype in ("auto", "float32"):  # on a CPU the same
        assert np.array_equal(probabilities(MODELS.load(f"{name}&dtype={dtype}")), probabilities(usual))
    half = MODELS.load(f"{name}&dtype=bfloat16&batch=2")
    np.testing.assert_allclose(probabilities(half), probabilities(usual), atol=0.01)
    assert half.digest == f"{usual.digest}-bfloat16"
    with pytest.raises(WeakspotError, match="'int8' is not a number format"):
        MODELS.load(f"{name}&dtype=int8")


def test_a_users_module_is_trained_in_full_precision(own: str) -> None:
    trained = MODELS.load(f"{own}&dtype=bfloat16&compile=no").network("mine")
    assert (trained.dtype, trained.compiled) == ("float32", None)


# -- torch.compile --------------------------------------------------------------------------------------


def compiles(with_what: Callable[[Any], Callable[..., Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another torch.compile: the real one takes a compiler and half a minute."""
    monkeypatch.setattr(torch, "compile", with_what)


def test_compiled_is_asked_in_place_of_the_network(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compile(module: Any) -> Any:
        def fast(pixels: Any) -> Any:
            asked.append(len(pixels))
            return module(pixels)

        return fast

    compiles(compile, monkeypatch)
    wanted = probabilities(classifier())
    assert asked == []  # it is off unless it is asked for
    assert np.array_equal(probabilities(classifier(compile=True, batch=4)), wanted)
    assert asked == [4, 2]
    np.testing.assert_allclose(probabilities(MODELS.load(f"{own}&compile=yes")), wanted, atol=1e-5)
    assert asked == [4, 2, 6]
    with pytest.raises(WeakspotError, match="compile cannot be 'maybe'"):
        MODELS.load(f"{own}&compile=maybe")


@pytest.mark.parametrize("when", ["at once", "when asked"])
def test_what_cannot_be_compiled_goes_on_without(
    when: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    def broken(module: Any) -> Any:
        def fast(pixels: Any) -> Any:
            calls.append(len(pixels))
            raise RuntimeError("Failed to find a working compiler\nand much more")

        return fast("") if when == "at once" else fast

    compiles(broken, monkeypatch)
    with caplog.at_level(logging.WARNING, "weakspot.models"):
        model = classifier(compile=True, batch=2)
        assert np.array_equal(probabilities(model), probabilities(classifier(batch=2)))
    assert len(calls) == 1  # it is not tried again
    assert caplog.messages == [
        "small: not compiled, going on without: RuntimeError: Failed to find a working compiler"
    ]


def test_a_lack_of_memory_is_no_matter_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def tight(module: Any) -> Any:
        def fast(pixels: Any) -> Any:
            if len(pixels) > 2:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory")
            return module(pixels)

        return fast

    compiles(tight, monkeypatch)
    model = classifier(compile=True, batch=4)
    found = probabilities(model)
    assert model.batch == 2
    assert len(found) == 6
    assert "not compiled" not in caplog.text


def test_an_error_of_the_network_itself_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    compiles(lambda module: module, monkeypatch)

    def wrong(pixels: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        Compiled(wrong, name="wrong")(torch.zeros(1))


# -- the first batch ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "size", "dtype", "wanted"),
    [
        (None, (224, 224), "float32", 7),
        (130 * GB, (224, 224), "bfloat16", 256),  # more would not be faster
        (130 * GB, (32, 32), "bfloat16", 1024),
        (130 * GB, (448, 448), "float32", 64),
        (130 * GB, (2048, 2048), "float16", 16),
        (4 * GB, (224, 224), "float32", 32),
        (4 * GB, (224, 224), "float16", 64),
        (GB // 100, (224, 224), "float32", 1),  # it will be tried
    ],
)
def test_the_first_batch_follows_from_free_memory(
    free: int | None, size: tuple[int, int], dtype: str, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weakspot.models.compute.free_memory", lambda device: free)
    assert pictures_at_once("cuda", size=size, dtype=dtype, otherwise=7) == wanted


def test_a_classifier_begins_with_it_halves_it_and_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert classifier().batch == BATCH  # a CPU does not tell
    monkeypatch.setattr("weakspot.models.compute.free_memory", lambda device: 2 << 20)
    assert classifier(batch=5).batch == 5  # who says it knows better
    model = classifier()
    assert model.batch == 4  # of 256 kB each
    real, sizes = model.network, []

    def tight(pixels: Any) -> Any:
        sizes.append(len(pixels))
        if len(pixels) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return real(pixels)

    model.network = tight
    first = probabilities(model)
    assert sizes == [4, 2, 2, 2]
    assert np.array_equal(probabilities(model), first)
    assert sizes[4:] == [2, 2, 2]


def test_networks_are_laid_out_for_a_gpu_and_left_alone_elsewhere() -> None:
    """The layout alone, which says nothing of where a network is."""
    picture = torch.rand(2, 3, 8, 8)
    for device, last in (("cpu", False), ("mps", False), ("cuda", True), ("cuda:1", True)):
        network = torch.nn.Conv2d(3, 4, 3)
        wanted = network(picture)
        made = channels_last(network, device)
        assert made.weight.is_contiguous(memory_format=torch.channels_last) == last
        torch.testing.assert_close(made(picture), wanted)
