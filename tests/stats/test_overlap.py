"""ROUGE and BLEU against examples worked by hand."""

from __future__ import annotations

import math

import pytest

from weakspot.stats.overlap import bleu, longest_common, rouge, rouge_l, tokens

CAT, MAT = "the cat sat on the mat", "the cat lay on a mat"


def test_words_are_letters_and_digits_whatever_their_case() -> None:
    assert tokens("The U.S. paid €3.50—twice! (naïve)") == [
        "the",
        "u",
        "s",
        "paid",
        "3",
        "50",
        "twice",
        "naïve",
    ]
    assert tokens(" … ") == []


def test_rouge_one_counts_words_at_most_as_often_as_both_have_them() -> None:
    # shared: the (once), cat, on, mat = 4 of 6 and of 6
    assert rouge(CAT, MAT) == pytest.approx((4 / 6, 4 / 6, 4 / 6))
    # "the the the" has "the" three times, the reference twice: 2 of 3, 2 of 6
    assert rouge("the the the", CAT) == pytest.approx((2 / 3, 2 / 6, 4 / 9))


def test_rouge_two_counts_pairs() -> None:
    # cat's pairs: the-cat cat-sat sat-on on-the the-mat; mat's: the-cat cat-lay lay-on on-a a-mat; one shared
    assert rouge(CAT, MAT, n=2) == pytest.approx((1 / 5, 1 / 5, 1 / 5))
    assert rouge("cat", CAT, n=2) == (0.0, 0.0, 0.0)


def test_rouge_l_is_the_longest_row_in_order() -> None:
    # the cat … on … mat: 4 of 6
    assert rouge_l(CAT, MAT).f == pytest.approx(4 / 6)
    # police killed the gunman / the gunman kill police (Lin, 2004): "the gunman" is 2 of 4
    assert rouge_l("the gunman kill police", "police killed the gunman").f == pytest.approx(0.5)
    assert longest_common("abcbdab", "bdcaba") == 4  # the textbook's example


def test_bleu_by_hand() -> None:
    # precisions: 4/6; pairs (1+1)/(5+1); triples (0+1)/(4+1); fours (0+1)/(3+1); same length, no penalty
    expected = math.exp((math.log(4 / 6) + math.log(2 / 6) + math.log(1 / 5) + math.log(1 / 4)) / 4)
    assert bleu(CAT, MAT) == pytest.approx(expected)
    # half as long as the reference: e^(1 - 6/3); all three words, two pairs, one triple shared
    assert bleu("the cat sat", CAT) == pytest.approx(math.exp(-1))
    assert bleu(CAT, CAT) == pytest.approx(1.0)


@pytest.mark.parametrize(("own", "other"), [("", "a b"), ("a b", ""), ("", ""), ("dog", "a b"), ("!?", "a")])
def test_nothing_shared_is_nought(own: str, other: str) -> None:
    assert rouge(own, other).f == rouge(own, other, n=2).f == rouge_l(own, other).f == bleu(own, other) == 0.0


def test_measures_lie_between_nought_and_one_and_the_text_itself_is_one() -> None:
    import random

    rng = random.Random(1)
    for _ in range(200):
        own, other = (" ".join(rng.choices("abcd", k=rng.randrange(1, 9))) for _ in range(2))
        for value in (rouge(own, other).f, rouge(own, other, n=2).f, rouge_l(own, other).f, bleu(own, other)):
            assert 0.0 <= value <= 1.0
        assert rouge_l(own, own).f == 1.0
        assert bleu(own, own) == pytest.approx(1.0)
        assert rouge_l(own, other).recall <= rouge(own, other).recall  # a row in order is a bag of words
    with pytest.raises(ValueError, match="one word"):
        rouge("a", "a", n=0)
