"""The room stays light."""

from __future__ import annotations

import subprocess
import sys

import weakspot.stats


def test_import_does_not_load_scipy() -> None:
    code = "import sys, weakspot.stats; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_names_exist_and_are_sorted() -> None:
    names = weakspot.stats.__all__
    assert list(names) == sorted(names)
    assert all(hasattr(weakspot.stats, name) for name in names)
