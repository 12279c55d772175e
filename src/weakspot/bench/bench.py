"""Benchmarks of hunting over many worlds: figures per method with intervals, and the run that makes them."""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.bench import llms, planted
from weakspot.bench.planted import METHODS, Score, TrainedClassifier
from weakspot.core import WeakspotError
from weakspot.stats import wilson
from weakspot.world.planted import World, plant

#: Resamples of the worlds for an interval.
RESAMPLES: Final = 2000
#: Worlds of one seed; the next seed has others.
SPAN: Final = 1_000_000


class Share(NamedTuple):
    """A share with its 95 % interval over worlds; None where there was nothing to take a share of."""

    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How one method did on all worlds; numbers are means over worlds."""

    recall: Share  # planted failures found, of the notable ones
    exact: Share  # those whose first description says them exactly, of the notable ones, found or not
    named: Share  # the same, if any of the descriptions does
    fdr: Share  # mean over worlds of the share of reported texts that are false discoveries (0 if none is)
    images: float
    median_images: float
    reported: float
    seconds: float  # of processor time

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, Share):
                plain |= {name: value.value, f"{name}_interval": [value.low, value.high]}
            else:
                plain[name] = value
        return plain


def summarise(scores: Sequence[Score]) -> Summary:
    """One method's scores over worlds. Worlds are resampled whole for the intervals."""
    found, exact, named, notable = np.array([(s.found, s.exact, s.named, s.notable) for s in scores], float).T
    false = np.array([s.false / max(s.reported, 1) for s in scores])
    return Summary(
        recall=_share(found, notable),
        exact=_share(exact, notable),
        named=_share(named, notable),
        fdr=_share(false, np.ones(len(scores))),
        images=statistics.fmean(s.images for s in scores),
        median_images=statistics.median(s.images for s in scores),
        reported=statistics.fmean(s.reported for s in scores),
        seconds=statistics.fmean(s.seconds for s in scores),
    )


def _share(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Share:
    """Σ parts / Σ wholes over worlds."""
    if not wholes.sum():
        return Share(None, 0.0, 1.0)
    value = float(parts.sum() / wholes.sum())
    if value in (0.0, 1.0):  # all worlds agree, and resampling them would show no doubt at all
        low, high = wilson(round(value * len(parts)), len(parts))
        return Share(value, low, high)
    chosen = np.random.default_rng(0).integers(len(parts), size=(RESAMPLES, len(parts)))
    whole = wholes[chosen].sum(1)
    ratios = parts[chosen].sum(1)[whole > 0] / whole[whole > 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return Share(value, float(low), float(high))


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What a benchmark measured on planted worlds and trained classifiers: of each one score per method."""

    settings: Mapping[str, Any]  # what was asked
    worlds: tuple[World, ...]
    scores: tuple[tuple[Score, ...], ...]
    trained: tuple[TrainedClassifier, ...] = ()
    trained_scores: tuple[tuple[Score, ...], ...] = ()

    def summaries(self, *, trained: bool = False) -> dict[str, Summary]:
        """Figures by method, over planted worlds or trained classifiers; {} if there were none."""
        rows = self.trained_scores if trained else self.scores
        return {own[0].method: summarise(own) for own in zip(*rows, strict=True)}

    def to_json(self) -> dict[str, Any]:
        retrained = {m: s.to_json() for m, s in self.summaries(trained=True).items()}
        return {
            **self.settings,
            **{m: s.to_json() for m, s in self.summaries().items()},
            **({"retrained": retrained} if retrained else {}),
            "details": [
                *(w.to_json() | _by_method(s) for w, s in zip(self.worlds, self.scores, strict=True)),
                *(
                    {
                        **w._asdict(),
                        "known": [{"words": s.sentence, "rate": s.rate} for s in planted.spots(w)],
                        **_by_method(own),
                    }
                    for w, own in zip(self.trained, self.trained_scores, strict=True)
                ),
            ],
        }


def _by_method(scores: Sequence[Score]) -> dict[str, Any]:
    methods = {}
    for s in scores:
        figures = {n: getattr(s, n) for n in s.__slots__ if n not in ("method", "notable", "texts")}
        reports = [{"words": text, "true_rate": rate} for text, rate in s.texts]
        methods[s.method] = figures | {"reports": reports}
    return {"methods": methods}


def check(
    *,
    worlds: int,
    retrained: int,
    methods: Sequence[str],
    budget: int,
    workers: int = 1,
    llm: str | None = None,
) -> None:
    llms.check(methods, METHODS, llm)
    if min(worlds, retrained) < 0 or not 0 < worlds + retrained <= SPAN:
        raise WeakspotError(
            f"{worlds} worlds and {retrained} retrained models leave nothing to measure", fix="try 40 worlds"
        )
    if budget < 100:
        raise WeakspotError(f"{budget} images are too few to find anything", fix="choose e.g. 20000")
    if workers < 1:
        raise WeakspotError(f"{workers} processes are too few", fix="choose 1 or more")


def run(
    *,
    worlds: int = 40,
    retrained: int = 0,
    seed: int = 0,
    methods: Sequence[str] = tuple(METHODS),
    llm: str | None = None,
    budget: int = 20_000,
    pictures: bool = False,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> BenchResult:
    """All methods on so many planted worlds and, as far as there are so many, trained classifiers.

    The same seed gives the same figures, with any number of workers (processes). Each method may spend
    `budget` images on a world. With `pictures` those of planted worlds are drawn too, which their classifiers
    do not need. `llm` names the language model of the methods `llm` and `both`. `progress` is called with how
    many worlds are done, and of how many.
    """
    check(worlds=worlds, retrained=retrained, methods=methods, budget=budget, workers=workers, llm=llm)
    seeds = range(seed * SPAN, seed * SPAN + worlds)
    classifiers = planted.trained_classifiers(retrained, seed=seed)
    asked: dict[str, Any] = {"methods": tuple(methods), "budget": budget, "llm": llm}
    # The slow ones begin first, so that no process waits for another at the end.
    jobs: list[Callable[[], list[Score]]] = [
        *(partial(planted.measure_trained, w, seed=seed, **asked) for w in classifiers),
        *(partial(planted.measure_planted, s, pictures=pictures, **asked) for s in seeds),
    ]
    scores: dict[int, tuple[Score, ...]] = {}
    progress(0, len(jobs))
    for i, own in _in_parallel(jobs, workers):
        scores[i] = tuple(own)
        progress(len(scores), len(jobs))
    ordered, n = tuple(scores[i] for i in range(len(jobs))), len(classifiers)
    about_llm = {} if llm is None else {"model": llm}
    settings = {"worlds": worlds, "seed": seed, "budget": budget, "methods": list(methods), **about_llm}
    return BenchResult(settings, tuple(map(plant, seeds)), ordered[n:], tuple(classifiers), ordered[:n])


def _in_parallel(
    jobs: Sequence[Callable[[], list[Score]]], workers: int
) -> Iterator[tuple[int, list[Score]]]:
    """The jobs' results with their places, as they come."""
    if workers == 1:
        yield from ((i, job()) for i, job in enumerate(jobs))
        return
    from concurrent.futures import as_completed

    # As the engine's: a script that calls this is not imported again by the processes.
    from joblib.externals.loky import ProcessPoolExecutor

    with _scratch() as folder:
        # Their runs go into one folder, which goes away with this process even if they are ended.
        apart = {"OMP_NUM_THREADS": "1", "TMPDIR": folder}
        pool = ProcessPoolExecutor(max_workers=workers, env=apart, timeout=10)
        finished = False
        try:
            # The processes inherit the mask: Ctrl-C is for this one, which then ends them.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                under_way = {pool.submit(job): i for i, job in enumerate(jobs)}
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            for done in as_completed(under_way):
                yield under_way[done], done.result()
            finished = True
        finally:
            pool.shutdown(wait=True, kill_workers=not finished)


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for runs that nobody will read: in memory where the system has such a place."""
    memory = Path("/dev/shm")  # noqa: S108
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="weakspot-", dir=place) as folder:
        yield folder
