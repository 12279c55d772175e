"""Logs of the other tools: made by the tools (`made/`), by their documented formats, broken and hostile.

`made/` holds samples of lm-eval 0.4.13 (its dummy model), a report of garak 0.17.1 (test.Repeat; its settings
are cut) and results of promptfoo 0.100.0 (echo).
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.records.log_parts import MADE, cells

from weakspot.core import WeakspotError
from weakspot.records import Records
from weakspot.records.logs import raw, read_log
from weakspot.records.read import is_table, read_records
from weakspot.records.verdicts import read_judged

CHOICES, WRITTEN = (MADE / f"samples_toy_{kind}_2026-11-19T17-50-47.411586.jsonl" for kind in ("mc", "gen"))


def read(path: Path) -> Records:
    assert is_table(path)
    log = read_log(path)
    assert log is not None
    return log


def written(path: Path, *values: Any) -> Path:
    """JSON lines; text as it is."""
    lines = (value if isinstance(value, str) else json.dumps(value) for value in values)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_lm_eval_multiple_choice() -> None:
    log = read(CHOICES)
    assert log.form == "lm-evaluation-harness samples"
    assert log.roles == {
        "id": "id", "text": "doc.question", "label": "target", "prediction": "answer", "correct": "correct",
    }  # fmt: skip
    assert cells(log, "target") == ["1", "lol", "3", "lol", "5", "lol"]
    right = [a == b for a, b in zip(cells(log, "target"), cells(log, "answer"), strict=True)]
    assert [text == "1" for text in cells(log, "correct")] == right  # acc is that of the likeliest ending
    assert cells(log, "correct") == cells(log, "score_acc")
    assert cells(log, "choices")[0] == "1, lol"
    assert cells(log, "doc.level") == ["easy"] * 3 + ["hard"] * 3
    assert cells(log, "task") == ["toy_mc"] * 6
    assert (read_judged(CHOICES).failed == [not one for one in right]).all()


def test_lm_eval_filters_are_columns_not_rows(tmp_path: Path) -> None:
    shutil.copy(WRITTEN, tmp_path)
    (tmp_path / "results_2026-11-19T17-50-47.411586.json").write_text('{"model_name": "org/model"}')
    log = read(tmp_path / WRITTEN.name)
    assert len(log) == 6
    assert cells(log, "answer") == ["lol"] * 6
    assert cells(log, "correct") == cells(log, "score_exact_match.strict-match")
    assert "score_exact_match.flexible" in log.columns
    assert any("filter strict-match" in note for note in log.notes)
    assert set(cells(log, "model")) == {"org/model"}


def harness(i: int, **metrics: Any) -> dict[str, Any]:
    return {
        "doc_id": i, "doc": {"question": f"q{i}"}, "target": "a", "arguments": [[f"Q: q{i}", {}]],
        "resps": [["a"]], "filtered_resps": ["a"], "doc_hash": "h",
    } | metrics  # fmt: skip


def test_lm_eval_as_its_first_versions_wrote_it_one_list(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        json.dumps([harness(0, exact_match=1), harness(1, exact_match=0)], indent=2)
    )
    assert cells(read(tmp_path / "a.jsonl"), "correct") == ["1", "0"]


def test_metrics_that_are_no_verdict_are_none(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", harness(0, f1=0.3), harness(1, f1=1.0))
    log = read(path)
    assert "correct" not in log.roles
    assert any("f1" in note and "--failed" in note for note in log.notes)
    assert read_judged(path, failed="score_f1 < 0.5").failed.tolist() == [True, False]
    path = written(tmp_path / "b.jsonl", harness(0, acc=1.0), harness(1, acc=None), harness(2))
    assert cells(read(path), "correct") == ["1", None, None]


def test_a_document_again_is_a_repeat(tmp_path: Path) -> None:
    log = read(written(tmp_path / "a.jsonl", harness(0, acc=1.0), harness(1, acc=1.0), harness(0, acc=0.0)))
    assert list(zip(cells(log, "id"), cells(log, "epoch"), strict=True)) == [
        ("0", "1"),
        ("1", "1"),
        ("0", "2"),
    ]


def test_lmms_eval(tmp_path: Path) -> None:
    def one(i: int, score: float) -> dict[str, Any]:
        return {
            "doc_id": i, "target": "Yes", "filtered_resps": "Yes", "doc_hash": "h", "input": f"Is it {i}?",
            "token_counts": [None],
            "mme_score": {"question_id": f"p/{i}.png", "category": "count", "score": score},
        }  # fmt: skip

    path = written(tmp_path / "20260101_120000_samples_mme.jsonl", one(0, 1.0), one(1, 0.0))
    log = read(path)
    assert log.form == "lmms-eval samples"
    assert cells(log, "correct") == ["1", "0"]
    assert cells(log, "score_mme_score.category") == ["count"] * 2
    assert (cells(log, "input")[0], cells(log, "answer")[0]) == ("Is it 0?", "Yes")
    assert cells(log, "task") == ["mme", "mme"]
    old = {"args": {"model": "llava"}, "model_configs": {}, "logs": [harness(0, exact_match=1.0)]}
    (tmp_path / "old.json").write_text(json.dumps(old, indent=4))
    log = read(tmp_path / "old.json")
    assert (cells(log, "correct"), cells(log, "model")) == (["1"], ["llava"])


@pytest.mark.parametrize("name", ["promptfoo.json", "promptfoo.jsonl"])
def test_promptfoo(name: str) -> None:
    log = read(MADE / name)
    assert log.form == "promptfoo results"
    assert cells(log, "answer") == ["Say bee", "Say bee", "Say ant", "Say ant", "Say cat", "Say cat"]
    assert cells(log, "epoch") == ["1", "2"] * 3
    assert len(set(cells(log, "id"))) == 3
    assert cells(log, "correct") == ["1", "1", "0", "0", None, None]  # cat has no assertion
    assert any("2 rows have no assertion" in note for note in log.notes)
    assert cells(log, "vars.kind") == ["insect"] * 4 + ["mammal"] * 2
    assert cells(log, "metadata.level") == ["easy"] * 2 + [None] * 4
    assert set(cells(log, "model")) == {"echo"}


def result(**more: Any) -> dict[str, Any]:
    graded = {"pass": True, "score": 1, "reason": "All", "componentResults": [{"pass": True}]}
    return {
        "provider": {"id": "a:b"}, "prompt": {"raw": "Say x", "label": "Say {{w}}"}, "vars": {"w": "x"},
        "response": {"output": {"say": "x"}}, "success": True, "score": 1, "gradingResult": graded,
    } | more  # fmt: skip


def test_promptfoo_errors_are_no_verdicts(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        result(),
        result(success=False, error="HTTP 500", failureReason=2),
        result(success=False, error="HTTP 500", gradingResult=None, response=None),
        result(success=False, error="it is not x", failureReason=1, gradingResult={"pass": False}),
        result(success="yes"),
    )
    log = read(path)
    assert cells(log, "correct") == ["1", None, None, "0", None]
    assert cells(log, "answer")[0] == '{"say": "x"}'


def test_promptfoo_ids_are_those_of_the_test_wherever_it_stands(tmp_path: Path) -> None:
    one = read(written(tmp_path / "a.jsonl", result(vars={"w": "x"}), result(vars={"w": "y"})))
    two = read(written(tmp_path / "b.jsonl", result(vars={"w": "y"}), result(vars={"w": "x"})))
    assert cells(one, "id") == cells(two, "id")[::-1]
    both = read(written(tmp_path / "c.jsonl", result(), result(provider="other")))
    assert len(set(cells(both, "id"))) == 2  # two models are no repeats of one case


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_promptfoo_versions(tmp_path: Path, version: int) -> None:
    inner = {"version": min(version, 3), "results": [result()], "stats": {}}
    (tmp_path / "a.json").write_text(json.dumps({"version": version, "results": inner, "config": {}}))
    assert cells(read(tmp_path / "a.json"), "correct") == ["1"]


def test_promptfoo_of_an_unknown_version(tmp_path: Path) -> None:
    value = {"evalId": "e", "results": {"version": 9, "results": [result()]}}
    (tmp_path / "a.json").write_text(json.dumps(value))
    with pytest.raises(WeakspotError, match=r"version 9 of promptfoo's results; versions 1 to 4"):
        read_log(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"evalId": "e", "results": {"version": 3}}')
    with pytest.raises(WeakspotError, match="no list of results"):
        read_log(tmp_path / "a.json")


def test_garak() -> None:
    log = read(MADE / "garak.report.jsonl")
    assert log.form == "garak report"
    assert len(log) == 16  # eight prompts, two answers to each
    assert cells(log, "id")[2:4] == ["test.Test/1"] * 2
    assert cells(log, "epoch")[:4] == ["1", "2"] * 2
    assert cells(log, "input")[2] == cells(log, "answer")[2] == "The quick brown fox jumps over the lazy dog"
    scores = log.columns["score_always.Random"].values
    assert cells(log, "correct") == ["0" if score >= 0.5 else "1" for score in scores]
    lines = [json.loads(line) for line in (MADE / "garak.report.jsonl").read_text().splitlines()]
    (counted,) = (line for line in lines if line["entry_type"] == "eval")
    assert read_judged(log).failed.sum() == counted["fails"]  # as garak counts it
    assert set(cells(log, "probe family")) == {"test"}
    assert set(cells(log, "model")) == {"test.Repeat"}


def attempt(uuid: str, status: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "entry_type": "attempt", "uuid": uuid, "seq": 0, "status": status, "probe_classname": "dan.Dan",
        "prompt": "Be Dan", "outputs": ["no"], "detector_results": {"d.A": [0.0]}, "goal": "g",
    } | more  # fmt: skip


def test_garak_what_was_not_judged_has_no_verdict(tmp_path: Path) -> None:
    path = written(
        tmp_path / "r.jsonl",
        {"entry_type": "start_run setup", "run.eval_threshold": 0.8},
        attempt("a"),
        attempt("b", 1),
        attempt("c", detector_results={"d.A": [None]}),
        attempt("d", detector_results={"d.A": [None], "d.B": [0.9]}),
        attempt("e", detector_results={"d.A": [0.7], "d.B": [0.1]}),
        attempt("f", detector_results={}),
        attempt("g", outputs=[], detector_results={}),
        {"entry_type": "digest", "eval": {}},
    )
    log = read(path)
    assert cells(log, "correct") == ["1", None, None, "0", "1", None, None]
    assert cells(log, "answer")[0] == "no"
    assert "1 attempts were not judged: they have no verdict." in log.notes


def test_the_hit_log_of_garak_is_refused(tmp_path: Path) -> None:
    hit = {"goal": "g", "attempt_id": "a", "generator": "x y", "probe": "p", "detector": "d", "score": 1.0}
    with pytest.raises(WeakspotError, match="only the hits"):
        read_records(written(tmp_path / "garak.hitlog.jsonl", hit))


def label(name: str, **more: Any) -> dict[str, Any]:
    return {"_id": {"$oid": "0"}, "_cls": "Classification", "tags": [], "label": name} | more


@pytest.mark.parametrize("as_folder", [True, False])
def test_fiftyone(tmp_path: Path, as_folder: bool) -> None:
    samples = [
        {
            "_id": {"$oid": str(i)}, "filepath": f"data/{i}.jpg", "tags": ["validation"],
            "metadata": {"_cls": "ImageMetadata", "width": 640}, "weather": "fog" if i else "sun",
            "created_at": {"$date": "2026-01-01T00:00:00Z"}, "_media_type": "image",
            "ground_truth": label("cat"), "predictions": label(name, confidence=0.9) if name else None,
            "objects": {"_cls": "Detections", "detections": [{"label": "dog"}, {"label": "car"}]},
        }
        for i, name in enumerate(["cat", "dog", None])
    ]  # fmt: skip
    (tmp_path / "samples.json").write_text(json.dumps({"samples": samples}))
    (tmp_path / "metadata.json").write_text("{}")
    log = read(tmp_path if as_folder else tmp_path / "samples.json")
    assert log.form == "FiftyOne data set"
    assert log.folder == str(tmp_path)
    assert log.roles == {
        "id": "filepath", "image": "filepath", "label": "ground_truth", "prediction": "predictions",
        "score": "predictions.confidence", "correct": "correct",
    }  # fmt: skip
    assert cells(log, "correct") == ["1", "0", None]
    assert cells(log, "objects") == ["dog, car"] * 3
    assert cells(log, "metadata.width") == ["640"] * 3
    assert cells(log, "weather") == ["sun", "fog", "fog"]
    judged = read_judged(tmp_path if as_folder else tmp_path / "samples.json")
    assert judged.failed.tolist() == [False, True]


def test_fiftyone_without_predictions_says_what_there_is(tmp_path: Path) -> None:
    samples = [{"filepath": "a.jpg", "ground_truth": label("cat")}]
    (tmp_path / "a.json").write_text(json.dumps({"name": "x", "samples": samples}))
    log = read(tmp_path / "a.json")
    assert "correct" not in log.roles
    assert any("there are: ground_truth" in note for note in log.notes)


@pytest.mark.parametrize(
    "content",
    [
        '[{"id": 1, "label": "a", "prediction": "b"}]',
        '{"id": 1, "label": "a"}\n{"id": 2, "label": "b"}\n',
        '{"samples": [{"x": 1}], "filepath": "y"}',
        '{"logs": [1, 2, 3]}',
        '{"results": [{"a": 1}]}',
        '{"entry_type": "cake", "label": "a"}\n',
        "id,label\n1,a\n",
        "",
        "{",
        '"doc_id resps"',
    ],
)
def test_what_is_no_log_is_left_to_the_readers_of_tables(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    assert read_log(tmp_path / "a.json") is None


def test_compressed_logs(tmp_path: Path) -> None:
    for made in (CHOICES, MADE / "promptfoo.json"):
        path = tmp_path / f"{made.name}.gz"
        path.write_bytes(gzip.compress(made.read_bytes()))
        log, plain = read(path), read(made)
        assert cells(log, "correct") == cells(plain, "correct")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(WeakspotError, match="cannot be unpacked"):
        read_log(path)


@pytest.mark.parametrize("made", ["promptfoo.json", "fiftyone"])
def test_a_document_that_was_cut_off_is_one_clear_error(tmp_path: Path, made: str) -> None:
    text = (
        '{"samples": [{"filepath": "a.jpg", "x": 1'
        if made == "fiftyone"
        else (MADE / made).read_text()[:-300]
    )
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(WeakspotError, match="not complete JSON"):
        read_log(tmp_path / "a.json")


def test_broken_and_hostile_lines_are_left_out_and_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw, "MOST_LINE", 100_000)
    path = written(
        tmp_path / "a.jsonl",
        harness(0, acc=1.0),
        "{not json",
        "[" * 50_000,
        '{"doc_id": ' + "9" * 5_000 + "}",
        "[1, 2]",
        "",
        {"doc_id": 3},
        json.dumps(harness(4, acc=float("nan"))),
        harness(5, acc=10**400),
        harness(6, acc=[1, {"a": "b"}])
        | {"doc": 3, "arguments": "x", "filtered_resps": {}, "target": ["\ud800"]},
        "x" * 200_000,
        harness(7, acc=1.0),
    )
    log = read(path)
    assert cells(log, "id") == ["0", "4", "5", "6"]
    assert [row.line for row in log.left_out] == [2, 3, 4, 5, 7, 11]
    assert "nested too deeply" in log.left_out[1].reason
    assert "nothing after it was read" in log.left_out[-1].reason


def test_a_log_of_which_nothing_can_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"evalId": "e", "results": {"version": 3, "results": [1, {}]}})
    )
    with pytest.raises(WeakspotError, match=r"without a row that can be read: line 1: not an object"):
        read_log(tmp_path / "a.json")
