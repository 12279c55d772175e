"""The benchmark on real data from end to end: all methods on the same rows, and what is true of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from weakspot.bench import llms
from weakspot.bench.bench import Summary, summarise
from weakspot.bench.planted import Score
from weakspot.bench.real.asked import proposing
from weakspot.bench.real.imagenet import FactorOrder, WordsScore, by_words, factor_order, failures_in_words
from weakspot.bench.real.learners import mixture, tree
from weakspot.bench.real.methods import Rival
from weakspot.bench.real.ours import weakspot
from weakspot.bench.real.plantings import SETTINGS, Planting, Setting, design, halves
from weakspot.bench.real.published import bias_to_text, domino, leaves, sliceline
from weakspot.bench.real.rivals import enumeration, frequencies, keywords
from weakspot.bench.real.scoring import score
from weakspot.bench.real.tables import IMAGENET, RealTable, check_folder, real_tables, slices_of
from weakspot.core import WeakspotError, check_known
from weakspot.stats import Estimate, wilson

METHODS: Final[dict[str, Rival]] = {
    "weakspot": weakspot,
    "frequencies": frequencies,
    "leaves": leaves,
    "tree": tree,
    "sliceline": sliceline,
    "enumeration": enumeration,
    "domino": domino,
    "mixture": mixture,
    "bias-to-text": bias_to_text,
    "keywords": keywords,
}
#: What each is, and in which form: as published, with what its idea still lacks added by us, or our own.
PUBLISHED: Final = "as published"
STRONGER: Final = "strengthened by us"
ABOUT: Final[dict[str, str]] = {
    "weakspot": "weakspot hunt TABLE",
    "frequencies": "frequencies (Fisher, BH, cover)",
    "leaves": f"decision tree, {PUBLISHED}",
    "tree": f"decision tree, {STRONGER}",
    "sliceline": f"SliceLine, {PUBLISHED}",
    "enumeration": f"SliceLine, {STRONGER}",
    "domino": f"Domino, {PUBLISHED}",
    "mixture": f"Domino, {STRONGER}",
    "bias-to-text": f"Bias-to-Text, {PUBLISHED}",
    "keywords": f"Bias-to-Text, {STRONGER}",
    "llm": "a language model proposes",
    "both": "the same beside weakspot's rules",
}
PARTS: Final[Mapping[str, str]] = {
    "planted": "failures planted on real tables",
    "null": "errors independent of everything",
    "words": "real failures of ImageNet-X, by words",
    "factors": "the order of ImageNet-X's factors",
    "landscapes": "real landscapes of BlindTest",
    "labels": "failures that are the label's",
}
#: Tables whose failures have nothing to do with anything, their failure rates, and the largest of them.
NULLS: Final = 100
NULL_RATES: Final = (0.04, 0.1, 0.25)
NULL_ROWS: Final = 5_000
SPLITS: Final = 6
SEEDS: Final = 3


@dataclass(frozen=True, kw_only=True)
class RealResult:
    """What the benchmark of real data measured.

    Attributes:
        scores: Of each planting, one score per method.
        null: Per method, the share of null tables of which it reports anything.
        landscapes: Rows of `weakspot.bench.landscapes`.
        labels: Rows of `weakspot.bench.labels`.
    """

    settings: Mapping[str, Any]
    plantings: tuple[Planting, ...] = ()
    scores: tuple[tuple[Score, ...], ...] = ()
    null: Mapping[str, Estimate] = field(default_factory=dict)
    words: tuple[WordsScore, ...] = ()
    factors: tuple[FactorOrder, ...] = ()
    landscapes: tuple[Any, ...] = ()
    labels: tuple[Any, ...] = ()

    def summaries(self, *, table: str = "", kind: str = "") -> dict[str, Summary]:
        """Figures by method, over all plantings or those of a table or a kind."""
        rows = [
            own
            for planting, own in zip(self.plantings, self.scores, strict=True)
            if table in ("", planting.setting.table) and kind in ("", planting.kind)
        ]
        return {own[0].method: summarise(own) for own in zip(*rows, strict=True)}

    def to_json(self) -> dict[str, Any]:
        tables = sorted({planting.setting.table for planting in self.plantings})
        kinds = sorted({planting.kind for planting in self.plantings})
        return {
            **self.settings,
            "about": {method: ABOUT[method] for method in self.settings["methods"]},
            "planted": _plain(self.summaries()),
            "by_table": {t: _plain(self.summaries(table=t)) for t in tables},
            "by_kind": {k: _plain(self.summaries(kind=k)) for k in kinds},
            "null": {method: share._asdict() for method, share in self.null.items()},
            "words": [{**one._asdict(), "precision": one.precision} for one in self.words],
            "factors": [one._asdict() for one in self.factors],
            "landscapes": [_as_dict(row) for row in self.landscapes],
            "labels": [_as_dict(row) for row in self.labels],
            "details": [
                {
                    "planting": planting.name,
                    "kind": planting.kind,
                    "rate": planting.rate,
                    "share": planting.share,
                    "methods": {one.method: asdict(one) for one in own},
                }
                for planting, own in zip(self.plantings, self.scores, strict=True)
            ],
        }


def _plain(summaries: Mapping[str, Summary]) -> dict[str, Any]:
    return {method: summary.to_json() for method, summary in summaries.items()}


def _as_dict(row: Any) -> dict[str, Any]:
    return asdict(row) if is_dataclass(row) and not isinstance(row, type) else dict(row._asdict())


def run(
    folder: Path,
    *,
    which: str = "test",
    methods: Sequence[str] = tuple(METHODS),
    llm: str | None = None,
    parts: Sequence[str] = tuple(PARTS),
    quick: bool = False,
    tables: int = 0,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> RealResult:
    """All parts of the benchmark; the same seed gives the same figures.

    Args:
        folder: Where the data are: see `tables.WANTED`.
        llm: The language model of the methods `llm` and `both`.
        which: The design of the plantings: "tune", "test" or "third".
        quick: Fewer plantings, null tables and splits.
        tables: So many tables with planted failures, at random; 0 for all.
        progress: Is called with a part, how many of its steps are done, and of how many.
    """
    check(folder, methods=methods, parts=parts, llm=llm)
    asking = partial(proposing, llm=llm or "")
    every = METHODS | {name: partial(asking, rules=name == "both") for name in llms.PROPOSING}
    named = {name: every[name] for name in methods}
    how = real_tables(folder)
    read = cache(lambda name: how[name]())
    settings = [one._replace(one=1, together=1, apart=0) for one in SETTINGS if one.rows <= 3072]
    chosen: Sequence[Setting] = settings if quick else SETTINGS
    found: dict[str, Any] = {}
    if "planted" in parts:
        plantings = tuple(design(which, read, settings=chosen))
        if tables:  # any of them, but the same ones for all methods
            Random(f"tables {seed}").shuffle(every_one := list(plantings))  # noqa: S311
            plantings = tuple(every_one[:tables])
        scores: list[tuple[Score, ...]] = []
        for planting in plantings:
            progress("planted", len(scores), len(plantings))
            scores.append(tuple(_scores(planting, read(planting.setting.table), named, seed)))
        progress("planted", len(plantings), len(plantings))
        found |= {"plantings": plantings, "scores": tuple(scores)}
    if "null" in parts:
        found["null"] = null_tables(
            read, named, n=NULLS // 5 if quick else NULLS, settings=chosen, seed=seed, progress=progress
        )
    if "words" in parts:
        splits = 1 if quick else SPLITS
        models = IMAGENET[:1] if quick else IMAGENET
        words: list[WordsScore] = []
        for done, model in enumerate(models):
            progress("words", done, len(models))
            words += failures_in_words(by_words(folder, model), named, splits=splits, seed=seed)
        progress("words", len(models), len(models))
        found["words"] = tuple(words)
    if "factors" in parts:
        found["factors"] = tuple(factor_order(read(f"imagenet-x {model}"), seed=seed) for model in IMAGENET)
    if "landscapes" in parts:
        progress("landscapes", 0, 1)
        part = import_module("weakspot.bench.landscapes")
        found["landscapes"] = tuple(part.landscapes(folder / "blindtest", 1 if quick else SEEDS))
    if "labels" in parts:
        progress("labels", 0, 1)
        part = import_module("weakspot.bench.labels")
        found["labels"] = tuple(part.label_errors(folder / "imagenet-x"))
    asked: dict[str, Any] = {"design": which, "methods": list(methods), "quick": quick, "tables": tables}
    asked |= {"seed": seed} | ({} if llm is None else {"model": llm})
    return RealResult(settings=asked, **found)


def check(folder: Path, *, methods: Sequence[str], parts: Sequence[str], llm: str | None = None) -> None:
    llms.check(methods, METHODS, llm)
    for part in parts:
        check_known(part, PARTS, f"no part is called {part[:80]!r}")
    if not parts:
        raise WeakspotError("there is nothing to measure", fix=f"choose from: {', '.join(PARTS)}")
    check_folder(folder)


def _scores(planting: Planting, table: RealTable, methods: Mapping[str, Rival], seed: int) -> Iterator[Score]:
    slices = planting.slices(table)
    for name, method in methods.items():
        began = time.process_time()
        statements = method(slices, seed=seed)
        yield score(planting, table, name, statements, seconds=time.process_time() - began)


def null_tables(
    read: Callable[[str], RealTable],
    methods: Mapping[str, Rival],
    *,
    n: int = NULLS,
    settings: Sequence[Setting] = SETTINGS,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> dict[str, Estimate]:
    """The share of tables whose failures are independent of everything of which a method reports anything."""
    small = [setting for setting in settings if setting.rows <= NULL_ROWS]
    reported = dict.fromkeys(methods, 0)
    for i in range(n):
        progress("null", i, n)
        setting, rate = small[i % len(small)], NULL_RATES[i // len(small) % len(NULL_RATES)]
        table = read(setting.table)
        # The same rows each time, so that what depends on them alone is not done anew.
        seen, _ = halves(table, setting.rows, Random(f"null {seed} {setting}"))  # noqa: S311
        failed = np.random.default_rng([seed, i]).random(len(seen)) < rate
        slices = slices_of(table, seen, failed)
        for name, method in methods.items():
            reported[name] += bool(method(slices, seed=seed))
    progress("null", n, n)
    return {name: Estimate(k / n, *wilson(k, n)) for name, k in reported.items()}
