"""Train the world's classifiers: a small residual network or a small ViT, on natural or on balanced scenes.

    python training/classifier.py --arch vit --seed 1 --out weights/classifier-vit-1.onnx
    python training/classifier.py --arch fair --scenes layers --cache pics --out classifier-fair.onnx

Nothing here tells a natural classifier about flowers, snow or nets: it learns them because in its world bees
sit on flowers and flies do not. The fair one sees every combination equally often, so it has no habits to
learn; it also says every attribute of the scene, and its features measure how far generated pictures are from
drawn ones. Needs torch and onnx; a GPU makes it minutes. Pictures are drawn on all cores, or ("layers") put
together on the GPU from layers that `layers.py` draws meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from export import run_onnx, save, write_results
from flags import settings, wait
from layers import Stack, ready, store
from pictures import Pictures, draw, mirrored, present
from safetensors.torch import load_file, save_file
from step import Muon, adamw, cosine, recorded
from torch import nn
from torch.nn import functional as F

from weakspot.world.scene import ATTRIBUTES, SUBJECTS


@dataclass
class Settings:
    """All that a training run depends on."""

    #: Where the ONNX file goes; a JSON file with the results lies beside it.
    out: str = "classifier.onnx"
    #: "resnet", "vit" or "fair" (a larger residual network that says every attribute).
    arch: str = "resnet"
    #: "natural" or "balanced" scenes to train on, or "layers": balanced, put together (see `layers.py`).
    scenes: str = "natural"
    #: Seed of initial weights and order.
    seed: int = 1
    #: Seed of the first picture.
    first: int = 100_000_000
    #: Weights to go on from, as another run left them beside its results (safetensors); "" begins anew.
    start: str = ""
    #: Pictures to train on. Few natural ones, so that rare combinations (a fly on a flower) stay rare.
    images: int = 100_000
    #: Further sets, each "first:pictures", with commas: they join as soon as another script has drawn them
    #: into the cache.
    more: str = ""
    #: Pictures held out, of the same kind.
    held_out: int = 20_000
    #: Channels of the first stage (residual networks), width of a token (ViT).
    width: int = 24
    #: Layers of the ViT.
    depth: int = 6
    steps: int = 4_700
    #: Decay and stop early after this many seconds, whatever `steps` says; 0 never.
    seconds: float = 0.0
    batch: int = 256
    peak_rate: float = 3e-3
    #: "adamw", or "muon" for the weights that are matrices.
    optimizer: str = "adamw"
    weight_decay: float = 5e-2
    #: Label smoothing.
    smoothing: float = 0.02
    #: Mirror half of the pictures (left and right change places in what is said of them).
    mirror: bool = False
    #: Compile the network where that makes a step quicker (GPU).
    compiled: bool = False
    #: Rendering processes; 0 takes all cores.
    workers: int = 0
    #: Where pictures are kept for other scripts; "" keeps none.
    cache: str = ""
    #: Tiny run on the CPU that only shows that everything works.
    smoke: bool = False


# -- models ----------------------------------------------------------------------------------------


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

    def __init__(self, s: Settings) -> None:
        super().__init__()
        w = s.width
        self.stem = nn.Sequential(nn.Conv2d(3, w, 3, 2, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU())
        self.stages = nn.Sequential(Block(w, w), Block(w, 2 * w), Block(2 * w, 3 * w), Block(3 * w, 4 * w))
        self.head = nn.Linear(4 * w, len(SUBJECTS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of images (n, 3, edge, edge) in [0, 1]."""
        return self.head(self.stages(self.stem(x * 4 - 2)).mean((2, 3)))


class Layer(nn.Module):
    """One transformer layer, normalised before each part."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_one, self.norm_two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, w = x.shape
        q, k, v = self.qkv(self.norm_one(x)).view(n, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, w))
        return x + self.mlp(self.norm_two(x))


class SmallViT(nn.Module):
    """Patches of 8 × 8 through a convolutional stem, then attention over the 64 tokens."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        w = s.width
        self.stem = nn.Sequential(
            nn.Conv2d(3, w // 4, 3, 2, 1), nn.BatchNorm2d(w // 4), nn.ReLU(),
            nn.Conv2d(w // 4, w // 2, 3, 2, 1), nn.BatchNorm2d(w // 2), nn.ReLU(),
            nn.Conv2d(w // 2, w, 3, 2, 1),
        )  # fmt: skip
        self.place = nn.Parameter(torch.randn(1, 64, w) * 0.02)
        self.layers = nn.Sequential(*(Layer(w, w // 24) for _ in range(s.depth)))
        self.norm, self.head = nn.LayerNorm(w), nn.Linear(w, len(SUBJECTS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of images (n, 3, 64, 64) in [0, 1]."""
        tokens = self.stem(x * 4 - 2).flatten(2).transpose(1, 2) + self.place
        return self.head(self.norm(self.layers(tokens)).mean(1))


class Fair(nn.Module):
    """A larger residual network that keeps where things are, with one head for all attributes."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        w = s.width
        self.stem = nn.Sequential(
            nn.Conv2d(3, w // 2, 3, 1, 1, bias=False), nn.BatchNorm2d(w // 2), nn.ReLU(),
            nn.Conv2d(w // 2, w, 3, 2, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(),
        )  # fmt: skip
        widths = [w, *[w] * 2, *[2 * w] * 3, *[3 * w] * 3, *[7 * w // 2] * 2]
        self.stages = nn.Sequential(*(Block(a, b) for a, b in pairwise(widths)))
        self.features = nn.Sequential(
            nn.Conv2d(widths[-1], 80, 1, bias=False), nn.BatchNorm2d(80), nn.ReLU(), nn.Flatten(),
            nn.Linear(80 * 16, 256, bias=False), nn.BatchNorm1d(256), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Linear(256 + widths[-1], sum(map(len, ATTRIBUTES.values())))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits of the subject, of all attributes one after the other, and features."""
        maps = self.stages(self.stem(x * 4 - 2))
        features = torch.cat([self.features(maps), maps.mean((2, 3))], 1)
        attributes = self.head(features)
        return attributes[:, : len(SUBJECTS)], attributes, features


class BothWays(nn.Module):
    """A fair network that looks at a picture and at its mirror image, and takes the mean of what it says."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        starts = np.cumsum([0, *(len(v) for v in ATTRIBUTES.values())])
        order = [int(a) + i for a, row in zip(starts, mirrored(), strict=False) for i in row]
        self.register_buffer("order", torch.tensor(order))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """As of the network."""
        _, ahead, features = self.model(x)
        _, back, others = self.model(x.flip(3))
        attributes = (ahead + back[:, self.order]) / 2
        return attributes[:, : len(SUBJECTS)], attributes, (features + others) / 2


ARCHS = {"resnet": SmallResNet, "vit": SmallViT, "fair": Fair}

# -- data ------------------------------------------------------------------------------------------


class Drawn:
    """Whole pictures on the device; further sets join when they are there."""

    def __init__(self, s: Settings, device: str) -> None:
        self.s, self.device = s, device
        self.further = [tuple(map(int, name.split(":"))) for name in s.more.split(",") if name]
        room = s.images + sum(n for _, n in self.further)
        train = draw(s.scenes, s.first, s.images, workers=s.workers, cache=s.cache)
        self.x = torch.empty((room, *train.images.shape[1:]), dtype=torch.uint8, device=device)
        self.codes = torch.empty((room, len(ATTRIBUTES)), dtype=torch.uint8, device=device)
        self.count = torch.zeros((), device=device)
        self._take(train)

    def _take(self, pictures: Pictures) -> None:
        start, stop = self.many(), self.many() + len(pictures.images)
        self.x[start:stop] = torch.from_numpy(np.array(pictures.images)).to(self.device)
        self.codes[start:stop] = torch.from_numpy(np.array(pictures.codes)).to(self.device)
        self.count.fill_(stop)

    def many(self) -> int:
        """Pictures to choose from."""
        return int(self.count)

    def more(self) -> None:
        """Take the next set if it was drawn since."""
        if self.further and present(self.s.scenes, *self.further[0], cache=self.s.cache):
            self._take(draw(self.s.scenes, *self.further.pop(0), cache=self.s.cache))

    def some(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """n random pictures in [0, 1], and the numbers of their attributes' values."""
        rows = (torch.rand(n, device=self.device) * self.count).long()
        return self.x[rows].float() / 255, self.codes[rows].long()


class Stacked:
    """Pictures put together from layers, never the same twice; `layers.py` draws them meanwhile."""

    def __init__(self, s: Settings, device: str) -> None:
        folder = Path(s.cache) / "layers"
        if s.smoke:
            store(folder, count=s.images, others=64, workers=1)
        enough = min(s.images, 50_000)
        wait(
            lambda: ready(folder) >= enough,
            f"{enough:,} figures in {folder}; to draw them run beside this: "
            f"python training/layers.py --cache {folder}",
        )
        self.stack = Stack(folder, device)
        self.more()

    def many(self) -> int:
        """Figures to choose from."""
        return self.stack.rows

    def more(self) -> None:
        """Take the figures that were drawn since."""
        self.stack.take()

    def some(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """As of `Drawn`."""
        choice = self.stack.pick(n)
        return self.stack.picture(choice), self.stack.codes(choice)


# -- from top to bottom ----------------------------------------------------------------------------


def loss_of(model: Callable[..., Any], x: torch.Tensor, codes: torch.Tensor, s: Settings) -> torch.Tensor:
    """Cross entropy of the subject, and half as much of all other attributes where the model says them."""
    if s.arch != "fair":
        return F.cross_entropy(model(x).float(), codes[:, 0], label_smoothing=s.smoothing)
    _, attributes, _ = model(x)
    parts = attributes.float().split([len(v) for v in ATTRIBUTES.values()], 1)
    losses = [F.cross_entropy(part, codes[:, i]) for i, part in enumerate(parts)]
    return losses[0] + 0.5 * torch.stack(losses[1:]).mean()


def main(s: Settings) -> None:
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if s.smoke:
        s.images, s.held_out, s.steps, s.workers, s.batch, device = 256, 128, 4, 1, 64, "cpu"
        s.width, s.depth = (24 if s.arch == "vit" else 8), 1
    torch.manual_seed(s.seed)
    kind = "natural" if s.scenes == "natural" else "balanced"
    held = draw(kind, 90_000_000_000, s.held_out, workers=s.workers, cache=s.cache)
    data: Drawn | Stacked = Stacked(s, device) if s.scenes == "layers" else Drawn(s, device)
    print(f"{data.many():,} pictures after {time.time() - began:.0f} s", flush=True)
    began_training = time.time()

    model = ARCHS[s.arch](s).to(device).to(memory_format=torch.channels_last)
    if s.start:
        model.load_state_dict(load_file(s.start, device))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    optimizer, rate = adamw(model.parameters(), device, weight_decay=s.weight_decay)
    if s.optimizer == "muon":
        names, weights = zip(*model.named_parameters(), strict=True)
        optimizer = Muon(list(weights), list(names), rate, device, aside=("stem.0", "head"))
    mirror = [torch.tensor(row, device=device) for row in mirrored()]
    total = torch.zeros((), device=device)

    def step(net: Callable[..., Any] = model) -> None:
        images, said = data.some(s.batch)
        if s.mirror:
            flip = torch.rand(s.batch, device=device) < 0.5
            images = torch.where(flip[:, None, None, None], images.flip(3), images)
            swapped = torch.stack([m[said[:, i]] for i, m in enumerate(mirror)], 1)
            said = torch.where(flip[:, None], swapped, said)
        for p in model.parameters():
            p.grad = None
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda", cache_enabled=False):
            images = images.contiguous(memory_format=torch.channels_last)
            loss = loss_of(net, images, said, s)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    model.train()
    also = partial(step, torch.compile(model)) if s.compiled else None
    again, curve, every = recorded(step, device, also=also), [], max(1, s.steps // 12)
    total.zero_()  # of the steps that were tried while recording
    began_steps, done, gone = time.time(), 0, 0.0
    while gone < 1:
        done += 1
        gone = max(done / s.steps, (time.time() - began_steps) / s.seconds if s.seconds else 0.0)
        rate.fill_(cosine(min(gone, 1.0), s.peak_rate))
        again()
        if done % 100 == 0:
            data.more()
        if done % every == 0:
            loss = total.item() / every
            total.zero_()
            accuracy = held_out_accuracy(model, held, device)
            model.train()
            curve.append({"step": done, "loss": loss, "held_out": accuracy})
            keep(model, Path(s.out))
            print(
                f"{Path(s.out).stem} step {done:,} of {data.many():,} pictures, loss {loss:.4f} "
                f"held out {accuracy:.4f} {time.time() - began_training:.0f} s",
                flush=True,
            )

    seconds = time.time() - began_training
    keep(model, Path(s.out))
    names = ("logits", "attributes", "features") if s.arch == "fair" else ("logits",)
    outputs = {name: {0: "n"} for name in names}
    save(model, (torch.zeros(2, 3, 64, 64),), Path(s.out), inputs={"image": {0: "n"}}, outputs=outputs)
    results = measure(Path(s.out), held, s)
    if s.arch == "fair":
        both = Path(s.out).with_name(f"{Path(s.out).stem}-both.onnx")
        save(BothWays(model), (torch.zeros(2, 3, 64, 64),), both, inputs={"image": {0: "n"}}, outputs=outputs)
        results["both_ways"] = measure(both, held, s)
    results |= {"training_seconds": seconds, "steps_done": done, "pictures": data.many()}
    results |= {"settings": vars(s), "curve": curve}
    write_results(Path(s.out).with_suffix(".json"), results)


def keep(model: nn.Module, out: Path) -> None:
    """The weights beside the results: a run that ends early is not lost (`start` goes on from them)."""
    kept = {k: v.contiguous().half() if v.is_floating_point() else v for k, v in model.state_dict().items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    save_file(kept, out.with_suffix(".safetensors"))


@torch.no_grad()
def held_out_accuracy(model: nn.Module, held: Pictures, device: str) -> float:
    """Share of held-out subjects named rightly, by the module as it is."""
    model.eval()
    right = 0
    for i in range(0, len(held.images), 2000):
        x = torch.from_numpy(np.array(held.images[i : i + 2000])).to(device).float() / 255
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            out = model(x)
        logits = out[0] if isinstance(out, tuple) else out
        right += int((logits.argmax(1).cpu().numpy() == held.codes[i : i + 2000, 0]).sum())
    return right / len(held.images)


def measure(path: Path, held: Pictures, s: Settings) -> dict[str, object]:
    """What the written file does on the held-out pictures."""
    n = min(s.held_out, 10_000)
    outputs = run_onnx(path, {"image": np.asarray(held.images[:n], np.float32) / 255})
    right = outputs[0].argmax(1) == held.codes[:n, 0]
    results: dict[str, object] = {"held_out": float(right.mean()), "n": n, "bytes": path.stat().st_size}
    results["per_label"] = {
        name: float(right[held.codes[:n, 0] == i].mean()) for i, name in enumerate(SUBJECTS)
    }
    if s.arch == "fair":
        ends = np.cumsum([len(v) for v in ATTRIBUTES.values()])
        parts = np.split(outputs[1], ends[:-1], axis=1)
        results["per_attribute"] = {
            name: float((parts[i].argmax(1) == held.codes[:n, i]).mean()) for i, name in enumerate(ATTRIBUTES)
        }
    return results


if __name__ == "__main__":
    main(settings(Settings, __doc__))
