"""New pairs by edits: of their category, new, grammatical as far as can be checked, and repeatable."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from weakspot.text.changes import key
from weakspot.text.contrast import variants
from weakspot.text.differences import Category, categorise

EDITABLE = [c for c in Category if c is not Category.OTHER]


@pytest.fixture(scope="module")
def coco(data: Path) -> list[str]:
    return (data / "data/captions/coco-val2017.txt").read_text("utf-8").splitlines()[:4000]


@pytest.mark.parametrize("category", EDITABLE)
def test_edits_of_every_category_on_real_captions(category: Category, coco: list[str]) -> None:
    plain = [" ".join(caption.split()) for caption in coco[:1000]]
    changes = [(caption, change) for caption in plain for change in variants(caption, category=category)]
    assert len({caption for caption, _ in changes}) >= 20
    article = re.compile(r"\b(a [aeio][a-z]|an [bcdfgjklmnpqrstvwxz])")
    for caption, change in changes:
        assert categorise(caption, change.text).category is category
        assert key(change.text) != key(caption)
        assert "_" not in change.text
        assert change.text[:1].isupper() == caption[:1].isupper()
        assert not article.search(change.text.lower()) or article.search(caption.lower())
        assert difflib.SequenceMatcher(None, caption, change.text).ratio() > 0.3


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
    assert edited in [c.text for c in variants(caption, category=category)]


@pytest.mark.parametrize("category", EDITABLE)
@pytest.mark.parametrize("caption", ["", "x" * 10_000_000, "\x00\x1b", "a_b' c’s"])
def test_captions_that_cannot_be_edited_give_nothing(category: Category, caption: str) -> None:
    assert variants(caption, category=category) == []


def test_other_is_no_edit() -> None:
    assert variants("A brown dog chases a cat on the beach.", category=Category.OTHER) == []
