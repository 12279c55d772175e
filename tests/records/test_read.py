"""Tables are read, whatever their format."""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import json
import lzma
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import WeakspotError
from weakspot.records.read import is_table, read_records
from weakspot.records.table import Kind, Records

ROWS = [
    {"image": "a.png", "label": "cat", "score": 0.9, "night": True, "taken": "2024-05-01"},
    {"image": "b.png", "label": "dog", "score": 0.25, "night": False, "taken": "2024-05-02"},
]
TEXT = "image,label,score,night,taken\na.png,cat,0.9,true,2024-05-01\nb.png,dog,0.25,false,2024-05-02\n"
KINDS = {
    "image": Kind.TEXT,
    "label": Kind.TEXT,
    "score": Kind.NUMBER,
    "night": Kind.FLAG,
    "taken": Kind.DATE,
}


def kinds(records: Records) -> dict[str, Kind]:
    return {name: column.kind for name, column in records.columns.items()}


def check(records: Records) -> None:
    """It is the table of two rows above."""
    assert kinds(records) == KINDS
    assert records.column("image").values.tolist() == ["a.png", "b.png"]
    assert records.column("score").values.tolist() == [0.9, 0.25]
    assert records.column("night").values.tolist() == [1, 0]
    assert records.column("taken").values[1] == np.datetime64("2024-05-02")


def columns(text: str, folder: Path, name: str = "t.csv") -> Records:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return read_records(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str, ending: str, bom: str) -> None:
    records = columns(bom + TEXT.replace(",", delimiter).replace("\n", ending), tmp_path)
    check(records)
    assert records.lines.tolist() == [2, 3]
    assert records.folder == str(tmp_path)


def test_utf_16(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TEXT, "utf-16")
    check(read_records(tmp_path / "t.csv"))


@pytest.mark.parametrize(
    ("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_packed_files(tmp_path: Path, ending: str, pack: Any) -> None:
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(pack(TEXT.encode()))
    records = read_records(path)
    check(records)
    assert is_table(path)
    assert records.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_zstandard(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with pyarrow.output_stream(str(tmp_path / "t.jsonl.zst"), compression="zstd") as file:
        file.write("\n".join(json.dumps(row) for row in ROWS).encode())
    check(read_records(tmp_path / "t.jsonl.zst"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", "\n".join(json.dumps(row) for row in ROWS)),
        ("t.json", "\n".join(json.dumps(row) for row in ROWS)),
        ("t.json", json.dumps(ROWS, indent=1)),
        ("t.jsonl", json.dumps(ROWS)),
        ("t.json", json.dumps({key: [row[key] for row in ROWS] for key in ROWS[0]})),
        ("t.json", json.dumps({key: {str(i): row[key] for i, row in enumerate(ROWS)} for key in ROWS[0]})),
        ("t.json", json.dumps({"model": "m", "rows": ROWS})),
    ],
)
def test_json_in_its_forms(tmp_path: Path, name: str, text: str) -> None:
    check(columns(text, tmp_path, name))


def test_nested_objects_become_dotted_columns(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "p": {"d": 0.5, "c": {"hue": "red"}}},
        {"id": 2, "p": {"d": "3"}},
        {"id": 3},
    ]
    records = columns("\n".join(map(json.dumps, rows)), tmp_path, "t.jsonl")
    assert kinds(records) == {"id": Kind.NUMBER, "p.d": Kind.NUMBER, "p.c.hue": Kind.TEXT}
    assert records.column("p.c.hue").values.tolist() == ["red", None, None]

    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "p"])
        writer.writerows([row["id"], json.dumps(row["p"])] for row in rows[:2])
    assert read_records(tmp_path / "t.csv").column("p.d").values.tolist() == [0.5, 3]


def test_an_object_with_many_names_stays_one_value(tmp_path: Path) -> None:
    rows = [{"p": {f"class {n}": 0.1 for n in range(1000)}}]
    assert list(columns(json.dumps(rows), tmp_path, "t.json").columns) == ["p"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e2", "", "NA", "nan", "None"], Kind.NUMBER),
        (["00123", "00124"], Kind.TEXT),
        (["12345678901234567", "12345678901234568"], Kind.TEXT),
        (["1_000", "2_000"], Kind.TEXT),
        (["١", "٢"], Kind.TEXT),
        (["yes", "No", ""], Kind.FLAG),
        (["yes", "no", "maybe"], Kind.TEXT),
        (["0", "1"], Kind.NUMBER),
        (["2024-01-31", "2024-02-01T10:30:00Z", "2024-02-01 10:30", "null"], Kind.DATE),
        (["2024-01-31", "2024-02-31"], Kind.TEXT),
        (['["a", "b"]', "[]"], Kind.LIST),
        ([f"[{', '.join('0.5' for _ in range(8))}]"] * 2, Kind.VECTOR),
        (["[1, 2]", "[3, 4]"], Kind.LIST),
        (["[1, 2", "[3, 4]"], Kind.TEXT),
        (["", ""], Kind.TEXT),
    ],
)
def test_what_a_column_holds(tmp_path: Path, cells: list[str], kind: Kind) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["row", "x"], *([n, cell] for n, cell in enumerate(cells))])
    assert read_records(tmp_path / "t.csv").column("x").kind is kind
    from_python = read_records([{"x": cell} for cell in cells])
    assert from_python.column("x").kind is kind


def test_missing_values(tmp_path: Path) -> None:
    records = columns("a,b,c\n1,x,2024-01-01\nNA,,\nnull,N/A,NaN\n", tmp_path)
    for column in records.columns.values():
        assert column.present().tolist() == [True, False, False]


def test_zero_and_one_are_no_and_yes_where_the_name_says_so(tmp_path: Path) -> None:
    found = kinds(columns("is_dark,dark,correct\n0,0,1\n1,1,0\n", tmp_path))
    assert found == {"is_dark": Kind.FLAG, "dark": Kind.NUMBER, "correct": Kind.FLAG}


def test_yes_and_no_stay_words_in_answers() -> None:
    found = kinds(read_records([{"label": "yes", "answer": "no", "dark": "yes"}]))
    assert found == {"label": Kind.TEXT, "answer": Kind.TEXT, "dark": Kind.FLAG}


def test_vectors_of_one_length_and_others() -> None:
    rows: list[dict[str, Any]] = [{"v": [0.5] * 8, "w": [1.0] * 8}, {"v": None, "w": [1.0] * 9}]
    records = read_records(rows)
    assert kinds(records) == {"v": Kind.VECTOR, "w": Kind.LIST}
    assert records.column("v").present().tolist() == [True, False]


# Broken and hostile files


def test_bad_rows_are_left_out_and_say_why(tmp_path: Path) -> None:
    records = columns("a,b\n1,2\n3\n\n4,5,6\n7,\udcff\n8,\0\n9,10\n", tmp_path)
    assert records.column("a").values.tolist() == [1, 9]
    assert records.lines.tolist() == [2, 8]
    assert [(line, why) for line, why in records.left_out] == [
        (3, "it has 1 cell, the header 2"),
        (5, "it has 3 cells, the header 2"),
        (6, "it is not UTF-8"),
        (7, "it has a NUL character"),
    ]


def test_bad_lines_of_json_are_left_out(tmp_path: Path) -> None:
    text = '{"a": 1}\n{"a": \n[1]\n\n{"a": "\udcff"}\n' + "[" * 100_000 + '\n{"a": 2}\n'
    records = columns(text, tmp_path, "t.jsonl")
    assert records.column("a").values.tolist() == [1, 2]
    assert [line for line, _ in records.left_out] == [2, 3, 5, 6]


def test_a_list_that_breaks_off_gives_what_comes_before(tmp_path: Path) -> None:
    records = columns('[{"a": 1}, {"a": 2}, {"a": ', tmp_path, "t.json")
    assert len(records) == 2
    assert records.left_out[0].line == 3


def test_a_quotation_mark_that_is_never_closed_costs_one_row(tmp_path: Path) -> None:
    rows = [f'{n},"text {n}"' for n in range(100)]
    rows[10] = '10,"text'
    records = columns("\n".join(["a,b", *rows]), tmp_path)
    assert len(records) == 99
    assert [left.line for left in records.left_out] == [12]
    rows[10] = "10,text 10"
    rows[-1] = '99,"text'
    assert len(columns("\n".join(["a,b", *rows]), tmp_path)) == 99


def test_many_such_marks_take_no_longer_than_the_file_allows(tmp_path: Path) -> None:
    begun = time.process_time()
    records = columns("a,b\n" + '1,"x\n' * 20_000 + "1,y\n" * 10, tmp_path)
    assert time.process_time() - begun < 10
    assert len(records) + len(records.left_out) > 1


def test_embedded_newlines_keep_the_numbers_of_lines(tmp_path: Path) -> None:
    records = columns('a,b\n1,"two\nlines"\n2,x\n', tmp_path)
    assert records.column("b").values.tolist() == ["two\nlines", "x"]
    assert records.lines.tolist() == [2, 4]


def test_a_huge_cell_is_left_out(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    records = columns(f"a,b\n1,{'x' * 2_000_000}\n2,y\n", tmp_path)
    assert records.left_out[0].reason == "a cell has more than 1,048,576 characters"
    assert csv.field_size_limit() == before


def test_names_that_are_used_twice_or_not_given(tmp_path: Path) -> None:
    records = columns(",a,a,\x1b[31mred,\n1,2,3,4,\n", tmp_path)
    assert list(records.columns) == ["index", "a", "a (2)", "[31mred"]
    assert "'a'" in records.notes[0]


def test_a_damaged_file_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    text = "a,b\n" + "".join(f"{n},{n * 7919 % 10007}\n" for n in range(200_000))
    packed = gzip.compress(text.encode())
    (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) * 9 // 10])
    records = read_records(tmp_path / "t.csv.gz")
    assert 100_000 < len(records) < 200_000
    assert "damaged" in records.left_out[-1].reason
    assert records.notes


def test_a_small_file_that_unpacks_to_a_huge_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weakspot.records.content.LARGEST", 1 << 20)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(WeakspotError, match="unpacked"):
        read_records(tmp_path / "t.csv.gz")


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n \n", "is empty"),
        ("t.csv", b"a,b\n", "has no rows"),
        ("t.csv", b"1,2\n3,4\n", "has numbers, not the names of columns"),
        ("t.csv", b"a,b\n1\n2\n", "no row of"),
        ("t.csv", b"\0\1\2\0\0" * 100, "is not text"),
        ("t.csv", b"a\xff,b\n1,2\n", "the first line of"),
        ("t.jsonl", b"{\n", "no row of"),
        ("t.json", b"{", "is not JSON"),
        ("t.json", b"[", "is not JSON"),
        ("t.json", b"[]", "has no rows"),
        ("t.json", b"[1, 2]", "no row of"),
        ("t.json", b'{"a": 1}', "holds no table"),
        ("t.json", b"[" * 200_000, "is not JSON"),
        ("t.jsonl", b"\n".join(b'{"k%d": 1}' % n for n in range(6000)), "more than 5,000 columns"),
        ("t.parquet", b"PAR1 and no more", "cannot be read as a table"),
        ("t.arrow", b"ARROW1 and no more", "cannot be read as a table"),
        ("t.csv.gz", b"\x1f\x8b and no more", "cannot be unpacked"),
    ],
)
def test_a_file_without_rows_says_what_is_wrong(tmp_path: Path, name: str, content: bytes, what: str) -> None:
    if name.endswith((".parquet", ".arrow")):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WeakspotError) as caught:
        read_records(tmp_path / name)
    assert what in caught.value.what
    assert caught.value.fix
    assert len(str(caught.value)) < 500


def test_a_wrong_name_gets_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "predictions.csv").write_text(TEXT)
    with pytest.raises(WeakspotError, match=r"did you mean 'predictions\.csv'"):
        read_records(tmp_path / "predictons.csv")


def test_halves_of_characters_are_replaced(tmp_path: Path) -> None:
    records = columns('{"a": "\\ud800x", "\\ud800b": 1}', tmp_path, "t.jsonl")
    assert records.column("a").values.tolist() == ["\ufffdx"]
    assert "b" in records.columns


# Arrow


def test_parquet_and_feather(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    rows = [
        {
            **row,
            "captions": ["a cat", "it sits"],
            "embedding": [0.5] * 16,
            "image": {"bytes": b"x" * 100, "path": row["image"]},
            "raw": b"bytes",
            "inner": {"hue": "red"},
            "category": "x",
            "big": 2**60,
            "maybe": None,
        }
        for row in ROWS
    ]
    table = pa.Table.from_pylist(rows)
    table = table.set_column(
        table.column_names.index("category"), "category", table["category"].dictionary_encode()
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    for records in (
        read_records(tmp_path / "t.parquet"),
        read_records(tmp_path / "t.feather"),
        read_records(table),
    ):
        others = {
            "captions": Kind.LIST,
            "embedding": Kind.VECTOR,
            "inner.hue": Kind.TEXT,
            "category": Kind.TEXT,
            "big": Kind.TEXT,
            "maybe": Kind.TEXT,
        }
        assert kinds(records) == KINDS | others
        assert records.column("image").values.tolist() == ["a.png", "b.png"]
        assert records.column("embedding").values.shape == (2, 16)
        assert records.column("big").values[0] == str(2**60)
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    assert len(read_records(tmp_path / "t.parquet.gz")) == 2


def test_typed_columns_of_arrow(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from datetime import UTC, date, datetime
    from decimal import Decimal

    moment = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    table = pa.table(
        {
            "when": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "day": pa.array([date(2024, 5, 1), None]),
            "price": pa.array([Decimal("1.5"), None]),
            "n": pa.array([3, None]),
            "night": pa.array([True, None]),
        }
    )
    records = read_records(table)
    found = [Kind.DATE, Kind.DATE, Kind.NUMBER, Kind.NUMBER, Kind.FLAG]
    assert list(kinds(records).values()) == found
    assert records.column("when").values[0] == np.datetime64("2024-05-01T12:30:00")
    for column in records.columns.values():
        assert column.present().tolist() == [True, False]


# Speed


def test_fifty_thousand_rows_of_forty_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(50_000, 20)).round(4).astype(str)
    words = rng.choice(["red", "green", "blue", "NA"], (50_000, 20))
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"c{n}" for n in range(40)])
        writer.writerows(np.hstack([numbers, words]).tolist())
    begun = time.process_time()
    records = read_records(tmp_path / "t.csv")
    assert time.process_time() - begun < 5
    assert list(kinds(records).values()) == [Kind.NUMBER] * 20 + [Kind.TEXT] * 20


def test_real_tables(data: Path) -> None:
    records = read_records(data / "data" / "imagenet-x" / "annotations.csv.gz")
    assert (len(records), len(records.columns)) == (48_868, 21)
    assert not records.left_out
    records = read_records(data / "data" / "blindtest" / "answers.csv.gz")
    assert records.column("parameters.distance").kind is Kind.NUMBER
    assert len(records) == 18_432


def test_parquet_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(WeakspotError, match=r"pip install 'weakspot\[data\]'"):
        read_records(tmp_path / "t.parquet")
    check(columns(TEXT, tmp_path))
