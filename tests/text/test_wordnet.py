"""WordNet's nouns, from a small database in its own format and, where it is installed, from the real one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from weakspot.core import WeakspotError
from weakspot.text.wordnet import AmbiguousLabel, LabelParts, Sense, UnknownWord, WordNet
from weakspot.text.wordnet_files import LONGEST

LICENCE = "".join(f"  {n} line {n} of a licence, between two spaces and two.  \n" for n in range(1, 30))


class Synset(NamedTuple):
    words: str
    parents: tuple[str, ...] = ()
    gloss: str = 'what it is; "an example"'


#: By a key of this file; the words are lemmas, in WordNet's spelling.
SYNSETS: Mapping[str, Synset] = {
    "entity": Synset("entity"),
    "animal": Synset("animal beast", ("entity",)),
    "bird": Synset("bird", ("animal",)),
    "wader": Synset("wading_bird wader", ("bird",)),
    "crane-bird": Synset("crane", ("wader",), "large long-necked wading bird; it wades"),
    "device": Synset("device", ("entity",)),
    "crane-device": Synset("crane", ("device",), "lifts and moves heavy objects; " + "and so on " * 30),
    "poet": Synset("poet", ("entity",)),
    "hart-crane": Synset("Crane Hart_Crane", ("i poet",), "United States poet (1899-1932)"),
    "pet": Synset("domestic_animal", ("animal",)),
    "cat": Synset("cat true_cat", ("animal",)),
    "house-cat": Synset("domestic_cat", ("cat", "pet")),
    "tabby": Synset("tabby tabby_cat", ("house-cat",)),
    "tabby-woman": Synset("tabby", ("entity",)),
    "persian": Synset("Persian_cat", ("house-cat",)),
    "mouse": Synset("mouse", ("animal",)),
    "fly": Synset("fly", ("animal",)),
    "fox": Synset("fox", ("animal",)),
    "glass": Synset("glass", ("device",)),
    "glasses": Synset("glasses eyeglasses", ("device",)),
    "raptor": Synset("bird_of_prey raptor", ("bird",)),
    "shirt": Synset("T-shirt tee_shirt", ("device",)),
    "saint": Synset("St._Bernard", ("animal",)),
    "rifle": Synset(".22", ("device",)),
}  # fmt: skip


def write(folder: Path, synsets: Mapping[str, Synset] = SYNSETS) -> dict[str, str]:
    """Write a database as WordNet 3.0 has it; gives the ids by key."""
    folder.mkdir(parents=True, exist_ok=True)
    at: dict[str, int] = {}
    for _ in range(2):  # offsets have eight digits whatever they are, so the first round finds the places
        text = LICENCE
        for key, synset in synsets.items():
            words = synset.words.split()
            links = [(p.removeprefix("i "), "@i" if p.startswith("i ") else "@") for p in synset.parents]
            for below, other in synsets.items():
                links += [(below, "~") for p in other.parents if p == key]
                links += [(below, "~i") for p in other.parents if p == f"i {key}"]
            pointers = [f"{sign} {at.get(to, 0):08d} n 0000" for to, sign in links]
            pointers.append("+ 00028167 v 0101")  # of another part of speech, and not ours
            spelt = " ".join(f"{word} 0" for word in words)
            place = len(text)
            text += f"{place:08d} 05 n {len(words):02x} {spelt} {len(pointers):03d} {' '.join(pointers)} "
            text += f"| {synset.gloss}  \n"
            at[key] = place
    (folder / "data.noun").write_bytes(text.encode())
    index: dict[str, list[int]] = {}
    for key, synset in synsets.items():
        for word in synset.words.lower().split():
            index.setdefault(word, []).append(at[key])
    lines = [
        f"{word} n {len(places)} 2 @ ~ {len(places)} 0 {' '.join(f'{p:08d}' for p in places)}  \n"
        for word, places in index.items()
    ]
    (folder / "index.noun").write_bytes((LICENCE + "".join(sorted(lines))).encode())
    (folder / "noun.exc").write_text("mice mouse\ngeese goose\n")
    return {key: f"n{place:08d}" for key, place in at.items()}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[WordNet, dict[str, str]]:
    folder = tmp_path_factory.mktemp("wordnet")
    ids = write(folder)
    return WordNet.find(folder), ids


Small = tuple[WordNet, dict[str, str]]


def keys(small: Small, senses: list[Sense]) -> list[str]:
    names = {id: key for key, id in small[1].items()}
    return [names[sense.id] for sense in senses]


def ancestors(wordnet: WordNet, sense: Sense) -> list[Sense]:
    return [above for above, _ in wordnet.above(sense)]


# -- meanings ----------------------------------------------------------------------------------------


def test_a_sense_has_all_that_its_line_says(small: Small) -> None:
    wordnet, ids = small
    sense = wordnet.sense_of_id(ids["house-cat"])
    assert sense == Sense(
        ids["house-cat"],
        ("domestic cat",),
        'what it is; "an example"',
        (ids["cat"], ids["pet"]),
    )
    assert sense.name == "domestic cat"
    assert wordnet.sense_of_id(ids["persian"]).name == "Persian cat"


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("crane", ["crane-bird", "crane-device", "hart-crane"]),
        ("CRANE ", ["crane-bird", "crane-device", "hart-crane"]),
        ("Persian cat", ["persian"]),
        ("persian_cat", ["persian"]),
        ("Persian-Cat", ["persian"]),
        ("  persian \t cat", ["persian"]),
        ("t-shirt", ["shirt"]),
        ("T shirt", ["shirt"]),
        ("tee-shirt", ["shirt"]),
        ("st. bernard", ["saint"]),
        (".22", ["rifle"]),
        ("entity", ["entity"]),
        ("wading bird", ["wader"]),
        ("zebra", []),
        ("cran", []),
        ("cranes of", []),
        ("", []),
        ("  ", []),
        ("line", []),  # a word of the licence
        ("1", []),
        ("\ud800", []),
        ("\0", []),
        ("ÿÿÿ", []),
        ("x" * 100_000, []),
    ],
)
def test_words_are_found_however_they_are_joined(small: Small, word: str, found: list[str]) -> None:
    assert keys(small, small[0].senses(word)) == found


@pytest.mark.parametrize(
    ("plural", "found"),
    [
        ("cats", "cat"),
        ("flies", "fly"),
        ("foxes", "fox"),
        ("mice", "mouse"),
        ("domestic cats", "house-cat"),
        ("Persian_cats", "persian"),
        ("birds of prey", "raptor"),
        ("glasses", "glasses"),  # a word of its own, not several glasses
        ("glass", "glass"),
        ("geese", None),  # its singular is not there
        ("s", None),
    ],
)
def test_plurals(small: Small, plural: str, found: str | None) -> None:
    assert keys(small, small[0].senses(plural)) == ([found] if found else [])


def test_every_word_of_the_index_is_found(small: Small) -> None:
    for key, synset in SYNSETS.items():
        for word in synset.words.split():
            assert key in keys(small, small[0].senses(word))


# -- up and down -------------------------------------------------------------------------------------


def test_up_and_down(small: Small) -> None:
    wordnet, ids = small
    tabby, animal, entity, poet = (
        wordnet.sense_of_id(ids[key]) for key in ("tabby", "animal", "entity", "poet")
    )
    assert keys(small, ancestors(wordnet, tabby)) == ["house-cat", "cat", "pet", "animal", "entity"]
    assert wordnet.parent(tabby) == wordnet.sense_of_id(ids["house-cat"])
    assert wordnet.parent(entity) is None
    assert ancestors(wordnet, entity) == []
    assert wordnet.is_a(tabby, animal)
    assert wordnet.is_a(tabby, tabby)
    assert not wordnet.is_a(animal, tabby)
    crane = wordnet.sense_of_id(ids["hart-crane"])
    assert wordnet.is_a(crane, poet)  # an instance


def test_a_meaning_covers_labels_of_a_head(small: Small) -> None:
    wordnet, ids = small
    cat, bird = wordnet.sense_of_id(ids["cat"]), wordnet.sense_of_id(ids["bird"])
    head = ["tabby, tabby cat", "Persian_cat", "crane", "mouse", f"{ids['raptor']} bird of prey", "no noun"]
    assert wordnet.covered(cat, head) == {"tabby, tabby cat", "Persian_cat"}
    assert wordnet.covered(bird, head) == {"crane", f"{ids['raptor']} bird of prey"}
    assert wordnet.covered(bird, head, ids={"crane": ids["crane-device"]}) == {head[4]}
    assert wordnet.covered(bird, []) == frozenset()


# -- the choice of one -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "chosen"),
    [
        ("bird", "bird"),
        ("crane.2", "crane-device"),
        ("Crane.3", "hart-crane"),
        ("crane (bird)", "crane-bird"),
        ("crane (wading bird)", "crane-bird"),
        ("crane (Animal)", "crane-bird"),  # far above
        ("crane (poet)", "hart-crane"),
        ("crane_(device)", "crane-device"),
        ("tabby, tabby cat", "tabby"),  # the only meaning that both have
        ("tabby, no such word", None),
        ("tabby (tabby cat)", "tabby"),
        ("unheard-of, Persian cat", "persian"),
        ("cranes (bird)", "crane-bird"),
        (".22", "rifle"),
    ],
)
def test_a_label_with_one_meaning_or_with_a_choice(small: Small, label: str, chosen: str | None) -> None:
    wordnet, ids = small
    if chosen is None:
        with pytest.raises(AmbiguousLabel):
            wordnet.choose(label)
    else:
        assert wordnet.choose(label).id == ids[chosen]


@pytest.mark.parametrize(
    ("sense", "chosen"),
    [
        (1, "crane-bird"),
        ("2", "crane-device"),
        ("crane.3", "hart-crane"),
        ("fly.1", "fly"),
        ("bird", "crane-bird"),
        ("crane (device)", "crane-device"),
        ("tabby (cat)", "tabby"),
    ],
)
def test_a_sense_that_is_asked_for(small: Small, sense: str | int, chosen: str) -> None:
    wordnet, ids = small
    assert wordnet.choose("crane", sense).id == ids[chosen]


def test_ids_and_hints(small: Small) -> None:
    wordnet, ids = small
    assert wordnet.choose("whatever", ids["fly"]).id == ids["fly"]
    assert wordnet.choose(f"{ids['tabby-woman']} tabby, tabby cat").id == ids["tabby-woman"]
    assert wordnet.choose(ids["fox"]).id == ids["fox"]
    assert wordnet.choose(f"{ids['fox']} crane", "crane.1").id == ids["crane-bird"]
    assert wordnet.choose("crane", hint="bird").id == ids["crane-bird"]


def test_several_meanings_are_listed_with_the_way_to_choose(small: Small) -> None:
    wordnet, ids = small
    with pytest.raises(AmbiguousLabel, match="'crane' has 3 meanings") as error:
        wordnet.choose("crane")
    lines = error.value.what.splitlines()
    assert lines[1:] == [
        "crane.1 (wading bird): large long-necked wading bird;",
        "crane.2 (device): lifts and moves heavy objects;",
        "crane.3 (poet): United States poet (1899-1932)",
    ]
    for choice in ("crane.1", ids["crane-bird"], "'crane (wading bird)'"):
        assert choice in error.value.fix
        assert wordnet.choose(choice.strip("'")).id == ids["crane-bird"]


@pytest.mark.parametrize(
    ("label", "sense", "error", "what"),
    [
        ("crane", 9, AmbiguousLabel, "no number 9"),
        ("crane", "0", AmbiguousLabel, "no number 0"),
        ("crane (fish)", None, AmbiguousLabel, "no kind of 'fish'"),
        ("fly (machine)", None, AmbiguousLabel, "one meaning in WordNet, but no kind of 'machine'"),
        ("zebra", None, UnknownWord, "no noun 'zebra'"),
        ("zebra", "zebra.1", UnknownWord, "no noun 'zebra'"),
        ("", None, UnknownWord, "no noun ''"),
        ("(bird)", None, UnknownWord, "no noun"),
        ("crane", "n99999999", WeakspotError, "has the id n99999999"),
        ("n00000001 crane", None, WeakspotError, "has the id n00000001"),
    ],
)
def test_a_wrong_choice_is_explained(
    small: Small, label: str, sense: str | int | None, error: type[WeakspotError], what: str
) -> None:
    with pytest.raises(error, match=what) as raised:
        small[0].choose(label, sense)
    assert raised.value.fix


def test_an_unknown_word_says_the_nearest(small: Small) -> None:
    with pytest.raises(UnknownWord) as error:
        small[0].choose("persan cat")
    assert "did you mean 'persian cat'?" in error.value.fix


@pytest.mark.parametrize("id", ["", "n1", "n123456789", "v02123394", "02123394", "n٠٢١٢٣٣٩٤", "n-2123394"])
def test_an_id_has_eight_digits(small: Small, id: str) -> None:
    with pytest.raises(WeakspotError, match="not the id of a noun"):
        small[0].sense_of_id(id)


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("tabby", LabelParts("", ("tabby",), "")),
        ("tabby, tabby cat", LabelParts("", ("tabby", "tabby cat"), "")),
        ("n02123045 tabby, tabby cat", LabelParts("n02123045", ("tabby", "tabby cat"), "")),
        ("n02123045_tabby", LabelParts("n02123045", ("tabby",), "")),
        ("n02123045: tabby", LabelParts("n02123045", ("tabby",), "")),
        ("n02123045", LabelParts("n02123045", (), "")),
        ("n021230456 x", LabelParts("", ("n021230456 x",), "")),
        ("golden_retriever", LabelParts("", ("golden retriever",), "")),
        ("crane (bird)", LabelParts("", ("crane",), "bird")),
        ("a (b) c", LabelParts("", ("a (b) c",), "")),
        (", ,x", LabelParts("", ("x",), "")),
        ("  ", LabelParts("", (), "")),
        ("(" * 50_000, LabelParts("", ("(" * 50_000,), "")),
    ],
)
def test_the_parts_of_a_label(label: str, parts: LabelParts) -> None:
    assert LabelParts.of(label) == parts


# -- where it lies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["", "dict", "wordnet", "corpora/wordnet"])
def test_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    ids = write(tmp_path / below)
    found = WordNet.find(tmp_path)
    assert found.folder == tmp_path / below
    assert found.choose("fly").id == ids["fly"]
    monkeypatch.setenv("WEAKSPOT_WORDNET", str(tmp_path))
    assert WordNet.find().folder == tmp_path / below


def test_nltk_says_where_its_data_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "b" / "corpora" / "wordnet")
    monkeypatch.delenv("WEAKSPOT_WORDNET", raising=False)
    monkeypatch.setattr("weakspot.text.wordnet._SHARES", ())
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'b'}")
    assert WordNet.find().folder == tmp_path / "b" / "corpora" / "wordnet"


def test_where_it_is_missing_the_fix_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAKSPOT_WORDNET", str(tmp_path))  # what is named is not passed over
    for folder in (None, tmp_path / "nowhere", "~nobody-of-this-name/x", "a\0b"):
        with pytest.raises(WeakspotError, match="there is no WordNet in") as error:
            WordNet.find(folder)
        assert "apt-get install wordnet-base" in error.value.fix
        assert "labels file" in error.value.fix
    monkeypatch.delenv("WEAKSPOT_WORDNET")
    monkeypatch.setattr("weakspot.text.wordnet._SHARES", ())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    with pytest.raises(WeakspotError, match="not on this machine"):
        WordNet.find()
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "wordnet.zip").touch()
    with pytest.raises(WeakspotError, match="packed in") as error:
        WordNet.find()
    assert "unzip" in error.value.fix


def test_importing_reads_nothing() -> None:
    code = "import sys, weakspot.text.wordnet; sys.exit(bool({'nltk', 'torch'} & {*sys.modules}))"
    env = os.environ | {"WEAKSPOT_WORDNET": "/nowhere"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


# -- what is not WordNet -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["index.noun", "data.noun"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100_000,
        bytes(range(256)) * 100,
        b"  a licence without an end  \n" * 10_000,
        b"<html>not found</html>\n",
        b"x" * 300_000,
    ],
)
def test_other_files_are_refused_at_once(tmp_path: Path, name: str, content: bytes) -> None:
    write(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WeakspotError, match=f"{name} is not WordNet's") as error:
        WordNet.find(tmp_path)
    assert "wordnet-base" in error.value.fix


def test_changed_line_ends_are_noticed(tmp_path: Path) -> None:
    write(tmp_path)
    data = tmp_path / "data.noun"
    data.write_bytes(data.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(WeakspotError, match="or was changed"):
        WordNet.find(tmp_path)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("data.noun", lambda text: text.replace(" n 01 fly 0 ", " n zz fly 0 ")),
        ("data.noun", lambda text: text.replace(" n 01 fly 0 ", " n ff fly 0 ")),
        ("data.noun", lambda text: text.replace(" n 01 fly 0 002", " n 01 fly 0 xxx")),
        ("data.noun", lambda text: text.replace(" n 01 fly 0 002 @ 0", " n 01 fly 0 002 @ x")),
        ("data.noun", lambda text: text.replace(" n 01 fly 0 ", " n 00 fly 0 ")),
        ("data.noun", lambda text: text[: text.index(" n 01 fly 0 ") + 3]),
        ("data.noun", lambda text: text[: text.index(" fly 0 ") - 20]),
        ("index.noun", lambda text: text.replace("\nfly n 1 ", "\nfly n 9 ")),
        ("index.noun", lambda text: text.replace("\nfly n 1 ", "\nfly n x ")),
        ("index.noun", lambda text: text.replace("\nfly n 1 ", "\nfly n 0 ")),
        ("index.noun", lambda text: text.replace("\nfly n 1 2 @ ~ 1 0 00", "\nfly n 1 2 @ ~ 1 0 99")),
        ("index.noun", lambda text: text.replace("\nfly n 1 2 @ ~ 1 0 00", "\nfly n 1 2 @ ~ 1 0 zz")),
        ("index.noun", lambda text: text.replace("\nfly n 1 2 @ ~ 1 0 00", "\nfly n 1 2 @ ~ 1 0 -1")),
    ],
)
def test_spoilt_lines_are_errors_and_say_where(
    tmp_path: Path, name: str, spoil: Callable[[str], str]
) -> None:
    write(tmp_path)
    path = tmp_path / name
    before = path.read_text()
    path.write_text(spoil(before))
    assert path.read_text() != before
    wordnet = WordNet.find(tmp_path)  # the beginning is in order
    with pytest.raises(WeakspotError, match=r"is not WordNet's noun file, or .* byte [\d,]+"):
        ancestors(wordnet, wordnet.choose("fly"))


def test_a_circle_ends(tmp_path: Path) -> None:
    ids = write(tmp_path, {"a": Synset("a", ("b",)), "b": Synset("b", ("a",)), "c": Synset("c", ("a", "a"))})
    wordnet = WordNet.find(tmp_path)
    a, b, c = (wordnet.sense_of_id(ids[key]) for key in "abc")
    assert ancestors(wordnet, a) == [b]
    assert ancestors(wordnet, c) == [a, b]
    assert not wordnet.is_a(a, c)


def test_an_index_in_disorder_finds_less_but_does_not_break(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "index.noun"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:29] + lines[:28:-1]))
    wordnet = WordNet.find(tmp_path)
    for synset in SYNSETS.values():
        assert isinstance(wordnet.senses(synset.words.split()[0]), list)


def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "data.noun"
    path.write_bytes(path.read_bytes().rstrip(b"\n") + b" " + b"x" * (10 * LONGEST))
    sense = WordNet.find(tmp_path).choose(".22")
    assert len(sense.gloss) <= LONGEST


def test_files_that_go_away_are_explained(tmp_path: Path) -> None:
    write(tmp_path)
    wordnet = WordNet.find(tmp_path)
    (tmp_path / "noun.exc").unlink()
    assert wordnet.senses("mice") == []
    (tmp_path / "index.noun").unlink()
    with pytest.raises(WeakspotError, match="WordNet cannot be read"):
        wordnet.senses("fly")


# -- the real one ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> WordNet:
    try:
        wordnet = WordNet.find()
        wordnet.sense_of_id("n02123394")
    except WeakspotError as error:
        pytest.skip(f"no WordNet 3.0 here: {error.what}")
    return wordnet


def test_the_real_cranes(real: WordNet) -> None:
    senses = real.senses("crane")
    assert [sense.id for sense in senses] == ["n10914447", "n10914331", "n09295455", "n03126707", "n02012849"]
    assert senses[4].gloss == "large long-necked wading bird of marshes and plains in many parts of the world"
    assert real.choose("crane (bird)").id == "n02012849"
    assert real.choose("crane", "crane.4").id == "n03126707"
    with pytest.raises(AmbiguousLabel, match="5 meanings"):
        real.choose("crane")
    with pytest.raises(AmbiguousLabel, match="3 meanings in WordNet as a kind of 'fish'"):
        real.choose("bass (fish)")


@pytest.mark.parametrize(
    ("label", "id", "parent"),
    [
        ("Persian cat", "n02123394", "domestic cat"),
        ("tabby, tabby cat", "n02123045", "domestic cat"),
        ("fly (insect)", "n02190166", "dipterous insect"),
        ("snow_leopard", "n02128757", "big cat"),
        ("golden_retriever", "n02099601", "retriever"),
        ("chainlink fence", "n03000134", "fence"),
        ("Cardigan, Cardigan Welsh corgi", "n02113186", "corgi"),
        ("zebras", "n02391049", "equine"),
        ("T-shirt", "n03595614", "shirt"),
    ],
)
def test_real_labels(real: WordNet, label: str, id: str, parent: str) -> None:
    sense = real.choose(label)
    above = real.parent(sense)
    assert sense.id == id
    assert above is not None
    assert above.name == parent


def test_real_dogs(real: WordNet) -> None:
    dog = real.choose("dog", "canine")
    assert dog.id == "n02084071"
    head = ["boxer", "Samoyed", "golden_retriever", "tabby, tabby cat", "crane"]
    assert real.covered(dog, head) == {"boxer", "Samoyed", "golden_retriever"}
    assert [above.name for above in ancestors(real, dog)][:3] == ["canine", "domestic animal", "carnivore"]


def test_a_look_up_takes_milliseconds(real: WordNet) -> None:
    # Processor time, not the clock: the machine may be busy. Reading the whole file would take seconds.
    start = time.process_time()
    for word in ("zebra", "chainlink fence", "crane", "snow leopards", "no such noun"):
        WordNet.find(real.folder).senses(word)
    assert (time.process_time() - start) / 5 < 0.2
