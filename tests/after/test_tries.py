"""attempt: a person's own words in a run, what they are taken to mean, and that the hunt stays as it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weakspot as ws
from weakspot.after.tries import LONGEST, Answer, meaning, verdict
from weakspot.core import Hypothesis, Output, Stage, Tally, WeakspotError
from weakspot.store import Run, RunConfig
from weakspot.studies.hunt.parts import load
from weakspot.studies.hunt.result import Tries
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study.labels import base_hypothesis

BASE = "a realistic photograph of a fly (insect)."
NAMES: dict[str, Any] = {"label": "fly", "source": "python:toy:Meadow", "seed": 7}
Start = Callable[[str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs that were made already, by budget."""
    return {"": tmp_path_factory.mktemp("made")}


@pytest.fixture
def start(toy: Path, made: dict[str, Path]) -> Start:
    """A copy of a hunt in the meadow with this budget; each is made once."""

    def copy(budget: str = "images=6000") -> Path:
        if budget not in made:
            made[budget] = made[""] / f"run{len(made)}"
            ws.hunt("python:toy:Classifier", out=made[budget], budget=budget, **NAMES).close()
        folder = toy / f"run{len(list(toy.glob('run*')))}"
        shutil.copytree(made[budget], folder)
        return folder

    return copy


def told(folder: Path) -> tuple[Any, ...]:
    """All that a hunt says: what a try must leave alone."""
    with Run.read(folder) as run:
        facts = [run.ledger.fact(key) for key in ("state", "result", "budget")]
        counts = {h.text: run.ledger.tally(h, s) for h in run.ledger.hypotheses() for s in Stage}
        tried = {row.hypothesis for row in (Tries.of(run) or Tries()).rows}
        untried = {h.text for h in run.ledger.hypotheses() if h.id not in tried}
        return [f.to_json() for f in run.findings], facts, {t: c for t, c in counts.items() if t in untried}


# -- what is measured ----------------------------------------------------------------------------------


def test_words_that_trouble_the_model_are_shown_worse(start: Start) -> None:
    folder = start("images=6000")
    before = told(folder)
    found = ws.try_words(folder, "it is on a red flower")
    assert found.verdict is Answer.WORSE
    assert found.hypothesis.text == f"{BASE} it is on a red flower."
    assert (found.phrase, found.label, found.raced) == ("it is on a red flower.", "fly", False)
    assert found.rate.low < 200 / 256 < found.rate.high
    assert 64 <= found.rate.n == found.drawn == found.fresh <= 256
    assert found.lift > 5
    assert found.confusions[0][0] == "bee"
    assert told(folder) == before
    with Run.read(folder) as run:
        [kept] = [h for h in run.ledger.hypotheses() if h.origin == "person"]
        assert (kept.text, kept.parent) == (found.hypothesis.text, Hypothesis(BASE).id)
        for failed in (True, False):
            first = run.ledger.trials(kept, failed=failed, kept=True)[0]
            assert run.image(kept, first).shape == (8, 8, 3)
        usual = [run.ledger.tally(Hypothesis(BASE), stage) for stage in Stage]
        assert found.baseline.n == sum(t.n for t in usual)
    assert found.to_json()["verdict"] == "shown worse than the baseline"
    again = ws.try_words(folder, "it is on a red flower.")
    assert (again.fresh, again.rate, again.verdict) == (0, found.rate, found.verdict)


def test_the_same_words_again_go_on_where_they_stopped(start: Start) -> None:
    folder, other = start("images=6000"), start("images=6000")
    first = ws.try_words(folder, "it is on the left.", n=10)
    then = ws.try_words(folder, f"{BASE} it is on the left.", n=90)
    assert (first.drawn, first.fresh, first.verdict) == (10, 10, Answer.UNDECIDED)
    assert (then.drawn, then.fresh) == (100, 90)
    at_once = ws.try_words(other, "it is on the left.", n=100)
    assert (at_once.rate, at_once.verdict, at_once.confusions) == (then.rate, then.verdict, then.confusions)


def test_a_budget_is_for_what_is_new(start: Start) -> None:
    folder = start("images=6000")
    for drawn in (30, 60):
        found = ws.try_words(folder, "it is on the left.", budget="images=30")
        assert (found.drawn, found.fresh) == (drawn, 30)
        assert found.limit == "the images budget of 30 is spent"


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        (Tally(100, 60), Answer.WORSE),
        (Tally(2000, 20), Answer.NOT_MUCH),
        (Tally(60, 1), Answer.UNDECIDED),
        (Tally(), Answer.UNDECIDED),
    ],
)
def test_the_verdict_in_plain_words(counts: Tally, shown: Answer) -> None:
    assert verdict(counts, Tally(2000, 40))[0] is shown


# -- the hunt stays as it was --------------------------------------------------------------------------


def test_resuming_after_tries_gives_the_same_findings(start: Start) -> None:
    tried, left_alone = start("images=30"), start("images=30")
    with Run.read(tried) as run:
        assert run.state.startswith("stopped")
    # Words that the hunt will come upon by itself, and words that it will not.
    for words in ("it is on a flower.", "it is on a yellow flower.", "it is on a green sofa."):
        ws.try_words(tried, words, n=128)
    for folder in (tried, left_alone):
        with ws.resume(folder, budget="images=6000") as run:
            assert run.state == "finished"
    found, facts, _ = told(tried)
    assert found
    assert (found, facts) == told(left_alone)[:2]
    assert [f["confirmed"] for f in found] == [True] * len(found)


def test_a_run_that_is_being_written_is_left_alone(start: Start) -> None:
    folder = start("images=30")
    with Run.open(folder), pytest.raises(WeakspotError, match="another process is writing"):
        ws.try_words(folder, "it is on the left.")


def test_errors_of_one_try_do_not_stop_the_next(start: Start) -> None:
    import toy as parts  # type: ignore[import-not-found]

    folder = start("images=6000")

    class Dies(parts.Classifier):  # type: ignore[misc]
        asked = 0

        def answer(self, cases: Any) -> list[Output]:
            self.asked += 1
            if self.asked > 1:  # it was there when it was looked at
                raise ConnectionError("gone")
            answers: list[Output] = super().answer(cases)
            return answers

    with pytest.raises(WeakspotError, match="gone") as error:
        ws.try_words(folder, "it is on a red flower.", target=Dies())
    assert error.value.fix == "remove the cause, then try again"
    found = ws.try_words(folder, "it is on a red flower.")
    assert found.verdict is Answer.WORSE
    assert found.errors >= 50
    assert found.rate.n == found.drawn - found.errors


def test_what_does_not_work_at_all_leaves_nothing_behind(start: Start) -> None:
    import toy as parts

    folder = start("images=30")
    with pytest.raises(WeakspotError, match="is gone"):
        ws.try_words(folder, "it is on a red flower.", target=parts.Breaking())
    with Run.read(folder) as run:
        assert "person" not in {h.origin for h in run.ledger.hypotheses()}


# -- what words mean -----------------------------------------------------------------------------------


def means(words: str, which: str | None = None, **change: Any) -> tuple[str, str]:
    settings = HuntSettings(**({"target": "world:classifier", "label": "cat"} | change))
    parts = load(settings)
    bases = [base_hypothesis(settings.task, parts.words, each) for each in settings.hunted]
    hypothesis, _, meant = meaning(words, settings, bases, parts, label=which)
    assert hypothesis.origin == "person"
    return hypothesis.text, meant


CAT = "a realistic photograph of a cat (feline)."


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("the background is snow.", f"{CAT} the background is snow."),
        ("  the background\n is snow ", f"{CAT} the background is snow."),
        (f"{CAT} it is night.", f"{CAT} it is night."),
        ("a photo of a cat. it is night.", "a photo of a cat. it is night."),
    ],
)
def test_sentences_are_added_and_prompts_are_taken_whole(words: str, text: str) -> None:
    assert means(words) == (text, "cat")


def test_with_several_labels_the_words_or_a_name_say_which() -> None:
    both: dict[str, Any] = {"label": "", "labels": ("cat", "dog")}
    dog = "a realistic photograph of a dog (canine)."
    assert means("the background is snow.", "dog", **both) == (f"{dog} the background is snow.", "dog")
    assert means(f"{dog} it is night.", **both) == (f"{dog} it is night.", "dog")
    with pytest.raises(WeakspotError, match="several labels") as error:
        means("the background is snow.", **both)
    assert "--label" in error.value.fix


@pytest.mark.parametrize(
    ("words", "label", "what"),
    [
        ("", None, "no words"),
        (" \n ", None, "no words"),
        (CAT, None, "the baseline's own words"),
        ("x" * (LONGEST + 1), None, "too many"),
        ("it is night.", "dog", "did not hunt for 'dog'"),
        ("it is frozen in carbonite.", None, "cannot draw these words"),
        ("<script>alert(1)</script>\x1b[2J\u202e", None, "cannot draw these words"),
    ],
)
def test_words_that_cannot_be_tried_are_refused(words: str, label: str | None, what: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        means(words, label)
    assert error.value.fix


# -- runs that cannot be tried -------------------------------------------------------------------------


def test_words_of_something_else_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    ws.hunt("world:classifier", label="cat", budget="images=40", out=folder).close()
    with pytest.raises(WeakspotError, match="these words show 'dog', but the baseline shows 'cat'"):
        ws.try_words(folder, "a photo of a dog.")


@pytest.mark.parametrize(
    ("study", "what"), [("ask", "is a run of ask, not of hunt"), ("hunt", "no baseline to compare with yet")]
)
def test_runs_without_a_baseline_are_refused(toy: Path, study: str, what: str) -> None:
    settings = {"target": "python:toy:Classifier", "label": "fly", "source": "python:toy:Meadow"}
    Run.create(RunConfig(study=study, subject="fly", settings=settings), folder=toy / "run").close()
    with pytest.raises(WeakspotError, match=what) as error:
        ws.try_words(toy / "run", "it is on a flower.")
    assert error.value.fix


@pytest.mark.parametrize(
    ("change", "what"), [({"n": 0}, "0 images"), ({"budget": "pixels=3"}, "no budget is")]
)
def test_limits_that_cannot_be_meant_are_refused(tmp_path: Path, change: dict[str, Any], what: str) -> None:
    with pytest.raises(WeakspotError, match=what):
        ws.try_words(tmp_path, "it is on a flower.", **change)
