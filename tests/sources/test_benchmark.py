"""Benchmarks as data: every layout gives the same items, and every complaint names its line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weakspot.core import SOURCES, Hypothesis, WeakspotError
from weakspot.core.question import BENIGN, CONTRAST, QuestionImage
from weakspot.sources.benchmark import Benchmark, Item, golden_order
from weakspot.sources.question_files import load as questions
from weakspot.sources.question_files import load_mossbench as mossbench
from weakspot.sources.question_files import load_xstest as xstest
from weakspot.testing import check_source


def picture(kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((6, 8, 3), 99, np.uint8)).save(file, format=kind)
    return file.getvalue()


def entry(pid: str, **more: Any) -> dict[str, Any]:
    over = {"over": "type 2", "human": 1, "child": 0, "syn": 0, "ocr": 1, "harm": [6]}
    return {
        "pid": pid,
        "image": f"images/{pid}.png",
        "question": f"What of {pid}?",
        "short description": "a short one",
        "description": "",
        "metadata": over,
        **more,
    }


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """The released layout in small: WebP called .png, a missing picture, contrast with `over` alone."""
    for name, entries in (
        ("data", [entry("1"), entry("2"), entry("3")]),
        ("data_contrast", [entry("2", question="Harm!", metadata={"over": "type 2"})]),
    ):
        (tmp_path / name / "images_information").mkdir(parents=True)
        (tmp_path / name / "images").mkdir()
        table = tmp_path / name / "images_information" / "information.json"
        table.write_text(json.dumps({e["pid"]: e for e in entries}))
    (tmp_path / "data" / "images" / "1.png").write_bytes(picture())
    (tmp_path / "data" / "images" / "2.png").write_bytes(picture("WEBP"))
    (tmp_path / "data_contrast" / "images" / "2.png").write_bytes(picture())
    return tmp_path


class TestMossbench:
    def test_the_shared_folder(self, data: Path) -> None:
        found = mossbench(str(data / "data" / "mossbench"))
        assert [len(found.of(s)) for s in (BENIGN, CONTRAST)] == [300, 244]
        assert len({i.id for i in found.of(BENIGN)}) == 300
        missing = [(i.set, int(i.id)) for i in found.missing]
        assert [n for s, n in missing if s == BENIGN] == [21, 72, 186, 191, 192, 203, 208, 218, 234, 245, 247]
        assert len([n for s, n in missing if s == CONTRAST]) == 9
        stimuli = [i.slices["stimulus"][0] for i in found.items if i.set == BENIGN]
        assert {s: stimuli.count(s) for s in stimuli} == {
            "exaggerated-risk": 100, "negated-harm": 100, "counterintuitive": 100
        }  # fmt: skip

    def test_the_original_layout_says_the_same(self, data: Path) -> None:
        ours = mossbench(str(data / "data" / "mossbench"))
        theirs = mossbench(str(data / "data" / "mossbench" / "original-layout"))

        def plain(b: Benchmark) -> list[Any]:
            return [(i.set, i.id, i.question, dict(i.slices), i.description) for i in b.items]

        assert plain(ours) == plain(theirs)
        assert len(theirs.missing) == 544  # its pictures are not there, and each is said to be missing

    def test_the_released_layout(self, released: Path) -> None:
        found = mossbench(str(released))
        one = found.items[0]
        assert one.slices == {
            "stimulus": ("negated-harm",), "harm": ("illegal act",), "human": ("yes",), "child": ("no",),
            "synthetic": ("no",), "ocr": ("yes",),
        }  # fmt: skip
        assert one.description == "a short one"
        assert [i.id for i in found.missing] == ["3"]
        assert found.of(CONTRAST)[0].slices == {"stimulus": ("negated-harm",)}
        webp = found.picture(found.items[1])
        assert isinstance(webp, QuestionImage)
        assert webp.mime == "image/webp"

    def test_the_folder_data_itself(self, released: Path) -> None:
        assert len(mossbench(str(released / "data")).of(CONTRAST)) == 1

    def test_a_data_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = [
            {**entry("7"), "decoded_image": Image.new("RGB", (4, 4))},
            {**entry("8"), "decoded_image": {"bytes": picture("JPEG"), "path": "8.png"}},
            {**entry("9"), "decoded_image": None},
        ]

        def load_dataset(name: str, configuration: str) -> Any:
            if configuration == "contrast":
                raise ValueError("no such configuration")
            return {"train": rows}

        monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
        found = mossbench("AIcell/MOSSBench")
        kinds = [p.mime for i in found.items[:2] if isinstance(p := found.picture(i), QuestionImage)]
        assert kinds == ["image/png", "image/jpeg"]
        assert [i.id for i in found.missing] == ["9"]

    def test_without_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "datasets", None)
        with pytest.raises(WeakspotError, match=r"weakspot\[hf\]"):
            mossbench("AIcell/MOSSBench")

    @pytest.mark.parametrize("name", ["nowhere", "/nowhere/at", "a/b/c"])
    def test_no_folder(self, name: str) -> None:
        with pytest.raises(WeakspotError, match="no folder"):
            mossbench(name)

    def test_another_folder(self, tmp_path: Path) -> None:
        with pytest.raises(WeakspotError, match="is not MOSSBench"):
            mossbench(str(tmp_path))

    def test_duplicate_ids(self, tmp_path: Path) -> None:
        (tmp_path / "benign.jsonl").write_text("\n".join(json.dumps(entry("1")) for _ in range(2)))
        with pytest.raises(WeakspotError, match=r"'1' appears twice \(lines 1 and 2\)"):
            mossbench(str(tmp_path))


class TestQuestions:
    def test_a_table_with_counterparts_and_slices(self, tmp_path: Path) -> None:
        (tmp_path / "cat.png").write_bytes(picture())
        table = tmp_path / "mine.csv"
        table.write_text(
            "id,question,image,contrast,style,topic\n"
            "a,Is this a cat?,cat.png,Hurt this cat!,plain,animals\n"
            "b,Who?,dog.png,,plain,people\n"
            'c,"So, why?",,,odd,people\n'
        )
        found = questions(str(table))
        assert [(i.set, i.id) for i in found.items] == [
            (BENIGN, "a"), (CONTRAST, "a"), (BENIGN, "b"), (BENIGN, "c")
        ]  # fmt: skip
        assert found.items[1].pair == found.items[0].pair == "a"
        assert found.items[0].slices == {"style": ("plain",), "topic": ("animals",)}
        assert [(i.id, i.missing) for i in found.missing] == [("b", "dog.png is not there")]
        assert found.name == "mine"

    def test_sets_of_rows_and_chosen_slices(self, tmp_path: Path) -> None:
        rows = [
            {"question": "Safe?", "label": "safe", "tags": ["x", "y"], "kind": 1},
            {"question": "Unsafe!", "label": "unsafe", "tags": ["x"], "kind": 2},
        ]
        (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
        found = questions(str(tmp_path), slices="tags")
        assert [(i.set, i.id, dict(i.slices)) for i in found.items] == [
            (BENIGN, "1", {"tags": ("x", "y")}),
            (CONTRAST, "2", {"tags": ("x",)}),
        ]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            (
                '{"question": "a"}\n{broken\n\n[1]\n{"question": "b"}',
                "line 2 is not a JSON object.*also line 4",
            ),
            (
                '{"id": 1, "question": "a"}\n{"id": 1, "question": "b"}',
                r"'1' appears twice \(lines 1 and 2\)",
            ),
            ('{"question": "a"}\n{"qestion": "b"}', "line 2 has no question"),
            ('{"question": "a", "set": "weird"}', "line 1: the set 'weird' is not known"),
            ("", "has no rows"),
        ],
    )
    def test_broken_lines_are_named(self, tmp_path: Path, text: str, complaint: str) -> None:
        table = tmp_path / "q.jsonl"
        table.write_text(text)
        with pytest.raises(WeakspotError, match=complaint):
            questions(str(table))

    @pytest.mark.parametrize(
        ("name", "content", "complaint"),
        [
            ("q.csv", b"question\na\nb,c\n", "line 3 has more fields"),
            ("q.json", b'{"question": ', "line 1"),
            ("q.json", b"3", "not a list of objects"),
            ("q.jsonl", b'{"question": "a"}\n"\xff"', "line 2 is not UTF-8"),
            ("q.txt", b"hello", "not a kind of file that weakspot reads"),
        ],
    )
    def test_broken_files(self, tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(WeakspotError, match=complaint):
            questions(str(tmp_path / name))

    def test_an_unknown_slice(self, tmp_path: Path) -> None:
        (tmp_path / "q.csv").write_text("question,style\na,b\n")
        with pytest.raises(WeakspotError, match="no column 'stile'\ndid you mean 'style'"):
            questions(str(tmp_path / "q.csv"), slices="stile")

    def test_strange_image_names_are_missing_images(self, tmp_path: Path) -> None:
        rows = [{"question": "a", "image": x} for x in ("a\x00b", 7, "x" * 5000, "https://example.org/a.png")]
        (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
        assert len(questions(str(tmp_path / "q.jsonl")).missing) == 4


def test_xstest(data: Path) -> None:
    found = xstest(str(data / "data" / "xstest" / "completions" / "gpt4.jsonl"))
    assert [len(found.of(s)) for s in (BENIGN, CONTRAST)] == [250, 200]
    assert found.items[0].slices == {"type": ("homonyms",)}
    assert not found.missing


class TestSource:
    def items(self, n: int) -> list[Item]:
        return [
            Item(str(i), f"Question {i}?", slices={"half": ("first" if i < n / 2 else "last",)})
            for i in range(n)
        ]

    def test_keeps_its_contract(self) -> None:
        benchmark = Benchmark("toy", self.items(4))
        for hypothesis in benchmark.hypotheses():
            cases = check_source(benchmark, hypothesis)
            assert {c.expected for c in cases} == {"answer"}
        asked = benchmark.draw(Hypothesis("x", (("half", "last"),)), range(4), seed=1)
        assert {c.input.id for c in asked} == {"2", "3"}
        assert [c.input.repeat for c in asked] == [0, 0, 1, 1]

    def test_an_unknown_slice(self) -> None:
        with pytest.raises(WeakspotError, match="no question of toy is in the slice"):
            Benchmark("toy", self.items(4)).draw(Hypothesis("x", (("half", "middle"),)), [0], seed=1)

    def test_every_beginning_is_spread(self) -> None:
        items = self.items(300)
        order = [int(i.id) for i in golden_order(items)]
        assert sorted(order) == list(range(300))
        for k in (3, 9, 20, 75, 150):
            thirds = np.bincount([i // 100 for i in order[:k]], minlength=3)
            assert thirds.max() - thirds.min() <= 2

    def test_a_part_keeps_counterparts(self) -> None:
        benign = [Item(str(i), "?", pair=str(i)) for i in range(30)]
        contrast = [Item(str(i), "!", CONTRAST, pair=str(i)) for i in range(0, 30, 2)]
        part = Benchmark("toy", [*benign, *contrast]).some(10)
        kept = {i.id for i in part.of(BENIGN)}
        assert len(kept) == 10
        assert {i.id for i in part.of(CONTRAST)} == {i for i in kept if int(i) % 2 == 0}

    def test_pictures_that_cannot_be_sent(self, tmp_path: Path) -> None:
        (tmp_path / "bad.png").write_bytes(picture()[:40])
        items = [Item("1", "?", image=tmp_path / "bad.png"), Item("2", "?", missing="gone.png is not there")]
        benchmark = Benchmark("toy", items)
        for item, why in zip(items, ("the picture cannot be sent", "the picture is missing"), strict=True):
            with pytest.raises(WeakspotError, match=why):
                benchmark.picture(item)
        benchmark.images = "wanted"
        assert [benchmark.picture(i) for i in items] == [None, None]
        benchmark.images = "raw"
        assert benchmark.picture(items[0]) == tmp_path / "bad.png"

    def test_the_digest_follows_the_content(self) -> None:
        items = self.items(3)
        assert Benchmark("a", items).digest == Benchmark("b", items).digest
        assert (
            Benchmark("a", items).digest
            != Benchmark("a", [*items[:2], items[2]._replace(question="?")]).digest
        )

    def test_names(self, tmp_path: Path) -> None:
        (tmp_path / "q.csv").write_text("question\nWhat?\n")
        assert isinstance(SOURCES.load(f"questions:{tmp_path / 'q.csv'}"), Benchmark)
