"""Findings as people say them: "it is small. it is behind grass." is "it is small and behind grass".

Sources write what they draw in short sentences about one subject. Captions of photographs are whole phrases
of their own, and are repeated as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from weakspot.text.sentences import sentences

#: What is said of the time or the weather, where "it" is no thing: "it is dusk" is no property of the fly.
_IMPERSONAL: Final = frozenset(
    (
        "day",
        "night",
        "dusk",
        "dawn",
        "morning",
        "evening",
        "noon",
        "snowing",
        "raining",
        "foggy",
        "misty",
        "hazy",
        "sunny",
        "cloudy",
        "windy",
        "stormy",
        "winter",
        "spring",
        "summer",
        "autumn",
    )
)
#: A sentence about the subject of the prompt, or about the picture it is in.
_REFERS: Final = re.compile(
    r"(it|its|they|their|there)\b|.*\b(it|them)$|"
    r"the (background|weather|picture|photograph|photo|image|scene|light|lighting|sky|ground|camera|view)\b"
)


def clause(phrase: str) -> str:
    """Short sentences as one clause that may follow "when"; "" where they are a caption's own words."""
    said = [sentence.rstrip(".") for sentence in sentences(phrase)]
    if not said or not all(_REFERS.match(sentence) for sentence in said):
        return ""
    found: list[str] = []
    complements: list[str] = []
    for sentence in said:
        complement = _complement(sentence)
        if not complement:
            found.append(sentence)
        elif complements:
            complements.append(complement)
        else:
            complements.append(complement)
            found.append("")  # their place
    texts = [text or f"it is {listed(complements)}" for text in found]
    several = len(texts) > 1 and any(" and " in text for text in texts)
    return ", and ".join([listed(texts[:-1]), texts[-1]]) if several else listed(texts)


def when(phrase: str, *, also: bool = False) -> str:
    """A finding's words as part of a sentence: "when it is on a flower", "given “two men on a bench”"."""
    words = clause(phrase)
    text = f"when {words}" if words else f"given {quoted(phrase)}"
    return f"{text} as well" if also else text


def title(phrase: str) -> str:
    """A finding's words by themselves: a clause, or the caption's own words in quotation marks."""
    return clause(phrase) or quoted(phrase)


def legible(words: str) -> str:
    """Any words with short sentences made one clause: "it is small and behind grass → bee"."""
    phrase, arrow, answer = words.partition(" → ")
    said = clause(phrase)
    return f"{said}{arrow}{answer}" if said else words


def quoted(phrase: str) -> str:
    """Somebody's own words in quotation marks, unless they stand in some already."""
    words = phrase.strip()
    return words if words.startswith(("“", "any ")) else f"“{words.rstrip('.')}”"


def listed(parts: Sequence[str]) -> str:
    """Parts as they are listed in a sentence: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _complement(sentence: str) -> str:
    """What is said of the subject after "it is"; "" of any other sentence."""
    if not sentence.startswith("it is "):
        return ""
    rest = sentence.removeprefix("it is ")
    first = rest.removeprefix("not ").split(" ")[0]
    return "" if first in _IMPERSONAL else rest
