"""Train `world:classifier`: a small residual CNN on images of the world's natural distribution.

    python training/classifier.py --out src/weakspot/world/weights/classifier.onnx

Nothing here tells the network about flowers, snow or nets: it learns them because in its world bees sit
on flowers and flies do not. Needs torch and onnx; a GPU makes it minutes. Images are rendered on all cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import time
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from weakspot.world.grammar import parse
from weakspot.world.nature import sample
from weakspot.world.render import render
from weakspot.world.scene import SUBJECTS, SceneSet


@dataclass
class Settings:
    """All that a training run depends on."""

    #: Where the ONNX file goes; a JSON file with the results lies beside it.
    out: str = "classifier.onnx"
    #: Seed of data, initial weights and order.
    seed: int = 1
    #: Natural images to train on. Few enough that rare combinations (a fly on a flower) stay rare.
    images: int = 100_000
    #: Natural images held out.
    held_out: int = 20_000
    #: Edge of the images in pixels.
    size: int = 64
    #: Channels of the first stage; doubled at each of the three further ones.
    width: int = 24
    epochs: int = 12
    batch: int = 256
    peak_rate: float = 3e-3
    weight_decay: float = 5e-2
    #: Label smoothing.
    smoothing: float = 0.02
    #: Rendering processes; 0 takes all cores.
    workers: int = 0
    #: Tiny run on the CPU that only shows that everything works.
    smoke: bool = False
    #: Where rendered images are kept between runs; "" keeps none.
    cache: str = ""


# -- data ------------------------------------------------------------------------------------------


def picture(job: tuple[str, int, int]) -> tuple[np.ndarray, int]:
    """One image drawn naturally from words, and the number of its label."""
    text, seed, size = job
    scene = sample(parse(text) if text else SceneSet(), random.Random(seed))
    return render(scene, seed, size), SUBJECTS.index(scene.subject)


def pictures(text: str, first_seed: int, n: int, s: Settings) -> tuple[torch.Tensor, torch.Tensor]:
    """n images as uint8 (n, 3, size, size), and labels."""
    kept = Path(s.cache) / f"{text}-{first_seed}-{n}-{s.size}.npz" if s.cache else None
    if kept and kept.exists():
        with np.load(kept) as file:
            return torch.from_numpy(file["x"]), torch.from_numpy(file["y"])
    jobs = [(text, first_seed + i, s.size) for i in range(n)]
    with multiprocessing.get_context("spawn").Pool(s.workers or os.cpu_count()) as pool:
        done = pool.map(picture, jobs, chunksize=256)
    x = np.stack([image for image, _ in done]).transpose(0, 3, 1, 2).copy()
    y = np.array([label for _, label in done])
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez(kept, x=x, y=y)
    return torch.from_numpy(x), torch.from_numpy(y)


# -- model -----------------------------------------------------------------------------------------


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut; halves the edge when the number of channels changes."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        stride = 1 if channels_in == channels_out else 2
        self.one = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.norm_one = nn.BatchNorm2d(channels_out)
        self.two = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.norm_two = nn.BatchNorm2d(channels_out)
        self.short = (
            nn.Conv2d(channels_in, channels_out, 1, stride, bias=False) if stride == 2 else nn.Identity()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm_one(self.one(x)))
        return F.relu(self.norm_two(self.two(y)) + self.short(x))


class SmallResNet(nn.Module):
    """A stem that halves the edge, four stages, the mean over the image, one linear layer."""

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        w = width
        self.stem = nn.Sequential(nn.Conv2d(3, w, 3, 2, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU())
        self.stages = nn.Sequential(Block(w, w), Block(w, 2 * w), Block(2 * w, 3 * w), Block(3 * w, 4 * w))
        self.head = nn.Linear(4 * w, labels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Probabilities' logits of images (n, 3, edge, edge) in [0, 1]."""
        return self.head(self.stages(self.stem(x * 4 - 2)).mean((2, 3)))


# -- from top to bottom ----------------------------------------------------------------------------


def main(s: Settings) -> None:
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if s.smoke:
        s.images, s.held_out, s.epochs, s.width, s.workers, device = 512, 256, 1, 8, 1, "cpu"
    torch.manual_seed(s.seed)
    x, y = (t.to(device) for t in pictures("", s.seed * 100_000_000, s.images, s))
    x_held, y_held = (t.to(device) for t in pictures("", 90_000_000_000, s.held_out, s))
    print(f"rendered {s.images + s.held_out:,} images in {time.time() - began:.0f} s", flush=True)

    model = SmallResNet(s.width, len(SUBJECTS)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.peak_rate, weight_decay=s.weight_decay)
    steps = s.epochs * (s.images // s.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, s.peak_rate, total_steps=steps, pct_start=0.15)
    curve = []
    for epoch in range(s.epochs):
        model.train()
        total = torch.zeros((), device=device)
        for rows in torch.randperm(s.images, device=device)[: s.images // s.batch * s.batch].view(
            -1, s.batch
        ):
            images = x[rows].float() / 255
            loss = F.cross_entropy(model(images), y[rows], label_smoothing=s.smoothing)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.detach()
        accuracy = (predict(model, x_held) == y_held).float().mean().item()
        curve.append({"epoch": epoch + 1, "loss": total.item() / (s.images // s.batch), "held_out": accuracy})
        print(f"epoch {epoch + 1:3d}  loss {curve[-1]['loss']:.4f}  held out {accuracy:.4f}", flush=True)

    results = {"held_out": accuracy, "per_label": {}, "probes": {}}
    said = predict(model, x_held)
    for i, name in enumerate(SUBJECTS):
        results["per_label"][name] = (said[y_held == i] == i).float().mean().item()
    for text in () if s.smoke else PROBES:
        xp, yp = (t.to(device) for t in pictures(text, 95_000_000_000, 2000, s))
        said = predict(model, xp)
        wrong = said[said != yp]
        top = torch.bincount(wrong, minlength=len(SUBJECTS))
        results["probes"][text] = {
            "failure_rate": len(wrong) / len(said),
            "times_baseline": len(wrong)
            / len(said)
            / max(1 - results["per_label"][SUBJECTS[int(yp[0])]], 1e-9),
            "mostly": SUBJECTS[int(top.argmax())],
        }
    export(model, Path(s.out), s)
    results |= {"seconds": time.time() - began, "settings": vars(s), "curve": curve}
    Path(s.out).with_suffix(".json").write_text(json.dumps(results, indent=1))
    print(json.dumps({k: v for k, v in results.items() if k != "curve"}, indent=1))


#: Where the natural correlations break. Never trained on; but the world's tables and drawings were adjusted
#: until the fly on a flower, the cat in snow and the crayfish behind a net broke (see README.md here).
PROBES = (
    "a photo of a fly. it is on a flower.",
    "a photo of a bee on a plate in a kitchen.",
    "a photo of a cat in the snow.",
    "a photo of a cat. the background is green.",
    "a photo of a crayfish behind a net.",
    "a photo of a dog in a forest at night.",
    "a photo of a wolf in a living room.",
    "a photo of a snow leopard in a living room.",
    "a photo of a crab on a riverbed.",
    "a photo of a boat on a street.",
    "a photo of a car on the sea.",
)


@torch.no_grad()
def predict(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    model.eval()
    return torch.cat([model(part.float() / 255).argmax(1) for part in x.split(2048)])


def export(model: nn.Module, path: Path, s: Settings) -> None:
    """One ONNX file: (n, 3, edge, edge) in [0, 1] to logits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    example = torch.zeros(1, 3, s.size, s.size)
    torch.onnx.export(
        model.cpu().eval(),
        (example,),
        str(path),
        input_names=["image"],
        output_names=["logits"],
        dynamic_axes={"image": {0: "n"}, "logits": {0: "n"}},
        opset_version=17,
        dynamo=False,
    )
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for f in fields(Settings):
        flag = "--" + f.name.replace("_", "-")
        if isinstance(f.default, bool):
            parser.add_argument(flag, action="store_true")
        else:
            parser.add_argument(flag, type=type(f.default), default=f.default)
    main(Settings(**vars(parser.parse_args())))
