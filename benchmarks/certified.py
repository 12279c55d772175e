"""Whether a hunt's two promises hold: hardly anything false is found, and nothing tried exceeds its bound.

    python benchmarks/certified.py [--hunts 200] [--budget 5000] [--json FILE]

First, hunts of classifiers that have no weak spot: they err at one rate, from 0.5 % to 30 %, whatever is in
the picture. Whatever is confirmed is false. Then hunts of worlds with planted failures, where the true rate
of any caption follows by arithmetic: how often is a bound broken, and how far is it above the worst caption's
true rate? Every other of these hunts draws on to certify 10 %. No pictures are drawn, so a hunt takes a
second or two.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

from weakspot import hunt
from weakspot.core import WeakspotError
from weakspot.report.format import percent
from weakspot.stats import clopper_pearson
from weakspot.studies.hunt.result import HuntResult
from weakspot.world.planted import PlantedClassifier, WordsOnly, World, plant
from weakspot.world.scene import SUBJECTS

#: Rates of classifiers without a weak spot.
RATES = (0.005, 0.3)
#: What every other hunt of a planted world certifies, with so many times the budget.
LIMIT, MORE = 0.1, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one hunt.

    Attributes:
        false: Confirmed captions that fail no more often than the baseline.
        broken: Tried captions that fail more often than their own bound.
        worst: The highest true rate of the tried captions, and `bound` that of all.
    """

    rate: float
    images: int
    confirmed: int
    false: int
    captions: int
    broken: int
    worst: float
    bound: float
    certified: bool | None

    @property
    def covered(self) -> bool:
        """Whether the hunt's one sentence is true: nothing that was tried fails more often than the bound."""
        return self.worst <= self.bound


def dull(seed: int) -> World:
    """A world without any weak spot."""
    chance = Random(f"dull {seed}")
    rate = math.exp(chance.uniform(*map(math.log, RATES)))
    return World(seed, chance.choice(SUBJECTS), rate, ())


def hunted(world: World, *, budget: int, certify: float | None = None) -> Outcome:
    """A hunt of a world, beside the truth."""
    with (
        tempfile.TemporaryDirectory(prefix="weakspot-") as folder,
        hunt(
            PlantedClassifier(world),
            label=world.label,
            source=WordsOnly(),
            budget=f"images={budget}",
            seed=world.seed,
            certify=certify,
            edits=1,
            out=Path(folder) / "run",
        ) as run,
    ):
        result = HuntResult.of(run)
        found = None if result is None else result.certified
        base = run.baselines[0].text
        confirmed = [f for f in run.findings if f.confirmed]
        rates = [_rate(world, f.hypothesis.text, f.answer) for f in confirmed]
        tried = () if found is None else found.tried
        truth = [_rate(world, f"{base} {one.phrase}") for one in tried]
        return Outcome(
            rate=world.baseline,
            images=int(run.ledger.spend()["images"]),
            confirmed=len(confirmed),
            false=sum(
                rate <= _rate(world, base, f.answer) * (1 + 1e-9)
                for rate, f in zip(rates, confirmed, strict=True)
            ),
            captions=0 if found is None else found.captions,
            broken=sum(rate > one.high for rate, one in zip(truth, tried, strict=True)),
            worst=max(truth, default=0.0),
            bound=1.0 if found is None else found.bound,
            certified=None if found is None else found.passed,
        )


def _rate(world: World, text: str, answer: str = "") -> float:
    """How often the classifier fails on a text, or gives one wrong answer; 1 for what cannot be drawn."""
    try:
        truth = world.truth(text)
    except WeakspotError:
        return 1.0
    if not answer:
        return truth.rate
    own = sum(s for s, f in zip(truth.shares, world.failures, strict=True) if f.answer == answer)
    return truth.rate * (own + (1 - sum(truth.shares)) / (len(SUBJECTS) - 1))


def without_weak_spot(seed: int, *, budget: int) -> Outcome:
    """A hunt where all that is confirmed is false."""
    return hunted(dull(seed), budget=budget)


def with_planted_failures(seed: int, *, budget: int) -> Outcome:
    """A hunt of a planted world; every other one has a limit to certify."""
    certify = LIMIT if seed % 2 else None
    return hunted(plant(seed), budget=budget if certify is None else MORE * budget, certify=certify)


def _share(times: int, n: int) -> str:
    low, high = clopper_pearson(times, n)
    return f"{times} of {n} = {percent(times / n)} [{100 * low:.1f}, {100 * high:.1f}]"


def told(dulls: list[Outcome], planted: list[Outcome]) -> Iterator[str]:
    """Both promises with what was seen of them."""
    found = sum(o.confirmed > 0 for o in dulls)
    yield f"no weak spot: hunts that confirm something  {_share(found, len(dulls))}, allowed 5 %"
    for name, some in (("no weak spot", dulls), ("planted", planted)):
        above, own = sum(not o.covered for o in some), sum(o.broken > 0 for o in some)
        yield f"{name}: hunts whose bound is exceeded  {_share(above, len(some))}, allowed 5 %"
        yield f"{name}: hunts with any caption above its own bound  {_share(own, len(some))}, allowed 5 %"
    false, confirmed = sum(o.false for o in planted), sum(o.confirmed for o in planted)
    yield f"planted: false findings  {false} of {confirmed}"
    captions = [o.captions for o in (*dulls, *planted)]
    yield f"captions tried in a hunt: {median(captions):.0f} in the median, at most {max(captions)}"
    limits = [o for o in planted if o.certified is not None]
    for name, some in (("as drawn", [o for o in planted if o not in limits]), ("to certify 10 %", limits)):
        bound, worst, images = (
            median(getattr(o, what) for o in some) for what in ("bound", "worst", "images")
        )
        rates = f"bound {percent(bound)}, true worst rate {percent(worst)}"
        yield f"planted, {name}: {rates}, {images:,.0f} images (medians)"
    true, false_ones = (
        [o.certified for o in limits if (o.worst <= LIMIT) is is_true] for is_true in (True, False)
    )
    yield f"planted: certified where it is true {sum(map(bool, true))} of {len(true)} times,"
    yield f"         where it is false {sum(map(bool, false_ones))} of {len(false_ones)} times"


def main(hunts: int, budget: int, workers: int, as_json: Path | None) -> None:
    found: dict[str, list[Outcome]] = {}
    with ProcessPoolExecutor(workers) as pool:
        for name, one in (("no weak spot", without_weak_spot), ("planted", with_planted_failures)):
            found[name] = list(pool.map(partial(one, budget=budget), range(hunts)))
    print("\n".join(told(*found.values())))
    if as_json is not None:
        as_json.write_text(json.dumps({name: [asdict(o) for o in some] for name, some in found.items()}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hunts", type=int, default=200)
    parser.add_argument("--budget", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=1, help="processes; the figures are the same with any")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    main(given.hunts, given.budget, given.workers, given.json)
