"""Without torch: the world's classifiers, encoder and captioner run, and the generator says its extra."""

from __future__ import annotations

import subprocess
import sys

#: A process in which torch, and what stands on it, cannot be imported.
CODE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "diffusers", "safetensors", "onnx"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError
from weakspot.world.grammar import describe, parse
from weakspot.world.nature import sample
from weakspot.world.render import render
from random import Random

scenes = [sample(parse(f"a photo of a {who}."), Random(i)) for i, who in enumerate(("car", "crab", "duck"))]
images = [render(scene, i) for i, scene in enumerate(scenes)]
cases = [Case(Hypothesis("a picture"), i, i, image, "", "") for i, image in enumerate(images)]
for name in ("classifier", "classifier-resnet-2", "classifier-vit-1", "classifier-vit-2", "classifier-fair"):
    print(*(output.answer for output in MODELS.load(f"world:{name}").answer(cases)))
encoder = MODELS.load("world:encoder")
alike = encoder.embed_images(images) @ encoder.embed_texts([describe(scene) for scene in scenes]).T
print(*alike.argmax(1))
print(*(parse(text).allowed[0][1][0] for text in MODELS.load("world:captioner").captions(images)))
try:
    MODELS.load("world:generator")
except WeakspotError as error:
    print(error.fix)
"""


def test_only_the_generator_needs_torch() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[:5] == ["car crab duck"] * 5
    assert told[5:] == ["0 1 2", "car crab duck", "pip install 'weakspot[hf]'"]
