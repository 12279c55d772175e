"""What `mine` is made with: the corpus, the two encoders, the judge of differences, a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import MODELS, SOURCES, Encoder, TextEncoder, WeakspotError
from weakspot.core.ports import Selective
from weakspot.core.registry import name_of
from weakspot.judges.differs.judge import DiffersJudge, differs
from weakspot.models.vectors import Precomputed
from weakspot.sources.corpus import NOISE, Corpus, Text, gather, read_corpus, read_phrases
from weakspot.studies.mine.embeddings import cache_folder, embed_texts
from weakspot.studies.mine.settings import MineSettings, same_encoders
from weakspot.study import Context
from weakspot.study.loading import part
from weakspot.text.llm_answers import Asked

#: Told what is being done, how much is done, and of how much.
Progress = Callable[[str, int, int], None]
#: A text that no matrix of embeddings has.
UNKNOWN_TEXT: Final = "a text that was not there before, about nothing in particular"
#: Texts that are embedded before there is a run, so that an encoder that cannot do it is told at once.
_PROBE: Final = 16
_AGAIN: Final = (
    "go on from Python: weakspot.resume(folder, encoder=…, reference=…, corpus=…, validity=…, llm=…)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MineParts:
    """What the settings name."""

    corpus: Corpus
    encoder: TextEncoder
    reference: TextEncoder
    validity: DiffersJudge | None  # says whether two texts differ; None takes all to differ
    llm: Asked | None
    deaf: str  # why the encoder cannot embed new texts; "" if it can
    downstream: Any = None  # the text-to-image source, if pairs are to be drawn
    matcher: Any = None  # says which text a drawn picture shows
    cache: Path | None = None
    _rows: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def digests(self) -> dict[str, str]:
        """Of the corpus; those of the models are found in them."""
        return {"corpus": self.corpus.digest}

    def rows(self, which: str, progress: Progress) -> NDArray[np.float32]:
        """The corpus by "encoder" or "reference": one row of length 1 per text; computed once."""
        if which not in self._rows:
            encoder = self.encoder if which == "encoder" else self.reference
            with _blamed(which):
                self._rows[which] = embed_texts(
                    encoder,
                    self.corpus.texts,
                    digest=self.corpus.digest,
                    cache=self.cache,
                    progress=partial(progress, f"embedding with the {which}"),
                )
        return self._rows[which]

    @property
    def fits(self) -> Callable[[str], bool] | None:
        """Whether a text is understood by the judge of differences; None if it understands any."""
        return self.validity.understands if isinstance(self.validity, Selective) else None


MineContext = Context[MineSettings, MineParts]


def named(parts: MineParts) -> dict[str, Any]:
    """What was loaded, by the setting that names it."""
    return {what: getattr(parts, what) for what in ("encoder", "reference", "downstream", "matcher")}


def load(
    settings: MineSettings,
    *,
    encoder: Any = None,
    reference: Any = None,
    corpus: Any = None,
    validity: Any = None,
    llm: Any = None,
    downstream: Any = None,
    matcher: Any = None,
) -> MineParts:
    """Load what is named; what is given as an object is used as it is."""
    texts = _read(settings, corpus)
    wanted = "name an encoder of texts, as st:NAME"
    tested, other = (
        part(given, name, MODELS, TextEncoder, without_name=_AGAIN, wanted=wanted)
        for given, name in ((encoder, settings.encoder), (reference, settings.reference))
    )
    _probe(tested, other, texts, names=(settings.encoder, settings.reference))
    if settings.images is not None:
        from weakspot.sources.captioned import read_captioned

        if not isinstance(tested, Encoder):
            raise WeakspotError(
                f"{settings.encoder[:200]} embeds only texts, so it cannot be checked with pictures",
                fix="name an encoder of pictures and texts, or leave out --images",
            )
        read_captioned(str(settings.images))  # refuses a folder without captions
    draws = matches = model = None
    if settings.downstream is not None:
        draws = part(downstream, settings.downstream, SOURCES, object, without_name=_AGAIN)
        known = settings.matcher or SOURCES.beside(settings.downstream, "matcher")
        matches = part(matcher, known, MODELS, object, without_name=_AGAIN)
        check_matcher(matches, known)
    if settings.llm is not None:
        wanted = "name a chat model: chat:…"
        model = part(llm, settings.llm, MODELS, Asked, without_name=_AGAIN, wanted=wanted)
    return MineParts(
        corpus=texts,
        encoder=tested,
        reference=other,
        validity=_validity(settings, validity),
        llm=model,
        deaf=_deaf(tested),
        downstream=draws,
        matcher=matches,
        cache=cache_folder(settings.cache),
    )


def check_matcher(model: Any, name: str) -> None:
    """Refuse, before any work, what cannot say which of two texts a picture shows."""
    from weakspot.studies.mine.downstream import matcher

    try:
        matcher(model)
    except WeakspotError as error:
        what = f"{name[:200]} cannot say which text a picture shows"
        raise WeakspotError(
            what, fix="name an encoder of pictures and texts: --matcher openclip:NAME"
        ) from error


def _read(settings: MineSettings, given: Any) -> Corpus:
    """The corpus: named, the texts of a matrix (npz:…), a `Corpus`, or any texts."""
    if isinstance(given, Corpus):
        return given
    if given is not None and not isinstance(given, str | Path):
        return gather((Text(str(text)) for text in given), name=settings.corpus, limit=settings.texts)
    if settings.corpus.startswith("object:"):
        raise WeakspotError("this run was made with texts that have no name", fix=_AGAIN)
    if settings.corpus.startswith("npz:"):
        matrix = part(None, settings.corpus, MODELS, Precomputed, wanted="name a matrix with its texts")
        noise = read_phrases(NOISE if settings.noise is None else Path(settings.noise))
        texts = (Text(text) for text in matrix.texts)
        return gather(texts, name=settings.corpus, noise=noise, limit=settings.texts)
    return read_corpus(settings.corpus, noise=settings.noise, limit=settings.texts)


def _probe(tested: TextEncoder, other: TextEncoder, corpus: Corpus, *, names: tuple[str, str]) -> None:
    """Refuse encoders that do not know the corpus, or that are one and the same."""
    some = list(corpus.texts[:_PROBE])
    rows = []
    for name, encoder in zip(names, (tested, other), strict=True):
        with _blamed(name):
            if isinstance(encoder, Precomputed):  # a look into a table: all texts at once
                encoder.embed_texts(corpus.texts)
            rows.append(embed_texts(encoder, some))
    one, two = rows
    if one.shape == two.shape and np.allclose(one @ one.T, two @ two.T, atol=1e-5):
        raise same_encoders(names[0] if names[0] == names[1] else f"{names[0]} and {names[1]}")


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Say of which encoder an error is that its library raises."""
    try:
        yield
    except (WeakspotError, MemoryError):
        raise
    except Exception as error:  # of the encoder's library
        raise WeakspotError(
            f"{name[:200]} cannot embed the texts: {type(error).__name__}: {error}",
            fix="correct the encoder; --debug shows where",
        ) from error


def _deaf(encoder: TextEncoder) -> str:
    """Why an encoder cannot embed new texts; "" if it can."""
    try:
        embed_texts(encoder, [UNKNOWN_TEXT])
    except WeakspotError as error:
        known = "the encoder knows only the texts of its matrix"
        return known if isinstance(encoder, Precomputed) else error.what
    return ""


def _validity(settings: MineSettings, given: Any) -> DiffersJudge | None:
    if given is not None and not isinstance(given, str):
        if not isinstance(given, DiffersJudge):
            raise WeakspotError(f"{name_of(given)[:200]} cannot judge pairs", fix="it must have: differ")
        return given
    if settings.judged_by.startswith("object:"):
        raise WeakspotError("this run was made with a judge of differences that has no name", fix=_AGAIN)
    return None if settings.judged_by == "none" else differs(settings.judged_by)
