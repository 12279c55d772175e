"""What `ask` is told and what it loads: settings that cannot be meant are refused before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from weakspot.core import JUDGES, MODELS, SOURCES, Judge, Registry, Target, WeakspotError
from weakspot.engine import Budget
from weakspot.sources.benchmark import Benchmark
from weakspot.sources.question import BENIGN, CONTRAST
from weakspot.studies.ask.arms import PLAIN, Questions, plan, system_prompts
from weakspot.studies.ask.verdicts import models_behind, sees_pictures
from weakspot.study.loading import part

#: The budget if none is given: more than any benchmark asks, less than a mistake would.
BUDGET: Final = "calls=20000"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSettings:
    """What to ask and how; kept in run.yaml.

    Attributes:
        target: Name of the model, or of a recording.
        benchmark: Name of the benchmark.
        judge: Name of the judge of refusals.
        contrast: Ask the harmful counterparts too.
        system: Names of system prompts; "none" is none. The first is what the headline is about.
        stages: Ask refused questions again with help.
        repeats: How often each question is asked.
        limit: At most so many benign questions; None for all.
        budget: Limits, e.g. "calls=1000,dollars=5".
        seed: Of the run.
        fdr: Bound on the expected share of slices wrongly called worse.
    """

    target: str
    benchmark: str
    judge: str = "embedded"
    contrast: bool = False
    system: tuple[str, ...] = (PLAIN,)
    stages: bool = False
    repeats: int = 1
    limit: int | None = None
    budget: str = BUDGET
    seed: int = 0
    fdr: float = 0.05


@dataclass(frozen=True, slots=True)
class Parts:
    """What the settings name, loaded."""

    target: Target
    benchmark: Benchmark
    judge: Judge


def check(settings: AskSettings) -> dict[str, str]:
    """Refuse settings that cannot be meant, before anything is loaded or written; the system prompts."""
    Budget.parse(settings.budget)
    for what, value in (("repeats", settings.repeats), ("limit", settings.limit)):
        if value is not None and not 1 <= value <= 1_000_000:
            raise WeakspotError(f"{what} cannot be {value}", fix="choose a whole number from 1")
    if not 0 < settings.fdr < 1:
        raise WeakspotError(
            f"a false-discovery rate of {settings.fdr} makes no sense", fix="choose e.g. 0.05"
        )
    if not settings.system:
        raise WeakspotError("no system prompt is named", fix=f"use {PLAIN} for none")
    return system_prompts(settings.system)


def load(settings: AskSettings, *, target: Any = None, benchmark: Any = None, judge: Any = None) -> Parts:
    """Load what the settings name, except for what is given as an object, and check that it fits."""
    # The benchmark first: it is the user's own and the cheapest to get wrong.
    source: Benchmark = _part(benchmark, named(settings.benchmark), SOURCES, Benchmark)
    chosen: Judge = _part(judge, settings.judge, JUDGES, Judge)
    loaded: Target = _part(target, settings.target, MODELS, Target)
    if settings.limit is not None:
        source = source.some(settings.limit)
    if settings.contrast and CONTRAST not in source.sets:
        raise WeakspotError(f"{settings.benchmark[:200]} has no contrast set", fix="leave --contrast out")
    if BENIGN not in source.sets and not settings.contrast:
        raise WeakspotError(f"{settings.benchmark[:200]} has no benign set", fix="add --contrast")
    if getattr(loaded, "needs_images", True):
        source.images = "raw" if getattr(loaded, "prepares_images", hasattr(loaded, "estimate")) else "needed"
    else:
        source.images = "wanted" if sees_pictures(chosen) else "ignored"
    source.limits = getattr(loaded, "image_limits", source.limits)
    return Parts(loaded, source, chosen)


def named(benchmark: str) -> str:
    """A benchmark's name; a path alone is a folder of MOSSBench or else a table of questions."""
    path = Path(benchmark)
    if any(benchmark.startswith(f"{entry.name}:") for entry in SOURCES) or not path.exists():
        return benchmark
    known = (
        "benign.jsonl",
        "data/images_information/information.json",
        "images_information/information.json",
    )
    return f"mossbench:{benchmark}" if any((path / k).is_file() for k in known) else f"questions:{benchmark}"


def before(settings: AskSettings, parts: Parts, systems: Mapping[str, str]) -> None:
    """Refuse, before there is a run, a budget that could not be kept and questions without an answer."""
    priced(settings.budget, parts.target, *models_behind(parts.judge))
    refuse = getattr(parts.target, "check", None)
    if callable(refuse):
        questions = Questions(parts.benchmark, systems)
        arms = plan(parts.benchmark, contrast=settings.contrast, systems=list(systems), repeats=1)
        refuse([questions.question(arm, index) for arm in arms for index in range(len(arm.items))])


def priced(budget: str, *models: object) -> None:
    """Refuse a limit in dollars where a model's price is not known: nothing would ever count against it.

    Raises:
        WeakspotError: It says how to give a price.
    """
    if "dollars" not in dict(Budget.parse(budget).limits):
        return
    for model in models:
        if getattr(model, "price", 0) is None:
            raise WeakspotError(
                f"the price of {str(getattr(model, 'name', 'the model'))[:80]} is not known, so dollars "
                "cannot be limited",
                fix="add ?price=2.5,10 to its name: dollars per million tokens read and written",
            )


def _part(given: Any, name: str, registry: Registry, port: type) -> Any:
    benchmarks = "benchmarks are mossbench:DIR, questions:FILE, xstest:FILE" if port is Benchmark else ""
    return part(given, name, registry, port, wanted=benchmarks)


def subject_of(settings: AskSettings, parts: Parts) -> str:
    name = getattr(parts.target, "model", "") or settings.target.partition("?")[0].rpartition("/")[2]
    return f"{parts.benchmark.name} {name}"[:200]


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def digests_of(parts: Parts) -> dict[str, str]:
    found = {what: getattr(getattr(parts, what), "digest", None) for what in ("target", "benchmark", "judge")}
    return {what: digest for what, digest in found.items() if isinstance(digest, str) and digest}
