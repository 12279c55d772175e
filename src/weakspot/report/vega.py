"""Vega-Lite for the figures: their look, static pictures by vl-convert, the scripts to bring them to life.

Needs the extra `report`; without it, or with WEAKSPOT_CHARTS=plain in the environment, nothing here is used.
"""

from __future__ import annotations

import importlib.util
import os
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup, escape

from weakspot.report.figure import Spec, merged
from weakspot.report.format import clean
from weakspot.store import write_whole

#: Set to "plain", the pictures that need no library are used; they are quicker to make.
SWITCH: Final = "WEAKSPOT_CHARTS"
FONT: Final = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
)

_AXIS: Final = {
    "labelColor": "var(--soft)", "titleColor": "var(--ink)", "gridColor": "var(--line)",
    "domainColor": "var(--line)", "tickColor": "var(--line)", "labelFontSize": 12, "titleFontSize": 12,
    "titleFontWeight": "normal", "labelLimit": 240, "titlePadding": 8, "labelPadding": 5,
}  # fmt: skip
_THEME: Final[Spec] = {
    "background": "transparent",
    "padding": 2,
    "config": {
        "font": FONT,
        "view": {"stroke": None},
        "axis": _AXIS,
        "axisY": {"ticks": False},
        "header": {
            "labelColor": "var(--ink)", "titleColor": "var(--ink)", "labelFontSize": 12, "labelLimit": 640,
        },
        "legend": {
            "labelColor": "var(--soft)", "titleColor": "var(--soft)", "labelFontSize": 12, "orient": "top",
            "title": None, "symbolType": "circle", "labelLimit": 320, "symbolStrokeWidth": 0,
            "columnPadding": 28,
        },
        "text": {"color": "var(--ink)", "fontSize": 12},
    },
}  # fmt: skip


def available() -> bool:
    """Whether charts can be made, and nobody said that they should not."""
    if os.environ.get(SWITCH, "") == "plain":
        return False
    return all(importlib.util.find_spec(name) is not None for name in ("altair", "vl_convert"))


def themed(spec: Spec) -> Spec:
    """A chart in the report's look. Colours are names that the page's style gives a meaning."""
    made: Spec = _legible({k: v for k, v in merged(_THEME, spec).items() if k != "$schema"})
    return made


def _legible(value: Any) -> Any:
    """Every text of a chart without what XML cannot hold: vl-convert takes the whole process with it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _legible(item) for key, item in value.items()}
    return [_legible(item) for item in value] if isinstance(value, list) else value


def svg(spec: Spec, title: str) -> Markup:
    """The static picture of a chart."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(spec)
    key = format(zlib.crc32(title.encode("utf-8", "replace")), "08x")
    text = re.sub(r'(id="|url\(#)', rf"\g<1>{key}-", text)  # ids are of the whole page
    head, _, rest = text.partition(">")
    if not head.startswith("<svg ") or "<script" in text.lower():
        raise ValueError("this is no picture of a chart")
    head = re.sub(r' (?:class|xmlns:xlink|version)="[^"]*"', "", head)
    label = Markup(' role="img" aria-label="{}">').format(escape(title))
    return Markup(head) + label + Markup(rest)  # noqa: S704 - vl-convert escapes what is text


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; made once and kept in the user's cache."""
    from importlib.metadata import version

    import vl_convert

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = home / "weakspot" / f"vega-{version('vl-convert-python')}.js"
    try:
        text = kept.read_text(encoding="utf-8")
        if text.startswith(_HEAD) and text.endswith(_TAIL):  # whole
            return text
    except (OSError, UnicodeDecodeError):
        pass
    convert: Any = vl_convert
    text = _inline(convert.javascript_bundle())
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, text.encode())
    except OSError:
        pass
    return text


def _inline(script: str) -> str:
    """A script as it may stand in a page: its own scope, and nothing that ends the element."""
    body = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"{_HEAD}{body}{_TAIL}"


_HEAD, _TAIL = "(() => {", "\n})();\n"
