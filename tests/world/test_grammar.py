from __future__ import annotations

from random import Random
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.texts import vocabulary

from weakspot.core.errors import WeakspotError
from weakspot.world import grammar, lexicon, nature
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, COMPANIONS, DEFAULTS, SUBJECTS, Scene, SceneSet


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    chosen = {name: draw(st.sampled_from(values)) for name, values in ATTRIBUTES.items()}
    if chosen["on"] in COLORED_SUPPORTS:
        chosen["on_color"] = draw(st.sampled_from(ATTRIBUTES["on_color"][1:]))
    else:
        chosen["on_color"] = "none"
    if chosen["companion"] == "nothing":
        chosen["companion_at"] = "none"
    else:
        chosen["companion_at"] = draw(st.sampled_from(ATTRIBUTES["companion_at"][1:]))
    return Scene(**chosen)


@st.composite
def scene_sets(draw: st.DrawFn) -> SceneSet:
    """Any possible set: per attribute one value, all but one, or any number of them."""
    allowed = {}
    for name in draw(st.sets(st.sampled_from(list(ATTRIBUTES)))):
        values = ATTRIBUTES[name]
        one = draw(st.sampled_from(values))
        some = draw(st.sets(st.sampled_from(values), min_size=1))
        allowed[name] = draw(st.sampled_from([{one}, set(values) - {one}, some]))
    for parent, child in (("on", "on_color"), ("companion", "companion_at")):
        bears = set(COLORED_SUPPORTS if parent == "on" else COMPANIONS)
        left, details = (
            allowed.get(parent, set(ATTRIBUTES[parent])),
            allowed.get(child, {"none", "left", "red"}),
        )
        if not ((left & bears and details - {"none"}) or (left - bears and "none" in details)):
            del allowed[child]
    return SceneSet.of(allowed)


@given(scenes())
@settings(max_examples=250, deadline=None)
def test_what_is_described_is_understood(scene: Scene) -> None:
    assert grammar.complete(grammar.parse(grammar.describe(scene))) == scene


@given(scenes())
@settings(max_examples=100, deadline=None)
def test_every_sentence_alone_holds_of_its_scene(scene: Scene) -> None:
    for sentence in grammar.sentences(scene):
        assert grammar.parse(sentence).matches(scene), sentence
    known = set(vocabulary())
    words = grammar.describe(scene).replace("(", "").replace(")", "").replace(".", "").split()
    assert set(words) <= known


@given(scene_sets())
@settings(max_examples=200, deadline=None)
def test_a_set_is_said_and_understood(scene_set: SceneSet) -> None:
    assert grammar.parse(grammar.phrase(scene_set)) == scene_set


@given(scene_sets())
@settings(max_examples=100, deadline=None)
def test_complete_gives_a_scene_of_the_set(scene_set: SceneSet) -> None:
    fixed = scene_set & SceneSet.of({"subject": [scene_set["subject"][0]]})
    assert fixed.matches(grammar.complete(fixed))


@pytest.mark.parametrize("attribute", list(ATTRIBUTES))
def test_say_covers_every_value_and_its_denial(attribute: str) -> None:
    for value in ATTRIBUTES[attribute]:
        assert grammar.parse(grammar.say(attribute, value)) == SceneSet.of({attribute: [value]})
        others = SceneSet.of({attribute: set(ATTRIBUTES[attribute]) - {value}})
        assert grammar.parse(grammar.phrase(others)) == others


def test_natural_scenes_read_well() -> None:
    scene = Scene(
        subject="fly", on="flower", on_color="yellow", behind="net", background="green", weather="rain"
    )
    assert grammar.describe(scene) == (
        "a realistic photograph of a fly (insect). it is on a yellow flower. it is behind a net. "
        "the background is green. it is raining."
    )
    assert (
        grammar.describe(Scene(subject="snow leopard"))
        == "a realistic photograph of a snow leopard (feline)."
    )
    rng = Random(5)
    for _ in range(300):
        text = grammar.describe(nature.sample(SceneSet(), rng))
        assert "  " not in text
        assert text.endswith(".")


@pytest.mark.parametrize(
    ("attribute", "value", "detail", "sentence"),
    [
        ("on", "flower", "orange", "it is on an orange flower."),
        ("on", "flower", None, "it is on a flower."),
        ("on", "nothing", None, "it is on nothing."),
        ("behind", "grass", None, "it is behind grass."),
        ("background", "forest", None, "the background is a forest."),
        ("background", "snow", None, "the background is snow."),
        ("background", "sea", None, "the background is the sea."),
        ("background", "underwater", None, "it is under water."),
        ("background", "meadow", None, "the background is a meadow."),
        ("weather", "snowfall", None, "it is snowing."),
        ("weather", "fog", None, "it is foggy."),
        ("weather", "clear", None, "the weather is clear."),
        ("light", "day", None, "it is day."),
        ("light", "glare", None, "there is glare."),
        ("size", "small", None, "it is small."),
        ("position", "left", None, "it is on the left."),
        ("position", "top", None, "it is at the top."),
        ("facing", "left", None, "it faces left."),
        ("pose", "tilted left", None, "it is tilted to the left."),
        ("pose", "upside down", None, "it is upside down."),
        ("count", "3", None, "there are three of them."),
        ("count", "1", None, "there is one of them."),
        ("hidden", "half", None, "it is half hidden."),
        ("companion", "ball", None, "there is a ball."),
        ("companion", "ball", "left", "a ball is to the left of it."),
        ("companion", "dog", "behind", "a dog is behind it."),
        ("color", "blue", None, "it is blue."),
        ("subject", "fly", None, "a realistic photograph of a fly (insect)."),
    ],
)
def test_say(attribute: str, value: str, detail: str | None, sentence: str) -> None:
    assert grammar.say(attribute, value, detail) == sentence


@pytest.mark.parametrize(
    ("attribute", "value", "detail"),
    [
        ("wings", "2", None),
        ("on", "moon", None),
        ("on", "leaf", "red"),
        ("on", "flower", "left"),
        ("light", "day", "red"),
    ],
)
def test_say_refuses_what_cannot_be(attribute: str, value: str, detail: str | None) -> None:
    with pytest.raises(WeakspotError):
        grammar.say(attribute, value, detail)


def but(attribute: str, *values: str) -> list[str]:
    return [v for v in ATTRIBUTES[attribute] if v not in values]


INSECTS = ["fly", "bee", "butterfly", "ladybird"]
PHRASES: list[tuple[str, dict[str, list[str] | str]]] = [
    ("a photo of a fly", {"subject": "fly"}),
    ("FLY", {"subject": "fly"}),
    ("a realistic photograph.", {}),
    ("an image showing a snow leopard", {"subject": "snow leopard"}),
    ("a drawing of a crayfish (crustacean)", {"subject": "crayfish"}),
    ("a picture of an insect on a flower", {"subject": INSECTS, "on": "flower"}),
    ("three flies", {"subject": "fly", "count": "3"}),
    ("4 wolves", {"subject": "wolf", "count": "4"}),
    ("snow leopards on rocks", {"subject": "snow leopard", "count": ["2", "3", "4"], "background": "rocks"}),
    ("two or three ducks", {"subject": "duck", "count": ["2", "3"]}),
    ("a single bee", {"subject": "bee", "count": "1"}),
    ("there are three dogs", {"subject": "dog", "count": "3"}),
    ("there are not three of them.", {"count": but("count", "3")}),
    (
        "a photo of two red cars on a street behind a fence at night in the rain",
        {
            "subject": "car", "color": "red", "count": "2", "background": "street", "behind": "fence",
            "light": "night", "weather": "rain",
        },
    ),
    ("a small, blue cat", {"subject": "cat", "color": "blue", "size": "small"}),
    ("a big gray dog", {"subject": "dog", "color": "grey", "size": "large"}),
    ("an upside-down ladybug", {"subject": "ladybird", "pose": "upside down"}),
    ("a partly hidden cat facing left", {"subject": "cat", "hidden": "partly", "facing": "left"}),
    ("a fly, seen at night, on a leaf", {"subject": "fly", "light": "night", "on": "leaf"}),
    ("a cat that is sitting on a cushion", {"subject": "cat", "on": "cushion"}),
    ("The fly is on a flower!", {"subject": "fly", "on": "flower"}),
    ("the insect is small", {"subject": INSECTS, "size": "small"}),
    ("the object isn't small", {"size": but("size", "small")}),
    ("it is on a flower", {"on": "flower"}),
    ("it is on a yellow flower.", {"on": "flower", "on_color": "yellow"}),
    ("it’s on an orange cushion", {"on": "cushion", "on_color": "orange"}),
    ("on a red or yellow flower", {"on": "flower", "on_color": ["red", "yellow"]}),
    ("on a flower or on a leaf", {"on": ["flower", "leaf"]}),
    ("it is on something yellow", {"on_color": "yellow"}),
    ("the flower is not yellow.", {"on": "flower", "on_color": but("on_color", "none", "yellow")}),
    ("there is a flower", {"on": "flower"}),
    ("yellow flower", {"on": "flower", "on_color": "yellow"}),
    ("it is not on a flower.", {"on": but("on", "flower")}),
    ("there is no flower.", {"on": but("on", "flower")}),
    ("not on a flower or a leaf", {"on": but("on", "flower", "leaf")}),
    ("it is not on anything", {"on": "nothing"}),
    ("in the snow", {"background": "snow"}),
    ("not in the snow", {"background": but("background", "snow")}),
    ("in a forest", {"background": "forest"}),
    ("on the beach", {"background": "beach"}),
    ("under water", {"background": "underwater"}),
    ("in the water", {"background": ["sea", "riverbed", "underwater"]}),
    ("in the living room", {"background": "living room"}),
    ("a green background", {"background": "green"}),
    ("with a plain white background", {"background": "white"}),
    ("against a forest background", {"background": "forest"}),
    ("the background is green or blue", {"background": ["green", "blue"]}),
    ("the background is not a kitchen", {"background": but("background", "kitchen")}),
    ("in front of the sea", {"background": "sea"}),
    ("on the grass", {"background": "meadow"}),
    ("in the grass", {"behind": "grass"}),
    ("it is in a net.", {"behind": "net"}),
    ("behind a net or a fence", {"behind": ["net", "fence"]}),
    ("without a net", {"behind": but("behind", "net")}),
    ("there is a fence", {"behind": "fence"}),
    ("a fence in a meadow", {"subject": "fence", "background": "meadow"}),
    ("there is a dog", {"companion": "dog"}),
    ("there is no dog", {"companion": but("companion", "dog")}),
    ("no companion", {"companion": "nothing"}),
    ("with a ball", {"companion": "ball"}),
    ("a fly and a dog", {"subject": "fly", "companion": "dog"}),
    ("a cat next to a dog", {"subject": "cat", "companion": "dog", "companion_at": ["left", "right"]}),
    ("a cat left of a dog", {"subject": "cat", "companion": "dog", "companion_at": "right"}),
    ("in front of a tree", {"companion": "tree", "companion_at": "behind"}),
    ("a cat with a ball on the left", {"subject": "cat", "companion": "ball", "companion_at": "left"}),
    ("a dog is not behind it", {"companion": "dog", "companion_at": ["left", "right"]}),
    ("a cat. a dog is behind the cat.", {"subject": "cat", "companion": "dog", "companion_at": "behind"}),
    ("a ball is to the left of the cat", {"subject": "cat", "companion": "ball", "companion_at": "left"}),
    ("nothing is behind it", {"companion_at": but("companion_at", "behind")}),
    ("the dog is on the left", {"subject": "dog", "position": "left"}),
    ("it is on the left or right", {"position": ["left", "right"]}),
    ("in the middle of the picture", {"position": "centre"}),
    ("it does not face left", {"facing": "right"}),
    ("it is not hidden", {"hidden": "no"}),
    ("not yellow", {"color": but("color", "yellow")}),
    ("it has its natural colour", {"color": "natural"}),
    ("it is not small and not blue", {"color": but("color", "blue"), "size": but("size", "small")}),
    ("on a rainy night", {"light": "night", "weather": "rain"}),
    ("it is not raining or snowing", {"weather": ["clear", "fog"]}),
    ("it's raining and it is night", {"light": "night", "weather": "rain"}),
    ("there is no glare", {"light": but("light", "glare")}),
    ("in falling snow", {"weather": "snowfall"}),
    ("it is not a fly.", {"subject": but("subject", "fly")}),
    ("it is a fly or a bee", {"subject": ["fly", "bee"]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meaning"), PHRASES, ids=[text for text, _ in PHRASES])
def test_parse(text: str, meaning: dict[str, list[str] | str]) -> None:
    wanted = {name: [v] if isinstance(v, str) else v for name, v in meaning.items()}
    assert grammar.parse(text) == SceneSet.of(wanted)


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("", "there is no text", ""),
        (" . ", "there is no text", ""),
        ("a", "there is no text", ""),
        ("it is not a thing", "it leaves nothing possible", ""),
        ("a photo of a zebra", "cannot understand 'zebra'", "the subjects are: fly"),
        ("it is on a flowr.", "cannot understand 'flowr'", "did you mean 'flower' by 'flowr'?"),
        ("it is on a quite yelow flower.", "cannot understand 'quite', 'yelow'", "did you mean 'yellow'"),
        ("it is", "cannot understand 'it is': it ends too early", ""),
        ("a fly on", "cannot understand 'on'", ""),
        ("a fly or", "cannot understand 'a fly or'", ""),
        ("a fly (", "brackets", ""),
        ("it is in front of a fence.", "'fence' does not go there", "it is behind a fence."),
        ("it is behind a tree.", "'tree' does not go there", "behind a net"),
        ("a dog is behind a cat", "'cat' does not go there", ""),
        ("it is on a green flower.", "a flower cannot be green", "choose from: red"),
        ("it is on a yellow leaf.", "a leaf has no colour", "only a flower or a cushion"),
        ("there is a blue ball.", "a ball has no colour", ""),
        ("without a yellow flower", "it denies two things at once", ""),
        ("there is a ball on a flower.", "it speaks of 'ball'", "sentence of its own"),
        ("a ball is behind a fence", "place of 'ball'", ""),
        ("a fence is behind it", "'fence' cannot be there", ""),
        ("it is a flower.", "the subject cannot be 'flower'", "choose from: fly"),
        ("it is not on a yellow flower.", "it denies two things at once", ""),
        ("it is not small and blue.", "can be read in two ways", "two sentences"),
        ("on a red flower or a leaf", "must all have the same colour", ""),
        ("on a flower or in the snow", "cannot understand", ""),
        ("it is small or red", "'or' joins things of different kinds", ""),
        ("the background is purple.", "the background cannot look like that", "choose from: meadow"),
        ("a background", "a background cannot look like that", ""),
        ("a fly \x00", "U+0000 (a control character) at position 7", "plain English"),
        ("a 🪰", "U+1FAB0 (fly)", ""),
        ("ذبابة", "arabic letter", ""),
        ("a \u202efly", "right-to-left override", ""),
    ],
)
def test_what_is_not_understood_is_named(text: str, what: str, fix: str) -> None:
    with pytest.raises(grammar.UnknownWords) as error:
        grammar.parse(text)
    assert what in error.value.what
    assert fix in error.value.fix
    assert error.value.fix


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("it is day. it is night.", "it is day", "it is night"),
        ("a fly. a dog.", "a fly", "a dog"),
        ("a fly (feline).", "a fly", "(feline)"),
        ("a fly on a flower, on a leaf", "on a flower", "on a leaf"),
        ("it is on a leaf. it is on something yellow.", "it is on a leaf", "it is on something yellow"),
        ("there is nothing else. something is behind it.", "nothing else", "something is behind it"),
        ("it is not small. it is night. it is small.", "it is not small", "it is small"),
    ],
)
def test_contradictions_name_both_sides(text: str, first: str, second: str) -> None:
    with pytest.raises(grammar.Contradiction) as error:
        grammar.parse(text)
    assert first in error.value.what
    assert second in error.value.what


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "it is on a flower. " * 60_000,
        "(" * 9_999,
        "a fly " + "(insect" * 1_000,
        "not " * 2_400,
        "red or " * 1_400,
        "on the left of " * 650,
        "a fly and a dog and a cat " * 380,
        "it is " * 1_600,
        "zebra" * 1_900,
        " ".join(f"w{i}" for i in range(1_600)),
        "\x00" * 9_000,
        "\u202e" * 9_000,
        "🪰" * 9_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_hostile_text_is_refused_quickly(text: str) -> None:
    start = process_time()
    with pytest.raises(WeakspotError) as error:
        grammar.parse(text)
    assert process_time() - start < 1
    assert len(str(error.value)) < 600


def test_a_long_honest_text_is_read_quickly() -> None:
    start = process_time()
    assert grammar.parse("it is on a yellow flower. " * 380)["on"] == ("flower",)
    assert process_time() - start < 1


def read_or_refuse(text: str) -> SceneSet | None:
    """Any other exception than our own fails the test."""
    try:
        return grammar.parse(text)
    except WeakspotError:
        return None


@given(st.lists(st.sampled_from([*sorted(lexicon.KNOWN), ".", ",", "(", ")"]), max_size=12).map(" ".join))
@settings(max_examples=600, deadline=None)
def test_any_row_of_known_words_is_read_or_refused(text: str) -> None:
    understood = read_or_refuse(text)
    assert understood is None or grammar.parse(grammar.phrase(understood)) == understood


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


def test_complete_needs_a_subject_and_fills_in_the_plain() -> None:
    with pytest.raises(WeakspotError, match="does not say what is in the picture"):
        grammar.complete(grammar.parse("it is on a flower."))
    assert grammar.complete(grammar.parse("a fly")) == Scene(subject="fly")
    flower = grammar.complete(grammar.parse("a fly on a flower"))
    assert (flower.on, flower.on_color) == ("flower", ATTRIBUTES["on_color"][1])


def test_vocabulary_is_small_sorted_and_understood() -> None:
    words = vocabulary()
    assert words == sorted(set(words))
    assert {w for word in words for w in word.split("-")} <= lexicon.KNOWN
    assert {w for s in SUBJECTS for w in s.split()} <= set(words)
    assert len(words) < 150
    assert set(DEFAULTS) == set(ATTRIBUTES) - {"subject"}
