"""New pairs by edits: of their category, new, grammatical as far as can be checked, and repeatable."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from weakspot.core import WeakspotError
from weakspot.text.contrast import contrasts, variants
from weakspot.text.differences import Category, categorise

EDITABLE = [c for c in Category if c is not Category.OTHER]
CAPTIONS = [
    "A brown dog chases a cat on the beach.",
    "Two men standing next to a red car.",
    "A woman is holding an orange umbrella in front of a shop",
    "a young boy throwing a ball with a glove.",
    "A black horse and a white sheep in a field at night.",
    "The girl sits on the left side of a bench.",
]


def key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


@pytest.fixture(scope="module")
def coco(data: Path) -> list[str]:
    return (data / "data/captions/coco-val2017.txt").read_text("utf-8").splitlines()[:4000]


@pytest.mark.parametrize("category", EDITABLE)
def test_pairs_of_every_category_from_real_captions(category: Category, coco: list[str]) -> None:
    pairs = contrasts(coco, category=category, n=60, seed=3)
    corpus = {key(caption) for caption in coco}
    assert len(pairs) == 60
    assert len({key(p.first) for p in pairs}) == len({key(p.second) for p in pairs}) == 60
    for pair in pairs:
        assert categorise(pair.first, pair.second).category is category
        assert key(pair.first) in corpus
        assert key(pair.second) not in corpus
        assert "_" not in pair.second
        assert pair.second[:1].isupper() == pair.first[:1].isupper()
        assert not re.search(r"\b(a [aeio][a-z]|an [bcdfgjklmnpqrstvwxz])", pair.second.lower()) or re.search(
            r"\b(a [aeio][a-z]|an [bcdfgjklmnpqrstvwxz])", pair.first.lower()
        )
        assert difflib.SequenceMatcher(None, pair.first, pair.second).ratio() > 0.4


def test_the_same_seed_gives_the_same_pairs() -> None:
    once = contrasts(CAPTIONS, category=Category.ATTRIBUTE, n=5, seed=1)
    assert once == contrasts(reversed(CAPTIONS), category=Category.ATTRIBUTE, n=5, seed=1)


def test_seeds_differ(coco: list[str]) -> None:
    one, two = ({p.first for p in contrasts(coco, category=Category.NUMBER, n=30, seed=s)} for s in (1, 2))
    assert len(one & two) < 15


def test_no_change_of_words_fills_the_list(coco: list[str]) -> None:
    pairs = contrasts(coco, category=Category.GENDER, n=50, seed=0)
    changes = [f"{p.before} {p.after}".casefold() for p in pairs]
    assert max(map(changes.count, changes)) <= 25
    assert len(set(changes)) >= 8


@pytest.mark.parametrize(
    ("category", "caption", "edited"),
    [
        (Category.ROLE, "A dog chases a cat.", "A cat chases a dog."),
        (Category.ROLE, "An old man carrying the child", "The child carrying an old man"),
        (Category.SPATIAL, "A cup to the left of a book.", "A cup to the right of a book."),
        (Category.NUMBER, "A man holding an apple.", "A man holding two apples."),
        (Category.NUMBER, "Two knives on a table.", "Three knives on a table."),
        (Category.ATTRIBUTE, "A red car and a blue bus.", "A blue car and a red bus."),
        (Category.ATTRIBUTE, "A young man on a bench.", "An old man on a bench."),
        (Category.NEGATION, "A man is riding a horse.", "A man is not riding a horse."),
        (Category.NEGATION, "A man riding a horse", "A man not riding a horse"),
        (Category.ACTION, "A girl opens a box.", "A girl closes a box."),
        (Category.ACTION, "A street at night.", "A street at day."),
        (Category.PRESENCE, "Here is a man with a hat.", "Here is a man."),
        (Category.SUBJECT, "Two dogs on the grass.", "Two cats on the grass."),
        (Category.GENDER, "A man and his dog.", "A woman and her dog."),
        (Category.GENDER, "Two women see her.", "Two men see him."),
    ],
)
def test_an_edit_does_what_it_says(category: Category, caption: str, edited: str) -> None:
    assert edited in [c.second for c in variants(caption, category=category)]


@pytest.mark.parametrize("category", EDITABLE)
@pytest.mark.parametrize(
    "captions", [[], [""], ["x" * 10_000_000], ["\x00\x1b"], ["狗追猫"], ["hello"], ["a_b' c’s"]]
)
def test_captions_that_cannot_be_edited_give_nothing(category: Category, captions: list[str]) -> None:
    assert all(p.first in captions for p in contrasts(captions, category=category, n=3))


def test_other_is_no_edit() -> None:
    with pytest.raises(WeakspotError, match="other"):
        contrasts(CAPTIONS, category=Category.OTHER, n=3)
