"""What tests of sources share."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest


@pytest.fixture
def csv_limit() -> Iterator[None]:
    """The longest field that Python's csv reads by itself: some libraries raise it for the whole process."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)
