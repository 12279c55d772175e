"""How near pictures are to real ones: FID and KID to a folder of reference, with any features.

After Wiles, Albuquerque and Gowal (2022), who ask it of their data sets. Distances by one extractor
say nothing about distances by another, and FID depends on how many pictures there are; so the reference is
also compared with itself, half against half, at the number of pictures that the set allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.features import Extractor, checked, load
from weakspot.sources.folder import LONGEST, files_in, images_in
from weakspot.stats import fid, kid, kid_interval, too_few
from weakspot.study.options import check_seed

#: Pictures given to the extractor at once.
BATCH: Final = 64

Progress = Callable[[str, int, int], None]


class Even(NamedTuple):
    """FID at equal numbers, so that two of them can be compared."""

    n: int  # pictures on each side
    fid: float  # of the set to one half of the reference
    reference: float  # of the other half to that half: what FID says of pictures that are as real


class Realism(NamedTuple):
    """Distances of a set to a reference."""

    fid: float  # Fréchet distance
    kid: float  # kernel distance; unbiased, so it can be negative
    kid_low: float  # of its 95 % bootstrap interval
    kid_high: float  # of its 95 % bootstrap interval
    n: int  # pictures in the set
    reference_n: int  # pictures in the reference
    features: int  # numbers per picture
    few: bool  # there are fewer pictures than features, and FID is not to be trusted
    even: Even | None  # FID at equal numbers; None if there are too few pictures
    skipped: tuple[tuple[str, str], ...]  # files that could not be used, and why

    def to_json(self) -> dict[str, Any]:
        found = self._asdict()
        found["even"] = None if self.even is None else self.even._asdict()
        found["skipped"] = [{"file": name, "why": why} for name, why in self.skipped]
        return found


def realism(
    folder: str | Path,
    *,
    reference: str | Path,
    features: str | Extractor = "world:encoder",
    longest: int = LONGEST,
    seed: int = 0,
    progress: Progress | None = None,
) -> Realism:
    """FID and KID of the pictures in one folder to those of the real thing in another.

    The features are an extractor or its name. Pictures whose longer side has more than `longest` pixels are
    made smaller first. The seed is of the bootstrap and of the halves.
    """
    check_seed(seed)
    extract = load(features) if isinstance(features, str) else features
    total = len(files_in(folder)) + len(files_in(reference))
    skipped: list[tuple[str, str]] = []
    done = 0

    def pictures(place: str | Path) -> Iterator[NDArray[np.uint8]]:
        nonlocal done
        for picture in images_in(place, longest=longest):
            done += 1
            if progress is not None:
                progress(f"looking at {Path(place).name}", done, total)
            if picture.pixels is None:
                skipped.append((picture.name, picture.reason))
            else:
                yield picture.pixels

    def read(place: str | Path) -> NDArray[np.float64]:
        usable = pictures(place)
        rows = [checked(extract, some) for some in iter(lambda: list(islice(usable, BATCH)), [])]
        if sum(map(len, rows)) < 2:
            why = f": {skipped[0][0]}: {skipped[0][1]}" if skipped else ""
            raise WeakspotError(
                f"{str(place)[:200]} has fewer than two usable pictures{why}"[:500],
                fix="use a few hundred: the distance between two distributions needs them",
            )
        return np.concatenate(rows)

    one, two = read(folder), read(reference)
    if one.shape[1] != two.shape[1]:
        raise WeakspotError(
            f"the extractor gave {one.shape[1]} features for one folder and {two.shape[1]} for the other",
            fix="use one that gives the same number for pictures of any size",
        )
    low, high = kid_interval(one, two, seed=seed)
    return Realism(
        fid=fid(one, two),
        kid=kid(one, two),
        kid_low=low,
        kid_high=high,
        n=len(one),
        reference_n=len(two),
        features=one.shape[1],
        few=too_few(one, two),
        even=_even(one, two, seed),
        skipped=tuple(skipped),
    )


def _even(one: NDArray[np.float64], two: NDArray[np.float64], seed: int) -> Even | None:
    n = min(len(one), len(two) // 2)
    if n < 2:
        return None
    rng = np.random.default_rng(seed)
    chosen, halves = one[rng.permutation(len(one))[:n]], two[rng.permutation(len(two))]
    return Even(n, fid(chosen, halves[:n]), fid(halves[n : 2 * n], halves[:n]))
