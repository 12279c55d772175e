"""ask: oversensitivity of chat models (after MOSSBench: Li et al., 2024).

Items of a benchmark, benign ones and where wanted their harmful counterparts, are put to a model as they are,
or under system prompts. A judge says which answers refuse. The share of benign questions refused is the
oversensitivity; the share of harmful ones refused says what it buys. Refused questions can be asked again
with more and more help, and with none as a placebo, which says whether the model misjudged the picture, the
intent, or the risk, or refused by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weakspot.core import Status
from weakspot.core.question import BENIGN
from weakspot.engine import Engine, Lane, Want
from weakspot.report.format import clean, count, percent, plural
from weakspot.studies.ask.arms import DESCRIBE, DESCRIPTION, STAGES, Arm, Questions, arm_of, plan
from weakspot.studies.ask.benign import vet, vetted
from weakspot.studies.ask.parts import AskParts, ScenarioParts, asking, model_name
from weakspot.studies.ask.purse import Paying
from weakspot.studies.ask.reading import figures, items_of
from weakspot.studies.ask.result import AskResult
from weakspot.studies.ask.settings import AskSettings
from weakspot.studies.ask.told import SETS
from weakspot.studies.ask.verdicts import Refusals
from weakspot.study import Context

#: Questions of a set before the other set's turn, so that a budget that ends early cuts both.
_TURN: Final = 64
#: Cases per call of a target that does not wait for a server.
_BATCH: Final = 64
#: Arms or descriptions in the line that tells how far a run is.
_LISTED: Final = 4


def ask(context: Context[AskSettings, AskParts | ScenarioParts]) -> AskResult:
    """Ask what there is to ask, then what was refused once more with help, and count."""
    if isinstance(context.parts, ScenarioParts):
        from weakspot.studies.ask.search import search

        return search(context, context.parts)
    settings, parts = context.settings, context.parts
    benchmark, systems = parts.benchmark, list(settings.prompts)
    questions = Questions(benchmark, settings.prompts)
    arms = plan(benchmark, contrast=settings.contrast, systems=systems, repeats=settings.repeats)
    before = AskResult.of(context.run)
    known = AskResult(
        model=model_name(settings.target, parts.target),
        items=items_of(benchmark),
        order=order_of(arms),
        images_missing=tuple(
            f"{item.set} {item.id}" for item in benchmark.missing if settings.contrast or item.set == BENIGN
        ),
        images_changed={} if before is None else before.images_changed,
    )
    context.publish(known)
    refusals = Refusals(parts.judge, settings.refused)
    how = asking(context, parts.target, refusals, batch=_BATCH, helper=parts.vet)
    with context.engine(source=questions, kind=Paying, **how) as engine, context.as_far_as_it_goes():
        put(engine, questions, arms)
        if settings.stages:
            again = helped(context, arms[0], benchmark.name)
            known = known.model_copy(update={"order": known.order | order_of(again)})
            context.publish(known)
            put(engine, questions, again)
        if parts.vet is not None:
            vet(engine, parts.vet, benchmark)
    known = known.model_copy(update={"vetted": vetted(context.run), "vetted_by": settings.vet or ""})
    return figures(context.run, known, settings, parts)


def put(engine: Engine, questions: Questions, arms: Sequence[Arm]) -> None:
    """Ask what the arms want, in turns, so that a budget which ends early cuts all of them alike."""
    for arm in arms:
        questions.add(arm)
    longest = max((arm.n for arm in arms), default=0)
    turns = -(-longest // max(_TURN, engine.batch))
    wants = [Want(arm.hypothesis, arm.n * i // turns) for i in range(1, turns + 1) for arm in arms]
    engine.draw(wants, phase="asking")


def helped(context: Context[AskSettings, Any], plain: Arm, benchmark: str) -> list[Arm]:
    """The arms of the stage analysis: the benign questions that the first arm refused, asked with help.

    Their order is kept, so that a resumed run goes on with the same ones.
    """
    known: list[str] = context.noted("refused", [])
    trials = context.ledger.trials(plain.hypothesis)[: len(plain.items)]
    refused = [plain.items[t.index].id for t in trials if t.status is Status.REFUSED]
    order = list(dict.fromkeys([*known, *refused]))
    context.note("refused", order)
    items = {item.id: item for item in plain.items}
    asked = [items[key] for key in order if key in items]
    some = {
        DESCRIBE: [item for item in asked if item.image is not None or item.missing],
        DESCRIPTION: [item for item in asked if item.description],
    }
    return [
        arm_of(benchmark, chosen, which=BENIGN, system=plain.system, stage=stage)
        for stage in STAGES
        if (chosen := some.get(stage, asked))
    ]


def order_of(arms: Sequence[Arm]) -> dict[str, tuple[str, ...]]:
    return {arm.hypothesis.id: tuple(item.id for item in arm.items) for arm in arms}


def progress(_: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    begun = [lane for lane in lanes if lane.tally.drawn]
    if len(begun) > _LISTED:  # descriptions of scenarios: the worst
        begun = sorted(begun, key=lambda lane: -lane.tally.rate if lane.tally.n else 0.0)[:_LISTED]
    told = " · ".join(map(_lane, begun)) or "the first questions"
    cost = f" · ${spent['dollars']:,.2f}" if spent.get("dollars") else ""
    return f"asking   {told} · {count(spent['calls'])} calls so far{cost}"


def _lane(lane: Lane) -> str:
    concepts = dict(lane.hypothesis.concepts)
    which = concepts.get("set", "")
    name = concepts.get("kind") or concepts.get("stage") or SETS.get(which, which)
    system = concepts.get("system", "none")
    name += "" if system == "none" else f" ({system})"
    failing = "refused" if which == BENIGN else "answered"
    rate = f"{percent(lane.tally.rate)} {failing}" if lane.tally.n else "nothing judged"
    beside = f", {plural(lane.tally.errors, 'error')}" if lane.tally.errors else ""
    return f"{clean(name[:40])} {count(lane.tally.drawn)}: {rate}{beside}"
