"""A chat model as a captioner, alone and within a hunt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.hunt.hunt_world import Blind, Clumsy, Compares, read_picture

import weakspot as ws
from weakspot.core import Captioner, Output, ScoringCaptioner, Status, WeakspotError
from weakspot.models.chat.captioner import CaptionsWhenAsked


class Chat(CaptionsWhenAsked):
    """Sees what is there, and says it as chat models do."""

    def __init__(self, wrong: Status | None = None) -> None:
        self.wrong, self.asked = wrong, []  # type: ignore[var-annotated]

    def ask_detailed(self, prompts: Sequence[str], images: Sequence[Any] | None = None) -> list[Output]:
        self.asked += prompts
        if self.wrong is not None:
            return [Output(None, status=self.wrong, detail="the model cannot see")] * len(prompts)
        return [Output("\n".join(read_picture(image)[1])) for image in images or ()]


PICTURES = [np.zeros((4, 4, 3), np.uint8)] * 2


def test_it_says_what_is_there_after_the_prefix() -> None:
    class Odd(Chat):
        def ask_detailed(self, prompts: Sequence[str], images: Sequence[Any] | None = None) -> list[Output]:
            self.asked += prompts
            return [Output("it is\x1b[31m night.\nit is in snow."), Output(None, status=Status.BLOCKED)]

    model = Odd()
    assert isinstance(model, Captioner)
    assert model.captions(PICTURES, prefix="a cat.") == [
        "a cat. it is [31m night. it is in snow.",
        "a cat.",
    ]
    assert "a cat." in model.asked[0]


def test_it_knows_no_probabilities_and_a_blind_model_is_said() -> None:
    assert not isinstance(Chat(), ScoringCaptioner)
    with pytest.raises(WeakspotError, match="said nothing about 2 pictures: the model cannot see"):
        Chat(Status.ERROR).captions(PICTURES)


@pytest.mark.parametrize("encoder", [None, Compares()])
def test_a_hunt_is_put_into_words_by_it(encoder: Any, tmp_path: Path) -> None:
    more: dict[str, Any] = {"captioner": Chat()} | ({} if encoder is None else {"encoder": encoder})
    with ws.hunt(
        Clumsy(),
        label="cat",
        source=Blind(),
        budget="images=6000",
        seed=3,
        out=tmp_path / "r",
        **more,
    ) as run:
        assert [f.phrase for f in run.findings if f.confirmed] == ["it is in snow. it is night."]
