"""What a person's words mean to a hunt: a whole prompt, or sentences to add to a baseline's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from weakspot.core import Hypothesis, WeakspotError
from weakspot.core.ports import understands
from weakspot.studies.hunt.parts import HuntParts
from weakspot.studies.hunt.settings import HuntSettings

#: Characters of words that anybody means.
LONGEST: Final = 4_000

_ADDS: Final = (
    "it",
    "its",
    "it's",
    "there",
    "they",
    "their",
    "the",
    "this",
    "these",
    "he",
    "she",
    "his",
    "her",
)


def meaning(
    words: str,
    settings: HuntSettings,
    bases: Sequence[Hypothesis],
    parts: HuntParts,
    *,
    label: str | None = None,
) -> tuple[Hypothesis, Hypothesis, str]:
    """What a person means: the whole text, its baseline and the label.

    Words that begin with a baseline's, or that speak of the label by name, are a whole prompt; others are
    added to the baseline's words. Where the source can draw only one of the two, that one is meant.
    """
    said = " ".join(words.split())
    if not said:
        raise WeakspotError("there are no words to try", fix='write e.g. "it is on a red flower."')
    if len(said) > LONGEST:
        raise WeakspotError(f"{len(said):,} characters are too many", fix=f"use at most {LONGEST:,}")
    by_label = dict(zip(settings.hunted, bases, strict=True))
    if label is not None and label not in by_label:
        raise WeakspotError(
            f"the run did not hunt for {label[:80]!r}", fix=f"its labels: {', '.join(by_label)[:300]}"
        )
    begins = [each for each in by_label if said.startswith(by_label[each].text) and label in (None, each)]
    meant = label or max(begins, key=lambda each: len(by_label[each].text), default=None)
    if meant is None and len(by_label) > 1:
        raise WeakspotError(
            "the run has several labels, and the words do not say which is meant",
            fix=f"name it with --label, e.g. --label {settings.hunted[0][:80]!r}",
        )
    meant = meant or settings.hunted[0]
    base = by_label[meant]
    if said == base.text:
        raise WeakspotError("these are the baseline's own words", fix="add something to them")
    ended = said if re.search(r"[.!?]$", said) else f"{said}."
    texts = [said] if begins else [f"{base.text} {ended}", said]
    if not begins and _whole(said, meant, parts):
        texts.reverse()
    drawn = next((text for text in texts if understands(parts.source, text)), None)
    if drawn is None:
        raise WeakspotError(
            f"the source cannot draw these words: {said[:200]!r}", fix=_why(parts.source, texts[0])
        )
    return Hypothesis(drawn, origin="person", parent=base.id), base, meant


def _whole(said: str, label: str, parts: HuntParts) -> bool:
    """Whether words are a prompt of their own: they name the label, and do not begin by speaking of it."""
    known = parts.words.get(label)
    names = {label.lower(), *([known.words.lower()] if known else [])}
    named = any(re.search(rf"\b{re.escape(name)}\b", said.lower()) for name in names)
    return named and said.split()[0].lower() not in _ADDS


def _why(source: Any, text: str) -> str:
    """What the source itself says of a text that it cannot draw."""
    try:
        source.draw(Hypothesis(text), [0], seed=0)
    except WeakspotError as error:
        return f"it says: {error.what}" + (f"; {error.fix}" if error.fix else "")
    except Exception as error:  # of a user's source; whatever it is, it is quoted
        return f"it says: {error}"
    return "use words that it knows"
