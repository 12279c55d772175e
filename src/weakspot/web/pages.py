"""Templates and files of the pages. What a template prints is cleaned, shortened and escaped here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from weakspot.core import WeakspotError
from weakspot.report import format as show
from weakspot.report.html import templates
from weakspot.report.plots import brief

#: What is served by name, and where it lies.
STATIC: Final = {
    "report.css": ("weakspot.report", "templates/report.css", "text/css"),
    "web.css": ("weakspot.web", "static/web.css", "text/css"),
    "explore.js": ("weakspot.web", "static/explore.js", "text/javascript"),
    "icon.svg": ("weakspot.web", "static/icon.svg", "image/svg+xml"),
    "label.js": ("weakspot.web", "static/label.js", "text/javascript"),
}


def page(template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(environment().get_template(template).render(**values), status)


def problem(request: Request, error: Exception) -> Response:
    """An error of ours as a page with cause and fix."""
    del request
    what, fix = (error.what, error.fix) if isinstance(error, WeakspotError) else ("Something failed.", "")
    return page("problem.html.j2", status=500, what=what, fix=fix, title="Cannot show this")


def missing(request: Request, error: Exception) -> Response:
    del request, error
    return page("problem.html.j2", status=404, what="There is nothing here.", fix="", title="Not found")


def static(request: Request) -> Response:
    found = STATIC.get(request.path_params["name"])
    if found is None:
        return missing(request, KeyError())
    package, path, kind = found
    content = files(package).joinpath(path).read_bytes()
    return Response(content, media_type=kind, headers={"cache-control": "private, no-cache"})


def address(*parts: object, **query: object) -> str:
    """A path of parts, each quoted, with a query."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    rest = urlencode({k: str(v) for k, v in query.items() if v not in ("", None, False)})
    return f"{path}?{rest}" if rest else path


def with_query(path: str, *queries: Mapping[str, str]) -> str:
    """A path with the values of several queries."""
    whole = {key: value for query in queries for key, value in query.items()}
    return f"{path}?{urlencode(whole)}" if whole else path


@cache
def environment() -> Environment:
    made = templates(PackageLoader("weakspot.web"), lines=_lines, as_pair=_as_pair, brief=brief, as_is=escape)
    made.globals.update(interval=_interval, address=address, with_query=with_query)
    return made


def _as_pair(caption: str) -> str:
    """A caption; of a pair of texts, which is kept as a list, the two."""
    if caption.startswith('["'):
        try:
            texts = json.loads(caption)
        except ValueError:
            return caption
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return " ↔ ".join(texts[:2])
    return caption


def _interval(low: float, high: float) -> str:
    """As the report writes it; of differences too, whose ends may round to a zero from below."""
    return re.sub(r"-(0(?:\.0+)?)(?=[,\]])", r"\1", show.interval(low, high))


def _lines(text: str, most: int = 20_000) -> Markup:
    """A text with its line breaks; each line is cleaned."""
    cut = text[:most]
    kept = "\n".join(show.clean(line) for line in cut.splitlines())
    return escape(kept + ("…" if len(text) > most else ""))
