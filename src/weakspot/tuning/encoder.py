"""Contrastive fine-tuning of an encoder's text tower on pairs of texts that it confuses.

The two texts of a pair are kept apart (below the similarity that counts as alike, with some room), and each
nearer to a picture of its own than to one of the other (hard negatives, as Yuksekgonul et al., 2023). Usual
captions stay where they were, which keeps retrieval as it was. The image tower is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F  # noqa: N812

from weakspot.core import WeakspotError
from weakspot.core.abilities import Trainable
from weakspot.models.compute import choose_device
from weakspot.tuning.rounds import Progress, rounds
from weakspot.tuning.train import Trained

Vectors = NDArray[np.float32]
EPOCHS: Final = 12
RATE: Final = 3e-4
#: Pairs, and as many usual captions, of a step.
BATCH: Final = 48
#: The texts of a pair are to be less alike than what counts as alike, by this much.
ROOM: Final = 0.05
#: Similarities are multiplied by this before they become probabilities, as encoders are trained.
SHARP: Final = 50.0
#: How much the distance of a pair counts, its pictures, and that usual captions stay where they were.
APART, SEEN, KEPT = 10.0, 0.3, 10.0
#: Share of the pairs and of the captions that take no part in training.
VALIDATION: Final = 0.2
FILE: Final = "encoder-text.onnx"


class Pair(NamedTuple):
    """Two texts that differ, with a picture of each as the image tower sees it; no picture is all zeros."""

    first: str
    second: str
    seen: Vectors


class Usual(NamedTuple):
    text: str
    seen: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class TowerSettings:
    """How a text tower is trained: texts more similar than `alike` count as alike; 0 is the usual number."""

    alike: float
    epochs: int = 0
    learning_rate: float = 0.0
    patience: int = 6
    device: str = "auto"
    seed: int = 0


class Tower(NamedTuple):
    """A text tower that can be trained; `keep` writes it to a folder and returns the encoder's new name."""

    module: nn.Module
    tokens: Callable[[Sequence[str]], torch.Tensor]
    keep: Callable[[Path], str]


def tower_of(encoder: Any, *, name: str) -> Tower:
    """The text tower of an encoder; an error where it cannot be trained here."""
    from weakspot.tuning.onnx_module import OnnxModule

    if not isinstance(encoder, Trainable):
        raise WeakspotError(
            f"the text tower of {name[:200]} cannot be trained here",
            fix="mine world:encoder, or use --method data for a trainer of your own",
        )
    module = OnnxModule(encoder.text_file)

    def tokens(texts: Sequence[str]) -> torch.Tensor:
        return torch.from_numpy(encoder.tokens(texts))

    def keep(folder: Path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        module.to("cpu").eval().write(folder / FILE)
        return encoder.name_with(folder / FILE)

    return Tower(module, tokens, keep)


def fit_tower(
    tower: Tower,
    pairs: Sequence[Pair],
    usual: Sequence[Usual],
    settings: TowerSettings,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train a text tower in place: keep the pairs apart, and the usual captions where they are."""
    if min(len(pairs), len(usual)) < 10:
        raise WeakspotError(
            f"{len(pairs)} pairs and {len(usual)} captions are too few to learn from",
            fix="mine a larger corpus",
        )
    work = _Work(tower, pairs, usual, settings, choose_device(settings.device))
    state = rounds(
        work.parameters,
        loss_at=work.loss,
        evaluate=work.evaluate,
        held=len(work.held_pairs),
        steps=-(-len(work.own_pairs) // BATCH),
        epochs=settings.epochs or EPOCHS,
        peak=settings.learning_rate or RATE,
        patience=settings.patience,
        settings=asdict(settings) | {"pairs": len(pairs), "usual": len(usual)},
        folder=folder,
        progress=progress,
    )
    return Trained(state.curve, state.best, state.epoch, sum(p.numel() for p in work.parameters), "")


class _Work:
    def __init__(
        self, tower: Tower, pairs: Sequence[Pair], usual: Sequence[Usual], s: TowerSettings, device: str
    ) -> None:
        self.tower, self.pairs, self.usual, self.s, self.device = tower, pairs, usual, s, device
        tower.module.to(device).eval()
        self.parameters = list(tower.module.parameters())
        rng = np.random.default_rng([s.seed, 51])
        self.held_pairs, self.own_pairs = _cut(len(pairs), rng)
        self.held_usual, self.own_usual = _cut(len(usual), rng)
        with torch.no_grad():
            texts = [row.text for row in usual]
            self.former = torch.cat([self._vectors(texts[at : at + 256]) for at in range(0, len(texts), 256)])
        self.pictures = torch.from_numpy(np.stack([row.seen for row in usual])).to(device)

    def _vectors(self, texts: Sequence[str]) -> torch.Tensor:
        found: torch.Tensor = self.tower.module(self.tower.tokens(texts).to(self.device))
        return found

    def loss(self, epoch: int, step: int) -> torch.Tensor:
        rng = np.random.default_rng([self.s.seed, 52, epoch])
        some = rng.permutation(self.own_pairs)[step * BATCH : (step + 1) * BATCH]
        plain = np.random.default_rng([self.s.seed, 53, epoch, step]).choice(self.own_usual, len(some))
        chosen = [self.pairs[i] for i in some]
        texts = [p.first for p in chosen] + [p.second for p in chosen] + [self.usual[i].text for i in plain]
        vectors = self._vectors(texts)
        first, second, usual = vectors[: len(some)], vectors[len(some) : 2 * len(some)], vectors[-len(some) :]
        apart = F.relu((first * second).sum(1) - (self.s.alike - ROOM)).mean()
        seen = torch.from_numpy(np.stack([p.seen for p in chosen])).to(self.device)
        drawn = seen.abs().sum((1, 2)) > 0
        both = SHARP * torch.einsum("npd,nqd->npq", seen, torch.stack([first, second], 1))
        own = torch.arange(2, device=self.device).repeat(len(some))
        nearer = F.cross_entropy(both.flatten(0, 1), own, reduction="none").reshape(-1, 2).mean(1)
        matched = (nearer * drawn).sum() / drawn.sum().clamp(min=1)
        kept = (1 - (usual * self.former[plain]).sum(1)).mean()
        return APART * apart + SEEN * matched + KEPT * kept

    def evaluate(self) -> dict[str, float]:
        with torch.no_grad():
            first, second = (self._vectors([self.pairs[i][side] for i in self.held_pairs]) for side in (0, 1))
            alike = (first * second).sum(1)
            words = [self.usual[i].text for i in self.held_usual]
            wrong = missed(self.pictures[self.held_usual], self._vectors(words), words)
        failing, lost = float((alike > self.s.alike).float().mean()), float(np.mean(wrong))
        smooth = float(F.relu(alike - self.s.alike + ROOM).mean())
        return {"validation": (failing + lost) / 2 + smooth, "transformed": failing, "plain": lost}


def _cut(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = rng.permutation(n)
    held = max(2, round(VALIDATION * n))
    return order[:held], order[held:]


def missed(pictures: torch.Tensor, texts: torch.Tensor, words: Sequence[str]) -> list[bool]:
    """Of each picture, whether another caption (in other words) is nearer than its own."""
    alike = pictures @ texts.T
    own = alike.diagonal()
    same = torch.tensor([[a == b for b in words] for a in words], device=alike.device)
    other = alike.masked_fill(same, -2.0).max(1).values
    return [bool(x) for x in (other >= own).tolist()]
