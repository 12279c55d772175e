"""`world`, a judge of differences: by the exact scenes that texts of the world's English allow."""

from __future__ import annotations

from collections.abc import Sequence

from weakspot.core import WeakspotError
from weakspot.judges.differs.judge import TextPair
from weakspot.world.grammar import parse
from weakspot.world.scene import SceneSet


class SceneJudge:
    """Two texts differ when they allow other scenes."""

    def differ(self, pairs: Sequence[TextPair]) -> list[bool | None]:
        """See `DiffersJudge`. None where a text is not of the world's English."""
        meant = [(meaning(a), meaning(b)) for a, b in pairs]
        return [None if a is None or b is None else a != b for a, b in meant]

    def understands(self, text: str) -> bool:
        """Whether a text is of the world's English."""
        return meaning(text) is not None


def meaning(text: str) -> SceneSet | None:
    """The scenes that a text allows; None where it is not of the world's English."""
    try:
        return parse(text)
    except WeakspotError:
        return None


def load() -> SceneJudge:
    """The judge."""
    return SceneJudge()
