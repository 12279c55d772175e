"""`mine` finds what an encoder is known to be blind to, and nothing in one that is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image
from tests.studies.mine.mine_toy import (
    Bag,
    Blind,
    Encoder,
    Exact,
    Reader,
    captions,
    listed,
    mined_of,
    result_of,
)

import weakspot as ws
from weakspot.core import MODELS, Hypothesis, Stage, WeakspotError
from weakspot.engine import Lane, Watch
from weakspot.judges.differs.judge import differs
from weakspot.sources.corpus import read_corpus
from weakspot.store import Run, RunConfig
from weakspot.studies.mine import method as study
from weakspot.studies.mine import pair_source
from weakspot.studies.mine.downstream import Match
from weakspot.studies.mine.pair_source import Made, PairSource, pair_of, stage_of
from weakspot.studies.mine.parts import load
from weakspot.studies.mine.result import Choice
from weakspot.studies.mine.settings import MineSettings
from weakspot.study import Context
from weakspot.text.contrast import variants
from weakspot.text.plain import normal_form
from weakspot.world import grammar

FEW = captions(100)
SOME = captions(250)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a caption means and how it can be edited is found once; the user's cache is left alone."""
    monkeypatch.setattr(pair_source, "variants", remembered)
    monkeypatch.setattr(grammar, "parse", parsed)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@lru_cache(maxsize=100_000)
def _variants(caption: str, category: Any) -> tuple[Any, ...]:
    return tuple(variants(caption, category=category))


parsed = lru_cache(maxsize=100_000)(grammar.parse)


def remembered(caption: str, *, category: Any) -> list[Any]:
    return list(_variants(caption, category))


def mined(out: Path, encoder: Any, reference: Any = None, **more: Any) -> Run:
    settings: dict[str, Any] = {"reference": reference or Reader(), "corpus": FEW, "out": out}
    run: Run = ws.mine(encoder, **(settings | more))
    return run


# -- what is found -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoder", "blind"),
    [
        (Blind(), {"spatial relation", "role swap"}),
        (Bag(), {"role swap"}),
        (Reader(), set()),
        (Exact(), set()),
    ],
    ids=["blind to places and order", "blind to order", "reads", "blind to nothing"],
)
def test_an_encoder_has_the_blind_spots_it_was_made_with(
    encoder: Encoder, blind: set[str], tmp_path: Path
) -> None:
    with mined(tmp_path / "run", encoder, Bag() if isinstance(encoder, Reader) else Reader()) as run:
        assert run.state == "finished"
        assert {f.phrase for f in run.findings if f.confirmed} == blind
        known = {normal_form(text) for text in FEW}
        used: dict[Stage, set[str]] = {Stage.EXPLORE: set(), Stage.CONFIRM: set()}
        for hypothesis in run.ledger.hypotheses():
            for trial in run.ledger.trials(hypothesis):
                pair = pair_of(trial)
                used[Stage.of(trial.index)].add(pair.first)
                if dict(hypothesis.concepts)["pairs"] != "random":
                    assert normal_form(pair.second) not in known
        assert not used[Stage.EXPLORE] & used[Stage.CONFIRM]
        for finding in run.findings:
            assert finding.rate.low > finding.baseline.high
            assert finding.failing
        scores = result_of(run).scores
        assert scores is not None
        assert scores.quantity == len(blind)
        assert (scores.success or 1) > 0.8


def test_the_world_s_encoder_has_failures_that_hold_on_other_pairs(tmp_path: Path) -> None:
    corpus = read_corpus("world?texts=150&seed=3")
    with ws.mine(
        "world:encoder", reference="world:scenes", corpus=corpus, validity="world", budget="pairs=1000",
        out=tmp_path / "run",
    ) as run:  # fmt: skip
        found = [f for f in run.findings if f.confirmed]
        alike = mined_of(run).threshold.value
    assert found
    # By another route: other captions, other edits, plain products of vectors.
    judge, encoder = differs("world"), MODELS.load("world:encoder")
    source = PairSource(
        read_corpus("world?texts=70&seed=4"), fits=lambda t: judge.differ([(t, t)])[0] is not None
    )

    def share(hypothesis: Any) -> float:
        n = min(35, source.available(hypothesis, seed=1, stage=Stage.EXPLORE))
        pairs = [case.input[:2] for case in source.draw(hypothesis, range(n), seed=1)]
        one, two = (encoder.embed_texts([p[i] for p in pairs]) for i in (0, 1))
        near = np.einsum("ij,ij->i", one, two) > alike
        return float(np.mean([a and bool(d) for a, d in zip(near, judge.differ(pairs), strict=True)]))

    usual = share(next(h for h in run_hypotheses(tmp_path / "run") if h.text.startswith("a caption")))
    for finding in found:
        assert share(finding.hypothesis) > 1.3 * usual, finding.phrase


def run_hypotheses(folder: Path) -> list[Any]:
    with ws.open_run(str(folder)) as run:
        return run.ledger.hypotheses()


class Dealt(PairSource):
    """Makes the pairs of all captions once, and deals them to stages and rows as each seed says."""

    pool: ClassVar[dict[str, list[Made]]] = {}

    def _make(self, hypothesis: Hypothesis, seed: int, stage: Stage) -> list[Made]:
        if hypothesis.id not in self.pool:
            own = [PairSource._make(self, hypothesis, 0, each) for each in Stage]
            self.pool[hypothesis.id] = [pair for row in own for pair in row]
        row = [pair for pair in self.pool[hypothesis.id] if stage_of(pair.first, seed) is stage]
        Random(f"{seed} {hypothesis.id}").shuffle(row)
        return row


def test_nothing_is_found_in_an_oracle_in_a_hundred_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = MineSettings(encoder="world:scenes", reference="world:encoder", corpus="world?texts=40")
    parts = load(settings)
    monkeypatch.setattr(study, "PairSource", Dealt)
    memory: dict[str, Any] = {}
    told = parts.encoder.embed_texts
    monkeypatch.setattr(
        parts.encoder,
        "embed_texts",
        lambda texts: np.stack([memory.setdefault(t, told([t])[0]) for t in texts]),
    )
    mined = listed(alike=0.8)  # far below what texts that say the same are to it

    def found(seed: int) -> set[str]:
        own = settings.changed(seed=seed, budget="calls=160")
        config = RunConfig(study="mine", subject="oracle", settings=own.plain())
        with Run.create(config, folder=Path(tempfile.mkdtemp(dir=tmp_path)) / "run") as run:
            study.measure(Context(run, own, parts), mined, lambda **_: None)
            assert sum(t.n for t in run.ledger.tallies().values()) > 60
            return {f.phrase for f in run.findings if f.confirmed}

    assert sum(bool(found(seed)) for seed in range(100)) == 0
    # The same few pairs are enough to find what is there: now it does not hear "not".
    exact = parts.encoder.embed_texts
    monkeypatch.setattr(
        parts.encoder,
        "embed_texts",
        lambda texts: exact([t.replace("does not face", "faces").replace("is not ", "is ") for t in texts]),
    )
    assert [found(seed) for seed in range(5)] == [{"negation"}] * 5


@pytest.mark.parametrize("seed", [0, 1])
def test_a_whole_run_finds_nothing_in_an_oracle(seed: int, tmp_path: Path) -> None:
    with ws.mine(
        "world:scenes", reference=Bag(), corpus="world?texts=60", seed=seed, out=tmp_path / "run"
    ) as run:
        assert not run.findings
        assert mined_of(run).threshold.value > 0.999


# -- the list ------------------------------------------------------------------------------------------


def test_synonyms_and_captions_of_one_picture_are_not_listed(tmp_path: Path) -> None:
    class Deaf(Bag):
        """Takes all words for a person for one, and does not see places."""

        def row(self, said: list[str]) -> Any:
            return super().row(
                ["man" if w in ("guy", "woman") else w for w in said if w not in ("left", "right")]
            )

    some = ("man on the left", "guy on the left", "woman on the left", "man on the right")
    texts = [*FEW, *(f"A {words} of a car." for words in some)]
    with mined(tmp_path / "run", Deaf(), corpus=texts, threshold=0.9, gap=0.05, budget="calls=40") as run:
        pairs = {frozenset((p.first, p.second)) for p in mined_of(run).pairs}
        struck = mined_of(run).struck
    assert frozenset(texts[-4:-2]) not in pairs
    assert any(
        "A woman on the left of a car." in pair or "A man on the right of a car." in pair for pair in pairs
    )
    assert struck["say the same"] == 1


def test_a_fixed_threshold_is_used_as_it_is(tmp_path: Path) -> None:
    with mined(tmp_path / "run", Blind(), threshold=0.9, budget="calls=30") as run:
        found = mined_of(run)
        assert (found.threshold.value, found.threshold.how) == (0.88, "fixed")
        assert found.rule == (0.9, 0.2, None)
        assert all(p.tested > 0.9 and p.tested - p.reference > 0.2 for p in found.pairs)


def test_a_topic_chooses_the_pairs_and_its_relevance_is_told(tmp_path: Path) -> None:
    with mined(tmp_path / "run", Blind(), reference=Bag(), steer="a boat and a truck", corpus=SOME) as run:
        scores = result_of(run).scores
        shown = [pair_of(t).first for h in run.ledger.hypotheses() for t in run.ledger.trials(h)]
    named = np.mean(["boat" in text or "truck" in text for text in shown])
    usual = np.mean(["boat" in text or "truck" in text for text in SOME])
    assert named > usual
    assert scores is not None
    assert (scores.by or "").startswith("likeness")
    assert scores.relevance is not None
    assert 0 <= scores.relevance.low <= scores.relevance.value <= scores.relevance.high
    assert scores.relevance.n > 0


def test_a_matrix_gives_pairs_and_categories_and_says_what_cannot_be_measured(tmp_path: Path) -> None:
    texts = captions(150)
    np.savez(tmp_path / "m.npz", embeddings=Blind().embed_texts(texts), captions=np.array(texts))
    (tmp_path / "c.txt").write_text("\n".join(texts))
    with ws.mine(
        f"npz:{tmp_path / 'm.npz'}", reference=Reader(), corpus=tmp_path / "c.txt", out=tmp_path / "run"
    ) as run:
        assert run.state == "finished"
        assert mined_of(run).pairs
        assert "only the texts of its matrix" in result_of(run).note
        assert not run.ledger.hypotheses()
        ws.write_report(run)
    assert "cannot embed new texts" in (tmp_path / "run/report.md").read_text()


def test_pictures_and_what_others_draw_of_failing_pairs_are_in_the_report(tmp_path: Path) -> None:
    class Seeing(Blind):
        """Sees a picture as its caption, which its first pixel numbers."""

        def embed_images(self, images: Sequence[Any]) -> Any:
            return self.embed_texts([FEW[int(image[0, 0, 0])] for image in images])

    class Draws:
        """Draws the same for every prompt."""

        def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Any]:
            return [np.zeros((8, 8, 3), np.uint8) for _ in prompts]

    class Sure:
        """Sees the first prompt in every picture."""

        def match(self, images: Sequence[Any], first: str, second: str) -> list[Match]:
            return [Match(Choice.FIRST, 1.0, 0.0) for _ in images]

    folder = tmp_path / "pictures"
    folder.mkdir()
    lines = []
    for i, caption in enumerate(FEW[:60]):
        Image.fromarray(np.full((8, 8, 3), i, np.uint8)).save(folder / f"{i}.png")
        lines.append(json.dumps({"file": f"{i}.png", "captions": [caption]}))
    (folder / "captions.jsonl").write_text("\n".join(lines))
    with mined(tmp_path / "run", Seeing(), images=folder, downstream=Draws(), matcher=Sure()) as run:
        assert run.state == "finished"
        pictures, drawn = result_of(run).grounded, result_of(run).downstream
        ws.write_report(run)
    assert pictures is not None
    assert drawn is not None
    blind = {row.category for row in pictures.rows if row.rate == 0.5}
    assert "spatial relation" in blind
    assert max(row.rate for row in pictures.rows) > 0.9
    assert drawn.n > 4
    assert drawn.failures == drawn.n  # the picture of the second prompt is never seen as such
    page = (tmp_path / "run/report.md").read_text()
    assert "With pictures" in page
    assert "Downstream" in page
    with pytest.raises(WeakspotError, match="embeds only texts"):
        mined(tmp_path / "no", Blind(), images=folder)


# -- budgets, interruptions ----------------------------------------------------------------------------


class Leaving(Watch):
    """Goes away at the n-th thing it is told."""

    def __init__(self, n: int) -> None:
        self.left = n

    def _tell(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def progress(self, words: str, done: int, total: int) -> None:
        self._tell()

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        self._tell()


def outcome(run: Run) -> Any:
    trials = {
        h.id: [(t.index, t.failed, t.score) for t in run.ledger.trials(h)] for h in run.ledger.hypotheses()
    }
    return run.state, [f.to_json() for f in run.findings], trials, mined_of(run).pairs


def test_an_interrupted_run_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    with mined(tmp_path / "whole", Blind()) as run:
        whole = outcome(run)
    for n in (0, 4, 40, 66, 72):
        folder = tmp_path / f"cut {n}"
        with pytest.raises(KeyboardInterrupt):
            mined(folder, Blind(), watch=Leaving(n))
        with ws.resume(folder, encoder=Blind(), reference=Reader(), corpus=FEW) as run:
            assert outcome(run) == whole, n


def test_a_killed_run_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("\n".join(FEW))
    path = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    args = [
        "python:tests.studies.mine.mine_toy:SlowBlind", "--corpus", "c.txt",
        "--reference", "python:tests.studies.mine.mine_toy:Reader",
    ]  # fmt: skip
    weakspot = (sys.executable, "-m", "weakspot")
    env = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    kills = 0
    process = subprocess.Popen(
        [*weakspot, "mine", *args, "--out", "run"], cwd=tmp_path, env=env, stderr=subprocess.PIPE
    )
    while process.poll() is None:
        time.sleep(0.05)
        with ws.open_run(str(tmp_path / "run")) if (tmp_path / "run/ledger.db").exists() else Nobody() as run:
            if run is not None and sum(t.drawn for t in run.ledger.tallies().values()) > 100:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
    process.communicate()
    assert kills == 1
    done = subprocess.run(
        [*weakspot, "resume", "run", "--json"], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["state"]) == (0, "finished")
    with mined(tmp_path / "whole", Blind(), corpus=str(tmp_path / "c.txt")) as whole:
        assert told["findings"] == [f.to_json() for f in whole.findings]


class Nobody:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def test_a_budget_ends_the_measuring_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    with mined(tmp_path / "whole", Blind()) as run:
        whole = outcome(run)
    with mined(tmp_path / "run", Blind(), budget="pairs=500") as run:
        assert run.state.startswith("stopped: the ")
        assert "budget" in run.state
        assert sum(t.drawn for t in run.ledger.tallies().values()) <= 500
        assert not any(f.confirmed and f.rate.n == 0 for f in run.findings)
    with ws.resume(
        tmp_path / "run", budget="pairs=20k", encoder=Blind(), reference=Reader(), corpus=FEW
    ) as run:
        assert run.state == "finished"
        assert [f.phrase for f in run.findings] == [f["phrase"] for f in whole[1]]


def test_another_encoder_cannot_go_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        mined(tmp_path / "run", Blind(), watch=Leaving(3))
    with pytest.raises(WeakspotError, match="the encoder is not the one"):
        ws.resume(tmp_path / "run", encoder=Bag(), reference=Reader(), corpus=FEW)
    with pytest.raises(WeakspotError, match="no name"):
        ws.resume(tmp_path / "run")
