"""Recorded answers as a target: `replay:FILE?model=NAME`. No key, no network, the same every time.

Read are tables (JSON lines, CSV, Parquet, …) with an id and a response a row, or without ids where the same
table has the questions; the benchmark's released `data.js` and its
submission file; and the folder of an earlier run, so that its answers can be judged again by another judge.
Rows may say to which set, system prompt (`arm`), stage and repeat they belong; without that they are first
answers to benign questions without a system prompt. A null answer is a call that failed when it was
recorded: an error, never a refusal.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import Case, Output, Status, WeakspotError, disk_errors, nearest
from weakspot.core.question import BENIGN, CONTRAST, CUT_OFF, BenchmarkQuestion
from weakspot.core.rows import ID, Row, read_text
from weakspot.records.read import is_table
from weakspot.records.rows import rows_of
from weakspot.sources.question_files import QUESTION
from weakspot.store import Run

RESPONSE: Final = ("response", "answer", "completion", "output", "model_response", "prediction")
_ASSIGNMENT: Final = re.compile(r"""\bcache\[\s*(?P<q>['"])(?P<name>.*?)(?P=q)\s*\]\s*=\s*""")
#: Why an answer ended, and what is written there if it was cut off.
_ENDED: Final = ("finish_reason", "stop_reason")
_CUT: Final = frozenset({"length", "max_tokens"})
#: Characters of an answer; what is beyond was not meant as one.
LONGEST: Final = 1 << 24


class Key(NamedTuple):
    """Which question a recorded answer belongs to."""

    set: str
    id: str
    arm: str = "none"
    stage: str = ""
    repeat: int = 0


class Replay:
    """A target that answers from a recording of a model, or of what the file is called, with its SHA-256."""

    needs_images = False  # what was shown when it was recorded does not matter now

    def __init__(self, answers: Mapping[Key, Output], *, model: str = "", digest: str = "") -> None:
        self._answers, self.model, self.digest = dict(answers), model, digest

    def __len__(self) -> int:
        return len(self._answers)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [self._output(case.input) for case in cases]

    def check(self, questions: Iterable[BenchmarkQuestion]) -> None:
        """Refuse a recording that knows none of the questions of a set, arm or stage, before any work."""
        asked, known = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for question in questions:
            asked[question.set, question.arm] += 1
            known[question.set, question.arm] += _key(question) in self._answers
        for (which, arm), n in asked.items():
            if not known[which, arm]:
                under = f" under the system prompt {arm!r}" if arm != "none" else ""
                some = ", ".join(key.id for key in list(self._answers)[:5])
                raise WeakspotError(
                    f"the recording answers none of the {n} {which} questions{under}; its ids are {some} …",
                    fix="leave that part out, or name another recording or benchmark",
                )

    def _output(self, question: Any) -> Output:
        if not isinstance(question, BenchmarkQuestion):
            raise WeakspotError("a recording answers questions only", fix="use it with: weakspot ask")
        found = self._answers.get(_key(question))
        return found or Output(
            None, status=Status.ERROR, detail="the recording has no answer to this question"
        )


def _key(question: BenchmarkQuestion) -> Key:
    return Key(question.set, question.id, question.arm, question.stage, question.repeat)


def load(path: str, *, model: str = "", sha256: str = "") -> Replay:
    """A file, or the folder of a run of `ask`; `model` chooses where a file holds the answers of several."""
    where = Path(path)
    if (where / "run.yaml").is_file():
        answers, recorded, digest = _of_run(where)
        _check_digest(where, digest, sha256)
        return Replay(answers, model=recorded, digest=digest)
    if where.is_dir() and not is_table(where):
        raise WeakspotError(
            f"{path[:200]} is a folder without a run or a table", fix="name the file of answers"
        )
    with disk_errors(f"{where} cannot be read", "check the name and the permissions"):
        digest = _digest(where)
    _check_digest(where, digest, sha256)
    by_model = _scripts(where, read_text(where)) if where.suffix.lower() == ".js" else _tables(where)
    name = _choose(where, by_model, model)
    return Replay(_indexed(where, by_model[name]), model=name or where.stem, digest=digest)


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files."""
    if not path.is_dir():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    total = hashlib.sha256()
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        total.update(f"{file.relative_to(path)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _check_digest(path: Path, digest: str, wanted: str) -> None:
    if wanted and wanted.lower() != digest:
        raise WeakspotError(
            f"{path} is not the recording that was meant: its SHA-256 is {digest}",
            fix="use the original file, or leave sha256 out",
        )


def _choose(path: Path, models: Mapping[str, list[Row]], wanted: str) -> str:
    if not wanted and len(models) == 1:
        return next(iter(models))
    if wanted in models:
        return wanted
    names = ", ".join(sorted(models))[:400]
    if not wanted:
        raise WeakspotError(f"{path} holds answers of {len(models)} models", fix=f"add ?model=…: {names}")
    raise WeakspotError(
        f"{path} holds no answers of {wanted[:80]!r}", fix=nearest(wanted, models) or f"it has: {names}"
    )


def _scripts(path: Path, text: str) -> dict[str, list[Row]]:
    """The benchmark's `data.js`: `cache['NAME'] = {"1": {"response": …}, …}`, once or more."""
    found: dict[str, list[Row]] = {}
    decoder = json.JSONDecoder()
    at = 0
    while match := _ASSIGNMENT.search(text, at):
        line = text.count("\n", 0, match.end()) + 1
        try:
            data, at = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", line)
            raise WeakspotError(
                f"{path}: line {line}: {getattr(error, 'msg', 'it is not JSON')}", fix="fetch the file again"
            ) from error
        if not isinstance(data, dict):
            raise WeakspotError(f"{path}: line {line} assigns no object", fix="fetch the file again")
        found[match["name"]] = list(_entries(data, line))
    if not found:
        raise WeakspotError(
            f"{path} assigns nothing to cache['…']", fix="it is not a data.js of the benchmark"
        )
    return found


def _tables(path: Path) -> dict[str, list[Row]]:
    rows = rows_of(path)
    whole = next((row for row in rows if row.values.get("id") == "responses"), None)
    if whole is not None and path.suffix.lower() == ".json":
        # The benchmark's submission file: {"responses": {"1": {…}}, "reject Rate": {…}}.
        rows = list(_entries({k: v for k, v in whole.values.items() if k != "id"}, whole.line)) or rows
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row.values.get("model") or ""), []).append(row)
    return found


def _entries(data: Mapping[str, Any], line: int) -> Iterator[Row]:
    for key, value in data.items():
        yield Row(line, {"id": key, **(value if isinstance(value, Mapping) else {"response": value})})


def _indexed(path: Path, rows: Sequence[Row]) -> dict[Key, Output]:
    answers: dict[Key, Output] = {}
    lines: dict[Key, int] = {}
    columns = list(dict.fromkeys(name for row in rows for name in row.values))
    if len(columns) > 1 and not {*RESPONSE, "status"} & {*columns}:
        raise WeakspotError(
            f"{path} has no column of answers: it has {', '.join(columns)[:300]}",
            fix=f"call one {', '.join(RESPONSE[:-1])} or {RESPONSE[-1]}",
        )
    # The questions of the same table are numbered likewise.
    numbered = not {*ID} & {*columns} and bool({*QUESTION} & {*columns})
    for number, row in enumerate(rows, start=1):
        given = number if numbered else row.first(ID)
        if given is None or not any(name in row.values for name in (*RESPONSE, "status")):
            what = "an id" if given is None else "a response"
            raise WeakspotError(
                f"{path}: line {row.line} does not have {what}", fix=f"write {ID[0]} and {RESPONSE[0]}"
            )
        key = Key(
            _set(row),
            str(given),
            str(row.values.get("arm") or "none"),
            str(row.values.get("stage") or ""),
            _whole(row.values.get("repeat")),
        )
        if key in answers:
            raise WeakspotError(
                f"{path}: the id {key.id[:80]!r} is answered twice (lines {lines[key]} and {row.line})",
                fix="keep one of them, or say which set, arm, stage or repeat each belongs to",
            )
        lines[key], answers[key] = row.line, _recorded(path, row)
    return answers


def _set(row: Row) -> str:
    """Which set a row belongs to: as it says, or as XSTest's types do."""
    contrast = str(row.values.get("type", "")).startswith("contrast_")
    return str(row.values.get("set") or (CONTRAST if contrast else BENIGN))


def _recorded(path: Path, row: Row) -> Output:
    text, said = row.first(RESPONSE), row.values.get("status")
    detail = str(row.values.get("detail") or row.values.get("error") or "")[:500]
    if str(row.first(_ENDED) or "").lower() in _CUT:
        detail = f"{CUT_OFF} when it was recorded"
    if said not in (None, ""):
        if said not in {s.value for s in Status}:
            raise WeakspotError(
                f"{path}: line {row.line}: no status is called {str(said)[:40]!r}",
                fix=f"choose from: {', '.join(s.value for s in Status)}",
            )
        # Whether an answer refuses is for the judge to say, each time anew.
        status = Status.OK if said == Status.REFUSED and text is not None else Status(said)
        if status is Status.ERROR:
            said = detail or "the call failed when it was recorded"
            return Output(None, status=status, detail=said)
        if status is not Status.OK:
            return Output(None if text is None else str(text), status=status, detail=detail)
    if text is None:
        said = detail or "the recorded answer is null: the call failed then"
        return Output(None, status=Status.ERROR, detail=said)
    if not isinstance(text, str):
        raise WeakspotError(f"{path}: line {row.line}: the response is not a text", fix="write text, or null")
    if not text.strip():
        return Output(text, status=Status.EMPTY, detail=detail)
    return Output(text[:LONGEST], detail=detail)


def _whole(said: Any) -> int:
    return int(said) if isinstance(said, int) or str(said or "").isdigit() else 0


def _of_run(folder: Path) -> tuple[dict[Key, Output], str, str]:
    """The answers of a run, to be judged again at no cost, with the model's name and a digest of them.

    They are as the ledger keeps them: beyond 32,768 characters they were cut.
    """
    from weakspot.studies.ask.reading import answers
    from weakspot.studies.ask.verdicts import NOTE

    found: dict[Key, Output] = {}
    with Run.read(folder) as run:
        if run.config.study != "ask":
            raise WeakspotError(
                f"{folder} is a run of {run.config.study}, not of ask", fix="name a run of ask"
            )
        for one in answers(run):
            # Whether an answer refuses the judge says anew; without one the provider has said it.
            trial, key = one.trial, Key(one.set, one.item, one.system, one.stage, one.repeat)
            judged = trial.status is Status.REFUSED and trial.answer is not None
            status = Status.OK if judged else trial.status
            detail = trial.detail if status is not Status.OK else trial.detail.partition(NOTE)[2]
            found[key] = Output(trial.answer, status=status, detail=detail)
        model = str(run.config.settings.get("target", ""))
    if not found:
        raise WeakspotError(f"{folder} holds no answers", fix="finish the run first: weakspot resume")
    rows = [[*key, recorded.answer, recorded.status] for key, recorded in found.items()]
    return found, model, hashlib.sha256(json.dumps(rows).encode("utf-8", "backslashreplace")).hexdigest()
