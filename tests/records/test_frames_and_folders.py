"""Tables that live in Python, and folders that hold one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import WeakspotError
from weakspot.records.read import is_table, read_records
from weakspot.records.table import Kind
from weakspot.records.verdicts import read_judged


class Series:
    """As much of a series of polars or pandas as is asked for."""

    def __init__(self, name: str, values: Iterable[Any]) -> None:
        self.name, self.values = name, list(values)

    def to_list(self) -> list[Any]:
        return self.values

    def to_numpy(self) -> Any:
        return np.array(self.values)


class Polars:
    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.series = [Series(name, values) for name, values in columns.items()]

    def get_columns(self) -> list[Series]:
        return self.series

    def to_dicts(self) -> list[dict[str, Any]]:
        raise AssertionError("it takes memory")


class Pandas:
    def __init__(self, columns: dict[Any, list[Any]]) -> None:
        self.columns = list(columns)
        self.iloc = self
        self.series = [Series("", values) for values in columns.values()]

    def __getitem__(self, where: tuple[slice, int]) -> Series:
        return self.series[where[1]]

    def to_dict(self) -> dict[Any, Any]:
        raise AssertionError("names may be there twice")


COLUMNS: dict[str, list[Any]] = {"label": ["a", "b"], "prediction": ["a", "a"], "n": [1, 2]}


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        (Pandas(dict(COLUMNS)), "a pandas frame"),
        (Polars(COLUMNS), "a polars frame"),
        (COLUMNS, "a dict of columns"),
        (
            [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
            "a list of dicts",
        ),
    ],
)
def test_frames(given: Any, origin: str) -> None:
    assert is_table(given)
    judged = read_judged(given)
    assert judged.failed.tolist() == [False, True]
    assert judged.records.origin == origin
    assert judged.records.digest == ""
    assert judged.records.column("n").kind is Kind.NUMBER


def test_a_real_frame_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "label": pandas.Categorical(["a", "b", "a"]),
            "prediction": pandas.array(["a", "a", pandas.NA], dtype="string"),
            "when": pandas.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "zoned": pandas.to_datetime(["2024-01-01", None, "2024-01-03"], utc=True),
            "n": pandas.array([1, None, 3], dtype="Int64"),
            "night": [True, False, True],
            7: [0.5, np.nan, 1.5],
        }
    )
    records = read_records(frame)
    assert [column.kind for column in records.columns.values()] == [
        *(Kind.TEXT, Kind.TEXT, Kind.DATE, Kind.DATE, Kind.NUMBER, Kind.FLAG, Kind.NUMBER)
    ]
    assert records.column("n").present().tolist() == [True, False, True]
    assert records.column("zoned").present().tolist() == [True, False, True]
    judged = read_judged(frame)
    assert judged.failed.tolist() == [False, True]
    assert judged.left_out[0] == (3, "prediction is missing")


def test_a_real_frame_of_polars() -> None:
    polars = pytest.importorskip("polars")
    assert read_judged(polars.DataFrame(COLUMNS)).failed.tolist() == [False, True]


def test_a_row_that_is_no_dict_is_left_out() -> None:
    records = read_records([{"a": 1}, "x", {"a": 2}])
    assert records.lines.tolist() == [1, 3]
    assert records.left_out[0].line == 2


@pytest.mark.parametrize("given", [3, None, "nothing", [], [1], {}, {"a": 1}, object(), "world:classifier"])
def test_what_is_no_table(given: Any) -> None:
    assert not is_table(given)
    with pytest.raises(WeakspotError):
        read_records(given)


def test_what_is_a_table_is_seen_by_name_and_first_bytes(tmp_path: Path) -> None:
    for name, content, said in [
        ("a.csv", b"", True),
        ("a.CSV.GZ", b"", True),
        ("a.eval", b"PK", True),
        ("noending", b'{"a": 1}\n', True),
        ("other", b"PAR1", True),
        ("x.onnx", b"\x08\x07\x12", False),
        ("toy.py", b"import os", False),
        ("labels.txt", b"cat\ndog\n", False),
    ]:
        (tmp_path / name).write_bytes(content)
        assert is_table(tmp_path / name) is said, name
        assert is_table(str(tmp_path / name)) is said, name
    assert not is_table(tmp_path / "absent.csv")
    assert not is_table("x" * 10_000)
    assert not is_table("a\0b")


# Folders


def pictures(folder: Path) -> Path:
    for name in ("cat/1.png", "cat/2.png", "dog/3.png"):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(b"")
    return folder


def test_an_ordinary_folder_of_pictures_is_no_table(tmp_path: Path) -> None:
    pictures(tmp_path)
    assert not is_table(tmp_path)
    (tmp_path / "metadata.csv").write_text("file_name,label\ncat/1.png,cat\n")
    assert not is_table(tmp_path)
    with pytest.raises(WeakspotError, match="holds no table of predictions"):
        read_records(tmp_path)


@pytest.mark.parametrize("form", ["cat/1.png", "1.png"])
def test_folders_of_classes_with_predictions(tmp_path: Path, form: str) -> None:
    pictures(tmp_path)
    rows = [("cat/1.png", "cat"), ("dog/3.png", "cat"), ("dog/gone.png", "dog")]
    rows = [(name if "/" in form else name.partition("/")[2], said) for name, said in rows]
    (tmp_path / "predictions.csv").write_text("file,prediction\n" + "\n".join(map(",".join, rows)))
    assert is_table(tmp_path)
    judged = read_judged(tmp_path)
    assert judged.failed.tolist() == [False, True]
    assert judged.expected == ["cat", "dog"]
    assert judged.records.folder == str(tmp_path)
    assert judged.left_out[0].line == 4


def test_a_folder_of_pictures_with_metadata(tmp_path: Path) -> None:
    pictures(tmp_path)
    rows = [{"file_name": "cat/1.png", "label": "cat", "pred": "dog"}]
    (tmp_path / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert is_table(str(tmp_path))
    assert read_judged(tmp_path).roles.image == "file_name"


def test_data_sets_of_hugging_face(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "prediction": datasets.Value("int64"),
        }
    )
    rows = {"text": ["x", "y", "z"], "label": [0, 1, 1], "prediction": [0, 0, 1]}
    whole = datasets.Dataset.from_dict(rows, features=features)
    whole.save_to_disk(tmp_path / "saved")
    whole.save_to_disk(tmp_path / "shards", num_shards=2)
    datasets.DatasetDict(train=whole, test=whole).save_to_disk(tmp_path / "splits")
    (tmp_path / "parquet" / "data").mkdir(parents=True)
    for part in range(2):
        whole.shard(2, part).to_parquet(tmp_path / "parquet" / "data" / f"test-{part:05d}-of-00002.parquet")
    for name in ("saved", "shards", "parquet"):
        assert is_table(tmp_path / name)
        judged = read_judged(tmp_path / name)
        assert judged.expected == ["cat", "dog", "dog"]
        assert judged.answer == ["cat", "cat", "dog"]
        assert judged.failed.tolist() == [False, True, False]
        assert judged.records.digest
    records = read_records(tmp_path / "splits")
    assert records.column("split").values.tolist() == ["train"] * 3 + ["test"] * 3


def test_names_of_classes_beside_the_shards(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"label": [0, 1, -1]}), tmp_path / "x.parquet")
    info = {"default": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    (tmp_path / "dataset_infos.json").write_text(json.dumps(info))
    assert read_records(tmp_path).column("label").values.tolist() == ["cat", "dog", None]


def test_a_data_set_names_no_file_outside_its_folder(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"secret": [1]}), tmp_path / "secret.parquet")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../secret.parquet"}]}))
    assert not is_table(inside)
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "secret.parquet"}]}))
    (inside / "dataset_dict.json").write_text(json.dumps({"splits": ["..", 3, "a/../.."]}))
    assert not is_table(inside)
    (inside / "state.json").write_text(json.dumps({"_data_files": 3}))
    (inside / "dataset_dict.json").write_text("[]")
    assert not is_table(inside)
    (inside / "dataset_dict.json").write_text("[" * 100_000)
    assert not is_table(inside)
