"""`weakspot doctor MODEL` as a person uses it: good models, and every kind of bad one."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weakspot.after import model_check as module
from weakspot.cli import run as cli

CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
MINE = """
import numpy as np

def flat(images):
    return np.stack([images[..., c].mean((1, 2)) for c in range(3)], 1).astype(float) / 255

def probabilities(images):
    return flat(images) / flat(images).sum(1, keepdims=True)

def logits(images):
    return 20 * flat(images) - 9

def part(images):
    return probabilities(images)[:, :2]

def fickle(images, state=[0]):
    state[0] += 1
    return np.roll(np.tile([0.7, 0.2, 0.1], (len(images), 1)), state[0], axis=1)

def breaks(images):
    raise ValueError("no such thing\\n  as this")

class Falls:
    def __init__(self):
        1 / 0

class Long:
    def embed_texts(self, texts):
        return np.full((len(texts), 3), 2.0, np.float32)
"""


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)
    monkeypatch.setattr(module, "MEASURED", 0.01)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "unreadable.py").write_text("def f(:")
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")

    def run(*args: str) -> tuple[int, str, str]:
        code = cli(["doctor", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_good_models(doctor: Any) -> None:
    code, out, _ = doctor("world:classifier")
    assert code == 0
    assert "model    world:classifier · cpu · float32 · batch 64\n" in out
    assert "classifier" in out
    assert "MB of memory" in out
    assert "pictures/s" in out
    assert "of 80 sanity pictures (world:80) are answered correctly" in out
    for name, words in (("ngrams", "rows of length 1"), ("extract:2", "answer per text")):
        code, out, _ = doctor(name)
        assert (code, words in out, out.endswith("ok\n")) == (0, True, True)


def test_debug_shows_where_a_model_raised(doctor: Any) -> None:
    name = "python:mine:breaks?labels=labels.txt"
    code, _, err = doctor(name)
    assert (code, err) == (1, "")
    code, out, err = doctor(name, "--debug")
    assert code == 1
    assert "--debug shows where" in out
    assert 'mine.py", line' in err
    assert "in breaks" in err
    assert "in breaks" not in doctor(name)[2]


def test_as_json(doctor: Any) -> None:
    code, out, _ = doctor("python:mine:logits?labels=labels.txt", "--json")
    facts = json.loads(out)
    assert (code, facts["ok"], facts["ports"]) == (0, True, ["classifier"])
    assert facts["speed"][0] > 0
    assert any("was not checked" in note for note in facts["notes"])


@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        ("python:mine:flat?labels=labels.txt", "neither probabilities nor plain logits", "outputs=logits"),
        ("python:mine:logits?labels=labels.txt&outputs=probabilities", "are not probabilities", "sum to 1"),
        ("python:mine:part?labels=labels.txt", "2) for 3 labels", "one label per output"),
        ("python:mine:fickle?labels=labels.txt", "in another order", "evaluation mode"),
        ("python:mine:breaks?labels=labels.txt", "ValueError: no such thing", "correct it"),
        ("python:mine:Long", "a vector of length 3.464", "divide each row"),
    ],
)
def test_models_that_break_their_contract(name: str, what: str, fix: str, doctor: Any) -> None:
    code, out, _ = doctor(name)
    assert code == 1
    assert f"WRONG    {out.split('WRONG    ')[1].splitlines()[0]}" in out
    assert what in " ".join(out.split())  # however it is wrapped
    assert fix in " ".join(out.split())


class Deaf:
    """A generator that makes noise alone, whatever the words are."""

    def generate(self, prompts: list[str], seeds: list[int]) -> list[Any]:
        return [np.random.default_rng(s).integers(0, 255, (8, 8, 3)).astype(np.uint8) for s in seeds]


class DeafAndFar(Deaf):
    """One that is asked as seldom as can be."""

    endpoint = "paid by the picture"


@pytest.mark.parametrize(("model", "what"), [(Deaf(), "' give the same"), (DeafAndFar(), "other words give")])
def test_a_generator_that_does_not_listen_is_found(
    model: Deaf, what: str, doctor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "part", lambda *_: model)
    code, out, _ = doctor("some:generator")
    assert code == 1
    assert what in out
    assert "check the tokenizer" in out


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("hf:someone/nothing", "the model hub did not give it"),
        ("python:mine:gone", "cannot be imported"),
        ("python:mine:Falls", "cannot be loaded: ZeroDivisionError"),
        ("python:unreadable:f?labels=labels.txt", "cannot be loaded: SyntaxError"),
        ("oonx:model", "no model is called"),
    ],
)
def test_models_that_cannot_be_loaded(
    name: str, what: str, doctor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.startswith("hf:"):
        hub = pytest.importorskip("huggingface_hub")
        pytest.importorskip("transformers")

        def offline(*args: Any, **how: Any) -> None:
            raise OSError("Cannot reach the hub: offline mode is enabled.\nMore lines")

        monkeypatch.setattr(hub, "snapshot_download", offline)
    code, _, err = doctor(name)
    assert code == 1
    assert what in err
    assert len(err.strip().splitlines()) == 2  # what, and the way out


def test_an_endpoint_that_answers_html(doctor: Any) -> None:
    class Login(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html>\n<title>Log in</title>")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Login)
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        code, out, _ = doctor(f"http://127.0.0.1:{server.server_port}/predict?labels=labels.txt")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert code == 1
    assert "answers with HTML, not JSON" in out


def test_labels_in_the_wrong_order_are_found(doctor: Any, data: Path, tmp_path: Path) -> None:
    with np.load(data / "data" / "cifar10" / "cifar10-test-6000.npz") as file:
        pictures, labels = file["images"][:240], file["labels"][:240]
    for i, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
        folder = tmp_path / "pictures" / CIFAR[int(label)]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / f"{i}.png")
    model = data / "models" / "resnet-cifar10" / "resnet20.onnx"
    orders = {
        "right": (CIFAR, 0, "sanity pictures"),
        "shifted": ((*CIFAR[1:], CIFAR[0]), 1, "shifted by one"),
        "swapped": ([*CIFAR[:3], "dog", "deer", "cat", *CIFAR[6:]], 1, "cat is answered as dog"),
        "mixed": ([CIFAR[i] for i in (4, 6, 8, 1, 0, 9, 2, 3, 5, 7)], 1, "classes are in alphabetical order"),
    }
    for name, (order, wanted, words) in orders.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(order))
        code, out, _ = doctor(f"onnx:{model}?labels={name}.txt&threads=1", "--images", "pictures")
        assert (code, words in out) == (wanted, True), out


def test_pictures_without_a_model_are_explained(doctor: Any) -> None:
    code, _, err = doctor("--images", "somewhere")
    assert code == 1
    assert "weakspot doctor MODEL" in err
