"""The steps of a hunt. `weakspot.studies.hunt.method.conduct` says in which order they are taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final

from weakspot.core import Hypothesis, Source, WeakspotError
from weakspot.engine import Claim, Engine, Lane, RaceSettings, State, race, stop
from weakspot.store import Run
from weakspot.studies.hunt.parts import HuntSettings, Parts
from weakspot.studies.hunt.propose import (
    distinct,
    extended,
    from_failures,
    from_groups,
    from_near_misses,
    from_within,
)
from weakspot.studies.hunt.rewrite import Rewriter
from weakspot.studies.hunt.select import said_by, select
from weakspot.studies.hunt.told import Teller
from weakspot.text.caption import sentences
from weakspot.text.edit import edits, varied

#: Winners are drawn on until so many failures, so many images, or this part of the budget.
SHARP: Final = (20, 320, 0.75)
#: So many winners of the race are confirmed on fresh draws.
PLACES: Final = 8
#: When no more than this share of the failures is left unexplained, the baseline is not drawn further.
EXPLAINED: Final = 0.3
#: Fewer failures than this say too little about what else there is: among eleven, a kind that makes up a
#: quarter of all is missing by chance in one hunt of twenty.
TELLING: Final = 11
#: The round (see `hunt.ROUNDS`) for when nothing is ahead, and failures have been too few to tell.
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
    """What every step needs.

    Attributes:
        bases: The baselines, one per label.
        teller: Puts trials into words.
        rewrite: Rewords captions, if a language model is there.
    """

    engine: Engine
    settings: HuntSettings
    parts: Parts
    bases: Sequence[Hypothesis]
    teller: Teller
    rewrite: Rewriter | None = None

    @property
    def fits(self) -> Callable[[str], bool]:
        """Whether the source can draw a text."""
        return fitting(self.parts.source)


def explore(hunt: Hunt, *, goal: int, share: float) -> None:
    """Draw the baselines, those first that fail most, until each has shown enough failures."""
    engine, bases = hunt.engine, hunt.bases
    turn = max(TURN[0], min(TURN[1], engine.spending.room(share) // len(bases)))
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
            enough = enough | stop.drawn(tallies[at].drawn + turn)
        engine.test(open_still[at], until=enough, phase="baseline")


def proposals(hunt: Hunt, lanes: Sequence[Lane]) -> list[Claim]:
    """What the baselines' failures suggest: sentences that go with them, and descriptions of groups."""
    engine, settings, parts, teller = hunt.engine, hunt.settings, hunt.parts, hunt.teller
    found: list[Claim] = []
    for base in hunt.bases:
        known = [
            sorted(said_by(lane.hypothesis, base))
            for lane in lanes
            if lane.state is State.AHEAD and lane.against == base and not lane.answer
        ]
        told = teller.trials(base, base)
        every = settings.target_label is None
        found += from_failures(told, base, known=known, fits=hunt.fits, confusions=every)
        if engine.tally(base).failures < TELLING:
            found += tried(hunt, from_near_misses(*teller.near_misses(base, NEAR), base, fits=hunt.fits))
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
    found = from_within(lanes, hunt.teller.trials, most=hunt.settings.sentences, fits=hunt.fits)
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


def rewriter(run: Run, parts: Parts) -> Rewriter | None:
    """The rewriter of a run: what it was told before the run was interrupted it need not ask again."""
    if parts.llm is None:
        return None

    def keep(answers: dict[str, list[str]]) -> None:
        run.ledger.set_fact("reworded", answers)

    return Rewriter(parts.llm, known=run.ledger.fact("reworded", {}), keep=keep)


def sharpen(hunt: Hunt, lanes: list[Lane]) -> list[Lane]:
    """Draw the winners until their own failures tell whether they say too much or too little."""
    engine, teller = hunt.engine, hunt.teller
    claims = [Claim(lane.hypothesis, lane.against, lane.answer) for lane in lanes if lane.against is not None]
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
        near = relatives(hunt, chosen)
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


def begin_with(hunt: Hunt) -> list[Claim]:
    """Claims from pictures that a person brings: captioned, grouped, described."""
    settings, parts, base = hunt.settings, hunt.parts, hunt.bases[0]
    if settings.from_images is None:
        return []
    from weakspot.sources.folder import images_in

    found = list(islice(images_in(settings.from_images), BROUGHT))
    pictures = [picture.pixels for picture in found if picture.pixels is not None]
    left_out = [(picture.name, picture.reason) for picture in found if picture.pixels is None]
    if not pictures:
        raise WeakspotError(
            f"no picture in {settings.from_images} can be read: {left_out[0][0]}: {left_out[0][1]}",
            fix="name a folder of PNG, JPEG or WebP files",
        )
    hunt.engine.run.ledger.set_fact("skipped", [*hunt.engine.run.ledger.fact("skipped", []), *left_out])
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


def fitting(source: Source) -> Callable[[str], bool]:
    """Whether a source can draw a text; one that does not say is taken to draw anything."""
    understands: Callable[[str], bool] | None = getattr(source, "understands", None)
    return understands or (lambda _: True)


def explained(hunt: Hunt, lanes: Sequence[Lane]) -> bool:
    """Whether the hypotheses ahead speak of most of the baselines' failures, and these are not too few."""
    ahead = [lane for lane in lanes if lane.state is State.AHEAD and lane.against is not None]
    failures = left = 0
    for base in hunt.bases:
        words = [said_by(lane.hypothesis, base) for lane in ahead if lane.against == base]
        for trial in hunt.teller.trials(base, base):
            failures += trial.failed
            left += trial.failed and not any(some <= trial.said for some in words)
    return failures >= TELLING and left <= EXPLAINED * failures


def counterfactuals(hunt: Hunt, lanes: Sequence[Lane]) -> None:
    """Measure edits of the confirmed findings: what changes the rate is what the failure hangs on."""
    engine, wanted = hunt.engine, hunt.settings.edits
    room = int(EDIT_SHARE * engine.spending.room())

    def meaning(text: str) -> str:
        if not hunt.fits(text):
            raise WeakspotError("it cannot be drawn")
        return text

    held = [lane for lane in lanes if lane.state is State.CONFIRMED]
    asked = partial(edits, meaning=meaning, rewrite=hunt.rewrite, each=1)
    possible = [(lane, varied(asked(lane.hypothesis, base=lane.against))) for lane in held if wanted]
    ladder: list[list[str]] = []
    # With little budget left, the first edit of each finding goes before the second of any.
    for place in range(wanted):
        for lane, edit in ((lane, some[place]) for lane, some in possible if place < len(some)):
            if room < EDIT_IMAGES:
                break
            engine.test(edit.hypothesis, until=stop.drawn(EDIT_IMAGES), phase="edits")
            room -= EDIT_IMAGES
            ladder.append([lane.hypothesis.id, edit.hypothesis.id, edit.kind.value, edit.before, edit.after])
    order = [lane.hypothesis.id for lane in held]
    engine.run.ledger.set_fact("edits", sorted(ladder, key=lambda row: order.index(row[0])))


def cut_short(hunt: Hunt, lanes: Sequence[Lane], untested: int) -> str:
    """How the budget is why nothing more was found; "" where it is not."""
    engine, bases = hunt.engine, hunt.bases
    failures = sum(engine.tally(base).failures for base in bases)
    n = sum(engine.tally(base).n for base in bases)
    silent = not any(trial.said for base in bases for trial in hunt.teller.trials(base, base))
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
