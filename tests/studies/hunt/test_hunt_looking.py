"""Hunts whose source knows nothing: captioners, encoders, second opinions, pictures brought along."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.studies.hunt.hunt_world import (
    LABELS,
    Blind,
    Clumsy,
    Compares,
    Fair,
    Tells,
    draw_picture,
    read_picture,
)

import weakspot as ws
from weakspot.core import Hypothesis, Output, Scores, Stage, WeakspotError
from weakspot.core.ports import ENDLESS
from weakspot.engine import Watch
from weakspot.store import Run
from weakspot.studies.hunt.result import HuntResult
from weakspot.text.llm_proposals import WRONG

SETTINGS: dict[str, Any] = {"label": "cat", "budget": "images=6000", "seed": 3}
CAUSE = "it is in snow. it is night."


def phrases(run: Run) -> list[str]:
    return [f.phrase for f in run.findings if f.confirmed]


@pytest.mark.parametrize("helpers", [{"captioner": Tells()}, {"captioner": Tells(), "encoder": Compares()}])
def test_a_captioner_puts_into_words_what_the_source_does_not_know(
    tmp_path: Path, helpers: dict[str, Any]
) -> None:
    with ws.hunt(Clumsy(), source=Blind(), out=tmp_path / "run", **SETTINGS, **helpers) as run:
        assert phrases(run) == [CAUSE]
        assert run.findings[0].confusions[0][0] == "wolf"
    with ws.hunt(Clumsy(), source=Blind(), out=tmp_path / "mute", **SETTINGS) as mute:
        assert phrases(mute) == []  # nobody says what is in the pictures


def test_captions_of_a_fickle_captioner_are_kept_for_resuming(tmp_path: Path) -> None:
    class Fickle(Tells):
        mood = random.Random(1)

        def captions(self, images: Any, *, prefix: str = "") -> list[str]:
            told = super().captions(images, prefix=prefix)
            return [text if self.mood.random() < 0.9 else prefix for text in told]

    class Nervous(Watch):
        def update(self, phase: str, lanes: Any, spent: Any) -> None:
            if phase == "confirm":
                raise KeyboardInterrupt

    parts: dict[str, Any] = {"source": Blind(), "captioner": Fickle()}
    with pytest.raises(KeyboardInterrupt):
        ws.hunt(Clumsy(), out=tmp_path / "run", watch=Nervous(), **SETTINGS, **parts)
    with ws.open_run(str(tmp_path / "run")) as run:
        before = [(h.id, run.ledger.tally(h, Stage.EXPLORE)) for h in run.ledger.hypotheses()]
    with ws.resume(tmp_path / "run", target=Clumsy(), **parts) as run:
        # Where a captioner forgets a tenth of what there is, snow seems to fail without night too.
        assert CAUSE in phrases(run)
        now = {h.id: run.ledger.tally(h, Stage.EXPLORE) for h in run.ledger.hypotheses()}
        assert all(now[key] == tally for key, tally in before)  # the same proposals, the same draws


def test_a_second_opinion_takes_the_generators_mistakes_out_of_the_rate(tmp_path: Path) -> None:
    """A tenth of the pictures show a fox: the classifier is right to say so."""
    parts: dict[str, Any] = {"source": Blind(wrong=0.1), "captioner": Tells()}
    with ws.hunt(Clumsy(), out=tmp_path / "alone", **SETTINGS, **parts) as alone:
        base = Hypothesis("a realistic photograph of a cat.")
        raw = alone.ledger.tally(base, Stage.EXPLORE)
        assert raw.rate > 0.1
    with ws.hunt(Clumsy(), verify=[Fair()], out=tmp_path / "checked", **SETTINGS, **parts) as run:
        tally = run.ledger.tally(base, Stage.EXPLORE)
        assert tally.invalid / tally.drawn == pytest.approx(0.1, abs=0.03)
        assert tally.rate < 0.06
        assert tally.unchecked.rate == pytest.approx(raw.rate, abs=0.04)
        assert phrases(run) == [CAUSE]
        found = run.findings[0]
        assert found.unchecked is not None
        assert found.unchecked.n > found.rate.n
        assert ws.write_report(run).exists()


class Unsure(Clumsy):
    """Fails in snow at night in 6 of 100 cases only, but is never sure there."""

    def answer(self, cases: Any) -> Any:
        outputs = []
        for case in cases:
            label, told = read_picture(case.input)
            doubt = 0.3 if self.where <= {*told} else 0.0
            doubt += random.Random(case.seed + 1).random() * 0.2128
            p = np.array([1 - doubt, 0, doubt, 0], np.float32)
            outputs.append(Output("wolf" if doubt > 0.5 else label, Scores(LABELS, p)))
        return outputs


def test_near_misses_suggest_what_failures_are_too_few_to(tmp_path: Path) -> None:
    """The cause fails once in 300 pictures; without scores there is nothing to be near."""

    class Silent(Unsure):
        def answer(self, cases: Any) -> Any:
            return [Output(output.answer) for output in super().answer(cases)]

    class Nervous(Watch):
        def update(self, phase: str, lanes: Any, spent: Any) -> None:
            if phase == "confirm":
                raise KeyboardInterrupt

    parts: dict[str, Any] = {"source": Blind(), "captioner": Tells()}
    small = SETTINGS | {"budget": "images=2000", "seed": 5}
    with ws.hunt(Unsure(), out=tmp_path / "run", **small, **parts) as run:
        assert phrases(run) == [CAUSE]
        assert CAUSE in [
            h.text.partition(". ")[2] for h in run.ledger.hypotheses() if h.origin == "near miss"
        ]
        trials = sum(t.drawn for t in run.ledger.tallies().values())
        assert trials < run.ledger.spend()["images"] <= 2000  # some were drawn once more, to be looked at
        whole = [(h.id, run.ledger.tally(h, Stage.EXPLORE)) for h in run.ledger.hypotheses()]
        findings, spent = run.findings, run.ledger.spend()["images"]
    with pytest.raises(KeyboardInterrupt):
        ws.hunt(Unsure(), out=tmp_path / "cut", watch=Nervous(), **small, **parts)
    with ws.resume(tmp_path / "cut", target=Unsure(), **parts) as run:
        assert [(h.id, run.ledger.tally(h, Stage.EXPLORE)) for h in run.ledger.hypotheses()] == whole
        assert (run.findings, run.ledger.spend()["images"]) == (findings, spent)
    with ws.hunt(Silent(), out=tmp_path / "silent", **small, **parts) as run:
        assert "near miss" not in {h.origin for h in run.ledger.hypotheses()}


def test_pictures_brought_along_suggest_captions(tmp_path: Path) -> None:
    """The cause is too rare to be met by chance; the user's own failures show it."""
    chance, folder = random.Random(0), tmp_path / "mine"
    folder.mkdir()
    for i in range(12):
        Image.fromarray(draw_picture(CAUSE, "cat", chance)).save(folder / f"{i}.png")
    (folder / "broken.png").write_bytes(b"\x89PNG no picture")
    more = SETTINGS | {"budget": "images=900"}
    with ws.hunt(
        Clumsy(), source=Blind(), captioner=Tells(), from_images=folder, out=tmp_path / "run", **more
    ) as run:
        assert phrases(run) == [CAUSE]
        assert {"images"} <= {h.origin for h in run.ledger.hypotheses()}
    with pytest.raises(WeakspotError, match="described in words"):
        ws.hunt(Clumsy(), source=Blind(), from_images=folder, out=tmp_path / "no", **more)


def test_several_labels_share_one_budget_and_one_list(tmp_path: Path) -> None:
    several: dict[str, Any] = {"labels": ("cat", "dog", "fox"), "budget": "images=9000", "seed": 1}
    target = Clumsy(where=["it is in snow."], only="dog")
    with ws.hunt(target, source=Blind(), captioner=Tells(), out=tmp_path / "run", **several) as run:
        [found] = [f for f in run.findings if f.confirmed]
        assert found.hypothesis.text == "a realistic photograph of a dog. it is in snow."
        assert 0.05 < found.baseline.value < 0.25
        drawn = {h.text: run.ledger.tally(h, Stage.EXPLORE) for h in run.ledger.hypotheses()}
        assert drawn["a realistic photograph of a fox."].failures < 20
        assert ws.write_report(run).exists()


def test_every_confusion_is_followed_without_being_named(tmp_path: Path) -> None:
    """One wrong answer in snow, drowned in others: nobody named it, and it is found."""

    class Drowned(Clumsy):
        def answer(self, cases: Any) -> Any:
            outputs = super().answer(cases)
            noise = [random.Random(case.seed + 7).random() < 0.25 for case in cases]
            return [
                type(o)("dog") if n and o.answer == "cat" else o for o, n in zip(outputs, noise, strict=True)
            ]

    target = Drowned(where=["it is in snow."])
    with ws.hunt(target, source=Blind(), captioner=Tells(), out=tmp_path / "run", **SETTINGS) as run:
        found = [f for f in run.findings if f.confirmed]
        assert "it is in snow." in [f.phrase for f in found]
        assert all(f.confusions[0][0] == "wolf" for f in found)


def test_edits_show_what_a_finding_hangs_on(tmp_path: Path) -> None:
    target = Clumsy(where=["it is in snow."])
    with ws.hunt(target, source=Blind(), captioner=Tells(), out=tmp_path / "run", **SETTINGS) as run:
        result = HuntResult.of(run)
        known = {h.id: h for h in run.ledger.hypotheses()}
        assert result is not None
        assert result.edits
        for row in result.edits:
            assert row.finding == run.findings[0].hypothesis.id
            assert known[row.hypothesis].origin == "edit"
            assert run.ledger.tally(known[row.hypothesis], Stage.EXPLORE).n >= 40
            assert row.kind
    with ws.hunt(
        target, source=Blind(), captioner=Tells(), out=tmp_path / "plain", edits=0, **SETTINGS
    ) as run:
        assert HuntResult.of(run).edits == ()  # type: ignore[union-attr]


@pytest.mark.parametrize("said", ["", "word " * 10_000, "\x00\x1b[31m", "it is in snow"])
def test_captioners_that_say_nothing_or_too_much_do_no_harm(tmp_path: Path, said: str) -> None:
    class Odd(Tells):
        def captions(self, images: Any, *, prefix: str = "") -> list[str]:
            return [said] * len(images)

    small = SETTINGS | {"budget": "images=800"}
    with ws.hunt(Clumsy(), source=Blind(), captioner=Odd(), out=tmp_path / "run", **small) as run:
        assert not run.state.startswith("stopped: broken")
        assert all(len(h.text) < 2_000 for h in run.ledger.hypotheses())


def test_pictures_of_a_broken_generator_are_errors(tmp_path: Path) -> None:
    class Blank(Blind):
        def draw(self, hypothesis: Hypothesis, indices: Any, *, seed: int) -> Any:
            cases = super().draw(hypothesis, indices, seed=seed)
            return [
                c if c.index % 3 else type(c)(c.hypothesis, c.index, c.seed, None, c.expected) for c in cases
            ]

    class Strict(Clumsy):
        def answer(self, cases: Any) -> Any:
            if any(not isinstance(case.input, np.ndarray) for case in cases):
                raise WeakspotError("this is no picture")
            return super().answer(cases)

    small = SETTINGS | {"budget": "images=1200"}
    with ws.hunt(Strict(), source=Blank(), captioner=Tells(), out=tmp_path / "run", **small) as run:
        total = sum(t.errors for t in run.ledger.tallies().values())
        assert total == pytest.approx(400, rel=0.15)
        assert all(f.rate.value < 0.8 for f in run.findings)


def test_generators_and_folders_expect_another_label_where_asked() -> None:
    """Several labels share one generator: what is expected of a picture follows from its baseline."""
    from weakspot.sources.generate import TextToImage
    from weakspot.study.labels import ByLabel

    class Draws:
        def generate(self, prompts: Any, seeds: Any) -> Any:
            return [np.zeros((8, 8, 3), np.uint8) for _ in prompts]

    bases = [Hypothesis("a photo of a cat."), Hypothesis("a photo of a dog.")]
    source = ByLabel(TextToImage(Draws(), expected="cat"), bases, ["cat", "dog"])
    snow = Hypothesis("a photo of a dog. it is in snow.")
    assert [source.draw(h, [0], seed=0)[0].expected for h in (*bases, snow)] == ["cat", "dog", "dog"]
    assert source.available(snow, seed=0, stage=Stage.EXPLORE) == ENDLESS


def test_a_wrong_folder_of_pictures_is_said_before_there_is_a_run(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="no folder"):
        ws.hunt(
            Clumsy(),
            source=Blind(),
            captioner=Tells(),
            from_images="nowhere",
            out=tmp_path / "run",
            **SETTINGS,
        )
    assert not (tmp_path / "run").exists()


class Rewords:
    """A language model that says the same in other words, and something untrue."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, prompts: Any) -> list[str]:
        self.asked += len(prompts)
        other = '[{"text": "it is night. it is in snow. it is cold."}, {"text": "it is noon."}]'
        return ["[]" if WRONG in prompt else other for prompt in prompts]  # it proposes nothing


def test_a_language_model_rewords_what_is_ahead(tmp_path: Path) -> None:
    model = Rewords()
    parts: dict[str, Any] = {"source": Blind(), "captioner": Tells(), "llm": model}
    with ws.hunt(Clumsy(), out=tmp_path / "run", **SETTINGS, **parts) as run:
        assert CAUSE in phrases(run)
        assert all("noon" not in phrase for phrase in phrases(run))
        theirs = {h.text for h in run.ledger.hypotheses() if h.origin == "reworded"}
        assert "a realistic photograph of a cat. it is cold. it is in snow. it is night." in theirs
        findings = run.findings
    asked = model.asked
    assert 0 < asked <= 24
    with ws.resume(tmp_path / "run", target=Clumsy(), **parts) as run:
        assert run.findings == findings
    assert model.asked == asked


def test_a_language_model_that_never_answers_changes_nothing(tmp_path: Path) -> None:
    class Mute:
        def ask(self, prompts: Any) -> list[str]:
            raise TimeoutError("no answer")

    parts: dict[str, Any] = {"source": Blind(), "captioner": Tells()}
    with ws.hunt(Clumsy(), out=tmp_path / "run", **SETTINGS, **parts, llm=Mute()) as run:
        assert phrases(run) == [CAUSE]
