"""The words for a label, and where its parent is known from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from weakspot.core import WeakspotError
from weakspot.sources import prompts
from weakspot.sources.prompts import (
    TEMPLATE,
    LabelRow,
    LabelWords,
    base_prompt,
    check_template,
    parents_of,
    read_label_file,
    spoken,
    takes_an,
    words_of,
)
from weakspot.text.wordnet import AmbiguousLabel, UnknownWord, WordNet
from weakspot.world.grammar import base_sentence
from weakspot.world.scene import PARENTS, SUBJECTS

LICENCE = "  1 the licence's lines begin with two spaces  \n"
#: word, what it is, parents by number in this list
NOUNS = [
    ("entity", "all there is", []),
    ("bird", "it flies", [0]),
    ("device", "it works", [0]),
    ("crane", "large wading bird", [1]),
    ("crane", "lifts heavy objects", [2]),
    ("cat", "it purrs", [0]),
    ("tabby_cat", "a striped cat", [5]),
]


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    """Seven nouns in WordNet's format."""
    folder = tmp_path_factory.mktemp("wordnet")
    at = [0] * len(NOUNS)
    for _ in range(2):
        data = LICENCE
        for i, (word, gloss, parents) in enumerate(NOUNS):
            links = "".join(f" @ {at[p]:08d} n 0000" for p in parents)
            at[i] = len(data)
            data += f"{at[i]:08d} 05 n 01 {word} 0 {len(parents):03d}{links} | {gloss}  \n"
    (folder / "data.noun").write_text(data)
    lines = []
    for word in sorted({word for word, *_ in NOUNS}):
        places = [f"{at[i]:08d}" for i, (other, *_) in enumerate(NOUNS) if other == word]
        lines.append(f"{word} n {len(places)} 1 @ {len(places)} 0 {' '.join(places)}  \n")
    (folder / "index.noun").write_text(LICENCE + "".join(lines))
    return WordNet.find(folder)


def the_id(wordnet: WordNet, word: str, number: int = 1) -> str:
    return wordnet.senses(word)[number - 1].id


# -- prompts -----------------------------------------------------------------------------------------


def test_the_template_is_the_paper_s() -> None:
    assert TEMPLATE == "a realistic photograph of a {label} ({parent})."
    assert base_prompt("fly", "insect") == "a realistic photograph of a fly (insect)."


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_world_says_the_same(subject: str) -> None:
    assert base_prompt(subject, PARENTS[subject]) == base_sentence(subject)
    assert parents_of([subject], known=PARENTS) == {subject: PARENTS[subject]}


@pytest.mark.parametrize(
    ("label", "parent", "prompt"),
    [
        ("fly", "", "a realistic photograph of a fly."),
        ("umbrella", "", "a realistic photograph of an umbrella."),
        ("golden_retriever", "retriever", "a realistic photograph of a golden retriever (retriever)."),
        ("tabby, tabby cat", "cat", "a realistic photograph of a tabby (cat)."),
        ("n02123045 tabby", "cat", "a realistic photograph of a tabby (cat)."),
        ("crane (bird)", "", "a realistic photograph of a crane (bird)."),
        ("crane (bird)", "wading bird", "a realistic photograph of a crane (wading bird)."),
        ("{label}", "{parent}", "a realistic photograph of a {label} ({parent})."),
        ("fly\n\x1b[31m", "in\tsect", "a realistic photograph of a fly [31m (in sect)."),
    ],
)
def test_prompts(label: str, parent: str, prompt: str) -> None:
    assert base_prompt(label, parent) == prompt


@pytest.mark.parametrize(
    ("template", "label", "parent", "prompt"),
    [
        ("A {label}", "ant", "", "An ant"),
        ("an {label}", "bee", "", "a bee"),
        ("a  {label}, an {parent}", "ox", "bovine", "an  ox, a bovine"),
        ("a photo, {label} [{parent}], at dusk", "ox", "", "a photo, ox, at dusk"),
        ("{label} ({parent}) ({parent})", "ox", "", "ox"),
        ("{{a {label}}} ({{parent}})", "ox", "", "{an ox} ({parent})"),
        ("data {label}", "ox", "", "data ox"),  # that "a" is no article
        ("{label}{label}", "ox", "", "oxox"),
    ],
)
def test_templates(template: str, label: str, parent: str, prompt: str) -> None:
    assert base_prompt(label, parent, template=template) == prompt


@pytest.mark.parametrize(
    ("template", "what", "fix"),
    [
        ("a photo", "no place for the label", "{label}, {parent}"),
        ("", "no place for the label", "{label}, {parent}"),
        ("a {parent}", "no place for the label", "{label}, {parent}"),
        ("a {{label}}", "no place for the label", "{label}, {parent}"),
        ("a {label} {colour}", r"unknown field \{colour\}", "the known ones are {label}, {parent}"),
        ("a {lable}", r"unknown field \{lable\}", "did you mean 'label'? the known ones"),
        ("a {}", r"unknown field \{\}", "{label}, {parent}"),
        ("a {0}", r"unknown field \{0\}", "{label}, {parent}"),
        ("a {label.__class__}", "unknown field", "{label}, {parent}"),
        ("a {label!r}", "unknown field", "{label}, {parent}"),
        ("a {label:>9999999}", "unknown field", "{label}, {parent}"),
        ("a {label", "cannot be read", "braces"),
        ("a label}", "cannot be read", "braces"),
    ],
)
def test_a_wrong_template_is_explained(template: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        check_template(template)
    assert fix in error.value.fix
    with pytest.raises(WeakspotError, match=what):
        base_prompt("fly", "insect", template=template)


def test_what_a_prompt_cannot_be_without() -> None:
    with pytest.raises(WeakspotError, match="the label is empty"):
        base_prompt(" \n", "insect")
    with pytest.raises(WeakspotError, match="no parent of 'fly' is known") as error:
        base_prompt("fly", template="a {label}, which is a {parent}")
    assert "({parent})" in error.value.fix


@pytest.mark.parametrize(
    "noun", ["ant", "Umbrella", "urn", "hourglass", "X-ray", "x-ray", "SUV", "MP3 player"]
)
def test_an(noun: str) -> None:
    assert takes_an(noun)


@pytest.mark.parametrize(
    "noun",
    [
        "bee",
        "unicycle",
        "urinal",
        "ukulele",
        "European hare",
        "one-armed bandit",
        "T-shirt",
        "UFO",
        "ewe",
        "字",
    ],
)
def test_a(noun: str) -> None:
    assert not takes_an(noun)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("fly", "fly"),
        ("tabby, tabby cat", "tabby"),
        ("n02123045 tabby, tabby cat", "tabby"),
        ("n02123045", "n02123045"),
        ("Egyptian_cat", "Egyptian cat"),
        ("black-and-tan  coonhound ", "black-and-tan coonhound"),
        ("crane (bird)", "crane"),
        ("(bird)", "(bird)"),
        ("", ""),
    ],
)
def test_labels_as_they_are_spoken(label: str, words: str) -> None:
    assert spoken(label) == words
    assert spoken(words) == words


# -- labels files ------------------------------------------------------------------------------------

ROWS = [LabelRow("fly", "insect", "n02190166"), LabelRow("tabby, cat", "cat"), LabelRow("fence")]


def written(folder: Path, name: str, content: str | bytes | Any) -> Path:
    path = folder / name
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", 'fly,insect,n02190166\n"tabby, cat",cat\nfence\n'),
        ("l.csv", '\ufeffname,parent,id\r\nfly,insect,n02190166\r\n\r\n"tabby, cat",cat\r\nfence\r\n'),
        ("l.csv", 'WNID,index,Label,Parent\nn02190166,308,fly,insect\n,281,"tabby, cat",cat\n,716,fence\n'),
        ("l.csv", 'n02190166,fly,insect\n"tabby, cat",cat\n fence \n'),
        ("l.TSV", "fly\tinsect\tn02190166\ntabby, cat\tcat\nfence\n"),
        ("l.txt", "name\tparent\twordnet\nfly\tinsect\tn02190166\ntabby, cat\tcat\t\nfence\t\t\n"),
        ("l.json", [{"name": "fly", "parent": "insect", "id": "n02190166"}, ["tabby, cat", "cat"], "fence"]),
        ("l.json", {"fly": {"parent": "insect", "wordnet": "n02190166"}, "tabby, cat": "cat", "fence": None}),
        ("l.json", {"0": ["n02190166", "fly", "insect"], "1": ["tabby, cat", "cat"], "2": "fence"}),
        ("l.jsonl", '{"label":"fly","parent":"insect","id":"n02190166"}\n["tabby, cat","cat"]\n\n"fence"\n'),
    ],
)  # fmt: skip
def test_a_labels_file_in_any_of_its_forms(tmp_path: Path, name: str, content: Any) -> None:
    assert read_label_file(written(tmp_path, name, content)) == ROWS


def test_one_label_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, "labels", "fly\nn02123045 tabby, tabby cat\n\n fence\n")
    assert [row.name for row in read_label_file(path)] == ["fly", "n02123045 tabby, tabby cat", "fence"]


def test_imagenets_list_of_ids_and_names(tmp_path: Path) -> None:
    path = written(tmp_path, "synsets.txt", "n02190166 fly\nn02123045  tabby, tabby cat\n")
    assert read_label_file(path) == [("fly", "", "n02190166"), ("tabby, tabby cat", "", "n02123045")]


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("l.txt", "", "has no labels"),
        ("l.csv", "name,parent\n", "has no labels"),
        ("l.json", "[]", "has no labels"),
        ("l.json", "{", "cannot be read"),
        ("l.json", "[" * 100_000, "cannot be read"),
        ("l.json", "3", "neither a list nor an object"),
        ("l.json", "[3]", "entry 1 .* is not a label: '3'"),
        ("l.json", '["fly", [["x"]]]', "entry 2 .* has the name"),
        ("l.json", '[{"name": 7}]', "has the name '7'"),
        ("l.json", '[{"parent": "insect"}]', "entry 1 .* has no name"),
        ("l.json", '[{"name": "fly", "parent": ["insect"]}]', "has the parent"),
        ("l.json", '[""]', "entry 1 .* has no name"),
        ("l.csv", "fly,insect\n,insect\n", "entry 2 .* has no name"),
        ("l.csv", "fly,insect,animal,thing\n", "has 4 columns"),
        ("l.csv", "name,wnid\nfly,2190166\n", "has the WordNet id '2190166'"),
        ("l.csv", '"' + "x" * 200_000, "cannot be read"),
        ("l.jsonl", "fly\n", "cannot be read"),
        ("l.txt", b"\xff\xfe\x00f", "cannot be read"),
    ],
)
@pytest.mark.usefixtures("csv_limit")
def test_a_wrong_file_is_explained(tmp_path: Path, name: str, content: str | bytes, what: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        read_label_file(written(tmp_path, name, content))
    assert error.value.fix


def test_a_file_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(prompts, "LARGEST", 10)
    written(tmp_path, "large.txt", "x" * 11)
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "pipe", tmp_path / "large.txt", "a\0b"):
        with pytest.raises(WeakspotError, match="cannot be read"):
            read_label_file(path)


# -- where parents come from -------------------------------------------------------------------------


def test_the_head_s_name_is_the_key(tmp_path: Path) -> None:
    file = written(tmp_path, "l.csv", "name,parent,wnid\ntabby,cat,n02123045\nfly,insect,\n")
    head = ["n02123045 tabby, tabby cat", "tabby, tabby cat", "n02123045", "Fly", "fence"]
    assert words_of(head, file=file) == {
        head[0]: LabelWords("tabby", "cat", "n02123045"),
        head[1]: LabelWords("tabby", "cat", "n02123045"),
        head[2]: LabelWords("tabby", "cat", "n02123045"),
        head[3]: LabelWords("Fly", "insect"),
        head[4]: LabelWords("fence"),
    }
    assert parents_of(head, file=file) == dict.fromkeys(head[:3], "cat") | {"Fly": "insect"}


def test_the_file_goes_first_and_wordnet_last(tmp_path: Path, wordnet: WordNet) -> None:
    file = written(tmp_path, "l.csv", "bird,animal\ncat\n")
    labels = ["bird", "cat", "tabby_cat", "crane (machine)"]
    known = {"bird": "vertebrate", "cat": "feline"}
    assert parents_of(labels, known=known, file=file, wordnet=wordnet) == {
        "bird": "animal",
        "cat": "feline",
        "tabby_cat": "cat",
        "crane (machine)": "machine",
    }
    assert parents_of(labels, known=known) == {**known, "crane (machine)": "machine"}
    assert parents_of(["bird"]) == {}
    assert parents_of([], file=file, wordnet=wordnet) == {}


def test_ids_in_a_file_lead_to_parents(tmp_path: Path, wordnet: WordNet) -> None:
    id = the_id(wordnet, "crane", 2)
    file = written(tmp_path, "l.json", {"0": [id, "crane"]})
    assert words_of(["crane"], file=file, wordnet=wordnet) == {"crane": LabelWords("crane", "device", id)}
    assert words_of([id], wordnet=wordnet) == {id: LabelWords("crane", "device", id)}


def test_a_label_with_two_meanings(wordnet: WordNet) -> None:
    with pytest.raises(AmbiguousLabel, match="'crane' has 2 meanings"):
        parents_of(["bird", "crane"], wordnet=wordnet)
    assert parents_of(["bird", "crane"], wordnet=wordnet, strict=False) == {"bird": "entity"}
    assert parents_of(["crane"], wordnet=wordnet, known={"crane": "bird"}) == {"crane": "bird"}
    assert parents_of(["crane"], wordnet=wordnet, senses={"crane": "crane.2"}) == {"crane": "device"}
    bird = the_id(wordnet, "crane", 1)
    assert words_of(["crane.1", "crane (bird)"], wordnet=wordnet) == {
        "crane.1": LabelWords("crane", "bird", bird),
        "crane (bird)": LabelWords("crane", "bird", bird),
    }
    with pytest.raises(AmbiguousLabel, match="no number 3"):
        words_of(["crane"], wordnet=wordnet, senses={"crane": "3"}, strict=False)


def test_what_nobody_knows_has_no_parent(wordnet: WordNet) -> None:
    assert words_of(["blorp", "entity"], wordnet=wordnet) == {
        "blorp": LabelWords("blorp"),
        "entity": LabelWords("entity", "", the_id(wordnet, "entity")),
    }
    with pytest.raises(UnknownWord):
        words_of(["blorp"], wordnet=wordnet, senses={"blorp": "1"})


def test_a_file_about_other_labels_is_an_error(tmp_path: Path) -> None:
    file = written(tmp_path, "l.csv", "butterfly,insect\nfence,barrier\n")
    with pytest.raises(WeakspotError, match="does not have 'buterfly'") as error:
        parents_of(["buterfly"], file=file)
    assert error.value.fix == "did you mean 'butterfly'?"
    with pytest.raises(WeakspotError, match="nor any other of 2 labels") as error:
        parents_of(["xyz", "q"], file=file)
    assert error.value.fix == "its first label is 'butterfly'"
    assert parents_of(["xyz", "fence"], file=file) == {"fence": "barrier"}


def test_a_name_that_is_there_twice(tmp_path: Path) -> None:
    file = written(
        tmp_path, "l.csv", "crane,bird,n02012849\ncrane,device,n03126707\nfly,insect\nfly,insect\n"
    )
    with pytest.raises(WeakspotError, match="'crane' twice: crane, bird, n02012849; crane, device") as error:
        parents_of(["crane"], file=file)
    assert error.value.fix
    assert parents_of(["crane", "fly"], file=file, strict=False) == {"fly": "insect"}
    assert parents_of(["n03126707 crane"], file=file) == {"n03126707 crane": "device"}
