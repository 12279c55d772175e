"""Corpora: every way to name one, what counts as the same text, what is left out, and files nobody wants."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakspot.core import WeakspotError
from weakspot.sources.corpus import LONGEST, NOISE, LeftOut, Text, gather, read_corpus, read_phrases
from weakspot.text.plain import normal_form, one_line
from weakspot.world.grammar import parse

SAME = [
    "A dog runs , on the beach .",
    "a dog runs on the beach",
    "A DOG  runs\ton the beach!",
    "“A dog” runs on the—beach…",
    "A dog runs on the beach.",
]


@pytest.mark.parametrize("text", SAME)
def test_case_space_and_punctuation_make_no_difference(text: str) -> None:
    assert normal_form(text) == "a dog runs on the beach"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a man's dog", "a mans dog"),
        ("1,000 people", "1 000 people"),
        ("at 9.30", "at 930"),
        ("a red dog", "a read dog"),
        ("two dogs", "2 dogs"),
        ("a dog and a cat", "a cat and a dog"),
    ],
)
def test_words_and_numbers_do(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


def test_typographic_apostrophes_are_plain_ones() -> None:
    assert normal_form("It’s the dog’s") == normal_form("it's the dog's") == "it's the dog's"


@given(st.text())
def test_any_text_has_one_form_and_one_line(text: str) -> None:
    form = normal_form(text)
    assert form == " ".join(form.split())
    line = one_line(text)
    assert line == "" or (line.isprintable() and line == line.strip())
    line.encode()


def test_texts_are_counted_once(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("\n".join([*SAME, "", "  \t", "...", "A cat.", "x" * (LONGEST + 1)]))
    corpus = read_corpus(str(tmp_path / "c.txt"))
    assert corpus.texts == (SAME[0], "A cat.")
    assert corpus.counts == (5, 1)
    assert corpus.left_out == LeftOut(blank=3, long=1, noise=0, copies=4)
    assert len(corpus) == 2


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    for name in ("c.txt.gz", "c.txt"):
        (tmp_path / name).write_bytes(gzip.compress(b"one dog\nanother cat\n", mtime=0))
        assert read_corpus(str(tmp_path / name)).texts == ("one dog", "another cat")


def test_the_digest_is_that_of_the_texts_in_their_order(tmp_path: Path) -> None:
    def digest(content: str) -> str:
        (tmp_path / "c.txt").write_text(content)
        return read_corpus(str(tmp_path / "c.txt")).digest

    assert digest("a\nb\n") == digest("a\nb\na\n\n") != digest("b\na\n")


def test_noise_is_left_out_by_a_list_that_can_be_changed(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(
        "There is NO image, here to provide a caption for.\nI am unable to see an image above.\n"
        "A dog\nA cat\nNo imagery at all.\nA man with no image problems\n"
    )
    file = str(tmp_path / "c.txt")
    corpus = read_corpus(file)
    assert corpus.left_out.noise == 2
    assert "A man with no image problems" in corpus.texts  # phrases are whole words
    (tmp_path / "none.txt").write_text("# nothing\n")
    assert len(read_corpus(file, noise=tmp_path / "none.txt")) == 6
    (tmp_path / "dogs.txt").write_text("a DOG.\n")
    assert read_corpus(file, noise=tmp_path / "dogs.txt").left_out.noise == 1
    assert len(read_phrases(NOISE)) > 10
    with pytest.raises(WeakspotError, match=r"gone\.txt' cannot be read"):
        read_corpus(file, noise=tmp_path / "gone.txt")


def test_a_limit_stops_the_reading() -> None:
    def endless() -> Any:
        number = 0
        while True:
            yield Text(f"text {number // 2}")
            number += 1

    corpus = gather(endless(), name="endless", limit=50)
    assert len(corpus) == 50
    assert corpus.left_out.copies == 50


def test_coco(tmp_path: Path) -> None:
    content = {
        "images": [{"id": 7, "file_name": "7.jpg"}, {"id": 8}],
        "annotations": [
            {"image_id": 7, "caption": "A dog.\n"},
            {"image_id": 8, "caption": "a dog"},
            {"image_id": 7, "caption": "A cat."},
            {"image_id": [1], "caption": "A cow."},
            {"image_id": 7, "caption": None},
            "nonsense",
        ],
    }
    (tmp_path / "c.json").write_text(json.dumps(content))
    corpus = read_corpus(f"coco:{tmp_path / 'c.json'}")
    assert corpus.texts == ("A dog.", "A cat.", "A cow.")
    assert corpus.pictures == (("7.jpg", "8"), ("7.jpg",), ())
    (tmp_path / "i.json").write_text(json.dumps({"annotations": [{"bbox": []}]}))
    with pytest.raises(WeakspotError, match="has no captions") as error:
        read_corpus(f"coco:{tmp_path / 'i.json'}")
    assert "instances" in error.value.fix
    (tmp_path / "broken.json").write_text('{"annotations": [')
    with pytest.raises(WeakspotError, match="not a JSON file"):
        read_corpus(f"coco:{tmp_path / 'broken.json'}")


def test_snli(tmp_path: Path) -> None:
    rows = [
        {"sentence1": f"Premise {i // 2}.", "sentence2": "h", "captionID": f"{i}.jpg#1"} for i in range(6)
    ]
    (tmp_path / "snli_1.0_dev.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "snli_1.0_test.jsonl.gz").write_bytes(gzip.compress(json.dumps(rows[0]).encode(), mtime=0))
    corpus = read_corpus(f"snli:{tmp_path}")
    assert corpus.texts == ("Premise 0.", "Premise 1.", "Premise 2.")
    assert corpus.counts == (3, 2, 2)
    assert corpus.pictures[1] == ("2.jpg", "3.jpg")
    with pytest.raises(WeakspotError, match=r"no \.jsonl files"):
        read_corpus(f"snli:{tmp_path / 'gone'}")
    (tmp_path / "other.jsonl").write_text('{"text": 1}\n')
    with pytest.raises(WeakspotError, match=r"line 1 of .* has no 'sentence1'"):
        read_corpus(f"snli:{tmp_path / 'other.jsonl'}")


def test_the_world_speaks_for_itself() -> None:
    one, other = read_corpus("world?texts=60&seed=1"), read_corpus("world?texts=60&seed=2")
    assert one.digest == read_corpus("world?texts=60&seed=1").digest != other.digest
    assert 50 < len(one) <= 60
    for text in one.texts:
        parse(text)
    with pytest.raises(WeakspotError, match="has no option 'sed'"):
        read_corpus("world?sed=1")
    with pytest.raises(WeakspotError, match="texts cannot be 'many'"):
        read_corpus("world?texts=many")


class _Table:
    column_names = ("image", "caption")

    def __getitem__(self, name: str) -> list[Any]:
        return [["A dog.", "Some dog."], "A cat.", None]


def test_datasets_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the library, which is large and not needed otherwise."""
    asked: list[Any] = []

    def load_dataset(*args: Any, **kwargs: Any) -> _Table:
        asked.append((args, kwargs))
        if args[0] == "gone/gone":
            raise FileNotFoundError("no such data set\nand a long story")
        return _Table()

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    corpus = read_corpus("datasets:owner/name?split=validation")
    assert corpus.texts == ("A dog.", "Some dog.", "A cat.")
    assert corpus.pictures[0] == corpus.pictures[1] == ("row 0",)
    assert asked[0][0][0] == "owner/name"
    assert asked[0][1]["split"] == "validation"
    assert not asked[0][1].get("trust_remote_code")
    with pytest.raises(WeakspotError, match="has no column 'captoin'"):
        read_corpus("datasets:owner/name?column=captoin")
    with pytest.raises(WeakspotError, match="cannot be loaded: no such data set") as error:
        read_corpus("datasets:gone/gone")
    assert "long story" not in error.value.what
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(WeakspotError, match="missing") as error:
        read_corpus("datasets:owner/name")
    assert error.value.fix == "pip install 'weakspot[hf]'"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "has no texts"),
        (b"\n\n  \n", r"has no texts \(3 blank"),
        (b"one line\n", "has one text"),
        (b"one line\nOne line.\n", "has one text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is not text"),
        (b"good line\n" + bytes(range(128, 256)), "is not text"),
        ("zwölf\nzehn\n".encode("utf-16"), "is not text"),
        (gzip.compress(b"one dog\nanother\n" * 99, mtime=0)[:-9], "is damaged"),
        (b"\x1f\x8bnot gzip at all", "is damaged"),
    ],
)
def test_files_that_are_no_corpus(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "c.txt").write_bytes(content)
    with pytest.raises(WeakspotError, match=complaint) as error:
        read_corpus(str(tmp_path / "c.txt"))
    assert error.value.fix


def test_a_giant_line_is_passed_over_without_being_kept(tmp_path: Path) -> None:
    giant = b"word " * 2_000_000
    content = b"one dog\n" + giant + b"\nanother cat\n" + giant
    (tmp_path / "c.txt").write_bytes(content)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(content, 1, mtime=0))
    for name in ("c.txt", "c.txt.gz"):
        tracemalloc.start()
        corpus = read_corpus(str(tmp_path / name))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert corpus.texts == ("one dog", "another cat")
        assert corpus.left_out.long == 2
        assert peak < 2e6


@pytest.mark.parametrize("name", ["gone.txt", ".", "coco:", "coco:gone.json", "world:x", "a\0b"])
def test_names_that_name_nothing(name: str) -> None:
    with pytest.raises(WeakspotError) as error:
        read_corpus(name)
    assert error.value.fix


def test_real_captions(data: Path) -> None:
    """The same 24,759 texts by either file, as their lines differ in white space alone."""
    folder = data / "data" / "captions"
    text, coco = (read_corpus(n) for n in (str(folder / "coco-val2017.txt"),
                                           f"coco:{folder / 'coco-val2017-captions.json'}"))  # fmt: skip
    assert text.digest == coco.digest
    assert text.left_out == coco.left_out
    assert len(coco) == 24_759
    assert sum(coco.counts) + coco.left_out.noise == 25_014
    assert coco.left_out.noise == 14
    assert all(coco.pictures)
