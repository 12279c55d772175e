"""What tests of several rooms need: the test material, and a hunt that takes a second."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# As in an activated environment: the `weakspot` under test is the one the shell finds.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# One worker per core: threads of a library would only wait for each other, and burn the core meanwhile.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Reports draw their figures without Vega-Lite, which takes a second to start; its own tests use it.
os.environ.setdefault("WEAKSPOT_CHARTS", "plain")

ROOT = Path(__file__).resolve().parents[1]

#: A source that knows what it drew and a classifier that takes every fly on a flower for a bee. The
#: picture's first pixel carries what matters: red 200 is a flower, green is noise.
TOY = '''
import time
from random import Random

import numpy as np

from weakspot.core import Case, Output, case_seed

LABELS = ("fly", "bee", "cat")


class Meadow:
    def __init__(self, flowers=0.05, pause=0.0):
        self.flowers, self.pause = flowers, pause

    def caption(self, hypothesis, index, flower, where):
        return f"{hypothesis.text.split('.')[0]}. it is on a {flower}. it is on the {where}."

    def draw(self, hypothesis, indices, *, seed):
        cases = []
        for index in indices:
            own = case_seed(seed, hypothesis, index)
            rng = Random(own)
            on_flower = "flower" in hypothesis.text or rng.random() < self.flowers
            colour = "yellow " if "yellow" in hypothesis.text or rng.random() < 0.5 else ""
            side = rng.choice(["left", "right"])
            where = next((w for w in ("left", "right") if w in hypothesis.text), side)
            image = np.zeros((8, 8, 3), np.uint8)
            image[0, 0] = (200 if on_flower else 0, rng.randrange(256), 0)
            what = f"{colour}flower" if on_flower else "leaf"
            caption = self.caption(hypothesis, index, what, where)
            cases.append(Case(hypothesis, index, own, image, "fly", caption))
        time.sleep(self.pause)
        return cases


class Slow(Meadow):
    def __init__(self):
        super().__init__(pause=0.15)


class Hostile(Meadow):
    """Captions as nobody should write them."""

    def caption(self, hypothesis, index, flower, where):
        if index % 100 == 1:
            return "x" * 1_000_000
        return super().caption(hypothesis, index, flower, where) + (
            " <script>alert(1)</script> \\x1b[31mred\\x1b[0m\\x07 on a " + flower + "\\u202e.\\ud800"
        )


def classify(images):
    """Probabilities: most flies on flowers are bees; one in a hundred others is a cat."""
    flower, noise = images[:, 0, 0, 0] == 200, images[:, 0, 0, 1].astype(int)
    said = np.where(flower & (noise < 200), 1, np.where(noise < 3, 2, 0))
    return np.eye(3, dtype=np.float32)[said] * 0.9 + 0.1 / 3


class Classifier:
    labels, parents = LABELS, {"fly": "insect", "bee": "insect"}

    def answer(self, cases):
        rows = classify(np.stack([c.input for c in cases]))
        return [Output(LABELS[int(r.argmax())]) for r in rows]


class HostileAnswers(Classifier):
    labels = ()
    wrong = "<script>alert(2)</script>\\x1b[2J\\x1b]0;owned\\x07\\u202e"

    def answer(self, cases):
        said = [o.answer if o.answer == "fly" else self.wrong for o in super().answer(cases)]
        return [
            Output("w" * 1_000_000 if c.index % 300 == 7 else a) for c, a in zip(cases, said, strict=True)
        ]


class Breaking(Classifier):
    def answer(self, cases):
        raise ConnectionError("the server \\x1b[31mis gone")


class Flaky(Classifier):
    """Every tenth case is an error."""

    def answer(self, cases):
        if any(c.index % 10 == 3 for c in cases):
            raise TimeoutError("no answer")
        return super().answer(cases)
'''


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first, so that no worker waits for another at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def data() -> Path:
    """The test material (models, data), named by WEAKSPOT_DATA; needed if WEAKSPOT_REQUIRE_DATA=1."""
    folder = Path(os.environ.get("WEAKSPOT_DATA", ROOT.parent / "shared"))
    if not (folder / "models").is_dir():
        message = f"no test material in {folder} (set WEAKSPOT_DATA)"
        if os.environ.get("WEAKSPOT_REQUIRE_DATA") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def smoke_generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `training/generator.py --smoke` makes, once for all workers; copy it to change it."""
    import fcntl
    import subprocess

    pytest.importorskip("diffusers")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "smoke" / "generator"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder.parent / "whole").exists():
            script = str(ROOT / "training" / "generator.py")
            done = subprocess.run(
                [sys.executable, "-W", "ignore", script, "--smoke", "--out", str(folder)],
                capture_output=True,
                text=True,
                timeout=300,
                env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
                check=False,
            )
            assert done.returncode == 0, done.stderr[-3000:]
            (folder.parent / "whole").touch()
    return folder


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the module `toy` and `labels.txt` in it."""
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "labels.txt").write_text("fly\nbee\ncat\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "toy", raising=False)
    return tmp_path
