"""Tables that are read piece by piece: the same findings as in memory, given the same sides."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix

import weakspot
from weakspot.concepts.columns import concepts_of, free_columns, holds, texts_of
from weakspot.concepts.finite.confirm import confirm
from weakspot.concepts.finite.propose import propose
from weakspot.core import WeakspotError
from weakspot.records import Roles
from weakspot.records.batches import pieces_of, sheets
from weakspot.records.read import read_records, records_like
from weakspot.records.verdicts import settled
from weakspot.studies.table.large import Sides
from weakspot.studies.table.parts import InPieces, load
from weakspot.studies.table.result import TableResult
from weakspot.studies.table.settings import TableSettings

N = 6_000
SMALL: dict[str, Any] = {"at_once": 1_000, "sample": 2_000}
SHARE = 2_000 / N


def rows_of(n: int = N, *, groups: int = 0, seed: int = 1) -> list[dict[str, Any]]:
    """A mixed table; half of the photographs of bridges fail, and of foggy ones at high speed."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        words = [str(one) for one in rng.choice(["dog", "cat", "bridge", "tree", "car", "boat"], 2)]
        weather, speed = str(rng.choice(["sun", "rain", "fog"])), float(rng.integers(0, 100))
        rate = 0.5 if "bridge" in words or (weather == "fog" and speed >= 50) else 0.05
        label = str(rng.choice(["a", "b", "c"]))
        row = {
            "label": label,
            "prediction": "another" if rng.random() < rate else label,
            "caption": f"a {words[0]} and the {words[1]}s in a park",
            "weather": weather if i % 50 else None,
            "speed": speed,
            "night": bool(rng.random() < 0.3),
            "day": f"2024-{rng.integers(1, 13):02}-{rng.integers(1, 28):02}",
            "code": str(rng.integers(0, 30)) if i % 100 else "unknown",
        }
        rows.append(row | ({"patient": f"p{rng.integers(0, groups)}"} if groups else {}))
    return rows


def parquet(folder: Path, rows: list[dict[str, Any]], shards: int = 3) -> Path:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as format

    folder.mkdir(exist_ok=True)
    for i, part in enumerate(np.array_split(np.arange(len(rows)), shards)):
        table = pa.Table.from_pylist([rows[j] for j in part])
        format.write_table(table, folder / f"part-{i:05}-of-{shards:05}.parquet", row_group_size=700)
    return folder


def comma_separated(path: Path, rows: list[dict[str, Any]], *, packed: bool = False) -> Path:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    content = file.getvalue().encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def hunted(target: Path | str, out: Path, **options: Any) -> TableResult:
    run = weakspot.hunt(str(target), out=out, **(SMALL | options))
    found = TableResult.of(run)
    assert found is not None
    return found


def test_the_sample_suggests_and_all_others_test(tmp_path: Path) -> None:
    """Step by step in memory, with the sides that follow from the numbers of rows."""
    pytest.importorskip("pyarrow")
    target = parquet(tmp_path / "table", rows_of())
    found = hunted(target, tmp_path / "run")
    records = read_records(target)
    side = Sides(0, "", SMALL["sample"] / N).suggest(records.lines.astype(np.uint64), None)
    sample, _ = settled(records.rows(side), Roles())
    others, _ = settled(records.rows(~side), Roles())
    assert (found.rows, found.sampled, found.tested) == (N, len(sample), len(others))
    concepts = concepts_of(sample, wordnet=wordnet())
    dear = np.array([concept.dear for concept in concepts.concepts])
    said = propose(concepts.rows, sample.failed, dear=dear)
    texts = texts_of(others.records, free_columns(sample))
    rows = csc_matrix(holds(concepts.concepts, others.records, texts).astype(np.float32))
    confirmed = confirm(rows, others.failed, said, fdr=0.05)
    expected = {
        frozenset(concepts.concepts[i].phrase for i in one.statement): (one.n, one.failures, one.p)
        for one in confirmed
    }
    spots = {frozenset(spot.says): (spot.rate.n, spot.rate.failures, spot.p) for spot in found.spots}
    assert len(spots) >= 2
    assert spots.items() <= expected.items()
    assert {"“bridge”"} in [set(says) for says in spots]
    assert all(spot.rows > spot.rate.n for spot in found.spots)


def wordnet() -> Any:
    settings = TableSettings(target="world:predictions")
    parts = load(settings)
    assert not isinstance(parts, InPieces)
    return parts.wordnet


def test_counts_are_those_of_the_whole_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = rows_of()
    found = hunted(parquet(tmp_path / "table", rows), tmp_path / "run")
    bridge = [row for row in rows if "bridge" in row["caption"]]
    spot = next(spot for spot in found.spots if spot.says == ("“bridge”",))
    assert spot.rows == len(bridge)
    assert spot.failures == sum(row["prediction"] != row["label"] for row in bridge)
    assert found.failures == sum(row["prediction"] != row["label"] for row in rows)
    assert spot.rate.n + spot.elsewhere.n == found.tested
    assert 0.3 < spot.rate.low < spot.rate.high < 0.7
    assert all(rows[one.line - 1]["prediction"] == "another" for one in spot.examples)


def test_formats_agree(tmp_path: Path) -> None:
    """Rows have other numbers in text files, so other rows suggest; what is found is the same."""
    pytest.importorskip("pyarrow")
    rows = rows_of()
    targets = {
        "Parquet": str(parquet(tmp_path / "table", rows)),
        "CSV": str(comma_separated(tmp_path / "one.csv", rows)),
        "packed": str(comma_separated(tmp_path / "two.csv.gz", rows, packed=True)),
        "lines": str(json_lines(tmp_path / "three.jsonl", rows)),
    }
    for i, part in enumerate(np.array_split(np.arange(N), 3)):
        comma_separated(tmp_path / f"shard-{i}.csv", [rows[j] for j in part])
    targets["shards"] = str(tmp_path / "shard-*.csv")
    told = {name: hunted(target, tmp_path / name) for name, target in targets.items()}
    first = told["Parquet"]
    bridge = next(spot for spot in first.spots if spot.says == ("“bridge”",))
    for name, found in told.items():
        assert (found.rows, found.failures, found.left_out) == (N, first.failures, 0), name
        same = next(spot for spot in found.spots if spot.says == ("“bridge”",))
        assert (same.rows, same.failures) == (bridge.rows, bridge.failures), name
        assert any({"weather is fog"} < set(spot.says) for spot in found.spots), name


def test_values_are_of_the_kind_that_the_sample_has(tmp_path: Path) -> None:
    """Codes are words because of one in a hundred, though most batches of a column would be numbers."""
    pytest.importorskip("pyarrow")
    rows = rows_of()
    for row in rows:
        if row["code"] == "7":
            row["prediction"] = "another"
    found = hunted(parquet(tmp_path / "table", rows), tmp_path / "run")
    spot = next(spot for spot in found.spots if spot.says == ("code is 7",))
    assert spot.rows == spot.failures == sum(row["code"] == "7" for row in rows)


def test_groups_stay_on_one_side(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = rows_of(groups=150)
    target = parquet(tmp_path / "table", rows)
    found = hunted(target, tmp_path / "run")
    assert ("patient", "rows that belong together") in found.columns
    pieces = pieces_of(target)
    assert pieces is not None
    sides = Sides(0, "patient", 0.2)
    suggest: dict[str, set[bool]] = {}
    for piece in pieces.pieces:
        for keys, sheet in sheets(piece):
            side = sides.suggest(keys, sides.groups(keys, sheet))
            for patient, one in zip(sheet.columns["patient"], side, strict=True):
                suggest.setdefault(patient, set()).add(bool(one))
    assert len(suggest) == 150
    assert all(len(one) == 1 for one in suggest.values())
    assert 10 < sum(one == {True} for one in suggest.values()) < 60
    patients = {patient for patient, one in suggest.items() if one == {False}}
    assert found.tested == sum(row["patient"] in patients for row in rows)
    assert 0 < found.sampled <= N - found.tested


def test_a_failure_of_one_group_is_no_finding(tmp_path: Path) -> None:
    """A word of one patient's rows that all fail: many rows, but one group in a few thousand parts."""
    pytest.importorskip("pyarrow")
    rows = rows_of(groups=60, seed=3)
    for row in rows:
        row["prediction"], row["caption"] = row["label"], "a dog in a park"
        if row["patient"] in ("p1", "p2"):
            row["prediction"], row["caption"] = "another", "a zebra in a park"
    found = hunted(parquet(tmp_path / "table", rows), tmp_path / "run", group="patient")
    assert not found.spots


def test_what_cannot_be_read_is_counted_once(tmp_path: Path) -> None:
    rows = rows_of()
    rows[10]["label"] = rows[4000]["label"] = ""
    path = comma_separated(tmp_path / "one.csv", rows)
    lines = path.read_text().splitlines(keepends=True)
    lines[100] = "only,three,cells\n"
    path.write_text("".join(lines))
    found = hunted(path, tmp_path / "run")
    assert (found.rows, found.left_out) == (N - 3, 3)
    assert {line for line, _ in found.reasons} == {12, 101, 4002}


def test_more_processes_and_one_give_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from weakspot.engine import LocalExecutor

    target = parquet(tmp_path / "table", rows_of())
    with LocalExecutor() as one:
        alone = weakspot.hunt(str(target), out=tmp_path / "one", executor=one, **SMALL)
    with LocalExecutor(processes=2) as two:
        both = weakspot.hunt(str(target), out=tmp_path / "two", executor=two, **SMALL)
    assert TableResult.of(alone) == TableResult.of(both)


@pytest.mark.long
def test_ray_gives_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("ray", reason="ray is not installed: pip install 'weakspot[scale]'")
    target = parquet(tmp_path / "table", rows_of())
    here = hunted(target, tmp_path / "here")
    there = hunted(target, tmp_path / "there", executor="ray?cpus=2&store=200&source=2")
    assert here == there


def test_a_small_table_needs_no_pieces(tmp_path: Path) -> None:
    path = comma_separated(tmp_path / "one.csv", rows_of(500))
    assert not isinstance(load(TableSettings(target=str(path))), InPieces)
    assert isinstance(load(TableSettings(target=str(path), at_once=100)), InPieces)


def test_at_most_half_of_the_rows_suggest(tmp_path: Path) -> None:
    path = comma_separated(tmp_path / "one.csv", rows_of(2_000))
    found = hunted(path, tmp_path / "run", sample=10_000)
    assert 800 < found.sampled < 1_200
    assert found.sampled + found.tested == 2_000


def test_a_resumed_run_is_not_gone_on_with_over_another_table(tmp_path: Path) -> None:
    path = comma_separated(tmp_path / "one.csv", rows_of(2_000))
    run = weakspot.hunt(str(path), out=tmp_path / "run", **SMALL)
    folder = run.folder
    run.close()
    with weakspot_open(folder) as again:
        again.ledger.set_fact("state", "running")
    comma_separated(path, rows_of(2_000, seed=9))
    with pytest.raises(WeakspotError, match="not the one this run began with"):
        weakspot.resume(folder)


def weakspot_open(folder: Path) -> Any:
    from weakspot.store import Run

    return Run.open(folder)


@pytest.mark.long
def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    """Four times the rows, and about the same memory while they are counted."""
    import tracemalloc

    from weakspot.studies.table.large import Plan, count

    pytest.importorskip("pyarrow")
    rows = rows_of(20_000)
    peaks = []
    for times in (4, 16):
        target = parquet(tmp_path / f"table-{times}", rows * times, shards=1)
        settings = TableSettings(target=str(target), **SMALL)
        pieces = pieces_of(settings.target)
        assert pieces is not None
        answers, texts = ("label", "prediction", ""), ("caption",)
        plan = Plan(Sides(0, "", 0.01), rule_of(rows), kinds_of(rows), answers, texts, (), (), {})
        tracemalloc.start()
        for piece in pieces.pieces:
            count(plan, piece)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def rule_of(rows: list[dict[str, Any]]) -> Any:
    return settled(read_records(rows[:500]), Roles())[1]


def kinds_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: column.kind for name, column in read_records(rows[:500]).columns.items()}


KINDS: list[dict[str, Any]] = [
    {
        "label": i % 3,
        "prediction": (i + (i % 7 == 0)) % 3,
        "caption": ["a dog at the sea", "two dogs, red ones", "nobody is here"][i % 3],
        "count": None if i % 11 == 0 else i % 5,
        "size": round((i * 37 % 101) / 7, 3),
        "dark": None if i % 13 == 0 else i % 2 == 0,
        "day": f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}T{i % 24:02}:00:00",
        "tags": [["a", "b"], ["b"], [], ["c", "a"]][i * 7 % 17 % 4],
        "camera": {"maker": ["x", "y"][i % 2], "zoom": i % 20, "settings": {"iso": str(i % 4 * 100)}},
        "mixed": "none of these" if i == 299 else str(i % 3),
    }
    for i in range(300)
]


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_every_concept_holds_of_the_same_rows_in_pieces(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weakspot.records.batches.SIZE", 40)
    path = tmp_path / f"table.{form}"
    if form == "parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet as format

        features = {"label": {"names": ["cat", "dog", "fox"], "_type": "ClassLabel"}}
        schema = {"huggingface": json.dumps({"info": {"features": features}})}
        table = pa.Table.from_pylist(KINDS).replace_schema_metadata(schema)
        format.write_table(table, path, row_group_size=90)
    elif form == "jsonl":
        json_lines(path, KINDS)
    else:
        cells = [{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in r.items()} for r in KINDS]
        comma_separated(path, cells)
    whole, rule = settled(read_records(path), Roles())
    concepts = concepts_of(whole)
    columns = whole.records.columns
    assert {c.column for c in concepts.concepts} >= {"camera.maker", "camera.settings.iso", "tags", "day"}
    free = free_columns(whole)
    pieces = pieces_of(path)
    assert pieces is not None
    kinds, found, failed = {name: column.kind for name, column in columns.items()}, [], []
    for piece in pieces.pieces:
        for _, sheet in sheets(piece, columns=kinds):
            records = records_like(sheet, kinds, ("label", "prediction", ""))
            found.append(holds(concepts.concepts, records, texts_of(records, free)))
            failed.append(rule(records).failed)
    assert len(found) > 5
    np.testing.assert_array_equal(np.vstack(found), concepts.rows.toarray() > 0)
    np.testing.assert_array_equal(np.concatenate(failed), whole.failed)


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    target = parquet(tmp_path / "table", rows_of(2_000))
    shard = sorted(target.iterdir())[1]
    content = bytearray(shard.read_bytes())
    content[100:3000] = bytes(2900)
    shard.write_bytes(bytes(content))
    with pytest.raises(WeakspotError, match=shard.name):
        hunted(target, tmp_path / "run")


def test_a_damaged_packed_file_gives_what_comes_before(tmp_path: Path) -> None:
    path = comma_separated(tmp_path / "one.csv.gz", rows_of(), packed=True)
    path.write_bytes(path.read_bytes()[:-2000])
    found = hunted(path, tmp_path / "run")
    assert 1_000 < found.rows < N
    assert any("damaged from here on" in reason for _, reason in found.reasons)
