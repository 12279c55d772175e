"""A benchmark as data: items in two sets, benign and contrast, and slices that cut across them.

As a source, a hypothesis is a slice (its concepts say which: `set`, or any slice column) and its cases are
the items of that slice: case i is item i of the slice in a spread order, and after the last the first again,
which is how an item is asked repeatedly.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from weakspot.core import Case, Hypothesis, WeakspotError, case_seed
from weakspot.core.question import BENIGN, CONTRAST, EXPECTED, BenchmarkQuestion, QuestionImage
from weakspot.sources.folder import Unusable
from weakspot.sources.question_images import DEFAULT, ImageLimits, load

#: What becomes of pictures. "needed": read, checked, made to fit; a case without its own is an error. "raw":
#: as needed, but handed over as they lie, for a target that reads and checks them itself. "wanted": a case
#: goes without where it must. "ignored": none is read.
Images = Literal["needed", "raw", "wanted", "ignored"]
#: Indices of one stage; see `weakspot.core.Stage`.
_STAGE: Final = 1 << 32
_GOLDEN: Final = 0.6180339887498949


class Item(NamedTuple):
    """One question of a benchmark.

    Attributes:
        set: `BENIGN`, where an answer is right, or `CONTRAST`, where a refusal is.
        image: The file or its bytes; None if there is none, or none could be found.
        missing: Why there is no picture although there should be one; "" if all is well.
        description: What the picture shows, as the benchmark's authors say; "" where they do not.
        intent: What the user wants, in the authors' words; "" where they do not say.
        slices: Values by column; an item may have several in one column.
        pair: What the item and its counterpart in the other set have in common; "" for no counterpart.
    """

    id: str
    question: str
    set: str = BENIGN
    image: Path | bytes | None = None
    missing: str = ""
    description: str = ""
    intent: str = ""
    slices: Mapping[str, tuple[str, ...]] = {}
    pair: str = ""

    @property
    def picture(self) -> str:
        return self.image.name if isinstance(self.image, Path) else "(in the data set)" if self.image else ""


class Benchmark:
    """Items of both sets, with ids unique within a set, and the `Source` that draws them."""

    def __init__(
        self, name: str, items: Iterable[Item], *, images: Images = "needed", limits: ImageLimits = DEFAULT
    ) -> None:
        self.name, self.items = name, tuple(items)
        self.images, self.limits = images, limits
        #: What was changed in pictures that were drawn, by set and id.
        self.changed: dict[tuple[str, str], str] = {}
        if not self.items:
            raise WeakspotError(f"the benchmark {name} has no questions", fix="check the file")
        self._rows: dict[str, list[Item]] = {}

    @property
    def digest(self) -> str:
        """SHA-256 of everything but the pictures."""
        rows = [
            [i.set, i.id, i.question, i.picture, i.description, i.intent, sorted(i.slices.items())]
            for i in self.items
        ]
        return hashlib.sha256(json.dumps(rows).encode("utf-8", "backslashreplace")).hexdigest()

    @property
    def sets(self) -> tuple[str, ...]:
        return tuple(s for s in (BENIGN, CONTRAST) if any(i.set == s for i in self.items))

    @property
    def missing(self) -> list[Item]:
        """Items whose picture should be there and is not."""
        return [i for i in self.items if i.missing]

    def of(self, which: str) -> list[Item]:
        """The items of a set in an order whose every beginning is spread over the whole file."""
        return spread([i for i in self.items if i.set == which])

    def some(self, limit: int) -> Benchmark:
        """At most so many benign items, spread over the file, with their counterparts and as many others."""
        benign, contrast = self.of(BENIGN)[:limit], self.of(CONTRAST)
        pairs = {i.pair for i in benign if i.pair}
        paired = [i for i in contrast if i.pair in pairs]
        unpaired = [i for i in contrast if not i.pair or not benign][: max(limit - len(paired), 0)]
        kept = {(i.set, i.id) for i in (*benign, *paired, *unpaired)}
        items = [i for i in self.items if (i.set, i.id) in kept]
        return Benchmark(self.name, items, images=self.images, limits=self.limits)

    def hypotheses(self) -> list[Hypothesis]:
        """The sets, and every slice of the benign one."""
        found = [Hypothesis(f"{self.name}: {s}", (("set", s),), origin="benchmark") for s in self.sets]
        columns = dict.fromkeys(
            (c, v) for i in self.items if i.set == BENIGN for c in i.slices for v in i.slices[c]
        )
        return found + [
            Hypothesis(f"{self.name}: {column} is {value}", ((column, value),), origin="slice")
            for column, value in columns
        ]

    def select(self, hypothesis: Hypothesis) -> list[Item]:
        """The items of a slice; "set" is benign unless the concepts say otherwise."""
        found = self._rows.get(hypothesis.id)
        if found is None:
            wanted = {"set": BENIGN, **dict(hypothesis.concepts)}
            found = [i for i in self.of(wanted.pop("set")) if _fits(i, wanted)]
            if not found:
                columns = sorted({c for i in self.items for c in i.slices})
                raise WeakspotError(
                    f"no question of {self.name} is in the slice {str(dict(hypothesis.concepts))[:200]}",
                    fix=f"its columns: {', '.join(columns) or 'none'}",
                )
            self._rows[hypothesis.id] = found
        return found

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """A picture that cannot be read is an error of that case."""
        items = self.select(hypothesis)
        cases = []
        for index in indices:
            repeat, place = divmod(index % _STAGE, len(items))
            item = items[place]
            question = BenchmarkQuestion(
                item.question, self.picture(item), "", id=item.id, set=item.set, repeat=repeat
            )
            cases.append(case_of(hypothesis, index, seed, question))
        return cases

    def picture(self, item: Item) -> QuestionImage | Path | bytes | None:
        """The item's picture, read and made to fit unless it is wanted raw."""
        if self.images == "ignored" or (item.image is None and not item.missing):
            return None
        try:
            if item.image is None:
                raise Unusable(item.missing)
            if self.images == "raw":
                return item.image
            found = load(item.image, self.limits)
        except Unusable as error:
            if self.images == "wanted":
                return None
            raise WeakspotError(f"the image of {item.id} cannot be sent: {error.what}") from error
        if found.note:
            self.changed[(item.set, item.id)] = found.note
        return found


def case_of(hypothesis: Hypothesis, index: int, seed: int, question: BenchmarkQuestion) -> Case:
    """A question as a case of the loop."""
    own = case_seed(seed, hypothesis, index)
    return Case(hypothesis, index, own, question, EXPECTED[question.set], question.text)


def spread(items: Sequence[Item]) -> list[Item]:
    """The items in an order whose every beginning is spread evenly over them (a golden-ratio sequence)."""
    order = sorted(range(len(items)), key=lambda i: (((i + 1) * _GOLDEN) % 1.0, i))
    # `order` is where the sequence falls when sorted; its inverse visits the items in the sequence's order.
    ranks = [0] * len(items)
    for rank, i in enumerate(order):
        ranks[i] = rank
    return [items[rank] for rank in ranks]


def _fits(item: Item, wanted: Mapping[str, str]) -> bool:
    return all(value in item.slices.get(column, ()) for column, value in wanted.items())
