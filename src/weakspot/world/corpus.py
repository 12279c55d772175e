"""`world?texts=5000&seed=0`: captions of scenes of the drawn world, as a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from weakspot.core.registry import read_whole
from weakspot.sources.corpus import Text
from weakspot.world.captions import caption
from weakspot.world.differs import meaning
from weakspot.world.grammar import parse
from weakspot.world.nature import sample
from weakspot.world.render import render
from weakspot.world.scene import SceneSet

TEXTS: Final = 5000
#: Scenes that are looked at for one of which a text is true and another is not.
TRIES: Final = 20


class WorldCorpus:
    """See `weakspot.sources.corpus.Renewable`.

    Args:
        count: How many texts.
        seed: They follow from it.
    """

    def __init__(self, count: int, seed: str) -> None:
        self._count, self._seed = count, seed

    def __iter__(self) -> Iterator[Text]:
        return self.more(f"corpus:{self._seed}", self._count)

    def more(self, seed: str, count: int) -> Iterator[Text]:
        """Captions of natural scenes, each with the number of its scene."""
        rng = Random(seed)  # noqa: S311
        for number in range(count):
            yield Text(caption(sample(SceneSet(), rng), rng), f"scene {number}")

    def same(self, one: str, other: str) -> bool:
        """Whether two texts allow the same scenes."""
        return (known := meaning(one)) is not None and known == meaning(other)

    def picture(self, text: str, against: Sequence[str], *, seed: int) -> Any:
        """A scene of the text that the other texts do not allow."""
        rng, own = Random(seed), parse(text)  # noqa: S311
        denied = [parse(other) for other in against]
        for _ in range(TRIES):
            scene = sample(own, rng)
            if not any(other.matches(scene) for other in denied):
                return render(scene, seed, 64)
        return None


def load(*, texts: str = "", seed: str = "0") -> WorldCorpus:
    """The corpus; its texts are made when they are read."""
    return WorldCorpus(read_whole("texts", texts, most=10_000_000) or TEXTS, seed)
