"""Pairs of texts: drawn again they are the same, and each kind is what it says it is."""

from __future__ import annotations

import pytest
from tests.studies.mine.mine_toy import captions

from weakspot.core import Hypothesis, Stage, WeakspotError
from weakspot.sources.corpus import Text, gather
from weakspot.studies.mine.pair_source import (
    RANDOM,
    REPLACED,
    PairSource,
    edited_hypothesis,
    reworded,
    written_hypothesis,
)
from weakspot.testing import check_source
from weakspot.text.differences import Category, categorise
from weakspot.text.plain import normal_form

TEXTS = captions(80)
CORPUS = gather((Text(text, f"picture {i // 2}") for i, text in enumerate(TEXTS)), name="toy")
OWN = written_hypothesis("colour", "red for blue")
WRITTEN = [(f"a red ball {i}", f"a blue ball {i}") for i in range(40)]
KINDS = [
    REPLACED,
    RANDOM,
    OWN,
    *(edited_hypothesis(c) for c in (Category.SPATIAL, Category.ROLE, Category.NUMBER)),
]


@pytest.fixture(scope="module")
def source() -> PairSource:
    return PairSource(CORPUS, written={OWN.id: WRITTEN})


@pytest.mark.parametrize("hypothesis", KINDS, ids=lambda h: h.text[:20])
def test_pairs_follow_from_the_seed_alone(source: PairSource, hypothesis: Hypothesis) -> None:
    check_source(source, hypothesis, seed=5)
    again = PairSource(CORPUS, written={OWN.id: WRITTEN})
    for stage in Stage:
        n = source.available(hypothesis, seed=5, stage=stage)
        assert n == again.available(hypothesis, seed=5, stage=stage) > 4
        indices = range(stage.start, stage.start + n)
        one, two = (s.draw(hypothesis, indices, seed=5) for s in (source, again))
        assert [c.input for c in one] == [c.input for c in two]
        other = source.draw(hypothesis, [stage.start], seed=6)
        assert [c.input for c in one[:1]] != [c.input for c in other] or hypothesis is OWN
        with pytest.raises(WeakspotError, match="there are only"):
            source.draw(hypothesis, [stage.start + n], seed=5)


def test_stages_share_no_caption(source: PairSource) -> None:
    for hypothesis in KINDS:
        texts = []
        for stage in Stage:
            n = source.available(hypothesis, seed=1, stage=stage)
            cases = source.draw(hypothesis, range(stage.start, stage.start + n), seed=1)
            texts.append({case.input.first for case in cases})
        assert not texts[0] & texts[1]


def test_edited_pairs_are_of_their_category_and_new(source: PairSource) -> None:
    known = set(map(normal_form, TEXTS))
    for category in (Category.SPATIAL, Category.ROLE, Category.NUMBER):
        n = source.available(edited_hypothesis(category), seed=1, stage=Stage.EXPLORE)
        for case in source.draw(edited_hypothesis(category), range(n), seed=1):
            assert categorise(case.input.first, case.input.second).category is category
            assert normal_form(case.input.second) not in known
            assert "→" in case.input.change


def test_a_replaced_word_is_one_word(source: PairSource) -> None:
    for case in source.draw(REPLACED, range(60), seed=1):
        one, two = (normal_form(text).split() for text in case.input[:2])
        changed = [(a, b) for a, b in zip(one, two, strict=True) if a != b and {a, b} != {"a", "an"}]
        assert len(changed) == 1
        assert case.input.change == " → ".join(changed[0])


def test_random_pairs_are_of_two_pictures(source: PairSource) -> None:
    of = dict(zip(CORPUS.texts, CORPUS.pictures, strict=True))
    for case in source.draw(RANDOM, range(200), seed=1):
        assert of[case.input.first] != of[case.input.second]


def test_texts_that_do_not_fit_are_not_made() -> None:
    source = PairSource(CORPUS, fits=lambda text: "tree" not in text)
    for hypothesis in KINDS[3:4]:
        n = source.available(hypothesis, seed=1, stage=Stage.EXPLORE)
        assert not any("tree" in c.input.second for c in source.draw(hypothesis, range(n), seed=1))


def test_a_hypothesis_that_is_not_about_pairs(source: PairSource) -> None:
    with pytest.raises(WeakspotError, match="says nothing of pairs"):
        source.draw(Hypothesis("a fly"), [0], seed=1)


def test_a_reworded_caption_says_the_same() -> None:
    assert reworded("A dog runs.")[0] == "a photo of a dog runs."
    assert reworded("a photo of a dog.") == ["a picture of a dog.", "an image of a dog."]
    assert "a photo of a bee (insect)." in reworded("a realistic photograph of a bee (insect).")
