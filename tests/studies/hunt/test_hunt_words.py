"""What labels mean in a hunt: parents for the parent rule, senses, prompts, and sources that draw nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.hunt.hunt_world import Blind, Clumsy, Tells

import weakspot as ws
from weakspot.core import Output, Scores, Stage, WeakspotError
from weakspot.studies.hunt.result import HuntResult
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study.labels import Meanings, base_hypothesis, chosen, kin_of_head
from weakspot.text.caption_edits import Edit, Kind, edits, varied

HEAD = ("cat", "dog", "wolf")
KIN = "name,parent\ncat,pet\ndog,pet\nwolf,beast\n"


class Takes:
    """A classifier without parents that answers one label, and gives all three a probability."""

    labels, parents = HEAD, {}  # type: ignore[var-annotated]

    def __init__(self, answer: str) -> None:
        order = [answer, *(label for label in HEAD if label != answer)]
        self.scores = Scores(HEAD, np.array([0.6 - 0.2 * order.index(label) for label in HEAD], np.float32))
        self.said = answer

    def answer(self, cases: Any) -> list[Output]:
        return [Output(self.said, self.scores) for _ in cases]


@pytest.mark.parametrize(
    ("answer", "rule", "fails"),
    [
        ("dog", "parent=any", False),
        ("wolf", "parent=any", True),
        ("dog", "top=2&parent=any", False),
        ("wolf", "top=2&parent=all", False),
        ("wolf", "top=2&parent=any", True),
    ],
)
def test_the_parent_rule_reads_a_labels_file(tmp_path: Path, answer: str, rule: str, fails: bool) -> None:
    (tmp_path / "parents.csv").write_text(KIN)
    with ws.hunt(
        Takes(answer),
        label="cat",
        source=Blind(),
        captioner=Tells(),
        judge=f"label?{rule}",
        labels_file=tmp_path / "parents.csv",
        budget="images=64",
        out=tmp_path / "run",
    ) as run:
        [base] = [h for h in run.ledger.hypotheses() if h.origin == "baseline"]
        tally = run.ledger.tally(base, Stage.EXPLORE)
        assert base.text.endswith("a cat (pet).")
        assert (tally.failures == tally.n) is fails
        assert tally.n > 0


def test_kin_of_a_head_comes_from_the_head_first() -> None:
    known = {"cat": "pet", "dog": "pet", "wolf": "beast"}
    assert kin_of_head(HEAD, known, None, {})["cat"] == {"cat", "dog"}  # type: ignore[index]
    assert kin_of_head((), {}, None, {}) is None


def test_a_sense_is_given_to_the_one_label_or_to_each_by_name() -> None:
    assert chosen(None, ["cat"]) == {}
    assert chosen("5", ["crane"]) == {"crane": "5"}
    assert chosen("crane=5, cat = feline", ["cat", "crane"]) == {"crane": "5", "cat": "feline"}
    with pytest.raises(WeakspotError, match="any of 2 labels"):
        chosen("5", ["cat", "crane"])
    for wrong in ("dog=1", "crane=", "=3"):
        with pytest.raises(WeakspotError, match="gives no hunted label a sense"):
            chosen(wrong, ["cat", "crane"])


def test_an_unclear_label_of_several_says_how_each_is_chosen() -> None:
    pytest.importorskip("weakspot.text.wordnet")
    from weakspot.text.wordnet import WordNet

    try:
        WordNet.find()
    except WeakspotError:
        pytest.skip("WordNet is not installed")
    settings = HuntSettings(target="x", labels=("crane", "cat"), source="diffusers:x")
    with pytest.raises(WeakspotError, match="meanings in WordNet") as error:
        Meanings(settings.task, ("crane", "cat"), {}).words()
    assert "label=sense" in error.value.fix
    told = settings.changed(sense="crane=5,cat=1").task
    assert Meanings(told, ("crane", "cat"), {}).words()["crane"].parent == "wading bird"


def test_a_prompt_ends_as_a_sentence() -> None:
    for prompt, text in (("a {label}", "a fly."), ("a {label}! ", "a fly!"), ("the {label}.", "the fly.")):
        assert (
            base_hypothesis(HuntSettings(target="x", label="fly", prompt=prompt).task, {}, "fly").text == text
        )


def test_many_labels_with_few_images(tmp_path: Path) -> None:
    with ws.hunt(
        "world:classifier",
        labels=["fly", "bee", "cat", "dog", "wolf", "crab", "boat", "car", "duck", "fence"],
        budget="images=300",
        out=tmp_path / "run",
    ) as run:
        bases = [h for h in run.ledger.hypotheses() if h.origin == "baseline"]
        assert len(bases) == 10
        assert not run.state.startswith("stopped: broken")
        assert ws.write_report(run).exists()


class Blank(Blind):
    """Draws every other picture black."""

    def draw(self, hypothesis: Any, indices: Any, *, seed: int) -> Any:
        cases = super().draw(hypothesis, indices, seed=seed)
        black, none = np.zeros((32, 32, 3), np.uint8), np.zeros((0, 0, 3), np.uint8)
        return [replace(c, input=(black, c.input, none, c.input)[c.index % 4]) for c in cases]


def test_a_picture_that_shows_nothing_is_an_error_of_the_source(tmp_path: Path) -> None:
    class Always(Clumsy):
        def answer(self, cases: Any) -> Any:
            return [Output("wolf" if not c.input.size or not c.input.any() else "cat") for c in cases]

    with ws.hunt(
        Always(), label="cat", source=Blank(), captioner=Tells(), budget="images=200", out=tmp_path / "run"
    ) as run:
        total = run.ledger.tallies().values()
        assert sum(t.failures for t in total) == 0
        assert sum(t.errors for t in total) == pytest.approx(sum(t.drawn for t in total) / 2, abs=2)
        assert "one colour" in run.ledger.errors()[0][0]


def test_pictures_that_nobody_describes(tmp_path: Path) -> None:
    class Draws:
        def generate(self, prompts: Any, seeds: Any) -> Any:
            return [case.input for s in seeds for case in Blind().draw(base, [s % 1000], seed=0)]

    from weakspot.core import Hypothesis

    base = Hypothesis("a photo of a cat.")
    small: dict[str, Any] = {"label": "cat", "budget": "images=1500", "seed": 3}
    with ws.hunt(Clumsy(), source=Draws(), out=tmp_path / "no", **small) as run:
        assert "nothing describes the images" in run.state  # beyond what was asked for
        assert sum(t.drawn for t in run.ledger.tallies().values()) < 1500
    with ws.hunt(Clumsy(), source=Draws(), captioner=Tells(), out=tmp_path / "run", **small) as run:
        assert run.ledger.hypotheses()  # a generator is a source, once its pictures are put into words
    with ws.hunt(Clumsy(), source=Blind(), out=tmp_path / "mute", **small) as run:
        assert "nothing describes the images" in run.state


def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    from PIL import Image

    folder = tmp_path / "mine"
    folder.mkdir()
    for i in range(3):
        Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(folder / f"{i}.png")
    (folder / "broken.png").write_bytes(b"\x89PNG no picture")
    with ws.hunt(
        Clumsy(),
        label="cat",
        source=Blind(),
        captioner=Tells(),
        from_images=folder,
        budget="images=300",
        out=tmp_path / "run",
    ) as run:
        assert [file.name for file in HuntResult.of(run).skipped] == ["broken.png"]  # type: ignore[union-attr]
        assert "broken.png" in ws.write_report(run).read_text()


def test_edits_of_every_kind_come_before_the_second_of_any() -> None:
    from weakspot.core import Hypothesis

    base = Hypothesis("a photo of a cat.")
    some = Hypothesis(f"{base.text} it is on a yellow flower. there are three of them. it is on a street.")
    found = varied(edits(some, base=base, each=1))
    kinds = [edit.kind for edit in found]
    assert kinds[:3] == [Kind.NEGATE, Kind.COLOUR, Kind.PLACE]
    assert Kind.COUNT in kinds[:4]
    assert sorted(found) == sorted(edits(some, base=base, each=1))
    assert all(isinstance(edit, Edit) for edit in found)
