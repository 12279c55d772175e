"""`weakspot mine categorise`, as a person uses it: good files, bad files, and hostile ones."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from weakspot.cli import run as cli
from weakspot.cli.flags import DEFAULT, OneIsMeant
from weakspot.text.differences import Category

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
PAIRS = [
    ("A dog chases a cat.", "A cat chases a dog.", "role swap"),
    ("Two mugs on a table.", "Three mugs on a table.", "number and quantifier"),
    ("A man is asleep.", "A man is not asleep.", "negation"),
    ("A mug on a table.", "A mug under a table.", "spatial relation"),
]


def write(path: Path, lines: list[object]) -> Path:
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines), "utf-8")
    return path


def good(first: str = "caption", second: str = "foil") -> list[object]:
    return [{first: a, second: b, "id": 7} for a, b, _ in PAIRS]


def run_json(capsys: pytest.CaptureFixture[str], *args: object) -> dict[str, object]:
    assert cli(["mine", "categorise", *map(str, args), "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def failed(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    code = cli(["mine", "categorise", *map(str, args)])
    printed = capsys.readouterr()
    assert code == 1, printed
    assert "Traceback" not in printed.err
    what, fix = printed.err.strip().splitlines()
    assert what.startswith("error: ")
    assert fix.startswith("  fix: ")
    return what + fix


def test_a_table_for_a_person(weakspot: Shell, toy: Path) -> None:
    write(toy / "pairs.jsonl", [*good(), "{broken"])
    done = weakspot("mine", "categorise", "pairs.jsonl", "--show", "2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "     1  role swap              “dog” and “cat” changed places (roles)"
    assert lines[1:3] == ["        A dog chases a cat.", "        A cat chases a dog."]
    assert lines[6] == "     …  and 2 more (--show, or --json for all)"
    assert [line.split()[-3:] for line in lines[8:-1]] == [["1", "25", "%"]] * 4
    assert lines[-1] == "4 pairs"
    assert done.stderr.startswith("line 5 was skipped: no JSON")


def test_json_has_every_pair_and_all_totals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = run_json(capsys, write(tmp_path / "p.jsonl", good()), "--fields", "caption,foil")
    rows = found["pairs"]
    assert isinstance(rows, list)
    assert [(r["first"], r["second"], r["category"]) for r in rows] == PAIRS
    assert [r["line"] for r in rows] == [1, 2, 3, 4]
    assert all(r["reason"] for r in rows)
    assert found["n"] == 4
    totals = found["totals"]
    assert isinstance(totals, dict)
    assert list(totals) == [c.value for c in Category]
    assert sum(totals.values()) == 4
    assert found["skipped"] == []


@pytest.mark.parametrize(
    ("first", "second"),
    [("caption", "foil"), ("prompt_1", "prompt_2"), ("caption_0", "caption_1"), ("my text", "x")],
)
@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "tsv"])
def test_forms_of_files_and_names_of_fields(
    form: str, first: str, second: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / f"pairs.{form}"
    rows = good(first, second)
    if form == "jsonl":
        write(path, rows)
    elif form == "json":
        path.write_text(json.dumps(rows, indent=1))
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter="," if form == "csv" else "\t")
            writer.writerow(["id", first, second])
            writer.writerows([i, a, b] for i, (a, b, _) in enumerate(PAIRS))
    named = ["--fields", f"{first}, {second}"] if second == "x" else []
    found = run_json(capsys, path, *named)
    assert isinstance(found["pairs"], list)
    assert [r["category"] for r in found["pairs"]] == [c for *_, c in PAIRS]


def test_broken_lines_are_named_by_their_number(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines: list[object] = [
        good()[0], "not json", "", [1, 2], {"caption": "a"}, {"caption": 1, "foil": "b"},
        {"caption": None, "foil": ""},
        '"text"', "x" * 10_000_000, good()[1], '{"caption": "\\ud800", "foil": "b"}', "[" * 100_000,
    ]  # fmt: skip
    found = run_json(capsys, write(tmp_path / "p.jsonl", lines))
    skipped = found["skipped"]
    assert isinstance(skipped, list)
    assert [s["line"] for s in skipped] == [2, 4, 5, 6, 7, 8, 9, 11, 12]
    assert all(s["why"] and len(s["why"]) < 200 for s in skipped)
    assert found["n"] == 2


def test_broken_csv_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text('caption,foil\n"a dog, running","two dogs\nrunning"\nonly one\na,b,c\na cat,a hat\n')
    found = run_json(capsys, path)
    assert found["n"] == 2
    assert isinstance(found["skipped"], list)
    assert [s["why"] for s in found["skipped"]] == [
        "it has 1 cells, the header 2",
        "it has 3 cells, the header 2",
    ]
    assert [s["line"] for s in found["skipped"]] == [4, 5]


def test_bad_files_say_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "does not exist" in failed(capsys, tmp_path / "none.jsonl")
    assert "is a folder" in failed(capsys, tmp_path)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    assert "holds no pairs" in failed(capsys, tmp_path / "empty.jsonl")
    (tmp_path / "header.csv").write_text("caption,foil\n")
    assert "holds no pairs" in failed(capsys, tmp_path / "header.csv")
    (tmp_path / "picture.jsonl").write_bytes(b"\x89PNG\r\n\x1a\n\0\0" * 100)
    assert "not a text file" in failed(capsys, tmp_path / "picture.jsonl")
    (tmp_path / "latin.jsonl").write_bytes('{"caption": "café", "foil": "a"}'.encode("latin-1"))
    assert "not UTF-8" in failed(capsys, tmp_path / "latin.jsonl")
    (tmp_path / "list.json").write_text('[{"caption": "a"')
    assert "JSON list" in failed(capsys, tmp_path / "list.json")
    path = write(tmp_path / "other.jsonl", [{"left": "a", "right": "b"}])
    assert "its fields are left, right" in failed(capsys, path)
    assert "line 1: it has no field 'lef'" in failed(capsys, path, "--fields", "lef,right")
    assert "did you mean 'left'?" in failed(capsys, path, "--fields", "lef,right")
    assert "two names" in failed(capsys, path, "--fields", "left")
    assert "two names" in failed(capsys, path, "--fields", "left,")


def test_hostile_texts_do_not_reach_the_terminal(weakspot: Shell, toy: Path) -> None:
    nasty = "A \x1b[31mdog\x07 \u202e<script>"
    write(toy / "p.jsonl", [{"caption": nasty, "foil": nasty + " cat"}, "\x1b]0;owned\x07"])
    done = weakspot("mine", "categorise", "p.jsonl")
    assert done.returncode == 0
    assert not set("\x1b\x07\u202e") & set(done.stdout + done.stderr)


def test_without_arguments_the_group_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["mine"]) == 2
    assert cli(["mine", "--help"]) == 0
    printed = capsys.readouterr()
    assert "categorise" in printed.out
    assert "categorise" in printed.err


def test_the_group_can_have_a_command_that_needs_no_name() -> None:
    app = typer.Typer(cls=OneIsMeant)
    app.callback()(lambda: None)

    @app.command(DEFAULT)
    def mine(encoder: str, pairs: int = 150) -> None:
        typer.echo(f"mining {encoder} for {pairs}")

    @app.command("categorise")
    def other(path: str) -> None:
        typer.echo(f"categorising {path}")

    ran = {
        " ".join(args): CliRunner().invoke(app, args).stdout.strip()
        for args in (
            ["world:encoder", "--pairs", "3"],
            ["--pairs", "4", "x"],
            ["categorise", "f"],
            ["run", "y"],
        )
    }
    assert list(ran.values()) == [
        "mining world:encoder for 3",
        "mining x for 4",
        "categorising f",
        "mining y for 150",
    ]
