"""hunt: bugs of an image classifier, in words (after Wiles, Albuquerque and Gowal, 2022).

For a label, sample images from a plain prompt and see how often the classifier fails (the baseline).
Sentences that are said of failing images more often than of the others, alone or two together, and
descriptions of failures that look alike, become captions; images drawn from each caption are raced against
the baseline. What goes with failure within a caption refines it, what it does not need is left out, and so on
while the budget lasts. The fewest captions that explain the failures are measured again on fresh images, and
what is left are findings: captions z with P(failure | z, label) > P(failure | label). At the end each is
edited (denied, in another colour, at another place) to see what the failure depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final

from weakspot.core import Hypothesis, Stage, WeakspotError
from weakspot.core.ports import Skipping, collected, understands
from weakspot.engine import (
    Claim,
    ConfirmSettings,
    Engine,
    Lane,
    RaceSettings,
    State,
    confirm,
    findings,
    race,
    stop,
)
from weakspot.engine.engine import KEPT
from weakspot.studies.hunt.captions import Captions
from weakspot.studies.hunt.certificate import Certificate
from weakspot.studies.hunt.claims import (
    Rewriter,
    distinct,
    extended,
    from_failures,
    from_groups,
    from_near_misses,
    from_within,
    said_by,
    single_sentences,
)
from weakspot.studies.hunt.collection import in_collection
from weakspot.studies.hunt.lattice import Branch, Shares, lattice
from weakspot.studies.hunt.parts import HuntParts
from weakspot.studies.hunt.result import Edited, HuntResult, Raced, Skipped
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study import Context
from weakspot.study.labels import base_hypothesis
from weakspot.text.caption_edits import edits, varied
from weakspot.text.sentences import sentences

#: In each round the baseline is drawn until it failed so often or this part of the budget is gone; then
#: the race goes on until that part is.
ROUNDS: Final = ((25, 0.15, 0.4), (60, 0.25, 0.55), (150, 0.35, 0.65))
#: Images that must be left per winner; with fewer, only the worst winners are confirmed.
FEWEST: Final = 128
#: Pictures kept per hypothesis where a model must look at them: (failing, passing).
LOOKED_AT: Final = {Stage.EXPLORE: (64, 32), Stage.CONFIRM: (24, 12)}
#: Winners are drawn on until so many failures, so many images, or this part of the budget.
SHARP: Final = (20, 320, 0.75)
#: So many winners of the race are confirmed on fresh draws.
PLACES: Final = 8
#: The race goes on until so many are ahead of all that are open: many of them are parts of one weak spot.
LANES: Final = 16
#: Of each sentence that captions say so many images; it must fail so many times to race; and the part of the
#: budget that all of them may use.
SWEPT: Final = (16, 2, 0.1)
#: At first the baseline gets so large a part of the budget: how often sentences are said must be known too.
USUAL: Final = 0.15
#: When no more than this share of the failures is left unexplained, the baseline is not drawn further.
EXPLAINED: Final = 0.3
#: Fewer failures than this say too little about what else there is: among eleven, a kind that makes up a
#: quarter of all is missing by chance in one hunt of twenty.
TELLING: Final = 11
#: The round (see `ROUNDS`) for when nothing is ahead, and failures have been too few to tell.
LAST_RESORT: Final = (TELLING, 0.7, 0.85)
#: With so few, as many passes that nearly failed say what to try. What then fails in none of so many images
#: is not raced, for a race would follow it long where failures are rare.
NEAR: Final = 24
TRIED: Final = 64
#: Pictures that a person may bring to begin with.
BROUGHT: Final = 512
#: Images of one of several labels, at least and at most, before it is another's turn.
TURN: Final = (16, 256)
#: Images of each counterfactual edit, and the part of what is left of the budget that all of them may use.
EDIT_IMAGES: Final = 48
EDIT_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Hunt:
    """What every step needs: a baseline per label, what is said of explored trials, files left out, …"""

    engine: Engine
    settings: HuntSettings
    parts: HuntParts
    bases: Sequence[Hypothesis]
    captions: Captions
    rewrite: Rewriter | None = None
    skipped: list[Skipped] = field(default_factory=list)
    shares: dict[str, tuple[int, Shares]] = field(default_factory=dict)

    def share(self, lane: Lane) -> float:
        """Of which share of the baseline's pictures the words of a hypothesis are true."""
        base = lane.against or lane.hypothesis
        drawn = self.engine.tally(base).drawn
        known, shares = self.shares.get(base.id, (-1, Shares(())))
        if known != drawn:
            shares = Shares(self.captions.trials(base, base))
            self.shares[base.id] = drawn, shares
        return shares(said_by(lane.hypothesis, base))

    @property
    def fits(self) -> Callable[[str], bool]:
        """Whether the source can draw a text."""
        return partial(understands, self.parts.source)


def hunt(context: Context[HuntSettings, HuntParts]) -> HuntResult:
    """Rounds of exploring and racing; the winners sharpened, selected, confirmed, edited."""
    if (source := collected(context.parts.source)) is not None:  # which cannot make more of what fails
        return in_collection(context, source)
    settings, parts, ledger = context.settings, context.parts, context.ledger
    bases = [base_hypothesis(settings.task, parts.words, label) for label in settings.hunted]
    ledger.add_hypotheses(bases)  # with many labels and few images, some are never drawn
    left_out = parts.source.skipped if isinstance(parts.source, Skipping) else ()
    skipped = [Skipped(name=name, reason=reason) for name, reason in left_out]
    context.publish(HuntResult(skipped=tuple(skipped)))
    with context.engine(
        source=parts.source, target=parts.target, judge=parts.verdicts, keep=evidence_kept(parts)
    ) as engine:
        captions = Captions(
            engine,
            parts.captioner,
            known=context.noted("captions", {}),
            keep=partial(context.note, "captions"),
        )
        rewriter = None
        if parts.llm is not None:  # what it was told before the run was interrupted it need not ask again
            known, keep = context.noted("reworded", {}), partial(context.note, "reworded")
            rewriter = Rewriter(parts.llm, known=known, keep=keep)
        state = Hunt(engine, settings, parts, bases, captions, rewriter, skipped)
        lanes: list[Lane] = []
        confirmed: list[Lane] = []
        edited: list[Edited] = []
        untested = 0
        with context.within_budget():
            claims = from_pictures(state)
            for goal, share, until in (*ROUNDS, LAST_RESORT):
                if (goal, share, until) == LAST_RESORT and any(lane.state is State.AHEAD for lane in lanes):
                    break
                explore(state, goal=goal, share=share)
                before, racing = len(claims), RaceSettings(places=LANES, share=until)
                claims = distinct([*claims, *proposals(state, lanes), *(() if lanes else sweep(state))])
                lanes = race(engine, claims, settings=racing, share=state.share)
                claims = distinct([*claims, *relatives(state, lanes)])
                lanes = race(engine, claims, settings=racing, share=state.share)
                if claims and len(claims) == before and explained(state, lanes):
                    break
            lanes = sharpen(state, lanes)
            winners = in_turn(lattice(lanes, captions.trials, most=PLACES))
            # A few candidates measured well say more than all of them measured badly.
            affordable = max(1, engine.spending.room() // FEWEST)
            untested, winners = len(winners[affordable:]), winners[:affordable]
            confirmed, spent = confirm(engine, winners, settings=ConfirmSettings(fdr=settings.fdr))
            if spent:
                context.end(f"the {spent}")
            else:
                edited = counterfactuals(state, confirmed)
                if settings.certify is not None:
                    excluded(state, confirmed).draw_until(settings.certify, fits=state.fits)
        ledger.set_findings(findings(engine, confirmed))
        if not context.ended:
            context.end(cut_short(state, lanes, untested))
        certified = excluded(state, confirmed).result(settings.certify)
    return HuntResult(
        race=tuple(
            Raced(hypothesis=lane.hypothesis.id, state=lane.state.value) for lane in lanes if not lane.answer
        ),
        edits=tuple(edited),
        skipped=tuple(skipped),
        certified=certified,
    )


def excluded(hunt: Hunt, lanes: Sequence[Lane]) -> Certificate:
    """What the draws so far exclude, beside what they confirmed."""
    return Certificate(hunt.engine, hunt.captions, hunt.bases, lanes)


def evidence_kept(parts: HuntParts) -> dict[Stage, tuple[int, int]]:
    """Inputs kept per hypothesis: more where a model must look at them."""
    return dict(KEPT if parts.captioner is None and parts.encoder is None else LOOKED_AT)


def from_pictures(hunt: Hunt) -> list[Claim]:
    """Claims from pictures that a person brings: captioned, grouped, described."""
    settings, parts, base = hunt.settings, hunt.parts, hunt.bases[0]
    if settings.from_images is None:
        return []
    from weakspot.sources.folder import images_in

    found = list(islice(images_in(settings.from_images), BROUGHT))
    pictures = [picture.pixels for picture in found if picture.pixels is not None]
    hunt.skipped.extend(Skipped(name=p.name, reason=p.reason) for p in found if p.pixels is None)
    if not pictures:
        first = hunt.skipped[-1]
        raise WeakspotError(
            f"no picture in {settings.from_images} can be read: {first.name}: {first.reason}",
            fix="name a folder of PNG, JPEG or WebP files",
        )
    captions = [] if parts.captioner is None else parts.captioner.captions(pictures, prefix=base.text)
    return from_groups(
        base,
        pictures,
        captions or [""] * len(pictures),
        [""] * len(pictures),
        others=(),
        captioner=parts.captioner,
        encoder=parts.encoder,
        fits=hunt.fits,
        origin="images",
    )


def explore(hunt: Hunt, *, goal: int, share: float) -> None:
    """Draw the baselines, those first that fail most, until each has shown enough failures."""
    engine, bases = hunt.engine, hunt.bases
    turn = max(TURN[0], min(TURN[1], engine.spending.room(share) // len(bases)))
    least = int(USUAL * engine.spending.room(1.0) / len(bases)) if not engine.spending.share() else 0
    while engine.spending.share() < share:
        open_still = [
            base
            for base in bases
            if ((tally := engine.tally(base)).failures < goal or tally.drawn < least)
            and tally.drawn < engine.reach(base)
        ]
        if not open_still:
            return
        tallies = [engine.tally(base) for base in open_still]
        at = max(range(len(open_still)), key=lambda i: (tallies[i].failures + 1) / (tallies[i].drawn + 1))
        enough = (stop.failures(goal) & stop.drawn(least)) | stop.spent(share)
        if len(bases) > 1:
            enough = enough | stop.drawn(tallies[at].drawn + turn)
        engine.test(open_still[at], until=enough, phase="baseline")


def proposals(hunt: Hunt, lanes: Sequence[Lane]) -> list[Claim]:
    """What the baselines' failures suggest: sentences that go with them, and descriptions of groups."""
    engine, settings, parts, captions = hunt.engine, hunt.settings, hunt.parts, hunt.captions
    found: list[Claim] = []
    for base in hunt.bases:
        known = [
            sorted(said_by(lane.hypothesis, base))
            for lane in lanes
            if lane.state is State.AHEAD and lane.against == base and not lane.answer
        ]
        every = settings.target_label is None
        trials = captions.trials(base, base)
        found += from_failures(trials, base, known=known, fits=hunt.fits, confusions=every)
        found += single_sentences(trials, base, fits=hunt.fits)[0]
        if engine.tally(base).failures < TELLING:
            found += tried(hunt, from_near_misses(*captions.near_misses(base, NEAR), base, fits=hunt.fits))
        if parts.captioner is not None or parts.encoder is not None:
            failing, wrong = captions.pictures(base, failed=True)
            passing, right = captions.pictures(base, failed=False)
            found += from_groups(
                base,
                failing,
                captions.of(base, base, wrong),
                [trial.answer or "" for trial in wrong],
                others=passing,
                other_captions=captions.of(base, base, right),
                captioner=parts.captioner,
                encoder=parts.encoder,
                fits=hunt.fits,
            )
    return [c for c in found if len(said_by(c.hypothesis, c.against)) <= settings.sentences]


def tried(hunt: Hunt, claims: Sequence[Claim]) -> list[Claim]:
    """Those of some claims under which the target fails at all, as far as a few images tell."""
    for claim in claims:
        enough = stop.failures(1) | stop.drawn(TRIED) | stop.spent(SHARP[2])
        hunt.engine.test(claim.hypothesis, until=enough, phase="race")
    return [claim for claim in claims if hunt.engine.tally(claim.hypothesis).failures]


def relatives(hunt: Hunt, lanes: Sequence[Lane]) -> list[Claim]:
    """More special and more general forms of what is ahead or may be, and a language model's wordings."""
    captions, most = hunt.captions.trials, hunt.settings.sentences
    chosen = {(c.hypothesis.id, c.answer) for c in in_turn(lattice(lanes, captions, most=PLACES))}
    worth = [
        lane
        for lane in lanes
        if (lane.hypothesis.id, lane.answer) in chosen
        or (lane.state is State.OPEN and lane.hypothesis.origin not in ("special", "general", "sentence"))
    ]
    found = from_within(worth, captions, most=most, fits=hunt.fits)
    return [*found, *reworded(hunt, lanes)]


def reworded(hunt: Hunt, lanes: Sequence[Lane]) -> list[Claim]:
    """What a language model says in place of the captions that are most clearly ahead."""
    if hunt.rewrite is None:
        return []
    ahead = [lane for lane in lanes if lane.state is State.AHEAD and lane.hypothesis.origin != "reworded"]
    found: list[Claim] = []
    for lane in sorted(ahead, key=lambda lane: -lane.log_evidence)[:PLACES]:
        base = lane.against or lane.hypothesis
        for text in hunt.rewrite(lane.hypothesis.beyond(base), base=base.text):
            claim = extended(base, sentences(text), origin="reworded", parent=lane.hypothesis)
            if len(sentences(text)) <= hunt.settings.sentences and hunt.fits(claim.text):
                found.append(Claim(claim, base, lane.answer))
    return distinct(found)


def sweep(hunt: Hunt) -> list[Claim]:
    """What captions say sentence by sentence, as far as a few images of each show failures.

    A sentence that is said of one picture in five hundred is hardly seen among the baseline's failures,
    however often it fails.
    """
    engine, (images, failures, part) = hunt.engine, SWEPT
    most, until = int(part * engine.spending.room(1.0) / images), engine.spending.share() + part
    said = [
        claim
        for base in hunt.bases
        for claim in single_sentences(hunt.captions.trials(base, base), base, fits=hunt.fits)[1]
    ][:most]
    for claim in said:
        engine.test(claim.hypothesis, until=stop.drawn(images) | stop.spent(until), phase="race")
    return [claim for claim in said if engine.tally(claim.hypothesis).failures >= failures]


def in_turn(branches: Sequence[Branch]) -> list[Claim]:
    """The broad claims first, then what is worse still: what comes last is what a small budget leaves out."""
    found = {(branch.claim.hypothesis.id, branch.claim.answer): branch.claim for branch in branches}
    for claim in (claim for branch in branches for claim in branch.narrower):
        found.setdefault((claim.hypothesis.id, claim.answer), claim)
    return list(found.values())


def sharpen(hunt: Hunt, lanes: list[Lane]) -> list[Lane]:
    """Draw the winners until their own failures tell whether they say too much or too little."""
    engine, captions = hunt.engine, hunt.captions
    claims = [Claim(lane.hypothesis, lane.against, lane.answer) for lane in lanes if lane.against is not None]
    for _ in range(2):
        branches = lattice(lanes, captions.trials, most=2 * PLACES)  # which are the first is not sure yet
        winners = {(c.hypothesis.id, c.answer): c for c in in_turn(branches)}
        for claim in winners.values():
            enough = stop.failures(SHARP[0]) | stop.drawn(SHARP[1]) | stop.spent(SHARP[2])
            engine.test(claim.hypothesis, until=enough, phase="race")
        chosen = [
            replace(lane, tally=engine.tally(lane.hypothesis, answer=lane.answer))
            for lane in lanes
            if (lane.hypothesis.id, lane.answer) in winners
        ]
        near = relatives(hunt, chosen)
        for claim in near:  # what may take a winner's place is measured as well as the winner was
            if claim.hypothesis.origin == "general":
                enough = stop.failures(SHARP[0]) | stop.drawn(SHARP[1] // 2) | stop.spent(SHARP[2])
                engine.test(claim.hypothesis, until=enough, phase="race")
        claims = distinct([*claims, *near])
        before = {(lane.hypothesis.id, lane.answer) for lane in lanes if lane.state is State.AHEAD}
        lanes = race(engine, claims, settings=RaceSettings(places=LANES, share=SHARP[2]), share=hunt.share)
        if {(lane.hypothesis.id, lane.answer) for lane in lanes if lane.state is State.AHEAD} <= before:
            break
    return lanes


def explained(hunt: Hunt, lanes: Sequence[Lane]) -> bool:
    """Whether the hypotheses ahead speak of most of the baselines' failures, and these are not too few."""
    ahead = [lane for lane in lanes if lane.state is State.AHEAD and lane.against is not None]
    failures = left = 0
    for base in hunt.bases:
        words = [said_by(lane.hypothesis, base) for lane in ahead if lane.against == base]
        for trial in hunt.captions.trials(base, base):
            failures += trial.failed
            left += trial.failed and not any(some <= trial.said for some in words)
    return failures >= TELLING and left <= EXPLAINED * failures


def counterfactuals(hunt: Hunt, lanes: Sequence[Lane]) -> list[Edited]:
    """Measure edits of the confirmed findings: what changes the rate is what the failure depends on."""
    engine, wanted = hunt.engine, hunt.settings.edits
    room = int(EDIT_SHARE * engine.spending.room())

    def meaning(text: str) -> str:
        if not hunt.fits(text):
            raise WeakspotError("it cannot be drawn")
        return text

    held = [lane for lane in lanes if lane.state is State.CONFIRMED]
    asked = partial(edits, meaning=meaning, rewrite=hunt.rewrite, each=1)
    possible = [(lane, varied(asked(lane.hypothesis, base=lane.against))) for lane in held if wanted]
    found: list[Edited] = []
    # With little budget left, the first edit of each finding goes before the second of any.
    for place in range(wanted):
        for lane, edit in ((lane, some[place]) for lane, some in possible if place < len(some)):
            if room < EDIT_IMAGES:
                break
            engine.test(edit.hypothesis, until=stop.drawn(EDIT_IMAGES), phase="edits")
            room -= EDIT_IMAGES
            found.append(
                Edited(
                    finding=lane.hypothesis.id,
                    hypothesis=edit.hypothesis.id,
                    kind=edit.kind.value,
                    before=edit.before,
                    after=edit.after,
                )
            )
    order = [lane.hypothesis.id for lane in held]
    return sorted(found, key=lambda edited: order.index(edited.finding))


def cut_short(hunt: Hunt, lanes: Sequence[Lane], untested: int) -> str:
    """How the budget is why nothing more was found; "" where it is not."""
    engine, bases = hunt.engine, hunt.bases
    failures = sum(engine.tally(base).failures for base in bases)
    n = sum(engine.tally(base).n for base in bases)
    silent = not any(trial.said for base in bases for trial in hunt.captions.trials(base, base))
    if failures and silent:
        return f"{failures:,} failures, but nothing is said of the images: name a captioner (--captioner)"
    if not failures and engine.spending.share() >= LAST_RESORT[1]:
        return f"no failure in {n:,} images, and the rest of the budget would not do to follow one up"
    if not lanes and engine.spending.share() >= LAST_RESORT[1]:
        return f"{failures:,} failures in {n:,} images suggest nothing, and the budget would not do for more"
    # Relatives of captions come without end; what counts is what the failures themselves suggested.
    own = [lane for lane in lanes if lane.hypothesis.origin not in ("special", "general", "reworded")]
    untried = sum(lane.state is State.OPEN and not lane.tally.drawn for lane in own)
    if untried:
        return f"the budget did not reach {untried} of {len(own)} captions"
    return f"the budget did not reach {untested} of the race's winners" if untested else ""
