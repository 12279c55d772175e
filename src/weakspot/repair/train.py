"""Fine-tuning a classifier on pictures of its weak spots, so that it forgets as little as possible.

Few pictures, so everything that keeps a network from learning them by heart: they are shifted and mirrored,
the rate is small, the network's own former answer to the plain picture, where that was right, is most of what
it is to answer to the changed one, the weights that are kept are averages over the last steps, and training
ends when pictures that took no part in it get no better. The head goes on from where it is, unless it is to
begin anew.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F  # noqa: N812

from weakspot.core import WeakspotError
from weakspot.repair.head import last_layer
from weakspot.repair.network import Network, logits_of
from weakspot.store import write_whole

METHODS: Final = ("last-layer", "full", "lora")
#: Peak rates of learning that a method is given, unless one is named.
RATES: Final = {"last-layer": 5e-3, "full": 5e-4, "lora": 2e-3}
EPOCHS: Final = {"last-layer": 40, "full": 8, "lora": 8}
#: Which part of a step's weights goes into the average.
AVERAGE: Final = 0.02
#: The temperature at which answers are compared.
HEAT: Final = 4.0
#: No round is kept that fails on plain validation pictures more often than the old weights by more than this.
FORGETTING: Final = 0.01
#: Where all layers are trained, the weights that are kept lie this far on the way from the old to the new
#: ones: most
#: of the repair, and next to nothing forgotten (Wortsman et al., 2022).
WAY: Final = 0.8
#: How much of the loss counts beside the rate of failures, in choosing a round.
SMOOTH: Final = 0.1
#: What reaches the last layer is computed for so many rounds of pictures, which are then gone over again.
ROUNDS: Final = 6
CHECKPOINT: Final = "checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """How a network is repaired.

    Attributes:
        method: last-layer (as published), full, or lora.
        layer: Name of the last layer, where it cannot be found.
        rate: Share of the pictures that are transformed, the others are shown as they are.
        epochs: Rounds over the pictures at most; 0 takes the method's own number.
        learning_rate: Peak; 0 takes the method's own.
        batch: Pictures per step.
        distil: How much of the wanted answer is the network's own former one to the plain picture.
        patience: Rounds without getting better on the validation pictures, after which it ends.
        validation: Share of the pictures that take no part in training.
        mirror: Whether a mirrored picture means the same.
        shift: Pictures are shifted by at most this share of their width.
        blend: Share of the pictures that are blended with another; what is wanted is then the old network's
        answer.
        reset_head: The last layer begins anew.
        rank: Of a LoRA adapter.
        device: "auto", "cpu", "cuda".
        seed: Everything random follows from it.
    """

    method: str = "full"
    layer: str = ""
    rate: float = 0.5
    epochs: int = 0
    learning_rate: float = 0.0
    batch: int = 64
    distil: float = 1.0
    patience: int = 8
    validation: float = 0.2
    mirror: bool = True
    shift: float = 0.13
    blend: float = 0.7
    reset_head: bool = False
    rank: int = 8
    device: str = "auto"
    seed: int = 0

    def check(self) -> None:
        """Refuse what cannot be meant."""
        if self.method not in METHODS:
            raise WeakspotError(
                f"no method is called {self.method[:60]!r}", fix=f"choose from: {', '.join(METHODS)}"
            )
        for name, low, high in (
            ("rate", 0, 1),
            ("distil", 0, 1),
            ("validation", 0, 0.9),
            ("shift", 0, 0.5),
            ("blend", 0, 1),
        ):
            value = getattr(self, name)
            if not low <= value <= high or (name in ("rate", "validation") and value == 0):
                raise WeakspotError(
                    f"{name} cannot be {value:g}", fix=f"choose a number above {low} and up to {high}"
                )
        if self.epochs < 0 or self.batch < 1 or self.patience < 1 or self.rank < 1 or self.learning_rate < 0:
            raise WeakspotError(
                "a number of the training is negative or zero", fix="check epochs, batch, patience, rank"
            )


class Shown(NamedTuple):
    """Pictures as they are shown in one round.

    Attributes:
        plain: Before the transformation.
        changed: After it.
        labels: Numbers of the right answers; −1 of a blend of two pictures, which has none.
    """

    plain: list[NDArray[np.uint8]]
    changed: list[NDArray[np.uint8]]
    labels: NDArray[np.int64]


class Lessons(Protocol):
    """What is learnt from.

    Attributes:
        unlearns: Whether a wrong answer to a plain picture is to be unlearnt with full force. That is so
            where plain pictures are themselves the weak spots; where pictures are transformed, it would be
            learning by heart.
    """

    unlearns: bool

    def __len__(self) -> int:
        """How many pictures there are."""
        ...

    def show(self, which: Sequence[int], *, seed: Sequence[int], rate: float) -> Shown:
        """Some of them, a share `rate` of them transformed; the same seed gives the same."""
        ...


class Trained(NamedTuple):
    """How it went.

    Attributes:
        curve: Per round: training loss, score on validation pictures, their failures transformed and plain.
        best: The round whose weights were kept; 0 if none was better than the old ones.
        epochs: Rounds that were done.
        parameters: Numbers that were trained.
        layer: The last layer's name, where only that was trained.
    """

    curve: list[dict[str, float]]
    best: int
    epochs: int
    parameters: int
    layer: str


Told = Callable[[int, int, dict[str, float]], None]


@dataclass
class _State:
    """What a checkpoint holds beside the tensors."""

    epoch: int = 0
    best: int = 0
    best_loss: float = math.inf
    curve: list[dict[str, float]] = field(default_factory=list)


def train(
    network: Network,
    lessons: Lessons,
    settings: TrainSettings,
    *,
    folder: Path | None = None,
    told: Told | None = None,
) -> Trained:
    """Train a network in place; afterwards it has the best weights.

    Args:
        network: Whose module is trained.
        lessons: From what.
        settings: How.
        folder: Where checkpoints go after each round; one that is there is gone on with.
        told: Told each round: its number, of how many, the row of the curve.
    """
    settings.check()
    network.to(settings.device)
    rng = np.random.default_rng([settings.seed, 11])
    order = rng.permutation(len(lessons))
    held = max(1, round(settings.validation * len(order)))
    if len(order) - held < 4:
        raise WeakspotError(
            f"{len(order)} pictures are too few to learn from", fix="give the map more pictures"
        )
    watched, own = order[:held].tolist(), order[held:].tolist()
    teacher = copy.deepcopy(network.module).eval()
    name, features, student = _student(network, lessons, settings)
    chosen = [p for p in student.parameters() if p.requires_grad]
    epochs = settings.epochs or EPOCHS[settings.method]
    peak = settings.learning_rate or RATES[settings.method]
    optimizer = torch.optim.AdamW(chosen, lr=peak, weight_decay=1e-4)
    old = [p.detach().clone() for p in chosen]
    average = [p.detach().clone() for p in chosen]
    best = [p.detach().clone() for p in chosen]
    state = _State()
    if folder is not None:
        state = _restore(folder, settings, chosen, average, best, optimizer)
    exam = {
        "transformed": lessons.show(watched * 2, seed=[settings.seed, 12], rate=1.0),
        "plain": lessons.show(watched, seed=[settings.seed, 12], rate=0.0),
    }
    steps, loss_of = (
        math.ceil(len(own) / settings.batch),
        _Loss(network, teacher, features, student, settings, lessons.unlearns),
    )
    if state.epoch == 0:
        row = loss_of.examine(exam)
        state.best_loss, state.curve = row["validation"], [{"epoch": 0, **row}]
    while state.epoch < epochs and state.epoch - state.best < settings.patience:
        state.epoch += 1
        turn = state.epoch if features is None else state.epoch % ROUNDS
        shuffled = np.random.default_rng([settings.seed, 13, turn]).permutation(own).tolist()
        total = 0.0
        for step in range(steps):
            some = shuffled[step * settings.batch : (step + 1) * settings.batch]
            gone = (state.epoch - 1 + step / steps) / epochs
            for group in optimizer.param_groups:
                group["lr"] = peak * min(1.0, 20 * (gone + 0.01)) * 0.5 * (1 + math.cos(math.pi * gone))
            optimizer.zero_grad(set_to_none=True)
            shown = partial(augmented, lessons, some, seed=[settings.seed, 14, turn, step], settings=settings)
            loss: Any = loss_of(shown, key=(turn, step))
            loss.backward()
            nn.utils.clip_grad_norm_(chosen, 5.0)
            optimizer.step()
            total += float(loss.detach())
            done = (state.epoch - 1) * steps + step + 1
            with torch.no_grad():
                for kept, moving in zip(average, chosen, strict=True):
                    kept.lerp_(moving, max(AVERAGE, 1 / (done + 1)))
        now = [p.detach().clone() for p in chosen]
        _put(chosen, average)
        row = loss_of.examine(exam)
        kept_what_it_knew = row["plain"] <= state.curve[0]["plain"] + FORGETTING
        if row["validation"] < state.best_loss - 1e-5 and kept_what_it_knew:
            state.best, state.best_loss = state.epoch, row["validation"]
            best = [p.detach().clone() for p in chosen]
        _put(chosen, now)
        state.curve.append({"epoch": state.epoch, "training": total / steps, **row})
        if folder is not None:
            _save(folder, settings, state, chosen, average, best, optimizer)
        if told is not None:
            told(state.epoch, epochs, state.curve[-1])
    _put(
        chosen,
        [torch.lerp(a, b, WAY) for a, b in zip(old, best, strict=True)]
        if settings.method == "full"
        else best,
    )
    if settings.method == "lora":
        from weakspot.repair.lora import merged

        network.module = merged(student)
    network.module.eval()
    for p in network.module.parameters():
        p.requires_grad_(True)
    return Trained(state.curve, state.best, state.epoch, sum(p.numel() for p in chosen), name)


def augmented(
    lessons: Lessons, which: Sequence[int], *, seed: Sequence[int], settings: TrainSettings
) -> Shown:
    """Pictures for a step: shifted and mirrored first, transformed then, as the verification does it."""
    shift = getattr(lessons, "shifted", None)
    if shift is None:
        return lessons.show(which, seed=seed, rate=settings.rate)
    blend = settings.blend if settings.distil else 0.0
    shown: Shown = shift(
        which, seed=seed, rate=settings.rate, mirror=settings.mirror, shift=settings.shift, blend=blend
    )
    return shown


class _Material(NamedTuple):
    """What is given in a step, the right labels, and what the old network says to the plain pictures."""

    given: torch.Tensor
    labels: torch.Tensor
    former: torch.Tensor | None


class _Loss:
    """How far answers to changed pictures are from the label and from the old network's to the plain ones.

    The old answer counts where it was right. It is softened (Hinton, Vinyals and Dean, 2015), since most of
    what a network knows of a picture is in how it ranks the wrong labels.
    """

    def __init__(
        self,
        network: Network,
        teacher: nn.Module,
        features: Callable[[torch.Tensor], torch.Tensor] | None,
        student: nn.Module,
        settings: TrainSettings,
        unlearns: bool,
    ) -> None:
        self.network, self.teacher, self.student, self.unlearns = network, teacher, student, unlearns
        self.features, self.settings = features, settings
        self._known: dict[tuple[int, int], _Material] = {}
        self._exam: dict[str, list[torch.Tensor]] = {}

    def __call__(self, show: Callable[[], Shown], *, key: tuple[int, int]) -> torch.Tensor:
        found = self._known.get(key) or self._material(show())
        if self.features is not None:
            self._known[key] = found
        said = logits_of(self.student(found.given))
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
                former = logits_of(self.teacher(self.network.prepare(shown.plain).to(self.network.device)))
        return _Material(self.given(shown.changed), labels, former)

    def examine(self, exam: Mapping[str, Shown]) -> dict[str, float]:
        """Loss and failures on pictures that take no part: transformed, and as they are."""
        found: dict[str, float] = {}
        losses = []
        with torch.no_grad():
            for name, shown in exam.items():
                if self.features is None or name not in self._exam:
                    starts = range(0, len(shown.changed), 256)
                    self._exam[name] = [self.given(shown.changed[at : at + 256]) for at in starts]
                logits = torch.cat([logits_of(self.student(part)) for part in self._exam[name]])
                labels = torch.from_numpy(shown.labels).to(self.network.device)
                losses.append(float(F.cross_entropy(logits, labels)))
                found[name] = float((logits.argmax(1) != labels).float().mean())
        # Failures count; the loss, which moves more smoothly, decides between rounds that fail alike.
        score = (sum(found.values()) + SMOOTH * sum(losses)) / len(losses)
        return {"validation": score, **found}


def _student(
    network: Network, lessons: Lessons, settings: TrainSettings
) -> tuple[str, Callable[[torch.Tensor], torch.Tensor] | None, nn.Module]:
    """What is trained: everything; an adapter; or the last layer on what reaches it, and its name then."""
    module = network.module
    torch.manual_seed(settings.seed)
    sample = network.prepare(lessons.show([0, 1], seed=[settings.seed, 15], rate=0.5).plain).to(
        network.device
    )
    name = ""
    if settings.method == "last-layer" or settings.reset_head:
        name, head = last_layer(module, sample, labels=len(network.labels), name=settings.layer)
        if settings.reset_head:
            for part in head.modules():
                reset: Any = getattr(part, "reset_parameters", None)
                if reset is not None:
                    reset()
    if settings.method == "lora":
        from weakspot.repair.lora import adapted

        return name, None, adapted(module, rank=settings.rank)
    for p in module.parameters():
        p.requires_grad_(settings.method == "full")
    if settings.method == "full":
        return name, None, module
    for p in head.parameters():
        p.requires_grad_(True)
    return name, _reaching(module, head), head


def _reaching(module: nn.Module, head: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """What reaches the last layer; the layers before it do not change."""
    seen: list[torch.Tensor] = []

    def features(batch: torch.Tensor) -> torch.Tensor:
        hook = head.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
        try:
            with torch.no_grad():
                module(batch)
        finally:
            hook.remove()
        return seen.pop()

    return features


def _put(parameters: Sequence[nn.Parameter], values: Sequence[torch.Tensor]) -> None:
    with torch.no_grad():
        for p, value in zip(parameters, values, strict=True):
            p.copy_(value)


# -- checkpoints -----------------------------------------------------------------------------------


def _save(
    folder: Path,
    settings: TrainSettings,
    state: _State,
    now: Sequence[torch.Tensor],
    average: Sequence[torch.Tensor],
    best: Sequence[torch.Tensor],
    optimizer: torch.optim.Optimizer,
) -> None:
    """Everything that the next round depends on, in two files; the second says which first it belongs to."""
    from safetensors.torch import save

    tensors = {f"{kind}.{i}": t.detach().cpu().contiguous() for kind, some in
               (("now", now), ("average", average), ("best", best)) for i, t in enumerate(some)}  # fmt: skip
    for i, kept in optimizer.state_dict()["state"].items():
        tensors |= {f"{key}.{i}": torch.as_tensor(value).cpu().contiguous() for key, value in kept.items()}
    write_whole(folder / f"{CHECKPOINT}.safetensors", save(tensors, {"epoch": str(state.epoch)}))
    write_whole(
        folder / f"{CHECKPOINT}.json", json.dumps({"settings": asdict(settings), **asdict(state)}).encode()
    )


def _restore(
    folder: Path,
    settings: TrainSettings,
    now: Sequence[nn.Parameter],
    average: Sequence[torch.Tensor],
    best: Sequence[torch.Tensor],
    optimizer: torch.optim.Optimizer,
) -> _State:
    """Take up a checkpoint, if there is one of these settings; a fresh state otherwise."""
    from safetensors import SafetensorError, safe_open

    try:
        known = json.loads((folder / f"{CHECKPOINT}.json").read_bytes())
        if known.pop("settings") != asdict(settings):
            return _State()
        with safe_open(folder / f"{CHECKPOINT}.safetensors", framework="pt") as file:
            if file.metadata()["epoch"] != str(known["epoch"]):  # interrupted between the two files
                return _State()
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (it is no dict)
        for kind, some in (("now", now), ("average", average), ("best", best)):
            with torch.no_grad():
                for i, p in enumerate(some):
                    p.copy_(tensors[f"{kind}.{i}"])
        kept = {
            i: {key: tensors[f"{key}.{i}"] for key in ("step", "exp_avg", "exp_avg_sq")}
            for i in range(len(now))
        }
        optimizer.load_state_dict({"state": kept, "param_groups": optimizer.state_dict()["param_groups"]})
        return _State(**known)
    except FileNotFoundError:
        return _State()
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise WeakspotError(
            f"the checkpoint in {folder} cannot be read: {error}",
            fix=f"delete {CHECKPOINT}.* there to train anew",
        ) from error
