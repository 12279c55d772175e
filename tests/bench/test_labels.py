"""Label errors of ImageNet that people found, found without them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from weakspot.bench.labels import LabelRow, label_errors
from weakspot.core import WeakspotError


@pytest.fixture(scope="module")
def rows(data: Path) -> dict[tuple[str, str], LabelRow]:
    return {(row.model, row.method): row for row in label_errors(data / "data" / "imagenet-x")}


@pytest.mark.parametrize("model", ["ResNet-50", "DINO", "ResNet-50 with DINO", "DINO with ResNet-50"])
def test_the_share_said_is_near_the_share_people_found(
    rows: dict[tuple[str, str], LabelRow], model: str
) -> None:
    ours = rows[model, "ours"]
    assert ours.said == pytest.approx(ours.true, abs=0.08)
    for row in ours.calibration:
        assert row.rows < 100 or row.said == pytest.approx(row.true, abs=0.15)


def test_ours_is_ahead_of_its_rivals(rows: dict[tuple[str, str], LabelRow]) -> None:
    for (model, method), row in rows.items():
        if method != "ours":
            assert rows[model, "ours"].average_precision > row.average_precision + 0.03
            assert rows[model, "ours"].precision_at_true > row.precision_at_true + 0.02


def test_a_row_says_its_figures(rows: dict[tuple[str, str], LabelRow]) -> None:
    assert "ResNet-50, ours" in str(rows["ResNet-50", "ours"])
    assert "11,680 failures" in str(rows["ResNet-50", "ours"])


def test_a_folder_without_the_files_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match=r"annotations\.csv\.gz cannot be read") as error:
        label_errors(tmp_path)
    assert "predictions-dino.csv.gz" in error.value.fix
    with gzip.open(tmp_path / "annotations.csv.gz", "wt") as file:
        file.write("image,label\na,1\n")
    with pytest.raises(WeakspotError, match="no column 'real_labels'"):
        label_errors(tmp_path)
