"""What is proposed: of failures, of every wrong answer, of what lies within a hypothesis, and of groups."""

from __future__ import annotations

import random

from weakspot.core import Hypothesis, Tally
from weakspot.engine import Claim, Lane, State
from weakspot.studies.hunt.captions import CaptionedTrial
from weakspot.studies.hunt.claims import (
    distinct,
    extended,
    from_failures,
    from_near_misses,
    from_within,
    said_by,
)

BASE = Hypothesis("a photo of a cat.")
FREE = {"it is in snow.": 0.15, "it is night.": 0.3, "it is small.": 0.4, "it is on a mat.": 0.2}


def trials(
    n: int, where: set[str], rate: float, *, own: tuple[str, ...] = (), base: float = 0.01
) -> list[CaptionedTrial]:
    chance = random.Random(n)
    rows = []
    for _ in range(n):
        true = frozenset({*own, *(s for s, p in FREE.items() if chance.random() < p)})
        hit = where <= true and chance.random() < rate
        rows.append(
            CaptionedTrial(
                true, hit or chance.random() < base, "wolf" if hit else chance.choice(["dog", "fox"])
            )
        )
    return rows


def words(claims: list[Claim]) -> list[tuple[set[str], str]]:
    return [(set(said_by(c.hypothesis, BASE)), c.answer) for c in claims]


def test_failures_suggest_their_cause_and_so_does_each_wrong_answer() -> None:
    told = trials(3000, {"it is in snow.", "it is night."}, 0.5)
    found = words(from_failures(told, BASE, fits=lambda _: True, confusions=True))
    assert found[0] == ({"it is in snow.", "it is night."}, "")
    assert ({"it is in snow.", "it is night."}, "wolf") in found
    alone = words(from_failures(told, BASE, fits=lambda _: True, confusions=False))
    assert all(answer == "" for _, answer in alone)
    assert words(from_failures(told, BASE, fits=lambda text: "snow" not in text, confusions=True)) != found


def test_near_misses_suggest_what_failures_would() -> None:
    told = trials(1500, {"it is in snow.", "it is night."}, 0.9, base=0.0)
    near, others = ([t.said for t in told if t.failed is failed] for failed in (True, False))
    [claim] = from_near_misses(near[:24], others, BASE, fits=lambda _: True)
    assert words([claim]) == [({"it is in snow.", "it is night."}, "")]
    assert claim.hypothesis.origin == "near miss"
    assert from_near_misses(others[:24], others[24:], BASE, fits=lambda _: True) == []
    assert from_near_misses([], others, BASE, fits=lambda _: True) == []


def test_within_a_hypothesis_it_is_made_special_and_general() -> None:
    snow = extended(BASE, ["it is in snow."], origin="caption")
    told = trials(400, {"it is in snow.", "it is night."}, 0.5, own=("it is in snow.",))
    lane = Lane(snow, Tally(400, sum(t.failed for t in told)), State.AHEAD, against=BASE)
    found = words(from_within([lane], lambda *_: told, most=3, fits=lambda _: True))
    assert ({"it is in snow.", "it is night."}, "") in found
    assert ({"it is night."}, "") in found
    assert words(from_within([lane], lambda *_: told, most=1, fits=lambda _: True)) == []
    both = extended(BASE, ["it is in snow.", "it is on a red mat."], origin="caption")
    lane = Lane(both, Tally(100, 50), State.AHEAD, against=BASE)
    general = words(from_within([lane], lambda *_: [], most=3, fits=lambda _: True))
    assert ({"it is in snow."}, "") in general
    assert ({"it is on a red mat."}, "") in general
    assert ({"it is in snow.", "it is on a mat."}, "") in general
    behind = Lane(both, Tally(100, 50), State.BEHIND, against=BASE)
    assert from_within([behind], lambda *_: told, most=3, fits=lambda _: True) == []


def test_one_claim_has_one_text_and_says_nothing_twice() -> None:
    one = extended(BASE, ["it is small.", "it is in snow."], origin="caption")
    two = extended(BASE, ["it is in snow.", "it is small."], origin="special")
    assert one == two
    assert extended(BASE, ["it is on a red mat.", "it is on a mat."], origin="x").text.endswith(
        "on a red mat."
    )
    claims = [Claim(one, BASE), Claim(two, BASE), Claim(one, BASE, "dog"), Claim(BASE, BASE)]
    assert distinct(claims) == [Claim(one, BASE), Claim(one, BASE, "dog")]
