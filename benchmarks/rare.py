"""A failure of one in 100,000 on the drawn world: splitting against plain sampling, the truth known exactly.

    python benchmarks/rare.py [--problem steady|jumpy] [--repeats 40] [--images 40000] [--json FILE]
    python benchmarks/rare.py --pictures [--exhaustive 60000]

**Planted.** A model of how a classifier's margin falls: each of the scene's attributes takes something off it
(a flower under a fly much, the night some, a small size a little), and so does the way it is drawn. The
margin is a function of what `SceneSpace` moves: the scene's natural choices and the drawing's elements. Since
these are independent, the distribution of what they take off is a convolution, and the rate follows without
sampling. The threshold is set so that it is 1e-5. An evaluation stands for an image; none needs to be drawn.

**Pictures** (`--pictures`). The world's own classifier on real pictures of cars without any difficulty that
words can name: `weakspot rare` against as many plain pictures as are affordable. Takes minutes.

"plain" is the number of independent images whose exact interval has ends as far apart (as a ratio).
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

from weakspot.core import Hypothesis
from weakspot.stats import clopper_pearson
from weakspot.studies.rare.splitting import rare_rate
from weakspot.study.reports import summary
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.nature import FACTORS, natural_plan
from weakspot.world.space import ELEMENTS, FIRST, SceneSpace

RATE: Final = 1e-5
#: Columns of a state before those of the drawing.
CHOICES: Final = 1 + len(FACTORS)
LABEL: Final = "fly"
Taken = Mapping[str, Mapping[str, int]]
#: Tenths of a unit that a value takes off the margin; what is not named takes nothing.
STEADY: Final[Taken] = {
    "on": {"flower": 9, "leaf": 5, "branch": 7, "rock": 3, "cushion": 5},
    "background": {"meadow": 6, "street": 4, "living room": 2, "forest": 6, "green": 5, "snow": 7},
    "light": {"dusk": 5, "night": 7, "glare": 7},
    "weather": {"rain": 4, "snowfall": 6, "fog": 6},
    "hidden": {"partly": 6, "half": 8},
    "behind": {"net": 8, "fence": 7, "grass": 5, "bars": 6},
    "pose": {"tilted left": 3, "tilted right": 3, "upside down": 6},
    "size": {"small": 6, "large": 2},
    "position": {"left": 2, "right": 2, "top": 3},
    "count": {"2": 2, "3": 4, "4": 6},
}
#: The same with some rare values that take off much at once: what fails then shows only late.
JUMPY: Final[Taken] = {
    "on": {"flower": 24, "leaf": 6, "branch": 9, "rock": 3, "cushion": 5},
    "background": {"meadow": 8, "forest": 6, "green": 5, "snow": 9, "underwater": 7, "desert": 4},
    "light": {"dusk": 5, "night": 11, "glare": 8},
    "weather": {"rain": 4, "snowfall": 6, "fog": 7},
    "hidden": {"partly": 6, "half": 14},
    "behind": {"net": 12, "fence": 9, "grass": 5, "bars": 8},
    "pose": {"tilted left": 3, "tilted right": 3, "upside down": 7},
    "size": {"small": 8},
    "count": {"2": 2, "3": 4, "4": 6},
}
#: Standard deviations of what the drawing takes off, by element.
DRAWN: Final = {"subject": 0.6, "layout": 0.4, "background": 0.3}


def plain_draws(rate: float, low: float, high: float, *, level: float = 0.95) -> float:
    """How many independent draws give an interval as narrow, as a ratio of its ends.

    The number n with which n · rate failures have a Clopper–Pearson interval whose ends are high / low
    apart; for rare failures it is that of a Poisson count. Infinite if the ends are one; with low = 0, the
    draws for one failure.
    """
    from scipy.special import gammainccinv, gammaincinv

    if not 0.0 < rate <= 1.0 or not low <= rate <= high:
        raise ValueError(f"The rate must be positive and lie in its interval, got {rate} in {low} to {high}.")
    if low == high:
        return math.inf
    if low == 0.0:
        return 1.0 / rate
    tail = (1.0 - level) / 2.0

    def width(count: float) -> float:
        """log(high / low) of the interval for a Poisson count, at numbers between the counts too."""
        return math.log(float(gammainccinv(count + 1.0, tail)) / float(gammaincinv(count, tail)))

    wanted, few, many = math.log(high / low), 1e-2, 1e9
    for _ in range(100):
        middle = math.sqrt(few * many)
        few, many = (middle, many) if width(middle) > wanted else (few, middle)
    return many / rate


class Planted:
    """The margin, and its exact rate of failure.

    Args:
        taken: What the scene's values take off.
    """

    def __init__(self, taken: Taken) -> None:
        hypothesis = Hypothesis(base_sentence(LABEL))
        scenes = parse(hypothesis.text)
        self.space = SceneSpace(hypothesis, scenes)
        plan = natural_plan(scenes).factors[LABEL]
        self._taken = [
            np.array([_off(taken, factor, values) for values in draw.values])
            for factor, draw in zip(FACTORS, plan, strict=True)
        ]
        total = np.ones(1)  # P(the scene takes off k tenths), k = 0, 1, …
        for tenths, draw in zip(self._taken, plan, strict=True):
            weights = np.diff(np.asarray(draw.upto), prepend=0.0) / draw.upto[-1]
            total = np.convolve(total, np.bincount(tenths, weights=weights))
        self._total, self._spread = total, math.sqrt(sum(s * s for s in DRAWN.values()))
        self.threshold = float(brentq(lambda t: math.log(self.rate(t) / RATE), 0.0, 30.0))

    def rate(self, threshold: float) -> float:
        """P(what is taken off exceeds the threshold)."""
        tenths = np.arange(len(self._total)) / 10
        return float(self._total @ norm.sf((threshold - tenths) / self._spread))

    def margin(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of states of the space."""
        off = np.zeros(len(states))
        for i, tenths in enumerate(self._taken, start=1):
            off += tenths[states[:, i].astype(int)] / 10
        for element, spread in DRAWN.items():
            off += spread * states[:, CHOICES + ELEMENTS.index(element) * (FIRST + 1)]
        return self.threshold - off


def _off(taken: Taken, factor: tuple[str, ...], values: tuple[str, ...]) -> int:
    return sum(taken.get(name, {}).get(value, 0) for name, value in zip(factor, values, strict=True))


class Row(NamedTuple):
    """One repeat."""

    seed: int
    rate: float
    low: float
    high: float
    images: int
    plain: float
    seconds: float

    @property
    def covers(self) -> bool:
        return self.low <= RATE <= self.high

    @property
    def off(self) -> float:
        """The factor between estimate and truth."""
        return math.exp(abs(math.log(self.rate / RATE))) if self.rate else math.inf


def planted(name: str, taken: Taken, repeats: int, images: int) -> list[Row]:
    """A planted problem, so many times."""
    problem, rows = Planted(taken), []
    truth = problem.rate(problem.threshold)
    print(f"{name}: threshold {problem.threshold:.4f}, true rate {truth:.6g}, {images:,} images at most")
    for seed in range(repeats):
        began = time.process_time()
        found = rare_rate(problem.space, problem.margin, budget=images, seed=seed)
        plain = plain_draws(found.rate, found.low, found.high) if found.rate else math.nan
        ends = (found.low, found.high, found.evaluations)
        rows.append(Row(seed, found.rate, *ends, plain, time.process_time() - began))
    return rows


def table(rows: list[Row]) -> dict[str, Any]:
    """The figures of the planted problem."""
    off = np.array([row.off for row in rows])
    saved = np.array([row.plain / row.images for row in rows])
    found = {
        "repeats": len(rows),
        "covered": float(np.mean([row.covers for row in rows])),
        "within a factor 2": float(np.mean(off <= 2)),
        "factor off, median": float(np.median(off)),
        "factor off, largest": float(off.max()),
        "mean estimate": float(np.mean([row.rate for row in rows])),
        "high / low, median": float(np.median([row.high / row.low if row.low else np.inf for row in rows])),
        "images, median": float(np.median([row.images for row in rows])),
        "plain images, median": float(np.median([row.plain for row in rows])),
        "times fewer, median": float(np.median(saved)),
        "times fewer, least": float(saved.min()),
        "seconds of CPU each": float(np.mean([row.seconds for row in rows])),
    }
    for name, value in found.items():
        print(f"{name:<24} {value:>14,.4g}")
    return found


WORDS: Final = (
    "it is naturally coloured. it is upright. it is behind nothing. it is fully visible. it is day. "
    "the weather is clear. it is medium-sized. there is one of them. there is nothing else."
)


def pictures(exhaustive: int, images: int, seeds: int) -> dict[str, Any]:
    """The world's classifier on plain cars: plain pictures, counted, and `weakspot rare`."""
    from weakspot import rare

    began = time.monotonic()
    label, found = "car", []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            budget, out = f"images={images}", Path(folder) / f"rare-{seed}"
            with rare("world:classifier", label=label, words=WORDS, budget=budget, seed=seed, out=out) as run:
                result = summary(run)["result"]
            kept = {k: result[k] for k in ("rate", "low", "high", "ceiling", "method", "images", "note")}
            found.append(kept | {"answers": result["answers"][:3], "common": result["common"][:3]})
            print(
                f"rare, seed {seed}: {1e6 * result['rate']:.0f} per million "
                f"[{1e6 * result['low']:.0f}, {1e6 * result['high']:.0f}] "
                f"by {result['method']}, {result['images']:,} images"
            )
    failures, n = _exhaustive(label, exhaustive)
    low, high = clopper_pearson(failures, n)
    print(
        f"plain: {1e6 * failures / n:.0f} per million [{1e6 * low:.0f}, {1e6 * high:.0f}]: "
        f"{failures:,} of {n:,} · {time.monotonic() - began:.0f} s in all"
    )
    return {"rare": found, "plain": {"failures": failures, "n": n, "low": low, "high": high}}


def _exhaustive(label: str, n: int) -> tuple[int, int]:
    """Plain pictures, drawn and asked about outside any run: failures and pictures."""
    from weakspot.core import MODELS
    from weakspot.engine.executor import local
    from weakspot.world.renderer import Renderer

    target, source = MODELS.load("world:classifier"), Renderer()
    hypothesis = Hypothesis(f"{base_sentence(label)} {WORDS}")
    pool, failures, done = local(source), 0, 0

    def draw(start: int) -> Any:
        return source.draw(hypothesis, range(start, min(start + 256, n)), seed=10_007)

    for outputs in pool.stream(range(0, n, 256), draw, target.answer):
        failures += sum(output.answer != label for output in outputs)
        done += len(outputs)
    pool.close()
    return failures, done


def main() -> None:
    """Run what is asked for, print it, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--images", type=int, default=40_000)
    parser.add_argument("--pictures", action="store_true", help="only the world's classifier, on pictures")
    parser.add_argument("--exhaustive", type=int, default=60_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problem", choices=("steady", "jumpy"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.pictures:
        found = pictures(given.exhaustive, min(given.images, 12_000), given.seeds)
    else:
        problems = {"steady": STEADY, "jumpy": JUMPY}
        found = {
            name: table(planted(name, taken, given.repeats, given.images))
            for name, taken in problems.items()
            if given.problem in (None, name)
        }
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
