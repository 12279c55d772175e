"""What a network learns from: pictures of the repair part, transformed as the cells of the chosen modes say.

Also pictures that were drawn beforehand, as those of a hunt's findings are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Rng = np.random.Generator
#: Stands for a mode's number: any cell of the space.
ANYWHERE: Final = -1
#: Of the transformed pictures that are learnt from, so many are transformed as any cell says: a repair of the
#: modes alone would trade failures for others beside them.
WIDE: Final = 0.25
#: Of blends of two pictures, so many are a piece of the one in the other (Yun et al., 2019).
PIECES: Final = 0.5
#: On plain pictures a repaired model may fail more often by this much: half of the point that a repair is
#: allowed to cost in its proof, since these pictures are a sample too. Where pictures are drawn the proof has
#: as many as it wants, and sees less than that.
MARGIN, DRAWN_MARGIN = 0.005, 0.002
#: From pictures, for each the mode's number (as the caller counts them, or ANYWHERE) and a seed, to
#: transformed pictures.
Change = Callable[[list[Image], Sequence[int], Sequence[int]], list[Image]]


class Shown(NamedTuple):
    """Pictures as they are shown in one round; the label of a blend of two, which has none, is −1."""

    plain: list[Image]
    changed: list[Image]
    labels: NDArray[np.int64]


class Moves(NamedTuple):
    """How pictures are moved before they are shown: mirrored half of the time, shifted, some blended."""

    mirror: bool
    shift: float  # at most, as a share of the picture's width
    blend: float = 0.0  # share of the pictures


class Lessons(Protocol):
    """What is learnt from.

    `unlearns` says that wrong answers to plain pictures are unlearnt with full force: where these are
    themselves the weak spots; where pictures are transformed it would be learning by heart. Nothing is learnt
    from `beside`, which says how far the weights are moved, nor from each kind `apart`. On plain pictures,
    and on each kind apart, a repaired model may fail more often by `margin`.
    """

    unlearns: bool
    margin: float

    @property
    def beside(self) -> Lessons | None: ...

    @property
    def apart(self) -> Sequence[Lessons]: ...

    def __len__(self) -> int: ...

    def show(
        self, which: Sequence[int], *, seed: Sequence[int], rate: float, moves: Moves | None = None
    ) -> Shown:
        """Some of them, a share `rate` of them transformed; the same seed gives the same.

        With `moves` they are shifted, mirrored and blended before.
        """
        ...


class Read(Sequence[Image]):
    """Some pictures of a data set, read with its `picture(i)` each time they are asked for."""

    def __init__(self, images: Any, which: Sequence[int]) -> None:
        self._images, self._which = images, which

    def __len__(self) -> int:
        return len(self._which)

    def __getitem__(self, i: Any) -> Any:
        return self._images.picture(self._which[i])


class TransformedLessons:
    """Pictures that are transformed when they are shown, each of the modes as often as the others."""

    unlearns = False
    margin = MARGIN
    apart: Sequence[Lessons] = ()

    def __init__(
        self,
        pictures: Sequence[Image],
        labels: Sequence[int],
        *,
        change: Change,
        modes: int,
        beside: TransformedLessons | None = None,
    ) -> None:
        self.pictures, self.labels, self.beside = pictures, np.asarray(labels, np.int64), beside
        self._change, self._modes = change, modes

    def __len__(self) -> int:
        return len(self.pictures)

    def show(
        self, which: Sequence[int], *, seed: Sequence[int], rate: float, moves: Moves | None = None
    ) -> Shown:
        rng = np.random.default_rng(list(seed))
        if moves is None:
            return self._shown([self.pictures[i] for i in which], which, rng, rate)
        moved = [moved_about(self.pictures[i], rng, moves) for i in which]
        chosen = rng.random(len(moved)) < moves.blend
        partners, shares = rng.permutation(len(moved)), rng.random(len(moved))
        pieces = rng.random(len(moved)) < PIECES
        mixed = list(moved)
        for i in np.flatnonzero(chosen):
            one, other, share = moved[i], moved[partners[i]], shares[i]
            mixed[i] = pieced(one, other, share, rng) if pieces[i] else blended(one, other, share)
        shown = self._shown(mixed, which, rng, rate, wide=WIDE)
        return shown._replace(labels=np.where(chosen, -1, shown.labels))

    def _shown(
        self, plain: list[Image], which: Sequence[int], rng: Rng, rate: float, wide: float = 0.0
    ) -> Shown:
        chosen = np.flatnonzero(rng.random(len(plain)) < rate)
        modes = rng.integers(0, self._modes, len(chosen))
        modes = np.where(rng.random(len(chosen)) < wide, ANYWHERE, modes)
        seeds = rng.integers(0, 1 << 62, len(chosen))
        changed = list(plain)
        if len(chosen):
            after = self._change([plain[i] for i in chosen], modes.tolist(), seeds.tolist())
            for i, image in zip(chosen, after, strict=True):
                changed[i] = image
        return Shown(plain, changed, self.labels[list(which)])


class DrawnLessons:
    """Pictures of weak spots drawn beforehand, usual ones beside them, and the numbers of their labels."""

    unlearns = True
    margin = DRAWN_MARGIN

    def __init__(
        self,
        weak: Sequence[tuple[Image, int]],
        usual: Sequence[tuple[Image, int]],
        *,
        beside: DrawnLessons | None = None,
        apart: Sequence[Lessons] = (),
    ) -> None:
        self._weak, self._usual, self.beside, self.apart = list(weak), list(usual), beside, apart

    def __len__(self) -> int:
        return len(self._usual)

    def show(
        self, which: Sequence[int], *, seed: Sequence[int], rate: float, moves: Moves | None = None
    ) -> Shown:
        """See `Lessons`: some weak spots in place of usual pictures. They are many, so none are blended."""
        rng = np.random.default_rng(list(seed))
        plain, labels = [], []
        for i in which:
            image, label = self._usual[i]
            # A weak spot belongs to one part, of training or of validation, as the picture it stands in for
            # does.
            own = range(i, len(self._weak), len(self._usual))
            if rng.random() < rate and len(own):
                image, label = self._weak[own[int(rng.integers(len(own)))]]
            plain.append(image if moves is None else moved_about(image, rng, moves))
            labels.append(label)
        return Shown(plain, list(plain), np.asarray(labels, np.int64))


def blended(one: Image, other: Image, share: float) -> Image:
    """Two pictures of one size on top of each other; the first alone where sizes differ."""
    if one.shape != other.shape:
        return one
    return np.asarray(share * one.astype(np.float32) + (1 - share) * other.astype(np.float32) + 0.5, np.uint8)


def pieced(one: Image, other: Image, share: float, rng: Rng) -> Image:
    """A picture with a piece of another of one size in it, which leaves about this share of the first."""
    high, wide = one.shape[:2]
    tall, broad = (round(side * (1 - share) ** 0.5) for side in (high, wide))
    top, left = int(rng.integers(0, high - tall + 1)), int(rng.integers(0, wide - broad + 1))
    if one.shape != other.shape:
        return one
    found = one.copy()
    found[top : top + tall, left : left + broad] = other[top : top + tall, left : left + broad]
    return found


def moved_about(image: Image, rng: Rng, moves: Moves) -> Image:
    """A picture, shifted by a few pixels (what is missing is mirrored in) and turned half of the time."""
    high, wide = image.shape[:2]
    down, right = (int(rng.integers(-n, n + 1)) for n in (int(moves.shift * high), int(moves.shift * wide)))
    turned = moves.mirror and rng.random() < 0.5
    if down or right:
        pad = (max(abs(down), abs(right)),) * 2
        image = np.pad(image, (pad, pad, (0, 0)), mode="reflect")[
            pad[0] + down : pad[0] + down + high, pad[0] + right : pad[0] + right + wide
        ]
    return np.ascontiguousarray(image[:, ::-1] if turned else image)
