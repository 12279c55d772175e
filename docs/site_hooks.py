"""What `make docs` does beside mkdocs: pages from outside docs/, and a check that the site loads nothing.

In the repository README.md links to docs/start.md, and pages link to ../CONTRIBUTING.md. The site has all of
these pages, in other places, so their links are turned.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
#: Folders whose Markdown is on the site too, and where it lies there.
_BESIDE: Final = {
    "src/weakspot/world/weights": "cards",
    "src/weakspot/judges/refusal/weights": "cards",
    "benchmarks": "notes",
    "training": "training",
}
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_COMMENT: Final = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_FENCED: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LOADED: Final = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=["']?(https?:|//)""")


def places() -> dict[str, str]:
    """Where each Markdown file of the repository lies on the site, by its path."""
    found = {name: name.lower() for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
    found["README.md"] = "index.md"
    for folder, there in _BESIDE.items():
        found |= {f"{folder}/{page.name}": f"{there}/{page.name}" for page in (ROOT / folder).glob("*.md")}
    inside = (page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
    return found | {f"docs/{page}": page for page in inside}


def turned(text: str, source: str) -> str:
    """The text of a page at `source` in the repository, its links as they are on the site."""
    known = places()

    def link(match: re.Match[str]) -> str:
        path, hash_, anchor = match[3].partition("#")
        if not path or ":" in path:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        there = known.get(target, target.removeprefix("docs/") if target.startswith("docs/") else None)
        if there is None:  # a file that the site does not have, such as a script
            return f"`{target}`"
        start = posixpath.dirname(known[source]) or "."
        return f"{match[1]}[{match[2]}]({posixpath.relpath(there, start)}{hash_}{anchor})"

    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie outside docs/."""
    from mkdocs.structure.files import File

    for source, there in places().items():
        if not source.startswith("docs/"):
            files.append(File.generated(config, there, abs_src_path=str(ROOT / source)))
    for picture in (ROOT / "training" / "img").glob("*"):
        files.append(File.generated(config, f"training/img/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the links, and leave out comments, which say how the tests run a block."""
    sources = {there: source for source, there in places().items()}
    return turned(_COMMENT.sub("", markdown), sources[page.file.src_uri])


def on_post_build(config: Any) -> None:
    """Refuse a site that would ask another server for anything."""
    from mkdocs.exceptions import PluginError

    for page in Path(config["site_dir"]).rglob("*.html"):
        if found := _LOADED.search(page.read_text("utf-8")):
            raise PluginError(f"{page.name} loads something from elsewhere: {found[0]}")
