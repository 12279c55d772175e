"""Counterfactual edits: what each rule does, and what all of them keep."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.texts import prompt

from weakspot.core import Hypothesis, WeakspotError
from weakspot.text.caption_edits import LONGEST_TEXT, Edit, Kind, edits
from weakspot.text.grammar import negated
from weakspot.text.lexicon import swaps
from weakspot.world.grammar import UnknownWords, parse

BASE = Hypothesis("a realistic photograph of a fly (insect).", origin="baseline")


def made(said: str, kind: Kind | None = None, **options: Any) -> list[str]:
    """The texts of the edits of the base with these words, without the base."""
    found = edits(Hypothesis(f"{BASE.text} {said}"), base=BASE, **options)
    return [e.hypothesis.text.removeprefix(BASE.text + " ") for e in found if kind in (None, e.kind)]


@pytest.mark.parametrize(
    ("sentence", "opposite"),
    [
        ("it is on a yellow flower.", "it is not on a yellow flower."),
        ("there is a ball.", "there is no ball."),
        ("there is glare.", "there is no glare."),
        ("there are two of them.", "there are not two of them."),
        ("it faces left.", "it does not face left."),
        ("it carries a stick.", "it does not carry a stick."),
        ("it kisses a frog.", "it does not kiss a frog."),
        ("something is behind it.", "nothing is behind it."),
        ("it is on something yellow.", "it is on nothing yellow."),
        ("it has a tail.", "it has no tail."),
        ("they run.", "they do not run."),
        ("a dog with a ball.", "a dog without a ball."),
        ("a fly on a flower", "a fly not on a flower"),
        ("the dogs are in the snow!", "the dogs are not in the snow!"),
    ],
)
def test_a_sentence_and_its_opposite(sentence: str, opposite: str) -> None:
    assert negated(sentence) == opposite
    assert negated(opposite) == sentence


@pytest.mark.parametrize(
    ("sentence", "opposite"),
    [
        ("it isn't wet.", "it is wet."),
        ("It can't fly.", "It can fly."),
        ("there are not any dogs.", "there are dogs."),
        ("there is no old oak.", "there is an old oak."),
        ("a dog", ""),
        ("flower.", ""),
        ("", ""),
        ("...", ""),
    ],
)
def test_opposites_of_other_forms(sentence: str, opposite: str) -> None:
    assert negated(sentence) == opposite


@pytest.mark.parametrize(
    ("kind", "words", "first"),
    [
        (Kind.COLOUR, "it is on a red flower.", "it is on a blue flower."),
        (Kind.COLOUR, "it is on an orange flower.", "it is on a purple flower."),
        (Kind.COLOUR, "it is on a black flower.", "it is on an orange flower."),
        (Kind.COLOUR, "the background is gray.", "the background is red."),
        (Kind.PLACE, "the background is a forest.", "the background is a living room."),
        (Kind.PLACE, "the background is snow.", "the background is a kitchen."),
        (Kind.PLACE, "it runs in the woods at night.", "it runs in a living room at night."),
        (Kind.PLACE, "it is near the sea.", "it is near a desert."),
        (Kind.PLACE, "it is under water.", "it is in a garden."),
        (Kind.PLACE, "it is in a meadow and it is wet.", "it is on a street and it is wet."),
        (Kind.COUNT, "there are two of them.", "there are three of them."),
        (Kind.COUNT, "there is one of them.", "there are two of them."),
        (Kind.COUNT, "there are not five of them.", "there is not one of them."),
        (Kind.COUNT, "with three dogs.", "with four dogs."),
        (Kind.SIDE, "it is on the left of a ball.", "it is on the right of a ball."),
        (Kind.SIDE, "it is at the bottom.", "it is at the top."),
        (Kind.SIDE, "left of it is a cup, right of it a ball.", "right of it is a cup, left of it a ball."),
        (Kind.RELATION, "it is behind a fence.", "it is in front of a fence."),
        (Kind.RELATION, "it is in front of a fence.", "it is behind a fence."),
        (Kind.PLAIN, "it is on a yellow flower.", "it is on a flower."),
        (Kind.NEGATE, "it is on a yellow flower.", "it is not on a yellow flower."),
        (Kind.DROP, "it is wet. it is small.", "it is small."),
        (Kind.COLOUR, "A Red flower is near.", "A Blue flower is near."),
    ],
)
def test_what_each_rule_does(kind: Kind, words: str, first: str) -> None:
    assert made(words, kind)[0] == first


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind.PLACE, "there is a snow leopard."),
        (Kind.PLACE, "it is on a kitchen table."),
        (Kind.PLACE, "it is in a dense forest."),
        (Kind.PLACE, "it is beside a beach ball."),
        (Kind.COLOUR, "it is bored."),
        (Kind.COLOUR, "it is red-eyed."),
        (Kind.COUNT, "it weighs two."),
        (Kind.COUNT, "one dog is there."),
        (Kind.SIDE, "it is bright."),
        (Kind.PLAIN, "it is small."),
        (Kind.DROP, "it is wet."),  # that would be the base
    ],
)
def test_what_the_rules_leave_alone(kind: Kind, words: str) -> None:
    assert made(words, kind) == []


def test_an_edit_says_what_changed() -> None:
    child = Hypothesis(f"{BASE.text} it is on a yellow flower.", (("k", "v"),), origin="caption")
    found = {e.kind: e for e in edits(child, base=BASE)}
    assert found[Kind.PLAIN] == Edit(
        Kind.PLAIN,
        "it is on a yellow flower.",
        "it is on a flower.",
        Hypothesis(f"{BASE.text} it is on a flower.", (("k", "v"),)),
    )
    colour = found[Kind.COLOUR]
    assert (colour.before, colour.after) == ("yellow", "black")
    assert {(e.hypothesis.origin, e.hypothesis.parent) for e in found.values()} == {("edit", child.id)}
    [count, *_] = [e for e in edits(Hypothesis("there is one of them.")) if e.kind is Kind.COUNT]
    assert (count.before, count.after) == ("one", "two")


def test_every_colour_is_tried_in_turn_and_only_so_many_are_taken() -> None:
    assert made("it is red.", Kind.COLOUR) == ["it is blue.", "it is yellow.", "it is green."]
    assert len(made("it is red.", Kind.COLOUR, each=99)) == len(swaps("colours")[0]) - 1
    assert made("a red or blue cup is there.", Kind.COLOUR)[0] == "a yellow or blue cup is there."
    assert len(made("it is red. it is on a red flower in a forest.", most=5)) == 5


def test_without_a_base_the_first_sentence_is_edited_but_not_dropped() -> None:
    found = edits(Hypothesis("a photo of two red cats. it is wet."))
    texts = [e.hypothesis.text for e in found]
    assert "a photo of three red cats. it is wet." in texts
    assert "a photo of two red cats." in texts
    assert "it is wet." not in texts
    strange = edits(Hypothesis("a photo of a flying fish. it is red."), base=Hypothesis("a photo of a fly"))
    assert all(e.hypothesis.text.startswith("a photo of a") for e in strange)
    assert "a photo of a flying fish. it is blue." in [e.hypothesis.text for e in strange]
    assert edits(BASE, base=BASE) == []


def test_texts_that_the_source_cannot_draw_are_left_out() -> None:
    words = "it is on a yellow flower. the background is green."
    free, checked = made(words), made(words, meaning=parse)
    assert "it is not on a yellow flower. the background is green." in free
    assert (
        "it is not on a yellow flower. the background is green." not in checked
    )  # denies two things at once
    assert "it is not on a flower. the background is green." in checked
    plain = [t for t in made(words, Kind.COLOUR, meaning=parse, each=99) if "yellow flower" in t]
    assert sorted(plain) == [
        f"it is on a yellow flower. the background is {c}." for c in ("blue", "grey", "white")
    ]


def test_two_texts_with_one_meaning_are_one_edit() -> None:
    words = "it is not behind a net."
    both = made(
        words, rewrite=lambda _: ["it is behind a net", "there is a net.", "it is red."], meaning=parse
    )
    assert both == ["it is behind a net.", "it is red."]


@pytest.mark.parametrize("seed", range(40))
def test_edits_of_the_worlds_prompts_mean_something_else(seed: int) -> None:
    text = prompt(Random(seed), 1 + seed % 4)
    base = Hypothesis(text.split(".")[0] + ".")
    found = edits(Hypothesis(text), base=base, meaning=parse)
    meanings = [parse(e.hypothesis.text) for e in found]
    assert found
    assert len({*meanings, parse(text)}) == len(found) + 1
    assert all(e.hypothesis.text.startswith(base.text) for e in found)


def test_most_of_the_worlds_sentences_have_an_opposite() -> None:
    """What the grammar cannot deny ("on a yellow flower") is denied without its colour."""
    texts = [prompt(Random(seed), 1) for seed in range(150)]
    bases = [Hypothesis(text.split(".")[0] + ".") for text in texts]
    denied = [
        any(e.kind is Kind.NEGATE for e in edits(Hypothesis(t), base=b, meaning=parse))
        for t, b in zip(texts, bases, strict=True)
    ]
    assert sum(denied) > 0.9 * len(denied)


# -- a rewriter ------------------------------------------------------------------------------------


def test_what_a_rewriter_gives_is_validated() -> None:
    asked: list[str] = []

    def rewrite(text: str) -> Any:
        asked.append(text)
        return [
            *(
                "It sits on a BLUE tulip",
                "it is on a flower.",
                "it is on a rose.\x1b[2J",
                "",
                "...",
                "x" * 5000,
            ),
            *(None, 7, "it is on a flower.", *(f"it is on {i} leaves" for i in range(99))),
        ]

    found = made("it is on a flower.", Kind.REWRITE, rewrite=rewrite)
    assert asked == ["it is on a flower."]
    assert found[:2] == ["it sits on a blue tulip.", "it is on a rose. [2j."]
    assert len(found) == 2 + 7
    long = "it is red. it is on a blue flower in a forest. there are two of them. it is on the left."
    assert len(made(long, Kind.REWRITE, rewrite=rewrite, most=10)) == 5  # the rules leave room for them
    assert all(text.isprintable() for text in found)


def test_a_rewriter_that_fails_is_an_error_that_says_so() -> None:
    def rewrite(_: str) -> list[str]:
        raise ConnectionError("no route")

    with pytest.raises(WeakspotError, match="the rewriter failed: ConnectionError: no route") as caught:
        made("it is wet.", rewrite=rewrite)
    assert caught.value.fix


# -- any text --------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *(
            "it",
            "is",
            "not",
            "a",
            "an",
            "the",
            "red",
            "orange",
            "forest",
            "snow",
            "in",
            "on",
            "behind",
            "two",
        ),
        *("one", "of", "them", "left", "top", "there", "are", "no", ".", ",", "yellow", "flower", "with"),
        *("background", "without", "it's", "isn't", "nothing", "under", "water", "A", "RED"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=16).map(" ".join)))
def test_no_text_is_made_twice_and_none_is_the_text_itself(text: str) -> None:
    child = Hypothesis(f"{BASE.text} {text}")
    found = edits(child, base=BASE)
    texts = [" ".join(e.hypothesis.text.casefold().split()) for e in found]
    assert len({*texts, " ".join(child.text.casefold().split())}) == len(texts) + 1
    assert all(e.hypothesis.text.startswith(BASE.text) and e.before != e.after for e in found)
    assert found == edits(child, base=BASE)


def test_long_texts_take_no_long_time() -> None:
    assert edits(Hypothesis("x" * (LONGEST_TEXT + 1))) == []
    assert len(edits(Hypothesis("it is on a red flower. " * 400))) <= 64
    assert len(edits(Hypothesis("red " * 2000))) <= 64
    assert edits(Hypothesis("")) == []


def test_a_text_that_itself_means_nothing_can_still_be_edited() -> None:
    with pytest.raises(UnknownWords):
        parse(f"{BASE.text} it is on a gadget.")
    assert made("it is on a gadget. it is red.", Kind.DROP, meaning=parse) == ["it is red."]
