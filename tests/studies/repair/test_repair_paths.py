"""Relative paths in the settings of a run are found again from anywhere; names that are none stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from weakspot.studies.map.settings import MapSettings
from weakspot.study.loading import anchored, rooted


@pytest.fixture
def here(tmp_path: Path) -> str:
    (tmp_path / "nets").mkdir()
    for name in ("nets/a.onnx", "labels.txt", "cpu", "classifier", "pictures.npz"):
        (tmp_path / name).write_text("")
    return str(tmp_path)


def test_files_below_the_directory_get_absolute_paths(here: str) -> None:
    assert anchored("onnx:nets/a.onnx?labels=labels.txt&mean=0,0,0", here) == (
        f"onnx:{here}/nets/a.onnx?labels={here}/labels.txt&mean=0,0,0"
    )
    assert anchored("hf:nets", here) == f"hf:{here}/nets"
    assert anchored("picture?encoder=onnx:nets", here) == f"picture?encoder=onnx:{here}/nets"


@pytest.mark.parametrize(
    "name",
    [
        "world:classifier",
        "onnx:/x/a.onnx",
        "hf:owner/model?device=cpu",
        "world:classifier?device=cpu",
        "no name?",
    ],
)
def test_everything_else_stays_as_it_is(here: str, name: str) -> None:
    assert anchored(name, here) == name


def test_of_settings_only_what_names_files(here: str) -> None:
    given = MapSettings(target="onnx:nets/a.onnx", images="pictures.npz", space="image-125", search="random")
    found = rooted(given, here)
    assert (found.target, found.images) == (f"onnx:{here}/nets/a.onnx", f"{here}/pictures.npz")
    assert (found.space, found.search, found.labels_file) == ("image-125", "random", None)
    assert rooted(given, "") == given
    assert rooted(MapSettings(target="a", images="world:400"), here).images == "world:400"
