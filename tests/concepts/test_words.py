"""Words of texts as concepts of rows, and the wider nouns of words and labels."""

import pytest
from tests.concepts.table_parts import Nouns, column, found, table

from weakspot.concepts.columns import free_columns, texts_of
from weakspot.concepts.words import in_order, lemma_of
from weakspot.core import WeakspotError
from weakspot.text.wordnet import WordNet

N = 60

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
    assert {"t-shirt", "close-up", "3"} <= set(in_order("A T-shirt, close‑up of 3 cats"))
    assert "more" not in in_order("dog " * 5_000 + "more")


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
