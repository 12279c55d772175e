"""The documentation is true: its commands run, its links lead somewhere, its tables match the data.

Blocks of README.md and of docs/ are run in order; those of one file share an empty folder. `weakspot …` is
run within this process, which spares its start (tests/cli starts it as a process); programs are processes.

- ```sh: every line is a command. ```console: lines after "$ " are. They must exit with 0.
- ```python: a program; or a file to be written, if its first line is `# file: NAME`.
- ```text and others are left alone.

A comment above a block changes how it is tested:

- `<!-- test: budget images=600 -->` puts this budget in place of the shown one; 3 (spent) is then fine too.
- `<!-- test: skip REASON -->` leaves it out.
- `<!-- test: output -->` above a ```text block: it is what the block before it printed.
- `<!-- test: python … -->` is itself a program, hidden from the reader, that sets the scene.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import weakspot
from weakspot.cli import run as cli
from weakspot.world import shipped
from weakspot.world.classifier import NATURAL, weak_spots

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PROSE = [
    *PAGES,
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "training").glob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "src").rglob("*.md")),
]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


#: Commands that set up an environment or take minutes; what they do is tested by using it.
SKIPPED = ("make ", "python3 -m venv", "pip install", ". .venv/bin/activate", "git clone")
BLOCK = re.compile(
    r"^<!-- test: python\n(?P<hidden>.*?)^-->\n"
    r"|(?:^<!-- test: (?P<mark>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
BUDGET = re.compile(r"""(?P<flag>--budget |budget=")(?P<limits>[\w=,.]+)""")


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    body: str
    mark: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["hidden"] is not None:
            found.append(Block("python", match["hidden"], "", line))
        else:
            found.append(Block(match["kind"], match["body"], match["mark"] or "", line))
    return found


def commands(block: Block) -> list[str]:
    lines = block.body.replace("\\\n", " ").splitlines()
    if block.kind == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith(("#", *SKIPPED))]


def run(command: list[str], folder: Path, fine: tuple[int, ...], where: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode in fine, f"{where}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, empty; modules that a page puts there are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def run_here(args: list[str], fine: tuple[int, ...], where: str, capsys: pytest.CaptureFixture[str]) -> str:
    """As `run`, for a command of weakspot."""
    importlib.invalidate_caches()
    for name, module in list(sys.modules.items()):  # another page's module of the same name
        if "pytest-of" in (getattr(module, "__file__", None) or ""):
            del sys.modules[name]
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code = cli(args)
    said = capsys.readouterr()
    assert code in fine, f"{where}: exit {code}\n{said.out}{said.err}"
    return said.out


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_shows_works(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = ""
    for block in blocks(page):
        where, body = f"{page.name}:{block.line}", block.body
        fine: tuple[int, ...] = (0,)
        what, _, rest = block.mark.partition(" ")
        assert what in ("", "skip", "budget", "output"), f"{where}: unknown mark {block.mark!r}"
        if what == "skip":
            assert rest, f"{where}: say why it is skipped"
            continue
        if what == "output":
            assert body.strip() == printed.strip(), f"{where}: the block above prints something else"
        if what == "budget":
            assert BUDGET.search(body), f"{where}: there is no budget to replace"
            body, fine = BUDGET.sub(rf"\g<flag>{rest}", body), (0, 3)
        if block.kind == "python" and body.startswith("# file: "):
            (folder / body.splitlines()[0].removeprefix("# file: ")).write_text(body, encoding="utf-8")
        elif block.kind == "python":
            printed = run([sys.executable, "-c", body], folder, fine, where)
        elif block.kind in ("sh", "console"):
            for command in commands(block._replace(body=body)):
                name, *args = shlex.split(command)
                at = f"{where}: {command}"
                here = name == "weakspot"
                printed = run_here(args, fine, at, capsys) if here else run([name, *args], folder, fine, at)


def test_pages_show_commands() -> None:
    shown = [command for page in PAGES for block in blocks(page) for command in commands(block)]
    for name in ("hunt", "resume", "report", "list", "doctor", "demo"):
        assert any(command.startswith(f"weakspot {name}") for command in shown), name


@pytest.mark.parametrize("page", PROSE, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in headings(found), f"{page.name} links to {target}"


def headings(page: Path) -> set[str]:
    """Anchors as they are made from headings: lower case, letters and hyphens."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PROSE, ids=named)
def test_prose_is_clean(page: Path) -> None:
    text = page.read_text("utf-8")
    for word in ("TODO", "FIXME", "XXX", "/work/", "/home/", "/tmp/", "pypi", "_TABLE", "_OUTPUT"):
        assert word not in text, f"{page.name} says {word!r}"
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_pictures_are_small() -> None:
    limits = {"world.png": 300_000, "report.png": 400_000}
    for name, limit in limits.items():
        assert 10_000 < (ROOT / "docs" / "img" / name).stat().st_size <= limit, name


def test_changelog_names_the_version() -> None:
    assert f"## [{weakspot.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_strongest_weak_spots_are_those_of_the_table() -> None:
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    shown = re.findall(
        r"^\| ([\w ]+) \| ([^|]+\.) \| (\d+) \(\d+ %\) \| \[.*?\] % \| \d+× \| ([\w ]+) \|$", text, re.M
    )
    assert shown == [(s.subject, s.sentence, str(round(s.rate * s.n)), s.mostly) for s in weak_spots()]


@pytest.mark.parametrize("name", NATURAL)
def test_cards_name_the_weak_spots_and_their_table(name: str) -> None:
    card = (shipped.FOLDER / f"{name}.md").read_text("utf-8")
    shown = re.findall(r"^\| ([\w ]+) \| ([^|]+\.) \| (\d+) % \[.*?\] \| ([\w ]+) \|$", card, re.M)
    assert shown == [(s.subject, s.sentence, f"{100 * s.rate:.0f}", s.mostly) for s in weak_spots(name)]
    assert f"`{'truth' if name == NATURAL[0] else f'truth-{name}'}.csv`" in card


def test_the_true_rates_beside_a_hunt_lie_in_its_intervals() -> None:
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    shown = re.findall(r"^\| [^|]+\. \| \d+ % \[(\d+), (\d+)\] of 128 \| ([\d.]+) % \[", text, re.MULTILINE)
    assert len(shown) == 8
    assert all(float(low) <= float(true) <= float(high) for low, high, true in shown)
