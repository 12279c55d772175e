"""Text-to-image as a source: what is asked of the generator, and what becomes of its pictures."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import weakspot as ws
from weakspot.core import SOURCES, Generator, Hypothesis, Source, WeakspotError, case_seed
from weakspot.models.diffusers import pipeline as diffusers
from weakspot.sources.generate import TextToImage
from weakspot.studies.hunt.parts import load
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.testing import ContractError, check_generator, check_source

FLY = Hypothesis("a realistic photograph of a fly (insect).")


class Static:
    """Noise that follows from prompt and seed; keeps what it was asked for."""

    digest = "d1"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        self.asked += zip(prompts, seeds, strict=True)
        return [self.picture(p, s, i) for i, (p, s) in enumerate(zip(prompts, seeds, strict=True))]

    def picture(self, prompt: str, seed: int, _: int) -> Any:
        return np.random.default_rng([seed, *prompt.encode()]).integers(0, 256, (8, 8, 3), np.uint8)


def test_it_keeps_the_contract_of_a_source() -> None:
    source = TextToImage(Static(), expected="fly")
    assert isinstance(source, Source)
    cases = check_source(source, FLY, seed=4)
    assert {(c.expected, c.caption) for c in cases} == {("fly", FLY.text)}
    assert source.digest == "d1"
    assert not source.cpu_bound


def test_prompts_and_seeds_are_those_of_the_hypothesis() -> None:
    generator = Static()
    source = TextToImage(generator, expected="fly", template="a photo, {text} {text} {label}")
    odd = Hypothesis("a {text} of {0} %s")
    cases = source.draw(odd, [5, 2], seed=9)
    prompt = "a photo, a {text} of {0} %s a {text} of {0} %s {label}"
    assert generator.asked == [(prompt, case_seed(9, odd, 5)), (prompt, case_seed(9, odd, 2))]
    assert [c.caption for c in cases] == [odd.text] * 2  # the hypothesis' words, whatever the template
    assert source.draw(odd, [], seed=9) == []


def test_a_template_without_a_place_for_the_words() -> None:
    with pytest.raises(WeakspotError, match="no place for the words") as caught:
        TextToImage(Static(), expected="fly", template="a photo")
    assert "{text}" in caught.value.fix


def test_a_generator_needs_no_digest() -> None:
    class Bare:
        generate = Static.generate

    assert TextToImage(Bare(), expected="fly").digest == ""


def test_every_option_of_the_generator_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def fake(path: str, **options: str) -> Static:
        given.update(options, path=path)
        return Static()

    options = [n for n, p in inspect.signature(diffusers.load).parameters.items() if p.kind is p.KEYWORD_ONLY]
    monkeypatch.setattr(diffusers, "load", fake)
    query = "&".join(f"{name}=x-{name}" for name in options)
    source = SOURCES.load(f"diffusers:some/folder?{query}&template=x {{text}}", label="bee", seed=3)
    assert given == {name: f"x-{name}" for name in options} | {"path": "some/folder"}
    assert (source.expected, source.template) == ("bee", "x {text}")
    with pytest.raises(WeakspotError, match="no option 'stpes'") as caught:
        SOURCES.load("diffusers:some/folder?stpes=3", label="bee")
    assert "'steps'" in caught.value.fix


def test_a_hunt_tells_the_source_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffusers, "load", lambda *_, **__: Static())
    settings = HuntSettings(target="world:classifier", label="wolf", source="diffusers:some/folder")
    source = load(settings).source
    assert isinstance(source, TextToImage)
    assert source.expected == "wolf"
    with pytest.raises(WeakspotError, match="does not know what its pictures show") as caught:
        SOURCES.load("diffusers:some/folder")
    assert "label" in caught.value.fix


def test_a_hunt_with_a_generator_ends_whole(tmp_path: Any) -> None:
    """A captioner that says no more than the prompt proposes nothing, and that is no error."""

    class Mute:
        knows_probabilities = False

        def captions(self, images: Any, *, prefix: str = "") -> list[str]:
            return [prefix] * len(images)

        def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> Any:
            raise AssertionError("it has none")

    parts: dict[str, Any] = {"source": TextToImage(Static(), expected="fly"), "captioner": Mute()}
    with ws.hunt("world:classifier", label="fly", budget="images=600", out=tmp_path / "r", **parts) as run:
        assert run.findings == []
        assert "nothing describes the images" in run.state
        base = run.ledger.hypotheses()
        assert [h.origin for h in base] == ["baseline"]
        assert run.ledger.tallies()[base[0].id].failures > 0


def test_naming_it_loads_no_network_library() -> None:
    code = (
        "import sys; import weakspot.sources.generate\n"
        "print([m for m in ('torch', 'diffusers', 'transformers', 'safetensors') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- weakspot.testing.check_generator -------------------------------------------------------------


class Unseeded(Static):
    def picture(self, prompt: str, seed: int, place: int) -> Any:
        return super().picture(prompt, 0, place)


class Wordless(Static):
    def picture(self, prompt: str, seed: int, place: int) -> Any:
        return super().picture("", seed, place)


class Placed(Static):
    def picture(self, prompt: str, seed: int, place: int) -> Any:
        return super().picture(prompt, seed + place, place)


class Remembering(Static):
    def picture(self, prompt: str, seed: int, place: int) -> Any:
        return super().picture(prompt, seed + len(self.asked), place)


class Grey(Static):
    def picture(self, prompt: str, seed: int, place: int) -> Any:
        return super().picture(prompt, seed, place)[:, :, 0]


class Floats(Static):
    def picture(self, prompt: str, seed: int, place: int) -> Any:
        return super().picture(prompt, seed, place) / 255


class Stacked(Static):
    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> Any:
        return np.asarray(super().generate(prompts, seeds))


class Short(Static):
    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> Any:
        return super().generate(prompts, seeds)[:-1]


class Generous(Static):
    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> Any:
        return super().generate(prompts or ["something"], seeds or [0])


def test_a_good_generator_passes() -> None:
    assert isinstance(Static(), Generator)
    assert len(check_generator(Static(), ["a", "bb", "ccc"])) == 6
    assert len(check_generator(Static())) == 4


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (object(), "has no method generate"),
        (Unseeded(), "two seeds give the same picture"),
        (Wordless(), "give the same picture with the same seed"),
        (Placed(), "differs when drawn in another order"),
        (Remembering(), "differs when drawn a second time"),
        (Grey(), r"generate returned uint8 \(8, 8\)"),
        (Floats(), "generate returned float64"),
        (Stacked(), "a ndarray, not a list"),
        (Short(), "generate returned 3 pictures for 4 prompts"),
        (Generous(), "an empty list of prompts gave pictures"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_broken_generator_is_told_what_is_wrong(broken: Any, what: str) -> None:
    with pytest.raises(ContractError, match=what) as caught:
        check_generator(broken)
    assert caught.value.fix
