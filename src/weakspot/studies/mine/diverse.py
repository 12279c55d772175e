"""A short list out of many pairs in which no caption, no near-copy of it and no topic takes all the room.

Pairs are taken in their order, best first. A pair is passed over if one of its texts, or a near-copy, is in
the list often enough already, or if the list has enough pairs of the same topic. Likeness is the reference's:
the tested encoder is the one that cannot tell.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.studies.mine.pairs import Pairs

#: Texts this alike to the reference are near-copies.
COPY: Final = 0.95
#: Pairs whose middles are this alike to the reference have one topic.
TOPIC: Final = 0.8


class Diverse(NamedTuple):
    """The list, and how many pairs were passed over to make it: for a text, and for a topic."""

    pairs: Pairs
    for_text: int
    for_topic: int


def diverse(
    pairs: Pairs,
    vectors: NDArray[np.float32],
    *,
    wanted: int,
    per_text: int = 1,
    per_topic: int = 3,
    copy: float = COPY,
    topic: float = TOPIC,
) -> Diverse:
    """The first `wanted` pairs that are not too much like those before them; fewer if there are no more.

    `vectors` are the reference's rows. A text and its near-copies may be in `per_text` pairs, a topic in
    `per_topic`.
    """
    width = vectors.shape[1] if vectors.ndim == 2 else 0
    room = min(wanted, len(pairs))
    ends, middles = np.empty((2 * room, width), np.float32), np.empty((room, width), np.float32)
    chosen: list[int] = []
    for_text = for_topic = 0
    uses: dict[int, int] = {}
    for place, (first, second) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        count = len(chosen)
        if count >= wanted:
            break
        if max(uses.get(first, 0), uses.get(second, 0)) >= per_text:  # without any arithmetic
            for_text += 1
            continue
        both = vectors[[first, second]]
        if int((both @ ends[: 2 * count].T >= copy).sum(1).max(initial=0)) >= per_text:
            for_text += 1
            continue
        middle = both.sum(0)
        length = float(np.linalg.norm(middle))
        middle = middle / length if length > 1e-6 else both[0]
        if int((middles[:count] @ middle >= topic).sum()) >= per_topic:
            for_topic += 1
            continue
        ends[2 * count : 2 * count + 2], middles[count] = both, middle
        for text in (first, second):
            uses[text] = uses.get(text, 0) + 1
        chosen.append(place)
    return Diverse(pairs.some(np.array(chosen, np.int64)), for_text, for_topic)
