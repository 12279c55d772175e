"""How far weights are moved: as far as plain pictures allow, and no farther than the weak spots gain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.tuning.colours import LABELS, Colours, pictures
from tests.tuning.test_train import dark, failing, network, settings

from weakspot.tuning import train as training
from weakspot.tuning.lessons import MARGIN, DrawnLessons, Read, TransformedLessons
from weakspot.tuning.rounds import STEP, Blend, farthest
from weakspot.tuning.train import train


def looked(
    plain: Callable[[float], float], transformed: Callable[[float], float], most: float = 1.0
) -> tuple[list[Blend], float]:
    at = [1.0]

    def go(way: float) -> None:
        at[0] = way

    places = farthest(go, plain=lambda: plain(at[0]), transformed=lambda: transformed(at[0]), most=most)
    return places, at[0]


def test_the_farthest_place_within_the_margin_is_kept_and_the_model_is_there() -> None:
    places, at = looked(lambda way: 0.08 + 0.02 * way**2, lambda way: 0.3 - 0.2 * way)
    assert places[-1].way == at == pytest.approx(0.5)
    assert places[-1].plain <= 0.08 + MARGIN + 1e-9
    assert 0.08 + 0.02 * (at + STEP) ** 2 > 0.08 + MARGIN


def test_a_place_nearer_is_kept_where_the_weak_spots_fail_less_often_there() -> None:
    places, at = looked(lambda way: 0.08, lambda way: 0.1 + (way - 0.85) ** 2)
    assert at == pytest.approx(0.85)
    assert len(places) < 7, "it goes no further back than it must"


@pytest.mark.parametrize(
    ("plain", "transformed"),
    [
        (lambda way: 0.08 + MARGIN * 2 * (way > 0), lambda way: 0.3 - 0.2 * way),  # nothing is within it
        (lambda way: 0.08, lambda way: 0.3 + 0.1 * way),  # nothing is gained
    ],
)
def test_the_old_weights_are_kept_where_nothing_is_better(
    plain: Callable[[float], float], transformed: Callable[[float], float]
) -> None:
    places, at = looked(plain, transformed)
    assert places[-1].way == at == 0.0


def test_it_never_goes_beyond_the_far_end() -> None:
    places, at = looked(lambda way: 0.08, lambda way: 0.3 - 0.2 * way, most=0.8)
    assert at == 0.8
    assert max(place.way for place in places) == 0.8


def test_with_enough_pictures_the_rate_it_promises_is_the_rate_there_is() -> None:
    """Simulated: 3,000 pictures, of which more and more are unlearnt on the way; true rates are known."""
    rng, beyond = np.random.default_rng(3), []
    for _ in range(200):
        hard, lost, weak = rng.random(3_000) < 0.08, rng.random(3_000), rng.random(3_000)

        def plain(way: float, hard: np.ndarray = hard, lost: np.ndarray = lost) -> float:
            return float((hard | (lost < 0.02 * way**2)).mean())

        def transformed(way: float, weak: np.ndarray = weak) -> float:
            return float((weak < 0.3 - 0.2 * way).mean())

        _, at = looked(plain, transformed, most=0.8)
        beyond.append(0.92 * 0.02 * at**2)
    assert np.mean(beyond) <= MARGIN + 0.001
    assert np.quantile(beyond, 0.99) < 0.01, "a point is hardly ever lost"
    assert np.mean(beyond) > MARGIN / 2, "and the margin is made use of"


def careless(n: int = 200, **more: TransformedLessons | None) -> TransformedLessons:
    """Lessons whose plain pictures are all of one label: whoever learns them forgets the others."""
    images, labels = pictures(3 * n)
    own = np.flatnonzero(labels != 0)[:n]
    return TransformedLessons([images[i] for i in own], labels[own].tolist(), change=dark, modes=1, **more)


def others(n: int = 600) -> TransformedLessons:
    images, labels = pictures(n, seed=5)
    return TransformedLessons(list(images), labels.tolist(), change=dark, modes=1)


@pytest.mark.parametrize("method", ["last-layer", "full"])
def test_what_one_sided_lessons_would_unlearn_is_kept(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = pictures(1_500, seed=9)
    light, shade = list(images), dark(list(images), [], [])
    before = failing(network(), shade, labels), failing(network(), light, labels)
    given = settings(method=method, distil=0.0, rate=1.0, epochs=12)
    guarded = network()
    found = train(guarded, careless(beside=others()), given)
    assert 0 < found.way < 1
    assert found.guards == 620
    assert found.guard[-1]["way"] == found.way
    assert failing(guarded, light, labels) <= before[1] + 0.01
    assert failing(guarded, shade, labels) < before[0]

    def all_the_way(go: Callable[[float], None], **_: object) -> list[Blend]:
        go(1.0)
        return [Blend(1.0, 0.0, 0.0)]

    monkeypatch.setattr(training, "farthest", all_the_way)
    train(heedless := network(), careless(beside=others()), given)
    assert failing(heedless, light, labels) > before[1] + 0.02


def test_pictures_beside_the_lessons_teach_nothing() -> None:
    one, two = (train(network(), careless(beside=some), settings(epochs=3)) for some in (None, others(300)))
    assert one.curve == two.curve
    assert one.guards < two.guards


def test_a_head_that_began_anew_is_kept_as_it_is() -> None:
    found = train(network(), others(200), settings(method="last-layer", reset_head=True, epochs=3))
    assert found.way == 1.0
    assert not found.guard


def test_drawn_lessons_are_guarded_by_their_validation_pictures() -> None:
    images, labels = pictures(300)
    rows = list(zip(images, labels.tolist(), strict=True))
    weak = list(zip(dark(list(images), [], []), labels.tolist(), strict=True))
    found = train(network(), DrawnLessons(weak, rows), settings())
    assert found.guards == 30
    assert found.way > 0


def test_what_the_weak_spots_are_mistaken_for_is_kept_by_itself() -> None:
    """The mean over all would be better at the far end, and one of two kinds much worse."""
    at = [0.0]

    def go(way: float) -> None:
        at[0] = way

    places = farthest(
        go,
        plain=lambda: 0.02,
        transformed=lambda: 0.7 - 0.5 * at[0],
        apart=lambda: (0.6 - 0.2 * at[0], 0.36 + max(0.0, at[0] - 0.4)),
    )
    assert at[0] == places[-1].way == pytest.approx(0.4)
    assert places[-1].apart == pytest.approx((0.52, 0.36))
    assert all(place.transformed is None for place in places if place.way > 0.41)


def test_drawn_pictures_of_a_kind_apart_are_asked() -> None:
    images, labels = pictures(300)
    rows = list(zip(images, labels.tolist(), strict=True))
    weak = list(zip(dark(list(images), [], []), labels.tolist(), strict=True))
    more = DrawnLessons(weak[:100], rows[:100])
    found = train(network(), DrawnLessons(weak, rows, beside=more, apart=[more, more]), settings())
    assert found.guards == 30 + 100
    assert len(found.guard[0]["apart"]) == 2
    assert found.guard[0]["apart"][0] == found.guard[0]["apart"][1]


def test_pictures_are_read_when_they_are_asked_for() -> None:
    class Images:
        def __init__(self) -> None:
            self.asked: list[int] = []

        def picture(self, i: int) -> np.ndarray:
            self.asked.append(i)
            return np.zeros((2, 2, 3), np.uint8)

    images = Images()
    some = Read(images, [4, 7])
    assert len(some) == 2
    assert not images.asked
    assert some[1].shape == (2, 2, 3)
    assert images.asked == [7]
    assert len(LABELS) == Colours().head.out_features
