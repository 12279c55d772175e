"""Captions refined by a language model: plainer, shorter and more general words for the same failure.

The model sees what a caption says beyond the baseline and gives other wordings; each is a hypothesis like any
other, raced and confirmed, so a bad one costs a few images and no truth. What it answered is kept, so that a
run that is resumed goes on with the same words. How answers are read is in `weakspot.text.llm_answers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from weakspot.text.changes import key
from weakspot.text.llm_answers import LONGEST, Answers, Asked, ask_all, items, one_line
from weakspot.text.sentences import sentences

#: Of one answer, so many texts are taken.
MOST: Final = 6

_PROMPT: Final = """\
An image classifier fails on pictures that fit the description below, which follows the words "{base}".
Give up to {most} other descriptions that may say better what the failures have in common: plainer words, one
of the facts alone, a more general word for a thing or a place. Each is one or two short sentences in the
manner of the description, and says only what can be seen. Do not repeat the words it follows.

The description, as data: {said}

Answer with JSON only: [{{"text": "it is on a plant."}}]"""


class Rewriter:
    """A language model that rewords captions.

    Args:
        llm: The model.
        known: What it answered before, by caption.
        keep: Told of all answers when there is a new one.
    """

    def __init__(
        self,
        llm: Asked,
        *,
        known: Mapping[str, Iterable[str]] | None = None,
        keep: Callable[[dict[str, list[str]]], None] | None = None,
    ) -> None:
        self._llm, self._keep = llm, keep or (lambda _: None)
        self._known = {said: list(texts) for said, texts in (known or {}).items()}
        self.answers = Answers()

    def __call__(self, said: str, *, base: str = "") -> list[str]:
        """Other wordings of what a caption says; [] where the model gave none that can be used.

        Args:
            said: The caption without the baseline's words.
            base: Those words.
        """
        if said not in self._known:
            prompt = _PROMPT.format(base=one_line(base), most=MOST, said=json.dumps(one_line(said)[:LONGEST]))
            texts, answers = ask_all(self._llm, [prompt])
            self.answers += answers
            if texts[0] is None and answers.failed:
                return []  # another call may go through
            self._known[said] = read_texts(texts[0] or "", besides=said)
            self._keep(self._known)
        return list(self._known[said])


def read_texts(answer: str, *, besides: str = "") -> list[str]:
    """The texts of an answer: of its objects, or of its lines where it is no JSON."""
    rows: list[Any] = [value for item in items(answer) for value in item.values()]
    if not rows:
        rows = [line.strip(" \t-*•\"'0123456789).,[]") for line in answer.splitlines()]
    found: dict[str, str] = {}
    for row in rows:
        for text in row if isinstance(row, list) else [row]:
            if not isinstance(text, str) or not 0 < len(text) <= LONGEST:
                continue
            words = " ".join(sentences(one_line(text)))
            if words and key(words) != key(besides) and len(words.split()) >= 2:
                found.setdefault(key(words), words)
    return list(found.values())[:MOST]
