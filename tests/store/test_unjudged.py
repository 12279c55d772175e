"""Causes of missing verdicts are grouped without the names of inputs."""

from __future__ import annotations

import pytest

from weakspot.store.run import plain_reason


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        (
            "source: darkened 100 % leaves nothing of dogs/12.png",
            "source: darkened 100 % leaves nothing of the input",
        ),
        (
            "source: the edit 'negate' leaves nothing of the text",
            "source: the edit 'negate' leaves nothing of the text",
        ),
        ("target: OSError: cannot open '/tmp/a b/x.JPG'", "target: OSError: cannot open '/tmp/a …'"),
        ("judge: <object at 0x7f12ab90>", "judge: <object at …>"),
        ("request 1234567 timed out after 30 s", "request … timed out after 30 s"),
        (
            "the discrepancy margin is nan, which is not a finite number",
            "the discrepancy margin is nan, which is not a finite number",
        ),
    ],
)
def test_plain_reasons(detail: str, reason: str) -> None:
    assert plain_reason(detail) == reason
