"""hunt: its parts one by one, and the whole through the Python API with names and with objects."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

import weakspot as ws
from weakspot.core import Finding, Hypothesis, Output, Stage, Tally, WeakspotError
from weakspot.engine import Watch
from weakspot.judges import LabelJudge
from weakspot.sources.prompts import LabelWords
from weakspot.store import Run, rate
from weakspot.studies.hunt.parts import load
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study.labels import base_hypothesis

BASE = Hypothesis("a realistic photograph of a fly (insect).")
NAMES: dict[str, Any] = {
    "label": "fly", "source": "python:toy:Meadow", "budget": "images=6000", "seed": 7
}  # fmt: skip


def said(words: str) -> Hypothesis:
    return Hypothesis(f"{BASE.text} {words}")


def phrases(findings: list[Finding]) -> list[str]:
    return [f.phrase for f in findings if f.confirmed]


# -- the parts -----------------------------------------------------------------------------------------


def test_phrase_is_what_a_caption_adds() -> None:
    assert said("it is on a flower.").beyond(BASE) == "it is on a flower."
    assert BASE.beyond(BASE) == BASE.text
    assert Hypothesis("something else.").beyond(BASE) == "something else."


def test_rate_has_its_interval_and_count() -> None:
    found = rate(Tally(n=200, failures=50, errors=7))
    assert (found.value, found.n, found.failures) == (0.25, 200, 50)
    assert 0.15 < found.low < 0.25 < found.high < 0.37
    nothing = rate(Tally())
    assert (nothing.value, nothing.low, nothing.high, nothing.n) == (0.0, 0.0, 1.0, 0)


def test_the_baseline_says_the_label_and_its_parent() -> None:
    def text(label: str, **more: Any) -> str:
        words = {"fly": LabelWords("fly", "insect")}
        return base_hypothesis(HuntSettings(target="x", label=label, **more).task, words, label).text

    assert text("fly") == "a realistic photograph of a fly (insect)."
    assert text("{odd}") == "a realistic photograph of a {odd}."
    assert text("owl", prompt="a drawing of a {label}.") == "a drawing of an owl."


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"fdr": 0.0}, "makes no sense"),
        ({"fdr": 1.0}, "makes no sense"),
        ({"fdr": math.nan}, "makes no sense"),
        ({"budget": "images=0"}, "not an amount"),
        ({"label": "  "}, "the label is empty"),
        ({"target_label": "fly"}, "is the right label"),
        ({"target_label": "bee", "judge": "label"}, "both say what a failure is"),
        ({"labels": ("fly", "bee")}, "both given"),
        ({"label": "", "labels": ("fly", "fly")}, "given twice"),
        ({"label": "", "labels": ("fly", "bee"), "from_images": "x"}, "one label"),
        ({"prompt": "a photo."}, "no place for the label"),
        ({"sentences": 0}, "0 sentences"),
        ({"edits": -1}, "cannot be made"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(change: dict[str, Any], what: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        ws.hunt(**({"target": "world:classifier", "label": "fly"} | change))
    assert error.value.fix


def test_the_judge_follows_from_the_settings() -> None:
    def judge(**change: Any) -> LabelJudge:
        found = load(HuntSettings(target="world:classifier", label="fly", **change)).judge
        assert isinstance(found, LabelJudge)
        return found

    assert (judge().top, judge().target) == (1, None)
    assert judge(target_label="bee").target == "bee"
    assert judge(judge="label?top=3").top == 3


# -- the whole -----------------------------------------------------------------------------------------


def test_a_hunt_by_name(toy: Path) -> None:
    with ws.hunt("python:toy:Classifier", out="run", **NAMES) as run:
        assert run.state == "finished"
        [found] = run.findings
        assert (found.phrase, found.confirmed) == ("it is on a flower.", True)
        assert found.hypothesis.text == f"{BASE.text} it is on a flower."
        assert found.rate.low < 200 / 256 < found.rate.high
        assert found.rate.n >= 128
        assert found.baseline.low < 0.05 * 200 / 256 + 0.95 * 3 / 256 < found.baseline.high
        assert found.lift > 10
        assert found.confusions[0] == ("bee", 1.0)
        assert sum(share for _, share in found.confusions) == pytest.approx(1)
        for index in (*found.failing, *found.passing):
            assert run.image(found.hypothesis, index).shape == (8, 8, 3)
        assert "1 confirmed" in repr(run)
        assert ws.write_report(run) == Path("run/report.html")


def test_a_hunt_with_objects_finds_the_same(toy: Path) -> None:
    import toy as parts  # type: ignore[import-not-found]

    settings = NAMES | {"source": parts.Meadow()}
    with (
        ws.hunt("python:toy:Classifier", out="names", **NAMES) as by_name,
        ws.hunt(parts.Classifier(), judge=LabelJudge(), out="objects", **settings) as by_object,
    ):
        assert [f.to_json() for f in by_name.findings] == [f.to_json() for f in by_object.findings]
        written = yaml.safe_load((by_object.folder / "run.yaml").read_text())
    assert written["settings"]["target"] == "object:toy.Classifier"
    assert written["settings"]["judge"] == "object:weakspot.judges.label.LabelJudge"


def test_a_run_made_with_objects_is_resumed_from_python_only(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import toy as parts

    from weakspot.cli import run as cli

    objects = {"target": parts.Classifier(), "source": parts.Meadow()}
    small = NAMES | {"source": objects["source"], "budget": "images=20"}
    ws.hunt(objects["target"], out="run", **small).close()
    assert cli(["resume", "run", "--budget", "images=6000"]) == 1
    cause, fix = capsys.readouterr().err.splitlines()
    assert cause == "error: this run was made with a Python object (toy.Classifier) that has no name"
    assert "weakspot.resume(folder, target=…, source=…, judge=…)" in fix
    assert cli(["report", "run"]) == 0
    with ws.resume("run", budget="images=6000", **objects) as run:
        assert run.state == "finished"
        assert phrases(run.findings) == ["it is on a flower."]


def test_a_hunt_stopped_by_its_watch_goes_on_to_the_same_end(toy: Path) -> None:
    class Nervous(Watch):
        def update(self, phase: str, *_: Any) -> None:
            if phase == "race":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ws.hunt("python:toy:Classifier", out="run", watch=Nervous(), **NAMES)
    with ws.open_run("run") as run:
        assert run.state == "running"
        drawn = run.ledger.spend()["images"]
    with ws.resume("run") as run, ws.hunt("python:toy:Classifier", out="whole", **NAMES) as whole:
        assert run.ledger.spend()["images"] == whole.ledger.spend()["images"] > drawn
        assert [f.to_json() for f in run.findings] == [f.to_json() for f in whole.findings]
    with ws.resume("run") as again:
        assert again.state == "finished"


def test_only_the_target_label_counts(toy: Path) -> None:
    with ws.hunt("python:toy:Classifier", target_label="cat", out="run", **NAMES) as run:
        assert phrases(run.findings) == []
        base = run.ledger.hypotheses()[0]
        assert set(run.ledger.answers(base, Stage.EXPLORE, failed=True)) == {"cat"}


def test_a_target_that_never_fails_spends_its_budget_and_says_so(toy: Path) -> None:
    class Right:
        def answer(self, cases: Any) -> list[Output]:
            return [Output("fly") for _ in cases]

    with ws.hunt(Right(), out="run", **(NAMES | {"budget": "images=1000"})) as run:
        assert run.findings == []
        assert run.state.startswith("stopped: no failure in 668 images")
        assert sum(t.failures for t in run.ledger.tallies().values()) == 0


def test_a_hunt_stopped_by_the_clock_keeps_its_findings_when_resumed(toy: Path) -> None:
    """The replay must spend time as the run did, or it finds its budget gone before the first trial."""
    with ws.hunt(
        "python:toy:Classifier", out="run", **(NAMES | {"budget": "images=4000,seconds=600"})
    ) as run:
        assert run.state == "finished"
        found = [f.to_json() for f in run.findings]
        assert found
    with Run.open(Path("run")) as writing:
        writing.ledger.set_fact("state", "stopped: the seconds budget of 600 is spent")
    with sqlite3.connect("run/ledger.db") as db:
        db.execute("UPDATE trials SET seconds = seconds + 0.05")
        db.execute("UPDATE spend SET amount = amount + 300 WHERE what = 'seconds'")
    with ws.resume("run") as run:
        assert [f.to_json() for f in run.findings] == found


def test_captions_that_were_never_tried_are_no_finished_hunt(toy: Path) -> None:
    with ws.hunt("python:toy:Classifier", out="run", **(NAMES | {"budget": "images=20"})) as run:
        assert run.state.startswith("stopped: ")


def test_a_target_that_always_fails_has_no_weak_spot_worse_than_usual(toy: Path) -> None:
    class Wrong:
        def answer(self, cases: Any) -> list[Output]:
            return [Output("bee") for _ in cases]

    with ws.hunt(Wrong(), out="run", **(NAMES | {"budget": "images=2000"})) as run:
        assert phrases(run.findings) == []
        assert run.state == "finished"


def test_answers_that_are_not_numbers_are_errors_and_no_failures(toy: Path) -> None:
    """A model with NaN in some outputs: those trials leave the denominator."""
    import numpy as np
    import toy as parts

    from weakspot.models.python import FunctionClassifier

    def sometimes(images: Any) -> Any:
        rows = parts.classify(images)
        rows[images[:, 0, 0, 1] >= 240] = np.nan
        return rows

    target = FunctionClassifier(sometimes, labels=parts.LABELS)
    with ws.hunt(target, out="run", **NAMES) as run:
        tally = next(iter(run.ledger.tallies().values()))
        assert tally.errors / tally.drawn == pytest.approx(16 / 256, abs=0.03)
        assert run.ledger.errors()[0][0] == "target: the model answered with numbers that are not finite"
        assert phrases(run.findings) == ["it is on a flower."]


def test_a_changed_model_is_refused_on_resume(toy: Path) -> None:
    import toy as parts

    class Versioned(parts.Classifier):  # type: ignore[misc]
        def __init__(self, digest: str) -> None:
            self.digest = digest

    small = NAMES | {"budget": "images=20"}
    ws.hunt(Versioned("a" * 64), out="run", **small).close()
    assert yaml.safe_load(Path("run/run.yaml").read_text())["digests"] == {"target": "a" * 64}
    with pytest.raises(WeakspotError, match="the target is not the one this run began with"):
        ws.resume("run", target=Versioned("b" * 64), budget="images=500")
    ws.resume("run", target=Versioned("a" * 64), budget="images=500").close()


def test_a_changed_verifier_is_refused_on_resume(toy: Path) -> None:
    import toy as parts

    class Versioned(parts.Classifier):  # type: ignore[misc]
        def __init__(self, digest: str) -> None:
            self.digest = digest

    small = NAMES | {"budget": "images=20"}
    first, second = Versioned("a" * 64), Versioned("b" * 64)
    ws.hunt("python:toy:Classifier", verify=[first, second], out="run", **small).close()
    digests = yaml.safe_load(Path("run/run.yaml").read_text())["digests"]
    assert digests == {"verify": "a" * 64, "verify 2": "b" * 64}
    with pytest.raises(WeakspotError, match="the verify 2 is not the one this run began with"):
        ws.resume("run", verify=[first, Versioned("c" * 64)], budget="images=500")
    ws.resume("run", verify=[first, second], budget="images=500").close()


def test_objects_without_the_ports_methods_are_refused(toy: Path) -> None:
    for change in ({"source": object()}, {"judge": object()}):
        with pytest.raises(WeakspotError, match=r"is not a (Source|Judge)") as error:
            ws.hunt("python:toy:Classifier", out="run", **(NAMES | change))
        assert "it must have" in error.value.fix
    with pytest.raises(WeakspotError, match="is not a Target"):
        ws.hunt(object(), out="run", **NAMES)
    assert not Path("run").exists()


def test_nothing_is_written_before_the_settings_are_checked(toy: Path) -> None:
    for change in ({"label": "fli"}, {"budget": ""}, {"fdr": 2.0}, {"source": "python:none:x"}):
        with pytest.raises(WeakspotError):
            ws.hunt("python:toy:Classifier", out="run", **(NAMES | change))
    assert not Path("run").exists()


def test_open_run_of_no_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(WeakspotError):
            ws.open_run(str(folder))
