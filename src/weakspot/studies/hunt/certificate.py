"""What a hunt excludes: how often anything else that it tried may fail at most, and the draws to show it.

Tried is every caption that was raced or explored, and every single sentence that at least `SHARE` of the
plain pictures say. A caption's rate is that of its own draws or, of a single sentence, that of the plain
pictures that say it: whichever are more. All of these rates are bounded at once (`weakspot.stats.certify`):
half of the error belongs to captions in the order in which they were first drawn, the other half to sentences
in the order in which plain pictures first said them, and a sentence's first picture does not count. So the
bounds hold although what is tried, what is drawn on, and what is told as a finding depend on the draws.

What was confirmed is excepted, and so are its narrower forms ("on a red flower" where "on a flower" was), and
edits, which belong to the findings. A broader form is not: "on a flower" fails where "on a red flower" does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from weakspot.concepts.rules import Sentences, sentences_of
from weakspot.core import Hypothesis, Stage, Tally
from weakspot.engine import Engine, Lane, State
from weakspot.engine.engine import Want
from weakspot.stats.certify import draws_to_decide, lower_bounds, part, upper_bounds
from weakspot.studies.hunt.captions import Captions
from weakspot.studies.hunt.claims import extended, said_by
from weakspot.studies.hunt.result import Certified, TriedCaption

#: Sentences that fewer of the plain pictures say are not bounded unless they were raced.
SHARE: Final = 0.01
#: What is said so often of plain pictures gets a bound of its own, which is mostly far lower.
COMMON: Final = 0.05
#: The chance that any of the bounds is wrong.
ERROR: Final = 0.05
#: Captions that are drawn on at once, and how many draws of each, at least.
AT_ONCE: Final = 8
STEP: Final = 16
#: Captions that the result lists.
KEPT: Final = 1000
#: A caption with so many draws and no verdict among them cannot be measured.
HOPELESS: Final = 64


class Watched(NamedTuple):
    """A caption that was tried, its own draws, and the plain pictures that say it, each with its bounds.

    Attributes:
        error: The parts of the error of its own draws, and of plain pictures.
        share: Of the plain pictures, how many say it; 0 of what is no single sentence.
    """

    hypothesis: Hypothesis
    base: Hypothesis
    own: Tally
    plain: Tally
    error: tuple[float, float]
    share: float = 0.0
    low: float = 0.0
    high: float = 1.0

    @property
    def by_plain(self) -> bool:
        """Whether plain pictures say how often it fails."""
        return self.plain.n > self.own.n

    @property
    def tally(self) -> Tally:
        return self.plain if self.by_plain else self.own


class Certificate:
    """Watches what an engine has tried of some baselines, beside what was confirmed."""

    def __init__(
        self, engine: Engine, captions: Captions, bases: Sequence[Hypothesis], lanes: Sequence[Lane]
    ) -> None:
        self.engine, self.bases = engine, bases
        self._found = [
            (lane.against.id, said_by(lane.hypothesis, lane.against))
            for lane in lanes
            if lane.state is State.CONFIRMED and lane.against is not None
        ]
        self._sentences = [one for base in bases for one in self._of_plain(captions, base)]

    def tried(self) -> list[Watched]:
        """Everything that is bounded, the worst bound first; without what is excepted."""
        watched = {one.hypothesis.id: one for one in self._sentences}
        known = {base.id for base in self.bases}
        captions = [h for h in self.engine.asked if h.id not in known]
        for place, caption in enumerate(captions):
            own = self.engine.tally(caption).plus(self.engine.tally(caption, Stage.CONFIRM))
            if (base := self._base_of(caption)) is None or not own.n:
                continue
            error = float(ERROR / 2 * part(place))
            if (one := watched.get(caption.id)) is not None:
                watched[caption.id] = one._replace(own=own, error=(error, one.error[1]))
            elif caption.origin != "edit":
                watched[caption.id] = Watched(caption, base, own, Tally(), (error, 1.0))
        told = [one for one in watched.values() if not self._excepted(one)]
        failures, n = ([getattr(one.tally, what) for one in told] for what in ("failures", "n"))
        errors = [one.error[one.by_plain] for one in told]
        low, high = lower_bounds(failures, n, errors).tolist(), upper_bounds(failures, n, errors).tolist()
        found = [one._replace(low=a, high=b) for one, a, b in zip(told, low, high, strict=True)]
        return sorted(found, key=lambda one: (-one.high, one.hypothesis.text))

    def draw_until(self, limit: float, *, fits: Callable[[str], bool]) -> None:
        """Draw on until all is shown to fail no more often than the limit, or something more often.

        Always those with the highest bounds: whenever the budget ends, the bound is as low as it could buy.
        """
        while True:
            tried = self.tried()
            open_still = [one for one in tried if one.high > limit and self._drawable(one, fits)]
            if not open_still or any(one.low > limit for one in tried):
                return
            wants = [Want(one.hypothesis, self._next(one, limit)) for one in open_still[:AT_ONCE]]
            self.engine.draw(wants, phase="certify")

    def result(self, limit: float | None) -> Certified | None:
        """What is excluded; None where nothing was tried."""
        if not (tried := self.tried()):
            return None
        above = [one for one in tried if limit is not None and one.low > limit]
        worst = max(above, key=lambda one: one.low, default=None)
        common = [one.high for one in tried if one.share >= COMMON]
        return Certified(
            captions=len(tried),
            share=SHARE,
            level=1 - ERROR,
            bound=tried[0].high,
            common=len(common),
            common_share=COMMON,
            common_bound=max(common, default=1.0),
            tried=tuple(map(_told, tried[:KEPT])),
            limit=limit,
            above=None if worst is None else _told(worst),
        )

    def _of_plain(self, captions: Captions, base: Hypothesis) -> Iterator[Watched]:
        """The sentences that enough of the plain pictures say; of each, the pictures after the first."""
        counts: dict[str, list[int]] = {}
        n = 0
        for words, failed in captions.plain(base):
            n += 1
            for sentence in sorted(words):
                if (row := counts.get(sentence)) is None:
                    counts[sentence] = [0, 0]
                else:
                    row[0] += 1
                    row[1] += failed
        error = ERROR / 2 / len(self.bases)
        for place, (sentence, (seen, failures)) in enumerate(counts.items()):
            if seen + 1 >= SHARE * n:
                caption, tally = extended(base, [sentence], origin="sentence"), Tally(seen, failures)
                errors = ERROR / 2, float(error * part(place))
                yield Watched(caption, base, Tally(), tally, errors, (seen + 1) / n)

    def _base_of(self, caption: Hypothesis) -> Hypothesis | None:
        own = [base for base in self.bases if caption.text.startswith(base.text)]
        return max(own, key=lambda base: len(base.text), default=None)

    def _excepted(self, one: Watched) -> bool:
        said: Sentences = sentences_of(" ".join(said_by(one.hypothesis, one.base)))
        return any(base == one.base.id and words <= said for base, words in self._found)

    def _drawable(self, one: Watched, fits: Callable[[str], bool]) -> bool:
        """Whether more of its own draws can be had, and say something."""
        if one.own.drawn >= HOPELESS and not one.own.n:
            return False
        drawn = self.engine.tally(one.hypothesis).drawn
        return drawn < self.engine.reach(one.hypothesis) and fits(one.hypothesis.text)

    def _next(self, one: Watched, limit: float) -> int:
        """How many draws of its own it should have: no more than are needed, and at most twice as many."""
        guess = (one.own.failures + one.plain.failures + 0.5) / (one.own.n + one.plain.n + 1)
        counts = one.own.failures, one.own.n
        need = draws_to_decide(*counts, rate=limit, error=one.error[0], guess=guess)
        # Where plain pictures say how often it fails, its own must become more than these to count.
        need, most = max(need, one.plain.n + 1 - one.own.n), max(4 * STEP, one.own.n, one.plain.n)
        return self.engine.tally(one.hypothesis).drawn + int(max(STEP, min(need, most)))


def _told(one: Watched) -> TriedCaption:
    return TriedCaption(
        hypothesis=one.hypothesis.id,
        baseline=one.base.id,
        phrase=one.hypothesis.beyond(one.base),
        failures=one.tally.failures,
        n=one.tally.n,
        low=one.low,
        high=one.high,
        by_plain=one.by_plain,
    )
