"""Numbers and words as a person reads them. Pure functions; the CLI uses them too."""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from calendar import month_name
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from weakspot.core import Rate

#: What is shown where there is no number.
NONE: Final = "–"

_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_JOINERS: Final = "\u200c\u200d"  # Persian, Indic scripts and emoji need them
_NO_CHARACTERS: Final = "\ufffe\uffff"  # XML, and so SVG, cannot hold them


def percent(share: float) -> str:
    """A share with two significant digits: "0.32 %", "1.1 %", "63 %"; never rounded to 0 or to 100."""
    if not math.isfinite(share):
        return NONE
    if share < 0:
        return f"-{percent(-share)}"
    points = 100 * share
    if points in (0.0, 100.0):
        return f"{points:.0f} %"
    if points < 0.001:
        return "< 0.001 %"
    if points > 99.999:
        return "> 99.999 %" if points < 100 else f"{points:,.0f} %"
    if points >= 99.5:
        return f"{points:.{_decimals(100 - points, 1)}f} %"
    return f"{points:.{_decimals(points, 2)}f} %"


def level(share: float) -> str:
    """A share that somebody chose, as chosen: "5 %", "0.1 %"."""
    return f"{100 * share:.6g} %"


def interval(low: float, high: float) -> str:
    """An interval in percent, with the digits its width deserves: "[59, 67]", "[3.4, 11.2]", "[0.9, 1.4]"."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"[{NONE}]"
    width, least = 100 * abs(high - low), 1 if high < 0.2 else 0
    decimals = min(4, max(least, -math.floor(math.log10(width / 5)))) if width > 0 else 1
    ends = (f"{100 * end:.{decimals}f}" if 0 < end < 1 else f"{100 * end:.0f}" for end in (low, high))
    return f"[{', '.join(ends)}]"


def rate(value: Rate) -> str:
    """A rate with interval and count: "63 % [59, 67] of 1,024"; a dash if nothing was judged."""
    if not value.n:
        return f"{NONE} of 0"
    return f"{percent(value.value)} {interval(value.low, value.high)} of {count(value.n)}"


def times(ratio: float) -> str:
    """A ratio: "57×", "3.4×"; "∞" where the baseline never failed."""
    if math.isnan(ratio):
        return NONE
    if math.isinf(ratio):
        return "∞"
    return f"{ratio:,.0f}×" if round(ratio, 1) >= 10 else f"{ratio:.1f}×"


def count(number: float) -> str:
    """A whole number with separators: "14,900"."""
    return f"{number:,.0f}" if math.isfinite(number) else NONE


def seconds(duration: float) -> str:
    """A duration: "0.4 s", "41 s", "3 min 20 s", "1 h 5 min"."""
    if not math.isfinite(duration) or duration < 0:
        return NONE
    if duration < 10:
        return f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def date(moment: str) -> str:
    """An ISO 8601 moment: "15 November 2026, 20:52 UTC"; anything else as it is."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    zone = f" {at:%Z}".rstrip()
    return f"{at.day} {month_name[at.month]} {at.year}, {at:%H:%M}{zone}"


def e_value(log_evidence: float) -> str:
    """An e-value from its natural log: "12", "4,500", "10³¹"; evidence against "not worse than usual"."""
    if math.isnan(log_evidence):
        return NONE
    if math.isinf(log_evidence):
        return "∞" if log_evidence > 0 else "0"
    if log_evidence < math.log(10):
        return f"{math.exp(log_evidence):.1f}" if log_evidence > math.log(0.05) else "0"
    if log_evidence < math.log(1e5):
        return f"{math.exp(log_evidence):,.0f}"
    return f"10{str(math.floor(log_evidence / math.log(10))).translate(_SUPERSCRIPT)}"


def plural(number: int, word: str) -> str:
    """A number with its noun: "1 weak spot", "3 weak spots"."""
    return f"{count(number)} {word}" if number == 1 else f"{count(number)} {word}s"


def clean(text: str) -> str:
    """Text that shows what it is: one line, control and direction-changing characters made visible.

    A right-to-left override becomes ‹U+202E›; runs of white space become one space. Nothing is
    escaped for HTML or Markdown: that is the writer's part.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, re.sub(r"[\s\u2028\u2029]+", " ", text)))


def shorten(text: str, most: int) -> str:
    """`clean`, and if there are more than `most` characters, their beginning and how many there are."""
    if len(text) <= most:
        return clean(text)
    return f"{clean(text[:most]).rstrip()}… (cut; {count(len(text))} characters)"


def shell(words: Iterable[str]) -> str:
    """A command line that may be pasted into bash, whatever the words contain."""
    return " ".join(_shell_word(word) for word in words)


def literal(value: object) -> str:
    """A Python literal in printable characters."""
    text = repr(value)
    return text if clean(text) == text else ascii(value)


def _shell_word(word: str) -> str:
    if clean(word) == word:
        return shlex.quote(word)
    body = "".join(c if clean(c) == c and c not in "'\\" else _bash_escape(c) for c in word)
    return f"$'{body}'"


def _bash_escape(character: str) -> str:
    code = ord(character)
    return f"\\{character}" if character in "'\\" else f"\\U{code:08x}" if code > 0x7F else f"\\x{code:02x}"


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    hidden = category in ("Cc", "Cf", "Cs") or character in _NO_CHARACTERS
    if not hidden or character in _JOINERS:
        return character
    return f"‹U+{ord(character):04X}›"


def _decimals(points: float, digits: int) -> int:
    """Decimals that show `points`, once rounded, with so many significant digits."""
    return max(0, digits - 1 - math.floor(math.log10(float(f"{points:.{digits}g}"))))
