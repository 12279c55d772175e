"""compare and gate as a person (or a build) uses them, on runs whose truth is known."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pytest
import yaml
from tests.after.after_parts import FLOWER, OTHERS, YELLOW, hunted
from tests.conftest import ROOT, TOY

from weakspot.after.compared import compare_folders
from weakspot.cli import run as cli
from weakspot.core import Rate, Tally
from weakspot.store import Run
from weakspot.study.rates import Sample

MILDER = "python:others:milder?labels=labels.txt"
#: A chat model that refuses everything, one that the network fails, and a classifier that got worse.
MODELS = """
import numpy as np

from weakspot.core import MODELS, Output, Scores, Status


class Refuses:
    def answer(self, cases):
        return [Output("I'm sorry, but I can't help with that.") for _ in cases]


class Down:
    patience = 10**9

    def answer(self, cases):
        return [Output(None, status=Status.ERROR, detail="no answer") for _ in cases]


class Worse:
    def __init__(self):
        self.own = MODELS.load("world:classifier")
        self.labels, self.parents = self.own.labels, self.own.parents

    def answer(self, cases):
        return [self.other(one) if case.seed % 2 else one for case, one in zip(cases, self.own.answer(cases))]

    def other(self, output):
        scores = Scores(self.labels, np.roll(output.scores.values, 1))
        return Output(scores.top(1)[0][0], scores)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder, with hunts (`a`; `b`, milder; `c`, of other draws) and a benchmark (`q`, `r`)."""
    folder = tmp_path_factory.mktemp("runs")
    for name, text in (("toy.py", TOY), ("others.py", OTHERS), ("models.py", MODELS)):
        (folder / name).write_text(text)
    (folder / "labels.txt").write_text("fly\nbee\ncat\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        for name in ("toy", "others", "models"):
            patch.delitem(sys.modules, name, raising=False)
        hunted(Path("a"), found=((FLOWER, True), (YELLOW, True)))
        hunted(Path("b"), target=MILDER, found=((FLOWER, True),))
        hunted(Path("c"), target=MILDER, found=((FLOWER, True),))
        text = Path("c/run.yaml").read_text()
        Path("c/run.yaml").write_text(text.replace("seed: 7", "seed: 8"))
        asked = ["--benchmark", "world:questions", "--contrast"]
        assert cli(["ask", "world:guide", *asked, "--out", "q"]) == 0
        assert cli(["ask", "python:models:Refuses", *asked, "--out", "r"]) == 0
        yield folder


@pytest.fixture
def here(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(runs)
    return runs


def test_the_same_cases_are_compared_in_pairs(here: Path, capsys: Any) -> None:
    assert cli(["compare", "a", "b", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["words"]: row for row in told["rows"]}
    flower = rows["it is on a flower."]
    # By another route: of 64 fresh pictures, green below 200 fails the first model, below 100 the other.
    with Run.read(Path("a")) as one, Run.read(Path("b")) as two:
        first, second = (
            {t.index: t.failed for t in run.ledger.trials(FLOWER) if t.index >> 32} for run in (one, two)
        )
    assert flower["n"] == len(first) == 64
    assert flower["only_first"] == sum(bool(first[i]) and not second[i] for i in first) > 10
    assert flower["only_second"] == 0
    assert flower["paired"]
    assert flower["change"] == "better"
    assert flower["low"] <= flower["difference"] <= flower["high"] < 0
    assert told["better"] == ["it is on a flower."]
    assert told["worse"] == told["new"] == []
    assert told["gone"] == ["it is on a yellow flower."]
    assert rows["it is on a yellow flower."]["change"] == "not measured in both"
    assert rows["a realistic photograph of a fly (insect)."]["kind"] == "overall"
    assert told["adjustment"] == "holm"
    adjusted = [row["p_adjusted"] for row in told["rows"] if row["p"] is not None]
    assert flower["p_adjusted"] == pytest.approx(min(1.0, len(adjusted) * flower["p"]))


def test_it_is_said_in_plain_words(here: Path, capsys: Any) -> None:
    assert cli(["compare", "a", "b", "--markdown", "told.md"]) == 0
    said = capsys.readouterr().out
    assert "The second run fails less often in 1 of 2 comparisons: when it is on a flower." in said
    assert "1 finding was confirmed only in the first run and never tested in the second" in " ".join(
        said.split()
    )
    whole = " ".join(said.split())
    assert "2 comparisons on the same cases" in whole
    assert "Holm: the chance of even one false difference is at most 5 %" in whole
    assert "▼ better" in said
    assert "transfer a --target" in said  # how to measure what the other run did not
    assert all(len(line) <= 120 for line in said.splitlines() if "transfer" not in line)
    page = Path("told.md").read_text()
    assert "| findings | first | second |" in page
    assert "**▼ better**" in page


def test_other_draws_are_separate_and_said_to_be(here: Path, capsys: Any) -> None:
    assert cli(["compare", "a", "c", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["separate_because"] == "their seed differs"
    assert not any(row["paired"] for row in told["rows"])
    assert cli(["compare", "a", "c", "--adjust", "bh"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "of separate cases (their seed differs)" in said
    assert "Benjamini and Hochberg" in said


def test_cases_that_show_something_else_are_no_pairs(here: Path) -> None:
    shutil.copytree("b", "changed")
    with sqlite3.connect("changed/ledger.db") as db:
        db.execute("UPDATE trials SET caption = caption || ' it is night.'")
    found = compare_folders(Path("a"), Path("changed"))
    assert not any(row.paired for row in found.rows)
    assert compare_folders(Path("a"), Path("b")).rows[0].paired


def test_a_benchmark_is_compared_item_by_item(here: Path, capsys: Any) -> None:
    assert cli(["compare", "q", "r"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "harmless questions refused" in said
    assert "kind: plain question" in said
    assert "McNemar's exact test with Tango's interval" in said
    found = compare_folders(Path("q"), Path("r"))
    assert {row.measure.words for row in found.changed("worse")} >= {"harmless questions refused"}
    assert [row.measure.words for row in found.changed("better")][:1] == ["harmful questions answered"]
    assert not found.watched
    # A run over half of the items shares that half.
    assert (
        cli(["ask", "world:guide", "--benchmark", "world:questions", "--limit", "20", "--out", "half"]) == 0
    )
    some = compare_folders(Path("q"), Path("half"))
    assert some.rows[0].contrast is not None
    assert (some.rows[0].contrast.n, some.rows[0].paired) == (20, True)
    assert some.rows[0].contrast.difference == 0
    assert any("the same model" in note for note in some.notes)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["a", "q"], "a is a run of hunt, q one of ask"),
        (["a", "nowhere"], "there is no run folder nowhere"),
        (["a", "b", "--adjust", "hollm"], "did you mean 'holm'?"),
        (["a", "b", "--alpha", "5"], "alpha cannot be 5"),
        (["a", "b", "--markdown", "."], "check the path of --markdown"),
    ],
)
def test_compare_explains_what_is_wrong(here: Path, capsys: Any, given: list[str], says: str) -> None:
    assert cli(["compare", *given]) == 1
    assert says in capsys.readouterr().err


def test_hostile_words_do_nothing(here: Path, capsys: Any) -> None:
    shutil.copytree("a", "hostile")
    bad = "<script>alert(1)</script> \x1b[31m\u202e | `x` **b**"
    words = (json.dumps(bad)[1:-1],)
    with sqlite3.connect("hostile/ledger.db") as db:
        db.execute("UPDATE findings SET data = replace(data, 'it is on a flower.', ?)", words)
    assert cli(["compare", "hostile", "b", "--markdown", "hostile.md"]) == 0
    assert cli(["gate", "hostile", "--max-part-rate", "0.1", "--summary", "hostile.md"]) == 1
    said = capsys.readouterr().out + Path("hostile.md").read_text()
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "<script>" not in Path("hostile.md").read_text()


def test_the_gate_is_an_exit_code(here: Path, capsys: Any) -> None:
    assert cli(["gate", "q", "--max-rate", "0.7"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "passed: 2 checks"
    assert cli(["gate", "r", "--max-rate", "0.7"]) == 1
    assert "failed: 1 of 2 checks: ‘harmless questions refused’" in capsys.readouterr().out
    assert cli(["gate", "r", "--max-rate", "0.7", "--only", "harmful"]) == 0
    assert cli(["gate", "a", "--max-findings", "1"]) == 1
    assert cli(["gate", "a", "--max-findings", "2"]) == 0
    assert cli(["gate", "a", "--max-part-rate", "0.5"]) == 1


def test_strict_wants_the_contrary_shown(here: Path, capsys: Any) -> None:
    # 16 of 36 are refused: nothing shows that it is more than half, and nothing that it is less.
    assert cli(["gate", "q", "--max-rate", "0.5", "--only", "harmless"]) == 0
    assert cli(["gate", "q", "--max-rate", "0.5", "--only", "harmless", "--strict"]) == 1
    assert "strict: passes only if the upper end of every 95 % interval" in capsys.readouterr().out
    assert cli(["gate", "q", "--max-rate", "0.7", "--only", "harmless", "--strict"]) == 0


def test_the_gate_says_what_got_worse(here: Path, capsys: Any) -> None:
    assert cli(["gate", "b", "--against", "a"]) == 0  # better is no reason to stop
    assert cli(["gate", "a", "--against", "b", "--json", "--summary", "step.md"]) == 1
    told = json.loads(capsys.readouterr().out.partition("passed: ")[2].partition("\n")[2])
    assert told["passed"] is False
    assert told["exit_code"] == 1
    [bad] = [check for check in told["checks"] if not check["passed"]]
    assert (bad["what"], bad["words"]) == ("increase", "it is on a flower.")
    assert bad["low"] > bad["limit"] == 0
    assert told["level"] == pytest.approx(1 - 0.05 / 2)
    assert "❌ failed" in Path("step.md").read_text()
    assert cli(["gate", "a", "--against", "b", "--max-increase", "0.9", "--summary", "step.md"]) == 0
    page = Path("step.md").read_text()
    assert page.count("## weakspot gate") == 2  # a job's summary is added to
    assert cli(["gate", "b", "--against", "a", "--strict"]) == 1  # that nothing grew at all is never shown


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["a"], "there is no limit to check"),
        (["a", "--max-increase", "0.1"], "a limit on increases needs a run to compare with"),
        (["a", "--max-rate", "5"], "--max-rate cannot be 5"),
        (["a", "--against", "q"], "a run of ask, a one of hunt"),
        (["nowhere", "--max-rate", "0.1"], "there is no run folder nowhere"),
        (
            ["a", "--max-rate", "0.1", "--only", "zebra"],
            "none of these limits applies to anything that was measured",
        ),
        (["a", "--max-rate", "0.1", "--summary", "nowhere/x.md"], "No such file"),
        (["a", "--max-rate", "many"], "--max-rate"),
    ],
)
def test_what_cannot_be_said_is_exit_code_2(here: Path, capsys: Any, given: list[str], says: str) -> None:
    assert cli(["gate", *given]) == 2
    assert says in capsys.readouterr().err


def test_a_model_that_was_down_does_not_pass(here: Path, capsys: Any) -> None:
    cli(["ask", "python:models:Down", "--benchmark", "world:questions", "--out", "down"])
    capsys.readouterr()
    assert cli(["gate", "down", "--max-rate", "1"]) == 2
    assert "ended in an error" in capsys.readouterr().err
    assert cli(["gate", "down", "--max-rate", "1", "--max-errors", "1"]) == 2
    assert "nothing was measured" in capsys.readouterr().err
    shutil.copytree("a", "open")
    with Run.open(Path("open")) as run:
        run.ledger.set_fact("state", "running")
    assert cli(["gate", "open", "--max-rate", "1"]) == 2
    assert "is not finished" in capsys.readouterr().err


def test_a_model_at_its_limits_is_stopped_by_luck_once_in_twenty_at_most() -> None:
    rng, checks = np.random.default_rng(3), 6
    for watched in (False, True):
        stopped = slipped = 0
        for _ in range(150):
            samples = [Sample({}, Tally(200, int(rng.binomial(200, 0.1))), watched) for _ in range(checks)]
            rates: list[Rate] = [sample.rate(1 - 0.05 / checks) for sample in samples]
            stopped += any(rate.low > 0.1 for rate in rates)
            slipped += samples[0].rate(0.95).high <= 0.1  # strict: one that is just above must not pass
        assert stopped <= 0.05 * 150 + 3
        assert slipped <= 0.05 * 150 + 3


def test_the_example_of_a_build(here: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workflow's own commands, with a model that is as good and with one that got worse."""
    workflow = yaml.safe_load((ROOT / "docs" / "examples" / "gate.yml").read_text("utf-8"))
    assert workflow[True] == {"pull_request": None}  # YAML 1.1 reads `on` as yes
    steps = workflow["jobs"]["gate"]["steps"]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    commands = [step["run"] for step in steps if step.get("run", "").startswith("weakspot ")]
    assert [command.split()[1] for command in commands] == ["validate", "run", "run", "gate", "compare"]
    study = "study: map\ntarget: world:classifier\nimages: world:120\nspace: image-5^1\nbudget: images=160\n"
    released = here / "released"
    for candidate, code in ((workflow["env"]["CANDIDATE"], 0), ("python:models:Worse", 1)):
        folder = here / re.sub(r"\W", "-", candidate)
        folder.mkdir()
        monkeypatch.chdir(folder)
        Path("study.yaml").write_text(study)
        if code:
            shutil.copytree(released, "runs/released")  # the cache has it
        values = workflow["env"] | {"CANDIDATE": candidate, "GITHUB_STEP_SUMMARY": "summary.md"}
        codes = {}
        for command in commands:
            words = shlex.split(Template(command).substitute(values))
            if words[1] != "run" or not Path(words[words.index("--out") + 1]).exists():
                codes[words[1]] = cli(words[1:])
        if not code:
            shutil.copytree("runs/released", released)
        assert codes == {"validate": 0, "run": 0, "gate": code, "compare": 0}
        assert ("✅ passed" if code == 0 else "❌ failed") in Path("summary.md").read_text()
        said = capsys.readouterr().out
        assert ("The second run fails more often" in said) is bool(code)
