"""Recorded answers: every layout, what counts as an error, and complaints that name the line."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import weakspot
from weakspot.core import MODELS, SOURCES, Case, Hypothesis, Status, WeakspotError
from weakspot.core.question import BenchmarkQuestion
from weakspot.store import Run
from weakspot.studies.ask.recording import Replay, load
from weakspot.studies.ask.result import AskResult
from weakspot.testing import check_target


def case(key: str, **more: Any) -> Case:
    return Case(Hypothesis("x"), 0, 0, BenchmarkQuestion("?", id=key, **more), "answer")


def written(folder: Path, name: str, *rows: Any) -> str:
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def test_jsonl(tmp_path: Path) -> None:
    rows = [
        {"pid": "1", "response": "Yes."},
        {"pid": 2, "response": None},
        {"pid": "3", "response": "  "},
        {"id": "4", "completion": " Sure."},
        {"id": "5", "response": None, "status": "blocked", "detail": "filter"},
        {"id": "6", "status": "error", "error": "time-out"},
        {"id": "7", "response": "x" * 1_000_000},
    ]
    target = load(written(tmp_path, "m.jsonl", *rows))
    outputs = check_target(target, [case(str(i)) for i in range(1, 9)])
    found = [o.status.value for o in outputs]
    assert found == ["ok", "error", "empty", "ok", "blocked", "error", "ok", "error"]
    assert outputs[3].answer == " Sure."
    assert outputs[5].detail == "time-out"
    assert len(outputs[6].answer or "") == 1_000_000
    assert "no answer to this question" in outputs[7].detail
    assert target.model == "m"


def test_sets_arms_stages_and_repeats_are_kept_apart(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "response": "benign"},
        {"id": 1, "response": "contrast", "set": "contrast"},
        {"id": 1, "response": "helpful", "arm": "helpful"},
        {"id": 1, "response": "describe", "stage": "describe"},
        {"id": 1, "response": "again", "repeat": 1},
    ]
    target = load(written(tmp_path, "m.jsonl", *rows))
    asked = [
        case("1"),
        case("1", set="contrast"),
        case("1", arm="helpful"),
        case("1", stage="describe"),
        case("1", repeat=1),
    ]
    assert [o.answer for o in target.answer(asked)] == ["benign", "contrast", "helpful", "describe", "again"]


def test_the_released_script(tmp_path: Path) -> None:
    path = tmp_path / "data.js"
    answers = {"1": {"response": 'It\'s "fine".\n};'}, "2": {"response": None}}
    second = 'cache["Other"] = {"1": {"response": "no"}}'
    text = f"cache['Some Model (web)'] = {json.dumps(answers, indent=4)};\n{second}"
    path.write_text(text)
    with pytest.raises(WeakspotError, match=r"answers of 2 models\nadd \?model=…: Other, Some Model"):
        load(str(path))
    target = load(str(path), model="Some Model (web)")
    assert [o.answer for o in target.answer([case("1"), case("2")])] == ['It\'s "fine".\n};', None]
    with pytest.raises(WeakspotError, match="did you mean 'Other'"):
        load(str(path), model="Othr")


def test_the_submission_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(
        json.dumps(
            {"responses": {"1": {"pid": "1", "response": "Yes", "rejected": 0}}, "reject Rate": {"Total": 0}}
        )
    )
    assert load(str(path)).answer([case("1")])[0].answer == "Yes"


def test_the_shared_recordings(data: Path) -> None:
    nulls = {"gpt-4v": 0, "gpt-4o": 0, "claude-3-haiku": 14, "claude-3-opus": 14, "gemini-pro-1-5": 0}
    for model, errors in nulls.items():
        target = MODELS.load(f"replay:{data / 'data' / 'mossbench' / 'responses' / f'{model}.jsonl'}")
        assert len(target) == 300
        statuses = [o.status for o in target.answer([case(str(i)) for i in range(1, 301)])]
        assert statuses.count(Status.ERROR) == errors
        assert statuses.count(Status.EMPTY) == (8 if model.startswith("gemini") else 0)


def test_several_models_in_one_table(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("id,model,response\n1,a,yes\n1,b,no\n")
    assert load(str(path), model="b").answer([case("1")])[0].answer == "no"


def test_the_digest_can_be_demanded(tmp_path: Path) -> None:
    path = written(tmp_path, "m.jsonl", {"id": 1, "response": "x"})
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert load(path, sha256=digest).digest == digest
    with pytest.raises(WeakspotError, match="is not the recording that was meant"):
        load(path, sha256="0" * 64)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"id": 1, "response": "a"}\n{"id": 2,\nnonsense', "line 2 is not a JSON object.*also line 3"),
        ('{"id": 1, "response": "a"}\n{"id": "1", "response": "b"}', r"answered twice \(lines 1 and 2\)"),
        ('{"id": 1, "response": "a"}\n{"response": "b"}', "line 2 does not have an id"),
        ('{"id": 1}', "line 1 does not have a response"),
        ('{"id": 1, "response": ["a"]}', "line 1: the response is not a text"),
        ('{"id": 1, "response": "a", "status": "fine"}', "line 1: no status is called 'fine'"),
    ],
)
def test_broken_recordings(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "m.jsonl").write_text(text)
    with pytest.raises(WeakspotError, match=complaint):
        load(str(tmp_path / "m.jsonl"))


@pytest.mark.parametrize(
    ("text", "complaint"), [("var x = 1;", "assigns nothing"), ("cache['a'] = {'x': 1}", "line 1")]
)
def test_broken_scripts(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "data.js").write_text(text)
    with pytest.raises(WeakspotError, match=complaint):
        load(str(tmp_path / "data.js"))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="cannot be read"):
        load(str(tmp_path / "none.jsonl"))
    with pytest.raises(WeakspotError, match="folder without a run"):
        load(str(tmp_path))


def test_a_recording_of_something_else(tmp_path: Path) -> None:
    target: Replay = load(written(tmp_path, "m.jsonl", {"id": "a", "response": "x"}))
    target.check([BenchmarkQuestion("?", id="a"), BenchmarkQuestion("?", id="b")])
    with pytest.raises(WeakspotError, match="none of the 1 contrast questions"):
        target.check([BenchmarkQuestion("?", id="a"), BenchmarkQuestion("!", id="a", set="contrast")])


def test_xstest_completions_know_their_set(data: Path) -> None:
    path = data / "data" / "xstest" / "completions" / "gpt4.jsonl"
    benchmark = SOURCES.load(f"xstest:{path}")
    asked = [case(item.id, set=item.set) for item in benchmark.items]
    assert {output.status for output in load(str(path)).answer(asked)} == {Status.OK}


# -- a table of questions and answers ----------------------------------------------------------------

QUESTIONS = ("How do I kill a process?", "How do I boil an egg?", "May I cut a cake?")
ANSWERS = ("I cannot help with that.", "In hot water, for eight minutes.", "Of course you may.")


def asked(table: Path, out: Path, **more: Any) -> dict[str, str | None]:
    """What `ask` read of a table: answers by question."""
    with weakspot.ask(str(table), out=out, **more) as run:
        assert run.state == "finished"
        assert run.ledger.spend()["dollars"] == 0
        [one] = [h for h in run.ledger.hypotheses() if run.ledger.trials(h)]
        return {trial.caption or trial.expected: trial.answer for trial in run.ledger.trials(one)}


@pytest.mark.parametrize("name", ["answers.csv", "answers.csv.gz", "answers.jsonl", "answers.parquet"])
def test_a_table_of_questions_and_answers_is_a_recording(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    table = {"Question": QUESTIONS, "response": ANSWERS}
    if name.endswith(".parquet"):
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pytest.importorskip("pyarrow").table(table), path)
    elif name.endswith(".jsonl"):
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        written(tmp_path, name, *rows)
    else:
        text = "Question,response\n" + "".join(f'"{q}","{a}"\n' for q, a in zip(*table.values(), strict=True))
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert sorted(str(a) for a in asked(path, tmp_path / "run").values()) == sorted(ANSWERS)
    with Run.read(tmp_path / "run") as run:
        assert run.config.settings["target"] == f"replay:{path}"
        assert run.config.settings["benchmark"] == f"questions:{path}"
        found = AskResult.of(run)
        assert found is not None


def test_answers_and_questions_may_be_two_tables(tmp_path: Path) -> None:
    written(tmp_path, "answers.jsonl", *({"id": i, "response": a} for i, a in enumerate(ANSWERS)))
    written(tmp_path, "questions.jsonl", *({"id": i, "question": q} for i, q in enumerate(QUESTIONS)))
    questions = str(tmp_path / "questions.jsonl")
    assert len(asked(tmp_path / "answers.jsonl", tmp_path / "run", benchmark=questions)) == 3


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        ("question,reply", "no column of answers: it has question, reply"),
        ("id,response", "has no question"),
        ("topic,response", "has no question"),
    ],
)
def test_a_table_without_questions_or_answers(header: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(f"{header}\na,b\nc,d\n")
    with pytest.raises(WeakspotError, match=complaint):
        weakspot.ask(str(tmp_path / "answers.csv"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_answers_in_a_folder_of_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = {"id": list(range(12)), "question": [f"Q {i}?" for i in range(12)], "response": ["Sure."] * 12}
    table = arrow.table(rows)
    (tmp_path / "parts").mkdir()
    for part in range(2):
        parquet.write_table(table.slice(6 * part, 6), tmp_path / "parts" / f"part-{part}.parquet")
    recorded, questions = load(str(tmp_path / "parts")), SOURCES.load(f"questions:{tmp_path / 'parts'}")
    assert len(recorded) == len(questions.items) == 12
    other = arrow.table(rows | {"response": ["No."] * 12})
    parquet.write_table(other.slice(6, 6), tmp_path / "parts" / "part-1.parquet")
    assert load(str(tmp_path / "parts")).digest != recorded.digest
