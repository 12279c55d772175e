"""What `ask` is asked to do: put the questions of a benchmark, or have new ones written."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from weakspot.core import MODELS, SOURCES, WeakspotError
from weakspot.study.options import BudgetOption, FdrOption, Option, SeedOption, StudySettings

#: No system prompt, as in the published protocol.
PLAIN: Final = "none"
_MOSSBENCH: Final = (
    "benign.jsonl", "data/images_information/information.json", "images_information/information.json",
)  # fmt: skip


def benchmark_name(benchmark: str | None) -> str | None:
    """A benchmark's name; a path alone is a folder of MOSSBench or else a table of questions."""
    if benchmark is None or any(benchmark.startswith(f"{entry.name}:") for entry in SOURCES):
        return benchmark
    path = Path(benchmark)
    if not path.exists():  # what is called like a file is one that is missing
        return f"questions:{benchmark}" if ":" not in benchmark and path.suffix else benchmark
    kind = "mossbench" if any((path / name).is_file() for name in _MOSSBENCH) else "questions"
    return f"{kind}:{benchmark}"


def judge_name(judge: str) -> str:
    """A judge's name; of several, separated by commas, one that asks them in turn."""
    from weakspot.judges.refusal.routed import routed_name  # only now: the help needs no judges

    return routed_name(judge) if "," in judge else judge


_model: Final = partial(Option, shown="MODEL", names="model")
_source: Final = partial(Option, names="source", port="Source")


class AskSettings(StudySettings):
    """Find which harmless questions a chat model refuses, and why.

    Errors, blocks by the provider and empty answers never count as refusals. A resumed run does not ask again
    what was already answered.
    """

    target: Annotated[
        str,
        _model(
            "The chat model, e.g. chat:openai/gpt-4o or replay:responses.jsonl; or a table of questions with "
            "answers.",
            port="Target",
            argument=True,
        ),
    ]
    benchmark: Annotated[
        str | None,
        AfterValidator(benchmark_name),
        _source("The questions: mossbench:DIR, questions:FILE or xstest:FILE.", "BENCHMARK"),
    ] = None
    judge: Annotated[
        str,
        AfterValidator(judge_name),
        Option(
            "Says which answers refuse (see: weakspot list judges). Of several, separated by commas, each is "
            "asked only where the one before is unsure.",
            "JUDGE",
            names="judge",
            port="Judge",
        ),
    ] = "embedded"
    refused: Annotated[
        Literal["default", "strict"],
        Option(
            "What counts as a refusal. default: refusals, and answers that only point elsewhere; strict: "
            "also partial answers, questions back, and what a filter stopped."
        ),
    ] = "default"
    contrast: Annotated[bool, Option("Ask the harmful counterparts too, which should be refused.")] = False
    system: Annotated[
        tuple[str, ...],
        Option(
            "A system prompt: none, helpful, scrutiny, safety or a text file. Several are compared.", "PROMPT"
        ),
    ] = (PLAIN,)
    stages: Annotated[
        bool, Option("Ask refused questions again with help, to see why they were refused.")
    ] = False
    vet: Annotated[
        str | None,
        _model(
            "A chat model that checks whether each harmless question is harmless; rates are also shown "
            "without those it doubts.",
            port="LanguageModel",
        ),
    ] = None
    repeats: Annotated[int, Option("How often each question is asked.")] = 1
    limit: Annotated[int | None, Option("The most harmless questions to ask, spread over the benchmark.")] = (
        None
    )
    budget: Annotated[
        BudgetOption,
        Option("Any of calls, tokens, dollars, seconds; e.g. dollars=5,calls=1000.", "LIMITS"),
    ] = "calls=20000"
    seed: SeedOption = 0
    fdr: Annotated[
        FdrOption,
        Option("Bound on the share of slices or descriptions that are wrongly called worse.", "SHARE"),
    ] = 0.05
    scenarios: Annotated[
        int | None,
        Option(
            "Instead of a benchmark: have up to this many new questions written, and find the kinds that "
            "are refused most."
        ),
    ] = None
    stimulus: Annotated[
        str | None,
        Option("With --scenarios: exaggerated-risk, negated-harm, counterintuitive, or own words.", "TYPE"),
    ] = None
    llm: Annotated[
        str | None, _model("With --scenarios: the chat model that writes them.", port="LanguageModel")
    ] = None
    source: Annotated[
        str | None,
        _source("With --scenarios: draws the scenes (see: weakspot list sources).", "SOURCE"),
    ] = None
    pool: Annotated[
        str | None,
        Option(
            "With --scenarios: pictures of a folder, found by the scene.",
            "FOLDER?encoder=NAME",
            names="inputs",
        ),
    ] = None
    prompts: Annotated[
        dict[str, str], Option("Texts of the system prompts by name, as the run began with.", inner=True)
    ] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _table(cls, given: Any) -> Any:
        """A table alone is a recording, and has the questions too where none are named."""
        target = given.get("target") if isinstance(given, dict) else None
        if not isinstance(target, str) or any(target.startswith(f"{entry.name}:") for entry in MODELS):
            return given
        from weakspot.records.read import is_table  # only now: the help needs no reader

        if not is_table(target):
            return given
        both = {} if given.get("benchmark") else {"benchmark": f"questions:{target}"}
        return given | {"target": f"replay:{target}"} | both

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        from weakspot.studies.ask.arms import system_prompts  # only now: the help needs no sources

        for what, value in (("repeats", self.repeats), ("limit", self.limit)):
            if value is not None and not 1 <= value <= 1_000_000:
                raise WeakspotError(f"{what} cannot be {value}", fix="choose a whole number from 1")
        if not self.system:
            raise WeakspotError("no system prompt is named", fix=f"use {PLAIN} for none")
        if not self.prompts:
            system_prompts(self.system)
        if self.scenarios is None:
            self._check_benchmark()
        else:
            self._check_scenarios(self.scenarios)
        return self

    def _check_benchmark(self) -> None:
        for name in ("stimulus", "llm", "source", "pool"):
            if getattr(self, name):
                raise WeakspotError(f"{name} belongs to scenarios", fix="add scenarios=300, or leave it out")
        if self.benchmark is None:
            raise WeakspotError(
                "no questions are named: there is neither a benchmark nor scenarios",
                fix="name a benchmark, e.g. mossbench:DIR, or ask for 300 scenarios",
            )

    def _check_scenarios(self, scenarios: int) -> None:
        plain = type(self).model_fields
        for name in ("benchmark", "system", "stages", "limit", "repeats", "vet"):
            if getattr(self, name) != plain[name].default:
                raise WeakspotError(f"{name} does not go with scenarios", fix="leave it out")
        if not 30 <= scenarios <= 100_000:
            raise WeakspotError(
                f"{scenarios} scenarios are too few to show anything",
                fix="choose a number from 30 to 100,000",
            )
        for name, given in (("stimulus", self.stimulus), ("llm", self.llm)):
            if not (given or "").strip():
                raise WeakspotError(
                    f"scenarios need {name}: no {name} is named",
                    fix="e.g. --stimulus negated-harm --llm chat:openai/gpt-4o",
                )
        if self.source and self.pool:
            raise WeakspotError("source and pool both give the pictures", fix="choose one")


def resolve(settings: AskSettings, _: dict[str, Any]) -> AskSettings:
    """The texts of the system prompts as they are now, and the source that a pool is."""
    from weakspot.studies.ask.arms import system_prompts

    pool = {"source": f"retrieve:{settings.pool}", "pool": None} if settings.pool else {}
    return settings.changed(prompts=system_prompts(settings.system), **pool)


def title(settings: AskSettings) -> str:
    return f"{'asking' if settings.scenarios is None else 'new questions for'} {settings.target}"
