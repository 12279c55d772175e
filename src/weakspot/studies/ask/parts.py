"""What `ask` is made with: the model, the judge, and a benchmark or a writer of scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from weakspot.core import JUDGES, MODELS, SOURCES, Judge, Source, Stage, Target, WeakspotError
from weakspot.core.ports import LanguageModel
from weakspot.core.question import BENIGN, CONTRAST, AnswersQuestions, NeedsImages, Priced
from weakspot.engine import Budget
from weakspot.engine.engine import PATIENCE
from weakspot.engine.identity import models_in
from weakspot.sources.benchmark import Benchmark
from weakspot.studies.ask.arms import Questions, plan
from weakspot.studies.ask.purse import Purse
from weakspot.studies.ask.recording import Replay
from weakspot.studies.ask.settings import AskSettings
from weakspot.studies.ask.verdicts import Refusals, models_behind, sees_pictures, together
from weakspot.study.lifecycle import Context
from weakspot.study.loading import part

#: Questions of an arm that are kept for people to look at, with their pictures: (wrong, right).
KEEP: Final = dict.fromkeys(Stage, (400, 200))
_FROM_PYTHON: Final = "go on from Python: weakspot.resume(folder, target=…, benchmark=…, judge=…)"
_BENCHMARKS: Final = "benchmarks are mossbench:DIR, questions:FILE, xstest:FILE"


@dataclass(frozen=True, slots=True)
class AskParts:
    """What the settings of a run over a benchmark name."""

    target: Target
    judge: Judge
    benchmark: Benchmark
    vet: LanguageModel | None = None


@dataclass(frozen=True, slots=True)
class ScenarioParts:
    """What the settings of a run over scenarios name; `source` draws the scenes, if there are pictures."""

    target: Target
    judge: Judge
    llm: LanguageModel
    source: Source | None


def load(settings: AskSettings, **objects: Any) -> AskParts | ScenarioParts:
    """Load what is named, and refuse, before there is a run, what could not be answered or kept to."""
    if settings.benchmark is None:
        return _for_scenarios(settings, objects)
    return _for_benchmark(settings, settings.benchmark, objects)


def _for_benchmark(settings: AskSettings, name: str, objects: Mapping[str, Any]) -> AskParts:
    # The benchmark first: it is the user's own and the cheapest to get wrong.
    questions: Benchmark = part(
        objects.get("benchmark"), name, SOURCES, Benchmark, wanted=_BENCHMARKS, without_name=_FROM_PYTHON
    )
    chosen: Judge = part(objects.get("judge"), settings.judge, JUDGES, Judge)
    loaded: Target = part(objects.get("target"), settings.target, MODELS, Target)
    if settings.limit is not None:
        questions = questions.some(settings.limit)
    if settings.contrast and CONTRAST not in questions.sets:
        raise WeakspotError(f"{name[:200]} has no contrast set", fix="leave --contrast out")
    if BENIGN not in questions.sets and not settings.contrast:
        raise WeakspotError(f"{name[:200]} has no benign set", fix="add --contrast")
    if shown_pictures(loaded):
        questions.images = "raw" if isinstance(loaded, AnswersQuestions) else "needed"
    else:
        questions.images = "wanted" if sees_pictures(chosen) else "ignored"
    voter = None
    if settings.vet is not None:
        voter = part(objects.get("vet"), settings.vet, MODELS, LanguageModel, wanted="name a chat model")
    _check_prices(settings, loaded, voter, *models_behind(chosen))
    if isinstance(loaded, Replay):
        asked = Questions(questions, settings.prompts)
        arms = plan(questions, contrast=settings.contrast, systems=list(settings.prompts), repeats=1)
        loaded.check(asked.question(arm, index) for arm in arms for index in range(len(arm.items)))
    return AskParts(loaded, chosen, questions, voter)


def _for_scenarios(settings: AskSettings, objects: Mapping[str, Any]) -> ScenarioParts:
    writer: LanguageModel = part(
        objects.get("llm"), str(settings.llm), MODELS, LanguageModel, wanted="name a chat model: --llm chat:…"
    )
    pictures = None
    if settings.source is not None:
        pictures = part(objects.get("source"), settings.source, SOURCES, Source, label="a scene")
    loaded: Target = part(objects.get("target"), settings.target, MODELS, Target)
    chosen: Judge = part(objects.get("judge"), settings.judge, JUDGES, Judge)
    _check_prices(settings, loaded, writer, *models_behind(chosen))
    return ScenarioParts(loaded, chosen, writer, pictures)


def shown_pictures(target: Target) -> bool:
    return not isinstance(target, NeedsImages) or target.needs_images


def _check_prices(settings: AskSettings, *models: object) -> None:
    """Refuse a limit in dollars where a model's price is not known: nothing would ever count against it."""
    if "dollars" not in dict(Budget.parse(settings.budget).limits):
        return
    for model in models:
        if isinstance(model, Priced) and model.price is None:
            raise WeakspotError(
                f"the price of {model.name[:80]} is not known, so dollars cannot be limited",
                fix="add ?price=2.5,10 to its name: dollars per million tokens read and written",
            )


def subject(settings: AskSettings, parts: AskParts | ScenarioParts) -> str:
    if isinstance(parts, ScenarioParts):
        return f"scenarios {settings.stimulus}"[:200]
    name = settings.target.partition("?")[0].rpartition("/")[2]
    return f"{parts.benchmark.name} {model_name(name, parts.target)}"[:200]


def model_name(name: str, target: Target) -> str:
    """Whose answers they are: as a recording says, or else the target's name."""
    return (target.model if isinstance(target, Replay) else "") or name


def asking(
    context: Context[AskSettings, Any], target: Target, judge: Refusals, *, batch: int, helper: object = None
) -> dict[str, Any]:
    """How the engine asks a target whose answers are judged at once: the target, executor, batch, patience.

    A call has `batch` cases where neither the model nor the judge waits for a server. What all of them send,
    and a helper that writes scenarios or vets questions, is paid from one purse.
    """
    others = (*models_behind(judge.judge_of_refusals), *models_in(helper))
    asked, executor = together(target, judge)
    recorded = isinstance(target, Replay)
    return {
        "purse": Purse(context.run, Budget.parse(context.settings.budget), target, others),
        "target": asked,
        "judge": judge,
        "executor": executor,
        "batch": 1 if executor else 512 if recorded else batch,
        "keep": KEEP,
        # A recording is what it is: one with gaps is not broken.
        "patience": None if recorded else PATIENCE,
    }
