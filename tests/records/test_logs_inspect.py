"""Logs of inspect_ai, written by inspect_ai itself; and broken and hostile ones."""

from __future__ import annotations

import builtins
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.records.log_parts import cells, inspect_log

from weakspot.core import WeakspotError
from weakspot.records import Kind
from weakspot.records.logs import archive, is_log, read_log
from weakspot.records.read import is_table, read_records
from weakspot.records.verdicts import read_judged

ANSWERS = {1: ["yes", "no"], 2: ["yes", "-"], "q/3": ["!", "yes"]}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("inspect_ai")
    folder = tmp_path_factory.mktemp("logs")
    return {form: inspect_log(folder, form, answers=ANSWERS) for form in ("eval", "json")}


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_row_is_a_sample_in_an_epoch(logs: dict[str, Path], form: str) -> None:
    log = read_records(logs[form])
    assert is_table(logs[form])
    assert log.form == "inspect_ai log"
    assert log.roles == {
        "id": "id", "text": "input", "label": "target", "prediction": "answer", "correct": "correct",
    }  # fmt: skip
    assert cells(log, "id") == ["1", "2", "q/3"] * 2
    assert cells(log, "epoch") == ["1"] * 3 + ["2"] * 3
    assert cells(log, "target") == ["yes | yep", "yes", "yes"] * 2
    assert cells(log, "answer") == ["yes", "yes", None, "no", "-", "yes"]
    assert (cells(log, "input")[1] or "").startswith("Is 2 a number? Say yes.")
    assert cells(log, "score_exact") == ["C", "C", None, "I", None, "C"]
    assert cells(log, "score_parts.length") == ["3", "3", None, "2", "1", "3"]
    assert cells(log, "metadata.level") == ["hard", "easy", "hard"] * 2
    assert cells(log, "metadata.of.set") == ["0", "1", "2"] * 2
    assert cells(log, "tokens") == ["3", "3", None, "3", "3", "3"]
    assert set(cells(log, "model")) == {"mockllm/model"}
    assert set(cells(log, "task")) == {"numbers"}
    assert "no answer to q/3" in (cells(log, "error")[2] or "")
    assert len(log.digest) == 64


@pytest.mark.parametrize("form", ["eval", "json"])
def test_an_error_and_a_missing_score_are_no_verdict(logs: dict[str, Path], form: str) -> None:
    log = read_records(logs[form])
    assert log.columns["correct"].kind is Kind.FLAG
    assert cells(log, "correct") == ["1", "1", None, "0", None, "1"]
    judged = read_judged(logs[form])
    assert judged.failed.tolist() == [False, False, True, False]
    assert len(judged.left_out) == 2
    scores = {"score_exact", "score_parts.length", "score_parts.style"}
    assert judged.used == {"correct", "answer", "error", *scores}  # nothing is said of rows by these


def test_it_is_recognised_by_content(logs: dict[str, Path], tmp_path: Path) -> None:
    for form, path in logs.items():
        other = tmp_path / f"{form}.bin"
        other.write_bytes(path.read_bytes())
        found = read_log(other)
        assert found is not None
        assert len(found) == 6
    assert is_log(tmp_path / "eval.bin")
    (tmp_path / "other.zip").write_bytes(b"PK\x03\x04" + b"\0" * 26 + b"table.csv")
    assert read_log(tmp_path / "other.zip") is None
    (tmp_path / "table.json").write_text('{"eval": [1, 2], "version": ["a", "b"]}')
    assert read_log(tmp_path / "table.json") is None


def packed(path: Path, members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """An archive as older versions wrote it."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def header(**more: Any) -> dict[str, Any]:
    spec = {"task": "toy", "model": "a/b", "dataset": {"samples": 2}, "scorers": [{"name": "m"}]}
    return {"version": 2, "status": "success", "eval": spec} | more


def sample(key: Any, value: Any = "C", **more: Any) -> dict[str, Any]:
    scores = {"scores": {"m": {"value": value}}}
    return {"id": key, "epoch": 1, "input": "?", "target": "x", "output": {"completion": "y"}} | scores | more


def read(path: Path) -> Any:
    log = read_log(path)
    assert log is not None
    return log


@pytest.mark.parametrize(
    ("values", "verdicts"),
    [
        (["C", "I", "P", "N"], ["1", "0", "1", "0"]),
        ([True, False, 1, 0.0], ["1", "0", "1", "0"]),
        (["yes", "No", "0.7", "true"], ["1", "0", "1", "1"]),
        ([0.4, 0.5, float("nan"), "C"], ["0", "1", None, "1"]),
        (["C", "odd", None, ["C"]], ["1", None, None, None]),
    ],
)
def test_scores_are_counted_as_inspect_counts_them(
    tmp_path: Path, values: list[Any], verdicts: list[str | None]
) -> None:
    members = {f"samples/{i}_epoch_1.json": sample(i, value) for i, value in enumerate(values)}
    log = read(packed(tmp_path / "a.eval", {"header.json": header(), **members}))
    assert cells(log, "correct") == verdicts
    if "N" in values:
        assert any("no answer (N) counts as wrong" in note for note in log.notes)


def test_scores_that_do_not_say_right_or_wrong_are_no_verdicts(tmp_path: Path) -> None:
    members = {f"samples/{i}_epoch_1.json": sample(i, value) for i, value in enumerate([7, 9.5])}
    log = read(packed(tmp_path / "a.eval", {"header.json": header(), **members}))
    assert "correct" not in log.roles
    assert any("--failed" in note for note in log.notes)
    assert read_judged(log, failed="score_m < 8").failed.tolist() == [True, False]


def test_a_sample_with_an_error_or_invalidated_has_no_verdict_although_it_has_a_score(tmp_path: Path) -> None:
    members = {
        "samples/a_epoch_1.json": sample("a", error={"message": "gone"}),
        "samples/b_epoch_1.json": sample("b", invalidation={"author": "me"}),
        "samples/c_epoch_1.json": sample("c"),
    }
    log = read(packed(tmp_path / "a.eval", {"header.json": header(), **members}))
    assert cells(log, "correct") == [None, None, "1"]


def test_what_is_not_in_the_log_is_told(tmp_path: Path) -> None:
    members = {"_journal/start.json": header() | {"status": "started"}, "samples/a_epoch_1.json": sample("a")}
    log = read(packed(tmp_path / "a.eval", members))
    assert "1 of 2 planned samples are not in the log." in log.notes
    assert any("did not end well" in note for note in log.notes)


def test_older_versions_and_large_samples(tmp_path: Path) -> None:
    old = sample("a") | {"score": {"value": "I"}}
    del old["scores"]
    log = read(packed(tmp_path / "a.eval", {"header.json": header(version=1), "samples/a_epoch_1.json": old}))
    assert cells(log, "correct") == ["0"]
    chunked = {
        "header.json": header(),
        "samples/a_epoch_1/sample.json": sample("a") | {"input": "attachment://1"},
        "samples/a_epoch_1/metadata.json": {"level": "attachment://0"},
        "samples/a_epoch_1/attachments/0.json": ["hard", "a long question"],
        "samples/a_epoch_1/messages/0.json": [],
    }
    log = read(packed(tmp_path / "b.eval", chunked))
    assert (cells(log, "input"), cells(log, "metadata.level")) == (["a long question"], ["hard"])


def test_pictures_in_the_input_are_the_rows_pictures(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "What is it?"}, {"type": "image", "image": "cats/1.jpg"}]
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]
    log = read(
        packed(
            tmp_path / "a.eval", {"header.json": header(), "samples/a_epoch_1.json": sample("a", input=asked)}
        )
    )
    assert (cells(log, "input"), cells(log, "image")) == (["What is it?"], ["cats/1.jpg"])
    assert log.roles["image"] == "image"


def test_an_unknown_version_says_so(tmp_path: Path) -> None:
    path = packed(
        tmp_path / "a.eval", {"header.json": header(version=3), "samples/a_epoch_1.json": sample("a")}
    )
    with pytest.raises(WeakspotError, match=r"version 3; versions 1 and 2 are read"):
        read_log(path)
    (tmp_path / "b.json").write_text(json.dumps(header(version="x", samples=[sample("a")])))
    with pytest.raises(WeakspotError, match=r"version x; versions 1 and 2 are read"):
        read_log(tmp_path / "b.json")


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.99])
def test_a_log_that_was_cut_off_is_one_clear_error(
    logs: dict[str, Path], tmp_path: Path, kept: float
) -> None:
    for form, path in logs.items():
        data = path.read_bytes()
        (tmp_path / f"cut.{form}").write_bytes(data[: int(len(data) * kept)])
        with pytest.raises(WeakspotError, match="complete"):
            read_log(tmp_path / f"cut.{form}")


def test_a_damaged_member_is_a_row_that_is_left_out(logs: dict[str, Path], tmp_path: Path) -> None:
    data = bytearray(logs["eval"].read_bytes())
    with zipfile.ZipFile(logs["eval"]) as archive:
        info = archive.getinfo("samples/1_epoch_1.json")
    start = info.header_offset + 30 + len(info.filename) + 40
    data[start : start + 20] = b"\xff" * 20
    (tmp_path / "a.eval").write_bytes(data)
    log = read(tmp_path / "a.eval")
    assert len(log) == 5
    assert "samples/1_epoch_1.json" in log.left_out[0].reason


def test_hostile_members_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBER", 1 << 20)
    members = {
        "header.json": header(),
        "samples/../../../etc/x_epoch_1.json": sample("traversal"),
        "samples/deep_epoch_1.json": b"[" * 200_000,
        "samples/bomb_epoch_1.json": b" " * (1 << 22),
        "samples/huge_epoch_1.json": sample("huge", metadata={"n": 10**400, "nan": float("nan")}),
        "samples/digits_epoch_1.json": b'{"id": ' + b"9" * 10_000 + b"}",
        "samples/list_epoch_1.json": [1, 2],
        "samples/latin_epoch_1.json": b'{"id": "\xff"}',
        "samples/types_epoch_1.json": {"id": [1], "epoch": {}, "scores": 3, "error": 4, "model_usage": []},
        "samples/half_epoch_1.json": sample("half", input="\ud800", metadata={"\x00": "\ud800"}),
    }
    log = read(packed(tmp_path / "a.eval", members))
    assert set(cells(log, "id")) == {"traversal", "huge", "[1]", "half"}
    reasons = " ".join(row.reason for row in log.left_out)
    for part in ("nested too deeply", "larger than 1 MiB", "digits", "without an id", "decode"):
        assert part in reasons
    assert list(tmp_path.iterdir()) == [tmp_path / "a.eval"]
    "".join(text or "" for name in log.columns for text in cells(log, name)).encode()


def test_an_archive_that_lies_about_sizes_is_not_unpacked_beyond_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zstandard = pytest.importorskip("zstandard")
    monkeypatch.setattr(archive, "MOST_MEMBER", 1 << 20)
    bomb = zstandard.ZstdCompressor().compress(b" " * (1 << 24))
    path = packed(
        tmp_path / "a.eval",
        {"header.json": header(), "samples/a_epoch_1.json": sample("a"), "samples/b_epoch_1.json": bomb},
        zipfile.ZIP_STORED,
    )
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")  # the last entry of the directory: b
    struct.pack_into("<H", data, at + 10, 93)
    struct.pack_into("<I", data, at + 24, 100)
    path.write_bytes(data)
    log = read(path)
    assert cells(log, "id") == ["a"]
    assert "larger than 1 MiB" in log.left_out[0].reason


def test_a_log_larger_than_the_limit_is_read_up_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_TOTAL", 1_000)
    members = {f"samples/{i}_epoch_1.json": sample(i, input="x" * 600) for i in range(5)}
    log = read(packed(tmp_path / "a.eval", {"header.json": header(), **members}))
    assert len(log) == 2
    assert "nothing after it was read" in log.left_out[0].reason


def test_without_the_library_for_zstandard_it_says_which(
    logs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = builtins.__import__

    def none(name: str, *rest: Any, **more: Any) -> Any:
        if name == "zstandard":
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(WeakspotError, match="Zstandard") as error:
        read_log(logs["eval"])
    assert "pip install zstandard" in error.value.fix


def test_neither_format_needs_inspect_ai(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = packed(tmp_path / "a.eval", {"header.json": header(), "samples/a_epoch_1.json": sample("a")})
    code = (
        "import sys; sys.modules['inspect_ai'] = None; from pathlib import Path; "
        f"from weakspot.records.logs import read_log; print(len(read_log(Path({str(path)!r}))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
