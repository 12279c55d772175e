"""The rounds of a hunt: explore, propose, race, and draw the winners until it is clear what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from weakspot.core import Hypothesis
from weakspot.core.ports import understands
from weakspot.engine import (
    Claim,
    Engine,
    Lane,
    RaceSettings,
    State,
    race,
    stop,
)
from weakspot.studies.hunt.captions import Captions
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
from weakspot.studies.hunt.lattice import Branch, Shares, lattice
from weakspot.studies.hunt.parts import HuntParts
from weakspot.studies.hunt.result import Skipped
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.studies.hunt.suggested import Suggester
from weakspot.text.sentences import sentences

#: Winners are drawn on until so many failures, so many images, or this part of the budget.
SHARP: Final = (20, 320, 0.75)
#: So many winners of the race are confirmed on fresh draws.
PLACES: Final = 8
#: The race goes on until so many are ahead of all that are open: many of them are parts of one weak spot.
LANES: Final = 16
#: Of each sentence that captions say so many images; it must fail so many times to race; and the part of the
#: budget that all of them may use.
SWEPT: Final = (16, 2, 0.1)
#: At first the baseline gets so large a part of the budget, or so many images: how often sentences are said
#: must be known too.
USUAL: Final = (0.15, 4096)
#: When no more than this share of the failures is left unexplained, the baseline is not drawn further.
EXPLAINED: Final = 0.3
#: Fewer failures than this say too little about what else there is: among eleven, a kind that makes up a
#: quarter of all is missing by chance in one hunt of twenty.
TELLING: Final = 11
#: With so few, as many passes that nearly failed say what to try. What then fails in none of so many images
#: is not raced, for a race would follow it long where failures are rare.
NEAR: Final = 24
TRIED: Final = 64
#: Images of one of several labels, at least and at most, before it is another's turn.
TURN: Final = (16, 256)


@dataclass(frozen=True, slots=True)
class Hunt:
    """What every step needs: a baseline per label, what is said of explored trials, files left out, …"""

    engine: Engine
    settings: HuntSettings
    parts: HuntParts
    bases: Sequence[Hypothesis]
    captions: Captions
    rewrite: Rewriter | None = None
    suggest: Suggester | None = None
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


def explore(hunt: Hunt, *, goal: int, share: float) -> None:
    """Draw the baselines, those first that fail most, until each has shown enough failures."""
    engine, bases = hunt.engine, hunt.bases
    turn = max(TURN[0], min(TURN[1], engine.spending.room(share) // len(bases)))
    part, most = USUAL
    least = 0 if engine.spending.share() else int(min(part * engine.spending.room(1.0), most) / len(bases))
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
    found = suggestions(hunt, lanes)
    for base in hunt.bases if settings.propose != "llm" else ():
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


def suggestions(hunt: Hunt, lanes: Sequence[Lane]) -> list[Claim]:
    """What a language model proposes that reads failures and passes of those labels that fail most."""
    if hunt.suggest is None:
        return []
    engine, captions, found = hunt.engine, hunt.captions, list[Claim]()
    for base in sorted(hunt.bases, key=lambda base: -engine.tally(base).failures)[: hunt.suggest.labels]:
        trials = captions.trials(base, base)
        found += hunt.suggest(base, trials, lanes, fits=hunt.fits, most=hunt.settings.sentences)
    engine.spending.check()
    return found


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
        or (lane.state is State.OPEN and lane.hypothesis.origin not in ("special", "general", "swept"))
    ]
    rules = hunt.settings.propose != "llm"
    found = from_within(worth, captions, most=most, fits=hunt.fits) if rules else []
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
    if hunt.settings.propose == "llm":
        return []
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
    """The broad claims first, then others of their kind, then what is worse still within them.

    What comes last is what a small budget leaves out.
    """
    every = [*branches, *(other for branch in branches for other in branch.beside)]
    found = {(branch.claim.hypothesis.id, branch.claim.answer): branch.claim for branch in every}
    for claim in (claim for branch in every for claim in branch.narrower):
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
