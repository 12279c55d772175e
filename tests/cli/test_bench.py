"""`weakspot bench planted` as a person runs it."""

from __future__ import annotations

import json

import pytest

from weakspot.cli import run as cli

PLANTED = ["bench", "planted", "--retrained", "0"]
SMALL = [*PLANTED, "--worlds", "2", "--seed", "3", "--budget", "800", "--methods", "ours,keywords"]


def test_figures_for_every_method_and_every_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([*SMALL, "--workers", "1", "--json"]) == 0
    shown = capsys.readouterr()
    result = json.loads(shown.out)
    assert shown.err.splitlines()[-1] == "2 of 2 worlds"
    for method in ("ours", "keywords"):
        for figure in ("recall", "exact", "fdr"):
            low, high = result[method][f"{figure}_interval"]
            assert result[method][figure] is None or 0 <= low <= result[method][figure] <= high <= 1
        assert 0 < result[method]["images"] <= 800
    assert [len(world["planted"]) for world in result["details"]] == [
        len(world["planted"]) for world in result["details"] if 0.001 <= world["baseline"] <= 0.02
    ]
    for world in result["details"]:
        for report in world["methods"]["keywords"]["reports"]:
            assert report["words"].endswith(".")
            assert 0 < report["true_rate"] < 1

    # The same seed gives the same figures, in as many processes as one likes.
    assert cli([*SMALL, "--workers", "2", "--json"]) == 0
    assert _timeless(json.loads(capsys.readouterr().out)) == _timeless(result)


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k != "seconds"}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    args = [*PLANTED, "--worlds", "1", "--budget", "400", "--methods", "keywords", "--workers", "1"]
    assert cli(args) == 0
    title, header, row = capsys.readouterr().out.splitlines()
    assert title == "1 planted world · up to 400 images each"
    assert header.split() == ["recall", "exact", "fdr", "images"]
    assert row.startswith("  keywords of wrong captions")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (["--methods", "our"], "did you mean 'ours'"),
        (["--worlds", "0"], "leave nothing to measure"),
        (["--budget", "3"], "too few"),
        (["--workers", "-2"], "are too few"),
        (["--sede", "3"], "did you mean '--seed'"),
    ],
)
def test_misuse_is_told(wrong: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([*PLANTED, *wrong]) in (1, 2)
    assert complaint in capsys.readouterr().err
