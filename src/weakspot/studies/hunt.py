"""hunt: bugs of an image classifier, in words (after Wiles, Albuquerque and Gowal, 2022).

For a label, sample images from a plain prompt and see how often the classifier fails (the baseline).
Sentences that are said of failing images more often than of the others, alone or two together, and
descriptions of failures that look alike, become captions; images drawn from each caption are raced against
the baseline. What goes with failure within a caption refines it, what it does not need is left out, and so on
while the budget lasts. The fewest captions that explain the failures are measured again on fresh images, and
what is left are findings: captions z with P(failure | z, label) > P(failure | label). At the end each is
edited (denied, in another colour, at another place) to see what it hangs on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from weakspot.core import Finding, Hypothesis, Judge, Source, Stage, Target, WeakspotError
from weakspot.engine import (
    Broken,
    Budget,
    BudgetSpent,
    Claim,
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
from weakspot.engine.engine import KEPT
from weakspot.search.edit import edits
from weakspot.search.propose import distinct, from_failures, from_groups, from_within
from weakspot.search.select import said_by, select
from weakspot.search.told import Teller
from weakspot.store import Run, RunConfig, rate
from weakspot.studies.hunt_parts import (
    HuntSettings,
    Parts,
    base_hypothesis,
    check,
    load,
    name_of,
    settings_of,
)

__all__ = [
    "HuntSettings",
    "Parts",
    "base_hypothesis",
    "check",
    "conduct",
    "go_on",
    "hunt",
    "load",
    "settings_of",
]

#: In each round the baseline is drawn until it failed so often or this part of the budget is gone; then
#: the race goes on until that part is.
ROUNDS: Final = ((25, 0.15, 0.4), (60, 0.25, 0.55), (150, 0.35, 0.65))
#: The same for a model that has not failed enough to suggest anything.
LAST_RESORT: Final = (5, 0.7, 0.85)
#: Winners are drawn on until so many failures, so many images, or this part of the budget.
SHARP: Final = (20, 320, 0.75)
#: So many winners of the race are confirmed on fresh draws.
PLACES: Final = 8
#: Images that must be left per winner; with fewer, only the worst winners are confirmed.
FEWEST: Final = 128
#: When no more than this share of the failures is left unexplained, the baseline is not drawn further.
EXPLAINED: Final = 0.3
#: Images of each counterfactual edit, and the part of the budget that all of them may use.
EDIT_IMAGES: Final = 48
EDIT_SHARE: Final = 0.1
#: Pictures kept per hypothesis where a model must look at them: (failing, passing).
LOOKED_AT: Final = {Stage.EXPLORE: (64, 32), Stage.CONFIRM: (24, 12)}


def hunt(
    target: str | Target,
    *,
    label: str = "",
    labels: Sequence[str] = (),
    target_label: str | None = None,
    source: str | Source = "world:renderer",
    judge: str | Judge | None = None,
    verify: Sequence[Any] | str = (),
    captioner: Any = None,
    encoder: Any = None,
    from_images: str | Path | None = None,
    labels_file: str | Path | None = None,
    sense: str | None = None,
    budget: str = "images=20000",
    seed: int = 0,
    fdr: float = 0.05,
    prompt: str | None = None,
    sentences: int = 3,
    edits: int = 4,
    out: str | Path | None = None,
    watch: Watch | None = None,
) -> Run:
    """Hunt the failures of a classifier on one label, or on several with one budget.

    Names and objects are both welcome; a run made with objects can be resumed only from Python.

    Args:
        target: The classifier.
        label: Which label. One that the head does not have may be a noun of WordNet that covers some it has.
        labels: Several labels instead.
        target_label: Count only this wrong answer.
        source: What draws images from words.
        judge: What counts as a failure.
        verify: Models that must see the label in a picture before it counts either way.
        captioner: Says what is in pictures, where the source does not know.
        encoder: Groups failures by what they look like.
        from_images: A folder of pictures to begin with, such as failures from elsewhere.
        labels_file: Names and parents of labels.
        sense: Which meaning of the label, where WordNet knows several.
        budget: Limits.
        seed: The same seed gives the same run.
        fdr: Bound on the false-discovery rate.
        prompt: The baseline's words, with {label} and {parent}.
        sentences: At most so many sentences in a caption.
        edits: Counterfactual edits measured of each finding.
        out: The run's folder; a new one below runs/ by default.
        watch: Who is told of the progress.

    Returns:
        The finished run, open for reading; see `run.findings` and `run.state`.
    """
    verified = (verify,) if isinstance(verify, str) else tuple(verify)
    settings = HuntSettings(
        target=name_of(target),
        label=label,
        labels=tuple(labels),
        target_label=target_label,
        source=name_of(source),
        judge=None if judge is None else name_of(judge),
        verify=tuple(map(name_of, verified)),
        captioner=None if captioner is None else name_of(captioner),
        encoder=None if encoder is None else name_of(encoder),
        from_images=None if from_images is None else str(from_images),
        labels_file=None if labels_file is None else str(labels_file),
        sense=sense,
        budget=budget,
        seed=seed,
        fdr=fdr,
        **({} if prompt is None else {"prompt": prompt}),
        sentences=sentences,
        edits=edits,
    )
    check(settings)
    parts = load(
        settings,
        target=target,
        source=source,
        judge=judge,
        verify=verified,
        captioner=captioner,
        encoder=encoder,
    )
    config = RunConfig(
        study="hunt",
        subject=label or f"{len(settings.labels)} labels",
        settings=settings.to_yaml(),
        digests=parts.digests,
    )
    with Run.create(config, folder=None if out is None else Path(out)) as run:
        conduct(run, settings, parts, watch)
    return Run.read(run.folder)


def go_on(run: Run, *, budget: str | None = None, watch: Watch | None = None, **given: Any) -> None:
    """Go on with an interrupted hunt: the same decisions over the recorded trials, then new ones.

    Args:
        run: Open for writing.
        budget: A new one.
        watch: Who is told of the progress.
        given: Objects in place of names: target, source, judge, verify, captioner, encoder.
    """
    settings = settings_of(run, budget=budget)
    parts = load(settings, **given)
    for what, digest in parts.digests.items():
        if run.config.digests.get(what, digest) != digest:
            raise WeakspotError(
                f"the {what} is not the one this run began with (its digest differs)",
                fix="use the old one, or begin a new run",
            )
    if run.state.startswith("stopped: broken"):
        run.ledger.forget_errors()
    conduct(run, settings, parts, watch)


def conduct(run: Run, settings: HuntSettings, parts: Parts, watch: Watch | None = None) -> None:
    """The method, from the baseline to the findings."""
    ledger, watch = run.ledger, watch or Watch()
    bases = [base_hypothesis(settings, parts.words, label) for label in settings.hunted]
    watch.began(str(run.folder))
    ledger.set_fact("state", "running")
    ledger.set_fact("base", bases[0].id)
    ledger.set_fact("bases", [base.id for base in bases])
    ledger.set_fact("budget", settings.budget)
    looks = parts.captioner is not None or parts.encoder is not None
    with Engine(
        run,
        source=parts.source,
        target=parts.target,
        judge=parts.verdicts,
        seed=settings.seed,
        budget=Budget.parse(settings.budget),
        watch=watch,
        keep=LOOKED_AT if looks else KEPT,
    ) as engine:
        teller = Teller(engine, parts.captioner)
        lanes: list[Lane] = []
        confirmed: list[Lane] = []
        untested = 0
        limit: BudgetSpent | None = None
        try:
            claims = begin_with(settings, parts, bases[0])
            for goal, share, until in (*ROUNDS, LAST_RESORT):
                if (goal, share, until) == LAST_RESORT and (claims or len(lanes)):
                    break
                explore(engine, bases, goal=goal, share=share)
                before = len(claims)
                claims = distinct([*claims, *proposals(teller, settings, parts, bases, lanes)])
                lanes = race(engine, claims, settings=RaceSettings(places=PLACES, share=until))
                claims = distinct(
                    [
                        *claims,
                        *from_within(
                            lanes, teller.trials, most=settings.sentences, fits=fitting(parts.source)
                        ),
                    ]
                )
                lanes = race(engine, claims, settings=RaceSettings(places=PLACES, share=until))
                if claims and len(claims) == before and explained(teller, bases, lanes):
                    break
            lanes = sharpen(engine, teller, settings, parts, lanes)
            winners = select(lanes, teller.trials, most=PLACES)
            # A few candidates measured well say more than all of them measured badly.
            affordable = max(1, engine.spending.room() // FEWEST)
            untested, winners = len(winners[affordable:]), winners[:affordable]
            confirmed, limit = confirm(engine, winners, settings=ConfirmSettings(fdr=settings.fdr))
            if not limit:
                counterfactuals(engine, settings, confirmed, fitting(parts.source))
        except BudgetSpent as spent:
            limit = spent
        except Broken as broken:
            ledger.set_fact("state", f"stopped: broken: {broken.what}")
            raise
        ledger.set_findings(findings(engine, confirmed))
        ledger.set_fact("race", [[lane.hypothesis.id, lane.state.value] for lane in lanes if not lane.answer])
        reason = f"the {limit}" if limit else _cut_short(engine, bases, lanes, untested)
        ledger.set_fact("state", f"stopped: {reason}" if reason else "finished")


def explore(engine: Engine, bases: Sequence[Hypothesis], *, goal: int, share: float) -> None:
    """Draw the baselines, those first that fail most, until each has shown enough failures."""
    while engine.spending.share() < share:
        open_still = [
            base
            for base in bases
            if (tally := engine.tally(base)).failures < goal and tally.drawn < engine.reach(base)
        ]
        if not open_still:
            return
        tallies = [engine.tally(base) for base in open_still]
        at = max(range(len(open_still)), key=lambda i: (tallies[i].failures + 1) / (tallies[i].drawn + 1))
        enough = stop.failures(goal) | stop.spent(share)
        if len(bases) > 1:
            enough = enough | stop.drawn(tallies[at].drawn + 256)
        engine.test(open_still[at], until=enough, phase="baseline")


def proposals(
    teller: Teller, settings: HuntSettings, parts: Parts, bases: Sequence[Hypothesis], lanes: Sequence[Lane]
) -> list[Claim]:
    """What the baselines' failures suggest: sentences that go with them, and descriptions of groups."""
    found: list[Claim] = []
    fits = fitting(parts.source)
    for base in bases:
        known = [
            sorted(said_by(lane.hypothesis, base))
            for lane in lanes
            if lane.state is State.AHEAD and lane.against == base and not lane.answer
        ]
        told = teller.trials(base, base)
        every = settings.target_label is None
        found += from_failures(told, base, known=known, fits=fits, confusions=every)
        if parts.captioner is not None or parts.encoder is not None:
            failing, wrong = teller.pictures(base, failed=True)
            passing, right = teller.pictures(base, failed=False)
            found += from_groups(
                base,
                failing,
                teller.captions(base, base, wrong),
                [trial.answer or "" for trial in wrong],
                others=passing,
                other_captions=teller.captions(base, base, right),
                captioner=parts.captioner,
                encoder=parts.encoder,
                fits=fits,
            )
    return [c for c in found if len(said_by(c.hypothesis, c.against)) <= settings.sentences]


def sharpen(
    engine: Engine, teller: Teller, settings: HuntSettings, parts: Parts, lanes: list[Lane]
) -> list[Lane]:
    """Draw the winners until their own failures tell whether they say too much or too little."""
    claims = [Claim(lane.hypothesis, lane.against, lane.answer) for lane in lanes if lane.against is not None]
    fits = fitting(parts.source)
    for _ in range(2):
        winners = {(c.hypothesis.id, c.answer): c for c in select(lanes, teller.trials, most=PLACES)}
        for claim in winners.values():
            enough = stop.failures(SHARP[0]) | stop.drawn(SHARP[1]) | stop.spent(SHARP[2])
            engine.test(claim.hypothesis, until=enough, phase="race")
        chosen = [
            replace(lane, tally=engine.tally(lane.hypothesis, answer=lane.answer))
            for lane in lanes
            if (lane.hypothesis.id, lane.answer) in winners
        ]
        near = from_within(chosen, teller.trials, most=settings.sentences, fits=fits)
        for claim in near:  # what may take a winner's place is measured as well as the winner was
            enough = stop.failures(SHARP[0]) | stop.drawn(SHARP[1] // 2) | stop.spent(SHARP[2])
            if claim.hypothesis.origin == "general":
                engine.test(claim.hypothesis, until=enough, phase="race")
        claims = distinct([*claims, *near])
        before = {(lane.hypothesis.id, lane.answer) for lane in lanes if lane.state is State.AHEAD}
        lanes = race(engine, claims, settings=RaceSettings(places=2 * PLACES, share=SHARP[2]))
        if {(lane.hypothesis.id, lane.answer) for lane in lanes if lane.state is State.AHEAD} <= before:
            break
    return lanes


def begin_with(settings: HuntSettings, parts: Parts, base: Hypothesis) -> list[Claim]:
    """Claims from pictures that a person brings: captioned, grouped, described."""
    if settings.from_images is None:
        return []
    from weakspot.sources.folder import images_in

    pictures = [p.pixels for p in images_in(settings.from_images) if p.pixels is not None][:512]
    if not pictures:
        raise WeakspotError(f"no picture in {settings.from_images} can be read", fix="see weakspot doctor")
    captions = [] if parts.captioner is None else parts.captioner.captions(pictures, prefix=base.text)
    return from_groups(
        base,
        pictures,
        captions or [""] * len(pictures),
        [""] * len(pictures),
        others=(),
        captioner=parts.captioner,
        encoder=parts.encoder,
        fits=fitting(parts.source),
        origin="images",
    )


def fitting(source: Source) -> Callable[[str], bool]:
    """Whether a source can draw a text; one that does not say is taken to draw anything."""
    understands: Callable[[str], bool] | None = getattr(source, "understands", None)
    return understands or (lambda _: True)


def explained(teller: Teller, bases: Sequence[Hypothesis], lanes: Sequence[Lane]) -> bool:
    """Whether the hypotheses ahead speak of most of the baselines' failures."""
    ahead = [lane for lane in lanes if lane.state is State.AHEAD and lane.against is not None]
    failures = left = 0
    for base in bases:
        words = [said_by(lane.hypothesis, base) for lane in ahead if lane.against == base]
        for trial in teller.trials(base, base):
            failures += trial.failed
            left += trial.failed and not any(some <= trial.said for some in words)
    return left <= EXPLAINED * failures


def counterfactuals(
    engine: Engine, settings: HuntSettings, lanes: Sequence[Lane], fits: Callable[[str], bool]
) -> None:
    """Measure edits of the confirmed findings: what changes the rate is what the failure hangs on."""

    def meaning(text: str) -> str:
        if not fits(text):
            raise WeakspotError("it cannot be drawn")
        return text

    ladder: list[list[str]] = []
    for lane in lanes:
        room = min(engine.spending.room(), int(EDIT_SHARE * Budget.parse(settings.budget)["images"]))
        if lane.state is not State.CONFIRMED or not settings.edits or room < settings.edits * EDIT_IMAGES:
            continue
        made = edits(lane.hypothesis, base=lane.against, meaning=meaning, each=1, most=settings.edits)
        for edit in made:
            engine.test(edit.hypothesis, until=stop.drawn(EDIT_IMAGES), phase="edits")
            ladder.append([lane.hypothesis.id, edit.hypothesis.id, edit.kind.value, edit.before, edit.after])
    engine.run.ledger.set_fact("edits", ladder)


def findings(engine: Engine, lanes: Sequence[Lane]) -> list[Finding]:
    """Findings, the confirmed ones first, then by rate; all numbers of a hypothesis from fresh draws."""
    ledger = engine.run.ledger
    found = []
    for lane in lanes:
        base = lane.against or lane.hypothesis
        stages = (Stage.EXPLORE, Stage.CONFIRM)
        usual, usual_fresh = (engine.tally(base, stage, answer=lane.answer) for stage in stages)
        answers = engine.wrong_answers(lane.hypothesis, Stage.CONFIRM)
        failures = sum(answers.values())
        kept = {
            failed: tuple(
                t.index
                for t in ledger.trials(lane.hypothesis, stage=Stage.CONFIRM, failed=failed, kept=True)
                if not (failed and lane.answer) or t.answer == lane.answer
            )
            for failed in (True, False)
        }
        found.append(
            Finding(
                hypothesis=lane.hypothesis,
                phrase=lane.hypothesis.beyond(base),
                rate=rate(lane.tally),
                baseline=rate(usual.plus(usual_fresh)),
                log_evidence=lane.log_evidence,
                confirmed=lane.state is State.CONFIRMED,
                confusions=tuple((answer, k / failures) for answer, k in answers.most_common()),
                failing=kept[True],
                passing=kept[False],
                answer=lane.answer,
                unchecked=rate(lane.tally.unchecked) if lane.tally.invalid else None,
            )
        )
    return sorted(found, key=lambda f: (not f.confirmed, -f.rate.value))


def _cut_short(engine: Engine, bases: Sequence[Hypothesis], lanes: Sequence[Lane], untested: int) -> str:
    """How the budget is why nothing more was found; "" where it is not."""
    failures = sum(engine.tally(base).failures for base in bases)
    n = sum(engine.tally(base).n for base in bases)
    if not failures and engine.spending.share() >= LAST_RESORT[1]:
        return f"no failure in {n:,} images, and the rest of the budget would not do to follow one up"
    if not lanes and engine.spending.share() >= LAST_RESORT[1]:
        return f"{failures:,} failures in {n:,} images suggest nothing, and the budget would not do for more"
    untried = sum(lane.state is State.OPEN and not lane.tally.drawn for lane in lanes)
    if untried:
        return f"the budget did not reach {untried} of {len(lanes)} captions"
    return f"the budget did not reach {untested} of the race's winners" if untested else ""
