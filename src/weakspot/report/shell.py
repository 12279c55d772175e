"""The page around a report: one file with everything inside, for one run or for several."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from weakspot.report.figure import Figure, shown

#: A report is no longer than this; the scripts of the charts are left out where they do not fit.
LARGEST: Final = 5_000_000


class Part(NamedTuple):
    """A run's part of a page.

    Attributes:
        title: Of the run.
        body: Its sections.
        charts: Whether there is a chart that scripts could bring to life.
    """

    title: str
    body: Markup
    charts: bool


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
    from weakspot.report.page import _environment

    drawn = shown([figure._replace(name=f"{place.at}{figure.name}") for figure in plots])
    by_name = {figure.name: one for figure, one in zip(plots, drawn, strict=True)}
    text = (
        _environment()
        .get_template(template)
        .render(title=title, at=place.at, alone=place.alone, plots=by_name, **values)
    )
    return Part(title, Markup(text), any(one.spec for one in drawn))  # noqa: S704 - the template escapes


def page(
    parts: Sequence[Part], *, title: str, study: str, version: str = "", rest: Rest | None = None
) -> str:
    """The whole file; what it does not hold is linked where it lies beside it."""
    from weakspot.report import vega
    from weakspot.report.page import _environment

    scripts = [_script()]
    body = Markup("\n").join(one.body for one in parts)
    template = _environment().get_template("page.html.j2")

    def whole() -> str:
        return template.render(
            title=title, study=study, version=version, body=body, rest=rest, policy=_policy(scripts),
            scripts=[Markup(text) for text in scripts],  # noqa: S704 - ours, and vl-convert's
        )  # fmt: skip

    text = whole()
    if any(one.charts for one in parts):
        scripts.insert(0, vega.bundle())
        with_charts = whole()
        if len(with_charts.encode("utf-8", "backslashreplace")) <= LARGEST:
            return with_charts
    return text


@cache
def _script() -> str:
    return (files("weakspot.report") / "templates" / "report.js").read_text(encoding="utf-8")


def _policy(scripts: Sequence[str]) -> Markup:
    """Only these very scripts run, and nothing is loaded. Vega makes functions of its own expressions."""
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    more = " 'unsafe-eval'" if len(scripts) > 1 else ""
    return Markup(  # noqa: S704 - ours
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}{more}"
    )
