"""Rules from captions: the planted conjunction is found and named, noise is not."""

from __future__ import annotations

import math
import random

import pytest

from weakspot.concepts.rules import Sentences, rules, sentences_of
from weakspot.text.sentences import general_forms

SENTENCES = {
    "it is night.": 0.2,
    "it is raining.": 0.15,
    "it is in snow.": 0.1,
    "it is small.": 0.3,
    "it faces left.": 0.5,
    "there are two of them.": 0.1,
    "a cup is behind it.": 0.05,
}


def captions(n: int, seed: int) -> list[Sentences]:
    chance = random.Random(seed)
    return [frozenset(s for s, p in SENTENCES.items() if chance.random() < p) for _ in range(n)]


def split(
    all_of: list[Sentences], where: set[str], rate: float, base: float, seed: int
) -> tuple[list[Sentences], list[Sentences]]:
    chance = random.Random(seed)
    failed = [chance.random() < (rate if where <= some else base) for some in all_of]
    return [s for s, f in zip(all_of, failed, strict=True) if f], [
        s for s, f in zip(all_of, failed, strict=True) if not f
    ]


@pytest.mark.parametrize(
    "where", [{"it is in snow."}, {"it is night.", "it is raining."}, {"it faces left.", "it is in snow."}]
)
def test_what_was_planted_is_the_first_rule(where: set[str]) -> None:
    hits = 0
    for seed in range(20):
        failing, passing = split(captions(3000, seed), where, 0.3, 0.01, seed)
        first = rules(failing, passing)[0]
        hits += set(first.sentences) == where
        assert (
            first.failing + first.passing == sum(where <= s for s in (*failing, *passing))
            or set(first.sentences) != where
        )
    assert hits >= 19


def test_two_causes_are_two_rules() -> None:
    some = captions(4000, 1)
    failing, passing = split(some, {"it is in snow."}, 0.4, 0.005, 2)
    more, passing = split(passing, {"it is small.", "there are two of them."}, 0.4, 0.0, 3)
    found = [set(rule.sentences) for rule in rules([*failing, *more], passing)[:2]]
    assert {"it is in snow."} in found
    assert {"it is small.", "there are two of them."} in found


def test_noise_suggests_little() -> None:
    """Where failures are independent of what is said, rules have weak evidence: the race ends them."""
    strong = 0
    for seed in range(50):
        failing, passing = split(captions(1000, seed), set(), 0.03, 0.03, seed)
        strong += any(rule.log_evidence > math.log(20) for rule in rules(failing, passing))
    assert strong <= 5


def test_what_is_known_is_set_aside() -> None:
    failing, passing = split(captions(3000, 5), {"it is in snow."}, 0.5, 0.01, 5)
    again = rules(failing, passing, known=[["it is in snow."]])
    assert all(rule.sentences != ("it is in snow.",) for rule in again)


def test_what_does_not_fit_is_not_said() -> None:
    failing, passing = split(captions(3000, 5), {"it is in snow."}, 0.5, 0.01, 5)
    assert all(
        "it is in snow." not in rule.sentences
        for rule in rules(failing, passing, fits=lambda some: "it is in snow." not in some)
    )


def test_nothing_to_learn_from() -> None:
    assert rules([], []) == []
    assert rules([], captions(10, 0)) == []
    assert rules([frozenset()], captions(10, 0)) == []
    assert rules([frozenset({"it is new."})], [])[0].sentences == ("it is new.",)


def test_a_caption_implies_its_general_forms() -> None:
    told = sentences_of("a fly. it is on a yellow flower. a red cup is behind it.", "a fly.")
    assert told == {
        "it is on a yellow flower.",
        "it is on a flower.",
        "a red cup is behind it.",
        "a cup is behind it.",
        "there is a red cup.",
        "there is a cup.",
    }
    assert general_forms("it is small.") == frozenset()
    assert general_forms("a tree is to the left of it.") == {"there is a tree."}
