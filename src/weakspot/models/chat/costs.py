"""What calls cost: prices, what was spent, limits on it, and an estimate before anything is sent."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, NamedTuple

from weakspot.core import Usage, WeakspotError
from weakspot.core.question import NOT_SENT

#: Tokens of an answer, about.
TYPICAL_ANSWER: Final = 400
#: What a version is called that costs what the model costs: gpt-4o-2024-08-06, claude-3-haiku-20240307.
_VERSION: Final = r"(?:[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{3}|latest))?"


class Price(NamedTuple):
    """US dollars per million tokens."""

    read: float
    written: float

    def of(self, read: float, written: float) -> float:
        return (read * self.read + written * self.written) / 1e6


def price_of(name: str) -> Price | None:
    """The list price of "openai/gpt-4o" or of a dated version of it; None if it is not known."""
    table = json.loads(files("weakspot.models.chat").joinpath("prices.json").read_text("utf-8"))["models"]
    for model, pair in table.items():
        if re.fullmatch(re.escape(model) + _VERSION, name):
            return Price(*pair)
    return None


def read_price(text: str) -> Price | None:
    """`?price=2.5,10`: dollars per million tokens read and written; one number for both."""
    if not text:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not (1 <= len(numbers) <= 2 and all(0 <= n < 1e6 for n in numbers)):
        raise WeakspotError(
            f"a price cannot be {text[:80]!r}",
            fix="write price=2.5,10: dollars per million tokens read and written",
        )
    return Price(numbers[0], numbers[-1])


@dataclass(slots=True)
class Spent:
    """What a model has cost so far, and what it may cost.

    A limit stops calls from being sent; those under way when it is reached are still paid for. What a
    provider charges for a call that brought no reply (a time-out) is not known: `calls` less
    `known` says how many these are.
    """

    #: Requests sent, with every further attempt.
    calls: int = 0
    #: Those of them whose cost is known.
    known: int = 0
    tokens: int = 0
    #: By the price; 0 where that is not known.
    dollars: float = 0.0
    max_calls: float = math.inf
    max_dollars: float = math.inf

    def add(self, usage: Usage) -> None:
        self.tokens += usage.tokens
        self.dollars += usage.dollars

    def full(self) -> str:
        if self.calls >= self.max_calls:
            return f"{NOT_SENT}the limit of {self.max_calls:,.0f} calls is reached"
        if self.dollars >= self.max_dollars:
            return f"{NOT_SENT}the limit of ${self.max_dollars:,.2f} is reached"
        return ""


def usage_of(used: Any, price: Price | None) -> Usage:
    """Tokens and dollars of a reply. Cached tokens count as read: what is charged is at most this."""
    if used is None:
        return Usage()
    cached = (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
    read, written = used.input_tokens + cached, used.output_tokens
    tokens = max(used.total_tokens or 0, read + written)
    return Usage(tokens, price.of(tokens - written, written) if price else 0.0)


class Estimate(NamedTuple):
    """What asking would cost, before anything is sent."""

    #: The host that everything would go to.
    where: str
    #: Questions; a failed call that is tried again comes on top.
    calls: int
    images: int
    #: Pictures that would be made smaller, or sent in another format.
    resized: int
    unreadable: int
    read: int
    #: Tokens, if the answers are of typical length.
    written: int
    #: For these; None where the price is not known.
    dollars: float | None
    #: Dollars if every answer were as long as allowed; None where price or limit are not known.
    at_most: float | None

    def __str__(self) -> str:
        cost = "at an unknown price" if self.dollars is None else f"about ${self.dollars:,.2f}"
        cost += f", at most ${self.at_most:,.2f}" if self.at_most else ""
        parts = [f"{self.calls:,} calls to {self.where}"]
        if self.images:
            parts.append(f"{self.images:,} images ({self.resized:,} resized, {self.unreadable:,} unreadable)")
        parts.append(f"about {self.read:,} tokens read and {self.written:,} written, {cost}")
        return " · ".join(parts)


def text_tokens(text: str) -> int:
    """About how many tokens a text has: four letters of English, one and a half bytes of anything else."""
    plain = sum(c.isascii() for c in text)
    return math.ceil(plain / 4 + (len(text.encode("utf-8", "replace")) - plain) / 1.5)


def image_tokens(name: str, width: int, height: int) -> int:
    """About how many tokens a picture counts for, by the provider's published rule where there is one."""
    provider = name.partition("/")[0]
    if provider == "anthropic":
        return math.ceil(width * height / 750)
    if provider == "google":
        small = max(width, height) <= 384
        return 258 if small else 258 * math.ceil(width / 768) * math.ceil(height / 768)
    if provider == "openai":
        scale = min(1.0, 768 / min(width, height))
        tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
        return 2833 + 5667 * tiles if "4o-mini" in name else 85 + 170 * tiles
    return 1000
