"""`python:` names an encoder of a user's own as it names a target."""

from __future__ import annotations

from pathlib import Path

import pytest

from weakspot.core import MODELS
from weakspot.testing import check_encoder

CODE = '''
import numpy as np

class Letters:
    """How often each letter comes."""

    def embed_texts(self, texts):
        rows = np.array([[1 + t.count(chr(c)) for c in range(97, 123)] for t in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
'''


def test_an_encoder_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_letters.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    assert check_encoder(MODELS.load("python:my_letters:Letters"), ["a dog", "two cats"]).shape == (2, 26)
