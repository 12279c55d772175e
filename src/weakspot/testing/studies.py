"""Checks a study of your own, or one of ours, the way its users meet it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from weakspot.checks.ports import promise
from weakspot.core import WeakspotError
from weakspot.store import Run
from weakspot.study.options import Field, fields_of
from weakspot.study.study import Study, find_study

#: What may differ from one time to the next.
_FLEETING = ("seconds", "dollars")


def check_study(
    name: str, folder: Path, *, values: Mapping[str, Any] | None = None, kills: int = 2, executor: str = ""
) -> Run:
    """Run a study as people do, and check that it keeps what the frame promises for it.

    Its help; its options by flag, file and variable; a run, its report, its pages; the same ledger again,
    after a kill too, and from Python; comparison with itself, a gate, an export; errors that say what to do.

    Args:
        name: As it is registered.
        folder: An empty one; runs are made there.
        values: Options that make a run of a few seconds; by default `Study.example`.
        kills: How often the run is killed and resumed.
        executor: Also run it there, e.g. "ray"; the ledger must be the same.
    """
    study = find_study(name)
    given = dict(study.example if values is None else values)
    _help(study)
    _options(study, folder / "options")
    words = [name, *words_of(study, given)]
    whole = folder / "whole"
    printed = _json([*words, "--out", str(whole)])
    promise(
        printed["study"] == name, f"--json of {name} does not name the study", "return Document.summary()"
    )
    expected = content(whole)
    _again(study, given, expected, folder)
    _killed(name, words, expected, folder, kills)
    if executor:
        _run([*words, "--out", str(folder / "elsewhere"), "--executor", executor])
        promise(
            content(folder / "elsewhere") == expected,
            f"the ledger differs on {executor}",
            "see docs/scale.md",
        )
    _reports(whole)
    _pages(whole)
    _afterwards(whole, folder)
    _refusals(study, given, folder)
    return Run.read(whole)


def content(folder: Path) -> dict[str, Any]:
    """What a ledger says, without what differs from one time to the next."""
    with _ledger(folder) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(trials)") if row[1] not in _FLEETING]
        trials = db.execute(f"SELECT {', '.join(columns)} FROM trials ORDER BY hypothesis, idx").fetchall()  # noqa: S608
        findings = db.execute("SELECT data FROM findings ORDER BY rank").fetchall()
        result = db.execute("SELECT value FROM facts WHERE key = 'result'").fetchone()
        hypotheses = sorted(db.execute("SELECT id, text FROM hypotheses").fetchall())
    lasting = None if result is None else _lasting(json.loads(result[0]))
    return {"trials": trials, "findings": findings, "result": lasting, "hypotheses": hypotheses}


def _ledger(folder: Path) -> contextlib.closing[sqlite3.Connection]:
    uri = f"{(folder.resolve() / 'ledger.db').as_uri()}?mode=ro"
    return contextlib.closing(sqlite3.connect(uri, uri=True))


def _lasting(value: Any) -> Any:
    """Without what differs from one time to the next, at any depth."""
    if isinstance(value, dict):
        return {key: _lasting(inner) for key, inner in value.items() if key not in _FLEETING}
    return [_lasting(inner) for inner in value] if isinstance(value, list) else value


def words_of(study: Study, values: Mapping[str, Any]) -> list[str]:
    """Options as words of the command line."""
    words: list[str] = []
    for field in fields_of(study):
        given = values.get(field.name)
        for value in given if isinstance(given, list | tuple) else [given]:
            if value is None or value is False:
                continue
            flagged = [field.flag] if value is True else [f"{field.flag}={value}"]
            words += [str(value)] if field.option.argument else flagged
    return words


def _run(arguments: Sequence[str], *codes: int) -> str:
    """The standard output of a command; its exit code must be 0, or one of those."""
    from weakspot.cli import run

    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = run(list(arguments))
    wanted = codes or (0, 3)
    called = " ".join(arguments)
    promise(code in wanted, f"weakspot {called} ends with {code}: {complained.getvalue()[-800:]}", "mend it")
    fine = "Traceback" not in complained.getvalue()
    promise(fine, f"weakspot {called} shows a traceback", "raise a WeakspotError")
    return said.getvalue() + (complained.getvalue() if {1, 2} & {*wanted} else "")


def _json(arguments: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_run([*arguments, "--json"]))
    return found


def _help(study: Study) -> None:
    text = " ".join(_run([study.name, *(["run"] if study.tools else []), "--help"]).split())
    promise(
        study.about in " ".join(_run(["--help"]).split()), f"weakspot --help does not list {study.name}", ""
    )
    for field in fields_of(study):
        promise(
            field.flag in text, f"the help of {study.name} does not say {field.flag}", "annotate the option"
        )


def _options(study: Study, folder: Path) -> None:
    """Every option reaches the command as it was said, by flag, by file and by variable."""
    from weakspot.cli.app import variables
    from weakspot.cli.studies import parser_of
    from weakspot.study.files import read_study

    folder.mkdir(parents=True)
    parser = parser_of(study.name)
    values = {field.name: _other(field) for field in fields_of(study)}
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump({"study": study.name} | values, allow_unicode=True), "utf-8")
    read = read_study(file)
    promise(
        not read.problems, f"a file with every option has problems: {read.problems[:2]}", "see study/files.py"
    )
    named = {option.name: name for option, name in variables((study.name,), parser).items()}
    arguments = [str(values[f.name]) for f in fields_of(study) if f.option.argument]
    said = {named[key]: _variable(value) for key, value in values.items() if key in named}
    with mock.patch.dict(os.environ, said):
        by_variable = parser.make_context(study.name, list(arguments)).params
    by_flag = parser.make_context(study.name, words_of(study, values)).params
    by_file = parser.make_context(study.name, read.arguments()).params
    for key, value in values.items():
        for where, found in (("flag", by_flag), ("file", by_file), ("variable", by_variable)):
            promise(_plain(found[key]) == _plain(value), f"{key}={value!r} by {where} is {found[key]!r}", "")


def _other(field: Field) -> Any:
    """A value that is not the default."""
    kinds: dict[type, Any] = {bool: not field.default, int: 7, float: 0.25}
    value = kinds.get(field.kind, "a=#b'c")
    return [value, "another"] if field.many else value


def _variable(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return value if isinstance(value, bool | int | float) else str(value)


def _again(study: Study, given: Mapping[str, Any], expected: Any, folder: Path) -> None:
    """The same seed gives the same ledger: from a file, and from Python."""
    from weakspot.study.calls import function_of

    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump({"study": study.name} | dict(given), allow_unicode=True), "utf-8")
    _run(["validate", str(file)])
    _run(["run", str(file), "--out", str(folder / "file")])
    function_of(study.name)(**given, out=folder / "python").close()
    for place, how in (("file", "its file"), ("python", "Python")):
        same = content(folder / place) == expected
        promise(same, f"a run from {how} has another ledger", "draw by the seed alone")


def _killed(name: str, words: Sequence[str], expected: Any, folder: Path, kills: int) -> None:
    """A run that is killed at any moment goes on to the same ledger."""
    cut = folder / "killed"
    quiet: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    for _ in range(kills):
        resumed = (cut / "run.yaml").exists()
        arguments = ["resume", str(cut)] if resumed else [*words, "--out", str(cut)]
        with subprocess.Popen([sys.executable, "-m", "weakspot", *arguments], **quiet) as process:  # noqa: S603
            before = _drawn(cut)
            while process.poll() is None and _drawn(cut) <= before:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
    with Run.read(cut) as left:
        state = left.state
    _run(["resume", str(cut)])
    promise(
        content(cut) == expected,
        f"{name}, killed ({state}) and resumed, has another ledger",
        "see study/lifecycle.py",
    )


def _drawn(folder: Path) -> int:
    """Trials in a ledger that may be in the middle of being made."""
    with contextlib.suppress(sqlite3.Error):
        if (folder / "ledger.db").exists():
            with _ledger(folder) as db:
                return int(db.execute("SELECT COUNT(*) FROM trials").fetchone()[0])
    return 0


def _reports(folder: Path) -> None:
    _run(["report", str(folder)])
    texts = [(folder / f"report.{form}").read_text("utf-8") for form in ("html", "md", "json")]
    conclusion = json.loads(texts[2])["conclusion"]
    promise(bool(conclusion), "the report has no conclusion", "say it in Document.conclusion")
    promise(
        "<h1" in texts[0] and texts[1].startswith("# "), "a report has no title", "see report/document.py"
    )


def _pages(folder: Path) -> None:
    if find_spec("starlette") is None:
        return
    from weakspot.web.explorer import Explorer

    app = Explorer(folder.parent).app()
    for path in ("/", f"/run/{folder.name}", f"/run/{folder.name}/trials"):
        status = asyncio.run(_asked(app, path))
        promise(status == 200, f"the page {path} answers with {status}", "see weakspot view")


async def _asked(app: Any, path: str) -> int:
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1", "scheme": "http", "root_path": "",
             "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1)}  # fmt: skip
    await app(scope, receive, send)
    return int(said[0]["status"])


def _afterwards(folder: Path, place: Path) -> None:
    """Compared with itself nothing differs, a gate passes, and an export is written."""
    found = _json(["compare", str(folder), str(folder.parent / "file")])
    promise(
        not found.get("worse") and not found.get("better"), "a run differs from itself", "see study/rates.py"
    )
    _run(["gate", str(folder), "--max-rate", "1"])
    _run(["export", str(folder), "--out", str(place / "export")])


def _refusals(study: Study, given: Mapping[str, Any], folder: Path) -> None:
    """What cannot be meant is refused in a sentence, before there is a run."""
    bad = folder / "bad"
    wrong: dict[str, Any] = {"budget": "images=many", "seed": -1}
    for key, value in wrong.items():
        if key in study.fields:
            said = _run([study.name, *words_of(study, dict(given) | {key: value}), "--out", str(bad)], 1, 2)
            promise(
                "fix:" in said, f"{key}={value} is refused without a way out", "raise WeakspotError(…, fix=…)"
            )
            promise(
                not bad.exists(), f"{key}={value} is refused after the run was made", "check the settings"
            )
    _run([study.name, "--no-such-option"], 2)
    with contextlib.suppress(WeakspotError):
        study.separate(dict(given) | {"nonsense": 1})
        promise(False, "an option that does not exist is taken", "inherit from StudySettings")
