"""What is said of the rows of a table: which concepts there are, of which rows, and how they are phrased."""

import pickle
from datetime import datetime, timedelta

import numpy as np
import pytest

from weakspot.concepts.columns import Concept, concepts_of, free_columns, holds, texts_of
from weakspot.concepts.words import lemma_of, words_in
from weakspot.core import WeakspotError
from weakspot.records import Column, Judged, Kind, Records, Roles
from weakspot.text.wordnet import Sense, WordNet

N = 60
CAPTIONS = ["a dog runs on the beach", "two cats sleep in the snow", "a red car parks near the beach"]


def column(name, values, kind=Kind.TEXT):
    if kind is Kind.TEXT:
        return Column(name, kind, np.fromiter(values, object, len(values)))
    if kind is Kind.LIST:
        return Column(
            name, kind, np.fromiter((None if v is None else tuple(v) for v in values), object, len(values))
        )
    types = {Kind.DATE: "datetime64[s]", Kind.VECTOR: "float32"}
    return Column(name, kind, np.array(values, types.get(kind, "float64")))


def table(*columns, used=(), **roles):
    n = len(columns[0].values)
    records = Records("a table", "list", {one.name: one for one in columns}, np.arange(1, n + 1))
    return Judged(
        records,
        Roles(**roles),
        np.zeros(n, bool),
        "",
        [None] * n,
        [None] * n,
        np.full(n, np.nan),
        frozenset(used),
    )


def found(judged, **options):
    """Phrase → rows."""
    concepts = concepts_of(judged, **options)
    return {c.phrase: concepts.rows[:, i].indices.tolist() for i, c in enumerate(concepts.concepts)}


def phrases(*columns, **options):
    return list(found(table(*columns), **options))


# -- words ------------------------------------------------------------------------------------------


def test_words_of_texts_are_concepts_in_all_their_forms():
    texts = ["a dog runs", "two dogs sleep", "the dog's bowl", "a cat sleeps", "nothing here"] * 6
    said = found(table(column("caption", texts), text=("caption",)))
    assert said["“dog”"] == [i for i in range(30) if i % 5 < 3]
    assert said["“sleep”"] == [i for i in range(30) if i % 5 in (1, 3)]
    assert "“a”" not in said
    assert "“the”" not in said


def test_words_that_always_stand_side_by_side_are_said_together():
    texts = ["a fire hydrant today", "a plain street today", "a man there"] * 10
    said = found(table(column("caption", texts), text=("caption",)))
    assert said["“fire hydrant”"] == list(range(0, 30, 3))
    assert not {"“fire”", "“hydrant”"} & set(said)


def test_words_of_other_languages_are_whole():
    texts = ["ein großer Hund am Café läuft", "une fenêtre ouverte près d'ici", "собака бежит по пляжу"] * 6
    said = found(table(column("text", texts), text=("text",)))
    assert any("großer" in phrase for phrase in said)
    assert any("fenêtre" in phrase for phrase in said)
    assert any("собака" in phrase for phrase in said)


@pytest.mark.parametrize(
    ("word", "known", "plainest"),
    [
        ("dogs", (), "dog"),
        ("children", (), "child"),
        ("dog's", (), "dog"),
        ("surfing", ("surf",), "surf"),
        ("glued", ("glue",), "glue"),
        ("hopping", ("hop",), "hop"),
        ("ceiling", (), "ceiling"),
        ("glass", (), "glass"),
        ("ran", (), "run"),
        ("xyzzing", (), "xyzzing"),
    ],
)
def test_lemmas(word, known, plainest):
    assert lemma_of(word, known) == plainest


def test_words_keep_hyphens_and_numbers_and_cut_off_what_is_too_long():
    assert {"t-shirt", "close-up", "3"} <= set(words_in("A T-shirt, close‑up of 3 cats"))
    assert "more" not in words_in("dog " * 5_000 + "more")


def test_which_columns_are_free_text():
    captions = [f"a dog number {i} runs there" for i in range(N)]
    prompt = ["what is in this picture ?"] * N  # one template is a category
    judged = table(
        column("note", captions), column("prompt", prompt), column("light", ["day", "night"] * (N // 2))
    )
    assert free_columns(judged) == ["note"]
    assert free_columns(table(column("light", ["day"] * N), text=("light",))) == ["light"]
    assert free_columns(judged, ignored=("note",)) == []
    assert texts_of(judged.records, ["note", "light"])[0] == "a dog number 0 runs there day"


def test_the_order_of_concepts_is_that_of_the_rows():
    """A set of words has another order in every session; a run is to be the same again."""
    texts = [f"the {a} and the {b}" for a in "abcdefgh" for b in ("one", "two", "three", "four", "five")]
    said = list(found(table(column("caption", texts), text=("caption",))))
    assert said == [f"“{word}”" for word in ("one", "two", "three", "four", "five", *"bcdefgh")]


# -- wider nouns ------------------------------------------------------------------------------------


PHYSICAL = ("object", "physical entity")
#: Of each meaning of a word: what it is a kind of, the nearest first.
KINDS: dict[str, list[tuple[str, ...]]] = {
    "spaniel": [("dog", "canine", "animal", *PHYSICAL)],
    "poodle": [("dog", "canine", "animal", *PHYSICAL)],
    "boxer": [("fighter", "person", *PHYSICAL), ("dog", "canine", "animal", *PHYSICAL)],
    "dog": [("canine", "animal", *PHYSICAL)],
    "cat": [("feline", "animal", *PHYSICAL)],
    "jersey": [("American state", "animal", *PHYSICAL)],
    "joy": [("emotion", "state")],
    "fear": [("emotion", "state")],
    "climb": [("slope", "animal", *PHYSICAL)],
}


class Nouns:
    """A WordNet of a few words."""

    def senses(self, word):
        names = KINDS.get(word.lower(), ())
        return [
            Sense(f"{word}.{i}", ("Jersey" if word == "jersey" else word,), "", ())
            for i, _ in enumerate(names)
        ]

    def sense_of_id(self, id):
        return Sense("poodle.0", ("poodle",), "", ())

    def above(self, sense):
        word, number = sense.id.rsplit(".", 1)
        for depth, name in enumerate(KINDS[word.lower()][int(number)], 1):
            yield Sense(name, (name,), "", ()), depth


def test_wider_nouns_cover_several_words():
    texts = ["a spaniel sits there", "a poodle stands there", "a cat sleeps there", "nobody is there"] * 8
    said = found(table(column("caption", texts), text=("caption",)), wordnet=Nouns())
    assert said["any dog"] == [i for i in range(32) if i % 4 < 2]
    assert said["any animal"] == [i for i in range(32) if i % 4 < 3]
    assert "any canine" not in said  # of the same rows as dog, which is shorter
    assert not {"any object", "any physical entity"} & set(said)


def test_feelings_and_names_and_verbs_give_no_wider_nouns():
    texts = [
        "joy is there today",
        "fear is there today",
        "a jersey hangs there",
        "she climbs up there",
        "a cat naps",
    ] * 8
    said = found(table(column("caption", texts), text=("caption",)), wordnet=Nouns())
    assert not [phrase for phrase in said if phrase.startswith("any ")]


def test_labels_are_kinds_of_things_too():
    labels = ["spaniel", "poodle", "cat", "truck", "boxer", "n02113335"] * 6
    judged = table(column("label", labels), column("answer", labels), label="label", used=("label", "answer"))
    said = found(judged, wordnet=Nouns())
    # A boxer may be a fighter; among dogs it is a dog. An id of WordNet says what it is.
    assert said["label is any kind of dog"] == [i for i in range(36) if i % 6 in (0, 1, 4, 5)]
    assert said["label is any kind of animal"] == [i for i in range(36) if i % 6 != 3]
    assert said["label is truck"] == list(range(3, 36, 6))
    assert not [phrase for phrase in said if phrase.startswith("answer")]


def test_real_wordnet_gives_no_silly_nouns():
    try:
        wordnet = WordNet.find()
    except WeakspotError:
        pytest.skip("WordNet is not on this machine")
    texts = [
        "a photo of a dog",
        "a drawing of a cat",
        "a horse climbs a hill",
        "a bikini on the sand",
        "low clouds",
    ] * 8
    said = [
        c
        for c in found(table(column("caption", texts), text=("caption",)), wordnet=wordnet)
        if c[:3] == "any"
    ]
    assert "any animal" in said
    assert not {"any representation", "any vertebrate", "any placental", "any natural elevation"} & set(said)


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
        ("blurred", "blurred", "not blurred"),
        ("is_blurred", "is blurred", "is not blurred"),
        ("was_cut", "was cut", "was not cut"),
        ("has_text", "has text", "has no text"),
        ("contains text", "contains text", "contains no text"),
        ("multiple_objects", "multiple objects", "not multiple objects"),
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


def vectors(n=1_200, seed=0):
    """Points about eight directions, and the number of each one's direction."""
    rng = np.random.default_rng(seed)
    which = rng.integers(8, size=n)
    return (np.eye(16)[which] * 5 + rng.normal(size=(n, 16)) * 0.4).astype(np.float32), which


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


def agree(judged, **options):
    """Whether `holds` marks the rows that `concepts_of` did, of every concept, whole and in parts."""
    concepts = concepts_of(judged, **options)
    records = judged.records
    texts = texts_of(records, free_columns(judged))
    assert len({c.name for c in concepts.concepts}) == len(concepts.concepts)
    half = np.arange(len(records)) % 2 == 0
    for i, concept in enumerate(concepts.concepts):
        marked = np.zeros(len(records), bool)
        marked[concepts.rows[:, i].indices] = True
        np.testing.assert_array_equal(holds(concept, records, texts), marked, err_msg=concept.name)
        some = records.rows(np.flatnonzero(half))
        there = [text for text, kept in zip(texts, half, strict=False) if kept]
        np.testing.assert_array_equal(holds(concept, some, there), marked[half], err_msg=concept.name)
    return concepts


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
