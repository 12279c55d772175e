"""Transformed pictures: deterministic, with the right label, in parts that share nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from weakspot.concepts.space import Axis, ConceptSpace, load_space
from weakspot.core import Stage, WeakspotError
from weakspot.sources.labelled import LabelledImages, labelled_images, part_digest, split
from weakspot.sources.transform import CHANGES, Destroyed, TransformedImages, amounts_of, transform
from weakspot.testing import check_source
from weakspot.world.renderer import Scenes


def pictures(n: int = 60, size: int = 16) -> LabelledImages:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (n, size, size, 3), dtype=np.uint8)
    return LabelledImages(
        tuple(f"p{i}" for i in range(n)),
        tuple(("cat", "dog")[i % 2] for i in range(n)),
        tuple(f"{i:064x}" for i in range(n)),
        lambda i: pixels[i],
    )


def source(space: str = "image-125", n: int = 60) -> TransformedImages:
    images = pictures(n)
    parts = split(images, seed=0)
    return TransformedImages(
        images,
        space=load_space(space),
        parts={Stage.EXPLORE: parts["discovery"], Stage.CONFIRM: parts["confirmation"]},
    )


def test_the_source_keeps_the_ports_promises() -> None:
    drawn = source("image:rotate,noise,occlusion,fog")
    check_source(drawn, drawn.space.hypothesis(200))


def test_a_cell_shows_every_picture_once_and_stages_share_none() -> None:
    drawn = source()
    hypothesis = drawn.space.hypothesis(7)
    n = drawn.available(hypothesis, seed=1, stage=Stage.EXPLORE)
    first = drawn.draw(hypothesis, range(n), seed=1)
    start = Stage.CONFIRM.start
    fresh = drawn.draw(hypothesis, range(start, start + 6), seed=1)
    assert len({c.caption for c in first}) == n == 24
    assert not {c.caption for c in first} & {c.caption for c in fresh}
    assert all(c.expected == ("cat", "dog")[int(c.caption[9:]) % 2] for c in first)
    assert [drawn.place_of(hypothesis, i, seed=1) for i in range(3)] == [
        drawn.parts[Stage.EXPLORE].index(int(c.caption[9:])) for c in first[:3]
    ]
    other = drawn.draw(drawn.space.hypothesis(8), range(n), seed=1)
    assert [c.caption for c in first] != [c.caption for c in other]
    with pytest.raises(WeakspotError, match="only 24 pictures"):
        drawn.draw(hypothesis, [n], seed=1)


def test_a_policy_says_which_picture() -> None:
    drawn = source()
    chosen = drawn.space.hypothesis(7, policy="dqn")
    drawn.place(chosen, 0, 5)
    drawn.place(chosen, 1, 5)
    cases = drawn.draw(chosen, [0, 1], seed=1)
    assert cases[0].caption == cases[1].caption == f"picture p{drawn.parts[Stage.EXPLORE][5]}"
    assert drawn.contexts([0, 1, 2]).shape == (3, 6 * 6 * 3 + 2)


def test_a_region_draws_from_all_its_cells_and_the_baseline_as_it_is() -> None:
    drawn = source()
    space = drawn.space
    plain = drawn.draw(space.outside(), range(3), seed=1)
    for case in plain:
        assert np.array_equal(case.input, drawn.images.picture(int(case.caption[9:])))
    region = drawn.draw(space.hypothesis(((2,), (0, 4), (0,))), range(20), seed=1)
    means = [c.input.mean() / drawn.images.picture(int(c.caption[9:])).mean() for c in region]
    assert min(means) == pytest.approx(0.5, abs=0.02)
    assert max(means) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("name", list(CHANGES))
def test_transformations_do_what_they_say(name: str) -> None:
    some = [pictures(2, 32).picture(i) for i in range(2)]
    plain = CHANGES[name][1]
    assert all(
        np.array_equal(a, b) for a, b in zip(transform(some, {name: plain}, [1, 2]), some, strict=True)
    )
    strong = {"rotate": 10, "hue": 72, "gamma": 2, "blur": 4, "jpeg": 10}.get(name, 0.5)
    once, again = transform(some, {name: strong}, [1, 2]), transform(some[1:], {name: strong}, [2])
    assert not np.array_equal(once[0], some[0])
    assert np.array_equal(once[1], again[0])  # the batch does not matter
    assert once[0].dtype == np.uint8
    assert once[0].shape == some[0].shape


def test_known_pixels() -> None:
    image = np.full((4, 4, 3), (200, 100, 50), np.uint8)
    image[0] = 0
    assert transform([image], {"darken": 0.5}, [0])[0][1, 1].tolist() == [100, 50, 25]
    grey = transform([image], {"saturation": 0.0}, [0])[0][1, 1]
    assert grey.tolist() == [124, 124, 124]  # 0.299 · 200 + 0.587 · 100 + 0.114 · 50 = 124.2
    turned = transform([image], {"hue": 360.0}, [0])[0]
    assert np.abs(turned.astype(int) - image).max() <= 1


def test_amounts_that_cannot_be_meant() -> None:
    with pytest.raises(WeakspotError, match="did you mean 'rotate'"):
        amounts_of({"rotat": "1"})
    with pytest.raises(WeakspotError, match="darken cannot be '2'"):
        amounts_of({"darken": "2"})
    with pytest.raises(WeakspotError, match="cannot be 'much'"):
        amounts_of({"blur": "much"})


def test_a_transformation_that_destroys_the_image_is_told_and_is_no_case() -> None:
    space = ConceptSpace("dark", (Axis("darken", ("0", "1"), words="darkened {percent}"),))
    images = pictures()
    drawn = TransformedImages(images, space=space, parts={Stage.EXPLORE: range(10)})
    with pytest.raises(Destroyed, match="darkened 100 % leaves nothing of the pictures") as error:
        drawn.probe()
    assert "take the value 1 off the axis darken" in error.value.fix
    with pytest.raises(Destroyed):
        drawn.draw(space.hypothesis(1), [0], seed=0)


def test_parts_are_disjoint_and_equal_pictures_stay_together() -> None:
    images = pictures(200)
    images.digests = tuple(
        f"{i // 4:064x}" for i in range(200)
    )  # every picture four times, under other names
    parts = split(images, seed=3)
    assert sorted(i for part in parts.values() for i in part) == list(range(200))
    owners = {name: {images.digests[i] for i in part} for name, part in parts.items()}
    names = list(owners)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert not owners[one] & owners[other]
    assert split(images, seed=3) == parts
    assert split(images, seed=4) != parts
    assert len({part_digest(images, part) for part in parts.values()}) == 4


def test_too_few_images_to_split() -> None:
    with pytest.raises(WeakspotError, match="20 pictures are too few to split") as error:
        split(pictures(20), seed=0)
    assert "51 pictures at least" in error.value.fix


def test_folders_and_packs(tmp_path: Path) -> None:
    for label in ("cat", "dog"):
        (tmp_path / "a" / label).mkdir(parents=True)
        for i in range(3):
            shade = 40 * i + (label == "cat")
            Image.new("RGB", (8, 8), (shade, 0, 0)).save(tmp_path / "a" / label / f"{i}.png")
    (tmp_path / "a" / "cat" / "note.txt").write_text("x")
    found = labelled_images(str(tmp_path / "a"), labels=("cat", "dog"))
    assert found.labels == ("cat",) * 3 + ("dog",) * 3
    assert found.picture(0).shape == (8, 8, 3)
    with pytest.raises(WeakspotError, match="not labels of the target, such as 'dog'"):
        labelled_images(str(tmp_path / "a"), labels=("cat", "wolf"))

    flat = tmp_path / "b"
    flat.mkdir()
    Image.new("RGB", (8, 8)).save(flat / "x.png")
    with pytest.raises(WeakspotError, match="have no labels"):
        labelled_images(str(flat))
    (flat / "labels.jsonl").write_text(json.dumps({"file": "x.png", "label": "cat"}) + "\n")
    assert labelled_images(str(flat)).labels == ("cat",)
    (flat / "labels.jsonl").write_text("{}\n")
    with pytest.raises(WeakspotError, match="no file, or no label"):
        labelled_images(str(flat))

    pack = tmp_path / "pack.npz"
    np.savez(
        pack, images=np.zeros((2, 4, 4, 3), np.uint8), labels=np.array([0, 1]), names=np.array(["a", "b"])
    )
    assert labelled_images(str(pack)).labels == ("a", "b")
    np.savez(pack, images=np.zeros((2, 4, 4), np.uint8), labels=np.array([0, 1]), names=np.array(["a", "b"]))
    with pytest.raises(WeakspotError, match="does not hold pictures"):
        labelled_images(str(pack))
    np.savez(pack, images=np.zeros((2, 4, 4, 3), np.uint8))
    with pytest.raises(WeakspotError, match="no images, labels and names"):
        labelled_images(str(pack))
    with pytest.raises(WeakspotError, match="no folder"):
        labelled_images(str(tmp_path / "none"))
    with pytest.raises(WeakspotError, match="cannot draw"):
        labelled_images("world:many")


def test_the_shared_cifar10(data: Path) -> None:
    found = labelled_images(str(data / "data" / "cifar10"))
    assert len(found) == 6000
    assert found.picture(3).shape == (32, 32, 3)
    assert {name: len(part) for name, part in split(found, seed=0).items()} == {
        "discovery": 2400, "confirmation": 600, "repair": 1500, "verification": 1500,
    }  # fmt: skip


def test_scenes_of_the_world_have_the_cells_attributes() -> None:
    scenes = Scenes(space=load_space("world"))
    cell = next(c for c in range(2000) if scenes.space.assignment(c)["behind"] == "fence")
    for case in scenes.draw(scenes.space.hypothesis(cell), range(3), seed=1):
        assert "behind a fence" in case.caption
        assert case.input.shape == (64, 64, 3)
    with pytest.raises(WeakspotError, match="no attribute"):
        Scenes(space=ConceptSpace("x", (Axis("mood", ("gay", "sad"), "categorical"),)))


@pytest.mark.parametrize(
    "labels", [("tench", "tabby cat"), ("tench, Tinca", "tabby cat"), ("n01440764 tench", "tabby cat")]
)
def test_folders_by_wordnet_id_take_the_targets_names(tmp_path: Path, labels: tuple[str, ...]) -> None:
    for number, wordnet in enumerate(("n01440764", "n02123045")):
        (tmp_path / "own" / wordnet).mkdir(parents=True)
        picture = np.full((8, 8, 3), 40 * (number + 1), np.uint8)
        Image.fromarray(picture).save(tmp_path / "own" / wordnet / "a.png")
    (tmp_path / "synsets.txt").write_text("n01440764 tench, Tinca\nn02123045 tabby cat\n")
    found = labelled_images(str(tmp_path / "own"), labels=labels, labels_file=str(tmp_path / "synsets.txt"))
    assert found.labels == labels
