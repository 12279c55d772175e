"""Tables made by hand, and a WordNet of a few words, for tests of what can be said of rows."""

import numpy as np

from weakspot.concepts.columns import concepts_of, free_columns, holds, texts_of
from weakspot.records import Column, Judged, Kind, Records, Roles
from weakspot.text.wordnet import Sense


def column(name, values, kind=Kind.TEXT):
    if kind is Kind.TEXT:
        return Column(name, kind, np.fromiter(values, object, len(values)))
    if kind is Kind.LIST:
        return Column(
            name, kind, np.fromiter((None if v is None else tuple(v) for v in values), object, len(values))
        )
    types = {Kind.DATE: "datetime64[s]", Kind.VECTOR: "float32"}
    return Column(name, kind, np.array(values, types.get(kind, "float64")))


def table(*columns, used=(), **roles):
    n = len(columns[0].values)
    records = Records("a table", "list", {one.name: one for one in columns}, np.arange(1, n + 1))
    return Judged(
        records,
        Roles(**roles),
        np.zeros(n, bool),
        "",
        [None] * n,
        [None] * n,
        np.full(n, np.nan),
        frozenset(used),
    )


def found(judged, **options):
    """Phrase → rows."""
    concepts = concepts_of(judged, **options)
    return {c.phrase: concepts.rows[:, i].indices.tolist() for i, c in enumerate(concepts.concepts)}


def phrases(*columns, **options):
    return list(found(table(*columns), **options))


def vectors(n=1_200, seed=0):
    """Points about eight directions, and the number of each one's direction."""
    rng = np.random.default_rng(seed)
    which = rng.integers(8, size=n)
    return (np.eye(16)[which] * 5 + rng.normal(size=(n, 16)) * 0.4).astype(np.float32), which


def agree(judged, **options):
    """Whether `holds` marks the rows that `concepts_of` did, of every concept, whole and in parts."""
    concepts = concepts_of(judged, **options)
    records = judged.records
    texts = texts_of(records, free_columns(judged))
    assert len({c.name for c in concepts.concepts}) == len(concepts.concepts)
    marked = concepts.rows.toarray().astype(bool)
    half = np.arange(len(records)) % 2 == 0
    some, there = records.rows(np.flatnonzero(half)), texts[::2]
    np.testing.assert_array_equal(holds(concepts.concepts, records, texts), marked)
    np.testing.assert_array_equal(holds(concepts.concepts, some, there), marked[half])
    for i in range(0, len(concepts.concepts), 7):
        np.testing.assert_array_equal(holds(concepts.concepts[i : i + 1], some, there)[:, 0], marked[half, i])
    return concepts


PHYSICAL = ("object", "physical entity")
#: Of each meaning of a word: what it is a kind of, the nearest first.
KINDS: dict[str, list[tuple[str, ...]]] = {
    "spaniel": [("dog", "canine", "animal", *PHYSICAL)],
    "poodle": [("dog", "canine", "animal", *PHYSICAL)],
    "boxer": [("fighter", "person", *PHYSICAL), ("dog", "canine", "animal", *PHYSICAL)],
    "dog": [("canine", "animal", *PHYSICAL)],
    "cat": [("feline", "animal", *PHYSICAL)],
    "jersey": [("American state", "animal", *PHYSICAL)],
    "joy": [("emotion", "state")],
    "fear": [("emotion", "state")],
    "climb": [("slope", "animal", *PHYSICAL)],
}


class Nouns:
    """A WordNet of a few words."""

    def senses(self, word):
        names = KINDS.get(word.lower(), ())
        return [
            Sense(f"{word}.{i}", ("Jersey" if word == "jersey" else word,), "", ())
            for i, _ in enumerate(names)
        ]

    def sense_of_id(self, id):
        return Sense("poodle.0", ("poodle",), "", ())

    def above(self, sense):
        word, number = sense.id.rsplit(".", 1)
        for depth, name in enumerate(KINDS[word.lower()][int(number)], 1):
            yield Sense(name, (name,), "", ()), depth
