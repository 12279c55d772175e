"""Train `world:captioner`: from a picture to short sentences, word by word.

    python training/captioner.py --out weights

It learns the base sentence and then everything that is not plain, one sentence each, in random order, then
the end. So P(sentence | picture, what was said) is near 1/(what is left to say) for a true sentence and near
0 for a false one, whatever was said before: what the greedy description of a cluster needs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from export import save, write_results
from flags import settings
from pictures import LENGTH, Pictures, decode, draw, mirrored
from step import adamw, cosine, recorded
from texts import default_tokens
from torch import nn
from torch.nn import functional as F

from weakspot.core import WeakspotError
from weakspot.world.grammar import base_sentence, complete, parse, say
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, DEFAULTS, SUBJECTS
from weakspot.world.words import Words


@dataclass
class Settings:
    """All that a training run depends on."""

    #: Folder for captioner-image.onnx, captioner-words.onnx and captioner.json (the results).
    out: str = "."
    seed: int = 1
    #: Natural pictures.
    images: int = 400_000
    #: Seed of the first of them.
    first: int = 200_000_000
    #: Pictures of random prompts beside them, so that it can also say what is unusual.
    prompted: int = 400_000
    #: Seed of the first of those.
    first_prompted: int = 500_000_000
    held_out: int = 20_000
    width: int = 192
    #: Layers of attention over the 64 places of a picture.
    image_layers: int = 2
    #: Layers of attention over the words.
    word_layers: int = 3
    steps: int = 5_000
    #: Decay and stop early after this many seconds, whatever `steps` says; 0 never.
    seconds: float = 0.0
    batch: int = 1024
    peak_rate: float = 1e-3
    #: Mirror half of the pictures (left and right change places in what is said of them).
    mirror: bool = False
    #: Compile the networks where that makes a step quicker (GPU).
    compiled: bool = False
    weight_decay: float = 0.05
    workers: int = 0
    cache: str = ""
    smoke: bool = False


# -- texts -----------------------------------------------------------------------------------------

_CHILDREN = {"on": "on_color", "companion": "companion_at"}
#: What can be said in one sentence each, beside the subject.
SLOTS = tuple(name for name in DEFAULTS if name not in _CHILDREN.values())


class Telling(nn.Module):
    """Captions of scenes as tokens, made where the tensors are: a table of sentences, shuffled and joined."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        names = list(ATTRIBUTES)
        self.slots = [(names.index(n), names.index(_CHILDREN[n]) if n in _CHILDREN else -1) for n in SLOTS]
        rows: list[list[int]] = []
        start = []
        for name in SLOTS:
            start.append(len(rows))
            details = ATTRIBUTES[_CHILDREN[name]] if name in _CHILDREN else ("none",)
            rows += [words.encode(_said(name, v, d)) for v in ATTRIBUTES[name] for d in details]
        start.append(len(rows))
        rows += [[words.bos, *words.encode(base_sentence(subject))] for subject in SUBJECTS]
        table = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for i, row in enumerate(rows):
            table[i, : len(row)] = torch.tensor(row)
        self.start = start
        self.register_buffer("table", table)

    @torch.no_grad()
    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """One caption (n, LENGTH) of each scene (n, 16): all that is not plain, now and then more."""
        n, device = len(codes), codes.device
        rows, plain = [], []
        for i, (own, child) in enumerate(self.slots):
            row = codes[:, own]
            if child >= 0:
                row = row * len(ATTRIBUTES[_CHILDREN[SLOTS[i]]]) + codes[:, child]
            rows.append(self.start[i] + row)
            plain.append((codes[:, own] == 0) & (SLOTS[i] != "background"))
        chatty = torch.rand(n, 1, device=device) < 0.25
        extra = (torch.rand(n, len(rows), device=device) < 0.3) & chatty
        said = ~torch.stack(plain, 1) | extra
        key = torch.where(said, torch.rand(n, len(rows), device=device), torch.inf)
        order = key.argsort(1)
        picked = torch.stack(rows, 1).gather(1, order)
        tokens = self.table[picked] * said.gather(1, order).unsqueeze(-1)
        base = self.table[self.start[-1] + codes[:, 0]]
        end = torch.full((n, 1), Words.eos, device=device)
        flat = torch.cat([base, tokens.flatten(1), end], 1)
        packed = flat.gather(1, (flat == 0).to(torch.int8).argsort(dim=1, stable=True))
        return F.pad(packed, (0, max(0, LENGTH - packed.shape[1])))[:, :LENGTH]


def _said(name: str, value: str, detail: str) -> str:
    bears = value in COLORED_SUPPORTS if name == "on" else name == "companion" and value != "nothing"
    return say(name, value, detail if bears and detail != "none" else None)


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


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor | None = None
) -> torch.Tensor:
    """Attention of (n, heads, t, d), joined to (n, t, heads·d)."""
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    return mixed.transpose(1, 2).flatten(2)


class PlaceLayer(nn.Module):
    """One transformer layer over the places of a picture."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_one, self.norm_two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm_one(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(attend(q, k, v))
        return x + self.mlp(self.norm_two(x))


class Eyes(nn.Module):
    """A picture to the keys and values that each word layer looks at: (n, layers, 2, heads, 64, d)."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        w, self.heads, self.word_layers = s.width, s.width // 32, s.word_layers
        stem = nn.Conv2d(3, w // 4, 3, 2, 1, bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(w // 4), nn.ReLU())
        widths = [w // 4, w // 4, w // 2, w // 2, w]
        self.stages = nn.Sequential(*(Block(a, b) for a, b in pairwise(widths)))
        self.place = nn.Parameter(torch.randn(1, 64, w) * 0.02)
        self.layers = nn.Sequential(*(PlaceLayer(w, self.heads) for _ in range(s.image_layers)))
        self.norm = nn.LayerNorm(w)
        self.memory = nn.Linear(w, s.word_layers * 2 * w)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Memory of images (n, 3, 64, 64) in [0, 1]."""
        tokens = self.stages(self.stem(image * 4 - 2)).flatten(2).transpose(1, 2) + self.place
        memory = self.memory(self.norm(self.layers(tokens)))
        return memory.unflatten(2, (self.word_layers, 2, self.heads, -1)).permute(0, 2, 3, 4, 1, 5)


class WordLayer(nn.Module):
    """Attention to the words before, to the picture, and a small network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ask, self.told = nn.Linear(width, width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(
        self, x: torch.Tensor, past: torch.Tensor, memory: torch.Tensor, seen: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The words' new state, and their keys and values after the past ones (n, 2, heads, p + t, d)."""
        q, k, v = self.qkv(self.norms[0](x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        present = torch.cat([past, torch.stack([k, v], 1)], 3)
        x = x + self.out(attend(q, present[:, 0], present[:, 1], seen))
        ask = self.ask(self.norms[1](x)).unflatten(2, (self.heads, -1)).transpose(1, 2)
        x = x + self.told(attend(ask, memory[:, 0], memory[:, 1]))
        return x + self.mlp(self.norms[2](x)), present


class Mouth(nn.Module):
    """The next word, from the words so far (some of them only as `past` keys and values) and the memory."""

    def __init__(self, s: Settings, tokens: int) -> None:
        super().__init__()
        self.words = nn.Embedding(tokens, s.width)
        self.place = nn.Parameter(torch.randn(LENGTH, s.width) * 0.02)
        self.layers = nn.ModuleList(WordLayer(s.width, s.width // 32) for _ in range(s.word_layers))
        self.norm = nn.LayerNorm(s.width)
        self.bias = nn.Parameter(torch.zeros(tokens))
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(
        self, tokens: torch.Tensor, past: torch.Tensor, memory: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (n, t, tokens) of the word after each, and `past` with these words added."""
        p, t = past.shape[4], tokens.shape[1]
        places = torch.arange(p + t, device=tokens.device)
        seen = places.unsqueeze(0) <= places[p:].unsqueeze(1)
        x = self.words(tokens) + self.place[p : p + t]
        presents = []
        for i, layer in enumerate(self.layers):
            x, present = layer(x, past[:, i].to(x.dtype), memory[:, i], seen)
            presents.append(present)
        return F.linear(self.norm(x), self.words.weight, self.bias), torch.stack(presents, 1)


# -- from top to bottom ----------------------------------------------------------------------------


def main(s: Settings) -> None:
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if s.smoke:
        s.images, s.prompted, s.held_out, s.steps, s.workers, s.batch = 128, 128, 64, 4, 1, 64
        s.width, s.word_layers, s.image_layers, device = 32, 1, 1, "cpu"
    torch.manual_seed(s.seed)
    sets = [
        draw("natural", s.first, s.images, workers=s.workers, cache=s.cache),
        draw("prompts", s.first_prompted, s.prompted, workers=s.workers, cache=s.cache),
    ]
    held = draw("natural", 90_000_000_000, s.held_out, workers=s.workers, cache=s.cache)
    x = torch.cat([torch.from_numpy(np.array(p.images)).to(device) for p in sets])
    codes = torch.cat([torch.from_numpy(np.array(p.codes)).to(device) for p in sets])
    print(f"{len(x) + s.held_out:,} pictures after {time.time() - began:.0f} s", flush=True)
    began_training = time.time()

    words = Words(default_tokens())
    telling = Telling(words).to(device)
    eyes, mouth = Eyes(s).to(device), Mouth(s, len(words)).to(device)
    eyes.to(memory_format=torch.channels_last)
    parameters = [*eyes.parameters(), *mouth.parameters()]
    print(f"{sum(p.numel() for p in parameters):,} parameters", flush=True)
    optimizer, rate = adamw(parameters, device, weight_decay=s.weight_decay, betas=(0.9, 0.98))
    none = torch.zeros(s.batch, s.word_layers, 2, s.width // 32, 0, 32, device=device)
    total = torch.zeros((), device=device)
    mirror = [torch.tensor(row, device=device) for row in mirrored()]

    def step(look: Callable[..., Any] = eyes, speak: Callable[..., Any] = mouth) -> None:
        rows = torch.randint(len(x), (s.batch,), device=device)
        images, scenes = x[rows], codes[rows].long()
        if s.mirror:
            flip = torch.rand(s.batch, device=device) < 0.5
            images = torch.where(flip[:, None, None, None], images.flip(3), images)
            swapped = torch.stack([m[scenes[:, i]] for i, m in enumerate(mirror)], 1)
            scenes = torch.where(flip[:, None], swapped, scenes)
        tokens = telling(scenes)[:, :96]
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda", cache_enabled=False):
            images = (images.float() / 255).contiguous(memory_format=torch.channels_last)
            logits, _ = speak(tokens[:, :-1], none, look(images))
        loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=Words.pad)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        total.add_(loss.detach())

    also = partial(step, torch.compile(eyes), torch.compile(mouth)) if s.compiled else None
    again, curve, every = recorded(step, device, also=also), [], max(1, s.steps // 20)
    total.zero_()  # of the steps that were tried while recording
    began_steps, done, gone = time.time(), 0, 0.0
    while gone < 1:
        done += 1
        gone = max(done / s.steps, (time.time() - began_steps) / s.seconds if s.seconds else 0.0)
        rate.fill_(cosine(min(gone, 1.0), s.peak_rate))
        again()
        if done % every == 0:
            curve.append({"step": done, "loss": total.item() / every})
            total.zero_()
            print(
                f"captioner step {done:,} loss {curve[-1]['loss']:.4f} {time.time() - began_training:.0f} s",
                flush=True,
            )

    results: dict[str, object] = {"per_attribute": accuracy(eyes, mouth, words, held, s, device)}
    seconds = time.time() - began_training
    out, batch = Path(s.out), {0: "n"}
    save(eyes, (torch.zeros(2, 3, 64, 64),), out / "captioner-image.onnx",
         inputs={"image": batch}, outputs={"memory": batch})  # fmt: skip
    with torch.no_grad():
        memory = eyes(torch.zeros(2, 3, 64, 64))
    past = torch.zeros(2, s.word_layers, 2, s.width // 32, 3, 32)
    save(
        mouth,
        (torch.full((2, 5), 4), past, memory),
        out / "captioner-words.onnx",
        inputs={"tokens": batch | {1: "t"}, "past": batch | {4: "p"}, "memory": batch},
        outputs={"logits": batch | {1: "t"}, "present": batch | {4: "p_and_t"}},
    )
    (out / "words.json").write_text(json.dumps(list(words.tokens)))
    results |= {"training_seconds": seconds, "steps_done": done, "settings": vars(s), "curve": curve}
    write_results(out / "captioner.json", results)


@torch.no_grad()
def accuracy(
    eyes: Eyes, mouth: Mouth, words: Words, held: Pictures, s: Settings, device: str
) -> dict[str, float]:
    """Share of held-out pictures whose greedy caption, read back, has each attribute right."""
    eyes.eval()
    mouth.eval()
    n = min(1000, s.held_out)
    memory = eyes(torch.from_numpy(np.array(held.images[:n])).to(device).float() / 255)
    past = torch.zeros(n, s.word_layers, 2, s.width // 32, 0, 32, device=device)
    last = torch.full((n, 1), Words.bos, device=device)
    said = [last]
    for _ in range(LENGTH - 1):
        logits, past = mouth(last, past, memory)
        last = logits[:, -1:].argmax(2)
        said.append(last)
    right = np.zeros(len(ATTRIBUTES))
    for row, codes in zip(torch.cat(said, 1).tolist(), held.codes[:n], strict=True):
        try:
            scene = complete(parse(words.decode(row)))
        except WeakspotError:
            continue
        right += [getattr(scene, name) == getattr(decode(codes), name) for name in ATTRIBUTES]
    return dict(zip(ATTRIBUTES, (right / n).tolist(), strict=True))


if __name__ == "__main__":
    main(settings(Settings, __doc__))
