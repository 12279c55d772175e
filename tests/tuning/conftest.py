"""The world of colours as a module that names can name."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:  # for `tests.tuning.colours`, however pytest was started
    sys.path.append(ROOT)
