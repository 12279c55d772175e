"""What is said of the rows of a table: which concepts there are, of which rows, and how they are phrased."""

import json
import pickle
from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.concepts.table_parts import Nouns, agree, column, found, phrases, table, vectors

import weakspot
from weakspot.concepts.columns import Concept, concepts_of
from weakspot.records import Column, Judged, Kind
from weakspot.studies.table.result import TableResult

CAPTIONS = ["a dog runs on the beach", "two cats sleep in the snow", "a red car parks near the beach"]


# -- values -----------------------------------------------------------------------------------------


def test_categories_and_missing_values():
    said = found(table(column("time_of_day", ["rain", None, "missing", "fog"] * 10)))
    assert said["time of day is rain"] == list(range(0, 40, 4))
    assert said["time of day is missing"] == list(range(1, 40, 4))  # not the value that is called so
    assert said["time of day is “missing”"] == list(range(2, 40, 4))
    assert len(said) == 4


def test_rare_and_ubiquitous_values_are_no_concepts():
    values = ["usual"] * 99 + ["rare"]
    assert phrases(column("kind", values)) == []
    assert phrases(column("kind", ["a"] * 40 + ["b"] * 4), least=4) == ["kind is a", "kind is b"]


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("blurred", "blurred is yes", "blurred is no"),
        ("is_blurred", "is blurred", "is not blurred"),
        ("was_cut", "was cut", "was not cut"),
        ("has_text", "has text", "has no text"),
        ("contains text", "contains text", "contains no text"),
        ("multiple_objects", "multiple objects is yes", "multiple objects is no"),
    ],
)
@pytest.mark.parametrize("kind", [Kind.FLAG, Kind.NUMBER])
def test_flags(name, yes, no, kind):
    values = [1.0, 0.0, np.nan] * 10
    said = found(table(column(name, values, kind)))
    missing = f"{name.replace('_', ' ')} is missing"
    assert said == {yes: list(range(0, 30, 3)), no: list(range(1, 30, 3)), missing: list(range(2, 30, 3))}


def test_yes_and_no_as_words_are_values():
    said = phrases(column("label", ["yes", "no"] * 10))
    assert said == ["label is yes", "label is no"]


def test_few_numbers_are_values_and_ranges():
    said = found(table(column("count", [1.0, 2.0, 3.0] * 10, Kind.NUMBER)))
    assert said["count is 2"] == list(range(1, 30, 3))
    assert said["count is 3"] == list(range(2, 30, 3))
    assert said["count is 2 or more"] == [i for i in range(30) if i % 3]
    assert said["count is below 3"] == [i for i in range(30) if i % 3 < 2]
    assert "count is 3 or more" not in said  # the same rows as "is 3"


def test_many_numbers_are_cut_at_round_bounds():
    rng = np.random.default_rng(0)
    values = rng.random(1_000) * 0.9873
    said = found(table(column("distance", values, Kind.NUMBER)))
    assert not any("distance is 0" in phrase and "more" not in phrase for phrase in said)
    bounds = {phrase.split(" ")[3] for phrase in said if "below" in phrase}
    assert len(bounds) >= 7
    assert all(len(bound) <= 5 for bound in bounds)
    for phrase, rows in said.items():
        if "below" in phrase:
            assert rows == np.flatnonzero(values < float(phrase.split(" ")[3])).tolist()


def test_numbers_that_float32_made_long_are_said_shortly():
    values = [float(np.float32(one)) for one in (0.1, 0.3, 0.7)] * 10
    said = phrases(column("size", values, Kind.NUMBER))
    assert "size is 0.3 or more" in said
    assert "size is below 0.3" not in said  # the same rows as "size is 0.1…"


@pytest.mark.parametrize(
    "values",
    [
        [np.inf, -np.inf, np.nan, 1.0] * 20,
        [1e308 * (i % 20 - 10) / 10 for i in range(80)],
        [np.nan] * 80,
        [np.inf] * 80,
        [1e-300 * i for i in range(80)],
        [0.1 + 1e-16 * i for i in range(80)],
    ],
)
def test_hostile_numbers_do_no_harm(values):
    agree(table(column("x", values, Kind.NUMBER), column("other", ["a", "b"] * 40)))


def test_labels_that_are_whole_numbers_are_named_one_by_one():
    values = [float(i % 20) for i in range(400)]
    said = phrases(column("label", values, Kind.NUMBER))
    assert "label is 7" not in said
    judged = table(column("label", values, Kind.NUMBER), label="label")
    assert found(judged)["label is 7"] == list(range(7, 400, 20))


def test_dates():
    first = datetime(2024, 2, 26, 12)  # a Monday
    days = [first + timedelta(days=i % 40, hours=10 if i % 3 == 0 else 0) for i in range(400)]
    said = found(table(column("taken_at", [*days[:-5], *[None] * 5], Kind.DATE)))
    known = days[:-5]
    assert said["taken at is on a Sunday"] == [i for i, day in enumerate(known) if day.weekday() == 6]
    assert said["taken at is in March 2024"] == [i for i, day in enumerate(known) if day.month == 3]
    assert said["taken at is at night"] == [i for i, day in enumerate(known) if day.hour >= 21]
    assert said["taken at is in the daytime"] == [i for i, day in enumerate(known) if day.hour < 21]
    assert said["taken at is missing"] == list(range(395, 400))
    assert not any("in 2024" in phrase and "March" not in phrase for phrase in said if "is in 2024" in phrase)
    cut = next(phrase for phrase in said if "or later" in phrase)
    bound = datetime.fromisoformat(cut.split(" ")[3])
    assert said[cut] == [i for i, day in enumerate(known) if day >= bound]
    assert f"taken at is before {cut.split(' ')[3]}" in said


def test_dates_far_away_and_days_without_times():
    values = np.array(["-2000-01-01", "9999-12-31", "20000-06-01", "1969-12-31"] * 10, "datetime64[s]")
    judged = table(Column("when", Kind.DATE, values))
    said = found(judged)
    assert said["when is in 1969"] == list(range(3, 40, 4))
    assert said["when is in 20000"] == list(range(2, 40, 4))
    agree(judged)
    assert not any("night" in phrase for phrase in said)  # no date has a time: all are alike


def test_lists():
    said = found(table(column("objects", [["dog", "dog", "cat"], ["cat"], [], None] * 10, Kind.LIST)))
    assert said["objects include dog"] == list(range(0, 40, 4))
    assert said["objects include cat"] == [i for i in range(40) if i % 4 < 2]
    assert said["objects is missing"] == list(range(3, 40, 4))
    assert "scene type includes dog" in phrases(column("scene_type", [["dog"], []] * 10, Kind.LIST))


def test_what_pictures_show():
    judged = table(column("picture", [["a dog"], ["a dog", "snow"], [], None] * 10, Kind.LIST))
    said = found(judged, shown="picture")
    assert said["shows a dog"] == [i for i in range(40) if i % 4 < 2]
    assert said["shows snow"] == list(range(1, 40, 4))


# -- vectors ----------------------------------------------------------------------------------------


def test_groups_of_vectors_are_described_by_what_is_common_in_them():
    points, which = vectors()
    places = [
        "beach sand",
        "snow ski",
        "forest tree",
        "city street",
        "kitchen pan",
        "sky plane",
        "sea boat",
        "desert",
    ]
    texts = [f"a picture of {places[i]}" for i in which]
    judged = table(column("caption", texts), column("embedding", points, Kind.VECTOR), text=("caption",))
    concepts = concepts_of(judged).concepts
    words = {c.phrase for c in concepts if c.test == "mentions"}
    assert any("beach" in phrase for phrase in words)
    # Eight groups are the eight words, and words win; the finer ones are parts of these.
    groups = [c for c in concepts if c.test == "group"]
    assert groups
    assert all(c.phrase.startswith("embedding group: ") for c in groups)
    assert all(c.dear == 2.0 for c in groups)


def test_groups_that_nothing_describes_have_numbers_and_groups_do_not_look_at_failures():
    points, which = vectors()
    judged = table(column("embedding", points, Kind.VECTOR))
    said = found(judged)
    by_rows = {tuple(rows): phrase for phrase, rows in said.items()}
    for i in range(8):
        assert by_rows[tuple(np.flatnonzero(which == i))].startswith("embedding group ")
    failing = Judged(**{**vars(judged), "failed": which == 3})
    assert found(failing) == said


def test_vectors_that_are_missing_or_all_the_same_lie_in_no_group_or_one():
    points, _ = vectors()
    points[:100] = np.nan
    points[100:110] = 0
    judged = table(column("embedding", points, Kind.VECTOR), column("other", ["a", "b"] * 600))
    groups = {p: rows for p, rows in found(judged).items() if "group" in p}
    assert len(groups) > 8
    assert all(min(rows) >= 110 for rows in groups.values())
    agree(judged)
    same = table(column("embedding", np.ones((400, 8)), Kind.VECTOR))
    assert not found(same)
    assert not found(table(column("embedding", points[:150], Kind.VECTOR)))


# -- which columns are left alone ---------------------------------------------------------------------


def test_columns_with_other_roles_are_not_said():
    text = ["a", "b"] * 10
    columns = [column(name, text) for name in ("id", "image", "patient", "prediction", "secret", "weather")]
    judged = table(*columns, id="id", image="image", group="patient", used=("prediction",))
    assert list(found(judged, ignored=("secret",))) == ["weather is a", "weather is b"]


# -- everything together ----------------------------------------------------------------------------


def test_holds_agrees_with_every_concept():
    rng = np.random.default_rng(1)
    n = 1_200
    points, which = vectors(n)

    def some(values, kind=Kind.TEXT, lost=None):
        return [lost if rng.random() < 0.1 else values[rng.integers(len(values))] for _ in range(n)]

    hours = [datetime(2023, 1, 1) + timedelta(hours=int(h)) for h in rng.integers(0, 12_000, n)]
    judged = table(
        column("label", some(["spaniel", "poodle", "cat", "truck"])),
        column("caption", [f"{CAPTIONS[i % 3]} number {i}" for i in which]),
        column("light", some(["day", "night", "missing", "yes", "no"])),
        column("blurred", some([0.0, 1.0], lost=np.nan), Kind.FLAG),
        column("two", some([0.0, 1.0], lost=np.nan), Kind.NUMBER),
        column("few", some([0.0, 1.0, 1 / 3, 0.1 + 0.2], lost=np.nan), Kind.NUMBER),
        column("many", rng.normal(size=n), Kind.NUMBER),
        column("taken", [*hours[:-20], *[None] * 20], Kind.DATE),
        column(
            "objects", [None if i % 7 == 0 else ["dog", "cat", "tree"][: i % 4] for i in range(n)], Kind.LIST
        ),
        column("picture", [["a dog"] if i % 3 else [] for i in range(n)], Kind.LIST),
        column("embedding", points, Kind.VECTOR),
        label="label",
        text=("caption",),
    )
    concepts = agree(judged, wordnet=Nouns(), shown="picture")
    tests = {c.test for c in concepts.concepts}
    assert tests == {
        "mentions", "is", "kind", "flag", "missing", "from", "below", "lists", "shows", "group",
        "since", "before", "year", "month", "weekday", "time",
    }  # fmt: skip
    assert pickle.loads(pickle.dumps(concepts.concepts)) == concepts.concepts


def test_hostile_texts_are_said_on_one_short_line():
    evil = "\x1b[31m</script>\n\u202e" + "w" * 500
    names = column("na\nme\x07", [evil, "plain", "=1+1", "__import__('os').system('x')"] * 10)
    words = column("caption", [f"{evil} {i} <b>bold</b> {{x}} %s \ud800" for i in range(40)])
    judged = table(names, words, text=("caption",))
    concepts = agree(judged)
    assert len(concepts.concepts) >= 4
    for concept in concepts.concepts:
        assert concept.phrase.isprintable()
        assert len(concept.phrase) < 200


def test_a_table_of_nothing_has_no_concepts():
    assert concepts_of(table(column("x", [None] * 10))).concepts == ()
    assert concepts_of(table(column("x", []))).rows.shape == (0, 0)


def test_plain_concepts_cost_less_than_others():
    assert Concept("", "mentions", "dog").dear == 0
    assert Concept("", "mentions", "animal", wider=True).dear == Concept("e", "group", "x").dear == 2
    assert Concept("blurred", "flag", "no").dear == 1


@pytest.mark.parametrize("at_once", [10_000, 1_000])
def test_a_group_of_vectors_is_a_weak_spot_of_a_table_of_any_size(tmp_path, at_once):
    """A table of more rows than `at_once` is read piece by piece; the groups are those of its sample."""
    points, which = vectors(3_000)
    rng = np.random.default_rng(2)
    rows = [
        {
            "embedding": [round(float(x), 4) for x in point],
            "place": ["beach", "snow", "forest", "city", "kitchen", "sky", "sea", "desert"][i],
            "label": "a",
            "prediction": "b" if rng.random() < (0.7 if i == 3 else 0.05) else "a",
        }
        for point, i in zip(points, which.tolist(), strict=True)
    ]
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    run = weakspot.hunt(file, ignore=["place"], at_once=at_once, sample=1_500, out=tmp_path / "run")
    result = TableResult.of(run)
    assert result is not None
    [spot] = result.spots
    assert spot.says[0].startswith("embedding group ")
    assert spot.rate.value > 0.6
    assert spot.elsewhere.value < 0.1
