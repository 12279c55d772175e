"""What a person may get wrong, and what a machine may: two lines say cause and fix, nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from weakspot.cli import run as cli

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
HUNT = ["hunt", "python:toy:Classifier", "--label", "fly", "--source", "python:toy:Meadow", "--out", "run"]
WORLD = ["hunt", "world:classifier", "--label", "fly", "--out", "run"]


def told(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The cause and the fix, which are all that was printed."""
    out, err = capsys.readouterr()
    assert out == ""
    cause, fix = err.splitlines()
    assert cause.startswith("error: ")
    assert fix.startswith("  fix: ")
    return cause.removeprefix("error: "), fix.removeprefix("  fix: ")


@pytest.mark.parametrize(
    ("args", "code", "cause", "fix"),
    [
        # names
        ([*WORLD, "--label", "fli"], 1, "world:classifier has no label 'fli'", "did you mean 'fly'?"),
        ([*WORLD, "--label", "qqqq"], 1, "has no label 'qqqq'", "its labels: "),
        ([*WORLD, "--label", ""], 2, "missing option '--label'", "see: weakspot hunt --help"),
        ([*WORLD, "--label", " "], 1, "the label is empty", "name the label"),
        ([*WORLD, "--target-label", "bea"], 1, "has no label 'bea'", "did you mean 'bee'?"),
        ([*WORLD, "--target-label", "fly"], 1, "the target label is the right label", "wrong answer"),
        ([*WORLD, "--judge", "label?target=fly"], 1, "target is the right label", "wrong answer"),
        ([*WORLD, "--judge", "label?target=bea"], 1, "has no label 'bea'", "did you mean 'bee'?"),
        ([*WORLD, "--judge", "label", "--target-label", "bee"], 1, "both say what a failure is", "one of"),
        ([*WORLD, "--judge", "lable"], 1, "no judge is called 'lable'", "did you mean 'label'?"),
        (["hunt", "world:clasifier", "--label", "fly"], 1, "no model is called", "'world:classifier'"),
        (["hunt", "onxx:m.onnx", "--label", "fly"], 1, "no model is called 'onxx:m.onnx'", "'onnx'"),
        (["hunt", "", "--label", "fly"], 1, "'' is not a name", "scheme:name?option=value"),
        (["hunt", "world:classifier?x=1", "--label", "fly"], 1, "has no option 'x'", "options"),
        ([*WORLD, "--source", "world:renderer?sise=64"], 1, "has no option 'sise'", "did you mean 'size'?"),
        ([*WORLD, "--source", "world:renderer?size=9"], 1, "cannot be '9' pixels", "16 to 2048"),
        ([*WORLD, "--source", "world:rendrer"], 1, "no source is called", "'world:renderer'"),
        ([*WORLD, "--source", "python:toy:classify"], 1, "is not a Source", "draw"),
        ([*WORLD, "--source", "python:syntax:x"], 1, "cannot be loaded: SyntaxError", "--debug"),
        (["hunt", "python:needy:Model", "--label", "x"], 1, "cannot be loaded: TypeError", "--debug"),
        (["hunt", "onnx:gone.onnx?labels=labels.txt", "--label", "fly"], 1, "gone.onnx cannot be", "path"),
        # numbers
        ([*WORLD, "--budget", ""], 1, "the budget is empty", "images=20000"),
        ([*WORLD, "--budget", "images=0"], 1, "'0' is not an amount of images", "images=20000"),
        ([*WORLD, "--budget", "images=-5"], 1, "'-5' is not an amount of images", "images=20000"),
        ([*WORLD, "--budget", "images=many"], 1, "'many' is not an amount", "images=20000"),
        ([*WORLD, "--budget", "20000"], 1, "'20000' is not a budget", "images=20000"),
        ([*WORLD, "--budget", "imags=5"], 1, "no budget is called 'imags'", "did you mean 'images'?"),
        ([*WORLD, "--fdr", "0"], 1, "false-discovery rate of 0.0 makes no sense", "0.05"),
        ([*WORLD, "--fdr", "nan"], 1, "makes no sense", "0.05"),
        ([*WORLD, "--seed", "seven"], 2, "invalid value for '--seed'", "see: weakspot hunt --help"),
        ([*WORLD, "--seed", "1.5"], 2, "invalid value for '--seed'", "see: weakspot hunt --help"),
        # flags and commands
        ([*WORLD, "--bugdet", "images=5"], 2, "no option --bugdet", "did you mean '--budget'?"),
        (["hunt", "world:classifier", "--lable", "fly"], 2, "no option --lable", "did you mean '--label'?"),
        (["hunt", "world:classifier"], 2, "missing option '--label'", "see: weakspot hunt --help"),
        (["hunt"], 2, "missing argument 'MODEL|TABLE'", "see: weakspot hunt --help"),
        (["hunt", "rows.csvv"], 1, "rows.csvv is neither a model nor a table", "see: weakspot list models"),
        (["hnt"], 2, "no such command 'hnt'. Did you mean 'hunt'?", "see: weakspot --help"),
        (["list", "modles"], 2, "'modles' is not one of 'models'", "see: weakspot list --help"),
        (["resume", "run", "extra"], 2, "unexpected extra argument", "see: weakspot resume --help"),
        # folders
        (["resume", "nowhere"], 1, "there is no run folder nowhere", "ls runs/"),
        (["report", "nowhere"], 1, "there is no run folder nowhere", "ls runs/"),
        (["resume", "."], 1, ". is not a run: it has no run.yaml", "runs/"),
        (["report", "."], 1, ". is not a run: it has no run.yaml", "runs/"),
        (["report", "toy.py"], 1, "there is no run folder toy.py", "ls runs/"),
        ([*HUNT, "--out", "."], 1, ". is not empty", "choose another --out"),
        ([*HUNT, "--out", "toy.py"], 1, "no run can be written to toy.py: File exists", "--out"),
        ([*HUNT, "--out", "toy.py/run"], 1, "no run can be written to toy.py/run: Not a directory", "--out"),
        ([*HUNT, "--out", "/proc/run"], 1, "no run can be written to /proc/run", "--out"),
    ],
)  # fmt: skip
def test_bad_input_is_explained_in_two_lines(
    toy: Path, capsys: pytest.CaptureFixture[str], args: list[str], code: int, cause: str, fix: str
) -> None:
    (toy / "syntax.py").write_text("x = (")
    (toy / "needy.py").write_text("class Model:\n    def __init__(self, weights): ...\n")
    before = sorted(p.name for p in toy.iterdir() if p.name != "__pycache__")
    assert cli(args) == code
    what, how = told(capsys)
    assert cause in what
    assert fix in how
    assert sorted(p.name for p in toy.iterdir() if p.name != "__pycache__") == before


def test_an_error_as_json(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([*WORLD, "--label", "fli", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "error": "world:classifier has no label 'fli'",
        "fix": "did you mean 'fly'?",
        "exit_code": 1,
    }
    assert cli([*WORLD, "--sead", "1", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["exit_code"] == 2


def test_debug_shows_the_traceback(process: Shell) -> None:
    quiet, loud = process(*WORLD, "--label", "fli"), process(*WORLD, "--label", "fli", "--debug")
    assert "Traceback" not in quiet.stderr
    assert len(quiet.stderr.splitlines()) == 2
    assert "Traceback" in loud.stderr
    assert "WeakspotError: world:classifier has no label 'fli'" in loud.stderr
    assert loud.returncode == 1


def test_a_defect_of_ours_is_said_to_be_one(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weakspot.studies.hunt.parts.load", lambda *_, **__: 1 / 0)
    assert cli(HUNT) == 70
    cause, fix = told(capsys)
    assert cause == "weakspot itself failed: ZeroDivisionError: division by zero"
    assert "--debug" in fix
    with pytest.raises(ZeroDivisionError):
        cli([*HUNT, "--debug"])


def test_terminal_codes_in_a_name_are_made_visible(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([*WORLD, "--label", "\x1b[2J\x07fly"]) == 1
    assert cli(["hunt", "world:\x1b[2J", "--label", "fly"]) == 1
    assert cli([*WORLD, "--\x1b[2J"]) == 2
    assert cli([*WORLD, "--out", "toy.py/\x1b[2J"]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_folder_that_holds_a_run_is_not_overwritten(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([*HUNT, "--budget", "images=60"]) == 3
    capsys.readouterr()
    before = (toy / "run" / "ledger.db").read_bytes()
    assert cli([*HUNT, "--budget", "images=60"]) == 1
    assert told(capsys) == ("run is not empty", "weakspot resume run")
    assert (toy / "run" / "ledger.db").read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (toy / "locked").mkdir(mode=0o555)
    assert cli([*HUNT, "--out", "locked/run"]) == 1
    cause, fix = told(capsys)
    assert cause == "no run can be written to locked/run: Permission denied"
    assert "--out" in fix


@pytest.fixture
def hunted(toy: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A run that a budget stopped."""
    assert cli([*HUNT, "--budget", "images=60"]) == 3
    capsys.readouterr()
    return toy / "run"


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _overwrite_pages(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xa5" * (len(content) - 8192))


def _other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()


@pytest.mark.parametrize("command", ["resume", "report"])
@pytest.mark.parametrize(
    "damage",
    [
        _truncate,
        _overwrite_pages,
        _other_database,
        lambda path: path.write_bytes(b"not a database" * 50),
        lambda path: path.write_bytes(b""),
    ],
    ids=["truncated", "overwritten", "another database", "text", "empty"],
)
def test_a_corrupt_ledger_is_said_to_be_corrupt_and_left_alone(
    hunted: Path, capsys: pytest.CaptureFixture[str], command: str, damage: Callable[[Path], object]
) -> None:
    ledger = hunted / "ledger.db"
    for extra in hunted.glob("ledger.db-*"):
        extra.unlink()
    damage(ledger)
    before = ledger.read_bytes()
    assert cli([command, str(hunted)]) == 1
    cause, _ = told(capsys)
    assert "ledger" in cause
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("command", ["resume", "report"])
def test_a_run_without_its_ledger(hunted: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """A run killed in its first moment has only its run.yaml: resuming starts it, a report cannot be made."""
    for path in hunted.glob("ledger.db*"):
        path.unlink()
    code = cli([command, str(hunted)])
    if command == "report":
        assert code == 1
        assert "there is no ledger" in told(capsys)[0]
    else:
        assert code == 3


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"study": "hnut"}, "no study is called 'hnut'"),
        ({"settings": {"label": "fly"}}, "'target' is needed"),
        ({"settings": {"target": "world:classifier", "label": "fly", "x": 1}}, "there is no option 'x'"),
        ({"surprise": 1}, "surprise"),
        ({"format": "one"}, "format"),
    ],
)
def test_a_changed_run_yaml_is_explained(
    hunted: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], cause: str
) -> None:
    path = hunted / "run.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | change))
    assert cli(["resume", str(hunted)]) == 1
    assert cause in told(capsys)[0]


def test_a_model_that_changed_is_refused_on_resume(hunted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = hunted / "run.yaml"
    written = yaml.safe_load(path.read_text())
    written["settings"] |= {"target": "world:classifier"}
    written["digests"] = {"target": "0" * 64}
    path.write_text(yaml.safe_dump(written))
    assert cli(["resume", str(hunted), "--budget", "images=900"]) == 1
    cause, fix = told(capsys)
    assert cause == "the target is not the one this run began with (its digest differs)"
    assert "new run" in fix


def test_a_broken_target_stops_the_run_which_can_go_on_when_it_is_mended(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["hunt", "python:toy:Breaking", *HUNT[2:], "--budget", "images=6000"]
    assert cli(args) == 1
    *_, cause, fix = capsys.readouterr().err.splitlines()
    assert "all ended in an error: target: ConnectionError: the server ‹U+001B›[31mis gone" in cause
    assert fix == "  fix: remove the cause, then: weakspot resume run"
    config = toy / "run" / "run.yaml"
    config.write_text(config.read_text().replace("toy:Breaking", "toy:Classifier"))
    assert cli(["resume", "run"]) == 0
    assert " · 0 errors · " in capsys.readouterr().out
    assert json.loads((toy / "run" / "report.json").read_text())["trials"]["errors"] == 0


def test_errors_are_counted_apart_and_shown(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["hunt", "python:toy:Flaky", *HUNT[2:], "--budget", "images=6000"]) == 0
    out = capsys.readouterr().out
    assert " errors · " in out
    assert "× target: TimeoutError: no answer" in out
    report = json.loads((toy / "run" / "report.json").read_text())
    trials = report["trials"]
    assert trials["errors"] == pytest.approx(trials["drawn"] / 10, rel=0.1)
    assert trials["n"] + trials["errors"] == trials["drawn"]
    assert report["findings"][0]["phrase"] == "it is on a flower."


@pytest.fixture
def small_disk(toy: Path) -> Iterator[Path]:
    """A file system of 400 kB."""
    mount = toy / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(mount)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_full_disk_loses_nothing(
    process: Shell, weakspot: Shell, meadow: list[str], toy: Path, small_disk: Path
) -> None:
    done = process(*meadow, "--out", str(small_disk / "run"))
    assert done.returncode == 1
    _explained(done.stderr, "space")
    _goes_on(weakspot, meadow, toy, small_disk / "run")


def test_a_file_size_limit_loses_nothing(
    process: Shell, weakspot: Shell, meadow: list[str], toy: Path
) -> None:
    """The same through the limit on the size of files, which needs no privilege."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    done = process(*meadow, "--out", "run", preexec_fn=limit)
    assert done.returncode == 1
    _explained(done.stderr, "space")
    _goes_on(weakspot, meadow, toy, toy / "run")


def _explained(stderr: str, fix: str) -> None:
    cause, mend = stderr.splitlines()[-2:]
    assert cause.startswith("error: ")
    assert mend.startswith("  fix: ")
    assert fix in mend
    assert "Traceback" not in stderr


def _goes_on(weakspot: Shell, meadow: list[str], toy: Path, left: Path) -> None:
    """With room again, the run ends as one that was never interrupted."""
    shutil.copytree(left, toy / "moved")
    rest, whole = weakspot("resume", "moved", "--json"), weakspot(*meadow, "--out", "whole", "--json")
    assert rest.returncode == 0, rest.stderr
    assert json.loads(rest.stdout)["findings"] == json.loads(whole.stdout)["findings"]
