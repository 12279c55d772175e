"""Rows of a table as cells: each in its own, none twice, none on both sides, verdicts as recorded."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from weakspot.concepts.recorded import CATEGORIES, cells_of, cuts_of, space_of
from weakspot.concepts.space import space_from
from weakspot.core import Hypothesis, Stage, Status, WeakspotError
from weakspot.core.ports import Counted, Finite
from weakspot.records import Column, Judged, Kind, Records, Roles
from weakspot.sources.recorded_cells import RecordedAnswers, RecordedCells, RecordedRow, RecordedVerdicts
from weakspot.store import encode
from weakspot.testing import check_judge, check_source, check_target

N = 300


def column(name: str, values: object, kind: Kind | None = None) -> Column:
    array: NDArray[np.generic] = np.asarray(values)
    if array.dtype.kind in "biuf":
        return Column(name, kind or Kind.NUMBER, array.astype(float))
    return Column(name, kind or Kind.TEXT, array if kind is Kind.DATE else np.array(values, object))


def records(**columns: object) -> Records:
    made = {name: c if isinstance(c, Column) else column(name, c) for name, c in columns.items()}
    size = len(next(iter(made.values())).values)
    return Records("answers.csv", "CSV", made, np.arange(2, size + 2))


def judged(of: Records, *, failed: object = None, roles: Roles | None = None) -> Judged:
    verdicts = np.zeros(len(of), bool) if failed is None else np.asarray(failed, bool)
    said = ["cat" if wrong else "dog" for wrong in verdicts]
    return Judged(
        of,
        roles or Roles(label="label", prediction="prediction"),
        verdicts,
        "prediction differs from label",
        ["dog"] * len(of),
        said,
        np.full(len(of), np.nan),
    )


@pytest.fixture
def table() -> Judged:
    rng = np.random.default_rng(0)
    size = rng.integers(1, 4, N)
    light = rng.choice(["day", "night"], N)
    patient = [f"p{i}" for i in rng.integers(0, 40, N)]
    return judged(records(size=size, light=light, patient=patient), failed=light == "night")


def source_of(table: Judged, **more: object) -> RecordedCells:
    columns = ("size", "light")
    return RecordedCells(table, space=space_of(table.records, columns), columns=columns, **more)  # type: ignore[arg-type]


def drawn(source: RecordedCells, where: Hypothesis, stage: Stage, seed: int = 0) -> list[int]:
    last = source.available(where, seed=seed, stage=stage)
    return [c.input.number for c in source.draw(where, range(stage.start, stage.start + last), seed=seed)]


def test_it_keeps_what_ports_promise(table: Judged) -> None:
    source = source_of(table)
    cell = source.space.hypothesis(0)
    cases = check_source(source, cell, n=8)
    outputs = check_target(RecordedAnswers(table), cases)
    check_judge(RecordedVerdicts(table), cases, outputs)
    assert isinstance(source, Finite)
    assert isinstance(source, Counted)
    assert pickle.loads(pickle.dumps(cases[0].input)) == cases[0].input


def test_a_cell_draws_its_own_rows_each_once(table: Judged) -> None:
    source = source_of(table)
    seen: list[int] = []
    for cell in range(source.space.size):
        where, own = source.space.hypothesis(cell), source.space.assignment(cell)
        for stage in Stage:
            rows = drawn(source, where, stage)
            assert len(rows) == len({*rows})
            seen += rows
            for row in rows:
                assert table.records.columns["light"].values[row] == own["light"]
                assert table.records.columns["size"].values[row] == float(own["size"])
        assert source.population[cell] == sum(len(drawn(source, where, stage)) for stage in Stage)
        assert source.searched[cell] == len(drawn(source, where, Stage.EXPLORE))
    assert sorted(seen) == list(range(N))


def test_no_row_is_explored_and_confirmed(table: Judged) -> None:
    source = source_of(table, seed=3)
    region = source.space.hypothesis(((0, 1), (1,)))
    for where in (region, source.space.outside()):
        first, second = (drawn(source, where, stage, seed=3) for stage in Stage)
        assert first
        assert second
        assert not {*first} & {*second}
    parts = source.shared_out
    assert {name: len(rows) for name, rows in parts.items()} == pytest.approx(
        {"discovery": 0.6 * N, "confirmation": 0.4 * N}, abs=6
    )
    # Every cell is shared out in the same way, not only the whole.
    assert (np.abs(source.searched - 0.6 * source.population) <= 1).all()


def test_groups_stay_on_one_side(table: Judged) -> None:
    grouped = judged(table.records, failed=table.failed, roles=Roles(group="patient"))
    parts = source_of(grouped).shared_out
    patients = [{table.records.columns["patient"].values[row] for row in rows} for rows in parts.values()]
    assert not patients[0] & patients[1]


def test_the_seed_decides(table: Judged) -> None:
    where = source_of(table).space.hypothesis(1)
    assert drawn(source_of(table), where, Stage.EXPLORE) == drawn(source_of(table), where, Stage.EXPLORE)
    assert source_of(table).shared_out != source_of(table, seed=1).shared_out
    assert source_of(table).digest == source_of(table).digest != source_of(table, seed=1).digest
    other = judged(table.records, failed=~table.failed)
    assert source_of(other).digest == source_of(table).digest  # two models can be compared on the same rows
    assert RecordedAnswers(other).digest != RecordedAnswers(table).digest


def test_more_rows_than_there_are_is_an_error(table: Judged) -> None:
    source = source_of(table)
    where = source.space.hypothesis(0)
    last = source.available(where, seed=0, stage=Stage.EXPLORE)
    with pytest.raises(WeakspotError, match="rows are there"):
        source.draw(where, [last], seed=0)


def test_answers_and_verdicts_are_the_recorded_ones(table: Judged) -> None:
    source = source_of(table)
    night = source.space.hypothesis(((0, 1, 2), (1,)))
    cases = source.draw(night, range(5), seed=0)
    outputs = RecordedAnswers(table).answer(cases)
    assert [(c.expected, o.answer, o.status) for c, o in zip(cases, outputs, strict=True)] == [
        ("dog", "cat", Status.OK)
    ] * 5
    verdicts = RecordedVerdicts(table).judge(cases, outputs)
    assert all(v.failed and v.reason == "prediction differs from label" for v in verdicts)
    assert cases[0].caption == f"line {table.records.lines[cases[0].input.number]}"


def test_evidence_is_the_picture_or_the_words(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "red.webp")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    red = encode(RecordedRow(0, "a red square", str(tmp_path / "red.webp")))
    assert red is not None
    assert red.startswith(b"\x89PNG")
    for image in ("", str(tmp_path / "broken.png"), str(tmp_path), "gone.png", "a\x00b.png"):
        assert encode(RecordedRow(0, "a red square", image)) == b"a red square"
    assert encode(RecordedRow(0, "")) is None


def test_rows_without_a_value_lie_in_no_cell() -> None:
    of = records(size=[1.0, 2.0, np.nan, 1.0], light=["day", "night", "day", None])
    source = source_of(judged(of))
    assert source.cells.tolist() == [0, 3, -1, -1]
    assert source.outside == 2
    assert source.population.tolist() == [1, 0, 0, 1]
    nothing = records(size=[np.nan, 1.0, 2.0], light=["day", None, None])
    with pytest.raises(WeakspotError, match=r"no row .* has a value of each of size, light"):
        RecordedCells(judged(nothing), space=source.space, columns=("size", "light"))


# -- columns as axes ---------------------------------------------------------------------------------


def test_numbers_are_cut_at_round_bounds() -> None:
    values = np.random.default_rng(0).uniform(0, 1, 1000)
    [axis] = space_of(records(distance=values), ["distance"]).axes
    assert axis.metric == "ordered"
    assert len(axis.values) <= 6
    assert axis.values[0].startswith("under 0.")
    assert axis.values[-1].endswith(" or more")
    assert all(len(f"{cut:g}") <= 4 for cut in axis.cuts)
    counts = np.histogram(values, [0, *axis.cuts, 1])[0]
    assert counts.min() >= 80
    assert axis.phrase([0]) == f"distance under {axis.cuts[0]:g}"
    assert axis.phrase([1, 2]) == f"distance {axis.cuts[0]:g} to {axis.cuts[2]:g}"
    assert axis.phrase([2, 3, 4, 5]) == f"distance {axis.cuts[1]:g} or more"
    assert axis.phrase([0, 2]).count(" or ") == 1


@pytest.mark.parametrize(
    ("values", "cuts"),
    [
        ([0.0] * 90 + [*range(10)], None),  # nearly all are one number
        ([*range(-20, 20)], None),
        ([1e300 * i for i in range(1, 30)], None),
        ([5e-324 * i for i in range(1, 30)], None),
        ([10.0**i for i in range(-9, 9)], None),
        ([*range(1000)], (200.0, 300.0, 500.0, 700.0, 800.0)),
    ],
)
def test_no_range_is_empty(values: list[float], cuts: tuple[float, ...] | None) -> None:
    found = cuts_of(np.array(values, float))
    assert 1 <= len(found) <= 5
    if cuts is not None:
        assert found == cuts
    assert (np.bincount(np.searchsorted(found, values, side="right"), minlength=len(found) + 1) > 0).all()
    [axis] = space_of(records(x=np.array(values, float)), ["x"]).axes
    assert len({*axis.values}) == len(found) + 1


def test_every_kind_of_column_is_an_axis_and_comes_back_from_json() -> None:
    rng = np.random.default_rng(1)
    of = records(
        depth=rng.choice([2.0, 0.25, 4.0], N),
        night=column("night", rng.integers(0, 2, N), Kind.FLAG),
        day=column("day", np.datetime64("2023-11-01T00:00:00") + rng.integers(0, 90, N) * 86400, Kind.DATE),
        years=column(
            "years", np.datetime64("1990-01-01T00:00:00") + rng.integers(0, 9999, N) * 86400, Kind.DATE
        ),
        breed=[f"breed {i}" for i in rng.zipf(1.5, N) % 60],
        **{"pixel size (µm)": rng.normal(size=N)},
    )
    names = list(of.columns)
    for name in names:
        space = space_of(of, [name])
        cells = cells_of(of, [name], space)
        assert (cells >= 0).all()
        assert (np.bincount(cells, minlength=space.size) > 0).all()  # no value without a row
        again = space_from(space.to_json())
        assert again == space
        assert (cells_of(of, [name], again) == cells).all()
    axes = {axis.name: axis for axis in (space_of(of, [name]).axes[0] for name in names)}
    assert axes["depth"].values == ("0.25", "2", "4")
    assert axes["night"].values == ("no", "yes")
    assert axes["day"].values == ("2023-11", "2023-12", "2024-01")
    assert all(len(year) == 4 for year in axes["years"].values)
    assert len(axes["breed"].values) == CATEGORIES
    assert axes["breed"].values[-1] == "other"
    assert axes["pixel_size_µm"].phrase([0]).startswith("pixel size (µm) under ")


@pytest.mark.parametrize(
    "name", ["a|b", "{value}", "{name}", "policy", "baseline", "😀", "x" * 100, "a\tb", "  "]
)
def test_strange_names_and_values_are_said_in_one_line(name: str) -> None:
    values = ["a|b", "c\nd", "e" * 500, "{value}", "<b>", "a b"] * 5
    of = records(**{name: values})
    space = space_of(of, [name])
    cells = cells_of(of, [name], space)
    assert (cells >= 0).all()
    for cell in range(space.size):
        hypothesis = space.hypothesis(cell)
        assert space.read(hypothesis) == space.region(cell)
        assert "\n" not in hypothesis.text
        assert len(hypothesis.text) < 200


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"x": [1.0, 1.0]}, "has 1 value"),
        ({"x": [1 + 1e-15 * i for i in range(30)]}, "has 1 value"),  # written alike
        ({"x": [f"text {i}" for i in range(100)]}, "100 different values"),
        ({"x": Column("x", Kind.LIST, np.array([("a",), ("b",)], object))}, "lists"),
        ({"x": Column("x", Kind.VECTOR, np.zeros((2, 3), np.float32))}, "vectors"),
        ({"y": [1.0, 2.0]}, "no column 'x'"),
    ],
)
def test_columns_that_are_no_concepts_are_refused(columns: dict[str, object], complaint: str) -> None:
    with pytest.raises(WeakspotError, match=complaint):
        space_of(records(**columns), ["x"])
