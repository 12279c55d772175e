"""The benchmark of hunting: scores follow from the truth, figures from the scores; what is plain is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from weakspot.bench import bench, planted, rivals
from weakspot.bench.planted import METHODS, Score, score
from weakspot.bench.rivals import Reported
from weakspot.core import MODELS, Classifier, Hypothesis, WeakspotError
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.planted import Planted, PlantedClassifier, WordsOnly, World
from weakspot.world.renderer import Renderer
from weakspot.world.scene import SceneSet

BASE = base_sentence("fly")
WORLD = World(
    3,
    "fly",
    0.001,
    (
        Planted(SceneSet.of({"size": ["large"], "facing": ["left"]}), 0.1, "cat"),
        Planted(SceneSet.of({"light": ["dusk"]}), 0.1, "bee"),
        Planted(SceneSet.of({"weather": ["rain"]}), 0.04, "dog"),  # not five times the baseline
    ),
)


def scored(*texts: str) -> Score:
    return score(WORLD, "ours", Reported([f"{BASE} {text}" for text in texts], 100))


def figures(found: Score) -> tuple[int, int, int, int, int]:
    return found.found, found.exact, found.named, found.reported, found.false


def test_only_what_is_five_times_the_baseline_must_be_found() -> None:
    assert 0.04 / 5 < WORLD.baseline < 0.02
    assert scored().notable == 2


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((), (0, 0, 0, 0, 0)),
        (("it is dusk.",), (1, 1, 1, 1, 0)),
        (("it is large. it faces left.", "it is dusk."), (2, 2, 2, 2, 0)),
        # one attribute too few: found, since most of its failures are the planted ones, but not named
        (("it is large.",), (1, 0, 0, 1, 0)),
        # one too many, and afterwards as it is: named, but a person reads the other first
        (("it is dusk. it is small.", "it is dusk."), (1, 0, 1, 2, 0)),
        # no worse than the baseline, or better
        (("it is on a plate.",), (0, 0, 0, 1, 1)),
        (("it is small.",), (0, 0, 0, 1, 1)),
        # truly worse, and no notable one's
        (("it is raining.",), (0, 0, 0, 1, 0)),
        # words that mean nothing here
        (("it is a unicorn.", "it is on a yellow plate."), (0, 0, 0, 2, 2)),
    ],
)
def test_reported_texts_are_judged_by_the_truth(
    texts: tuple[str, ...], expected: tuple[int, int, int, int, int]
) -> None:
    assert figures(scored(*texts)) == expected


@pytest.mark.parametrize("method", [m for m in METHODS if m != "ours"])
def test_every_rival_finds_a_plain_failure_within_its_budget(method: str) -> None:
    world = World(1, "fly", 0.005, (Planted(SceneSet.of({"light": ["dusk"]}), 0.8, "bee"),))
    target: Classifier = PlantedClassifier(world)
    reported = METHODS[method](target, base=Hypothesis(BASE), source=WordsOnly(), budget=3000, seed=5)
    assert reported.images <= 3000
    assert reported.texts[0] == f"{BASE} it is dusk."
    again = METHODS[method](target, base=Hypothesis(BASE), source=WordsOnly(), budget=3000, seed=5)
    assert again == reported


@pytest.mark.parametrize("method", [m for m in METHODS if m != "ours"])
def test_a_rival_with_nothing_to_find_says_little(method: str) -> None:
    flawless: Classifier = PlantedClassifier(World(1, "fly", 0.0, ()))
    reported = METHODS[method](flawless, base=Hypothesis(BASE), source=WordsOnly(), budget=300, seed=5)
    assert reported.texts == []


def test_the_mixture_tells_apart_groups_with_different_mistakes() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 300)
    features = np.eye(3)[group] * 4 + rng.normal(size=(900, 3))
    answer = np.where((group == 1) & (rng.random(900) < 0.4), 1, 0)
    answer = np.where((group == 2) & (rng.random(900) < 0.4), 2, answer)
    member = rivals.fit(features, np.eye(3)[answer], seed=0)
    assert member.shape == (900, rivals.SLICES)
    assert np.allclose(member.sum(1), 1)
    for mistake in (1, 2):
        worst = int(np.argmax(member[answer == mistake].sum(0) / (member.sum(0) + 1)))
        assert np.average(group == mistake, weights=member[:, worst]) > 0.9


def _score(**figures: int) -> Score:
    plain = Score(
        method="ours", notable=1, found=1, exact=1, named=1, reported=1, false=0, images=10, seconds=0.0
    )
    return replace(plain, **figures)  # type: ignore[arg-type]


def test_figures_and_their_intervals() -> None:
    half = bench.summarise([_score(), _score(found=0, exact=0, named=0, reported=4, false=2, images=30)] * 20)
    assert half.recall.value == half.exact.value == 0.5
    assert 0.3 < half.recall.low < 0.45 < 0.55 < half.recall.high < 0.7
    assert half.fdr.value == 0.25
    assert (half.images, half.median_images, half.reported) == (20, 20, 2.5)
    whole = bench.summarise([_score()] * 40)
    assert (whole.recall.value, whole.recall.high, whole.fdr.value, whole.fdr.low) == (1, 1, 0, 0)
    assert whole.recall.low < 0.95 < 1 - whole.fdr.high + 0.1
    none = bench.summarise([_score(notable=0, found=0, exact=0, named=0)] * 3)
    assert none.recall == (None, 0.0, 1.0)
    assert none.to_json()["recall"] is None


def test_known_weak_spots_of_a_trained_classifier() -> None:
    fly = planted.spots(planted.TrainedClassifier("classifier", "fly"))
    assert fly[0].sentence == "it is on a flower."
    assert all(spot.sentence == "it is on a flower." or "flower" not in spot.sentence for spot in fly)
    some = planted.trained_classifiers(5, seed=1)
    assert some == planted.trained_classifiers(5, seed=1)
    assert len(set(some)) == 5
    for world in planted.trained_classifiers(10_000, seed=2):
        for spot in planted.spots(world):
            assert parse(spot.sentence) == spot.where


def test_a_classifier_that_looks_answers_as_on_the_renderer_s_pictures() -> None:
    words, inner = Hypothesis(f"{BASE} it is on a flower."), MODELS.load("world:classifier")
    looking = planted.Drawing(inner)
    scenes = WordsOnly().draw(words, range(12), seed=2)
    expected = [o.answer for o in inner.answer(Renderer().draw(words, range(12), seed=2))]
    assert [o.answer for o in looking.answer(scenes[:5] + scenes)] == expected[:5] + expected
    assert [o.answer for o in looking.answer(scenes[::-1])] == expected[::-1]


def test_a_trained_classifier_is_measured_against_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Reported([f"{BASE} {t}" for t in ("it is on a flower.", "it is day.", "it is a unicorn.")], 7)
    monkeypatch.setattr("weakspot.bench.planted.METHODS", {"fixed": lambda *_, **__: told})
    [found] = planted.measure_trained(
        planted.TrainedClassifier("classifier", "fly"), methods=["fixed"], budget=100, seed=1, fresh=200
    )
    assert found.notable == len(planted.spots(planted.TrainedClassifier("classifier", "fly")))
    assert (found.found, found.exact, found.named, found.reported) == (1, 1, 1, 3)
    assert found.texts[0][1] is not None
    assert 0.3 < found.texts[0][1] < 0.65
    assert found.texts[2] == ("it is a unicorn.", None)
    assert found.false >= 1


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"methods": ["our"]}, "did you mean 'ours'"),
        ({"methods": []}, "choose from"),
        ({"methods": ["ours", "ours"]}, "twice"),
        ({"methods": ["ours", "llm"]}, "--llm MODEL"),
        ({"worlds": 0}, "0 worlds"),
        ({"worlds": -1}, "-1 worlds"),
        ({"budget": 5}, "too few"),
        ({"workers": 0}, "processes"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(WeakspotError) as told:
        bench.run(**wrong)  # type: ignore[arg-type]
    assert complaint in str(told.value)


def test_a_language_model_proposes_alone_and_beside_the_rules() -> None:
    """The reference that only counts: what it proposes is found, and a model is asked each question once."""
    found = bench.run(
        worlds=1,
        seed=4,
        methods=["llm", "both"],
        llm="python:weakspot.bench.llms:CountingReader",
        budget=6000,
    )
    assert found.to_json()["model"].endswith("CountingReader")
    for one in found.scores[0]:
        assert one.images <= 6000
        assert one.reported
        assert not one.false


def test_the_counting_reader_reads_what_a_language_model_is_shown() -> None:
    from weakspot.bench.llms import AskedOnce, CountingReader
    from weakspot.text.llm_proposals import Example, proposed

    examples = [Example(f"it is dusk. it is at place {i}.", True) for i in range(9)]
    examples += [Example(f"it is day. it is at place {i}.", False) for i in range(9)]
    assert proposed(CountingReader(), examples, manner="", seed="a").conditions[0] == "it is dusk."
    rows = [
        Example(f"weather is {w}; text: a dog at {i}", w == "rain") for i in range(9) for w in ("rain", "sun")
    ]
    assert proposed(CountingReader(), rows, manner="", seed="a").conditions[0] == "weather is rain"

    class Counted(CountingReader):
        asked = 0

        def ask(self, prompts: Sequence[str]) -> list[str]:
            self.asked += len(prompts)
            return super().ask(prompts)

    once = AskedOnce(inner := Counted())
    for _ in range(3):
        assert proposed(once, rows, manner="", seed="a").conditions
        assert once.ask(["Say it in other words."]) == ["[]"]
    assert inner.asked == 1
