"""The examples of docs/examples run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from weakspot.core import MODELS

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def test_the_tiny_summariser(tmp_path: Path) -> None:
    script = str(EXAMPLES / "tiny_summariser.py")
    command = [sys.executable, script, str(tmp_path), "--texts", "25", "--steps", "2"]
    subprocess.run(command, check=True, capture_output=True)
    rows = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert len({row["text"] for row in rows}) == 25
    assert all(row["summary"] for row in rows)
    assert MODELS.load(f"hf:{tmp_path / 'bart'}?tokens=4") is not None
