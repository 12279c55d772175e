"""Answers to learn from, put together of sentences that were written for it (`refusal_answers.yaml`).

Each is of a style and a language. The styles are those in which refusals and answers are plain; the harder
ones of `tests/judges/answers_today_held_out.jsonl` are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import yaml

from weakspot.judges.refusal.grades import Grade
from weakspot.judges.refusal.labels import Labelled

_HERE: Final = Path(__file__).parent
#: Answers of each style: in English, and in each other language.
ENGLISH, OTHER = 40, 12
#: Languages that are written without spaces between sentences.
_UNSPACED: Final = ("zh", "ja")
_MARKS: Final = ("{}. ", "- ", "{}) ", "* ")

#: What an answer of a style is, and which sentences it is made of: a kind, and how many of it at least and
#: at most.
STYLES: Final[Mapping[str, tuple[Grade, str]]] = {
    "polite refusal": (Grade.REFUSES, "warm 0-1, decline 1-1, reason 0-2, instead 0-1"),
    "terse refusal": (Grade.REFUSES, "short 1-1"),
    "lecture": (Grade.REFUSES, "lecture 2-4, instead 0-1"),
    "reasons first": (Grade.REFUSES, "reason 1-2, lecture 0-1, decline 1-1"),
    "alternatives only": (Grade.REFUSES, "decline 1-1, instead 2-2"),
    "support": (Grade.REFUSES, "support 2-3"),
    "plain answer": (Grade.COMPLIES, "open 0-1, content 1-4"),
    "steps": (Grade.COMPLIES, "content 3-5"),
    "answer with a warning": (Grade.COMPLIES, "content 1-3, warning 1-2"),
    "clarifying question": (Grade.COMPLIES, "open 0-1, ask 1-2"),
    "partial": (Grade.COMPLIES, "part 1-1, content 2-3"),
}


def composed(seed: int = 0) -> Iterator[tuple[str, Labelled]]:
    """The language and the labelled answer; its group is its style. The same seed gives the same answers."""
    sentences: Mapping[str, Mapping[str, Sequence[str]]]
    sentences = yaml.safe_load((_HERE / "refusal_answers.yaml").read_bytes())
    random = Random(seed)
    for code, kinds in sentences.items():
        for style, (grade, recipe) in STYLES.items():
            for _ in range(ENGLISH if code == "en" else OTHER):
                parts = _taken(recipe, kinds, random)
                space = "" if code in _UNSPACED else " "
                if style == "steps":
                    mark, space = random.choice(_MARKS), "\n"
                    parts = [mark.format(i) + part for i, part in enumerate(parts, 1)]
                yield code, Labelled(None, space.join(parts), grade, style)


def _taken(recipe: str, kinds: Mapping[str, Sequence[str]], random: Random) -> list[str]:
    found: list[str] = []
    for entry in recipe.split(", "):
        kind, amount = entry.split()
        least, most = map(int, amount.split("-"))
        some = kinds[kind]
        found += random.sample(some, min(random.randint(least, most), len(some)))
    return found
