"""hunt: bugs of an image classifier, in words (after Wiles, Albuquerque and Gowal, 2022).

For a label, sample images from a plain prompt and see how often the classifier fails (the baseline).
Sentences that are said of failing images more often than of the others become captions; images drawn
from each caption are raced against the baseline; captions that win are measured again on fresh images.
What is left are findings: captions z with P(failure | z, label) > P(failure | label).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from weakspot.core import (
    JUDGES,
    MODELS,
    SOURCES,
    Classifier,
    Finding,
    Hypothesis,
    Judge,
    Registry,
    Source,
    Stage,
    Target,
    WeakspotError,
    nearest,
)
from weakspot.engine import (
    Broken,
    Budget,
    BudgetSpent,
    ConfirmSettings,
    Engine,
    Lane,
    RaceSettings,
    State,
    Watch,
    confirm,
    race,
    stop,
)
from weakspot.judges import LabelJudge
from weakspot.search import CaptionSearch, without_adjectives
from weakspot.stats import exceeds
from weakspot.store import Run, RunConfig, rate

#: So many winners of the race are confirmed on fresh draws.
PLACES: Final = 8
#: Images that must be left per winner; with fewer, only the worst winners are confirmed.
FEWEST: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntSettings:
    """What to hunt and how; kept in run.yaml.

    Attributes:
        target: Name of the classifier.
        label: The label whose failures are hunted.
        target_label: If given, only this wrong answer counts as a failure.
        source: Name of what draws images from words.
        judge: Name of the judge; by default the label is missed, or `target_label` is said.
        budget: Limits, e.g. "images=20000,seconds=600".
        seed: Everything random follows from it.
        fdr: Bound on the expected share of false findings.
        prompt: The baseline's words; {label} and {parent} are filled in.
    """

    target: str
    label: str
    target_label: str | None = None
    source: str = "world:renderer"
    judge: str | None = None
    budget: str = "images=20000"
    seed: int = 0
    fdr: float = 0.05
    prompt: str = "a realistic photograph of a {label} ({parent})."


@dataclass(frozen=True, slots=True)
class Parts:
    """The loaded ports of a hunt."""

    target: Target
    source: Source
    judge: Judge


def hunt(
    target: str | Target,
    *,
    label: str,
    target_label: str | None = None,
    source: str | Source = "world:renderer",
    judge: str | Judge | None = None,
    budget: str = "images=20000",
    seed: int = 0,
    fdr: float = 0.05,
    out: str | Path | None = None,
    watch: Watch | None = None,
) -> Run:
    """Hunt the failures of a classifier on one label.

    Names and objects are both welcome; a run made with objects can be resumed only from Python.

    Args:
        target: The classifier.
        label: Which label.
        target_label: Count only this wrong answer.
        source: What draws images from words.
        judge: What counts as a failure.
        budget: Limits.
        seed: The same seed gives the same run.
        fdr: Bound on the false-discovery rate.
        out: The run's folder; a new one below runs/ by default.
        watch: Who is told of the progress.

    Returns:
        The finished run, open for reading; see `run.findings` and `run.state`.
    """
    settings = HuntSettings(
        target=_name(target),
        label=label,
        target_label=target_label,
        source=_name(source),
        judge=None if judge is None else _name(judge),
        budget=budget,
        seed=seed,
        fdr=fdr,
    )
    check(settings)
    parts = load(settings, target=target, source=source, judge=judge)
    config = RunConfig(
        study="hunt",
        subject=label,
        settings={k: getattr(settings, k) for k in settings.__slots__},
        digests=_digests(parts),
    )
    with Run.create(config, folder=None if out is None else Path(out)) as run:
        conduct(run, settings, parts, watch)
    return Run.read(run.folder)


def go_on(
    run: Run,
    *,
    target: Target | None = None,
    source: Source | None = None,
    judge: Judge | None = None,
    budget: str | None = None,
    watch: Watch | None = None,
) -> None:
    """Go on with an interrupted hunt: the same decisions over the recorded trials, then new ones."""
    settings = settings_of(run, budget=budget)
    parts = load(settings, target=target, source=source, judge=judge)
    for what, digest in _digests(parts).items():
        if run.config.digests.get(what, digest) != digest:
            raise WeakspotError(
                f"the {what} is not the one this run began with (its digest differs)",
                fix="use the old one, or begin a new run",
            )
    if run.state.startswith("stopped: broken"):
        run.ledger.forget_errors()
    conduct(run, settings, parts, watch)


def settings_of(run: Run, *, budget: str | None = None) -> HuntSettings:
    """The settings of a run as its run.yaml has them, with the budget it was last given."""
    known = {field.name for field in fields(HuntSettings)}
    given = run.config.settings
    wrong = [*(set(given) - known), *({"target", "label"} - set(given))]
    if wrong:
        raise WeakspotError(
            f"the settings in {run.folder / 'run.yaml'} do not fit a hunt: {wrong[0][:80]!r}",
            fix="restore the file from a copy",
        )
    latest = budget if budget is not None else run.ledger.fact("budget")
    settings = HuntSettings(**(given | ({} if latest is None else {"budget": latest})))
    check(settings)
    return settings


def conduct(run: Run, settings: HuntSettings, parts: Parts, watch: Watch | None = None) -> None:
    """The method, from the baseline to the findings."""
    ledger, base = run.ledger, base_hypothesis(settings, parts.target)
    watch = watch or Watch()
    watch.began(str(run.folder))
    ledger.set_fact("state", "running")
    ledger.set_fact("base", base.id)
    ledger.set_fact("budget", settings.budget)
    with Engine(
        run,
        source=parts.source,
        target=parts.target,
        judge=parts.judge,
        seed=settings.seed,
        budget=Budget.parse(settings.budget),
        watch=watch,
    ) as engine:
        lanes: list[Lane] = []
        untested = 0
        limit: BudgetSpent | None = None
        try:
            engine.test(base, until=stop.failures(200) | stop.spent(0.3), phase="baseline")
            engine.test(base, until=stop.failures(5) | stop.spent(0.7), phase="baseline")
            captions = CaptionSearch(base).propose(ledger)
            gone = engine.spending.share()
            fair = RaceSettings(places=PLACES, share=gone + (1 - gone) / 2)
            lanes = race(engine, captions, against=base, settings=fair)
            winners = distinct(lanes, base)[:PLACES]
            # A few candidates measured well say more than all of them measured badly.
            affordable = max(1, engine.spending.room() // FEWEST)
            untested, winners = len(winners[affordable:]), winners[:affordable]
            confirmed, limit = confirm(
                engine, winners, against=base, settings=ConfirmSettings(fdr=settings.fdr)
            )
        except BudgetSpent as spent:
            confirmed, limit = [], spent
        except Broken as broken:
            ledger.set_fact("state", f"stopped: broken: {broken.what}")
            raise
        ledger.set_findings(findings(engine, confirmed, base))
        ledger.set_fact("race", [[lane.hypothesis.id, lane.state.value] for lane in lanes])
        reason = f"the {limit}" if limit else _cut_short(engine, base, lanes, untested)
        ledger.set_fact("state", f"stopped: {reason}" if reason else "finished")


def _cut_short(engine: Engine, base: Hypothesis, lanes: Sequence[Lane], untested: int) -> str:
    """How the budget is why nothing more was found; "" where it is not."""
    tally = engine.tally(base)
    if not tally.failures and engine.spending.share() >= 0.7:
        return f"no failure in {tally.n:,} images, and the rest of the budget would not do to follow one up"
    untried = sum(lane.state is State.OPEN and not lane.tally.drawn for lane in lanes)
    if untried:
        return f"the budget did not reach {untried} of {len(lanes)} captions"
    return f"the budget did not reach {untested} of the race's winners" if untested else ""


def base_hypothesis(settings: HuntSettings, target: Target) -> Hypothesis:
    """The plain prompt of a label."""
    parents = target.parents if isinstance(target, Classifier) else {}
    prompt = settings.prompt
    if settings.label[0].lower() in "aeiou":
        prompt = prompt.replace(" a {label}", " an {label}")
    text = prompt.format(label=settings.label, parent=parents.get(settings.label, "thing"))
    return Hypothesis(text, origin="baseline")


def distinct(lanes: Sequence[Lane], base: Hypothesis) -> list[Hypothesis]:
    """The winners of a race, worst first, without those that say no more than a more general winner.

    "it is on a yellow flower." goes unless it fails more often than "it is on a flower." does.
    """
    ahead = {lane.hypothesis.beyond(base): lane for lane in lanes if lane.state is State.AHEAD}
    kept = []
    for words, lane in ahead.items():
        general = ahead.get(without_adjectives(words))
        if general is not None and general is not lane:
            one, other = lane.tally, general.tally
            if not exceeds(one.failures, one.n, other.failures, other.n):
                continue
        kept.append(lane)
    kept.sort(key=lambda lane: -lane.tally.rate)
    return [lane.hypothesis for lane in kept]


def findings(engine: Engine, lanes: Sequence[Lane], base: Hypothesis) -> list[Finding]:
    """Findings, the confirmed ones first, then by rate; all numbers from fresh draws."""
    ledger = engine.run.ledger
    baseline = rate(engine.tally(base).plus(engine.tally(base, Stage.CONFIRM)))
    found = []
    for lane in lanes:
        answers = ledger.answers(lane.hypothesis, Stage.CONFIRM, failed=True)
        kept = {
            failed: tuple(
                t.index for t in ledger.trials(lane.hypothesis, stage=Stage.CONFIRM, failed=failed, kept=True)
            )
            for failed in (True, False)
        }
        found.append(
            Finding(
                hypothesis=lane.hypothesis,
                phrase=lane.hypothesis.beyond(base),
                rate=rate(lane.tally),
                baseline=baseline,
                log_evidence=lane.log_evidence,
                confirmed=lane.state is State.CONFIRMED,
                confusions=tuple((a, k / lane.tally.failures) for a, k in answers.items()),
                failing=kept[True],
                passing=kept[False],
            )
        )
    return sorted(found, key=lambda f: (not f.confirmed, -f.rate.value))


def check(settings: HuntSettings) -> None:
    """Refuse settings that cannot be meant, before anything is loaded or written."""
    Budget.parse(settings.budget)
    if not 0 < settings.fdr < 1:
        raise WeakspotError(
            f"a false-discovery rate of {settings.fdr} makes no sense", fix="choose e.g. 0.05"
        )
    if not settings.label.strip():
        raise WeakspotError("the label is empty", fix="name the label whose failures are hunted")
    if settings.target_label == settings.label:
        raise WeakspotError("the target label is the right label", fix="name a wrong answer, or leave it out")
    if settings.target_label is not None and settings.judge is not None:
        raise WeakspotError(
            "a target label and a judge both say what a failure is",
            fix="give one of the two; label?target=… is the judge for a target label",
        )


def load(settings: HuntSettings, *, target: Any = None, source: Any = None, judge: Any = None) -> Parts:
    """Load what the settings name, except for what is given as an object, and check that it fits."""
    loaded: Target = _part(target, settings.target, MODELS, Target)
    chosen: Judge = (
        LabelJudge(target=settings.target_label)
        if settings.judge is None
        else _part(judge, settings.judge, JUDGES, Judge)
    )
    wrong = chosen.target if isinstance(chosen, LabelJudge) else None
    if wrong == settings.label:
        raise WeakspotError("the judge's target is the right label", fix="name a wrong answer")
    labels = loaded.labels if isinstance(loaded, Classifier) else ()
    for wanted in (settings.label, wrong):
        if labels and wanted is not None and wanted not in labels:
            hint = nearest(wanted, labels)
            some = ", ".join(labels[:20]) + (" …" if len(labels) > 20 else "")
            raise WeakspotError(
                f"{settings.target} has no label {wanted[:80]!r}", fix=hint or f"its labels: {some}"
            )
    return Parts(loaded, _part(source, settings.source, SOURCES, Source, label=settings.label), chosen)


def _part(given: Any, name: str, registry: Registry, port: type, **context: str) -> Any:
    """A given object, or what the name names; either must have the port's methods.

    `context` reaches the factories that ask for it: a text-to-image source is told the label.
    """
    part = given
    if given is None or isinstance(given, str):
        if name.startswith("object:"):
            raise WeakspotError(
                f"this run was made with a Python object ({name[7:]}) that has no name",
                fix="go on from Python: weakspot.resume(folder, target=…, source=…, judge=…)",
            )
        try:
            part = registry.load(name, **context)
        except WeakspotError:
            raise
        except Exception as error:  # a user's module or a plugin may raise anything
            raise WeakspotError(
                f"{name[:200]} cannot be loaded: {type(error).__name__}: {error}",
                fix="mend it; --debug shows where",
            ) from error
    if not isinstance(part, port):
        methods = ", ".join(sorted(m for m in vars(port) if not m.startswith("_")))
        raise WeakspotError(f"{name[:200]} is not a {port.__name__}", fix=f"it must have: {methods}")
    return part


def _name(part: object) -> str:
    return part if isinstance(part, str) else f"object:{type(part).__module__}.{type(part).__qualname__}"


def _digests(parts: Parts) -> dict[str, str]:
    found = {what: getattr(getattr(parts, what), "digest", None) for what in ("target", "source", "judge")}
    return {what: digest for what, digest in found.items() if digest}
