"""The weak spots of a table as a person meets them: command, Python, a file; errors; hostile tables."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from PIL import Image

import weakspot
from weakspot.cli import run as cli
from weakspot.core import WeakspotError
from weakspot.report.format import clean
from weakspot.store import Run
from weakspot.studies.table.document import TableDocument
from weakspot.study.study import find_study

Rows = list[dict[str, Any]]

SECTIONS = ["Weak spots", "What was looked at and not found", "How it was measured"]
EVIL = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\x1b[31mred\x1b[0m\x07\x1b]0;owned\x07",
    '=HYPERLINK("http://e.vil","x")',
    "# heading | cell **bold** [l](javascript:alert(1))",
    "\u202etxet",
    "```\n---\n~~~",
    "x" * 5000,
)


def night(n: int = 400, *, seed: int = 0) -> Rows:
    """Two in three rows at night fail, of the others one in twenty."""
    rng, rows = Random(seed), []
    for i in range(n):
        label, light = rng.choice(["cat", "dog"]), rng.choice(["day", "day", "night"])
        wrong = rng.random() < (0.67 if light == "night" else 0.05)
        rows.append(
            {
                "id": i,
                "label": label,
                "prediction": {"cat": "dog", "dog": "cat"}[label] if wrong else label,
                "confidence": round(rng.uniform(0.5, 1.0), 2),
                "caption": f"a {label} {rng.choice(['on grass', 'at home', 'in a box'])} in the {light}",
                "light": light,
            }
        )
    return rows


def written(rows: Rows, name: str = "t.csv") -> str:
    with Path(name).open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    return name


class Told(NamedTuple):
    code: int
    out: str
    err: str


class Tags(HTMLParser):
    """All tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def told(here: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> Told:
        capsys.readouterr()
        code = cli(list(words))
        return Told(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("world") / "run"
    assert cli(["hunt", "world:predictions", "--out", str(folder)]) == 0
    with Run.read(folder) as run:
        yield run


def result_of(folder: str = "run") -> dict[str, Any]:
    with Run.read(Path(folder)) as run:
        found = run.ledger.fact("result")
    assert isinstance(found, dict)
    return found


# -- what is found and how it is told ---------------------------------------------------------------


def test_the_weak_spot_of_the_world_is_found(world: Run) -> None:
    found = find_study("table").read_result(world)
    assert found is not None
    plain = found.plain()
    said = [word for spot in plain["spots"] for says in (spot["says"], *spot["forms"]) for word in says]
    assert {"“behind”", "“fence”"} & {*said}  # what is behind something is hidden
    assert plain["rows"] == 5000
    assert plain["usual"]["failures"] == plain["failures"]
    assert plain["bound"]["rate"] < 0.3
    for spot in plain["spots"]:
        rate, other = spot["rate"], spot["elsewhere"]
        assert rate["low"] <= rate["value"] <= rate["high"]
        assert rate["value"] > other["value"]
        assert rate["n"] < spot["rows"] <= plain["rows"]
        assert 0 < spot["impact"] <= 1
        assert spot["examples"]
    findings = world.ledger.findings()
    assert len(findings) == len(plain["spots"])
    assert all(finding.confirmed for finding in findings)


def test_a_report_tells_its_sections_in_order(world: Run) -> None:
    for name, pattern in (("report.md", r"^## ([^\n]*)$"), ("report.html", r"<h2[^>]*>(.*?)</h2>")):
        text = (world.folder / name).read_text("utf-8")
        found = [re.sub("<.*?>", "", one).strip() for one in re.findall(pattern, text, re.M | re.S)]
        assert [one for one in found if one in SECTIONS] == SECTIONS, name
    result = find_study("table").read_result(world)
    text = (world.folder / "report.md").read_text("utf-8")
    for rank, spot in enumerate(result.plain()["spots"], 1):  # type: ignore[union-attr]
        title = text.split(f"### {rank}. ")[1].splitlines()[0]
        assert all(part.strip("“”") in title for part in spot["says"])


def test_lines_fit_the_screen(world: Run) -> None:
    for wide in (80, 100, 120):
        lines = list(TableDocument(world).lines(wide))
        assert max(map(len, lines)) <= wide
        assert lines[0].startswith("columns")
        assert lines[-1].strip()
    assert any("behind" in line for line in TableDocument(world).lines(80))


def test_json_says_all_of_it(told: Any) -> None:
    done = told("hunt", written(night()), "--json", "--out", "run")
    assert done.code == 0
    found = json.loads(done.out)
    assert {"format", "study", "state", "conclusion", "settings", "result", "folder"} <= found.keys()
    assert (found["study"], found["state"]) == ("table", "finished")
    assert found["settings"]["target"] == "t.csv"
    result = found["result"]
    assert {
        "origin", "form", "rule", "rows", "failures", "usual", "columns", "left_out", "reasons", "notes",
        "concepts", "wider", "label", "spots", "bound",
    } <= result.keys()  # fmt: skip
    (spot,) = result["spots"]
    assert {
        "says", "forms", "rows", "failures", "rate", "elsewhere", "p", "impact", "own", "both", "label",
        "answers", "examples",
    } <= spot.keys()  # fmt: skip
    assert spot["says"] == ["light is night"]
    assert result["rule"] == "prediction differs from label"
    assert spot["failures"] == sum(
        row["light"] == "night" and row["label"] != row["prediction"] for row in night()
    )


def test_hunt_table_python_and_files_find_the_same(told: Any) -> None:
    rows = night()
    written(rows)
    assert told("hunt", "t.csv", "--out", "hunt").code == 0
    assert told("table", "t.csv", "--out", "table").code == 0
    Path("a.yaml").write_text("study: table\ntarget: t.csv\n")
    Path("b.yaml").write_text("study: hunt\ntarget: t.csv\n")
    assert told("validate", "b.yaml").code == 0
    assert told("run", "a.yaml", "--out", "a").code == 0
    assert told("run", "b.yaml", "--out", "b").code == 0
    weakspot.hunt(rows, out="dicts").close()
    weakspot.table("t.csv", out="python").close()
    wanted = result_of("hunt")
    for folder in ("table", "a", "b", "python"):
        assert result_of(folder) == wanted
    dicts = result_of("dicts")
    assert (dicts["spots"][0]["rate"], dicts["failures"]) == (wanted["spots"][0]["rate"], wanted["failures"])


def test_a_run_is_looked_at_compared_and_gated(told: Any) -> None:
    written(night())
    for folder in ("one", "two"):
        assert told("hunt", "t.csv", "--out", folder, "--seed", "3").code == 0
    assert told("compare", "one", "two").code == 0
    assert told("gate", "one", "--max-rate", "0.9").code == 0
    assert told("gate", "one", "--max-rate", "0.1").code != 0
    assert told("export", "one", "--out", "rows").code == 0
    assert told("resume", "one").code == 0


def test_a_changed_table_is_not_gone_on_with(told: Any) -> None:
    written(night())
    assert told("hunt", "t.csv", "--out", "run").code == 0
    with Run.open(Path("run")) as run:
        run.ledger.set_fact("state", "interrupted")
    written(night(seed=1))
    done = told("resume", "run")
    assert done.code == 1
    assert "table" in done.err
    assert "fix:" in done.err


def test_what_a_failure_is_can_be_said(told: Any) -> None:
    written([{"loss": i % 7, "side": ["left", "right"][i % 7 > 4], "b": i % 5} for i in range(300)])
    assert told("hunt", "t.csv", "--failed", "loss > 4", "--out", "run").code == 0
    found = result_of()
    assert found["rule"] == "loss > 4"
    assert [spot["says"] for spot in found["spots"]] == [["side is right"]]
    assert told("hunt", "t.csv", "--failed", "loss > 4", "--ignore", "side", "--out", "again").code == 0
    assert result_of("again")["spots"] == []


def test_rows_of_a_group_stay_together(told: Any) -> None:
    rows = night(600)
    for i, row in enumerate(rows):
        row["patient"] = f"p{i // 6}"
    written(rows)
    done = told("hunt", "t.csv", "--group", "patient", "--out", "run")
    assert done.code == 0
    found = result_of()
    assert found["spots"][0]["says"] == ["light is night"]
    assert found["bound"] is None or found["bound"]["groups"] == 30
    with pytest.raises(WeakspotError, match="patient"):
        weakspot.table("t.csv", group="patiens", out="wrong")


def test_at_most_so_many_things_are_said_together(told: Any) -> None:
    rng, rows = Random(2), night(1500)
    for row in rows:
        row["light"], row["weather"] = rng.choice(["day", "night"]), rng.choice(["rain", "sun"])
        both = (row["light"], row["weather"]) == ("night", "rain")
        wrong = rng.random() < (0.8 if both else 0.03)
        row["prediction"] = "cow" if wrong else row["label"]
        row["caption"] = "a picture of something"
    written(rows)
    assert told("hunt", "t.csv", "--out", "pairs").code == 0
    assert sorted(result_of("pairs")["spots"][0]["says"]) == ["light is night", "weather is rain"]
    assert told("hunt", "t.csv", "--sentences", "1", "--out", "single").code == 0
    assert all(len(spot["says"]) == 1 for spot in result_of("single")["spots"])


# -- tables of which little can be said -------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([r | {"prediction": r["label"]} for r in night()], "No row fails"),
        ([r | {"prediction": "cow"} for r in night()], "Every row fails"),
        ([r | {"prediction": r["label"]} for r in night(1)], "enough rows"),
        ([r | {"prediction": "cow"} for r in night(1)], "Every row fails"),
        (
            [{"label": "cat", "prediction": ["cat", "dog"][i % 3 == 0], "x": "same"} for i in range(99)],
            "no word or value was shown",
        ),
        ([{"correct": i % 2, "a": i * 0.1, "b": -i} for i in range(40)], "no word or value was shown"),
    ],
    ids=["none fails", "all fail", "one row", "one row that fails", "constant columns", "only numbers"],
)
def test_tables_that_say_little(told: Any, rows: Rows, said: str) -> None:
    written(rows)
    done = told("hunt", "t.csv", "--out", "run")
    assert done.code == 0
    assert "Traceback" not in done.err
    report = Path("run/report.md").read_text("utf-8")
    assert said in report
    assert "None was confirmed" in report
    assert result_of()["spots"] == []


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (["t.csv", "--label", "lable"], "t.csv has no column 'lable'", "did you mean 'label'?"),
        (["t.csv", "--text", "captoin"], "no column 'captoin'", "did you mean 'caption'?"),
        (["t.csv", "--ignore", "ligth"], "no column 'ligth'", "did you mean 'light'?"),
        (["t.csv", "--failed", "los > 4"], "there is no column 'los'", ""),
        (["t.csv", "--failed", "label >"], "incomplete", ""),
        (["t.csv", "--failed", "__import__('os').system('touch owned')"], "--failed", ""),
        (["t.csv", "--sentences", "5"], "5 conditions cannot be combined", "choose 1, 2 or 3"),
        (["t.csv", "--budget", "images=10"], "'budget' is an option for hunt only", "leave it out"),
        (["t.csv", "--seed", "-1"], "", ""),
        (["absent.csv"], "absent.csv does not exist", ""),
        (["empty.csv"], "empty.csv is empty", ""),
        (["head.csv"], "head.csv has no rows", ""),
        (["mute.csv"], "does not say what a failure is; its columns are a, b", "--failed"),
        (["world:classifier", "--failed", "x > 2"], "for tables of results", "leave it out"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(told: Any, words: list[str], what: str, fix: str) -> None:
    written(night(60))
    Path("empty.csv").write_text("")
    Path("head.csv").write_text("label,prediction\n")
    Path("mute.csv").write_text("a,b\n" + "1,2\n" * 20)
    done = told("hunt", *words, "--out", "run")
    assert done.code in (1, 2)
    assert what in done.err
    assert f"fix: {fix}" in done.err or fix in done.err.partition("fix: ")[2]
    assert not Path("run").exists()
    assert not Path("owned").exists()


def test_python_says_the_same_errors(here: Path) -> None:
    rows = night(60)
    with pytest.raises(WeakspotError, match="has no rows"):
        weakspot.hunt([], out="run")
    with pytest.raises(WeakspotError, match="option for hunt only"):
        weakspot.hunt(rows, budget="images=3", out="run")
    with pytest.raises(WeakspotError, match="no column 'lable'"):
        weakspot.hunt(rows, label="lable", out="run")
    with pytest.raises(TypeError, match="lable"):
        weakspot.hunt(rows, lable="label", out="run")  # type: ignore[call-arg]
    assert not Path("run").exists()


def test_rows_without_a_verdict_are_listed_and_left_out(told: Any) -> None:
    rows = night()
    for row in rows[::10]:
        row["prediction"] = ""
    written(rows)
    assert told("hunt", "t.csv", "--out", "run").code == 0
    found = result_of()
    assert (found["rows"], found["left_out"]) == (360, 40)
    assert found["reasons"][0] == [2, "prediction is missing"]
    assert "## Rows that were left out" in Path("run/report.md").read_text("utf-8")


# -- hostile tables ---------------------------------------------------------------------------------


@pytest.fixture
def hostile(here: Path) -> str:
    rng, rows = Random(1), night(480)
    pictures = [
        "no.png",
        "bad.png",
        "huge.png",
        "bomb.png",
        "ok.png",
        "../../../etc/passwd",
        "/dev/zero",
        ".",
    ]
    for i, row in enumerate(rows):
        row["caption"] = f"{EVIL[i % 8]} {row['caption'].rpartition(' in ')[0]}"
        row["<b>light</b>|x"] = f"{row.pop('light')}<i>|\x1b[1m"
        row["image_path"] = pictures[i % 7]
        if row["prediction"] != row["label"]:
            row["prediction"] = rng.choice(EVIL[:6])
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    Image.new("1", (16_000, 14_000)).save("bomb.png")
    Image.MAX_IMAGE_PIXELS = limit
    Image.new("1", (8_000, 7_000)).save("huge.png")
    Image.new("RGB", (900, 600), "red").save("ok.png")
    Path("bad.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 100)
    return written(rows)


def test_hostile_text_is_shown_and_never_obeyed(told: Any, hostile: str) -> None:
    done = told("hunt", hostile, "--out", "run")
    assert done.code == 0
    assert "night<i>|" in done.out
    assert all(c == "\n" or c.isprintable() for c in done.out + done.err)
    assert max(map(len, done.out.splitlines())) <= 200
    text = Path("run/report.html").read_text("utf-8")
    page = Tags(text)
    assert page.tags.count("script") == 1  # the one that saves figures
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [
        value for name, value in page.attributes if name in ("href", "src") and "javascript" in (value or "")
    ]
    assert "i" not in page.tags[page.tags.index("main") :] or "<i>|" not in text
    said = Path("run/report.md").read_text("utf-8")
    for one in (text, said):
        assert "\x1b" not in one
        assert "\u202e" not in one
        assert "\x07" not in one
    assert not re.search(r"(?<!\\)<\w", said)
    assert not [
        line for line in said.splitlines() if line.startswith(("# heading", "=HYPERLINK", "```", "~~~"))
    ]
    assert len(text) < 3_000_000
    printed = told("hunt", hostile, "--json", "--out", "json")
    assert json.loads(printed.out)["state"] == "finished"
    assert "\x1b" not in printed.out


def test_hostile_text_keeps_to_the_width(told: Any, hostile: str) -> None:
    assert told("hunt", hostile, "--out", "run").code == 0
    with Run.read(Path("run")) as run:
        assert all(len(clean(line)) <= 80 for line in TableDocument(run).lines(80))


def test_pictures_that_cannot_be_read_are_left_out(told: Any, hostile: str) -> None:
    assert told("hunt", hostile, "--out", "run").code == 0
    shown = [one for spot in result_of()["spots"] for one in spot["examples"]]
    with Path(hostile).open(newline="") as file:
        names = [row["image_path"] for row in csv.DictReader(file)]
    assert shown
    for one in shown:
        assert bool(one["picture"]) <= (names[one["row"]] in ("ok.png", "huge.png"))
        assert bool(one["picture"]) >= (names[one["row"]] == "ok.png")


@pytest.mark.parametrize("name", ["no.png", "bad.png", "bomb.png", "ok.png"])
def test_every_picture_is_looked_at_alone(told: Any, hostile: str, name: str) -> None:
    with Path(hostile).open(newline="") as file:
        rows = [row | {"image_path": name} for row in csv.DictReader(file)]
    assert told("hunt", written(rows[:200]), "--out", "run").code == 0
    (shown, *_) = result_of()["spots"][0]["examples"]
    assert bool(shown["picture"]) == (name == "ok.png")
