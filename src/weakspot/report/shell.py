"""The page around a report: one file with everything inside, for one run or for several."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from weakspot.report import format as show
from weakspot.report.figure import Figure

#: Characters of one piece of text, wherever it comes from.
TEXT: Final = 4_000
#: Characters of a cell that stays on one line.
SHORT: Final = 28


class Part(NamedTuple):
    """A run's part of a page.

    Attributes:
        title: Of the run.
        body: Its sections.
    """

    title: str
    body: Markup


class Rest(NamedTuple):
    """What lies beside a page in the run's folder; `blobs` says whether inputs were kept."""

    folder: Path
    blobs: bool


class Place(NamedTuple):
    """Where a part stands: by itself, or as one of `of` runs; ids begin with `at`."""

    at: str = ""
    of: int = 1

    @property
    def alone(self) -> bool:
        """Whether it is the whole page."""
        return self.of == 1


ALONE: Final = Place()


def part(
    template: str, *, place: Place = ALONE, title: str, plots: Sequence[Figure] = (), **values: Any
) -> Part:
    """A run's part, from its template; the template finds the figures under their names."""
    by_name = {figure.name: figure._replace(name=f"{place.at}{figure.name}") for figure in plots}
    text = (
        environment()
        .get_template(template)
        .render(title=title, at=place.at, alone=place.alone, plots=by_name, **values)
    )
    return Part(title, Markup(text))  # noqa: S704 - the template escapes


def page(
    parts: Sequence[Part], *, title: str, study: str, version: str = "", rest: Rest | None = None
) -> str:
    """The whole file; what it does not hold is linked where it lies beside it."""
    script = _script()
    return environment().get_template("page.html.j2").render(
        title=title, study=study, version=version, rest=rest, policy=_policy(script),
        body=Markup("\n").join(one.body for one in parts), script=Markup(script),  # noqa: S704 - ours
    )  # fmt: skip


@cache
def _script() -> str:
    return (files("weakspot.report") / "templates" / "report.js").read_text(encoding="utf-8")


def _policy(script: str) -> Markup:
    """Only this very script runs, and nothing is loaded."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Markup(  # noqa: S704 - ours
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )


class _Templates(BaseLoader):
    """The templates of this package, and as "package:file" those of a study."""

    def get_source(self, environment: Environment, template: str) -> Any:
        package, _, name = template.rpartition(":")
        return _loader(package or "weakspot.report").get_source(environment, name)


@cache
def _loader(package: str) -> PackageLoader:
    return PackageLoader(package)


@cache
def environment() -> Environment:
    made = Environment(
        loader=_Templates(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters.update(
        percent=show.percent,
        level=show.level,
        times=show.times,
        count=show.count,
        e_value=show.e_value,
        date=show.date,
        shorten=show.shorten,
        bound=_bound,
        picture=_picture,
        kinds=_kinds,
    )
    made.globals.update(interval=show.interval, plural=show.plural)
    return made


def _shown(value: Any) -> Any:
    """Whatever a template prints passes here, so no text reaches the page uncleaned or at full length."""
    if isinstance(value, Markup) or not isinstance(value, str | Path):
        return value
    return show.shorten(str(value), TEXT)


def _kinds(rows: Sequence[Sequence[str]]) -> list[str]:
    """Of each column of a table: "few" where every cell fits on a line, "long" where one is a sentence."""
    return [
        "few" if all(len(cell) <= SHORT for cell in column) else "long" for column in zip(*rows, strict=True)
    ]


def _bound(text: str) -> Markup:
    """Keep numbers and their units on one line; cleaned here, since cleaning undoes it."""
    return escape(show.shorten(text, TEXT)).replace(" %", "\u00a0%")


def _picture(uri: str) -> Markup:
    """A data URI, which is longer than any text may be; made by us, of characters that need no escape."""
    head, _, body = uri.partition(";base64,")
    if head not in ("data:image/png", "data:image/jpeg") or not set(body) <= _BASE64:
        raise ValueError("this is no picture of ours")
    return Markup(uri)  # noqa: S704 - checked above


_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
