"""Weak spots of one kind take one place in the list."""

from __future__ import annotations

from weakspot.core import Finding, Hypothesis, Rate
from weakspot.studies.hunt.claims import said_by
from weakspot.studies.hunt.families import Member, families
from weakspot.studies.hunt.impact import listed

BASE = Hypothesis("a photo of a cat.")


def member(*words: str, of: str = "") -> Member:
    return Member(frozenset(words), of)


def test_claims_that_differ_in_one_name_are_a_family() -> None:
    every = [
        member("it is behind a fence."),
        member("it is small."),
        member("it is behind a net."),
        member("it is behind a net.", "it is small."),
        member("it is behind bars.", "it is small."),
        member("it is behind bars.", of="another label"),
    ]
    assert families(every) == [[0, 2], [1], [3, 4], [5]]


def test_a_full_family_takes_no_more_and_a_size_of_one_means_none() -> None:
    every = [member(f"the background is a {place}.") for place in ("street", "beach", "kitchen")]
    assert families(every, size=2) == [[0, 1]]
    assert families(every, size=1) == [[0], [1], [2]]


def finding(text: str, rate: float, *, impact: float, confirmed: bool = True, under: str = "") -> Finding:
    value = Rate(rate, rate / 2, min(2 * rate, 1.0), 128, round(128 * rate))
    share = Rate(impact, 0.0, 1.0, 100, round(100 * impact))
    usual = Rate(0.01, 0.005, 0.02, 1000, 10)
    hypothesis = Hypothesis(f"{BASE.text} {text}")
    return Finding(hypothesis, text, value, usual, 9.0, confirmed, under=under, impact=share)


def of_base(one: Finding) -> Member:
    return Member(said_by(one.hypothesis, BASE))


def test_a_family_stands_together_where_it_matters_most_together() -> None:
    net, fence, small = "it is behind a net.", "it is behind a fence.", "it is small."
    found = [
        finding(small, 0.2, impact=0.3),
        finding(net, 0.3, impact=0.1),
        finding(fence, 0.4, impact=0.15),
        finding("it is dusk.", 0.1, impact=0.5, confirmed=False),
    ]
    by_weight = listed(found, "weight", of_base)
    assert [one.phrase for one in by_weight] == [fence, net, small, "it is dusk."]
    assert [one.beside for one in by_weight] == ["", by_weight[0].hypothesis.id, "", ""]
    narrow = finding("it is behind a fence. it is small.", 0.9, impact=0.05, under=by_weight[0].hypothesis.id)
    assert [one.phrase for one in listed([*found, narrow], "rate", of_base)][:3] == [
        fence,
        narrow.phrase,
        net,
    ]
    assert not any(one.beside for one in listed(found, "weight"))
