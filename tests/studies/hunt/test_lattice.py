"""Which winners are worth confirming: the fewest that explain the failures, narrower ones under them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from weakspot.concepts.rules import sentences_of
from weakspot.core import Hypothesis, Tally
from weakspot.engine import Lane, State
from weakspot.studies.hunt.captions import CaptionedTrial
from weakspot.studies.hunt.claims import said_by
from weakspot.studies.hunt.lattice import Shares, lattice

BASE = Hypothesis("a photo of a cat.")
FREE = {"it is in snow.": 0.1, "it is night.": 0.2, "it is small.": 0.3, "it is on a red mat.": 0.1}


class World:
    """Trials of hypotheses, drawn when asked for; fails at a rate where all of some sentences are true."""

    def __init__(
        self,
        where: Sequence[tuple[set[str], float, str]],
        base: float = 0.01,
        free: Mapping[str, float] = FREE,
    ) -> None:
        self.where, self.base, self.free = where, base, free
        self.drawn: dict[str, list[CaptionedTrial]] = {}

    def tell(self, hypothesis: Hypothesis, base: Hypothesis) -> list[CaptionedTrial]:
        if hypothesis.id not in self.drawn:
            chance, own = random.Random(hypothesis.id), sentences_of(hypothesis.text, base.text)
            rows = []
            for _ in range(3000 if hypothesis == BASE else 300):
                true = own | frozenset().union(
                    *(sentences_of(s) for s, p in self.free.items() if chance.random() < p)
                )
                fits = [(rate, answer) for words, rate, answer in self.where if words <= true]
                rate, answer = max(fits, default=(self.base, "dog"))
                rows.append(CaptionedTrial(true, chance.random() < rate, answer))
            self.drawn[hypothesis.id] = rows
        return self.drawn[hypothesis.id]

    def lanes(self, *texts: str, answer: str = "", state: State = State.AHEAD) -> list[Lane]:
        return [
            Lane(Hypothesis(f"{BASE.text} {t}"), Tally(300, 30), state, answer=answer, against=BASE)
            for t in texts
        ]

    def chosen(self, lanes: Sequence[Lane], most: int = 8) -> list[set[str]]:
        found = lattice(lanes, self.tell, most=most)
        return [set(said_by(branch.claim.hypothesis, BASE)) for branch in found]

    def narrower(self, lanes: Sequence[Lane]) -> list[list[set[str]]]:
        """What stands under each broad claim."""
        found = lattice(lanes, self.tell, most=8)
        return [[set(said_by(c.hypothesis, BASE)) for c in branch.narrower] for branch in found]


def test_a_diluted_hypothesis_gives_way_to_the_special_one() -> None:
    world = World([({"it is in snow.", "it is night."}, 0.4, "wolf")])
    lanes = world.lanes("it is in snow.", "it is night.", "it is in snow. it is night.")
    assert world.chosen(lanes) == [{"it is in snow.", "it is night."}]


def test_a_special_hypothesis_gives_way_to_the_general_one_where_it_adds_nothing() -> None:
    world = World([({"it is in snow."}, 0.4, "wolf")])
    lanes = world.lanes("it is in snow. it is small.", "it is in snow. it is night.", "it is in snow.")
    assert world.chosen(lanes) == [{"it is in snow."}]
    colour = World([({"it is on a mat."}, 0.4, "dog")])
    assert colour.chosen(colour.lanes("it is on a red mat.", "it is on a mat.")) == [{"it is on a mat."}]


def test_both_are_kept_where_both_matter() -> None:
    world = World([({"it is in snow."}, 0.5, "wolf"), ({"it is small."}, 0.2, "dog")])
    lanes = world.lanes("it is small.", "it is in snow.", "it is night.")
    # Snow is a tenth of the pictures and fails in 50 %, small ones are three tenths and fail in 20 %.
    assert world.chosen(lanes) == [{"it is in snow."}, {"it is small."}]
    assert world.chosen(lanes, most=1) == [{"it is in snow."}]


def test_a_broad_claim_that_fails_by_itself_comes_first_and_what_is_worse_stands_under_it() -> None:
    world = World([({"it is in snow."}, 0.3, "wolf"), ({"it is in snow.", "it is night."}, 0.9, "wolf")])
    lanes = world.lanes("it is in snow. it is night.", "it is in snow.", "it is in snow. it is small.")
    assert world.chosen(lanes) == [{"it is in snow."}]
    assert world.narrower(lanes) == [[{"it is in snow.", "it is night."}]]
    [branch] = lattice(lanes, world.tell, most=8)
    assert branch.narrower[0].within == branch.claim.hypothesis


def test_nothing_stands_under_a_broad_claim_that_is_not_worse_beyond_doubt() -> None:
    world = World([({"it is in snow."}, 0.4, "wolf"), ({"it is in snow.", "it is night."}, 0.45, "wolf")])
    lanes = world.lanes("it is in snow. it is night.", "it is in snow.", "it is in snow. it is small.")
    assert world.chosen(lanes) == [{"it is in snow."}]
    assert world.narrower(lanes) == [[]]


def test_a_claim_that_is_hardly_worse_than_usual_is_none() -> None:
    world = World([({"it is small."}, 0.07, "dog")], base=0.05)
    assert world.chosen(world.lanes("it is small.")) == []


def test_shares_are_those_of_the_trials_and_never_nothing() -> None:
    world = World([])
    trials = world.tell(BASE, BASE)
    shares = Shares(trials)
    assert 0.08 < shares(frozenset({"it is in snow."})) < 0.12
    assert 0.0 < shares(frozenset({"it is on the moon."})) < 0.001
    both = shares(frozenset({"it is on the moon.", "it is small."}))
    assert 0.0 < both < shares(frozenset({"it is on the moon."}))
    silent = [t._replace(said=frozenset()) for t in trials]
    assert Shares(silent)(frozenset({"it is small."})) == 1.0


def test_only_winners_count_and_one_answer_only_where_not_all_failures_do() -> None:
    world = World([({"it is in snow."}, 0.5, "wolf")])
    lanes = world.lanes("it is in snow.", state=State.OPEN)
    assert world.chosen(lanes) == []
    assert world.chosen([]) == []
    both = [*world.lanes("it is in snow.", answer="wolf"), *world.lanes("it is in snow.")]
    [branch] = lattice(both, world.tell, most=8)
    assert branch.claim.answer == ""
    [branch] = lattice(world.lanes("it is in snow.", answer="wolf"), world.tell, most=8)
    assert branch.claim.answer == "wolf"
    assert lattice(world.lanes("it is in snow.", answer="dog"), world.tell, most=8) == []


def test_weak_spots_of_one_kind_take_one_place() -> None:
    places = [f"the background is a {place}." for place in ("street", "beach", "kitchen")]
    free = dict.fromkeys(places, 0.03) | {"it is small.": 0.2}
    weak = [*(({place}, 0.5, "wolf") for place in places), ({"it is small."}, 0.2, "dog")]
    world = World(weak, free=free)
    lanes = world.lanes(*places, "it is small.")
    (first, *others) = lattice(lanes, world.tell, most=2, family=3)
    assert {said for row in (first, *first.beside) for said in said_by(row.claim.hypothesis, BASE)} == {
        *places
    }
    assert [said_by(row.claim.hypothesis, BASE) for row in others] == [{"it is small."}]
    full = lattice(lanes, world.tell, most=2, family=2)
    assert sorted(len(row.beside) for row in full) == [0, 1]
    alone = lattice(lanes, world.tell, most=2)
    assert len(alone) == 2
    assert not any(one.beside for one in alone)


def test_a_captioner_that_forgets_does_not_make_a_broad_claim_fail_by_itself() -> None:
    snow, night = "it is in snow.", "it is night."
    world = World([({snow, night}, 0.9, "wolf")], base=0.002)
    lanes = world.lanes(snow, f"{snow} {night}")
    for hypothesis in [BASE, *(lane.hypothesis for lane in lanes)]:
        rows = world.tell(hypothesis, BASE)
        chance, own = random.Random(f"forgets {hypothesis.id}"), sentences_of(hypothesis.text, BASE.text)
        world.drawn[hypothesis.id] = [
            row._replace(said=row.said if chance.random() > 0.02 else own | (row.said - {night}))
            for row in rows
        ]
    assert world.chosen(lanes) == [{snow, night}]
