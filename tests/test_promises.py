"""What the product promises of its findings, shown on the drawn world, where the truth is known."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import weakspot as ws
from weakspot.core import Case, Hypothesis, Output, case_seed
from weakspot.world.classifier import load, true_rate, truth
from weakspot.world.grammar import describe
from weakspot.world.renderer import Renderer
from weakspot.world.scene import PARENTS, SUBJECTS

#: No study uses it: scenes drawn with it are fresh for every finding.
TRUTH_SEED = 2_000_000_011


@cache
def _measured(text: str, answer: str, n: int) -> float:
    """How often the world's classifier gives an answer on scenes of a text, by rendering n of them."""
    renderer, classifier = Renderer(), load()
    said = 0
    for start in range(0, n, 100):
        cases = renderer.draw(Hypothesis(text), range(start, start + 100), seed=TRUTH_SEED)
        said += sum(output.answer == answer for output in classifier.answer(cases))
    return said / n


@pytest.mark.long
def test_confirmed_findings_are_true_and_the_flower_is_found(tmp_path: Path) -> None:
    seeds, found_flower, false = range(10), 0, []
    base = _measured("a realistic photograph of a fly (insect).", "bee", 4000)
    for seed in seeds:
        command = ["weakspot", "hunt", "world:classifier", "--label", "fly", "--target-label", "bee"]
        done = subprocess.run(
            [Path(sys.executable).parent / command[0], *command[1:], "--seed", str(seed), "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"seed {seed}: {done.stdout[-500:]} {done.stderr[-1500:]}"
        confirmed = [f for f in json.loads(done.stdout)["findings"] if f["confirmed"]]
        found_flower += any("flower" in f["phrase"] for f in confirmed)
        for f in confirmed:
            rate = _measured(f["hypothesis"]["text"], "bee", 300)
            if rate <= 4 * base:  # not clear at once
                rate = _measured(f["hypothesis"]["text"], "bee", 1500)
            if rate <= base:
                false.append((seed, f["phrase"], rate, base))
    assert not false
    assert found_flower >= len(seeds) - 1


class Unrendered(Renderer):
    """The world's scenes and captions without their pictures: enough for a target that does not look."""

    cpu_bound = False
    _picture = np.zeros((1, 1, 3), np.uint8)

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        cases = []
        for index in indices:
            own_seed = case_seed(seed, hypothesis, index)
            scene = self.scene(hypothesis, own_seed)
            cases.append(Case(hypothesis, index, own_seed, self._picture, scene.subject, describe(scene)))
        return cases


class Evenly:
    """A classifier without a weak spot: wrong at one rate, whatever the scene."""

    labels = SUBJECTS
    parents = PARENTS

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output("bee" if self._wrong(case) else case.expected) for case in cases]

    def _wrong(self, case: Case) -> bool:
        digest = hashlib.blake2b(f"wrong {case.seed}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.rate * 2**64


@pytest.mark.parametrize("runs", [20, pytest.param(100, marks=pytest.mark.long)])
def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path, runs: int) -> None:
    with_findings = 0
    for seed in range(runs):
        run = ws.hunt(
            Evenly((0.01, 0.03, 0.1, 0.3)[seed % 4]),
            label="fly",
            source=Unrendered(),
            budget=f"images={(2000, 4000, 8000)[seed % 3]}",
            seed=seed,
            out=tmp_path / str(seed),
        )
        with_findings += any(f.confirmed for f in run.findings)
        run.close()
    # 5 % and twice the standard error.
    assert with_findings <= 0.05 * runs + 2 * (0.05 * 0.95 * runs) ** 0.5


def _planted() -> Iterator[tuple[str, float]]:
    yield "it is on a flower.", 0.4
    yield "it is raining.", 0.25


class Planted(Evenly):
    """Wrong at a low rate, and at known higher ones where a planted sentence holds."""

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        outputs = []
        for case in cases:
            caption = case.caption
            self.rate = 0.01
            if "flower" in caption:
                self.rate = 0.4
            elif "raining" in caption:
                self.rate = 0.25
            outputs.append(Output("bee" if self._wrong(case) else case.expected))
        return outputs


def test_planted_failures_are_found_with_their_rates(tmp_path: Path) -> None:
    run = ws.hunt(Planted(0.01), label="fly", source=Unrendered(), seed=5, out=tmp_path / "run")
    found = {f.phrase: f for f in run.findings if f.confirmed}
    for sentence, rate in _planted():
        assert found[sentence].rate.low <= rate <= found[sentence].rate.high
        assert found[sentence].confusions == (("bee", 1.0),)
    # What else is listed must contain a planted failure; nothing else is wrong with this classifier.
    assert all("flower" in phrase or "raining" in phrase for phrase in found)
    run.close()


@pytest.mark.parametrize(
    ("subject", "sentence", "mistaken_for"),
    [
        ("fly", "it is on a flower.", "bee"),
        ("cat", "the background is snow.", "snow leopard"),
        ("crayfish", "it is behind a net.", "fence"),
    ],
)
def test_the_classifier_is_good_and_honestly_wrong(subject: str, sentence: str, mistaken_for: str) -> None:
    natural = [row for row in truth() if not row.sentence]
    assert len(natural) == len(SUBJECTS)
    assert sum(row.failures for row in natural) / sum(row.n for row in natural) <= 0.03
    broken = true_rate(subject, sentence)
    assert broken.mostly == mistaken_for
    assert broken.rate >= 10 * true_rate(subject).rate


def test_the_table_of_true_rates_is_what_rendering_gives() -> None:
    for subject, sentence in (("fly", "it is on a flower."), ("crab", "the background is a riverbed.")):
        row = true_rate(subject, sentence)
        text = f"a realistic photograph of a {subject} ({PARENTS[subject]}). {sentence}"
        right = _measured(text, subject, 400)
        assert abs((1 - right) - row.rate) <= 0.02
