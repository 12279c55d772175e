"""A benchmark as data: items in two sets, benign and contrast, and slices that cut across them.

A hypothesis is a slice; case i is its item i in a spread order, and after the last the first again, which is
how an item is asked repeatedly. The kind of a picture is taken from its first bytes, since its name may lie,
and one that is larger than any provider takes is made smaller: a refusal of the picture is none of the model.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from PIL import Image

from weakspot.core import Case, Hypothesis, WeakspotError, case_seed
from weakspot.core.question import BENIGN, CONTRAST, EXPECTED, BenchmarkQuestion, ImageFile, QuestionImage
from weakspot.sources.folder import FORMATS, Unusable, decode, read

log: Final = logging.getLogger("weakspot.sources")
#: Bytes of a picture that is kept as it is, and the longest side of what is made of a larger one.
KEPT_BYTES, KEPT_SIDE = 1_000_000, 1024
#: Qualities of JPEG that are tried, and by what the sides shrink when none is small enough.
_QUALITIES: Final = (92, 85, 75)
_SHRINK: Final = 0.8


_STARTS: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
    b"BM": "image/bmp",
}


class ImageLimits(NamedTuple):
    """What is handed to a model at most. A provider's own limits are tighter: its adapter knows them."""

    longest: int = 4096
    bytes: int = 20_000_000
    #: Kinds it reads; others are handed over as JPEG.
    mimes: tuple[str, ...] = ("image/png", "image/jpeg", "image/webp", "image/gif")


DEFAULT: Final = ImageLimits()


def mime_of(content: bytes) -> str:
    """What a file is, by its first bytes; "" for what is no picture we know."""
    head = content[:16]
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return next((mime for start, mime in _STARTS.items() if head.startswith(start)), "")


def load_image(image: Path | bytes) -> QuestionImage:
    """A picture from its file or its bytes, ready to be sent; see `prepare_image`."""
    return prepare_image(read(image) if isinstance(image, Path) else image)


def prepare_image(content: bytes, limits: ImageLimits = DEFAULT) -> QuestionImage:
    """A picture that fits the limits: as it is where it can be, else smaller, else as JPEG.

    It is `Unusable` if it is damaged, no picture, or beyond Pillow's limit on pixels.
    """
    mime = mime_of(content)
    width, height = _size(content)
    fits = max(width, height) <= limits.longest and len(content) <= limits.bytes
    if mime in limits.mimes and fits:
        _size(content, whole=True)
        return QuestionImage(content, mime, width, height)
    smaller, (wide, high) = _as_jpeg(content, limits)
    notes = []
    if (wide, high) != (width, height):
        notes.append(f"resized from {width:,} × {height:,} to {wide:,} × {high:,} pixels")
    if mime != "image/jpeg":
        notes.append(f"sent as image/jpeg instead of {mime or 'an unknown kind'}")
    if len(content) > limits.bytes:
        notes.append(f"{len(content):,} bytes made {len(smaller):,}")
    return QuestionImage(smaller, "image/jpeg", wide, high, "; ".join(notes) or "saved again")


def _size(content: bytes, *, whole: bool = False) -> tuple[int, int]:
    """Width and height; `whole` decodes it, so that a damaged file is found here and not by the provider."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                size = image.size
                if whole:
                    image.load()
    except Exception as error:  # decoders of damaged files raise anything
        what = str(error).replace("<_io.BytesIO object at ", "<bytes at ")[:200]
        if "cannot identify" in what:
            raise Unusable("it is not a picture in a known format") from error
        raise Unusable(f"it cannot be decoded: {what or type(error).__name__}") from error
    if Image.MAX_IMAGE_PIXELS and size[0] * size[1] > Image.MAX_IMAGE_PIXELS:
        raise Unusable(f"{size[0]:,} × {size[1]:,} pixels are more than Pillow's limit")
    return size


def _as_jpeg(content: bytes, limits: ImageLimits) -> tuple[bytes, tuple[int, int]]:
    image = Image.fromarray(decode(content, longest=limits.longest))
    while True:
        for quality in _QUALITIES:
            file = io.BytesIO()
            image.save(file, format="JPEG", quality=quality)
            if file.tell() <= limits.bytes:
                return file.getvalue(), image.size
        if max(image.size) < 64:
            raise Unusable(f"it cannot be made smaller than {limits.bytes:,} bytes")
        wide, high = (max(1, round(side * _SHRINK)) for side in image.size)
        image = image.resize((wide, high), Image.Resampling.BICUBIC)


#: What becomes of pictures. "needed": read, checked, made to fit; a case without its own is an error. "raw":
#: as needed, but handed over as they lie, for a target that reads and checks them itself. "wanted": a case
#: goes without where it must. "ignored": none is read.
Images = Literal["needed", "raw", "wanted", "ignored"]
#: Indices of one stage; see `weakspot.core.Stage`.
_STAGE: Final = 1 << 32
_GOLDEN: Final = 0.6180339887498949


class Item(NamedTuple):
    """One question of a benchmark."""

    id: str
    question: str
    #: `BENIGN`, where an answer is right, or `CONTRAST`, where a refusal is.
    set: str = BENIGN
    #: The file or its bytes; None if there is none, or none could be found.
    image: Path | bytes | None = None
    #: Why there is no picture although there should be one; "" if all is well.
    missing: str = ""
    #: What the picture shows, as the benchmark's authors say; "" where they do not.
    description: str = ""
    #: What the user wants, in the authors' words; "" where they do not say.
    intent: str = ""
    #: Values by column; an item may have several in one column.
    slices: Mapping[str, tuple[str, ...]] = {}
    #: What the item and its counterpart in the other set have in common; "" for no counterpart.
    pair: str = ""

    @property
    def picture(self) -> str:
        return self.image.name if isinstance(self.image, Path) else "(in the data set)" if self.image else ""


@dataclass(frozen=True, slots=True, eq=False)
class PicturedQuestion(BenchmarkQuestion):
    """A question that can be kept for people to look at: as its picture, or as its words if it has none.

    Attributes:
        picture: As the benchmark has it, whatever the target is shown (`image`).
    """

    picture: Any = None

    def evidence(self) -> bytes:
        """See `Keepable`. A large picture is kept small."""
        shown = self.picture if self.image is None else self.image
        try:
            if isinstance(shown, np.ndarray):
                return _encoded(Image.fromarray(shown), "PNG")
            content = read(shown) if isinstance(shown, Path) else shown
            content = content.content if isinstance(content, ImageFile) else content
            if isinstance(content, bytes):
                if len(content) <= KEPT_BYTES:
                    return content
                return _encoded(Image.fromarray(decode(content, longest=KEPT_SIDE)), "JPEG")
        except Exception:  # a damaged file, a strange array: there are still the words
            log.debug("the picture of %s cannot be kept", self.id, exc_info=True)
        return self.text.encode("utf-8", "backslashreplace")


def _encoded(image: Image.Image, kind: str) -> bytes:
    file = io.BytesIO()
    image.save(file, format=kind)
    return file.getvalue()


class Benchmark:
    """Items of both sets, with ids unique within a set, and the `Source` that draws them."""

    def __init__(self, name: str, items: Iterable[Item], *, images: Images = "needed") -> None:
        self.name, self.items, self.images = name, tuple(items), images
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
        return golden_order([i for i in self.items if i.set == which])

    def some(self, limit: int) -> Benchmark:
        """At most so many benign items, spread over the file, with their counterparts and as many others."""
        benign, contrast = self.of(BENIGN)[:limit], self.of(CONTRAST)
        pairs = {i.pair for i in benign if i.pair}
        paired = [i for i in contrast if i.pair in pairs]
        unpaired = [i for i in contrast if not i.pair or not benign][: max(limit - len(paired), 0)]
        kept = {(i.set, i.id) for i in (*benign, *paired, *unpaired)}
        items = [i for i in self.items if (i.set, i.id) in kept]
        return Benchmark(self.name, items, images=self.images)

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
            items = self.of(wanted.pop("set"))
            found = [i for i in items if all(v in i.slices.get(column, ()) for column, v in wanted.items())]
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
            question = PicturedQuestion(
                item.question,
                self.picture(item),
                "",
                id=item.id,
                set=item.set,
                repeat=repeat,
                picture=item.image,
            )
            cases.append(case_of(hypothesis, index, seed, question))
        return cases

    def picture(self, item: Item) -> QuestionImage | Path | bytes | None:
        """The item's picture, read and made to fit unless it is wanted raw."""
        if self.images == "ignored" or (item.image is None and not item.missing):
            return None
        if item.image is None and self.images == "wanted":
            return None
        if item.image is None:  # in the same words for every item, so that they are counted together
            raise WeakspotError("the picture is missing")
        try:
            if self.images == "raw":
                return item.image
            found = load_image(item.image)
        except Unusable as error:
            if self.images == "wanted":
                return None
            raise WeakspotError(f"the picture cannot be sent: {error.what}") from error
        if found.note:
            self.changed[(item.set, item.id)] = found.note
        return found


def case_of(hypothesis: Hypothesis, index: int, seed: int, question: BenchmarkQuestion) -> Case:
    own = case_seed(seed, hypothesis, index)
    return Case(hypothesis, index, own, question, EXPECTED[question.set], question.text)


def golden_order(items: Sequence[Item]) -> list[Item]:
    """The items in an order whose every beginning is spread evenly over them (a golden-ratio sequence)."""
    order = sorted(range(len(items)), key=lambda i: (((i + 1) * _GOLDEN) % 1.0, i))
    # `order` is where the sequence falls when sorted; its inverse visits the items in the sequence's order.
    return [items[rank] for _, rank in sorted((i, rank) for rank, i in enumerate(order))]
