"""Words that mean the same are one meaning, told with its forms; those that only look alike are not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from weakspot.concepts.columns import concepts_of
from weakspot.concepts.concept import Concept
from weakspot.concepts.finite.spots import weak_spots
from weakspot.concepts.same import forms_of, meanings_of, synonyms
from weakspot.core import WeakspotError
from weakspot.records import Column, Judged, Kind, Records, Roles
from weakspot.text.wordnet import WordNet


def wordnet() -> WordNet | None:
    try:
        return WordNet.find()
    except WeakspotError:
        return None


def table(texts: list[str]) -> Judged:
    columns = {"caption": Column("caption", Kind.TEXT, np.array(texts, object))}
    records = Records("here", "here", columns, np.arange(1, len(texts) + 1))
    nothing: list[str | None] = [None] * len(texts)
    roles, none = Roles(text=("caption",)), np.full(len(texts), np.nan)
    return Judged(records, roles, np.zeros(len(texts), bool), "", nothing, nothing, none)


@pytest.mark.parametrize(
    "same", [("snow", "snowy"), ("child", "kid"), ("bike", "bicycle"), ("grass", "grassy"), ("rock", "rocky")]
)
def test_words_that_mean_the_same_are_joined(same: tuple[str, str]) -> None:
    assert synonyms([*same, "table"], None) == [list(same)]


@pytest.mark.parametrize(
    "other",
    [
        ("man", "many"),
        ("car", "carry"),
        ("read", "ready"),
        ("part", "party"),
        ("fun", "funny"),
        ("cit", "city"),
    ],
)
def test_words_that_only_look_alike_are_not(other: tuple[str, str]) -> None:
    assert synonyms(other, wordnet()) == []


def test_what_is_joined_stands_beside_its_words() -> None:
    texts = [
        "a child runs fast",
        "a kid runs home",
        "two kids sit down",
        "the children sit",
        "a dog sits here",
    ]
    found = concepts_of(table(texts * 3), least=3, wordnet=None).concepts
    said = {concept.value: concept.forms for concept in found if not concept.wider}
    children = [c for c in found if c.forms == {"child", "children", "kid", "kids"}]
    assert len(children) == 1
    assert {"kid"} <= said.keys()  # where only this word goes with failure, that is said
    assert forms_of(children) == tuple(sorted({"child", "children", "kid", "kids"} - {children[0].value}))
    meanings = meanings_of(found)
    kin = {int(meanings[i]) for i, c in enumerate(found) if c.forms & children[0].forms}
    assert len(kin) == 1
    assert (
        len(set(meanings.tolist())) == len(found) - sum(bool(c.forms & children[0].forms) for c in found) + 1
    )


def test_cuts_of_a_word_mean_the_same() -> None:
    cuts = [Concept("picture", "near", word, share=share) for word, share in (("a dog", 0.1), ("a dog", 0.3))]
    first, second, third = meanings_of([*cuts, Concept("picture", "near", "a cat", share=0.1)]).tolist()
    assert first == second != third
    assert cuts[0].name != cuts[1].name
    assert cuts[1].phrase == "looks like “a dog” (nearest 30 %)"


def test_one_meaning_is_one_finding() -> None:
    """Two words for about the same thing on different rows, both of which fail."""
    rng = np.random.default_rng(1)
    a, b = rng.random(3_000) < 0.1, rng.random(3_000) < 0.1
    failed = rng.random(3_000) < np.where(a | b, 0.6, 0.04)
    rows, half = csc_matrix(np.column_stack([a, b]).astype(np.float32)), np.arange(3_000) % 2 == 0
    assert len(weak_spots(rows, failed, half, fdr=0.05)) == 2
    [one] = weak_spots(rows, failed, half, fdr=0.05, meanings=np.array([4, 4]))
    assert {one.statement, *one.forms} == {(0,), (1,)}
