"""Debian's Chromium by playwright, and the commands as servers of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))


def chromium() -> str:
    """Its path; without it tests are skipped, or fail if WEAKSPOT_REQUIRE_BROWSER=1."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        found = None
    if found is None:
        message = "no browser to test with (apt-get install chromium; pip install playwright)"
        if os.environ.get("WEAKSPOT_REQUIRE_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return found


def axe() -> str:
    """The script of axe-core, which looks for what people with other eyes, ears and hands cannot use.

    Without it tests are skipped, or fail if WEAKSPOT_REQUIRE_AXE=1.
    """
    found = find_spec("axe_playwright_python")
    folders = found.submodule_search_locations if found is not None else None
    file = Path(os.environ.get("WEAKSPOT_AXE") or Path(next(iter(folders or ["."])), "axe.min.js"))
    if not file.is_file():
        message = "no axe-core to test with (pip install axe-playwright-python)"
        if os.environ.get("WEAKSPOT_REQUIRE_AXE") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return file.read_text("utf-8")


@contextmanager
def browser() -> Iterator[Any]:
    """A browser without a window."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield opened
        finally:
            opened.close()


class Server:
    """A command that serves pages: `weakspot view …` or `weakspot label …`."""

    def __init__(self, *args: str, cwd: Path | None = None) -> None:
        command = [WEAKSPOT, *args, "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=cwd)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("open"), line
        self.link = line.split()[-1]
        self.base = self.link.partition("/?")[0]
        #: Links of people by name; each fixes the name.
        self.links: dict[str, str] = {}
        while (line := self.process.stdout.readline()).startswith("link"):
            link, _, person = line.removeprefix("link").strip().partition("  for ")
            self.links[person.strip().removesuffix(" only")] = link

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def watched(page: Any) -> list[str]:
    """Errors that the page will have: of scripts, of the console, of its security policy."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))

    def opened(dialog: Any) -> None:
        errors.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("dialog", opened)
    return errors
