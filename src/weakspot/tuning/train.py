"""Fine-tuning a classifier on pictures of its weak spots, so that it forgets as little as possible.

Pictures are few, so they are shifted, mirrored and blended; what is wanted of a changed one is the network's
own former answer to the plain one, put right, for many rounds (Beyer et al., 2022: a good teacher is patient
and consistent); averages over the last steps are kept; and pictures that take no part end the training and
say how far the weights are moved (`weakspot.tuning.rounds`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from weakspot.core import WeakspotError, check_known
from weakspot.tuning.lessons import Lessons, Moves, Shown
from weakspot.tuning.network import Network, adapted, last_layer, merged, reaching
from weakspot.tuning.rounds import Blend, Guards, Progress, farthest, rounds

METHODS: Final = ("last-layer", "full", "lora")
#: Peak rates of learning that a method is given, unless one is named.
RATES: Final = {"last-layer": 5e-3, "full": 5e-4, "lora": 2e-3}
EPOCHS: Final = {"last-layer": 40, "full": 60, "lora": 8}
#: The temperature at which answers are compared.
HEAT: Final = 4.0
#: Where all layers are trained, the weights that are kept lie at most this far on the way from the old to
#: the new ones.
WAY: Final = 0.8
#: How much of the loss counts beside the rate of failures, in choosing a round.
SMOOTH: Final = 0.1
#: What reaches the last layer is computed for so many rounds of pictures, which are then gone over again.
ROUNDS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """How a network is repaired; numbers that are 0 are the method's own."""

    method: str = "full"
    layer: str = ""  # the last one, where it cannot be found
    rate: float = 0.5  # share of the pictures that are transformed
    epochs: int = 0  # at most
    learning_rate: float = 0.0  # at its peak
    batch: int = 64
    distil: float = 1.0  # how much of the wanted answer is the network's former one to the plain picture
    patience: int = 10  # rounds without getting better, after which it ends
    validation: float = 0.1  # share of the pictures that take no part in training
    mirror: bool = True  # whether a mirrored picture means the same
    shift: float = 0.13  # at most, as a share of the picture's width
    blend: float = 0.7  # share that is blended with another; wanted is then the old network's answer
    reset_head: bool = False
    rank: int = 8
    device: str = "auto"
    seed: int = 0

    def check(self) -> None:
        check_known(self.method, METHODS, f"no method is called {self.method[:60]!r}")
        for name, most in {"rate": 1, "distil": 1, "validation": 0.9, "shift": 0.5, "blend": 1}.items():
            value = getattr(self, name)
            if not 0 <= value <= most or (name in ("rate", "validation") and value == 0):
                fix = f"choose a number above 0 and up to {most}"
                raise WeakspotError(f"{name} cannot be {value:g}", fix=fix)
        if self.epochs < 0 or self.batch < 1 or self.patience < 1 or self.rank < 1 or self.learning_rate < 0:
            raise WeakspotError(
                "a number of the training is negative or zero", fix="check epochs, batch, patience, rank"
            )


class Trained(NamedTuple):
    """How a training went.

    `curve` has a row per round, and `best` is the one whose weights were kept; 0 if none was better than the
    old ones. `way` is how far from the old weights to those of that round the kept ones lie, `guard` the
    places on it that were looked at, on `guards` plain pictures.
    """

    curve: list[dict[str, float]]
    best: int
    epochs: int
    parameters: int
    layer: str
    way: float = 1.0
    guard: Sequence[dict[str, Any]] = ()
    guards: int = 0


def train(
    network: Network,
    lessons: Lessons,
    settings: TrainSettings,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train a network in place, to the best weights. A checkpoint in the folder is gone on with."""
    settings.check()
    network.to(settings.device)
    rng = np.random.default_rng([settings.seed, 11])
    order = rng.permutation(len(lessons))
    held = max(1, round(settings.validation * len(order)))
    if len(order) - held < 4:
        few = f"{len(order)} pictures are too few to learn from"
        raise WeakspotError(few, fix="give the map more pictures")
    watched, own = order[:held].tolist(), order[held:].tolist()
    teacher = copy.deepcopy(network.module).eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    student = _student(network, lessons, settings)
    chosen = [p for p in student.module.parameters() if p.requires_grad]
    kept = student.features is not None
    exam = {
        "transformed": lessons.show(watched * 2, seed=[settings.seed, 12], rate=1.0),
        "plain": lessons.show(watched, seed=[settings.seed, 12], rate=0.0),
    }
    moves = Moves(settings.mirror, settings.shift, settings.blend if settings.distil else 0.0)
    loss_of = _Loss(network, teacher, student, settings, lessons.unlearns)

    def loss_at(epoch: int, step: int) -> torch.Tensor:
        turn = epoch % ROUNDS if kept else epoch
        shuffled = np.random.default_rng([settings.seed, 13, turn]).permutation(own).tolist()
        some = shuffled[step * settings.batch : (step + 1) * settings.batch]
        # Shifted and mirrored first, transformed then, as the verification does it.
        seed = [settings.seed, 14, turn, step]
        shown = partial(lessons.show, some, seed=seed, rate=settings.rate, moves=moves)
        return loss_of(shown, key=(turn, step))

    places: list[Blend] = []
    guards = Guards(student.module, loss_of.given, lessons, watched, seed=settings.seed, keep=kept)

    def stay(go: Callable[[float], None]) -> float:
        plain, transformed = (partial(guards.failing, rate) for rate in (0.0, 1.0))
        far: Any = {"most": WAY if settings.method == "full" else 1.0, "margin": lessons.margin}
        places[:] = farthest(go, plain=plain, transformed=transformed, apart=guards.apart, **far)
        return places[-1].way

    state = rounds(
        chosen,
        loss_at=loss_at,
        evaluate=lambda: loss_of.evaluate(exam),
        held=held,
        steps=math.ceil(len(own) / settings.batch),
        epochs=settings.epochs or EPOCHS[settings.method],
        peak=settings.learning_rate or RATES[settings.method],
        patience=settings.patience,
        settings=asdict(settings),
        # From a head that began anew no way leads back to the old network.
        stay=None if settings.reset_head else stay,
        folder=folder,
        progress=progress,
    )
    if settings.method == "lora":
        network.module = merged(student.module)
    network.module.eval()
    for p in network.module.parameters():
        p.requires_grad_(True)
    return Trained(
        curve=state.curve,
        best=state.best if state.way else 0,
        epochs=state.epoch,
        parameters=sum(p.numel() for p in chosen),
        layer=student.name,
        way=state.way,
        guard=[place._asdict() for place in places],
        guards=len(guards) if places else 0,
    )


class _Material(NamedTuple):
    """What is given in a step, the right labels, and what the old network says to the plain pictures."""

    given: torch.Tensor
    labels: torch.Tensor
    former: torch.Tensor | None


class _Loss:
    """How far answers to changed pictures are from the label and from the old network's to the plain ones.

    The old answer is the mean of those to the picture and to its mirror image, where that means the same;
    where it is wrong, the right label and the one it preferred change places. It is softened (Hinton, Vinyals
    and Dean, 2015), since most of what a network knows of a picture is in how it ranks the wrong labels.
    """

    def __init__(
        self, network: Network, teacher: nn.Module, student: _Student, settings: TrainSettings, unlearns: bool
    ) -> None:
        self.network, self.teacher, self.student = network, teacher, student.module
        self.features, self.settings, self.unlearns = student.features, settings, unlearns
        self._known: dict[tuple[int, int], _Material] = {}
        self._exam: dict[str, list[torch.Tensor]] = {}

    def __call__(self, show: Callable[[], Shown], *, key: tuple[int, int]) -> torch.Tensor:
        found = self._known.get(key) or self._material(show())
        if self.features is not None:
            self._known[key] = found
        said = self.network.read(self.student(found.given))
        hard = F.cross_entropy(said, found.labels, reduction="none", ignore_index=-1)
        if found.former is None:
            return hard.mean()
        distil = self.settings.distil
        wanted = (found.former / HEAT).softmax(1)
        soft = HEAT**2 * F.kl_div((said / HEAT).log_softmax(1), wanted, reduction="none").sum(1)
        right = (found.former.argmax(1) == found.labels) | (found.labels < 0)
        loud = torch.where(right, 1 - distil, 1.0 if self.unlearns else 1 - distil)
        return (right * distil * soft + loud * hard).mean()

    def given(self, images: Sequence[Any]) -> torch.Tensor:
        """What the part in training is given. Normalisations keep what they know."""
        batch = self.network.prepare(images).to(self.network.device)
        self.student.eval()
        return batch if self.features is None else self.features(batch)

    def _material(self, shown: Shown) -> _Material:
        labels = torch.from_numpy(shown.labels).to(self.network.device)
        former = None
        if self.settings.distil:
            with torch.no_grad():
                former = self._former(shown.plain)
                if not self.unlearns:
                    former = put_right(former, labels)
                if self.settings.mirror:
                    turned = self._former([np.ascontiguousarray(image[:, ::-1]) for image in shown.plain])
                    former = (former + (turned if self.unlearns else put_right(turned, labels))) / 2
        return _Material(self.given(shown.changed), labels, former)

    def _former(self, images: Sequence[Any]) -> torch.Tensor:
        return self.network.read(self.teacher(self.network.prepare(images).to(self.network.device)))

    def evaluate(self, exam: Mapping[str, Shown]) -> dict[str, float]:
        """Loss and failures on pictures that take no part: transformed, and as they are."""
        found: dict[str, float] = {}
        losses = []
        with torch.no_grad():
            for name, shown in exam.items():
                if self.features is None or name not in self._exam:
                    starts = range(0, len(shown.changed), 256)
                    self._exam[name] = [self.given(shown.changed[at : at + 256]) for at in starts]
                logits = torch.cat([self.network.read(self.student(part)) for part in self._exam[name]])
                labels = torch.from_numpy(shown.labels).to(self.network.device)
                losses.append(float(F.cross_entropy(logits, labels)))
                found[name] = float((logits.argmax(1) != labels).float().mean())
        # Failures count; the loss, which moves more smoothly, decides between rounds that fail alike.
        score = (sum(found.values()) + SMOOTH * sum(losses)) / len(losses)
        return {"validation": score, **found}


def put_right(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Logits in which the right label has the highest, if need be in exchange; −1 is no label."""
    rows, right = torch.arange(len(logits), device=logits.device), labels.clamp(min=0)
    top = logits.argmax(1)
    swap = (labels >= 0) & (top != right)
    found = logits.clone()
    found[rows, top] = torch.where(swap, logits[rows, right], logits[rows, top])
    found[rows, right] = torch.where(swap, logits[rows, top], found[rows, right])
    return found


class _Student(NamedTuple):
    """What is trained: everything; an adapter; or the last layer on what reaches it, and its name then."""

    name: str
    module: nn.Module
    features: Callable[[torch.Tensor], torch.Tensor] | None = None


def _student(network: Network, lessons: Lessons, settings: TrainSettings) -> _Student:
    module = network.module
    torch.manual_seed(settings.seed)
    shown = lessons.show([0, 1], seed=[settings.seed, 15], rate=0.5).plain
    sample = network.prepare(shown).to(network.device)
    network.look(sample)
    name, head = "", None
    if settings.method == "last-layer" or settings.reset_head:
        head = last_layer(module, sample, labels=len(network.labels), name=settings.layer)
        name = head.name
        if settings.reset_head:
            for part in head.layer.modules():
                reset: Any = getattr(part, "reset_parameters", None)
                if reset is not None:
                    reset()
    if settings.method == "lora":
        return _Student(name, adapted(module, rank=settings.rank))
    for p in module.parameters():
        p.requires_grad_(settings.method == "full")
    if settings.method == "full" or head is None:
        return _Student(name, module)
    for p in head.layer.parameters():
        p.requires_grad_(True)
    if not head.answers:  # what the network computes after it is part of the answer that is learnt
        return _Student(name, module)
    return _Student(name, head.layer, reaching(module, head.layer))
