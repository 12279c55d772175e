"""How a thing is named: `scheme:name?option=value&option=value`, and what stands behind a registered name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import parse_qsl

from weakspot.core.errors import WeakspotError


class Kind(StrEnum):
    """What a name can name."""

    MODEL = "model"
    SOURCE = "source"
    JUDGE = "judge"
    CORPUS = "corpus"
    PICTURES = "set of pictures"
    DIFFERS = "judge of differences"

    @property
    def plural(self) -> str:
        """In `weakspot list`, and in the entry-point group `weakspot.PLURAL`."""
        return {Kind.CORPUS: "corpora", Kind.PICTURES: "pictures", Kind.DIFFERS: "differs"}.get(
            self, f"{self}s"
        )


class Name(NamedTuple):
    """A parsed name. `rest` is "" where the name is a scheme alone."""

    scheme: str
    rest: str
    options: dict[str, str]

    @property
    def full(self) -> str:
        """Scheme and rest, without the options."""
        return f"{self.scheme}:{self.rest}" if self.rest else self.scheme


def parse_name(text: str) -> Name:
    """Split `scheme:name?option=value`; the options are read as in a URL."""
    head, _, query = text.strip().partition("?")
    scheme, _, rest = head.partition(":")
    if not scheme or not all(c.isprintable() for c in text):
        raise WeakspotError(f"{text[:80]!r} is not a name", fix="write it as scheme:name?option=value")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise WeakspotError(
            f"the options in {text[:80]!r} cannot be read", fix="write them as ?option=value&option=value"
        ) from None
    if len(dict(pairs)) != len(pairs):
        raise WeakspotError(f"an option is given twice in {text[:80]!r}", fix="give each option once")
    return Name(scheme, rest, dict(pairs))


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name.

    Attributes:
        name: A full name ("world:classifier") or a scheme ("onnx").
        target: "module:attr" of the factory.
        about: One line for `weakspot list`.
        example: How it is written; the name itself by default.
        extra: The optional dependency group it needs, or "".
        origin: The distribution that brings it.
        ports: What a model can be: "classifier", "captioner", "encoder", "generator", "summariser", "chat".
        examples: By port, how it is written where `example` is of another.
        beside: By option of a study, the name that goes with this one where nobody says otherwise.
    """

    name: str
    target: str
    about: str = ""
    example: str = ""
    extra: str = ""
    origin: str = "weakspot"
    ports: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
