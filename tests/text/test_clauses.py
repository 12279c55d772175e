from __future__ import annotations

import pytest

from weakspot.text.clauses import clause, legible, title, when


@pytest.mark.parametrize(
    ("phrase", "said"),
    [
        ("it is on a flower.", "it is on a flower"),
        (
            "it is small. it is at the bottom. it is behind grass.",
            "it is small, at the bottom and behind grass",
        ),
        ("it is not red. it is behind bars.", "it is not red and behind bars"),
        ("it is behind grass. it is dusk. it is small.", "it is behind grass and small, and it is dusk"),
        ("it is dusk.", "it is dusk"),
        ("it is small. the background is a street.", "it is small and the background is a street"),
        ("there are two of them. it faces left.", "there are two of them and it faces left"),
        ("a cup is to the right of it.", "a cup is to the right of it"),
        ("", ""),
        ("two men on a bench.", ""),
        ("the man in the red shirt.", ""),
    ],
)
def test_sentences_become_a_clause(phrase: str, said: str) -> None:
    assert clause(phrase) == said


def test_own_words_are_quoted() -> None:
    assert title("two men on a bench.") == "“two men on a bench”"
    assert title("“snow” and “dog”") == "“snow” and “dog”"
    assert when("two men on a bench.") == "given “two men on a bench”"
    assert when("it is small.", also=True) == "when it is small as well"


def test_the_name_of_a_row_is_one_clause_or_what_it_was() -> None:
    assert legible("it is small. it is behind grass.") == "it is small and behind grass"
    assert legible("it is small. it is behind grass. → bee") == "it is small and behind grass → bee"
    assert legible("set=benign") == "set=benign"
    assert legible("two men. on a bench.") == "two men. on a bench."
