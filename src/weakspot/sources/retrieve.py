"""Real pictures of a folder instead of drawn ones: `retrieve:photos?encoder=world:encoder`.

The folder is a collection (see `Collected`): a baseline has all of its pictures with the label, each once, in
a random order, and other words have those that they are true of, by what captions say, or else by what an
encoder sees (`likely`). The index of a case in the stage of confirmation is its index in the baseline.

With `top=20` pictures are drawn for each hypothesis instead, as from a generator: those that match its words
best, in a random order. Every picture then belongs to one stage for the whole run, so that draws for
confirmation are fresh. After the last there is `Exhausted`. What is expected is known from labels, or the
matches are trusted to show the label.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.cluster import keywords
from weakspot.concepts.seen import likely
from weakspot.concepts.words import says_all
from weakspot.core import (
    MODELS,
    Case,
    Encoder,
    Hypothesis,
    Stage,
    TextEncoder,
    WeakspotError,
    case_seed,
    nearest,
)
from weakspot.core.ports import Embedded, Item
from weakspot.core.registry import read_number, read_whole
from weakspot.sources.captioned import (
    Annotation,
    by_folder,
    captions_beside,
    read_annotations,
    read_captioned,
)
from weakspot.sources.folder import LONGEST
from weakspot.sources.pool import Pool, Progress, Skipped, read_pool
from weakspot.text.sentences import sentences

#: Pictures whose similarity is computed at once, so that a mapped file is not read into memory as a whole.
_CHUNK: Final = 1 << 16
#: Hypotheses whose matches are remembered.
_REMEMBERED: Final = 256


class Exhausted(WeakspotError):
    """All matches of a hypothesis were drawn.

    The engine records it as an error of that case, outside the denominator, and goes on; it is no sign of a
    broken target. Who wants to know before asks `Retrieval.available`.
    """


class Retrieval:
    """Cases from a pool of pictures.

    Args:
        encoder: That made the vectors; it reads the words.
        expected: The right answer to every picture; None if `known` says it.
        known: What is known of pictures, by name. Where labels are among it and `expected` is given, only
            pictures with that label are drawn; without `expected`, only those that have a label.
        captions: What people say of pictures, by name; by default what `known` says.
        top: Draw for each hypothesis, at most so many cases in each stage. A baseline then has all pictures
            with the label, where labels are known: it says what is usual, not what matches its words best.
            By default the folder is a collection, and nothing is drawn twice.
        least: Pictures less similar to the words than this (a cosine) are not drawn; only with `top`.
        longest: Pixels of the longer side; larger pictures are made smaller.
    """

    #: Reading files and comparing vectors; a copy of the pool in every process would cost more than it saves.
    cpu_bound = False

    def __init__(
        self,
        pool: Pool,
        encoder: TextEncoder,
        *,
        expected: str | None = None,
        known: Mapping[str, Annotation] | None = None,
        captions: Mapping[str, Sequence[str]] | None = None,
        top: int | None = None,
        least: float | None = None,
        longest: int = LONGEST,
    ) -> None:
        self.pool, self.encoder, self.top, self.least, self.longest = pool, encoder, top, least, longest
        self.models = (encoder,)
        self._known, self._captions = dict(known or {}), captions
        labels = [self._of(i).label for i in range(len(pool.names))]
        labelled = self._labelled = any(labels)
        if expected is None and not labelled:
            raise WeakspotError(
                "it is not known what the pictures show", fix="give labels, or the label of all"
            )
        if labelled:
            kept = [i for i, label in enumerate(labels) if label and expected in (None, label)]
            self._expected = {i: labels[i] for i in kept}
        else:
            self._expected = dict.fromkeys(range(len(pool.names)), expected or "")
        if not self._expected:
            there = sorted(set(filter(None, labels)))
            raise WeakspotError(
                f"no picture has the label {str(expected)[:80]!r}",
                fix=nearest(str(expected), there) or f"the labels are: {', '.join(there)[:300]}",
            )
        #: Files that are never drawn, and why; pictures with another label are not among them.
        self.skipped = pool.skipped
        if labelled:
            without = (name for name, label in zip(pool.names, labels, strict=True) if not label)
            self.skipped += tuple(Skipped(name, "it has no label") for name in without)
        self._members = np.array(sorted(self._expected), np.int64)
        self._words: list[frozenset[str]] | None = None
        self._stages: dict[int, NDArray[np.int64]] = {}
        self._orders: dict[int, list[int]] = {}
        self._rows: dict[tuple[str, int, Stage], list[int]] = {}

    def expecting(self, label: str) -> Retrieval:
        how: dict[str, Any] = {"top": self.top, "least": self.least, "longest": self.longest}
        known: dict[str, Any] = {"known": self._known, "captions": self._captions}
        return Retrieval(self.pool, self.encoder, expected=label, **known, **how)

    @property
    def once(self) -> bool:
        """See `Collected`."""
        return self.top is None

    def items(self, hypothesis: Hypothesis, *, seed: int) -> list[Item]:
        """See `Collected`."""
        return [Item(self.pool.names[i], self._said(i)) for i in self._order(seed)]

    def embedded(self, hypothesis: Hypothesis, *, seed: int) -> Embedded:
        """See `Collected`."""
        return Embedded(self.encoder, np.asarray(self.pool.vectors[self._order(seed)], np.float32))

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption of a case is what its annotation says, or ""."""
        cases = []
        for index in indices:
            stage = Stage.of(index)
            place = index - stage.start
            own_row = self.once and stage is Stage.CONFIRM  # these are the baseline's, for another hypothesis
            row = self._order(seed) if own_row else self._row(hypothesis, seed, stage)
            if place >= len(row):
                what = f"all {len(row):,} pictures that match were drawn" if row else "no picture matches"
                raise Exhausted(
                    what, fix="use a larger folder" if self.once else "use a larger folder or top=…"
                )
            i = row[place]
            pixels = self.pool.picture(i, longest=self.longest)
            own = case_seed(seed, hypothesis, index)
            cases.append(Case(hypothesis, index, own, pixels, self._expected[i], self._caption(i)))
        return cases

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage = Stage.EXPLORE) -> int:
        return len(self._row(hypothesis, seed, stage))

    def names(self, hypothesis: Hypothesis, *, seed: int, stage: Stage = Stage.EXPLORE) -> list[str]:
        """The files behind the cases of a hypothesis in a stage, in the order of the indices."""
        return [self.pool.names[i] for i in self._row(hypothesis, seed, stage)]

    @property
    def digest(self) -> str:
        told = "\0".join(
            f"{self.pool.digests[i]} {label} {self._caption(i) if self.once else ''}".rstrip()
            for i, label in self._expected.items()
        )
        return hashlib.sha256(f"{self.pool.digest}\0{told}".encode()).hexdigest()

    def _of(self, i: int) -> Annotation:
        return self._known.get(self.pool.names[i], Annotation())

    def _said(self, i: int) -> tuple[str, ...]:
        if self._captions is not None:
            return tuple(self._captions.get(self.pool.names[i], ()))
        caption = self._of(i).caption
        return (caption,) if caption else ()

    def _caption(self, i: int) -> str:
        own = self._of(i).caption
        return own or " ".join(f"{said.rstrip(' .')}." for said in self._said(i))

    def _order(self, seed: int) -> list[int]:
        """All pictures in the run's random order, which follows from what they are, not from their names."""
        if seed not in self._orders:
            ranked = sorted(self._members.tolist(), key=lambda i: self.pool.digests[i])
            order = np.random.default_rng([seed, 7]).permutation(len(ranked))
            self._orders = {seed: [ranked[k] for k in order]}
        return self._orders[seed]

    def _row(self, hypothesis: Hypothesis, seed: int, stage: Stage) -> list[int]:
        if not self.once:
            return self._drawn(hypothesis, seed, stage)
        if stage is not Stage.EXPLORE:  # nothing is left that was not asked about
            return []
        if hypothesis.origin == "baseline":
            return self._order(seed)
        key = (hypothesis.id, seed, stage)
        if key not in self._rows:
            if len(self._rows) >= _REMEMBERED:
                self._rows.clear()
            order = self._order(seed)
            true = self._true(hypothesis.text, order)
            self._rows[key] = [i for i, so in zip(order, true, strict=True) if so]
        return self._rows[key]

    def _true(self, text: str, order: Sequence[int]) -> NDArray[np.bool_]:
        """Which pictures words are true of; the first of several sentences says the label, which all show."""
        parts = sentences(text)
        beyond = " ".join(parts[1:] or parts)
        said = [" ".join(self._said(i)) for i in order]
        if any(said):
            return says_all(beyond, said)
        return likely(np.asarray(self.pool.vectors[order], np.float32), self.encoder, beyond)

    def _drawn(self, hypothesis: Hypothesis, seed: int, stage: Stage) -> list[int]:
        key = (hypothesis.id, seed, stage)
        if key not in self._rows:
            if len(self._rows) >= _REMEMBERED:
                self._rows.clear()
            here = self._stage_of(seed) == stage
            members, near = self._members[here], self._near(hypothesis.text)[here]
            usual = self._labelled and hypothesis.origin == "baseline"
            if self.least is not None and not usual:  # a caption that says the words is near enough
                members, near = members[near >= self.least], near[near >= self.least]
            # Equals are ordered by content, not by name or place in the folder.
            best = sorted(range(len(members)), key=lambda k: (-near[k], self.pool.digests[members[k]]))
            best = best if usual else best[: self.top]
            order = np.random.default_rng(case_seed(seed, hypothesis, stage.start)).permutation(len(best))
            self._rows[key] = [int(members[best[k]]) for k in order]
        return self._rows[key]

    def _stage_of(self, seed: int) -> NDArray[np.int64]:
        """The stage that may see each picture, by the run's seed and its content."""
        if seed not in self._stages:
            told = (f"{seed}:{self.pool.digests[i]}".encode() for i in self._members)
            sums = [hashlib.blake2b(t, digest_size=8).digest() for t in told]
            self._stages = {seed: np.array([int.from_bytes(s, "big") % len(Stage) for s in sums])}
        return self._stages[seed]

    def _captions_that_say(self, text: str) -> NDArray[np.float64]:
        """How many sentences of a text each picture's caption says, all words of each."""
        if self._words is None:
            self._words = [keywords(self._caption(int(i))) for i in self._members]
        asked = [words for s in sentences(text) if (words := keywords(s))]
        times = [sum(words <= own for words in asked) if own else 0 for own in self._words]
        return np.array(times, np.float64)

    def _near(self, text: str) -> NDArray[np.float64]:
        [words] = np.asarray(self.encoder.embed_texts([text]), np.float64)
        parts = [self._members[at : at + _CHUNK] for at in range(0, len(self._members), _CHUNK)]
        near = np.concatenate([self.pool.vectors[part].astype(np.float64) @ words for part in parts])
        near = near + self._captions_that_say(text)
        if not np.isfinite(near).all():
            raise WeakspotError("the encoder gave numbers that are not finite", fix="check the model")
        return near


def load(
    folder: str,
    *,
    encoder: str,
    label: str = "",
    labels: str = "",
    column: str = "label",
    captions: str = "",
    top: str = "",
    least: str = "",
    size: str = "",
    cache: str = "",
) -> Retrieval:
    """`retrieve:photos?encoder=NAME`; a study gives the label, others ?label=fly or ?labels=….

    Options of the encoder's own name are written as in a URL (%3F for ?, %26 for &). `labels` is "folder" if
    the pictures' folders name what they show, or a file with a column; `captions` is a file, or "no", by
    default what the labels' file says, or a file of captions in the folder or above; `top` draws so many for
    each hypothesis, and `least` is a cosine; `size` is the longer side in pixels; `cache` is a folder for the
    vectors, or "no", by default one of the user's.
    """
    if not (label or labels):
        raise WeakspotError(
            f"retrieve:{folder[:200]} does not know what its pictures show",
            fix="say it: ?label=fly, or ?labels=folder, or ?labels=labels.csv",
        )
    most = read_whole("top", top, most=1 << 30)
    longest = read_whole("size", size, most=1 << 14) or LONGEST
    nearness = read_number("least", least, most=1)
    if nearness is not None and most is None:
        raise WeakspotError(
            "least=… is for pictures that are drawn for each hypothesis",
            fix="give top=… too, or leave it out",
        )
    model = MODELS.load(encoder)
    if not isinstance(model, Encoder):
        raise WeakspotError(
            f"{encoder[:200]} is not an encoder of texts and pictures",
            fix="use one, e.g. encoder=world:encoder",
        )
    with _shown(folder) as progress:
        pool = read_pool(folder, model, cache=_cache(cache), longest=longest, progress=progress)
    known = {}
    if labels == "folder":
        known = by_folder(pool.names)
    elif labels:
        path = Path(labels) if Path(labels).exists() else Path(folder, labels)
        known = read_annotations(path, pool.names, column=column)
    said = _captions(folder, captions, pool.names, known)
    how: dict[str, Any] = {"top": most, "least": nearness, "longest": longest}
    return Retrieval(pool, model, expected=label or None, known=known, captions=said, **how)


def _captions(
    folder: str, option: str, names: Sequence[str], known: Mapping[str, Annotation]
) -> Mapping[str, Sequence[str]] | None:
    """What people say of the pictures, by name; None for what the labels' file says."""
    if option == "no":
        return {}
    if not option and any(one.caption for one in known.values()):
        return None
    file = Path(option) if option else captions_beside(folder)
    if option and file is not None and not file.exists():
        file = Path(folder, option)
    if file is None:
        return {}
    try:
        found = read_captioned(folder, captions=file)
    except WeakspotError:
        if option:
            raise
        return {}  # a file of that name that is about something else
    there = set(names)
    return {n: said for n, said in zip(found.names, found.captions, strict=True) if n in there}


def _cache(option: str) -> Path | None:
    if option == "no":
        return None
    if option:
        return Path(option)
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # nobody's home
        return None
    return Path(home) / "weakspot" / "retrieve"


@contextmanager
def _shown(folder: str) -> Iterator[Progress | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(f"looking at {Path(folder).name[:40]}"), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
