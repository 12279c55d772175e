"""People's ratings as Δ: a map stops for them, and goes on with them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weakspot
from weakspot.core import JUDGES, Case, Hypothesis, Output, Status, WeakspotError
from weakspot.judges.people import FILE, PeopleJudge
from weakspot.store import Run
from weakspot.studies.map.result import MapResult


class Painter:
    """A generator whose pictures are bright by day and dark by night."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[np.ndarray]:
        return [
            np.random.default_rng(seed)
            .integers(0, 80 if "night" in prompt else 255, (8, 8, 3))
            .astype(np.uint8)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]


SPACE = (
    "name: two\ntask: prompt\naxes:\n"
    "  - {name: what, values: [fly, bee], metric: categorical, words: 'a photo of a {value}.'}\n"
    "  - {name: when, values: [day, night], metric: categorical, words: 'it is {value}.'}\n"
)


def rate(folder: Path) -> int:
    """A person who minds the night; how many were new."""
    with (folder / FILE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    new = [row for row in rows if not row["rating"]]
    for row in new:
        assert (folder / row["file"]).is_file()
        row["rating"] = "9" if "night" in row["expected"] else "2"
    with (folder / FILE).open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return len(new)


def test_a_map_stops_for_ratings_and_goes_on_with_them(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(SPACE)
    folder, run = tmp_path / "ratings", tmp_path / "run"
    painter: Any = Painter()
    name = f"people?folder={folder}"
    with pytest.raises(WeakspotError, match="wait for people's ratings"):
        weakspot.map(
            painter, space=str(tmp_path / "space.yaml"), judge=name, search="exhaustive",
            budget="images=80", above=0.5, out=run,
        )  # fmt: skip
    with Run.read(run) as waits:  # it is not called broken
        assert re.match(r"stopped: people are needed: \d+ outputs wait for people's ratings", waits.state), (
            waits.state
        )
    sittings = 0
    result = None
    while result is None:
        sittings += 1
        assert rate(folder) > 0
        assert sittings < 10
        with suppress(WeakspotError), weakspot.resume(run, target=Painter()) as done:
            result = MapResult.of(done)
            assert done.state == "finished"
    assert "night" in result.modes[0].words
    assert all("day" not in mode.words for mode in result.modes)
    with Run.read(run) as done:
        trials = [t for h in done.ledger.hypotheses() for t in done.ledger.trials(h)]
    assert not [t for t in trials if t.status is Status.ERROR]


def shown(n: int) -> tuple[list[Case], list[Output]]:
    cases = [Case(Hypothesis("a fly"), i, i, "=cmd()", "a fly", "") for i in range(n)]
    return cases, [Output("=HYPERLINK(1)") for _ in cases]


def test_the_mean_of_several_people_counts_and_hostile_answers_are_no_formulas(tmp_path: Path) -> None:
    cases, outputs = shown(2)
    first = PeopleJudge(tmp_path)
    assert [v.status for v in first.judge(cases, outputs)] == [Status.ERROR] * 2
    with pytest.raises(WeakspotError, match="2 outputs wait"):
        first.hold()
    with (tmp_path / FILE).open(newline="") as file:
        rows = list(csv.reader(file))
    assert not any(cell.startswith("=") for row in rows for cell in row)
    text = "\r\n".join([",".join([*rows[0], "rating 2"]), ",".join([*rows[1][:4], "4", "10"])])
    (tmp_path / FILE).write_text(text)
    one, two = PeopleJudge(tmp_path).judge(cases, outputs)
    assert one.score == pytest.approx(6 / 9)
    assert one.failed
    assert two.failed is None


@pytest.mark.parametrize("said", ["eleven", "11", "0", "nan"])
def test_what_is_no_rating_is_said(tmp_path: Path, said: str) -> None:
    (tmp_path / FILE).write_text(f"case,rating\na-1,{said}\n")
    with pytest.raises(WeakspotError, match="a-1") as caught:
        PeopleJudge(tmp_path)
    assert "from 1" in caught.value.fix
    (tmp_path / FILE).write_text("something,else\n1,2\n")
    with pytest.raises(WeakspotError, match="no columns"):
        PeopleJudge(tmp_path)
    with pytest.raises(WeakspotError, match="no folder of ratings"):
        JUDGES.load("people")
