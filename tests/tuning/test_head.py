"""The last layer is found by what it answers, and can be named."""

from __future__ import annotations

import pytest
import torch
from tests.tuning.colours import Colours, Headless
from torch import nn

from weakspot.core import MODELS, WeakspotError
from weakspot.tuning.network import last_layer, network_of

BATCH = torch.rand(2, 3, 8, 8)


def test_it_is_the_layer_whose_output_is_the_answer_not_the_last_that_is_listed() -> None:
    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.classes, self.unused = nn.Linear(3, 4), nn.Linear(3, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            said: torch.Tensor = self.classes(x.mean((2, 3)))
            return said

    assert last_layer(Other(), BATCH, labels=4)[0] == "classes"
    assert last_layer(Colours(), BATCH, labels=3)[0] == "head"


def test_a_convolution_can_be_the_last_layer() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 5, 1), nn.Flatten()
    )
    assert last_layer(net, BATCH, labels=5)[0] == "3"


@pytest.mark.parametrize("name", ["world:classifier", "world:classifier-vit-2"])
def test_it_is_found_in_graphs(name: str) -> None:
    network = network_of(MODELS.load(name), name=name)
    found = last_layer(network.module, torch.rand(2, 3, 64, 64), labels=16)
    assert found.name == "layers.head"
    assert found.answers
    assert isinstance(found.layer, nn.Linear)


def test_where_it_cannot_be_found_one_is_told_how_to_name_it() -> None:
    with pytest.raises(WeakspotError, match="cannot be found") as caught:
        last_layer(Headless(), BATCH, labels=3)
    assert "--layer" in caught.value.fix
    assert "head" in caught.value.fix
    found = last_layer(Headless(), BATCH, labels=3, name="head")
    assert found.name == "head"
    assert not found.answers
    assert last_layer(Colours(), BATCH, labels=3, name="head").answers


def test_a_named_layer_has_one_output_per_label() -> None:
    with pytest.raises(WeakspotError, match="'hidden' gives 6 numbers a picture") as caught:
        last_layer(Headless(), BATCH, labels=3, name="hidden")
    assert caught.value.fix == "choose from: head"

    class Unused(Colours):
        def __init__(self) -> None:
            super().__init__()
            self.spare = nn.Linear(6, 3)

    with pytest.raises(WeakspotError, match="'spare' does not run"):
        last_layer(Unused(), BATCH, labels=3, name="spare")


def test_a_wrong_name_says_the_nearest() -> None:
    with pytest.raises(WeakspotError, match="no layer 'haed'") as caught:
        last_layer(Colours(), BATCH, labels=3, name="haed")
    assert "'head'" in caught.value.fix
