"""A network that looks again where it is not sure: what changes, and what does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weakspot.models.onnx.graph import Graph
from weakspot.world import shipped
from weakspot.world.classifier import FAIR, SURE, SecondLook, load
from weakspot.world.nature import sample_uniform
from weakspot.world.render import render
from weakspot.world.scene import SceneSet


def uniform(n: int, first: int = 77_000) -> NDArray[np.float32]:
    from random import Random

    images = [render(sample_uniform(SceneSet(), Random(first + i)), first + i) for i in range(n)]
    return np.asarray(np.stack(images).transpose(0, 3, 1, 2) / 255, np.float32)


def test_only_what_it_is_not_sure_of_is_looked_at_again() -> None:
    path, images = shipped.file("classifier-fair.onnx"), uniform(60)
    names = ["attributes", "features", "logits"]
    once = dict(zip(names, Graph(path, threads=1, device="cpu").run({"image": images}, names), strict=True))
    graph = SecondLook(path, threads=1, device="cpu")
    twice = dict(zip(names, graph.run({"image": images}, names), strict=True))
    chance = np.exp(once["logits"] - once["logits"].max(1, keepdims=True))
    unsure = (chance / chance.sum(1, keepdims=True)).max(1) < SURE
    assert 0 < unsure.sum() < 20
    np.testing.assert_allclose(twice["logits"][~unsure], once["logits"][~unsure], atol=1e-4)
    np.testing.assert_allclose(twice["features"], once["features"], atol=1e-4)
    assert (np.abs(twice["logits"] - once["logits"]).max(1) > 1e-3).tolist() == unsure.tolist()
    assert (np.abs(twice["attributes"] - once["attributes"]).max(1) > 1e-3).tolist() == unsure.tolist()
    i = int(np.flatnonzero(unsure)[0])
    wide = np.pad(images[i], ((0, 0), (1, 1), (1, 1)), "edge")
    moved = np.stack([wide[:, y : y + 64, x : x + 64] for y in range(3) for x in range(3)])
    [looks] = Graph(path, threads=1, device="cpu").run({"image": moved}, ["logits"])
    np.testing.assert_allclose(twice["logits"][i], looks.mean(0), atol=1e-3)


def test_single_outputs_and_no_pictures() -> None:
    graph = SecondLook(shipped.file("classifier-fair.onnx"), threads=1, device="cpu")
    images = uniform(4)
    every = graph.run({"image": images})
    for tensor, values in zip(graph.outputs, every, strict=True):
        np.testing.assert_allclose(graph.run({"image": images}, [tensor.name])[0], values, atol=1e-4)
    assert [len(values) for values in graph.run({"image": images[:0]})] == [0, 0, 0]


def test_the_verifier_is_such_a_network() -> None:
    assert isinstance(load(FAIR).graph, SecondLook)
    assert not isinstance(load().graph, SecondLook)
