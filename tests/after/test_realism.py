"""FID and KID of folders: any extractor, folders as people have them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from weakspot.after.realism import realism
from weakspot.core import WeakspotError
from weakspot.models.features import checked, load
from weakspot.stats import fid, kid
from weakspot.world import shipped


def fill(folder: Path, n: int, *, bright: int = 0, seed: int = 0, size: int = 16) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for i in range(n):
        pixels = rng.integers(0, 128, (size, size, 3), dtype=np.uint8) + np.uint8(bright)
        Image.fromarray(pixels).save(folder / f"{i}.png")
    return folder


def colours(images: Any) -> NDArray[np.float64]:
    """Mean colour and its spread: six features."""
    return np.stack([np.concatenate([np.mean(i, (0, 1)), np.std(i, (0, 1))]) for i in images])


def test_distances_are_those_of_the_features(tmp_path: Path) -> None:
    a, b = fill(tmp_path / "a", 70, bright=30), fill(tmp_path / "b", 90, seed=1)
    found = realism(a, reference=b, features=colours)
    one, two = (colours([np.asarray(Image.open(p)) for p in sorted(f.iterdir())]) for f in (a, b))
    assert found.fid == pytest.approx(fid(one, two))
    assert found.kid == pytest.approx(kid(one, two))
    assert found.fid > 3 * 25**2
    assert found.kid_low <= found.kid <= found.kid_high
    assert (found.n, found.reference_n, found.features, found.few) == (70, 90, 6, False)
    assert found.even is not None
    assert found.even.n == 45
    assert found.even.reference < 30 < found.even.fid
    assert found == realism(a, reference=b, features=colours)


def test_pictures_as_real_as_the_reference_are_as_near_as_it_is_to_itself(tmp_path: Path) -> None:
    found = realism(fill(tmp_path / "a", 80), reference=fill(tmp_path / "b", 160, seed=1), features=colours)
    assert found.even is not None
    assert found.even.fid < 3 * found.even.reference
    assert found.kid_low <= 0 <= found.kid_high


def test_files_that_are_no_pictures_are_passed_over_and_named(tmp_path: Path) -> None:
    a, b = fill(tmp_path / "a", 10), fill(tmp_path / "b", 10)
    (a / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    (a / "notes.txt").write_text("not looked at")
    found = realism(a, reference=b, features=colours)
    assert found.n == 10
    assert [name for name, _ in found.skipped] == ["broken.png"]
    assert found.to_json()["skipped"][0]["file"] == "broken.png"


def test_folders_without_enough_pictures_are_refused(tmp_path: Path) -> None:
    b = fill(tmp_path / "b", 5)
    with pytest.raises(WeakspotError, match="there is no folder"):
        realism(tmp_path / "nowhere", reference=b, features=colours)
    (tmp_path / "empty").mkdir()
    with pytest.raises(WeakspotError, match="no pictures"):
        realism(tmp_path / "empty", reference=b, features=colours)
    with pytest.raises(WeakspotError, match="a seed cannot be -1"):
        realism(b, reference=b, features=colours, seed=-1)
    with pytest.raises(WeakspotError, match="fewer than two usable pictures"):
        realism(fill(tmp_path / "one", 1), reference=b, features=colours)


def test_an_encoder_gives_features(tmp_path: Path) -> None:
    a, b = fill(tmp_path / "a", 6, size=64), fill(tmp_path / "b", 6, size=48, bright=60)
    found = realism(a, reference=b)
    assert found.few
    assert found.features > 6
    assert found.fid > 0


def test_an_output_of_an_onnx_file_is_taken_as_it_is(tmp_path: Path) -> None:
    file = shipped.file("classifier.onnx")
    images = [np.full((64, 64, 3), v, np.uint8) for v in (0, 100, 200)]
    plain, shifted = (
        load(f"onnx:{file}")(images),
        load(f"onnx:{file}?mean=0.5,0.5,0.5&std=0.2,0.2,0.2")(images),
    )
    assert plain.shape == (3, 16)
    assert np.abs(plain.sum(1) - 1).max() > 1e-3  # logits, not probabilities
    assert not np.allclose(plain, shifted)
    assert np.allclose(plain, load(f"onnx:{file}?batch=1&labels=ignored.txt")(images), atol=1e-4)
    for wrong, match in (
        (f"onnx:{file}?output=pool", "no output 'pool'"),
        (f"onnx:{file}?size=3", "no option 'size'"),
        (f"onnx:{file}?batch=0", "batch cannot be"),
        (f"onnx:{file}?std=0,1,1", "not three positive numbers"),
        ("onnx:nowhere.onnx", "nowhere.onnx"),
        ("world:classifier", "gives no features"),
        ("world:encodr", "no model is called"),
        ("python:json:nothing", "cannot be imported"),
    ):
        with pytest.raises(WeakspotError, match=match):
            load(wrong)


def test_a_function_of_the_user_gives_features(toy: Path) -> None:
    (toy / "my_features.py").write_text(
        "import numpy as np\n\n\ndef means(images):\n    return images.mean((1, 2))\n\n\n"
        "def broken(images):\n    return np.full((len(images), 2), np.nan)\n\n\n"
        "def flat(images):\n    return np.zeros(3)\n"
    )
    importlib.invalidate_caches()
    images = [np.full((8, 8, 3), v, np.uint8) for v in (1, 2)]
    assert np.array_equal(checked(load("python:my_features:means"), images), [[1, 1, 1], [2, 2, 2]])
    with pytest.raises(WeakspotError, match="not finite"):
        checked(load("python:my_features:broken"), images)
    with pytest.raises(WeakspotError, match="gave the shape"):
        checked(load("python:my_features:flat"), images)
