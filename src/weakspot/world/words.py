"""The tokenizer of the world's own encoder and captioner: one token a word, letters for words it never saw.

The list of tokens is shipped with the weights (`weights/words.json`), so that a word added to the lexicon
later cannot shift the meaning of an old model's inputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core.errors import WeakspotError

PAD, BOS, EOS, UNKNOWN = "<pad>", "<bos>", "<eos>", "<unknown>"
SPECIAL: Final = (PAD, BOS, EOS, UNKNOWN)
_PIECE: Final = re.compile(r"[a-z]+(?:-[a-z]+)*|[0-9]|[^\sa-z0-9]")


class Words:
    """Texts to numbers and back; the first four tokens are padding, beginning, end and what is unknown."""

    pad, bos, eos, unknown = range(4)

    def __init__(self, tokens: Sequence[str]) -> None:
        if tuple(tokens[:4]) != SPECIAL or len(set(tokens)) != len(tokens):
            raise WeakspotError("this is not a list of tokens", fix="reinstall weakspot")
        self.tokens = tuple(tokens)
        self._ids = {token: i for i, token in enumerate(self.tokens)}

    @classmethod
    def load(cls, path: Path) -> Words:
        try:
            tokens = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            what = f"the tokens {path} cannot be read: {error}"
            raise WeakspotError(what, fix="reinstall weakspot") from error
        if not isinstance(tokens, list):
            raise WeakspotError(f"{path} is not a list of tokens", fix="reinstall weakspot")
        return cls([str(token) for token in tokens])

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without beginning and end."""
        ids = []
        for piece in _PIECE.findall(text.lower()):
            if piece in self._ids:
                ids.append(self._ids[piece])
            else:
                ids += [self._ids.get(f"#{letter}", self.unknown) for letter in piece if letter != "-"]
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of tokens up to the end; the inverse of `encode` on the world's own sentences."""
        text, spelling = "", False
        for i in ids:
            if i == self.eos:
                break
            if i in (self.pad, self.bos):
                continue
            piece = self.tokens[i]
            letter = piece.startswith("#") and len(piece) == 2
            glued = not text or text.endswith("(") or piece in (".", ",", ")") or (letter and spelling)
            text += ("" if glued else " ") + (piece[1] if letter else piece)
            spelling = letter
        return text

    def batch(self, texts: Sequence[str], length: int) -> NDArray[np.int64]:
        """Rows [beginning, words…, end, padding…] as long as the longest needs, at most `length`."""
        rows = [[self.bos, *self.encode(text)[: length - 2], self.eos] for text in texts]
        out = np.full((len(rows), max(map(len, rows), default=2)), self.pad, np.int64)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return out
