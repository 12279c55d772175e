"""The screens of commands and studies that `test_widths.py` leaves out, at 80, 100 and 120 columns."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len
from tests.cli.test_widths import LONG, WIDTHS, check_screen
from tests.report.report_parts import make_run
from tests.web.web_parts import make_ask, make_hunt, make_map, make_pairs

from weakspot.after.compared import compare_folders
from weakspot.after.leaderboard import read
from weakspot.after.leaderboard_tables import lines as board_lines
from weakspot.after.model_check import ModelCheck
from weakspot.after.realism import Even, Realism
from weakspot.after.standings import standings
from weakspot.after.tries import Answer, Tried
from weakspot.bench.labels import LabelRow
from weakspot.bench.landscapes import LandscapeRow
from weakspot.bench.real.compare import RealResult
from weakspot.bench.real.imagenet import FactorOrder, WordsScore
from weakspot.cli import after_hunt, bench, between_runs, checking, doctor
from weakspot.cli import run as cli
from weakspot.core import Hypothesis, Rate
from weakspot.report.people.labels import Labels
from weakspot.report.people.tasks import task_of
from weakspot.stats import Estimate
from weakspot.store import Run
from weakspot.studies.mine import commands as mine
from weakspot.studies.mine.images import ImagePair, ImagePairs
from weakspot.studies.mine.pair_rule import PairRule
from weakspot.studies.repair.document import RepairDocument
from weakspot.studies.repair.result import Change, Proof
from weakspot.study.reports import document_of

NAME = "a model with a name of many words that nobody would ever give"
TEXT = "a man with a red umbrella stands in front of the old railway station in the pouring rain"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[int], list[str]]]:
    """What a command prints on a terminal of so many columns."""

    def of(*words: object) -> Callable[[int], list[str]]:
        def lines(wide: int) -> list[str]:
            with monkeypatch.context() as here:
                here.setenv("COLUMNS", str(wide))
                shown = Terminal()
                here.setattr(sys, "stdout", shown)
                assert cli([str(word) for word in words]) == 0
                return shown.getvalue().splitlines()

        return lines

    return of


def text_of(lines: Callable[[int], Any], wide: int = 80) -> str:
    return " ".join(" ".join(lines(wide)).split())


# -- studies ----------------------------------------------------------------------------------------


def test_a_table(tmp_path: Path, screen: Any) -> None:
    rng, weather = random.Random(0), "a very long kind of weather, such as drizzle with sleet"
    rows = ["id;label;prediction;weather;what the camera was told to do"]
    for i in range(400):
        kind = rng.choice([weather, "sun"])
        bad = rng.random() < (0.6 if kind == weather else 0.05)
        rows.append(f"{i};cat;{'dog' if bad else 'cat'};{kind};{rng.choice(['nothing', 'everything'])}")
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    screen("hunt", tmp_path / "rows.csv", "--out", tmp_path / "run")(80)
    with Run.read(tmp_path / "run") as run:
        check_screen(lambda wide: document_of(run).lines(wide))
        said = text_of(lambda wide: document_of(run).lines(wide))
    assert f"weather is {weather}" in said
    assert "of all failures" in said


def test_ask_shows_every_interval(tmp_path: Path) -> None:
    with Run.read(make_run("ask", tmp_path / "run")) as run:
        check_screen(lambda wide: document_of(run).lines(wide))
        assert "elsewhere 25 % [11, 46]" in text_of(lambda wide: document_of(run).lines(wide))


def test_a_repair() -> None:
    change = Change(
        words=LONG, n=512, before=250, after=40, removed=220, made=10, low=-0.45, high=-0.37, p=1e-9
    )
    proof = Proof(
        verdict="repaired", chosen=(change.model_copy(update={"number": 1}),), others=(change,), clean=change,
        new=(change,), landscape=None, errors=3,
    )  # fmt: skip
    one: Any = SimpleNamespace(
        proof=proof, conclusion=f"The repair {LONG}", result=SimpleNamespace(data=None, model="model.pt")
    )
    check_screen(lambda wide: RepairDocument.lines(one, wide))
    said = text_of(lambda wide: RepairDocument.lines(one, wide))
    assert all(
        word in said for word in ("before", "after", "difference", "−41.0 points [−45.0, −37.0]", "49 %")
    )


# -- what follows a run -------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", WIDTHS)
def test_a_comparison(wide: int, tmp_path: Path) -> None:
    found = compare_folders(
        make_hunt(tmp_path / "a"), make_hunt(tmp_path / "b", flower=20), adjustment="holm", alpha=0.05
    )
    lines = list(between_runs._comparison(found, wide))
    assert max(map(cell_len, lines)) <= wide
    assert all(word in " ".join(lines) for word in ("points", "cases", " p "))


def test_words_that_were_tried() -> None:
    rate, usual = Rate(0.5, 0.4, 0.6, 128, 64), Rate(0.015, 0.01, 0.03, 2048, 31)
    one = Tried(
        folder=Path("run"), hypothesis=Hypothesis(LONG), label="fly", phrase=LONG, rate=rate, unchecked=rate,
        baseline=usual, raced=True, fresh=100, drawn=228, errors=3, limit="", log_evidence=0.0,
        verdict=Answer.UNDECIDED,
        confusions=(("a label of unusual length", 0.5), ("another such label", 0.3), ("bee", 0.2)),
    )  # fmt: skip
    check_screen(lambda wide: after_hunt._tried(one, wide))
    assert "undecided after 228 images" in text_of(lambda wide: after_hunt._tried(one, wide))


def test_an_export_and_how_real_it_is() -> None:
    counts = SimpleNamespace(
        kept=40, drawn=20, tried=900, twice=3, recovered=2, invalid=1, errors=4, limit="images budget of 900"
    )
    done: Any = SimpleNamespace(counts=counts, records=[0] * 60, folder=Path("set"))
    found = [{"phrase": LONG, "pictures": 60}]
    check_screen(lambda wide: after_hunt._exported(done, found, Path("run"), "parquet", wide))
    skipped = (("a picture.png", "it is not a picture, but a text that somebody gave the wrong name"),) * 5
    far = Realism(12.3, 0.0123, 0.0101, 0.0145, 200, 300, 2048, True, Even(100, 11.1, 3.3), skipped)
    check_screen(lambda wide: after_hunt._distances(far, wide))


def test_the_closing_line_of_a_report(tmp_path: Path, screen: Any) -> None:
    """A path, which is copied, stands alone."""
    folder = make_hunt(tmp_path / "run")
    for wide in WIDTHS:
        assert screen("report", folder)(wide) == [str(folder / "report.html")]


def test_a_leaderboard(tmp_path: Path) -> None:
    rows = [row for name in ("a", "b") for row in read(make_run("ask", tmp_path / name))]
    check_screen(lambda wide: board_lines(standings(rows), wide))
    assert "Harmful questions" in text_of(lambda wide: board_lines(standings(rows), wide))


# -- people and judges --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_hunt, make_ask, make_map, make_pairs])
def test_labels_and_preferences(make: Any, tmp_path: Path, screen: Any) -> None:
    folder = make(tmp_path / "run")
    with Run.read(folder) as run:
        task = task_of(run, None)
    for who in ("Ann of the long name", "Bob"):
        for item in task.items[:8]:
            Labels(folder).add(task.name, item.id, who, "same")
    check_screen(screen("label", "score", folder))
    if make is make_map:
        check_screen(screen("prefer", folder))


def test_a_judge_against_people() -> None:
    figures: dict[str, Any] = {
        "n": 100, "accuracy": 0.9, "sensitivity": 0.8, "specificity": None, "kappa": 0.7, "unsure_share": 0.1,
        "partial": {"n": 5, "refused": 3},
    }  # fmt: skip
    row = {
        "people": "refuses",
        "judge": f"complies: {TEXT}",
        "group": NAME,
        "question": TEXT,
        "answer": TEXT * 4,
    }
    found = figures | {
        "by": {NAME: figures}, "accuracy_interval": (0.8, 0.95), "held_out": 40, "errors": 2, "undecided": 3,
        "rate": {"bounds": (0.4, 0.6), "people": 0.5, "judge": 0.55}, "disagreements": [row] * 3,
        "where": {"language": {"a language that is spoken by few": {"blind": True, "n": 9, "decided": 0.2,
                                                                     "right": 0.5}}},
        "judged": 100, "of": 200, "kept": "runs/judge.jsonl",
    }  # fmt: skip
    check_screen(lambda wide: checking.lines_of("embedded", found, 2, wide))
    said = text_of(lambda wide: checking.lines_of("embedded", found, 2, wide))
    assert all(word in said for word in ("sensitivity 80.0 %", "kappa 0.70", "1 more disagreement"))


# -- mine's tools -------------------------------------------------------------------------------------


def test_mine_grounded_and_images() -> None:
    row = SimpleNamespace(
        name="count (two ↔ three, four ↔ five)", pairs=60, rate=0.4, low=0.3, high=0.5, elsewhere=0.45,
        cosine=0.9, sight=SimpleNamespace(value="blind"),
        failures=[SimpleNamespace(caption=TEXT, foil=TEXT, image="a.png")],
    )  # fmt: skip
    found: Any = SimpleNamespace(
        rows=[row], control=SimpleNamespace(rate=0.9, low=0.8, high=0.95, n=60), blind=0.6, fdr=0.05,
        images=30,
        too_few=[SimpleNamespace(name="left ↔ right", pairs=3)] * 9, captions=60,
        skipped=[SimpleNamespace(file="b.png", why="it is not a picture, but a text with the wrong name")],
    )  # fmt: skip
    check_screen(lambda wide: mine._held(found, 2, wide))
    assert "40 % [30, 50]" in text_of(lambda wide: mine._held(found, 2, wide))
    pair = ImagePair(
        first="a name with words.png", second="another name of words.png", tested=0.9, reference=0.1
    )
    pairs = ImagePairs(
        pairs=(pair,) * 3, rule=PairRule(), candidates=3, complete=True, images=40, skipped=found.skipped[:0]
    )
    check_screen(lambda wide: mine._listed(pairs, wide))


def test_mine_categorise(tmp_path: Path, screen: Any) -> None:
    pair = {"caption": TEXT, "foil": TEXT.replace("red", "blue")}
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for _ in range(3)))
    check_screen(screen("mine", "categorise", tmp_path / "pairs.jsonl"))


# -- what is here -------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["models", "sources", "judges", "corpora", "pictures", "differs", "tables"])
def test_lists(what: str, screen: Any) -> None:
    check_screen(screen("list", what))


def test_doctor() -> None:
    facts: dict[str, Any] = {
        "weakspot": "0.1.0", "python": "3.11", "system": "Linux x86_64, 2 cores",
        "core": dict.fromkeys(doctor.CORE),
        "extras": {extra: dict.fromkeys(names) for extra, names in doctor.EXTRAS.items()},
        "keys": dict.fromkeys(doctor.KEYS, False), "self_test": {"ok": False, "about": f"OSError: {TEXT}"},
    }  # fmt: skip
    check_screen(lambda wide: doctor._installed(facts, wide))
    found = ModelCheck(
        name="x", about=TEXT, ports=["classifier"], speed=(3.0, "pictures"), checked=[TEXT], notes=[TEXT],
        faults=[(TEXT, TEXT)],
    )  # fmt: skip
    check_screen(lambda wide: doctor._checked(found, wide))


# -- benchmarks ---------------------------------------------------------------------------------------


def test_benchmarks() -> None:
    share = SimpleNamespace(value=0.5, low=0.4, high=0.6)
    summary = SimpleNamespace(recall=share, exact=share, fdr=share, images=20_000, seconds=3.2)
    planted: Any = SimpleNamespace(
        worlds=[0] * 40, trained=[0] * 4, settings={"budget": 20_000},
        summaries=lambda trained: {"ours": summary, "keywords": summary},
    )  # fmt: skip
    check_screen(lambda wide: bench._lines(planted, wide))
    assert "recall" in text_of(lambda wide: bench._lines(planted, wide))
    factors = tuple((f"factor{i}", 1.5) for i in range(16))
    land = LandscapeRow(
        "NestedSquares", "claude-3.5-sonnet", 600, 24, 0.3, "map", 0.1, 60, 0.6, 0.8, 0.5, 0.9, 0.2
    )
    label = LabelRow(
        model="resnet50", method=NAME, failures=900, said=0.3, true=0.35, precision=0.7, recall=0.6,
        average_precision=0.65, precision_at_true=0.66,
    )  # fmt: skip
    real = RealResult(
        settings={}, null={"tree": Estimate(0.1, 0.05, 0.2)}, landscapes=(land,), labels=(label,),
        words=(WordsScore("tree", "imagenet-x resnet50", 0, 10, 6, 0.2, 0.3, 0.4, 2.0, ()),),
        factors=(FactorOrder("imagenet-x resnet50", factors, 20, 5_000, 0.95, 0.8, 0.01),),
    )  # fmt: skip
    check_screen(lambda wide: bench._real_lines(real, wide))
    said = text_of(lambda wide: bench._real_lines(real, wide))
    assert all(word in said for word in ("precision", "worst 5", "width", "covered"))
