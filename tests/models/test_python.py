from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, SOURCES, Case, Classifier, Hypothesis, Target, WeakspotError, case_seed
from weakspot.models.python import FunctionClassifier

MODULE = """
import numpy as np
from weakspot.core import Output

def probabilities(images):
    assert images.dtype == np.uint8 and images.shape[1:] == (2, 2, 3)
    return np.stack([images[:, 0, 0, 0] < 100, images[:, 0, 0, 0] >= 100], 1).astype(float)

def logits(images):
    return [[-3.0, 4.0] for _ in images]

def words(images):
    return np.asarray(["dark" if i.mean() < 100 else "light" for i in images])

def short(images):
    return [[0.5, 0.5]]

def nothing(images):
    return None

class Model:
    labels, parents = ("dark", "light"), {}
    def answer(self, cases):
        return [Output("dark") for _ in cases]

class Demanding:
    def __init__(self, weights):
        self.weights = weights

model = Model()
number = 3
"""


def case(value: int) -> Case:
    hypothesis = Hypothesis("a square.")
    return Case(hypothesis, 0, case_seed(0, hypothesis, 0), np.full((2, 2, 3), value, np.uint8), "dark")


CASES = [case(10), case(200)]


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)
    Path("mine.py").write_text(MODULE)
    Path("broken.py").write_text("def f(:\n")
    Path("labels.txt").write_text("dark\nlight\n")


def test_a_function_to_probabilities() -> None:
    model = MODELS.load("python:mine:probabilities?labels=labels.txt")
    assert isinstance(model, FunctionClassifier)
    assert isinstance(model, Classifier)
    assert [o.answer for o in model.answer(CASES)] == ["dark", "light"]
    assert all(o.scores is not None for o in model.answer(CASES))


def test_a_function_to_logits() -> None:
    [output, _] = MODELS.load("python:mine:logits?labels=labels.txt").answer(CASES)
    assert output.answer == "light"
    assert output.scores.of("light") == pytest.approx(1 / (1 + np.exp(-7)))


def always(answer: Any) -> Callable[[Any], Any]:
    return lambda images: answer


def test_a_function_to_numbers_of_labels() -> None:
    for answers in (np.array([1, 0]), [1, 0]):
        model = FunctionClassifier(always(answers), labels=("dark", "light"))
        assert [o.answer for o in model.answer(CASES)] == ["light", "dark"]
    for wrong in ([2, 0], [-1, 0]):
        with pytest.raises(WeakspotError, match=r"label number -?\d of 2"):
            FunctionClassifier(always(wrong), labels=("dark", "light")).answer(CASES)


def test_a_function_to_tensors() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(2, requires_grad=True)
    grown = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    for answer in (grown * weight, list(grown * weight), grown.bfloat16(), torch.tensor([1, 0])):
        model = FunctionClassifier(always(answer), labels=("dark", "light"))
        assert [o.answer for o in model.answer(CASES)] == ["light", "dark"]


def test_a_function_that_runs_out_of_memory_is_given_less(caplog: pytest.LogCaptureFixture) -> None:
    seen = []

    class OutOfMemoryError(RuntimeError):  # as torch calls it
        pass

    def tight(images: Any) -> Any:
        seen.append(len(images))
        if len(images) > 2:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return images[:, 0, 0, 0] // 200

    model = FunctionClassifier(tight, labels=("dark", "light"), name="python:mine:tight", batch=8)
    assert model.about == "python:mine:tight · cpu · batch 8"
    for _ in range(2):
        assert [o.answer for o in model.answer([*CASES, *CASES, CASES[0]])] == ["dark", "light"] * 2 + [
            "dark"
        ]
    assert seen == [5, 2, 2, 1, 2, 2, 1]
    assert "out of memory; batches of 2 from now on" in caplog.text
    assert model.batch == 2
    with pytest.raises(RuntimeError, match="of another kind"):
        FunctionClassifier(broken, labels=("dark", "light")).answer(CASES)


def broken(images: Any) -> Any:
    raise RuntimeError("of another kind")


def test_batch_and_size_are_options() -> None:
    model = MODELS.load("python:mine:words?labels=labels.txt&batch=1&size=8x9")
    assert model.batch == 1
    seen = []

    def shapes(images: Any) -> Any:
        seen.append(images.shape)
        return [0] * len(images)

    FunctionClassifier(shapes, labels="ab", size=(8, 9)).answer(CASES)
    assert seen == [(2, 8, 9, 3)]


def test_a_function_to_labels() -> None:
    outputs = MODELS.load("python:mine:words?labels=labels.txt").answer(CASES)
    assert [o.answer for o in outputs] == ["dark", "light"]
    assert all(type(o.answer) is str and o.scores is None for o in outputs)


@pytest.mark.parametrize("name", ["python:mine:Model", "python:mine:model"])
def test_a_target_is_taken_as_it_is(name: str) -> None:
    model = MODELS.load(name)
    assert isinstance(model, Target)
    assert [o.answer for o in model.answer(CASES)] == ["dark", "dark"]


def test_a_result_of_the_wrong_form_is_an_error() -> None:
    with pytest.raises(TypeError):
        MODELS.load("python:mine:nothing?labels=labels.txt").answer(CASES)
    assert len(MODELS.load("python:mine:short?labels=labels.txt").answer(CASES)) == 1  # the engine refuses it
    with pytest.raises(WeakspotError, match="for 3 labels"):
        FunctionClassifier(lambda images: [[0.5, 0.5]] * len(images), labels="abc").answer(CASES)


@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        ("python:mine", "names no attribute", "python:package.module:attr"),
        ("python:absent:f", "cannot be imported: No module named 'absent'", "PYTHONPATH"),
        ("python:mine:absent", "has no attribute 'absent'", "spelling"),
        ("python:mine:number", "neither a model nor a function", "docs/concepts.md"),
        ("python:mine:logits", "its labels must be given", "?labels=labels.txt"),
        ("python:mine:logits?label=labels.txt", "no option 'label'", "labels"),
        ("python:mine:logits?labels=gone.txt", "gone.txt cannot be read", "one label a line"),
    ],
)
def test_wrong_names_are_explained(name: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError) as error:
        MODELS.load(name)
    assert what in error.value.what
    assert fix in error.value.fix


def test_sources_and_judges_can_be_python_too() -> None:
    assert SOURCES.load("python:mine:Model").labels == ("dark", "light")
