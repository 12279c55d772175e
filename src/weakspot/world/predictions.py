"""A table of what the world's classifier answered, as an evaluation leaves one behind.

`training/predictions.py` writes it.
"""

from __future__ import annotations

from pathlib import Path


def path() -> Path:
    """The table that is shipped."""
    return Path(__file__).with_name("predictions.csv.gz")
