"""How an answer is worded: a linear model of short runs of letters, in any language; the second opinion of
the judge.

The shape of an answer (`model`) knows what its patterns know. Runs of two to five letters of its beginning
and its end know the rest: phrases that nobody wrote a pattern for, and languages in which there are few.
They are hashed into a table of one byte each, so the whole model is 32 kB.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SIZE: Final = 1 << 15
#: Letters of the beginning and of the end that are read; a refusal stands in one of the two.
HEAD, TAIL = 320, 120
LENGTHS: Final = (2, 3, 4, 5)
#: Strength of the penalty on the weights; the larger, the more the data say.
FREEDOM: Final = 3.0
#: Log odds beyond which the second opinion is not louder.
LOUDEST: Final = 6.0
_SPACE: Final = re.compile(r"[\s*_#>`|~\"“”„«»]+")
_DIGITS: Final = re.compile(r"\d+")
_PRIME: Final = np.uint32(16777619)
_MIX: Final = np.uint32(2654435761)


def buckets(text: str) -> NDArray[np.int64]:
    """The places in the table that a text lights up, each once."""
    text = _DIGITS.sub("0", _SPACE.sub(" ", text.lower().replace("’", "'"))).strip()
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    codes = np.frombuffer(f"^{text}$".encode("utf-32-le", "replace"), np.uint32)
    found = []
    rolling = np.full(len(codes), np.uint32(2166136261))
    with np.errstate(over="ignore"):
        for length in range(1, LENGTHS[-1] + 1):
            rolling = (rolling[: len(codes) - length + 1] ^ codes[length - 1 :]) * _PRIME
            if length in LENGTHS:
                found.append(((rolling + np.uint32(length)) * _MIX) >> np.uint32(17))
    if not found:
        return np.zeros(0, np.int64)
    lit = np.zeros(SIZE, np.bool_)
    lit[np.concatenate(found)] = True
    return np.flatnonzero(lit)


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """A byte per place of the table, what a byte is worth, and the log odds of a text without any."""

    table: NDArray[np.int8]
    scale: float
    bias: float

    def log_odds(self, text: str) -> float:
        """How much the wording speaks for a refusal; 0 of nothing."""
        places = buckets(text)
        if not len(places):
            return 0.0
        total = int(self.table[places].astype(np.int64).sum()) * self.scale / np.sqrt(len(places)) + self.bias
        return float(np.clip(total, -LOUDEST, LOUDEST))


def rows_of(texts: Sequence[str]) -> csr_matrix:
    """One row per text, of length 1."""
    from scipy.sparse import csr_matrix

    places = [buckets(text) for text in texts]
    values = np.concatenate([np.full(len(p), 1 / np.sqrt(max(1, len(p)))) for p in places])
    ends = np.cumsum([0, *map(len, places)])
    return csr_matrix((values, np.concatenate(places), ends), shape=(len(texts), SIZE))


def fit_wording(rows: csr_matrix, refused: NDArray[np.bool_], weight: NDArray[np.float64]) -> Wording:
    """The weights of logistic regression with a quadratic penalty, rounded to bytes."""
    from sklearn.linear_model import LogisticRegression

    model: Any = LogisticRegression(C=FREEDOM, max_iter=300, tol=1e-4).fit(rows, refused, weight)
    weights = model.coef_[0]
    scale = float(np.abs(weights).max()) / 127 or 1.0
    return Wording(
        np.round(weights / scale).astype(np.int8), round(scale, 8), round(float(model.intercept_[0]), 4)
    )
