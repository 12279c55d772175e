"""Train `world:encoder`: an image tower and a text tower that agree on what belongs together.

    python training/encoder.py --out weights

Trained as CLIP is: natural pictures with captions in many forms, each picture's caption against all others of
the batch, a learned temperature. Nothing is done for or against order, counts and negation: what it confuses
is what this training leaves confused. Needs torch and onnx; a GPU makes it minutes.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from export import run_onnx, save, write_results
from flags import settings
from pictures import LENGTH, decode, draw
from step import adamw, cosine, recorded
from texts import default_tokens
from torch import nn
from torch.nn import functional as F

from weakspot.world.grammar import describe
from weakspot.world.words import Words


@dataclass
class Settings:
    """All that a training run depends on."""

    #: Folder for encoder-image.onnx, encoder-text.onnx, words.json and encoder.json (the results).
    out: str = "."
    seed: int = 1
    #: Seed of the first picture.
    first: int = 200_000_000
    #: Natural pictures to train on, each with three captions.
    images: int = 400_000
    #: Natural pictures held out, from which distinct scenes are taken.
    held_out: int = 20_000
    #: Width of the towers.
    width: int = 160
    #: Length of the shared vectors.
    shared: int = 256
    #: Layers of attention over the 64 places of a picture.
    image_layers: int = 2
    #: Layers of attention over the words.
    text_layers: int = 4
    steps: int = 3_000
    batch: int = 2048
    peak_rate: float = 1e-3
    weight_decay: float = 0.1
    workers: int = 0
    cache: str = ""
    smoke: bool = False


# -- model -----------------------------------------------------------------------------------------


class Layer(nn.Module):
    """One transformer layer, normalised before each part."""

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm_one, self.norm_two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, w = x.shape
        q, k, v = self.qkv(self.norm_one(x)).view(n, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, t, w))
        return x + self.mlp(self.norm_two(x))


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


class ImageTower(nn.Module):
    """Convolutions down to 8 × 8 places, attention between them, one vector of length 1."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        w = s.width
        stem = nn.Conv2d(3, w // 4, 3, 2, 1, bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(w // 4), nn.ReLU())
        widths = [w // 4, w // 4, w // 2, w // 2, w]
        self.stages = nn.Sequential(*(Block(a, b) for a, b in pairwise(widths)))
        self.place = nn.Parameter(torch.randn(1, 64, w) * 0.02)
        self.layers = nn.Sequential(*(Layer(w, w // 32, causal=False) for _ in range(s.image_layers)))
        self.norm, self.head = nn.LayerNorm(w), nn.Linear(w, s.shared, bias=False)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Vectors of images (n, 3, 64, 64) in [0, 1]."""
        tokens = self.stages(self.stem(image * 4 - 2)).flatten(2).transpose(1, 2) + self.place
        return F.normalize(self.head(self.norm(self.layers(tokens)).mean(1)), dim=1)


class TextTower(nn.Module):
    """Causal attention over the words; the vector stands at the end token."""

    def __init__(self, s: Settings, tokens: int) -> None:
        super().__init__()
        self.words = nn.Embedding(tokens, s.width)
        self.place = nn.Parameter(torch.randn(1, LENGTH, s.width) * 0.02)
        layers = (Layer(s.width, s.width // 32, causal=True) for _ in range(s.text_layers))
        self.layers = nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(s.width), nn.Linear(s.width, s.shared, bias=False)
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Vectors of texts (n, length), [beginning, words…, end, padding…]."""
        x = self.layers(self.words(tokens) + self.place[:, : tokens.shape[1]])
        at_end = (tokens == Words.eos).unsqueeze(-1).to(x.dtype)
        return F.normalize(self.head(self.norm((x * at_end).sum(1))), dim=1)


# -- from top to bottom ----------------------------------------------------------------------------


def main(s: Settings) -> None:
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if s.smoke:
        s.images, s.held_out, s.steps, s.workers, s.batch, s.width, s.text_layers = 256, 256, 4, 1, 64, 32, 1
        device = "cpu"
    torch.manual_seed(s.seed)
    train = draw("natural", s.first, s.images, texts=3, workers=s.workers, cache=s.cache)
    held = draw("natural", 90_000_000_000, s.held_out, workers=s.workers, cache=s.cache)
    x = torch.from_numpy(np.array(train.images)).to(device)
    texts = torch.from_numpy(np.array(train.texts)).to(device)
    print(f"{s.images + s.held_out:,} pictures after {time.time() - began:.0f} s", flush=True)
    began_training = time.time()

    words = Words(default_tokens())
    eyes, ears = ImageTower(s).to(device), TextTower(s, len(words)).to(device)
    eyes.to(memory_format=torch.channels_last)
    warmth = nn.Parameter(torch.tensor(2.66, device=device))
    parameters = [*eyes.parameters(), *ears.parameters()]
    print(f"{sum(p.numel() for p in parameters):,} parameters", flush=True)
    groups = [
        {"params": [p for p in parameters if p.ndim > 1]},
        {"params": [p for p in parameters if p.ndim <= 1] + [warmth], "weight_decay": 0.0},
    ]
    optimizer, rate = adamw(groups, device, weight_decay=s.weight_decay, betas=(0.9, 0.98))
    target = torch.arange(s.batch, device=device)
    total = torch.zeros((), device=device)

    def step() -> None:
        rows = torch.randint(s.images, (s.batch,), device=device)
        tokens = texts[rows, torch.randint(3, (s.batch,), device=device)].long()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda", cache_enabled=False):
            images = (x[rows].float() / 255).contiguous(memory_format=torch.channels_last)
            seen, read = eyes(images), ears(tokens)
        alike = warmth.clamp(max=4.6052).exp() * seen.float() @ read.float().T
        loss = (F.cross_entropy(alike, target) + F.cross_entropy(alike.T, target)) / 2
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        total.add_(loss.detach())

    again, curve, every = recorded(step, device), [], max(1, s.steps // 20)
    total.zero_()  # of the steps that were tried while recording
    for done in range(1, s.steps + 1):
        rate.fill_(cosine(done / s.steps, s.peak_rate))
        again()
        if done % every == 0:
            curve.append({"step": done, "loss": total.item() / every})
            total.zero_()
            print(
                f"encoder step {done:,} loss {curve[-1]['loss']:.4f} heat {warmth.exp().item():.0f} "
                f"{time.time() - began_training:.0f} s",
                flush=True,
            )

    seconds = time.time() - began_training
    out = Path(s.out)
    save(eyes, (torch.zeros(2, 3, 64, 64),), out / "encoder-image.onnx",
         inputs={"image": {0: "n"}}, outputs={"vector": {0: "n"}})  # fmt: skip
    example = torch.from_numpy(words.batch(["a photo of a fly.", "a bee."], LENGTH))
    save(ears, (example,), out / "encoder-text.onnx",
         inputs={"tokens": {0: "n", 1: "length"}}, outputs={"vector": {0: "n"}})  # fmt: skip
    (out / "words.json").write_text(json.dumps(list(words.tokens)))
    results: dict[str, object] = {"natural": retrieval(out, words, held, s)}
    balanced = draw("balanced", 91_000_000_000, min(s.held_out, 1_500), workers=s.workers, cache=s.cache)
    results["balanced"] = retrieval(out, words, balanced, s)
    results |= {"training_seconds": seconds, "settings": vars(s), "curve": curve}
    write_results(out / "encoder.json", results)


def retrieval(out: Path, words: Words, held, s: Settings) -> dict[str, object]:
    """Recall among 1,000 distinct scenes by the written files, and the scenes that are confused."""
    seen: dict[str, int] = {}
    order = list(range(len(held.images)))
    random.Random(s.seed).shuffle(order)
    for i in order:
        seen.setdefault(describe(decode(held.codes[i])), i)
        if len(seen) == 1000:
            break
    texts, rows = list(seen), list(seen.values())
    (images,) = run_onnx(out / "encoder-image.onnx", {"image": held.images[rows].astype(np.float32) / 255})
    (said,) = run_onnx(out / "encoder-text.onnx", {"tokens": words.batch(texts, LENGTH)})
    alike = images @ said.T
    right = np.arange(len(rows))
    confused = [
        {"said": texts[i], "taken_for": texts[int(alike[i].argmax())]}
        for i in right
        if alike[i].argmax() != i
    ]
    return {
        "scenes": len(rows),
        "image_to_text": float((alike.argmax(1) == right).mean()),
        "text_to_image": float((alike.argmax(0) == right).mean()),
        "confused": confused[:10],
    }


if __name__ == "__main__":
    main(settings(Settings, __doc__))
