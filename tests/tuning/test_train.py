"""Training: it learns, it forgets little, it goes on where it stopped, it says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.tuning.colours import LABELS, Colours, pictures

from weakspot.core import WeakspotError
from weakspot.tuning.lessons import (
    ANYWHERE,
    WIDE,
    DrawnLessons,
    Moves,
    TransformedLessons,
    moved_about,
    pieced,
)
from weakspot.tuning.network import Network
from weakspot.tuning.rounds import GUARDED, RoundState, better
from weakspot.tuning.torch_model import TorchClassifier
from weakspot.tuning.train import TrainSettings, put_right, train


def dark(images: list[np.ndarray], modes: Sequence[int], seeds: Sequence[int]) -> list[np.ndarray]:
    return [(image * 0.45).astype(np.uint8) for image in images]


def network() -> Network:
    return TorchClassifier(Colours(), labels=LABELS, device="cpu").network("colours")


def lessons(n: int = 200, seed: int = 0) -> TransformedLessons:
    images, labels = pictures(n, seed)
    return TransformedLessons(list(images), labels.tolist(), change=dark, modes=1)


def failing(net: Network, images: list[np.ndarray], labels: np.ndarray) -> float:
    return float((net.logits(images).argmax(1).numpy() != labels).mean())


def settings(**given: object) -> TrainSettings:
    return TrainSettings(**({"epochs": 12, "learning_rate": 0.2, "device": "cpu", "distil": 0.3} | given))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["last-layer", "full", "lora"])
def test_dark_pictures_are_learnt_and_light_ones_kept(method: str) -> None:
    if method == "lora":
        pytest.importorskip("peft")
    net, (images, labels) = network(), pictures(400, seed=9)
    light = list(images)
    before = failing(net, dark(light, [], []), labels), failing(net, light, labels)
    found = train(net, lessons(), settings(method=method, rank=2))
    after = failing(net, dark(light, [], []), labels), failing(net, light, labels)
    assert before[0] > 0.25
    assert after[0] < (0.75 if method == "lora" else 0.5) * before[0]
    assert after[1] <= before[1] + 0.02
    assert found.best > 0
    assert not any("lora" in name for name in net.module.state_dict())


class Cooled(Colours):
    """Something is computed after the last layer."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * 3


class Sure(Colours):
    """It answers with probabilities."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).softmax(1)


@pytest.mark.parametrize("kind", [Cooled, Sure])
def test_what_is_computed_after_a_named_layer_takes_part_in_its_training(kind: type[Colours]) -> None:
    net = TorchClassifier(kind(), labels=LABELS, device="cpu").network("named")
    old = {name: value.clone() for name, value in net.module.state_dict().items()}
    images, labels = pictures(400, seed=9)
    before = failing(net, dark(list(images), [], []), labels)
    found = train(net, lessons(), settings(method="last-layer", layer="head"))
    assert found.layer == "head"
    assert failing(net, dark(list(images), [], []), labels) < 0.6 * before
    changed = {name for name, value in net.module.state_dict().items() if not torch.equal(value, old[name])}
    assert changed == {"head.weight", "head.bias"}


def test_probabilities_teach_the_same_as_the_logits_behind_them() -> None:
    made = [TorchClassifier(kind(), labels=LABELS, device="cpu").network("x") for kind in (Colours, Sure)]
    curves = [train(net, lessons(), settings(method="full", epochs=3)).curve for net in made]
    for row, same in zip(*curves, strict=True):
        assert row == pytest.approx(same, abs=1e-3)
    one, two = (net.module.state_dict()["head.weight"] for net in made)
    assert torch.allclose(one, two, atol=1e-2)


def test_last_layer_changes_nothing_but_the_last_layer() -> None:
    net = network()
    old = {name: value.clone() for name, value in net.module.state_dict().items()}
    found = train(net, lessons(), settings(method="last-layer", epochs=3))
    changed = {name for name, value in net.module.state_dict().items() if not torch.equal(value, old[name])}
    assert changed == {"head.weight", "head.bias"}
    assert found.layer == "head"
    assert found.parameters == 21


def test_the_head_goes_on_unless_it_is_to_begin_anew() -> None:
    kept, anew = network(), network()
    train(kept, lessons(), settings(method="last-layer", epochs=1, learning_rate=1e-6))
    train(anew, lessons(), settings(method="last-layer", epochs=1, learning_rate=1e-6, reset_head=True))
    old = Colours().state_dict()["head.weight"]
    assert torch.allclose(kept.module.state_dict()["head.weight"], old, atol=1e-3)
    assert not torch.allclose(anew.module.state_dict()["head.weight"], old, atol=0.5)


def test_the_same_seed_gives_the_same_weights_also_after_an_interruption(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(epoch: int, of: int, row: dict[str, float]) -> None:
        if epoch == 3:
            raise Stop

    whole, halved = network(), network()
    train(whole, lessons(), settings(epochs=6))
    with pytest.raises(Stop):
        train(halved, lessons(), settings(epochs=6), folder=tmp_path, progress=stop)
    again = network()
    rounds: list[int] = []
    found = train(
        again, lessons(), settings(epochs=6), folder=tmp_path, progress=lambda e, *_: rounds.append(e)
    )
    assert rounds == [4, 5, 6]
    assert [row["epoch"] for row in found.curve] == [0, 1, 2, 3, 4, 5, 6]
    for name, value in whole.module.state_dict().items():
        assert torch.equal(value, again.module.state_dict()[name])


def test_a_checkpoint_of_other_settings_is_not_taken_up(tmp_path: Path) -> None:
    train(network(), lessons(), settings(epochs=2), folder=tmp_path)
    rounds: list[int] = []
    train(
        network(),
        lessons(),
        settings(epochs=2, seed=5),
        folder=tmp_path,
        progress=lambda e, *_: rounds.append(e),
    )
    assert rounds == [1, 2]


def test_a_damaged_checkpoint_is_said(tmp_path: Path) -> None:
    train(network(), lessons(), settings(epochs=1), folder=tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"no")
    with pytest.raises(WeakspotError, match="checkpoint") as caught:
        train(network(), lessons(), settings(epochs=1), folder=tmp_path)
    assert "delete" in caught.value.fix


def test_it_ends_early_when_nothing_gets_better_and_keeps_the_old_weights() -> None:
    net = network()
    found = train(net, lessons(), settings(learning_rate=1e-12, epochs=30, patience=2))
    assert found.epochs <= 4
    train(ruined := network(), lessons(), settings(learning_rate=500.0, epochs=3, distil=0.0))
    old = Colours().state_dict()
    best = [row["validation"] for row in found.curve]
    assert min(best) <= best[0]
    assert all(torch.isfinite(v).all() for v in ruined.module.state_dict().values())
    assert torch.allclose(ruined.module.state_dict()["head.bias"], old["head.bias"], atol=5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "magic"}, "magic"),
        ({"rate": 0.0}, "rate"),
        ({"rate": 1.5}, "rate"),
        ({"batch": 0}, "number"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(WeakspotError, match=said):
        train(network(), lessons(20), settings(**given))


def test_too_few_pictures_are_refused() -> None:
    with pytest.raises(WeakspotError, match="too few"):
        train(network(), lessons(4), settings())


def test_the_same_round_is_drawn_alike_and_another_is_not() -> None:
    some = lessons(40)
    first, again, other = (
        some.show(range(40), seed=seed, rate=0.5, moves=Moves(mirror=True, shift=0.1))
        for seed in ([1, 2], [1, 2], [1, 3])
    )
    assert all(np.array_equal(a, b) for a, b in zip(first.changed, again.changed, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first.changed, other.changed, strict=True))
    share = np.mean([not np.array_equal(a, b) for a, b in zip(first.plain, first.changed, strict=True)])
    assert 0.25 < share < 0.75


def test_weak_spots_that_training_saw_are_not_in_the_validation() -> None:
    images, labels = pictures(60)
    rows = list(zip(images, labels.tolist(), strict=True))
    drawn = DrawnLessons(rows[:40], rows[40:])
    seen: list[set[bytes]] = []
    for part in (range(10), range(10, 20)):
        shown = [drawn.show(part, seed=[s], rate=1.0) for s in range(20)]
        seen.append({image.tobytes() for one in shown for image in one.changed})
    assert not seen[0] & seen[1]


def test_pictures_keep_their_size_and_are_not_mirrored_where_that_means_something_else() -> None:
    image = np.arange(10 * 14 * 3, dtype=np.uint8).reshape(10, 14, 3)
    rng = np.random.default_rng(0)
    assert all(moved_about(image, rng, Moves(True, 0.2)).shape == image.shape for _ in range(20))
    assert all(np.array_equal(moved_about(image, rng, Moves(False, 0.0)), image) for _ in range(5))


def test_a_wrong_answer_is_put_right_and_a_blend_left_alone() -> None:
    logits = torch.tensor([[3.0, 1.0, 2.0], [1.0, 5.0, 2.0], [0.0, 1.0, 9.0]])
    found = put_right(logits, torch.tensor([2, 1, -1]))
    assert found.tolist() == [[2.0, 1.0, 3.0], [1.0, 5.0, 2.0], [0.0, 1.0, 9.0]]


def test_a_piece_leaves_the_share_that_was_asked_for() -> None:
    one, other, rng = (
        np.zeros((20, 20, 3), np.uint8),
        np.full((20, 20, 3), 9, np.uint8),
        np.random.default_rng(1),
    )
    for share in (0.0, 0.36, 0.75, 1.0):
        assert (pieced(one, other, share, rng) == 0).mean() == pytest.approx(share, abs=0.06)
    assert np.array_equal(pieced(one, other[:5], 0.5, rng), one)


def test_of_rounds_that_chance_may_have_put_apart_the_latest_is_kept() -> None:
    state = RoundState(curve=[{"validation": 0.3, "transformed": 0.4, "plain": 0.1}], best_loss=0.3)
    first = {"validation": 0.2, "transformed": 0.25, "plain": 0.1}
    assert better(first, state, 300)
    state.best, state.best_loss = 1, 0.2
    assert better(first | {"validation": 0.205}, state, 300)
    assert not better(first | {"validation": 0.25}, state, 300)
    assert not better(first | {"validation": 0.19, "plain": 0.15}, state, 300)
    assert not better(
        {"validation": 0.31, "transformed": 0.4, "plain": 0.1}, RoundState(curve=state.curve), 300
    )


def test_two_plain_failures_of_a_hundred_do_not_stop_a_repair_that_is_guarded() -> None:
    state = RoundState(curve=[{"validation": 0.24, "transformed": 0.35, "plain": 0.0}], best_loss=0.24)
    row = {"validation": 0.08, "transformed": 0.1, "plain": 0.02}
    assert not better(row, state, 100)
    assert better(row, state, 100, chance=GUARDED)
    assert not better(row | {"plain": 0.05}, state, 100, chance=GUARDED)


def test_cells_beside_the_modes_are_learnt_too_but_not_examined() -> None:
    asked: list[int] = []

    def change(images: list[np.ndarray], modes: Sequence[int], seeds: Sequence[int]) -> list[np.ndarray]:
        asked.extend(modes)
        return images

    images, labels = pictures(400)
    some = TransformedLessons(list(images), labels.tolist(), change=change, modes=2)
    some.show(range(400), seed=[1], rate=1.0, moves=Moves(mirror=False, shift=0.0))
    assert np.mean(np.array(asked) == ANYWHERE) == pytest.approx(WIDE, abs=0.08)
    asked.clear()
    some.show(range(400), seed=[1], rate=1.0)
    assert ANYWHERE not in asked
