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

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Final

from weakspot.core import Stage, WeakspotError
from weakspot.core.ports import Skipping, collected
from weakspot.engine import (
    Claim,
    ConfirmSettings,
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
    from_groups,
)
from weakspot.studies.hunt.collection import in_collection
from weakspot.studies.hunt.families import SIZE
from weakspot.studies.hunt.impact import placed
from weakspot.studies.hunt.lattice import lattice
from weakspot.studies.hunt.parts import HuntParts
from weakspot.studies.hunt.result import Edited, HuntResult, Raced, Skipped
from weakspot.studies.hunt.rounds import (
    LANES,
    PLACES,
    TELLING,
    Hunt,
    explained,
    explore,
    in_turn,
    proposals,
    relatives,
    sharpen,
    sweep,
)
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.studies.hunt.suggested import Suggester
from weakspot.study import Context
from weakspot.study.labels import base_hypothesis
from weakspot.study.language_model import KeptAnswers, LlmUse
from weakspot.text.caption_edits import edits, varied

#: In each round the baseline is drawn until it failed so often or this part of the budget is gone; then
#: the race goes on until that part is.
ROUNDS: Final = ((25, 0.15, 0.4), (60, 0.25, 0.55), (150, 0.35, 0.65))
#: Images that must be left per winner; with fewer, only the worst winners are confirmed.
FEWEST: Final = 40
#: Pictures kept per hypothesis where a model must look at them: (failing, passing).
LOOKED_AT: Final = {Stage.EXPLORE: (64, 32), Stage.CONFIRM: (24, 12)}
#: The round (see `ROUNDS`) for when nothing is ahead, and failures have been too few to tell.
LAST_RESORT: Final = (TELLING, 0.7, 0.85)
#: Pictures that a person may bring to begin with.
BROUGHT: Final = 512
#: Images of each counterfactual edit, and the part of what is left of the budget that all of them may use.
EDIT_IMAGES: Final = 48
EDIT_SHARE: Final = 0.25


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
        llm = None if parts.llm is None else KeptAnswers(parts.llm, context, spending=engine.spending)
        rewriter = None if llm is None else Rewriter(llm)
        suggester = None if llm is None or settings.propose == "rules" else Suggester(llm, settings.seed)
        state = Hunt(engine, settings, parts, bases, captions, rewriter, suggester, skipped)
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
            winners = in_turn(lattice(lanes, captions.trials, most=PLACES, family=SIZE))
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
        ledger.set_findings(placed(findings(engine, confirmed), captions, bases, settings.order))
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
        llm=None if llm is None else use_of(llm, suggester),
    )


def use_of(llm: KeptAnswers, suggester: Suggester | None) -> LlmUse:
    """What the language model did."""
    if suggester is None:
        return llm.use(proposed=0, dropped=0)
    return llm.use(proposed=suggester.proposed, dropped=suggester.dropped)


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
        return f"{failures:,} failures, but nothing describes the images: name a captioner (--captioner)"
    if not failures and engine.spending.share() >= LAST_RESORT[1]:
        return f"no failure in {n:,} images, and the rest of the budget is too small to follow one up"
    if not lanes and engine.spending.share() >= LAST_RESORT[1]:
        return f"{failures:,} failures in {n:,} images suggest nothing, and the budget is too small for more"
    # Relatives of captions come without end; what counts is what the failures themselves suggested.
    own = [
        lane for lane in lanes if lane.hypothesis.origin not in ("special", "general", "reworded", "swept")
    ]
    untried = sum(lane.state is State.OPEN and not lane.tally.drawn for lane in own)
    if untried:
        return f"the budget did not reach {untried} of {len(own)} captions"
    return f"the budget did not reach {untested} of the race's winners" if untested else ""
