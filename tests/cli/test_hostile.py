"""Captions and answers are foreign text: whatever they contain, they are shown and never obeyed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
HUNT = ["--label", "fly", "--seed", "7", "--budget", "images=2500", "--out", "run"]


class Tags(HTMLParser):
    """All tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def is_clean(text: str) -> bool:
    return all(c == "\n" or (c.isprintable() or c == "\u200d") for c in text)


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("python:toy:Classifier", "python:toy:Hostile"),
        ("python:toy:HostileAnswers", "python:toy:Meadow"),
        ("python:toy:HostileAnswers", "python:toy:Hostile"),
    ],
)
def test_hostile_text_is_shown_and_never_obeyed(weakspot: Shell, toy: Path, target: str, source: str) -> None:
    done = weakspot("hunt", target, "--source", source, *HUNT)
    assert done.returncode == 0, done.stderr
    assert "it is on a flower" in done.stdout
    assert is_clean(done.stdout)
    assert is_clean(done.stderr)
    assert max(map(len, (done.stdout + done.stderr).splitlines())) <= 200
    found = weakspot("resume", "run", "--json")
    assert is_clean(found.stdout)
    assert json.loads(found.stdout)["trials"]["errors"] == 0

    page = Tags((toy / "run" / "report.html").read_text())
    assert "html" in page.tags
    assert page.tags.count("script") == 1  # the one that saves figures
    assert not [name for name in page.attributes if name.startswith("on")]
    text = (toy / "run" / "report.html").read_text() + (toy / "run" / "report.md").read_text()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert (toy / "run" / "report.html").stat().st_size < 5_000_000


def test_a_hostile_label_is_only_text(weakspot: Shell, toy: Path) -> None:
    label = "<img src=x onerror=alert(1)>; $(touch owned) \x1b[31m"
    args = ["--label", label, *HUNT[2:]]
    done = weakspot("hunt", "python:toy:HostileAnswers", "--source", "python:toy:Meadow", *args)
    assert is_clean(done.stdout + done.stderr)
    page = Tags((toy / "run" / "report.html").read_text())
    assert "onerror" not in page.attributes
    assert not (toy / "owned").exists()


def test_a_hostile_error_is_only_text(weakspot: Shell) -> None:
    done = weakspot("hunt", "python:toy:Breaking", "--source", "python:toy:Meadow", *HUNT)
    assert done.returncode == 1
    assert is_clean(done.stderr)
    assert "‹U+001B›" in done.stderr
