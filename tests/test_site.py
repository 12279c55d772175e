"""The site of the documentation holds every page, and its links lead where those in the repository do.

`make docs` builds it, strictly; here is what can be seen without that.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation_once(hooks: ModuleType) -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"([\w./-]+\.md)$", text.partition("\nnav:")[2], re.MULTILINE)
    assert sorted(listed) == sorted(hooks.places().values())


def test_links_are_turned(hooks: ModuleType) -> None:
    def turned(link: str, source: str) -> str:
        return str(hooks.turned(f"see [it]({link}).", source)).removeprefix("see ").removesuffix(".")

    assert turned("docs/start.md#install", "README.md") == "[it](start.md#install)"
    assert turned("docs/img/world.png", "README.md") == "[it](img/world.png)"
    assert turned("../CONTRIBUTING.md", "docs/architecture.md") == "[it](contributing.md)"
    assert turned("../../benchmarks/mine.md", "docs/evidence/mine.md") == "[it](../notes/mine.md)"
    assert turned("results/classifier.json", "training/NOTES.md") == "`training/results/classifier.json`"
    assert turned("https://arxiv.org", "README.md") == "[it](https://arxiv.org)"
    block = "```sh\na [b](../c.md)\n```\n"
    assert hooks.turned(block, "docs/start.md") == block


def test_a_page_that_asks_another_server_is_refused(hooks: ModuleType, tmp_path: Path) -> None:
    errors = pytest.importorskip("mkdocs.exceptions")
    (tmp_path / "a.html").write_text('<a href="https://a.example">fine</a> <script src="x.js"></script>')
    hooks.on_post_build({"site_dir": str(tmp_path)})
    (tmp_path / "b.html").write_text('<script src="https://a.example/x.js"></script>')
    with pytest.raises(errors.PluginError, match=r"b\.html"):
        hooks.on_post_build({"site_dir": str(tmp_path)})
