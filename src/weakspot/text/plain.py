"""Texts in one form: equal however they are written, or on one line that a terminal can show."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

#: Typographic forms of characters that people also write plainly.
_PLAIN: Final = str.maketrans(
    {"‘": "'", "’": "'", "`": "'", "´": "'", "“": '"', "”": '"', "–": "-", "—": "-"}
)
#: Punctuation that is not part of a word or a number: "man's", "1,000" and "9.30" keep theirs.
_MARKS: Final = re.compile(r"(?<!\d)[^\w\s']|[^\w\s'](?!\d)|(?<!\w)'|'(?!\w)|_")


def normal_form(text: str) -> str:
    """What is left of a text without case, white space and punctuation: equal texts have equal forms."""
    plain = unicodedata.normalize("NFKC", text).translate(_PLAIN).casefold()
    return " ".join(_MARKS.sub(" ", plain).split())


def one_line(text: str) -> str:
    """A text as it is shown and embedded: printable, single spaces; a lone surrogate as its escape."""
    if not text.isprintable():
        text = text.encode("utf-8", "backslashreplace").decode()
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())
