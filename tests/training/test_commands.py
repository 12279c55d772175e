"""The commands of training/README.md: the flags are there, the settings those of the shipped weights."""

from __future__ import annotations

import ast
import json
import re
import shlex
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ROOT / "training"
SCRIPTS = ("captioner", "classifier", "encoder", "generated", "generator", "predictions", "refusal", "truth")
#: Settings that say where things are, and how many processes draw.
PLACES = {"out", "cache", "start", "vae", "workers", "smoke", "generator", "weights"}


def settings_of(script: str) -> tuple[type, str]:
    """The settings of a script and their source, without what the script needs to run."""
    content = (TRAINING / f"{script}.py").read_text()
    node = next(n for n in ast.parse(content).body if isinstance(n, ast.ClassDef) and n.name == "Settings")
    source = ast.get_source_segment(content, node) or ""
    made: dict[str, Any] = {"VARIANCE": 0.1}
    exec(source, made)
    return dataclass(made["Settings"]), source


def commands() -> list[tuple[str, list[str]]]:
    """Scripts with their options, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (TRAINING / "README.md").read_text(), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    found = (re.match(r"python training/(\w+)\.py (.*?)( &)?$", line) for line in lines)
    return [(command[1], shlex.split(command[2])) for command in found if command]


def parsed(monkeypatch: pytest.MonkeyPatch, script: str, options: list[str]) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(TRAINING))
    flags, (cls, source) = import_module("flags"), settings_of(script)
    monkeypatch.setattr(flags.inspect, "getsource", lambda _: source)
    return dict(vars(flags.settings(cls, "", options)))


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_setting_is_explained(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TRAINING))
    flags, (cls, source) = import_module("flags"), settings_of(script)
    assert {field.name for field in fields(cls)} <= set(flags.USUAL | flags.comments(source))


def test_the_commands_have_the_settings_of_the_shipped_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = set()
    for script, options in commands():
        if script == "layers":
            known = set(re.findall(r'"(--\w+)"', (TRAINING / "layers.py").read_text()))
            assert {o for o in options if o.startswith("--")} <= known
            continue
        given = parsed(monkeypatch, script, options)
        name = Path(given["out"]).stem if given["out"] != "made" else script
        file = TRAINING / "results" / f"{'generated' if name == 'grid' else name}.json"
        if not file.exists():
            assert name in ("tables", "autoencoder")
            continue
        results = json.loads(file.read_text())
        then = results["grid_settings" if name == "grid" else "settings"]
        same = (then.keys() & given.keys()) - PLACES - ({"seconds"} if given.get("cell") == 0 else set())
        assert {key: given[key] for key in same} == {key: then[key] for key in same}, name
        checked.add(name)
    results = {path.stem for path in (TRAINING / "results").glob("*.json")}
    assert checked == results - {"classifier"} | {"grid"}  # that one came from an earlier form of the script


def test_the_blocks_end_in_the_shipped_files() -> None:
    text = (TRAINING / "README.md").read_text()
    weights = ROOT / "src" / "weakspot" / "world" / "weights"
    for path in weights.iterdir():
        if path.suffix == ".onnx" or path.is_dir():
            there = "src/weakspot/world/weights/"
            assert re.search(rf"^cp (.*{path.name} .*{there}|.* {there}{path.name})$", text, re.M), path.name
