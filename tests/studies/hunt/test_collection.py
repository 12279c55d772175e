"""A hunt in a folder of photographs: each is asked about once, whatever it speaks for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import weakspot as ws
from weakspot.after.transfer import transfer
from weakspot.after.transfer_matrix import above
from weakspot.cli import run as cli
from weakspot.core import Case, Hypothesis, Output, Rate, Stage, WeakspotError
from weakspot.core.ports import Embedded, Item
from weakspot.store import Run
from weakspot.studies.hunt.collection_document import CollectionDocument, document
from weakspot.study.labels import ByLabel

WORDS = ("snow", "beach", "street", "dog", "hat", "bench", "ball", "river")


class Album:
    """Photographs that say in their pixels what they show; about a fifth of them each of the words."""

    once = True
    cpu_bound = False

    def __init__(
        self, n: int = 400, *, words: bool = True, label: str = "", labels: Sequence[str] = ()
    ) -> None:
        self.n, self.words, self.label, self.labels = n, words, label, labels
        self.shows = np.random.default_rng(5).random((n, len(WORDS))) < 0.2
        self.digest = f"album {n} {words}"

    def expecting(self, label: str) -> Album:
        return Album(self.n, words=self.words, label=label, labels=self.labels)

    def _order(self, seed: int) -> list[int]:
        order = np.random.default_rng(seed).permutation(self.n).tolist()
        return [i for i in order if not self.labels or self.labels[i % len(self.labels)] == self.label]

    def caption(self, i: int) -> str:
        return f"A photo with {', '.join(w for w, so in zip(WORDS, self.shows[i], strict=True) if so)}"

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        order, found = self._order(seed), []
        for index in indices:
            i = order[index - Stage.of(index).start]
            pixels = np.zeros((8, 8, 3), np.uint8)
            pixels[0, 0] = (i // 256, i % 256, 1)
            pixels[1, : len(WORDS), 0] = self.shows[i]
            caption = self.caption(i) if self.words else ""
            found.append(Case(hypothesis, index, i, pixels, self.label or "cat", caption))
        return found

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        return len(self._order(seed)) if stage is Stage.EXPLORE else 0

    def items(self, hypothesis: Hypothesis, *, seed: int) -> list[Item]:
        return [Item(f"{i}.png", (self.caption(i),) if self.words else ()) for i in self._order(seed)]

    def embedded(self, hypothesis: Hypothesis, *, seed: int) -> Embedded | None:
        return None if self.words else Embedded(Eyes(), Eyes.of(self.shows[self._order(seed)]))


class Eyes:
    """An encoder that sees the words, not without error."""

    @staticmethod
    @cache
    def _directions() -> NDArray[np.float32]:
        found = np.linalg.qr(np.random.default_rng(1).normal(size=(64, 64)))[0]
        return np.asarray(found, np.float32)

    @staticmethod
    def of(shows: NDArray[np.bool_]) -> NDArray[np.float32]:
        rows = shows @ Eyes._directions()[: len(WORDS)] + Eyes._directions()[-1]
        rows = rows + 0.03 * np.random.default_rng(2).normal(size=rows.shape)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return self.of(np.array([image[1, : len(WORDS), 0] for image in images], bool))

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = []
        for text in texts:
            own = [self._directions()[i] for i, word in enumerate(WORDS) if word in text.split()]
            fallback = np.random.default_rng(sum(map(ord, text))).normal(size=64)
            row = sum(own) if own else fallback / np.linalg.norm(fallback)
            rows.append(row / np.linalg.norm(row))
        return np.array(rows, np.float32)


class Camera:
    """A classifier that fails in snow, and more on snow with a dog; it counts what it is asked."""

    labels = ("cat", "fox")
    parents: ClassVar[dict[str, str]] = {}

    def __init__(self, *, broken: frozenset[int] = frozenset()) -> None:
        self.asked: list[int] = []
        self.broken = broken

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        found = []
        for case in cases:
            high, low, _ = case.input[0, 0].tolist()
            i = 256 * high + low
            self.asked.append(i)
            if i in self.broken:
                raise RuntimeError("the camera is wet")
            snow, dog = bool(case.input[1, 0, 0]), bool(case.input[1, 3, 0])
            chance = 0.04 + 0.6 * snow + 0.3 * (snow and dog)
            wrong = np.random.default_rng(i).random() < chance
            right = case.expected
            other = "fox" if right == "cat" else "cat"
            found.append(Output(other if wrong else right))
        return found


class Talker:
    """A language model that nobody asks."""

    def ask(self, prompts: Sequence[str]) -> list[str | None]:
        raise AssertionError(prompts)


def hunt(out: Path, *, target: Camera | None = None, source: Any = None, **how: Any) -> Run:
    how = {"label": "cat", "prompt": "a photo of a {label}.", "seed": 3, **how}
    return ws.hunt(target or Camera(), source=source or Album(), out=str(out), **how)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return hunt(tmp_path_factory.mktemp("album") / "run")


def test_every_photograph_is_asked_about_once(tmp_path: Path) -> None:
    camera = Camera()
    run = hunt(tmp_path / "run", target=camera)
    assert sorted(camera.asked) == list(range(400))
    assert run.ledger.spend()["calls"] == 400
    assert run.state == "finished"
    assert run.findings[0].phrase == "“snow”"


def test_a_rate_is_of_distinct_photographs_that_did_not_suggest_it(run: Run) -> None:
    for finding in run.findings:
        trials = run.ledger.trials(finding.hypothesis, stage=Stage.CONFIRM)
        assert finding.rate.n == len(trials) == len({t.index for t in trials})
        assert finding.rate.failures == sum(bool(t.failed) for t in trials)
        assert len({(t.index - Stage.CONFIRM.start) % 2 for t in trials}) == 1  # one half alone
        [base] = run.baselines
        plain = {t.index: t for t in run.ledger.trials(base)}
        for trial in trials:
            same = plain[trial.index - Stage.CONFIRM.start]
            assert (same.failed, same.answer, same.caption) == (trial.failed, trial.answer, trial.caption)
        assert finding.failing
        assert all(run.image(finding.hypothesis, i) is not None for i in finding.failing)
        assert finding.impact is not None
        assert finding.impact.n == sum(bool(t.failed) for t in plain.values())


def test_the_report_says_that_each_was_asked_once_and_what_was_not_found(run: Run) -> None:
    told = document(run)
    assert isinstance(told, CollectionDocument)
    lines = "\n".join(told.lines(100))
    assert "400 photographs, each asked once" in lines
    assert "fresh images" not in lines
    assert "where the caption says “snow”" in told.conclusion
    assert "fails more often than" in lines.split("beyond")[1]
    page = ws.write_report(run).read_text()
    assert "400 photographs, each asked once" in page
    assert "The race" not in page
    values = json.loads((run.folder / "report.json").read_text())
    assert values["collection"]["asked"] == values["trials"]["drawn"] == 400
    assert values["baseline"]["low"] == values["baseline"]["high"]  # all were asked: the rate is known
    assert values["findings"][0]["impact"]["value"] > 0.5


def test_with_a_smaller_budget_a_random_part_is_asked(tmp_path: Path) -> None:
    camera = Camera()
    run = hunt(tmp_path / "run", target=camera, budget="images=250")
    assert len(camera.asked) == len(set(camera.asked)) == 250
    assert "the budget was enough for 250 of 400 photographs" in run.state
    told = document(run)
    assert "250 of 400 photographs, chosen at random, each asked once" in "\n".join(told.lines(100))
    assert told.hunt.base is not None
    usual = told.hunt.base.rate
    assert usual.low < usual.value < usual.high


def test_a_larger_budget_goes_on_and_ends_as_if_it_had_been_given_at_once(tmp_path: Path, run: Run) -> None:
    part = hunt(tmp_path / "run", budget="images=250")
    folder = part.folder
    part.close()
    camera = Camera()
    again = ws.resume(folder, target=camera, source=Album(), budget="images=2000")
    assert len(camera.asked) == 150
    assert again.findings == run.findings
    for finding in run.findings:
        assert again.ledger.trials(finding.hypothesis) == run.ledger.trials(finding.hypothesis)


def test_an_interrupted_run_is_gone_on_with_where_it_was(tmp_path: Path, run: Run) -> None:
    class Pulled(Camera):
        def answer(self, cases: Sequence[Case]) -> list[Output]:
            if len(self.asked) >= 128:
                raise KeyboardInterrupt
            return super().answer(cases)

    first, second = Pulled(), Camera()
    with pytest.raises(KeyboardInterrupt):
        hunt(tmp_path / "run", target=first)
    again = ws.resume(tmp_path / "run", target=second, source=Album())
    assert sorted(first.asked + second.asked) == list(range(400))
    assert again.findings == run.findings
    assert document(again).values()["findings"] == document(run).values()["findings"]


def test_errors_leave_the_denominator(tmp_path: Path) -> None:
    run = hunt(tmp_path / "run", target=Camera(broken=frozenset(range(0, 400, 40))))
    told = document(run)
    assert told.hunt.base is not None
    assert (told.hunt.trials.errors, told.hunt.base.rate.n) == (10, 390)
    assert run.findings[0].phrase == "“snow”"


def test_photographs_without_words_are_seen_by_the_encoder(tmp_path: Path) -> None:
    run = hunt(tmp_path / "run", source=Album(words=False))
    assert run.findings[0].phrase.startswith("it looks like “snow” (nearest 2")
    told = document(run)
    assert isinstance(told, CollectionDocument)
    assert told.collection.tags > 700
    assert (told.collection.checked, told.collection.right) == (0, None)
    page = ws.write_report(run).read_text()
    assert "What the words stand for" in page
    assert "The first 4 look most like it, the last 4 only just." in page
    assert "unknown: no caption can check a word" in page
    [first, *_] = told.collection.meant
    finding = run.findings[0]
    assert (first.finding, first.word, first.trust) == (finding.hypothesis.id, "snow", None)
    assert len(first.typical) == len(first.edge) == 4
    shown = [run.image(finding.hypothesis, index) for index in (*first.typical, *first.edge)]
    assert all(picture is not None for picture in shown)
    assert all(picture[1, 0, 0] for picture in shown[:4] if picture is not None)  # they show snow


def test_captions_of_some_photographs_say_how_well_the_encoder_sees(tmp_path: Path) -> None:
    class Some(Album):
        def items(self, hypothesis: Hypothesis, *, seed: int) -> list[Item]:
            items = super().items(hypothesis, seed=seed)
            order = self._order(seed)
            return [
                item._replace(captions=(self.caption(i),)) if k % 3 == 0 else item
                for k, (i, item) in enumerate(zip(order, items, strict=True))
            ]

    run = hunt(tmp_path / "run", source=Some(words=False))
    told = document(run)
    assert isinstance(told, CollectionDocument)
    assert told.collection.right is not None
    assert told.collection.right > 0.9
    assert told.collection.checked >= len(WORDS)
    assert told.collection.meant[0].trust == pytest.approx(1.0, abs=0.05)
    assert "it ranks the right one first" in ws.write_report(run).read_text()


def test_a_list_of_tags_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "tags.txt").write_text("snow\nriver\n")
    run = hunt(tmp_path / "run", source=Album(words=False), tags=str(tmp_path / "tags.txt"))
    told = document(run)
    assert isinstance(told, CollectionDocument)
    assert told.collection.tags == 2


def test_a_captioner_describes_what_nobody_has(tmp_path: Path) -> None:
    class Writer:
        seen = 0

        def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
            Writer.seen += len(images)
            told = [[w for w, so in zip(WORDS, image[1, :, 0], strict=False) if so] for image in images]
            return [f"{prefix} there is {' and '.join(some)}." for some in told]

    run = hunt(tmp_path / "run", source=Album(words=False), captioner=Writer())
    assert Writer.seen == 400
    assert run.findings[0].phrase == "“snow”"


def test_several_labels_share_the_budget_and_each_photograph_is_one_of_them(tmp_path: Path) -> None:
    camera = Camera()
    how: dict[str, Any] = {"label": "", "labels": ["cat", "fox"]}
    run = hunt(tmp_path / "run", target=camera, source=Album(labels=("cat", "fox"), label="cat"), **how)
    assert sorted(camera.asked) == list(range(400))
    assert run.findings[0].phrase == "“snow”"
    assert "400 photographs, each asked once" in "\n".join(document(run).lines(100))
    finding = run.findings[0]
    texts = [base.text for base in run.baselines]
    source = ByLabel(Album(labels=("cat", "fox"), label="cat"), run.baselines, ["cat", "fox"])
    assert not any(finding.hypothesis.text.startswith(text) for text in texts)  # it is about both
    trials = run.ledger.trials(finding.hypothesis)
    drawn = source.draw(finding.hypothesis, [trial.index for trial in trials], seed=3)
    assert [case.expected for case in drawn] == [trial.expected for trial in trials]
    assert all(case.input[1, 0, 0] for case in drawn)  # each shows snow
    with pytest.raises(WeakspotError, match="it is not known which of the 2 labels each photograph shows"):
        hunt(tmp_path / "other", **how)


def test_findings_are_listed_in_the_wanted_order_and_say_what_they_add(tmp_path: Path) -> None:
    class Twice(Camera):
        """Fails at the beach, too, and a little less often."""

        def answer(self, cases: Sequence[Case]) -> list[Output]:
            said = zip(cases, super().answer(cases), strict=True)
            return [Output("fox" if c.input[1, 1, 0] and c.seed % 2 else own.answer) for c, own in said]

    for order in ("rate", "impact"):
        run = hunt(tmp_path / order, target=Twice(), order=order)
        tops = [finding for finding in run.findings if not finding.under]
        assert {"“snow”", "“beach”"} <= {finding.phrase for finding in tops}
        values = [f.rate.value if order == "rate" else f.impact.value for f in tops if f.impact]
        assert values == sorted(values, reverse=True)
        assert sum(finding.own or 0.0 for finding in run.findings) <= 1.0
        assert run.findings[0].own == run.findings[0].impact.value  # type: ignore[union-attr]


def test_two_runs_over_the_same_photographs_are_compared_in_pairs(
    tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    class Better(Camera):
        def answer(self, cases: Sequence[Case]) -> list[Output]:
            said = zip(cases, super().answer(cases), strict=True)
            return [Output(case.expected if case.index % 3 else own.answer) for case, own in said]

    other = hunt(tmp_path / "other", target=Better())
    capsys.readouterr()
    assert cli(["compare", str(run.folder), str(other.folder)]) == 0
    told = capsys.readouterr().out
    assert "on the same cases" in told
    assert "a photo of a cat" in told


class Calm(Camera):
    """Fails in snow only where nothing else is shown."""

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        said = zip(cases, super().answer(cases), strict=True)
        return [Output(c.expected if c.input[1, 1:, 0].any() else own.answer) for c, own in said]


def test_another_model_is_asked_about_the_photographs_that_tested_a_finding(tmp_path: Path, run: Run) -> None:
    camera = Camera()
    found = transfer(run, [Calm()], n=1000, target=camera, source=Album())
    [base], finding = run.baselines, run.findings[0]
    own, calm = (found.cell(found.sources[0], name, finding.hypothesis.id) for name in found.targets)
    assert (own.rate.n, own.rate.failures) == (finding.rate.n, finding.rate.failures)
    assert calm.versus is not None
    assert calm.versus.n == own.rate.n
    assert calm.versus.only_other == 0 < calm.versus.only_own
    assert found.cell(found.sources[0], found.targets[0], base.id).rate.n == 400
    assert own.lift > 1.5


def test_a_finding_about_all_labels_is_compared_with_the_photographs_of_all(tmp_path: Path) -> None:
    album = Album(labels=("cat", "fox"), label="cat")
    run = hunt(tmp_path / "run", source=album, label="", labels=["cat", "fox"])
    found = transfer(run, [Calm()], n=1000, target=Camera(), source=album)
    finding = run.findings[0]
    own = found.cell(found.sources[0], found.targets[0], finding.hypothesis.id)
    assert (own.rate.n, own.rate.failures) == (finding.rate.n, finding.rate.failures)
    usual = sum(run.ledger.tally(base, Stage.EXPLORE).failures for base in run.baselines)
    lift, p = above(own.rate, Rate(usual / 400, 0.0, 1.0, 400, usual))
    assert (own.lift, own.p) == (lift, p)


def test_a_run_that_used_up_its_photographs_is_not_repaired(run: Run) -> None:
    with pytest.raises(WeakspotError, match="none is left to train and to test on"):
        ws.repair(run.folder, target=Camera())


def test_what_photographs_cannot_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="is for pictures that are drawn"):
        hunt(tmp_path / "a", llm=Talker())
    with pytest.raises(WeakspotError, match="a folder of photographs has no more"):
        hunt(tmp_path / "c", certify=0.2)
    with pytest.raises(WeakspotError, match="part of the source's name"):
        hunt(tmp_path / "b", encoder=Eyes())
