"""Conditions as people and language models write them, read as concepts that rows can be asked for."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.concepts.columns import concepts_of, holds
from weakspot.concepts.conditions import Conditions, columns_in_words, rows_in_words
from weakspot.records.verdicts import read_judged

ROWS = [
    {
        "label": "cat",
        "prediction": "cat" if i % 3 else "dog",
        "weather_now": ("rain", "sun", "heavy rain and wind")[i % 3],
        "distance": i / 10,
        "indoors": i % 2,
        "score": i / 200,
        "caption": f"a {['dog', 'cat'][i % 7 > 3]} {['runs', 'sits'][i % 11 > 4]} in the "
        f"{['snow', 'grass'][i % 5 > 2]}",
    }
    for i in range(200)
]
JUDGED = read_judged(ROWS)
CONCEPTS = concepts_of(JUDGED)
READER = Conditions(CONCEPTS.concepts, JUDGED.records, silent=("score", "prediction"))


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("weather now is rain", ["weather now is rain"]),
        ("weather_now is rain", ["weather now is rain"]),
        ("Weather now = Rain.", ["weather now is rain"]),
        ("if the weather now is heavy rain and wind", ["weather now is heavy rain and wind"]),
        ("“snow”", ["“snow”"]),
        ("says snow", ["“snow”"]),
        ("the text mentions dogs that run in the snow", ["“dog”", "“run”", "“snow”"]),
        ("weather_now is rain and the caption says snow", ["weather now is rain", "“snow”"]),
        ("indoors is yes", ["indoors is yes"]),
        ("indoors", ["indoors is yes"]),
        ("distance is below 2.55", ["distance is below 2.55"]),
        ("distance < 2.55; distance is at least 1", ["distance is below 2.55", "distance is 1 or more"]),
        ("distance > 2.55", ["distance is 2.6 or more"]),
        ("distance is 2.5 or less", ["distance is below 2.6"]),
        # what cannot be looked up
        ("weather_now is hail", []),
        ("weather_now is rain and it is a full moon", []),
        ("distance is below the horizon", []),
        ("distance is below 1e999", []),
        ("distance is above 1000", []),
        ("score is below 0.5", []),
        ("says unicorn", []),
        ("says dog and cat and snow and grass", []),
        ("the", []),
        ("", []),
        ("{0} %s \\ [", []),
        ("and " * 1000, []),
    ],
)
def test_a_condition_is_read_or_dropped(text: str, phrases: list[str]) -> None:
    assert [one.phrase for one in READER.read(text, most=3)] == phrases


def test_what_is_read_says_which_rows_it_is_of() -> None:
    (one,) = READER.read("distance > 2.55", most=1)
    found = np.ravel(holds([one], JUDGED.records, ()))
    assert np.array_equal(found, [i / 10 > 2.55 for i in range(200)])


def test_columns_and_rows_are_told_in_a_line_each() -> None:
    told = columns_in_words(CONCEPTS.concepts, JUDGED.records)
    assert '"weather_now" ("rain", "sun", "heavy rain and wind")' in told
    assert '"distance" (0 to 19.9)' in told
    assert "prediction" not in told
    assert "score" not in told
    (row,) = rows_in_words(CONCEPTS, ["a dog\nruns"] * 200, [1], JUDGED.records)
    assert "weather now is sun" in row
    assert "distance is 0.1" in row
    assert row.endswith("text: a dog runs")
    assert "prediction" not in row
