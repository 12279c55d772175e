"""A small world for repairs: pictures of one colour each, and a classifier that takes dark ones for red."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

LABELS = ("red", "green", "blue")
SIDE = 12


class Colours(nn.Module):
    """The mean of a picture, a hidden layer that passes it on, and a head whose bias says red in the dark."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.head = nn.Linear(3, 6), nn.Linear(6, 3)
        with torch.no_grad():
            self.hidden.weight.copy_(torch.cat([torch.eye(3), -0.5 * torch.ones(3, 3) + 1.5 * torch.eye(3)]))
            self.hidden.bias.zero_()
            self.head.weight.copy_(torch.cat([8 * torch.eye(3), torch.zeros(3, 3)], dim=1))
            self.head.bias.copy_(torch.tensor([1.6, 0.0, 0.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        said: torch.Tensor = self.head(torch.relu(self.hidden(x.mean((2, 3)))))
        return said


class Headless(Colours):
    """Its answer is no layer's output."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * 2 - 1


def pictures(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    images = rng.integers(0, 60, (n, SIDE, SIDE, 3))
    images[np.arange(n), :, :, labels] += rng.integers(60, 180, n)[:, None, None]
    return images.clip(0, 255).astype(np.uint8), labels


def write(folder: Path, n: int = 800, seed: int = 0) -> Path:
    images, labels = pictures(n, seed)
    path = folder / "colours.npz"
    np.savez(path, images=images, labels=labels, names=np.array(LABELS))
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in LABELS))
    return path
