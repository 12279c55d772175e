"""What follows from the studies' options and is checked in is what they say now."""

from __future__ import annotations

import pytest
from tests.study.written import written


@pytest.mark.parametrize(("path", "text"), list(written()), ids=lambda part: getattr(part, "name", ""))
def test_files_are_current(path, text) -> None:
    assert path.read_text("utf-8") == text, "python -m tests.study.written"
