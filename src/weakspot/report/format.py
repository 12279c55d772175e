"""Numbers and words as a person reads them, on a page, on a terminal, in a cell of a spreadsheet."""

from __future__ import annotations

import math
import re
import shlex
import shutil
import sys
import time
import unicodedata
from calendar import month_name
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, Self

from weakspot.core import Rate

#: What is shown where there is no number.
NONE: Final = "–"

#: Columns where the output is not a terminal, and the least that are used on one.
WIDE, NARROW = 120, 60
#: Columns that a text of a table is given at least.
LEAST: Final = 12
#: Seconds between plain lines where the output is not a terminal.
PACE = 5.0
#: What makes a spreadsheet take a cell for a formula; the last four are the full-width forms.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
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


def at_most(bound: float) -> str:
    """An upper bound in percent, rounded upwards: "8.3 %", "37 %"."""
    points = 100 * bound
    if not 0 < points < 99:
        return percent(bound)
    scale = 10 ** max(1 - math.floor(math.log10(points)), 0)
    return percent(math.ceil(points * scale - 1e-9) / scale / 100)


def level(share: float) -> str:
    """A share that somebody chose, as chosen: "5 %", "0.1 %"."""
    return f"{100 * share:.6g} %"


def interval(low: float, high: float) -> str:
    """An interval in percent, as precise as a rate of its upper end: "[59, 67]", "[3, 11]", "[0.9, 1.4]".

    Both ends have the same decimals; a narrow one gets as many as it takes to tell them apart.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"[{NONE}]"
    points, width = 100 * high, 100 * abs(high - low)
    decimals = _decimals(min(points, 99.0), 2) if points > 0 else 0
    if 0 < width < 1:
        decimals = max(decimals, math.ceil(-math.log10(width)))
    decimals = min(4, decimals)
    ends = (f"{100 * end:.{decimals}f}" if 0 < end < 1 else f"{100 * end:.0f}" for end in (low, high))
    return f"[{', '.join(re.sub(r'^0[.]0+$', '0', end) for end in ends)}]"


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


def neutral(value: Any) -> Any:
    """A cell of a CSV file: control characters made visible, and nothing that a spreadsheet would run."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    shown = clean(value)
    runs = any(text.lstrip(" ").startswith(_FORMULA) for text in (value, shown))
    return f"'{shown}" if runs else shown


def cut(text: str, most: int) -> str:
    """Any text as it may be shown on a terminal: one line, no control characters, at most so many columns."""
    from rich.cells import cell_len, set_cell_size

    shown = clean(text[: 4 * most])
    whole = len(text) <= 4 * most and cell_len(shown) <= most
    return shown if whole else f"{set_cell_size(shown, most - 1).rstrip()}…"


def row(name: str, text: str, wide: int) -> str:
    """A line of the result: a name, and what it is."""
    return f"{name:<8} {cut(text, max(wide - 9, 20))}"


def folded(text: str, most: int, *, rest: int | None = None) -> list[str]:
    """Any text in lines of at most `most` terminal columns, those after the first of at most `rest`.

    No word is broken. One that is longer than a line stands on a line of its own, cut at its end.
    """
    from rich.cells import cell_len

    lines, line, room = [], "", most
    for word in clean(text).replace(" %", "\u00a0%").split(" "):  # a number and its unit are one word
        word = word.replace("\u00a0%", " %")
        longer = f"{line} {word}" if line else word
        if line and cell_len(longer) > room:
            lines.append(line)
            line, room = word, most if rest is None else rest
        else:
            line = longer
        if cell_len(line) > room and line == word:
            line = cut(line, room)
    return [*lines, line] if line or not lines else lines


def wrapped(name: str, text: str, wide: int, *, room: int = 9) -> Iterator[str]:
    """A name with so much room, and what it is on as many lines as it takes; no word is broken."""
    first, *rest = folded(text, max(wide - room, 20))
    yield f"{name:<{room - 1}} {first}".rstrip()
    yield from (f"{'':<{room - 1}} {line}" for line in rest)


def columns() -> int:
    """How wide the result may be: the terminal's width, or `WIDE` where there is none."""
    return max(NARROW, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDE


def grid(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    wide: int,
    *,
    texts: Collection[int] = (0,),
    lead: int = 1,
) -> Iterator[str]:
    """A table as aligned lines of at most so many columns: nothing is left out, and no word is broken.

    Columns of `texts` are wrapped where there is little room; where there is too little even for that, each
    row is told in lines of its own, the first of which has its first `lead` cells. A column without anything
    but zeros or dashes is left out.
    """
    from rich.cells import cell_len

    cells = [[clean(cell) for cell in row] for row in rows]
    kept = [i for i in range(len(head)) if i < lead or any(row[i] not in ("", "0", "–") for row in cells)]
    lines = [[row[i] for i in kept] for row in ([list(head)] if any(head) else []) + cells]
    if not lines:
        return
    wrap = [place for place, i in enumerate(kept) if i in texts]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    least = [max(cell_len(word) for line in lines for word in line[i].split(" ")) for i in wrap]
    over = sum(widths) + 2 * len(widths) - wide
    while over > 0 and any(widths[i] > max(few, LEAST) for i, few in zip(wrap, least, strict=True)):
        some = [i for i, few in zip(wrap, least, strict=True) if widths[i] > max(few, LEAST)]
        widths[max(some, key=lambda i: widths[i])] -= 1
        over -= 1
    if over > 0:
        yield from _stacked([head[i] for i in kept], [[row[i] for i in kept] for row in cells], wide, lead)
        return
    for line in lines:
        stacks = [folded(cell, widths[i]) if i in wrap else [cell] for i, cell in enumerate(line)]
        for n in range(max(map(len, stacks))):
            part = [stack[n] if n < len(stack) else "" for stack in stacks]
            yield "  ".join(
                ["", *(_aligned(c, widths[i], left=i in wrap) for i, c in enumerate(part))]
            ).rstrip()


def _aligned(cell: str, wide: int, *, left: bool) -> str:
    from rich.cells import cell_len

    gap = " " * (wide - cell_len(cell))
    return f"{cell}{gap}" if left else f"{gap}{cell}"


def _stacked(head: Sequence[str], rows: Sequence[Sequence[str]], wide: int, lead: int) -> Iterator[str]:
    """Each row in lines of its own: its first cells, then what the others are."""
    if title := "  ".join(head[:lead]).strip():
        yield from _hanging(title, wide, 2, 2)
    for row in rows:
        yield from _hanging(
            "  ".join(row[:lead]), wide, 2, 2 + sum(len(cell) + 2 for cell in row[: lead - 1])
        )
        named = [f"{name} {cell}".strip() for name, cell in zip(head[lead:], row[lead:], strict=True) if cell]
        line = ""
        for text in named:
            longer = f"{line} · {text}" if line else text
            if line and len(longer) > wide - 6:
                yield f"      {line}"
                longer = text
            line = longer
        yield from _hanging(line, wide, 6, 6)


def _hanging(text: str, wide: int, first: int, rest: int) -> Iterator[str]:
    lines = folded(text, wide - first, rest=wide - rest)
    yield f"{' ' * first}{lines[0]}"
    yield from (f"{' ' * rest}{line}" for line in lines[1:])


class Progress:
    """Shows on standard error what is being done, how much is done, and of how much, below a title."""

    def __init__(self, title: str) -> None:
        self._title, self._said = title, 0.0
        self._live = sys.stderr.isatty()
        self._open = False

    def __enter__(self) -> Self:
        print(cut(self._title, 200), file=sys.stderr)
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._open = False

    def __call__(self, words: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._said < (0.1 if self._live else PACE) and done < total:
            return
        if not self._live and self._said == 0.0 and done < total:  # nothing to say of what is quick
            self._said = now
            return
        self._said = now
        line = f"{count(done)} of {count(total)} · {cut(words, 80)}"
        if self._live:
            sys.stderr.write(f"\r\x1b[K{cut(line, columns() - 1)}")
            sys.stderr.flush()
            self._open = True
        else:
            print(line, file=sys.stderr)
