"""The documentation is complete: what exists is named in it, and what it names exists."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from weakspot.cli.app import command_tree, variables
from weakspot.core import CORPORA, DIFFERS, JUDGES, MODELS, PICTURES, SOURCES, TABLES, Registry

ROOT = Path(__file__).parent.parent
#: For users, and for those who work on weakspot.
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
HOUSE = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "benchmarks").glob("*.md"))]
REGISTRIES = (MODELS, SOURCES, JUDGES, CORPORA, PICTURES, DIFFERS, TABLES)
#: Before a colon in code, and no registered scheme: a device, an executor, kinds of tasks, a key of run.yaml.
NO_SCHEMES = {"cuda", "ray", "image", "scheme", "blobs"}


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def text_of(pages: list[Path]) -> str:
    return "\n".join(page.read_text("utf-8") for page in pages)


def codes(page: Path) -> list[str]:
    """What stands between backticks in the text of a page, blocks left out."""
    found = re.findall(r"`([^`]+)`", FENCED.sub("", page.read_text("utf-8")))
    return [" ".join(code.split()) for code in found]


def lines_of_code(page: Path) -> list[str]:
    """The lines of the blocks of a page."""
    blocks = FENCED.findall(page.read_text("utf-8"))
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines()[1:-1]]


def each_command(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its words; `run` of a study that brings tools is the study's own."""
    for name, inner in group.commands.items():
        here = words if words and name == "run" else (*words, name)
        if hasattr(inner, "commands"):
            yield from each_command(inner, here)
        else:
            yield here, inner


def commands() -> dict[str, set[str]]:
    """The flags of every command."""
    return {
        " ".join(words): {
            flag for option in command.params for flag in (*option.opts, *option.secondary_opts)
        }
        for words, command in each_command(command_tree())
    }


COMMANDS = commands()
FLAGS = {flag for flags in COMMANDS.values() for flag in flags if flag.startswith("--")} | {
    "--version", "--debug", "--help",
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_its_flags_are_documented(command: str) -> None:
    text = text_of(PAGES)
    assert re.search(rf"weakspot {command}\b|`{command}\b", text)
    flags = {flag for flag in COMMANDS[command] if flag.startswith("--")}
    assert sorted(flags - set(FLAG.findall(text)) - {"--help"}) == []


@pytest.mark.parametrize("page", [*PAGES, *HOUSE], ids=named)
def test_no_command_and_no_flag_is_documented_that_does_not_exist(page: Path) -> None:
    lines = [line.removeprefix("$ ") for line in [*lines_of_code(page), *codes(page)]]
    for line in (line for line in lines if re.match(r"weakspot [a-z]", line)):
        words = line.split()[1:]
        name = max((n for n in COMMANDS if words[: n.count(" ") + 1] == n.split()), key=len, default=None)
        group = any(n.startswith(f"{words[0]} ") for n in COMMANDS)
        assert name or (group and len(words) == 1), f"{page.name}: {line}"
        said = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--help", "--debug"}
        assert said <= COMMANDS.get(name or "", said), f"{page.name}: {line}"
    in_prose = {flag for code in codes(page) if code.startswith("--") for flag in FLAG.findall(code)}
    assert sorted(in_prose - FLAGS - programs_of_ours()) == []


def programs_of_ours() -> set[str]:
    """The flags of the scripts beside the package."""
    folders = [ROOT / name for name in ("benchmarks", "training", "docs")]
    text = "".join(script.read_text("utf-8") for folder in folders for script in folder.rglob("*.py"))
    return set(re.findall(r'add_argument\(\s*"(--[\w-]+)"', text))


def test_extras() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    text = text_of([*PAGES, *HOUSE])
    named = {extra for found in re.findall(r"weakspot\[([\w,]+)\]", text) for extra in found.split(",")}
    assert named <= extras
    assert named >= extras - {"dev", "docs"}


def test_rooms() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = {f.parent.name for f in (ROOT / "src" / "weakspot").glob("*/__init__.py")}
    named = set(re.findall(r"(?<![\w/.])([a-z]+)/(?![\w.])", text))
    assert sorted(rooms - named) == []
    inner = {f.name for f in (ROOT / "src" / "weakspot").rglob("*") if f.is_dir()}
    beside = {f.name for f in ROOT.iterdir() if f.is_dir()} | {"runs", "blobs", "weakspot"}
    assert sorted(named - inner - beside) == []


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind.plural)
def test_every_scheme_is_documented(registry: Registry) -> None:
    text = text_of(PAGES).replace("\n", " ")
    own = [entry.name for entry in registry if entry.origin == "weakspot"]
    said = [rf"`{re.escape(name)}[`?: ]|[ '\"=]{re.escape(name)}[?:]\S" for name in own]
    assert [name for name, how in zip(own, said, strict=True) if not re.search(how, text)] == []


@pytest.mark.parametrize("page", [*PAGES, *HOUSE], ids=named)
def test_no_scheme_is_documented_that_does_not_exist(page: Path) -> None:
    entries = {entry.name for registry in REGISTRIES for entry in registry}
    schemes = {name.partition(":")[0] for name in entries} | NO_SCHEMES
    for code in codes(page):
        if found := re.match(r"([a-z][\w-]*):(?!//| )", code):
            assert found[1] in schemes, f"{page.name}: {code}"
        if found := re.match(r"world:[a-z][\w-]*", code):
            assert found[0] in entries, f"{page.name}: {code}"


def test_environment_variables() -> None:
    files = [*(ROOT / "src").rglob("*.py"), ROOT / "tests" / "conftest.py", ROOT / "tests/web/browser.py"]
    source = "".join(file.read_text("utf-8") for file in files)
    known = set(re.findall(r"\bWEAKSPOT_[A-Z_]+", source))
    known |= {
        name for words, command in each_command(command_tree()) for name in variables(words, command).values()
    }
    text = text_of([*PAGES, *HOUSE])
    assert sorted(set(re.findall(r"\bWEAKSPOT_[A-Z_]+", text)) - known) == []


@pytest.mark.parametrize("page", [*PAGES, *HOUSE], ids=named)
def test_what_a_page_names_in_the_package_exists(page: Path) -> None:
    groups = {f"weakspot.{registry.kind.plural}" for registry in REGISTRIES}
    for name in sorted(set(re.findall(r"\bweakspot(?:\.[a-z_]\w*)+", page.read_text("utf-8"))) - groups):
        found = importlib.import_module("weakspot")
        for depth, part in enumerate(name.split(".")[1:], 2):
            inner = getattr(found, part, None)
            if inner is None:
                inner = importlib.import_module(".".join(name.split(".")[:depth]))
            found = inner
    for path in codes(page):
        if re.fullmatch(r"(src|tests|docs|benchmarks|training)/[\w./-]+", path):
            assert (ROOT / path).exists(), f"{page.name}: {path}"
