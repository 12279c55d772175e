"""Rounds of training that any repair goes through: warm-up and cosine, averages, validation, checkpoints.

Whoever trains says what a step's loss is and how the model does on inputs that take no part. What is kept
are averages over the last steps, of the latest round that does as well as the best one but for chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn

from weakspot.core import WeakspotError
from weakspot.store import write_whole
from weakspot.tuning.lessons import MARGIN, Lessons
from weakspot.tuning.network import SHOWN, logits_of

#: Which part of a step's weights goes into the average.
AVERAGE: Final = 0.02
#: No round is kept that fails on plain validation inputs more often than the old weights by more than this
#: and more than chance: a standard error, or two where it is chosen afterwards how far the weights are moved,
#: on more inputs than the few that a round is evaluated on.
FORGETTING: Final = 0.01
CHANCE, GUARDED = 1.0, 2.0
#: Pictures beside the lessons that are asked at most, and of each kind that is counted by itself.
MOST: Final = 3_000
#: Places on the way from the old to the new weights are so far from each other.
STEP: Final = 0.05
#: The name of the two files of a checkpoint.
CHECKPOINT: Final = "checkpoint"
#: Of a row of the curve: "validation" (the less the better), and the rates of failure on validation inputs
#: of the weak spots ("transformed") and as they are ("plain").
Row = dict[str, float]
#: Told each round: its number, of how many, the row of the curve.
Progress = Callable[[int, int, Row], None]


@dataclass
class RoundState:
    """Where the rounds are; a checkpoint holds it beside the tensors."""

    epoch: int = 0
    best: int = 0  # the round whose weights are kept; 0 if none was better than the old ones
    best_loss: float = math.inf  # the least "validation" of a round that was kept
    lowest: float = math.inf  # the least of all rounds
    fresh: int = 0  # the last round that was kept or had the lowest
    curve: list[Row] = field(default_factory=list)  # a row per round, the first of the old weights
    way: float = 1.0  # how far on the way from the old to the best weights the kept ones lie


def rounds(
    parameters: Sequence[nn.Parameter],
    *,
    loss_at: Callable[[int, int], torch.Tensor],
    evaluate: Callable[[], Row],
    held: int,
    steps: int,
    epochs: int,
    peak: float,
    patience: int,
    settings: Mapping[str, Any],
    stay: Callable[[Callable[[float], None]], float] | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> RoundState:
    """Train parameters in place; afterwards they have the best values.

    `loss_at` gets the numbers of the round (from 1) and of the step in it; `evaluate` says how the model does
    on `held` validation inputs. Training ends after `patience` rounds of which none was kept or better than
    all before. A checkpoint of the same settings in the folder is gone on with. `stay` is given a function
    that moves the parameters to a place on the way from the old (0) to the best values (1), and says which to
    keep.
    """
    optimizer = torch.optim.AdamW(parameters, lr=peak, weight_decay=1e-4)
    old, average, best = ([p.detach().clone() for p in parameters] for _ in range(3))
    weights: _Weights = {"now": parameters, "average": average, "best": best}
    state = RoundState() if folder is None else _restore(folder, settings, weights, optimizer)
    if state.epoch == 0:
        row = evaluate()
        state.best_loss = state.lowest = row["validation"]
        state.curve = [{"epoch": 0, **row}]
    while state.epoch < epochs and state.epoch - state.fresh < patience:
        state.epoch += 1
        total = 0.0
        for step in range(steps):
            gone = (state.epoch - 1 + step / steps) / epochs
            for group in optimizer.param_groups:
                group["lr"] = peak * min(1.0, 20 * (gone + 0.01)) * 0.5 * (1 + math.cos(math.pi * gone))
            optimizer.zero_grad(set_to_none=True)
            loss: Any = loss_at(state.epoch, step)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 5.0)
            optimizer.step()
            total += float(loss.detach())
            done = (state.epoch - 1) * steps + step + 1
            with torch.no_grad():
                for kept, moving in zip(average, parameters, strict=True):
                    kept.lerp_(moving, max(AVERAGE, 1 / (done + 1)))
        now = [p.detach().clone() for p in parameters]
        _put(parameters, average)
        row = evaluate()
        if better(row, state, held, chance=CHANCE if stay is None else GUARDED):
            state.best, state.best_loss = state.epoch, min(row["validation"], state.best_loss)
            best[:] = [p.detach().clone() for p in parameters]
        if state.best == state.epoch or row["validation"] < state.lowest - 1e-5:
            state.fresh, state.lowest = state.epoch, min(row["validation"], state.lowest)
        _put(parameters, now)
        state.curve.append({"epoch": state.epoch, "training": total / steps, **row})
        if folder is not None:
            _save(folder, settings, state, weights, optimizer)
        if progress is not None:
            progress(state.epoch, epochs, state.curve[-1])

    def go(way: float) -> None:
        _put(parameters, [torch.lerp(a, b, way) for a, b in zip(old, best, strict=True)])

    go(1.0)
    if stay is not None and state.best:
        state.way = stay(go)
        go(state.way)
    return state


def better(row: Mapping[str, float], state: RoundState, n: int, *, chance: float = CHANCE) -> bool:
    """Whether a round is kept: better than the old weights, and as good as the best so far but for chance.

    Rates fall from round to round, and so does the noise in the weights: of rounds that few validation
    inputs cannot tell apart (by one standard error), the latest is the one to trust.
    """
    plain, changed = (math.sqrt(max(row[k] * (1 - row[k]), 1 / n) / n) for k in ("plain", "transformed"))
    if row["plain"] > state.curve[0]["plain"] + max(FORGETTING, chance * plain):
        return False
    room = 0.5 * math.hypot(plain, changed) if state.best else -1e-5
    return row["validation"] < min(state.best_loss + room, state.curve[0]["validation"] - 1e-5)


def _put(parameters: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> None:
    with torch.no_grad():
        for p, value in zip(parameters, values, strict=True):
            p.copy_(value)


# -- how far the weights are moved ------------------------------------------------------------------

# Between old and new weights, most of a repair comes early and most of what is forgotten late (Wortsman et
# al., 2022). So places on the way are asked about pictures of neither training nor proof. Kept are weights
# that fail least in the weak spots, among those that fail no oftener than before, but for a margin, on plain
# pictures and on what the weak spots are mistaken for.


class Blend(NamedTuple):
    """A place on the way from the old weights (0) to the new ones (1), and the rates of failure there.

    `transformed` is None, and `apart` empty, where an earlier rate was already beyond the limit.
    """

    way: float
    plain: float
    transformed: float | None
    apart: tuple[float, ...] = ()


def farthest(
    go: Callable[[float], None],
    *,
    plain: Callable[[], float],
    transformed: Callable[[], float],
    apart: Callable[[], Sequence[float]] = tuple,
    most: float = 1.0,
    margin: float = MARGIN,
) -> list[Blend]:
    """Look at places on the way, from `most` backwards; the last one returned is where the model stays.

    The first place within the margin is taken, or one further back while the weak spots fail less often
    there. If none is better than the old weights, these stay. `apart` gives the rates of each kind of
    pictures that must not fail more often by itself.
    """

    def within(now: float, then: float) -> bool:
        return now <= then + margin + 1e-9

    go(0.0)
    rate, failing = plain(), transformed()
    old = best = Blend(0.0, rate, failing, tuple(apart()))
    seen = [old]
    for i in range(round(most / STEP)):
        place = Blend(round(most - i * STEP, 6), 0.0, None)
        go(place.way)
        place = place._replace(plain=plain())
        if within(place.plain, old.plain):
            place = place._replace(apart=tuple(apart()))
            if all(within(now, then) for now, then in zip(place.apart, old.apart, strict=True)):
                place = place._replace(transformed=transformed())
        seen.append(place)
        if place.transformed is None:
            continue
        if place.transformed < failing:
            best, failing = place, place.transformed
        elif best is not old:
            break
    go(best.way)
    seen.remove(best)
    return [*seen, best]


class Guards:
    """Failures on pictures that take no part: those for validation, and those beside the lessons.

    They are drawn alike every time. With `keep`, what the student is given is computed only once.
    """

    def __init__(
        self,
        student: nn.Module,
        given: Callable[[Sequence[Any]], torch.Tensor],
        lessons: Lessons,
        watched: Sequence[int],
        *,
        seed: int,
        keep: bool,
    ) -> None:
        self._student, self._given, self._seed = student, given, seed
        self._batch = cache(self._drawn) if keep else self._drawn
        self._sets: list[tuple[Lessons, list[int]]] = [(lessons, list(watched))]
        if lessons.beside is not None:
            some = np.random.default_rng([seed, 16]).permutation(len(lessons.beside))[:MOST]
            self._sets.append((lessons.beside, some.tolist()))
        self._plain = len(self._sets)
        self._sets += [(kind, list(range(min(len(kind), MOST)))) for kind in lessons.apart]

    def __len__(self) -> int:
        """Plain pictures; as many are asked in the weak spots."""
        return sum(len(some) for _, some in self._sets[: self._plain])

    def failing(self, rate: float) -> float:
        """The rate of failures, where a share of the pictures is transformed."""
        return sum(self._wrong(i, rate) for i in range(self._plain)) / len(self)

    def apart(self) -> list[float]:
        """The rate of each kind that is counted by itself."""
        kinds = range(self._plain, len(self._sets))
        return [self._wrong(i, 0.0) / max(len(self._sets[i][1]), 1) for i in kinds]

    def _wrong(self, which: int, rate: float) -> int:
        wrong = 0
        with torch.no_grad():
            for at in range(0, len(self._sets[which][1]), SHOWN):
                batch, labels = self._batch(which, at, rate)
                wrong += int((logits_of(self._student(batch)).argmax(1) != labels).sum())
        return wrong

    def _drawn(self, which: int, at: int, rate: float) -> tuple[torch.Tensor, torch.Tensor]:
        lessons, some = self._sets[which]
        shown = lessons.show(some[at : at + SHOWN], seed=[self._seed, 17, which, at], rate=rate)
        batch = self._given(shown.changed)
        return batch, torch.from_numpy(shown.labels).to(batch.device)


# -- checkpoints -----------------------------------------------------------------------------------

_Weights = dict[str, Sequence[torch.Tensor]]


def _save(
    folder: Path,
    settings: Mapping[str, Any],
    state: RoundState,
    weights: _Weights,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Everything that the next round depends on, in two files; the second says which first it belongs to."""
    from safetensors.torch import save

    tensors = {f"{kind}.{i}": tensor for kind, some in weights.items() for i, tensor in enumerate(some)}
    for i, kept in optimizer.state_dict()["state"].items():
        tensors |= {f"{key}.{i}": torch.as_tensor(value) for key, value in kept.items()}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(folder / f"{CHECKPOINT}.safetensors", save(tensors, {"epoch": str(state.epoch)}))
    known = {"settings": dict(settings), **asdict(state)}
    write_whole(folder / f"{CHECKPOINT}.json", json.dumps(known).encode())


def _restore(
    folder: Path, settings: Mapping[str, Any], weights: _Weights, optimizer: torch.optim.AdamW
) -> RoundState:
    """Take up a checkpoint, if there is one of these settings; a fresh state otherwise."""
    from safetensors import SafetensorError, safe_open

    try:
        known = json.loads((folder / f"{CHECKPOINT}.json").read_bytes())
        if known.pop("settings") != json.loads(json.dumps(dict(settings))):
            return RoundState()
        with safe_open(folder / f"{CHECKPOINT}.safetensors", framework="pt") as file:
            if file.metadata()["epoch"] != str(known["epoch"]):  # interrupted between the two files
                return RoundState()
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (it is no dict)
        for kind, some in weights.items():
            _put(some, [tensors[f"{kind}.{i}"] for i in range(len(some))])
        kept = {
            i: {key: tensors[f"{key}.{i}"] for key in ("step", "exp_avg", "exp_avg_sq")}
            for i in range(len(weights["now"]))
            if f"exp_avg.{i}" in tensors
        }
        optimizer.load_state_dict({"state": kept, "param_groups": optimizer.state_dict()["param_groups"]})
        return RoundState(**known)
    except FileNotFoundError:
        return RoundState()
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise WeakspotError(
            f"the checkpoint in {folder} cannot be read: {error}",
            fix=f"delete {CHECKPOINT}.* there to start training again",
        ) from error
