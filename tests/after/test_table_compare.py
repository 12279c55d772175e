"""Two tables or logs set against each other: pairing, repeats, categories, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.records.log_parts import inspect_log

from weakspot.after.gate import CannotSay, Limits
from weakspot.after.table_compare import ALL, compare_tables, difference
from weakspot.after.table_gate import gate_tables
from weakspot.after.table_pairs import Cases
from weakspot.cli import run as cli
from weakspot.core import WeakspotError
from weakspot.records import Roles
from weakspot.stats import mcnemar, paired_difference


def table(verdicts: Sequence[int | None], **columns: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows whose column failed says it; ids count from 0."""
    names = {"id": [f"r{i}" for i in range(len(verdicts))]} | columns
    return [
        {"failed": verdict} | {name: values[i] for name, values in names.items() if values[i] is not None}
        for i, verdict in enumerate(verdicts)
    ]


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_same_cases_are_paired_by_id_whatever_their_order() -> None:
    first = table([0] * 80 + [1] * 20)
    second = table([0] * 70 + [1] * 10 + [1] * 15 + [0] * 5)[::-1]
    found = compare_tables(first, second)
    (row,) = found.rows
    assert (found.pairing, found.cases, found.judged, found.alone) == ("by id", 100, 100, (0, 0))
    assert row.first is not None
    assert row.second is not None
    assert (row.first.value, row.second.value) == (0.2, 0.25)
    assert row.contrast is not None
    assert (row.contrast.only_first, row.contrast.only_second) == (5, 10)
    assert row.contrast.p == mcnemar(5, 10)
    assert (row.contrast.low, row.contrast.high) == pytest.approx(paired_difference(10, 5, 100))
    assert "Rows are paired by their ids (id)." in found.notes


def test_without_ids_rows_are_paired_by_order_if_the_inputs_are_the_same() -> None:
    asked = [f"question {i}" for i in range(40)]
    rows = [table(verdicts, id=[None] * 40, text=asked) for verdicts in ([0] * 40, [0] * 20 + [1] * 20)]
    found = compare_tables(*rows)
    assert found.pairing == "by order"
    assert found.rows[0].contrast is not None
    assert found.rows[0].contrast.difference == 0.5
    with pytest.raises(WeakspotError, match="cannot be paired") as error:
        compare_tables(rows[0], rows[1][::-1])
    assert "--id" in error.value.fix


def test_what_cannot_be_the_same_cases_is_refused() -> None:
    rows = table([0, 1] * 10)
    with pytest.raises(WeakspotError, match=r"no id in common \(they begin with 'r0', 'x0'\)"):
        compare_tables(rows, table([0, 1] * 10, id=[f"x{i}" for i in range(20)]))
    mine, theirs = (
        table([0, 1] * 10, text=[f"{who} {i}" for i in range(20)], label=[who] * 20)
        for who in ("mine", "theirs")
    )
    with pytest.raises(WeakspotError, match="the same ids, but not for the same cases"):
        compare_tables(mine, theirs)
    for row in theirs:
        row["label"] = "mine"  # another prompt for the same questions
    found = compare_tables(mine, theirs)
    assert "Of 20 ids in both, 20 have a different input in the second table." in found.notes


def test_cases_of_one_table_alone_are_counted_and_not_compared() -> None:
    found = compare_tables(table([0] * 30), table([1] * 25, id=[f"r{i}" for i in range(10, 35)]))
    assert (found.cases, found.alone) == (20, (10, 5))
    assert any("10 cases are only in the first table, 5 only in the second" in note for note in found.notes)


def test_missing_verdicts_are_neither_successes_nor_failures() -> None:
    first = table([0] * 30 + [1] * 10 + [None] * 10)
    second = table([None] * 10 + [0] * 20 + [1] * 10 + [0] * 5 + [None] * 5)
    found = compare_tables(first, second)
    row, missing = found.rows[0], found.missing[ALL]
    assert row.contrast is not None
    assert (found.judged, row.contrast.difference) == (30, 0.0)
    assert (missing.first, missing.second, missing.both) == (10, 15, 5)
    # Ten cases: the second could have failed in all; five: the first could have; five: both are open.
    assert missing.low == pytest.approx((0 - 5 - 5) / 50)
    assert missing.high == pytest.approx((10 + 0 + 5) / 50)
    assert any(
        "10 in the first table, 15 in the second (5 cases with none in either)" in n for n in found.notes
    )


def test_the_bounds_hold_whatever_the_missing_verdicts_are() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        whole = [rng.integers(0, 2, 24).tolist() for _ in range(2)]
        ids = [f"c{i % 8}" for i in range(24)]
        seen = [[None if rng.random() < 0.3 else v for v in verdicts] for verdicts in whole]
        if any(all(v is None for v in verdicts) for verdicts in seen):
            continue
        missing = compare_tables(*(table(verdicts, id=ids) for verdicts in seen)).missing[ALL]
        truth = compare_tables(*(table(verdicts, id=ids) for verdicts in whole)).rows[0].contrast
        assert truth is not None
        assert missing.low - 1e-12 <= truth.difference <= missing.high + 1e-12


def test_repeats_of_a_case_are_not_cases_of_their_own() -> None:
    ids = [f"c{i // 5}" for i in range(50)]
    first = table([0] * 50, id=ids)
    second = table([1] * 5 + [0] * 45, id=ids)
    row = compare_tables(first, second).rows[0]
    assert row.contrast is not None
    assert (row.contrast.n, row.contrast.only_second, row.contrast.p) == (10, 1, 1.0)
    assert row.contrast.difference == pytest.approx(0.1)
    assert row.contrast.low < 0


def test_each_case_counts_once_however_often_it_was_asked() -> None:
    first = table([0, 0, 0], id=["a", "b", "c"])
    second = table([1, 1, 1, 1, 0, 0, 1], id=["a"] * 4 + ["b", "c", "c"])
    row = compare_tables(first, second).rows[0]
    assert row.contrast is not None
    assert row.contrast.difference == pytest.approx((1 + 0 + 0.5) / 3)


@pytest.mark.parametrize(("asked", "unequal"), [((3, 3), False), ((1, 4), False), ((4, 4), True)])
def test_intervals_cover_and_p_values_hold_with_repeats(asked: tuple[int, int], unequal: bool) -> None:
    rng = np.random.default_rng(7)
    covered, rejected, times, n = 0, 0, 300, 60
    for i in range(times):
        base = rng.beta(0.4, 0.8, n) * 0.85
        rates = base, base + (0.1 if i % 2 else 0.0)
        judged = [rng.integers(1, k + 1, n) if unequal else np.full(n, k) for k in asked]
        failures = [rng.binomial(k, rate) for k, rate in zip(judged, rates, strict=True)]
        pair = (failures[0], failures[1]), (judged[0], judged[1])
        found = difference(Cases(*pair, pair[1], np.arange(n), (0, 0), "by id", ()))
        assert found is not None
        covered += found.low <= float((rates[1] - rates[0]).mean()) <= found.high
        rejected += found.p <= 0.05 and not i % 2
    assert covered >= 0.92 * times
    assert rejected <= 0.09 * times / 2


def test_categories_are_adjusted_together() -> None:
    levels = ["easy", "hard"] * 60
    first = table([0] * 120, level=levels, tags=[["a", "b"] if i < 60 else ["a"] for i in range(120)])
    second = table([1 if i % 2 and i < 40 else 0 for i in range(120)])
    found = compare_tables(first, second, by=["level", "tags"])
    words = [row.measure.words for row in found.rows]
    assert words[0] == ALL
    assert set(words[1:]) == {"level: easy", "level: hard", "tags: a", "tags: b"}
    by_words = {row.measure.words: row for row in found.rows}
    hard, easy = by_words["level: hard"], by_words["level: easy"]
    assert hard.change == "worse"
    assert easy.change == "no difference shown"
    assert hard.contrast is not None
    assert hard.contrast.n == 60
    assert hard.adjusted is not None
    assert hard.adjusted > hard.contrast.p


def test_columns_that_have_no_categories() -> None:
    first = table([0] * 120, loss=[i / 7 for i in range(120)], level=["x"] * 115 + ["y"] * 5)
    second = table([0] * 120)
    with pytest.raises(WeakspotError, match="120 different values"):
        compare_tables(first, second, by=["loss"])
    with pytest.raises(WeakspotError, match="has no column 'levle'") as error:
        compare_tables(first, second, by=["levle"])
    assert "level" in error.value.fix
    found = compare_tables(first, second, by=["level"])
    assert [row.measure.words for row in found.rows] == [ALL, "level: x"]
    assert any("1 category is left out" in note for note in found.notes)


def test_an_expression_says_what_a_failure_is() -> None:
    first, second = ([{"id": i, "loss": i % 5 + more} for i in range(50)] for more in (0, 1))
    found = compare_tables(first, second, failed="loss > 3")
    assert found.rows[0].contrast is not None
    assert found.rows[0].contrast.difference == pytest.approx(0.2)


def test_columns_that_a_person_names() -> None:
    rows = [[{"case": f"k{i}", "what": "a", "said": said} for i in range(12)] for said in ("a", "b")]
    found = compare_tables(*rows, named=Roles(id="case", label="what", prediction="said"))
    assert found.rows[0].contrast is not None
    assert found.rows[0].contrast.difference == 1.0


def test_two_logs_of_inspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What its users ask for: a paired comparison with intervals, in which errors count as nothing."""
    pytest.importorskip("inspect_ai")
    first = inspect_log(tmp_path / "a", "eval", answers={i: ["yes", "yes"] for i in range(12)})
    worse = {
        i: ["no", "!" if i == 3 else "no"] if i < 6 else ["yes", "-" if i == 9 else "yes"] for i in range(12)
    }
    second = inspect_log(tmp_path / "b", "json", answers=worse)
    assert cli(["compare", str(first), str(second), "--by", "metadata.level", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    row = said["rows"][0]
    assert (said["pairing"], said["cases"], said["judged_in_both"], said["repeated"]) == (
        "by id",
        12,
        12,
        True,
    )
    assert (row["first"]["value"], row["second"]["value"], row["difference"]) == (0.0, 0.5, 0.5)
    assert row["change"] == "worse"
    assert said["missing"][ALL] == {
        "first": 0, "second": 2, "both": 0, "low": pytest.approx(5.5 / 12), "high": pytest.approx(6.5 / 12),
    }  # fmt: skip
    assert said["first"]["model"] == "mockllm/model"


def limits(**more: Any) -> Limits:
    return Limits(**more)


def test_a_gate_holds_limits_against_intervals() -> None:
    rows = table([1] * 30 + [0] * 70, level=["easy"] * 50 + ["hard"] * 50)
    assert not gate_tables(rows, limits(rate=0.35)).failed
    assert not gate_tables(rows, limits(rate=0.25)).failed  # not shown to be broken
    assert gate_tables(rows, limits(rate=0.25, strict=True)).failed
    assert gate_tables(rows, limits(rate=0.1)).failed
    found = gate_tables(rows, limits(part_rate=0.3), by=["level"])
    assert [(check.words, check.passed) for check in found.checks] == [
        ("level: easy", False),
        ("level: hard", True),
    ]
    found = gate_tables(rows, limits(part_rate=0.3, only=("hard",)), by=["level"])
    assert [check.words for check in found.checks] == ["level: hard"]


def test_a_gate_against_another_table() -> None:
    old, same = table([1] * 10 + [0] * 190), table([0] * 5 + [1] * 10 + [0] * 185)
    assert not gate_tables(same, limits(), against=old).failed
    new = table([1] * 40 + [0] * 160)
    (check,) = gate_tables(new, limits(), against=old).failed
    assert check.what == "increase"
    assert check.value == pytest.approx(0.15)
    assert not gate_tables(new, limits(increase=0.2), against=old).failed


def test_missing_verdicts_never_help_to_pass_a_gate() -> None:
    rows = table([0] * 95 + [None] * 5)
    whole = gate_tables(table([0] * 95), limits(rate=0.05, strict=True))
    assert not whole.failed
    found = gate_tables(rows, limits(rate=0.05, strict=True))
    assert found.failed  # each may have failed
    assert any("count as failures (5)" in note for note in found.notes)
    found = gate_tables(rows, limits(rate=0.05))
    assert found.checks[0].n == 95
    with pytest.raises(WeakspotError, match="have no verdict"):
        gate_tables(table([0] * 80 + [None] * 20), limits(rate=0.05))
    against = table([1] * 4 + [0] * 91 + [None] * 5)
    assert not gate_tables(table([1] * 4 + [0] * 96), limits(increase=0.03), against=against).failed
    assert gate_tables(rows, limits(increase=0.03, strict=True), against=against).failed


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({}, "there is no limit"),
        ({"increase": 0.1}, "a limit on increases"),
        ({"findings": 1}, "no findings to limit"),
        ({"part_rate": 0.1}, "which parts to limit"),
        ({"rate": 3.0}, "--max-rate cannot be 3.0"),
        ({"rate": 0.1, "only": ("zzz",)}, "none of these limits applies"),
    ],
)
def test_limits_that_cannot_be_meant(more: dict[str, Any], what: str) -> None:
    with pytest.raises(WeakspotError, match=what):
        gate_tables(table([0, 1] * 10), limits(**more))


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = ["easy", "hard"] * 100
    old = written(tmp_path / "old.jsonl", table([0] * 200, level=levels))
    new = written(tmp_path / "new.jsonl", table([i % 4 == 1 for i in range(200)], level=levels))
    page = tmp_path / "page.md"
    assert cli(["compare", str(old), str(new), "--by", "level", "--markdown", str(page)]) == 0
    said = capsys.readouterr().out
    assert "▲ worse" in said
    assert "level: hard" in said
    assert "The second table fails more often in 2 of 3 comparisons" in said
    assert page.read_text().startswith("# Two tables\n")
    assert cli(["gate", str(new), "--against", str(old), "--by", "level", "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["exit_code"], verdict["passed"]) == (1, False)
    assert cli(["gate", str(old), "--max-rate", "0.05", "--summary", str(page)]) == 0
    assert "✅ passed" in page.read_text()
    capsys.readouterr()
    assert cli(["gate", str(new), "--max-rate", "0.05", "--id", "nope"]) == CannotSay.exit_code
    assert "has no column 'nope'" in capsys.readouterr().err


def test_a_table_is_not_compared_with_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a.jsonl", table([0, 1]))
    assert cli(["compare", str(path), str(tmp_path)]) == 1
    assert "is neither a table nor a log" in capsys.readouterr().err
    assert cli(["compare", str(tmp_path), str(tmp_path), "--by", "level"]) == 1
    assert "leave out --by" in capsys.readouterr().err
