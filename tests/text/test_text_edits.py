"""The sixteen edits: each is a real one, does what it says and no more, and follows from its seed."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from weakspot.concepts.space import load_space
from weakspot.core import WeakspotError
from weakspot.sources.documents import documents
from weakspot.text import lexicon
from weakspot.text.grammar import denied
from weakspot.text.lexicon import base_of
from weakspot.text.text_edits import EDITS, edit, misspelt

TEXTS = documents().texts
PLAIN = "The engineer closed two bridges on Monday, and they will not open before May."


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def test_the_space_names_the_edits() -> None:
    [axis] = load_space("text-16").axes
    assert set(axis.values) == set(EDITS)
    assert len(EDITS) == 16


@pytest.mark.parametrize("name", EDITS)
def test_each_changes_every_text_the_same_way_for_the_same_seed(name: str) -> None:
    for text in TEXTS:
        once = edit(text, name, seed=4)
        assert once != text
        assert once == edit(text, name, seed=4)
    assert edit("", name, seed=0) == ""
    assert edit("…\n\n42 – 7", name, seed=0) is not None


@pytest.mark.parametrize("name", [n for n, one in EDITS.items() if one.share < 1])
def test_a_share_is_of_what_can_be_changed_and_another_seed_chooses_other_places(name: str) -> None:
    text = TEXTS[0]
    assert edit(text, name, seed=1) != edit(text, name, seed=2)

    def apart(share: float) -> int:
        import difflib

        matcher = difflib.SequenceMatcher(None, text, edit(text, name, seed=3, share=share), autojunk=False)
        return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")

    assert 0 < apart(0.02) < apart(0.6)


def test_words_are_dropped_repeated_and_reordered_and_nothing_else() -> None:
    for text in TEXTS[:6]:
        kept = words(edit(text, "drop stop words", seed=0))
        assert kept == [w for w in words(text) if w.lower() not in lexicon.words("stop") or w.lower() == "s"]
        assert "not" not in lexicon.words("stop")
        assert "no" not in lexicon.words("stop")
        bag, n = Counter(words(text)), len(words(text))
        fewer = Counter(words(edit(text, "delete words", seed=1)))
        assert not fewer - bag
        assert n - fewer.total() == round(0.15 * n)
        more = Counter(words(edit(text, "repeat words", seed=1)))
        assert not bag - more
        assert more.total() - n == pytest.approx(0.15 * n, abs=2)
        assert Counter(words(edit(text, "reorder words", seed=1))) == bag


def test_marks_and_capitals() -> None:
    assert edit("It's 3.5 m, he said: “go!”", "drop punctuation", seed=0) == "It's 3.5 m he said go"
    assert edit(PLAIN, "lower case", seed=0) == PLAIN.lower()
    swapped = edit(PLAIN, "change case", seed=0)
    assert swapped != PLAIN
    assert swapped.lower() == PLAIN.lower()


def test_characters() -> None:
    text, letters = TEXTS[2], sum(c.isalpha() for c in TEXTS[2])
    hits = round(0.06 * letters)
    assert len(text) - len(edit(text, "delete characters", seed=0)) == hits
    for name in ("insert characters", "repeat characters"):
        assert len(edit(text, name, seed=0)) - len(text) == hits
    typed = edit(text, "mistype characters", seed=0)
    assert len(typed) == len(text)
    assert sum(a != b for a, b in zip(text, typed, strict=True)) == hits
    assert Counter(edit(text, "swap characters", seed=0)) == Counter(text)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("receive", "recieve"),
        ("Separate", "Seperate"),
        ("difference", "differance"),
        ("running", "runing"),
        ("ox", "ox"),
    ],
)
def test_misspellings_are_those_people_make(right: str, wrong: str) -> None:
    assert misspelt(right) == wrong


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The bridge is open.", "The bridge is not open."),
        ("The bridge is not open.", "The bridge is open."),
        ("She can't swim.", "She can swim."),
        ("They won't come.", "They will come."),
        ("The council voted to close it.", "The council did not vote to close it."),
        ("The robot takes the lift.", "The robot does not take the lift."),
        ("Volunteers have found an apple.", "Volunteers have not found an apple."),
        ("No verb here at all", "No verb here at all"),
        ("Did they leave early?", "Didn't they leave early?"),
        ("Had she gone?", "Hadn't she gone?"),
        ("Does he know what is left to do?", "Doesn't he know what is left to do?"),
        ("Why did he leave?", "Why didn't he leave?"),
        ("Won't they come?", "Will they come?"),
        ("Don't go there.", "Do go there."),
        ("They never went back.", "They went back."),
        ("They have already begun.", "They have not already begun."),
        ("They have put up five poles.", "They have not put up five poles."),
        ("Trains did not run.", "Trains did run."),
        ("He wants to run.", "He does not want to run."),
    ],
)
def test_a_denied_sentence_says_the_opposite(before: str, after: str) -> None:
    assert denied(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The council voted on Monday.", "The council votes on Monday."),
        ("Engineers found cracks.", "Engineers find cracks."),
        ("They were heavier and did not burn.", "They are heavier and do not burn."),
        ("The robot takes the lift and waits.", "The robot took the lift and waited."),
        ("It will decide in May.", "It would decide in May."),
        ("They will have to go.", "They would have to go."),
        ("The town had restored it.", "The town has restored it."),
        ("They don't know him.", "They didn't know him."),
        ("He didn't eat the cake.", "He doesn't eat the cake."),
        ("I can’t go.", "I couldn't go."),
        ("She isn't coming because it wasn't open.", "She wasn't coming because it isn't open."),
        ("Did they leave early?", "Do they leave early?"),
        ("Had she gone?", "Has she gone?"),
        ("How long does it take?", "How long did it take?"),
        ("Won't they come?", "Wouldn't they come?"),
        ("Don't go there.", "Don't go there."),
        ("Forty families then bought shares in it and hired a baker.",
         "Forty families then buy shares in it and hire a baker."),
        ("He goes home and does nothing.", "He went home and did nothing."),
        ("What is left goes to the school.", "What was left went to the school."),
        ("The school was about to close.", "The school is about to close."),
        ("He wants to run.", "He wanted to run."),
        ("The association had also taught them.", "The association has also taught them."),
        ("He made them wait.", "He makes them wait."),
        ("Beekeepers in the hills lost fewer than in any year since records began.",
         "Beekeepers in the hills lose fewer than in any year since records begin."),
        ("Fallen trees blocked it.", "Fallen trees block it."),
        ("The picture shows the gas.", "The picture showed the gas."),
    ],
)  # fmt: skip
def test_tense(before: str, after: str) -> None:
    assert edit(before, "tense", seed=0) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The engineer closed two bridges.", "The engineers closed two bridge."),
        ("A child fed the geese.", "A children fed the goose."),
        ("He likes Paris and water.", "He likes Paris and water."),
        ("What is left goes to the school.", "What is left goes to the schools."),
        ("The bakery was about to close.", "The bakeries was about to close."),
        ("It sold more tickets than ever before.", "It sold more ticket than ever before."),
        ("Shop owners fear that they pay in advance.", "Shop owner fear that they pay in advance."),
        ("A company employs ninety people.", "A companies employs ninety person."),
        ("The rangers hope again.", "The ranger hope again."),
        ("A new radio telescope works.", "A new radio telescopes works."),
        ("She went home on foot in spring.", "She went home on foot in spring."),
    ],
)
def test_number_of_nouns(before: str, after: str) -> None:
    assert edit(before, "number of nouns", seed=0) == after


@pytest.mark.parametrize(
    ("form", "base"),
    [("restored", "restore"), ("planned", "plan"), ("visited", "visit"), ("carried", "carry"), ("saw", "see"),
     ("examined", "examine"), ("opened", "open"), ("noticed", "notice"), ("repaired", "repair")],
)  # fmt: skip
def test_bases_of_verbs(form: str, base: str) -> None:
    assert base_of(form) == (base, "past")


def test_wrong_names_and_shares_are_refused() -> None:
    with pytest.raises(WeakspotError, match="no edit is called") as told:
        edit("a", "mispell", seed=0)
    assert "misspell" in told.value.fix
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(WeakspotError, match="a share cannot be"):
            edit("a", "tense", seed=0, share=share)


def test_hostile_text_is_only_text() -> None:
    wild = "\x00<script>\u202e a" + "a" * 50_000 + " ' ’ '' \ud83d\ude00 $& \\1 {text}"
    for name in EDITS:
        assert isinstance(edit(wild, name, seed=1), str)
