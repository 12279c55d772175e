"""Pictures that an encoder confuses although a reference tells them apart.

The reference may be an encoder of pictures alone: what language never names, it still sees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import MODELS, WeakspotError
from weakspot.core.ports import ImageEncoder, digest_of
from weakspot.core.registry import import_part, parse_name
from weakspot.models.features import Extractor, checked, load
from weakspot.models.hf.loading import sha256
from weakspot.models.vectors import unit
from weakspot.sources.folder import decode, read
from weakspot.sources.pool import Pool, read_pool
from weakspot.store.blobs import png, write_whole
from weakspot.studies.mine.pair_rule import PairRule, Vectors, calibrated
from weakspot.studies.mine.pairs import diverse, find_pairs
from weakspot.studies.mine.parts import Progress
from weakspot.studies.mine.result import LeftOutFile
from weakspot.study.study import ByName, Value

PAIRS: Final = 50  # pairs in the list
CANDIDATES: Final = 40  # pairs that the list is chosen from, for each in it
#: The published rule for texts is 0.9 / 0.2. Pictures are nearer each other, so these shares of random pairs
#: are looked at instead.
ALIKE, APART = 0.999, 0.9


@dataclass(frozen=True, slots=True)
class Features:
    """A network that turns pictures into rows of numbers, as an encoder of pictures."""

    extract: Extractor  # see `weakspot.models.features`
    digest: str = ""  # what tells it from others; "" if nobody knows, and then it is not cached

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> Vectors:
        return unit(checked(self.extract, images), of="the network")


def image_encoder(name: str) -> ImageEncoder:
    """What a name names: an encoder, an output of an ONNX file (`onnx:net.onnx?output=pool`), a function."""
    parsed = parse_name(name)
    if parsed.scheme == "onnx" and Path(parsed.rest).is_file():
        return Features(load(name), digest=f"{sha256(Path(parsed.rest))} {sorted(parsed.options.items())}")
    model = import_part(parsed.rest) if parsed.scheme == "python" else MODELS.load(name)
    if isinstance(model, ImageEncoder):
        return model
    if parsed.scheme == "python":
        return Features(load(name))
    raise WeakspotError(f"{name[:200]} has no image tower", fix="it must have: embed_images")


class ImagePair(Value):
    """Two pictures: their names below the folder, and their cosines by both encoders."""

    first: str
    second: str
    tested: float
    reference: float


class ImagePairs(Value):
    """Pairs that the tested encoder confuses, the most alike first."""

    pairs: tuple[ImagePair, ...]  # none of them a near-copy of another
    rule: Annotated[PairRule, ByName]  # what was looked for
    candidates: int  # pairs the rule keeps, as far as they were looked at
    complete: bool  # these are all there are
    images: int  # pictures that both encoders could embed
    skipped: tuple[LeftOutFile, ...]  # files that were left out, and why


def mine_images(
    encoder: ImageEncoder,
    *,
    reference: ImageEncoder,
    images: str | Path,
    pairs: int = PAIRS,
    rule: PairRule | None = None,
    seed: int = 0,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> ImagePairs:
    """Find pairs of pictures in a folder; the rule is calibrated on random pairs of it (`ALIKE`, `APART`)."""
    if pairs < 1:
        raise WeakspotError(f"{pairs} pairs are too few to look for", fix="ask for at least one")
    for what, model in (("the encoder", encoder), ("the reference", reference)):
        if not isinstance(model, ImageEncoder):
            raise WeakspotError(f"{what} has no image tower", fix="it must have: embed_images")
    another, tell = "use another encoder as the reference", progress or (lambda *_: None)
    own, other = digest_of(encoder), digest_of(reference)
    if encoder is reference or (own and own == other):
        raise WeakspotError(
            "the encoder and the reference are the same, so nothing can be found", fix=another
        )
    one, two = (
        read_pool(images, model, cache=cache, progress=partial(tell, f"pictures by the {what}"))
        for model, what in ((encoder, "encoder"), (reference, "reference"))
    )
    names, tested, apart = shared_rows(one, two)
    if np.array_equal(tested, apart):
        raise WeakspotError("the encoder and the reference give the same vectors", fix=another)
    rule = rule or calibrated(tested, apart, alike=ALIKE, apart=APART, seed=seed)
    found = find_pairs(tested, apart, rule=rule, limit=CANDIDATES * pairs, progress=partial(tell, "pairs"))
    short = diverse(found, apart, wanted=pairs).pairs
    skipped = {s.name: s.reason for pool in (one, two) for s in pool.skipped}
    return ImagePairs(
        pairs=tuple(
            ImagePair(first=names[i], second=names[j], tested=near, reference=far)
            for i, j, near, far in short
        ),
        rule=rule,
        candidates=len(found),
        complete=found.complete and len(short) == len(found),
        images=len(names),
        skipped=tuple(LeftOutFile(file=name, why=why) for name, why in skipped.items()),
    )


def shared_rows(one: Pool, other: Pool) -> tuple[tuple[str, ...], Vectors, Vectors]:
    """The names of the pictures that both encoders could embed, and their rows by either."""
    places = {digest: i for i, digest in enumerate(other.digests)}
    common = [(i, places[digest]) for i, digest in enumerate(one.digests) if digest in places]
    if len(common) < 2:
        raise WeakspotError(
            "the two encoders have fewer than two pictures in common", fix="give both the same folder"
        )
    mine, theirs = (list(rows) for rows in zip(*common, strict=True))
    tested = unit(np.asarray(one.vectors[mine], np.float32), of="the tested encoder")
    reference = unit(np.asarray(other.vectors[theirs], np.float32), of="the reference")
    return tuple(one.names[i] for i in mine), tested, reference


def contact_sheet(
    pairs: Sequence[ImagePair], folder: str | Path, path: str | Path, *, side: int = 160, across: int = 3
) -> None:
    """One PNG with the pairs beside each other and both similarities below each; written as a whole."""
    from PIL import Image, ImageDraw

    if not pairs:
        raise WeakspotError("there are no pairs to show", fix="look for less alike ones")
    gap, text = 12, 16
    across = min(across, len(pairs))
    rows = math.ceil(len(pairs) / across)
    cell = 2 * side + 4 + gap
    sheet = Image.new("RGB", (across * cell + gap, rows * (side + text + gap) + gap), "white")
    draw = ImageDraw.Draw(sheet)
    for i, pair in enumerate(pairs):
        left, top = gap + i % across * cell, gap + i // across * (side + text + gap)
        for k, name in enumerate((pair.first, pair.second)):
            picture = Image.fromarray(decode(read(Path(folder, name)), longest=side))
            where = left + k * (side + 4) + (side - picture.width) // 2, top + (side - picture.height) // 2
            sheet.paste(picture, where)
        # Digits and Latin letters only: names are a stranger's text, and the built-in font has few letters.
        said = f"{i + 1}.  {pair.tested:.2f}  reference {pair.reference:.2f}"
        draw.text((left, top + side + 2), said, "black")
    try:
        write_whole(Path(path), png(np.asarray(sheet)))
    except OSError as error:
        raise WeakspotError(
            f"{path} cannot be written: {error.strerror}", fix="check the folder and its permissions"
        ) from error
