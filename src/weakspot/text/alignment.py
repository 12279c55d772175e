"""Two texts beside each other, word for word, at the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from weakspot.text.forms import one_and_many
from weakspot.text.lexicon import Tag
from weakspot.text.tagging import Token


class Region(NamedTuple):
    """Words of one text where the other has other words, or none; `after` is the next word they share."""

    a: tuple[Token, ...]
    b: tuple[Token, ...]
    after: Token | None


#: Kinds of words that say little by themselves.
_LIGHT: Final = frozenset({Tag.DET, Tag.AUX, Tag.CONJ, Tag.ADV})


def align(a: Sequence[Token], b: Sequence[Token]) -> tuple[list[Region], list[tuple[Token, Token]]]:
    """Where two texts differ, and the words that only changed their form, at the least cost.

    Words of the same kind rather take each other's place than others; articles count little.
    """
    n, m = len(a), len(b)
    cost = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n - 1, -1, -1):
        cost[i][m] = cost[i + 1][m] + _gap(a[i])
    for j in range(m - 1, -1, -1):
        cost[n][j] = cost[n][j + 1] + _gap(b[j])
    for i in range(n - 1, -1, -1):
        row, below, gap = cost[i], cost[i + 1], _gap(a[i])
        for j in range(m - 1, -1, -1):
            row[j] = min(below[j + 1] + _swap(a[i], b[j]), below[j] + gap, row[j + 1] + _gap(b[j]))
    regions: list[Region] = []
    inflected: list[tuple[Token, Token]] = []
    left: list[Token] = []
    right: list[Token] = []
    i = j = 0

    def close(after: Token | None) -> None:
        if left or right:
            regions.append(Region(tuple(left), tuple(right), after))
            left.clear()
            right.clear()

    while i < n or j < m:
        here = cost[i][j]
        if i < n and j < m and abs(here - cost[i + 1][j + 1] - _swap(a[i], b[j])) < 1e-9:
            if _same(a[i], b[j]):
                close(b[j])
                if a[i].text != b[j].text:
                    inflected.append((a[i], b[j]))
            else:
                left.append(a[i])
                right.append(b[j])
            i, j = i + 1, j + 1
        elif i < n and abs(here - cost[i + 1][j] - _gap(a[i])) < 1e-9:
            left.append(a[i])
            i += 1
        else:
            right.append(b[j])
            j += 1
    close(None)
    return regions, inflected


def _same(a: Token, b: Token) -> bool:
    if a.text == b.text or (a.lemma == b.lemma and a.tag is b.tag):
        return True
    return a.tag is b.tag is Tag.NOUN and one_and_many(a.text, b.text)


def _gap(token: Token) -> float:
    return 0.4 if token.tag in _LIGHT else 1.0


def _swap(a: Token, b: Token) -> float:
    if _same(a, b):
        return 0.0 if a.text == b.text else 0.05
    if a.tag is b.tag:
        return 0.5 if a.tag in _LIGHT else 1.1
    return 1.4 if a.options & b.options else 1.9
