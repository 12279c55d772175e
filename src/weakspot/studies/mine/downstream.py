"""What a blind spot does downstream: both prompts are drawn, and each picture is matched to a prompt.

The published study asks people of every picture: prompt 1, prompt 2, neither, or are the two visually the
same? A pair fails when a picture gets the wrong prompt or 'neither'. Here a matcher answers first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Encoder, Generator, Hypothesis, Source, WeakspotError, case_seed
from weakspot.stats import wilson
from weakspot.stats.clustered import clustered_rate
from weakspot.store.blobs import Blobs, png, write_whole
from weakspot.studies.mine.parts import Progress
from weakspot.studies.mine.result import Choice, Downstream, Drawn, PairDrawn

#: Pictures of each prompt. The published study shows one of each.
IMAGES: Final = 1
#: A picture that is nearer to more than this share of other texts than to either prompt shows neither.
NEITHER: Final = 0.1
SAME: Final = 1e-4  # cosines nearer than this are alike to a matcher

Picture = NDArray[np.uint8]


class Match(NamedTuple):
    """The choice for one picture, and how well it fits the first and the second prompt (any scale)."""

    choice: Choice
    first: float
    second: float


@runtime_checkable
class Matcher(Protocol):
    """Says which of two prompts a picture shows."""

    def match(self, images: Sequence[Picture], first: str, second: str) -> list[Match]:
        """One match per picture of a pair."""
        ...


class EncoderMatcher:
    """By an encoder of texts and pictures, not the tested one, which would be blind to the same.

    Without `others`, texts that belong to other pictures, 'neither' is never said.
    """

    def __init__(self, encoder: Encoder, *, others: Iterable[str] = ()) -> None:
        self.encoder = encoder
        texts = list(dict.fromkeys(others))
        self._others = np.asarray(encoder.embed_texts(texts), np.float64) if texts else None

    def match(self, images: Sequence[Picture], first: str, second: str) -> list[Match]:
        prompts = np.asarray(self.encoder.embed_texts([first, second]), np.float64)
        pictures = np.asarray(self.encoder.embed_images(list(images)), np.float64)
        near = pictures @ prompts.T
        if near.shape != (len(images), 2) or not np.isfinite(near).all():
            raise WeakspotError("the matcher gave no finite number for each picture", fix="check the model")
        found = []
        for picture, (one, two) in zip(pictures, near.tolist(), strict=True):
            choice = Choice.FIRST if one > two else Choice.SECOND
            if abs(one - two) <= SAME:
                choice = Choice.SAME
            if self._others is not None and (self._others @ picture > max(one, two)).mean() > NEITHER:
                choice = Choice.NEITHER
            found.append(Match(choice, one, two))
        return found


@runtime_checkable
class Verifier(Protocol):
    """Says whether a picture shows a text, such as the world's verifier."""

    def shows(self, images: Sequence[Picture], texts: Sequence[str]) -> Sequence[bool]:
        """One answer for each picture and its text."""
        ...


class VerifierMatcher:
    """By a verifier. A picture that shows both texts is `SAME`."""

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier

    def match(self, images: Sequence[Picture], first: str, second: str) -> list[Match]:
        one, two = (self.verifier.shows(list(images), [text] * len(images)) for text in (first, second))
        table = ((Choice.NEITHER, Choice.SECOND), (Choice.FIRST, Choice.SAME))
        return [Match(table[bool(a)][bool(b)], float(a), float(b)) for a, b in zip(one, two, strict=True)]


def matcher(model: Any, *, others: Iterable[str] = ()) -> Matcher:
    """A matcher of a model: its own, a verifier's, or an encoder's."""
    if isinstance(model, Matcher):
        return model
    if isinstance(model, Verifier):
        return VerifierMatcher(model)
    if isinstance(model, Encoder):
        return EncoderMatcher(model, others=others)
    raise WeakspotError(
        f"{type(model).__name__} cannot match pictures and texts", fix="give an encoder or a verifier"
    )


def downstream(
    pairs: Sequence[tuple[str, str]],
    source: Source | Generator,
    matcher: Matcher,
    *,
    images_each: int = IMAGES,
    seed: int = 0,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Downstream:
    """Draw both prompts of each pair and say which each picture shows; in a folder, write them for people.

    Picture k of a prompt follows from the seed, the prompt and k alone.
    """
    if not pairs or images_each < 1:
        raise WeakspotError(
            f"{len(pairs)} pairs with {images_each} pictures each cannot be drawn", fix="give at least one"
        )
    blobs = Blobs(folder / "blobs") if folder is not None else None
    found = []
    for done, (first, second) in enumerate(pairs, 1):
        try:
            drawn = [
                (prompt, own, picture)
                for prompt, text in ((1, first), (2, second))
                for own, picture in draw(source, text, images_each, seed=seed)
            ]
            found.append(_matched(first, second, drawn, matcher, blobs))
        except Exception as error:  # a generator, or a text it cannot draw, may raise anything
            if blobs is not None and isinstance(error, OSError):
                raise
            what = error.what if isinstance(error, WeakspotError) else f"{type(error).__name__}: {error}"
            found.append(PairDrawn(first=first, second=second, error=what[:300]))
        if progress is not None:
            progress("pairs", done, len(pairs))
    if all(pair.error for pair in found):
        raise WeakspotError(
            f"none of {len(found)} pairs could be drawn: {found[0].error}",
            fix="use a source that can draw these prompts",
        )
    if folder is not None:
        write_items(found, folder, seed=seed)
    return _summary(found)


def _matched(
    first: str, second: str, drawn: Sequence[tuple[int, int, Picture]], matcher: Matcher, blobs: Blobs | None
) -> PairDrawn:
    """A pair, with each picture (its prompt, its seed, its pixels) matched to a prompt."""
    matches = matcher.match([picture for _, _, picture in drawn], first, second)
    rows = []
    for (prompt, own, picture), match in zip(drawn, matches, strict=True):
        content = png(picture)
        digest = blobs.put(content) if blobs is not None else hashlib.sha256(content).hexdigest()
        asked = json.dumps([first, second, prompt, own, digest])
        item = hashlib.sha256(asked.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        rows.append(Drawn(item=item, prompt=prompt, seed=own, digest=digest, **match._asdict()))
    verdicts = [row.failed for row in rows]
    failed = True if True in verdicts else False if False in verdicts else None
    return PairDrawn(first=first, second=second, pictures=tuple(rows), failed=failed)


def draw(source: Source | Generator, text: str, n: int, *, seed: int) -> list[tuple[int, Picture]]:
    """The first n pictures of a prompt, with their seeds."""
    hypothesis = Hypothesis(text, origin="downstream")
    if isinstance(source, Source):
        return [(case.seed, case.input) for case in source.draw(hypothesis, range(n), seed=seed)]
    seeds = [case_seed(seed, hypothesis, i) for i in range(n)]
    return list(zip(seeds, source.generate([text] * n, seeds), strict=True))


def _summary(found: Sequence[PairDrawn]) -> Downstream:
    judged = [pair for pair in found if pair.failed is not None]
    failures, n = sum(bool(pair.failed) for pair in judged), len(judged)
    low, high = wilson(failures, n)
    single = [(float(d.failed), i) for i, p in enumerate(found) for d in p.pictures if d.failed is not None]
    return Downstream(
        pairs=tuple(found),
        failures=failures,
        n=n,
        rate=failures / n if n else None,
        low=low,
        high=high,
        images=clustered_rate([v for v, _ in single], [pair for _, pair in single]) if single else None,
        same=sum(pair.failed is None and not pair.error for pair in found),
        errors=sum(bool(pair.error) for pair in found),
    )


def write_items(found: Sequence[PairDrawn], folder: Path, *, seed: int) -> None:
    """Write items.jsonl, which may be shown to people, and key.jsonl, which may not.

    An item is a picture and the two prompts, in an order drawn for it; items are shuffled. The key has, for
    each id, what the picture was drawn from and what the matcher chose.
    """
    items, keys = [], []
    for number, pair in enumerate(found):
        for drawn in pair.pictures:
            turned = Random(f"{seed} {drawn.item}").random() < 0.5  # noqa: S311
            file = f"blobs/{drawn.digest[:2]}/{drawn.digest}"
            prompts = [pair.second, pair.first] if turned else [pair.first, pair.second]
            right = f"prompt {2 if (drawn.prompt == 1) == turned else 1}"
            item = {"item": drawn.item, "image": drawn.digest, "file": file}
            items.append(item | {"prompts": prompts, "choices": [choice.value for choice in Choice]})
            source = {"item": drawn.item, "pair": number, "drawn_from": drawn.prompt, "right": right}
            keys.append(source | {"turned": turned, "matcher": drawn.choice.value})
    Random(f"{seed} items").shuffle(items)  # noqa: S311
    for name, rows in (("items.jsonl", items), ("key.jsonl", keys)):
        write_whole(folder / name, "".join(json.dumps(row) + "\n" for row in rows).encode())
