"""The photographs of a collection: which case each is, and what can be said of it.

What is said never looks at what the classifier answered. Captions come first; where photographs have none,
those of a captioner; else what the source's encoder sees in them, and which of them look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, hstack

from weakspot.concepts.columns import LEAST, Concept, Concepts, concepts_of
from weakspot.concepts.groups import groups_of
from weakspot.concepts.seen import Seen, seen_in, words_of
from weakspot.core import Captioner, Hypothesis, WeakspotError
from weakspot.core.ports import Collected, Embedded, Item
from weakspot.records import Column, Judged, Kind, Records, Roles
from weakspot.studies.hunt.parts import HuntParts
from weakspot.studies.hunt.result import CollectionRead
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study import Context
from weakspot.text.wordnet import WordNet

#: Where so many of the photographs have captions, these say what can be said of them all.
CAPTIONED: Final = 0.9
#: Photographs that a captioner is shown at once.
AT_ONCE: Final = 32
#: The columns of what is said.
CAPTION, LABEL, PICTURE, LOOK = "caption", "label", "picture", "look-alike"
#: Where the hypotheses of photographs come from.
COLLECTED: Final = "photographs"
#: Groups that look alike are described by what the encoder's words rank first in them, so many of all.
FIRST: Final = 0.1
#: What is said last: what a picture looks like, then what a caption says.
_ORDER: Final = {"group": 1, "near": 2, "mentions": 3}


@dataclass(frozen=True)
class Photographs:
    """All photographs of the hunted labels, label by label, each label's in its random order."""

    bases: tuple[Hypothesis, ...]
    labels: tuple[str, ...]
    items: tuple[tuple[Item, ...], ...]

    def __len__(self) -> int:
        return sum(self.sizes)

    @property
    def sizes(self) -> list[int]:
        return [len(some) for some in self.items]

    def row(self, label: int, index: int) -> int:
        """The number of a photograph, by its label's number and its index there."""
        return sum(self.sizes[:label]) + index

    def case(self, row: int) -> tuple[Hypothesis, int]:
        """The baseline and the index of a photograph."""
        for base, size in zip(self.bases, self.sizes, strict=True):
            if row < size:
                return base, row
            row -= size
        raise IndexError(row)

    def index(self, hypothesis: Hypothesis, row: int) -> int:
        """The index of a photograph as a trial of a finding: that of its baseline, if the finding has one."""
        base, index = self.case(row)
        return index if hypothesis.parent == base.id else row

    def hypothesis(self, concepts: Sequence[Concept], statement: Sequence[int]) -> tuple[Hypothesis, str]:
        """A statement as a hypothesis, and what it adds to its baseline's words."""
        parts = in_order([concepts[i] for i in statement])
        base = self.bases[0] if len(self.bases) == 1 else None
        for part in parts:
            if (part.column, part.test) == (LABEL, "is") and len(parts) > 1:
                base = self.bases[self.labels.index(part.value)]
                parts.remove(part)
                break
        phrase = in_words(parts)
        text = f"{base.text} {phrase}." if base is not None else f"any of these photographs. {phrase}."
        return Hypothesis(text, origin=COLLECTED, parent=base.id if base is not None else None), phrase


def in_order(concepts: Sequence[Concept]) -> list[Concept]:
    """Concepts in the order in which they are said."""
    return sorted(concepts, key=lambda concept: _ORDER.get(concept.test, 0))


def in_words(concepts: Sequence[Concept]) -> str:
    """What concepts say together: "it looks like “snow” (nearest 5 %)", "“snow” and “dog”"."""
    return " and ".join(f"it {c.phrase}" if c.test == "near" else c.phrase for c in concepts)


def read_photographs(
    source: Collected, bases: Sequence[Hypothesis], labels: Sequence[str], *, seed: int
) -> Photographs:
    """The photographs of each label; an error where one is there for several."""
    items = tuple(tuple(source.items(base, seed=seed)) for base in bases)
    names = [item.name for some in items for item in some]
    if len(set(names)) < len(names):
        raise WeakspotError(
            f"it is not known which of the {len(bases)} labels each photograph shows",
            fix="name them in the source: retrieve:…&labels=folder, or &labels=FILE",
        )
    return Photographs(tuple(bases), tuple(labels), items)


class Described(NamedTuple):
    """What can be said of photographs, a row for each, and how it came about.

    Attributes:
        concepts: What photographs are of or not; `seen` ranks them by words that are true by degrees.
    """

    concepts: Concepts
    read: CollectionRead
    seen: Seen | None = None


def described(
    context: Context[HuntSettings, HuntParts], source: Collected, photographs: Photographs
) -> Described:
    """Captions of people, of a captioner, or what an encoder sees."""
    settings, parts, n = context.settings, context.parts, len(photographs)
    texts = [" . ".join(item.captions) for some in photographs.items for item in some]
    captioned = sum(bool(text) for text in texts)
    looked = 0
    if parts.captioner is not None and captioned < n:
        missing = [row for row, text in enumerate(texts) if not text]
        for row, text in looked_at(context, photographs, parts.captioner, missing).items():
            texts[row] = text
            looked += bool(text)
    columns: dict[str, Column] = {}
    if len(photographs.bases) > 1:
        shown = [[label] * size for label, size in zip(photographs.labels, photographs.sizes, strict=True)]
        columns[LABEL] = Column(LABEL, Kind.TEXT, _objects([label for some in shown for label in some]))
    captions_do = captioned + looked >= CAPTIONED * n
    if captions_do:
        columns[CAPTION] = Column(CAPTION, Kind.TEXT, _objects(texts))
    wordnet = _wordnet()
    concepts = concepts_of(table_of(columns, n), wordnet=wordnet)
    read = CollectionRead(
        photographs=n,
        sizes=tuple(photographs.sizes),
        captioned=captioned,
        looked=looked,
        concepts=len(concepts.concepts),
        wider=wordnet is not None,
    )
    vectors = None if captions_do else vectors_of(source, photographs, seed=settings.seed)
    if vectors is None:
        return Described(concepts, read)
    words = words_of(None if settings.tags is None else Path(settings.tags))
    seen = seen_in(vectors.vectors, vectors.encoder, words, captions=texts if captioned + looked else ())
    concepts = together(concepts, looking_alike(vectors.vectors, seen))
    return Described(
        concepts,
        read.model_copy(
            update={
                "tags": len(seen.words),
                "checked": len(seen.trust),
                "refuted": seen.refuted,
                "right": seen.right,
                "concepts": len(concepts.concepts) + len(seen.words),
            }
        ),
        seen,
    )


def looking_alike(vectors: NDArray[np.float32], seen: Seen) -> Concepts:
    """Groups of photographs that look alike, each described by words that rank many of it first."""
    groups = [*groups_of(Column(LOOK, Kind.VECTOR, vectors), ranked_first(seen, len(vectors)))]
    kept = [(concept, rows) for concept, rows in groups if len(rows) >= LEAST]
    of = np.zeros((len(vectors), len(kept)), np.float32)
    for i, (_, rows) in enumerate(kept):
        of[rows, i] = 1.0
    return Concepts(tuple(concept for concept, _ in kept), csc_matrix(of))


def ranked_first(seen: Seen, photographs: int) -> Concepts:
    """For each word, the tenth of the photographs that looks most like it."""
    concepts = tuple(Concept(PICTURE, "near", word, share=FIRST) for word in seen.words)
    if not concepts:
        return Concepts((), csc_matrix((photographs, 0), dtype=np.float32))
    return Concepts(concepts, csc_matrix((seen.graded.near <= FIRST).astype(np.float32)))


def together(*some: Concepts) -> Concepts:
    """Concepts of the same photographs in one."""
    concepts = tuple(concept for one in some for concept in one.concepts)
    return Concepts(concepts, hstack([one.rows for one in some], format="csc", dtype=np.float32))


def table_of(columns: dict[str, Column], n: int) -> Judged:
    """Photographs as the rows of a table of which nobody knows yet whether they fail."""
    records = Records("the photographs", "photographs", columns, np.arange(1, n + 1))
    roles = Roles(label=LABEL if LABEL in columns else "", text=(CAPTION,) if CAPTION in columns else ())
    nothing: list[str | None] = [None] * n
    return Judged(records, roles, np.zeros(n, bool), "", nothing, nothing, np.full(n, np.nan))


def vectors_of(source: Collected, photographs: Photographs, *, seed: int) -> Embedded | None:
    """All photographs in the space of the source's encoder."""
    parts = [source.embedded(base, seed=seed) for base in photographs.bases]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return Embedded(known[0].encoder, np.concatenate([part.vectors for part in known]))


def looked_at(
    context: Context[HuntSettings, HuntParts],
    photographs: Photographs,
    captioner: Captioner,
    rows: Sequence[int],
) -> dict[int, str]:
    """What a captioner says of photographs, "" where one cannot be read; a resumed run asks it no more."""
    known: dict[str, str] = dict(context.noted("captions", {}))
    source, seed = context.parts.source, context.settings.seed
    new = [row for row in rows if str(row) not in known]
    for start in range(0, len(new), AT_ONCE):
        context.watch.progress("describing photographs", start, len(new))
        pictures: dict[int, NDArray[np.uint8]] = {}
        for row in new[start : start + AT_ONCE]:
            base, index = photographs.case(row)
            known[str(row)] = ""
            try:
                pictures[row] = source.draw(base, [index], seed=seed)[0].input
            except WeakspotError:  # the engine has an error of this case
                continue
        prefix = photographs.bases[0].text if len(photographs.bases) == 1 else ""
        texts = captioner.captions(list(pictures.values()), prefix=prefix) if pictures else []
        if len(texts) != len(pictures) or not all(isinstance(text, str) for text in texts):
            raise WeakspotError(
                f"the captioner gave {len(texts)} captions of {len(pictures)} pictures, or not all are text",
                fix="see weakspot.testing.check_captioner",
            )
        for row, text in zip(pictures, texts, strict=True):
            known[str(row)] = text[:10_000].removeprefix(prefix).strip()
        context.note("captions", known)
    return {row: known[str(row)] for row in rows}


def _objects(texts: Sequence[str]) -> NDArray[np.object_]:
    found = np.empty(len(texts), object)
    found[:] = [text or None for text in texts]
    return found


def _wordnet() -> WordNet | None:
    try:
        return WordNet.find()
    except WeakspotError:  # without it words have no wider nouns, which the report says
        return None
