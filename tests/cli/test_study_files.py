"""init, validate, run: a study in a file is the study on the command line, and wrong files cost nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from weakspot.cli import run as cli
from weakspot.cli.app import command_tree
from weakspot.cli.study_files import template
from weakspot.core.registry import MODELS, Entry, study_names
from weakspot.study.checks import check_study, missing_libraries
from weakspot.study.files import options_of, read_study
from weakspot.study.study import find_study

BAD = """\
study: hunt
target: wurld:classifier
lable: fly
label: no
seed: seven
seed: 8
fdr: 5
budget: image=20
verify: [world:encoder, 'onnx:nowhere.onnx?lables=x']
edits: [1, 2]
labels_file: nowhere.csv
out: full
captioner: {a: b}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems(text: str, **how: Any) -> list[str]:
    Path("study.yaml").write_text(text)
    found = check_study(read_study(Path("study.yaml"), **how))
    return [f"{problem.line}: {problem.what} ({problem.fix})" for problem in found]


@pytest.mark.parametrize("study", study_names())
def test_a_template_has_every_option_with_its_default_and_is_valid(
    study: str, here: Path, capsys: Any
) -> None:
    assert cli(["init", study, "--schema", "study.json"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# yaml-language-server: $schema=study.json\n")
    values = yaml.safe_load(text)
    assert values.pop("study") == study
    example = find_study(study).example
    schema = json.loads(Path("study.json").read_text())
    assert [*schema["properties"]] == ["study", *values]
    for field in options_of(study).values():
        wanted = example.get(field.name, field.default)
        assert values[field.name] == (list(wanted) or None if isinstance(wanted, tuple) else wanted), (
            field.name
        )
        assert field.option.help in " ".join(text.replace("\n# ", " ").split()), field.name
    missing = [field.name for field in options_of(study).values() if field.required and not example]
    assert [problem.split("'")[1] for problem in problems(text)] == missing
    assert max(map(len, text.splitlines())) <= 110


def test_all_that_is_wrong_is_told_at_once_with_its_line(here: Path, capsys: Any) -> None:
    (here / "full").mkdir()
    (here / "full" / "x").touch()
    Path("study.yaml").write_text(BAD)
    assert cli(["validate", "study.yaml"]) == 1
    said = capsys.readouterr()
    lines = said.out.splitlines()
    for line, words in (
        (2, "no model is called 'wurld:classifier' (did you mean 'world:classifier'?"),
        (3, "hunt has no option 'lable' (did you mean 'label'?)"),
        (4, "'label' is read as yes or no: no; put it in quotes"),
        (5, "'seed' is a whole number, not 'seven'"),
        (6, "'seed' is given twice, first on line 5"),
        (7, "fdr: a false-discovery rate of 5.0 makes no sense"),
        (8, "no budget is called 'image' (did you mean 'images'?)"),
        (9, "'onnx' has no option 'lables' (did you mean 'labels'?)"),
        (9, "there is no 'nowhere.onnx' here"),
        (10, "'edits' takes one whole number, not a list"),
        (11, "there is no 'nowhere.csv' here"),
        (12, "full is not empty"),
        (13, "'captioner' takes a text"),
    ):
        assert any(row.startswith(f"study.yaml:{line}: ") and words in row for row in lines), words
    assert len(lines) == 13
    assert said.err == "13 problems; nothing was spent\n"
    assert cli(["validate", "study.yaml", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert not told["valid"]
    assert [p["line"] for p in told["problems"]].count(9) == 2
    assert cli(["run", "study.yaml"]) == 1
    assert "study.yaml is not valid: 13 problems" in capsys.readouterr().err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1: the file holds no options"),
        ("- hunt\n", "1: the file holds no options"),
        ("seed: 7\n", "0: the file does not say which study"),
        ("study: hnut\n", "1: no study is called 'hnut' (did you mean 'hunt'?)"),
        ("study: hunt\nlabel: [fly\nseed: 1\n", "3: this is not YAML"),
        ("study: hunt\nlabel: fly\n", "0: 'target' is needed"),
        ("study: hunt\ntarget: world:classifier\n", "0: 'label' or 'labels' is needed"),
        ("study: ask\ntarget: world:guide\n", "0: no questions are named: there is neither"),
        ("study: mine\nencoder: world:encoder\nreference: world:scenes\n", "0: 'corpus' is needed"),
        ("study: map\ntarget: world:classifier\nimages: nowhere\n", "3: images: there is no 'nowhere' here"),
        (
            "study: rare\ntarget: world:classifier\nlabel: fly\nbudget: seconds=9\n",
            "4: the budget has no number of images",
        ),
        (
            "study: hunt\ntarget: world:classifier\nlabel: fly\ntarget_label: fly\n",
            "the target label is the right label",
        ),
        (
            "study: hunt\ntarget: python:nomodule:x\nlabel: fly\n",
            "2: target: there is no module 'nomodule'",
        ),
        (
            "study: hunt\ntarget: world:classifier\nlabel: fly\nsource: diffusers:./nowhere\n",
            "4: source: there is no './nowhere' here",
        ),
        (
            "study: map\ntarget: world:classifier\nimages: world:100\nspace: image-152\n",
            "4: space: no concept space is called",
        ),
        (
            "study: map\ntarget: world:classifier\nimages: world:100\nsearch: dqnn\n",
            "4: search: no search is called 'dqnn' (did you mean 'dqn'?)",
        ),
        (
            "study: map\ntarget: world:classifier\nimages: world:100\nseed: -3\n",
            "4: seed: a seed cannot be -3",
        ),
        ("study: hunt\ntarget: &a [*a]\nlabel: fly\n", "2: 'target' takes one text, not a list"),
    ],
)
def test_one_thing_is_wrong(here: Path, text: str, says: str) -> None:
    found = problems(text)
    assert len(found) == 1, found
    assert says in found[0]


def test_files_that_are_none(here: Path, capsys: Any) -> None:
    for command in ("validate", "run"):
        assert cli([command, "nowhere.yaml"]) == 1
        assert "there is no file nowhere.yaml" in capsys.readouterr().err
    Path("bytes.yaml").write_bytes(b"\xff\xfe\x00")
    assert cli(["validate", "bytes.yaml"]) == 1
    assert "is not a study" in capsys.readouterr().err
    assert cli(["validate", str(here)]) == 1
    assert cli(["init", "hunnt"]) == 1
    assert "did you mean 'hunt'?" in capsys.readouterr().err


def test_a_library_that_is_missing_is_said_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _ = MODELS.find("openclip:ViT-B-32/laion400m")
    monkeypatch.setattr("weakspot.study.checks._installed", lambda name: "clip" not in name)
    assert [name.replace("-", "_") for name in missing_libraries(entry)] == ["open_clip_torch"]
    monkeypatch.setattr("weakspot.study.checks._installed", lambda name: True)
    assert missing_libraries(entry) == []
    assert missing_libraries(Entry("world:classifier", "weakspot.world.classifier:load")) == []


def test_a_change_takes_the_place_of_what_the_file_says(here: Path) -> None:
    text = "study: hunt\ntarget: wurld:classifier\nlabel: fly\n"
    assert problems(text, changes=["target=world:classifier-vit-1", "seed=3", "verify=[world:encoder]"]) == []
    assert "--set 'sede=3' sets no option" in problems(text, changes=["sede=3"])[0]
    assert any("--set seed is a whole number" in one for one in problems(text, changes=["seed=x"]))


def test_validate_can_look_into_the_models(here: Path, capsys: Any) -> None:
    Path("study.yaml").write_text("\n".join(template("hunt")))
    assert cli(["validate", "study.yaml", "--set", "label=flyy"]) == 0
    assert cli(["validate", "study.yaml", "--set", "label=flyy", "--load"]) == 1
    said = capsys.readouterr().out
    assert "study.yaml is valid: hunt, up to 20,000 images" in said
    assert "has no label 'flyy'" in said


def written(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path(folder, "run.yaml").read_text())
    del found["created"]
    return found


def test_a_file_is_the_same_run_as_the_flags(here: Path, capsys: Any) -> None:
    flags = ["--benchmark", "world:questions", "--contrast", "--system", "none", "--system", "safety"]
    assert cli(["ask", "world:guide", *flags, "--limit", "8", "--seed", "3", "--out", "one"]) == 0
    Path("study.yaml").write_text(
        "study: ask\ntarget: world:guide\nbenchmark: world:questions\ncontrast: yes\nsystem: [none, safety]\n"
        "limit: 8\nseed: 3\nfdr: null\n"
    )
    capsys.readouterr()
    assert cli(["run", "study.yaml", "--out", "two", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == 0
    assert written("one") == written("two")
    reports = [json.loads(Path(name, "report.json").read_text()) for name in ("one", "two")]
    for report in reports:
        for key in ("folder", "created", "spend"):
            report.pop(key)
    assert reports[0] == reports[1]
    # A study's own exit code is that of the file, and the same words are refused.
    assert cli(["run", "study.yaml", "--out", "three", "--set", "budget=calls=5"]) == 3
    assert cli(["run", "study.yaml", "--out", "two"]) == 1


def test_environment_variables_mirror_flags(here: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAKSPOT_ASK_LIMIT", "8")
    monkeypatch.setenv("WEAKSPOT_ASK_BENCHMARK", "world:questions")
    monkeypatch.setenv("WEAKSPOT_ASK_SYSTEM", "none safety")
    monkeypatch.setenv("WEAKSPOT_ASK_CONTRAST", "1")
    monkeypatch.setenv("WEAKSPOT_ASK_SEED", "5")
    monkeypatch.setenv("WEAKSPOT_ASK_JSON", "yes")
    monkeypatch.setenv("WEAKSPOT_VERSION", "1.0")  # of somebody's build; it is no flag's
    assert cli(["ask", "world:guide", "--seed", "6", "--out", "run"]) == 0
    assert json.loads(capsys.readouterr().out)["exit_code"] == 0
    settings = written("run")["settings"]
    assert (settings["limit"], settings["seed"]) == (8, 6)  # a flag comes first
    assert settings["system"] == ["none", "safety"]
    assert settings["contrast"] is True
    # A file comes before the environment, also where it says no.
    Path("study.yaml").write_text("study: ask\ntarget: world:guide\nlimit: 4\ncontrast: no\n")
    assert cli(["run", "study.yaml", "--out", "filed", "--set", "benchmark=world:questions"]) == 0
    settings = written("filed")["settings"]
    assert (settings["limit"], settings["contrast"], settings["seed"]) == (4, False, 5)


def test_a_variable_with_a_typo_is_told(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAKSPOT_HUNT_SEDE", "3")
    monkeypatch.setenv("WEAKSPOT_DATA", "somewhere")  # nobody's flag, and nobody's typo
    assert cli(["list", "models"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told == ["note: WEAKSPOT_HUNT_SEDE matches no flag; did you mean 'WEAKSPOT_HUNT_SEED'?"]
    monkeypatch.delenv("WEAKSPOT_HUNT_SEDE")
    monkeypatch.setenv("WEAKSPOT_HUNT_SEED", "x")
    assert cli(["hunt", "world:classifier", "--label", "fly"]) == 2
    assert "--seed" in capsys.readouterr().err


def test_every_flag_has_one_variable_of_its_own() -> None:
    names: dict[str, str] = {}

    def walk(command: Any, path: str) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {name}")
        for option in command.params:
            if getattr(option, "envvar", None):
                assert option.envvar not in names, option.envvar
                names[option.envvar] = path

    walk(command_tree(), "")
    assert {"WEAKSPOT_HUNT_TARGET_LABEL", "WEAKSPOT_MINE_SEED", "WEAKSPOT_MINE_GROUNDED_SEED"} <= set(names)
    assert {"WEAKSPOT_GATE_MAX_RATE", "WEAKSPOT_COMPARE_JSON", "WEAKSPOT_EXPORT_FORMAT"} <= set(names)
    assert len(names) > 150
