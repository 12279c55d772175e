"""map: the failure landscape of a model over a space of concepts (after Sagar, Taparia and Senanayake, 2024).

A search looks for the cells of a concept space in which the model fails. What it asked gives every cell a
rate with an interval; regions that fail become modes, in words, which are confirmed on inputs that no search
saw. Of the parts of the inputs, repair and verification stay untouched for what comes after.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

from weakspot.core import Hypothesis, Stage, Tally
from weakspot.core.ports import Visible, Waiting
from weakspot.engine import Broken, BudgetSpent, ConfirmSettings, Engine, confirm, findings, stop
from weakspot.engine.stop import COUNTED
from weakspot.store import Run, unjudged
from weakspot.studies.map.asking import Asking
from weakspot.studies.map.landscape import Believed, usual_rate
from weakspot.studies.map.parts import MapParts
from weakspot.studies.map.result import Compared, MapResult, Original
from weakspot.studies.map.search.problem import Log
from weakspot.studies.map.search.rl import AGENTS, part
from weakspot.studies.map.search.searches import DEFAULT, find, narrow, search
from weakspot.studies.map.settings import LEARNED, MapSettings
from weakspot.study import Context

#: Inputs as they are, drawn first: at most so many, and at most this part of the budget.
BASELINE, BASELINE_SHARE = 400, 0.1
#: Inputs as they are without a single verdict before a run gives up.
SILENT: Final = 20
#: Of the search's queries, what goes at the end to the cells of which least is known.
NARROWED: Final = 0.1
#: Modes and minimal sets that are confirmed.
CONFIRMED: Final = 5
#: Fresh draws of each of them, and of the baseline, at least.
FRESH: Final = 64
#: Failing cases of a finding that are kept with what they were made of.
SHOWN: Final = 6
#: Inputs kept as evidence per cell and per finding: (failing, passing).
KEPT: Final = {Stage.EXPLORE: (1, 0), Stage.CONFIRM: (12, 4)}

MapContext = Context[MapSettings, MapParts]


def map_failures(context: MapContext) -> MapResult:
    """The baseline, the search, the landscape, its modes, their confirmation."""
    settings, parts = context.settings, context.parts
    base = parts.space.outside()
    context.ledger.set_fact("base", base.id)
    result = MapResult(parts=parts.counts)
    context.publish(result)
    with (
        context.engine(source=parts.source, target=parts.target, judge=parts.judge, keep=KEPT) as engine,
        context.within_budget(),
    ):
        usual = Tally()
        if not settings.concepts:
            usual = look_at_inputs_as_they_are(engine, base, settings)
            _need_verdicts(context.run, parts, usual.n, "the inputs as they are")
        log = Asking(engine, space=parts.space).log(settings.searching)
        compared = spend(log, context)
        if not log.n.any():
            _wait_for_people(parts)
        _need_verdicts(context.run, parts, int(log.n.sum()), "the search's queries")
        rate = (usual.failures + 0.5) / (usual.n + 1) if log.population is None else usual_rate(log)
        believed = Believed(log, least=threshold(rate), above=settings.above)
        landscape = believed.landscape(
            context.random(3), search=find(settings.search), compared=compared, note=note(log, parts)
        )
        result = MapResult(parts=parts.counts, landscape=landscape, every_cell=believed.every_cell())
        context.publish(result)
        confirm_worst(context, engine, believed, base)
        result = result.model_copy(update={"originals": originals(context)})
        context.publish(result)
    if parts.bias is not None:
        result = result.model_copy(update={"bias": parts.bias.measure(context.run)})
        context.publish(result)
    _wait_for_people(parts)
    return result


def look_at_inputs_as_they_are(engine: Engine, base: Hypothesis, settings: MapSettings) -> Tally:
    first = min(BASELINE, int(BASELINE_SHARE * settings.queries))
    usual = engine.test(base, until=stop.drawn(first), phase="baseline")
    return usual if usual.n else engine.test(base, until=stop.drawn(max(first, SILENT)), phase="baseline")


def spend(log: Log, context: MapContext) -> Compared | None:
    """Spend the search's queries: some for a learned agent, most for the worst, the last where doubt is.

    Returns how a learned agent did, if one was asked for.
    """
    name, rng = find(context.settings.search), context.random(1)
    whole, compared = log.budget, None
    if name in AGENTS:
        log.budget = part(log, LEARNED, name)
        source = context.parts.source
        about = {"agent": name, "sees": source.sees if isinstance(source, Visible) else ""}
        compared = search(name)(log, rng).model_copy(update=about)
        name, rng = DEFAULT, context.random(2)
    log.budget = whole if name == "exhaustive" else whole - int(NARROWED * whole)
    search(name)(log, rng)
    log.budget = whole
    narrow(log, context.random(4))
    return compared


def threshold(rate: float) -> float:
    """What is not worth calling a mode: less than twice the usual rate, or not five points more."""
    return min(max(2 * rate, rate + 0.05), 0.9)


def confirm_worst(context: MapContext, engine: Engine, believed: Believed, base: Hypothesis) -> None:
    """Test modes and minimal sets, as many as can be afforded, on inputs that the search never saw."""
    space, settings = believed.space, context.settings
    modes = [mode.region for mode in believed.modes[:CONFIRMED]]
    sets = [one.region for one in believed.sets[:CONFIRMED] if one.region != space.whole]
    both = [region for pair in zip_longest(modes, sets) for region in pair if region is not None]
    named = {h.id: h for h in (space.hypothesis(region, origin="mode") for region in both)}
    named = {key: one for key, one in named.items() if engine.reach(one, Stage.CONFIRM)}
    tested = list(named.values())[: max(1, engine.spending.room() // FRESH - 1)]
    spent: BudgetSpent | None = None
    found = []
    if tested:
        usual = engine.tally(base).drawn + FRESH
        if settings.concepts:  # nothing of the baseline was looked at yet
            usual = max(FRESH, min(BASELINE, int(BASELINE_SHARE * settings.queries)))
        wanted = ConfirmSettings(fdr=settings.fdr, least=FRESH, most=4 * FRESH, baseline=usual)
        lanes, spent = confirm(engine, tested, against=base, settings=wanted)
        found = findings(engine, lanes)
    context.ledger.set_findings(found)
    # The number of images is the run's design: what they did not settle is not confirmed, and that is that.
    if spent is not None and spent.what not in COUNTED:
        context.end(f"the {spent}")


def originals(context: MapContext) -> tuple[Original, ...]:
    """What the first failing cases of each confirmed finding were made of, to be shown beside them."""
    found = []
    for finding in context.run.findings:
        for index in finding.failing[:SHOWN] if finding.confirmed else ():
            if before := context.parts.before(finding.hypothesis, index):
                blob = context.run.blobs.put(before)
                found.append(Original(hypothesis=finding.hypothesis.id, index=index, blob=blob))
    return tuple(found)


def note(log: Log, parts: MapParts) -> str:
    notes = []
    asked, size = int((log.n > 0).sum()), int(log.there.sum())
    if asked < size:
        notes.append(f"{asked:,} of {size:,} cells have answers; the rates of the others are inferred.")
    if errors := int((log.asked - log.n).sum()):
        notes.append(f"{errors:,} queries of the search gave no verdict and are not counted.")
    if parts.counts:
        kept = ", ".join(f"{n:,} for {name}" for name, n in parts.counts.items())
        notes.append(f"Inputs were split into parts that share none: {kept}.")
    return " ".join(filter(None, [*notes, parts.note]))


def _need_verdicts(run: Run, parts: MapParts, verdicts: int, what: str) -> None:
    """Stop a run that has nothing to tell: a rate needs a verdict."""
    if verdicts or isinstance(parts.judge, Waiting):  # people's ratings are waited for later
        return
    causes = unjudged(run)
    mended = f"weakspot resume {run.folder}" if all(c.status == "error" for c in causes) else "map again"
    raise Broken(
        f"not one answer to {what} could be judged; " + "; ".join(f"{c.times:,} × {c}" for c in causes[:3]),
        fix=f"look at what the model returns and remove the cause, then: {mended}",
    )


def _wait_for_people(parts: MapParts) -> None:
    """Stop a run whose outputs wait for people's ratings; it is resumed when they are there."""
    if isinstance(parts.judge, Waiting):
        parts.judge.hold()
