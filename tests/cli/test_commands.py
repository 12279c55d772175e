"""Every command as a person uses it: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import pytest
import yaml
from typer.models import OptionInfo

import weakspot as ws
from weakspot.cli import run as cli
from weakspot.core import JUDGES, MODELS, SOURCES

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


def lines(text: str) -> dict[str, str]:
    """The last lines of a result by their first word."""
    return {line.split(" ", 1)[0]: line.split(" ", 1)[1].strip() for line in text.splitlines() if " " in line}


def test_a_hunt_from_first_to_last_line(process: Shell, meadow: list[str], toy: Path) -> None:
    done = process(*meadow, "--out", "run")
    assert done.returncode == 0, done.stderr
    progress = done.stderr.splitlines()
    assert progress[0] == "hunting python:toy:Classifier for 'fly' · up to 6,000 images · seed 7"
    assert [line.split()[0] for line in progress[1:3]] == ["baseline", "race"]
    assert re.fullmatch(
        r"confirm  1 candidate on fresh images · 1 confirmed · [\d,]+ images so far", progress[-2]
    )
    assert progress[-1].startswith("edits    the same words with one thing changed · ")
    result = done.stdout.splitlines()
    assert re.fullmatch(r"baseline \d.*% \[.*\] of [\d,]+: a realistic photograph.*", result[0])
    assert set(result[1]) == {"─"}
    assert re.fullmatch(
        r" 1  it is on a flower  \d+ %  \[\d+, \d+\]  of \d+  \d+× baseline  → bee 100 %", result[2]
    )
    assert result[3] == "1 weak spot confirmed on fresh images (false-discovery rate ≤ 5 %)"
    last = lines("\n".join(result[4:]))
    assert list(last)[-3:] == ["trials", "report", "next"]
    assert re.match(
        r"Beyond these, none of the \d+ captions that were tried fails more often", last["excluded"]
    )
    assert re.fullmatch(r"[\d,]+ images · 0 errors · [\d.]+ s", last["trials"])
    assert (toy / last["report"]).is_file()
    assert shlex.split(last["next"]) == ["weakspot", "try", "run", "it is not on a flower."]
    again = process(*shlex.split(last["next"])[1:])
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("it is not on a flower\nfailed   ")
    assert all(len(line) <= 120 for line in result)


def test_json_is_all_that_is_on_stdout(process: Shell, meadow: list[str], toy: Path) -> None:
    done = process(*meadow, "--out", "run", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["exit_code"] == 0
    assert found["state"] == "finished"
    assert found["findings"][0]["phrase"] == "it is on a flower."
    assert Path(found["report"]) == Path("run/report.html")
    assert "hunting" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert found | {"report": None, "exit_code": None} == json.loads(
        (toy / "run" / "report.json").read_text()
    ) | {"report": None, "exit_code": None}


def test_run_yaml_says_all_that_is_needed_to_run_it_again(weakspot: Shell) -> None:
    done = weakspot(
        "hunt", "world:classifier", "--label", "cat", "--budget", "images=40", "--seed", "5", "--out", "run",
        "--fdr", "0.1", "--target-label", "dog",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    written = yaml.safe_load(Path("run/run.yaml").read_text())
    assert written["settings"] == {
        "target": "world:classifier",
        "label": "cat",
        "target_label": "dog",
        "source": "world:renderer",
        "judge": None,
        "budget": "images=40",
        "seed": 5,
        "fdr": 0.1,
        "order": "weight",
        "certify": None,
        "propose": "both",
        "prompt": "a realistic photograph of a {label} ({parent}).",
        "labels": [],
        "verify": [],
        **dict.fromkeys(("captioner", "encoder", "llm", "from_images", "labels_file", "sense", "tags")),
        "sentences": 3,
        "edits": 4,
    }
    assert re.fullmatch("[0-9a-f]{64}", written["digests"]["target"])
    assert {"weakspot", "python", "numpy", "pillow", "onnxruntime"} <= set(written["versions"])
    first, second, *_ = done.stderr.splitlines()
    assert first.startswith("hunting world:classifier for 'cat'")
    assert second == "target   world:classifier · cpu · float32 · batch 64"
    assert second not in done.stdout
    assert "false-discovery rate ≤ 10 %" in done.stdout


def test_the_same_seed_gives_the_same_findings_and_another_seed_others(toy: Path, meadow: list[str]) -> None:
    for out in ("a", "b"):
        assert cli([*meadow, "--out", out]) == 0
    assert cli([*meadow, "--seed", "8", "--out", "c"]) == 0
    a, b, c = (ws.open_run(name) for name in "abc")
    assert [f.to_json() for f in a.findings] == [f.to_json() for f in b.findings]
    assert [f.rate for f in a.findings] != [f.rate for f in c.findings]
    for run in (a, b, c):
        run.close()


def test_a_spent_budget_is_exit_code_3_with_a_partial_report_and_can_be_raised(
    weakspot: Shell, meadow: list[str], toy: Path
) -> None:
    done = weakspot(*meadow, "--budget", "images=30", "--out", "a run")
    assert done.returncode == 3
    assert "stopped: the images budget of 30 is spent; a larger budget may find more" in done.stdout
    assert (toy / "a run" / "report.html").is_file()
    assert json.loads((toy / "a run" / "report.json").read_text())["trials"]["drawn"] <= 30
    last = lines(done.stdout)
    assert last["report"] == "'a run/report.html'"
    assert last["next"] == "weakspot resume 'a run' --budget images=60"
    more = weakspot(*shlex.split(last["next"])[1:])
    assert more.returncode == 3
    assert more.stderr.startswith("resuming a run · up to 60 images · seed 7")
    assert lines(more.stdout)["next"] == "weakspot resume 'a run' --budget images=120"
    # Without a budget it goes on with the one it was last given.
    assert weakspot("resume", "a run").stderr.startswith("resuming a run · up to 60 images")
    rest = weakspot("resume", "a run", "--budget", "images=6000", "--json")
    assert rest.returncode == 0, rest.stderr
    assert [f["phrase"] for f in json.loads(rest.stdout)["findings"]] == ["it is on a flower."]


def test_resuming_a_finished_run_shows_it_again(weakspot: Shell, meadow: list[str]) -> None:
    first, again = weakspot(*meadow, "--out", "run"), weakspot("resume", "run")
    assert again.returncode == 0
    assert again.stdout == first.stdout
    assert again.stderr == ""


@pytest.mark.parametrize("limit", ["seconds=0.5", "calls=60", "images=60,seconds=1e6"])
def test_any_kind_of_budget_ends_a_hunt(
    toy: Path, meadow: list[str], limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    args = [*meadow, "--budget", limit, "--source", "python:toy:Slow", "--out", "run"]
    assert cli(args) == 3
    assert "budget of" in capsys.readouterr().out


def test_the_report_is_written_again(weakspot: Shell, meadow: list[str], toy: Path) -> None:
    weakspot(*meadow, "--out", "run")
    before = {name: (toy / "run" / name).read_text() for name in ("report.html", "report.md", "report.json")}
    for name in before:
        (toy / "run" / name).unlink()
    done = weakspot("report", "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "run/report.html\n", "")
    assert {name: (toy / "run" / name).read_text() for name in before} == before
    as_json = weakspot("report", "run", "--json")
    assert json.loads(as_json.stdout)["findings"][0]["confirmed"]


def test_the_report_opens_in_the_browser(
    toy: Path, meadow: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    cli([*meadow, "--budget", "images=100", "--out", "run"])
    assert cli(["report", "run", "--open"]) == 0
    assert opened == [(toy / "run" / "report.html").as_uri()]


@pytest.mark.parametrize(("what", "registry"), [("models", MODELS), ("sources", SOURCES), ("judges", JUDGES)])
def test_list(what: str, registry: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["list", what]) == 0
    text = capsys.readouterr().out
    assert cli(["list", what, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["name"] for r in rows] == [e.name for e in registry]  # type: ignore[attr-defined]
    for row in rows:
        assert row["example"] in text
        assert row["about"]
        assert row["about"] in text


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    assert cli(["doctor"]) == 0
    text = capsys.readouterr().out
    assert re.match(r"weakspot \d+\.\d+\.\d+ · Python 3\.", text)
    assert "OPENAI_API_KEY set" in text
    assert "HF_TOKEN not set" in text
    assert "sk-very-secret" not in text
    assert re.search(r"^test     ok: drew, asked and recorded [\d,]+ images/s$", text, re.MULTILINE)
    assert not list(tmp_path.iterdir())


def test_doctor_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no weights")

    monkeypatch.setattr("weakspot.hunt", broken)
    assert cli(["doctor", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["self_test"] == {"ok": False, "about": "RuntimeError: no weights", "images_per_second": None}
    assert facts["core"]["numpy"]


def test_demo(weakspot: Shell, toy: Path) -> None:
    done = weakspot("demo", "--budget", "images=256", "--out", "demo")
    assert done.returncode == (3 if "stopped: " in done.stdout else 0), done.stderr
    assert done.stdout.startswith("table: what a classifier answered")
    assert "hunt: the drawn world" in done.stdout
    for name in ("table", "hunt-fly", "hunt-cat", "hunt-crayfish", "mine", "map", "ask"):
        assert (toy / "demo" / name / "report.html").is_file()
        assert f"  demo/{name}/report.html" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1].startswith("next     weakspot hunt world:classifier --label wolf")


def test_version_and_help(process: Shell) -> None:
    assert process("--version").stdout == f"weakspot {ws.__version__}\n"
    for flag in ("--help", "-h"):
        done = process(flag)
        assert done.returncode == 0
        for command in ("hunt", "resume", "report", "try", "list", "doctor", "demo"):
            assert f"  {command} " in done.stdout
        assert "..." not in done.stdout.split("Commands:")[1]
    assert process().returncode == 2
    assert "Usage: weakspot" in process().stderr


@pytest.mark.parametrize("command", ["hunt", "resume", "report", "try", "list", "doctor", "demo"])
def test_help_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Usage: weakspot {command}" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_flags_are_not_spelt_by_the_library() -> None:
    """Typer 0.27 makes --LABEL of a flag that is called like its metavar, unless the flag is spelt out."""
    from weakspot.cli.app import build

    app = build()
    infos = [*app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        infos += group.typer_instance.registered_commands
    left = []
    for info in infos:
        assert info.callback is not None
        for name, hint in get_type_hints(info.callback, include_extras=True).items():
            for flag in getattr(hint, "__metadata__", ()):
                # Inside Annotated, the place of the default holds the first of the flag's own names.
                spelt = isinstance(flag, OptionInfo) and str(flag.default).startswith("-")
                if isinstance(flag, OptionInfo) and (flag.metavar or "").lower() == name and not spelt:
                    left.append((info.name, name))
    assert left == []


def test_a_pipe_that_closes_early_is_no_error(toy: Path) -> None:
    command = shlex.quote(str(Path(sys.executable).with_name("weakspot")))
    done = subprocess.run(
        f"{command} list models | true", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_a_default_folder_is_made_below_runs(weakspot: Shell, meadow: list[str], toy: Path) -> None:
    done = weakspot(*meadow, "--budget", "images=100")
    [folder] = (toy / "runs").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-hunt-fly-[0-9a-f]{4}", folder.name)
    assert lines(done.stdout)["report"] == f"runs/{folder.name}/report.html"
